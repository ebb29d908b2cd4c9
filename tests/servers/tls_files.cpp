#include "servers/tls_files.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace crosslock::servers {
namespace {

namespace fs = std::filesystem;

// `openssl ca`, because it alone can issue a certificate that is over already.
constexpr const char* script = R"script(
set -e
new_key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

authority() {
  openssl req -x509 $new_key -keyout $1.key -out $1.pem -subj "/CN=crosslock test $1" -days 30
}
issue() {  # authority, name, subject's other names, until
  openssl req -new $new_key -keyout $2.key -out $2.csr -subj "/CN=$2" -addext "subjectAltName=$3"
  openssl ca -batch -notext -config ca.cnf -cert $1.pem -keyfile $1.key -in $2.csr -out $2.pem \
      -startdate 20200101000000Z -enddate $4
}

cat > ca.cnf <<END
[ca]
default_ca = own
[own]
new_certs_dir = .
database = index
serial = serial
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
END
: > index
echo 01 > serial

authority ca
authority other-ca
issue ca server "DNS:localhost,IP:127.0.0.1" 20990101000000Z
issue ca elsewhere "DNS:other.example" 20990101000000Z
issue ca expired "DNS:localhost,IP:127.0.0.1" 20210101000000Z
issue ca client "DNS:client" 20990101000000Z
issue other-ca forged "DNS:client" 20990101000000Z
openssl ec -in client.key -aes128 -passout pass:x -out locked.key
)script";

}  // namespace

tls_files::tls_files() {
  std::string pattern = fs::temp_directory_path() / "crosslock-tls-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp"};
  folder_ = pattern;
  std::ofstream{folder_ / "make"} << script;
  const std::string command = "cd '" + folder_.string() + "' && sh ./make > log 2>&1";
  // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): the folder's name is our own
  if (std::system(command.c_str()) == 0) return;
  std::ifstream log{folder_ / "log"};
  throw std::runtime_error{"no certificates: " +
                           std::string{std::istreambuf_iterator<char>{log}, {}}};
}

tls_files::~tls_files() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace crosslock::servers

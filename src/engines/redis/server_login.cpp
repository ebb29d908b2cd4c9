// Plain exchanges on a connection that nobody else uses yet.
#include "engines/redis/server_login.hpp"

#include <array>

namespace crosslock::redis {

namespace {

void read_answer(stream& to, parser& from, const address& where, reply& answer,
                 time_point give_up) {
  std::array<char, 4096> buffer;
  while (!from.next(answer)) {
    const std::size_t count = to.read_some(buffer, give_up);
    if (count == 0) {
      throw make_error(errc::timed_out, where.shown() + " accepts connections but says nothing");
    }
    from.feed({buffer.data(), count});
  }
}

/// Whoever turns us away hangs up, but may have said why before.
void hear_parting_words(stream& to, parser& from, const address& where, reply& answer) {
  try {
    read_answer(to, from, where, answer, time_point{});
  } catch (const error&) {
    return;
  }
  if (answer.failed()) throw error_in(answer.failure(), where.shown(), {});
}

}  // namespace

void exchange(stream& to, parser& from, const address& where, const command& what, reply& answer,
              time_point give_up) {
  std::string out;
  what.write(out);
  try {
    to.write_all(out, give_up);
  } catch (const error& why) {
    if (why.which() == errc::unreachable) hear_parting_words(to, from, where, answer);
    throw;
  }
  read_answer(to, from, where, answer, give_up);
}

namespace {

void demand(stream& to, parser& from, const address& where, const command& what, reply& answer,
            time_point give_up) {
  exchange(to, from, where, what, answer, give_up);
  if (answer.failed()) throw error_in(answer.failure(), where.shown(), {});
}

}  // namespace

void introduce(stream& to, parser& from, const address& as, time_point give_up) {
  reply answer;
  if (as.has_credentials()) {
    const bool named = !as.user.empty();
    const plain_command auth =
        named ? plain_command{"AUTH", as.user, as.password} : plain_command{"AUTH", as.password};
    demand(to, from, as, auth, answer, give_up);
  }
  if (as.database != 0) {
    const std::string number = std::to_string(as.database);
    demand(to, from, as, plain_command{"SELECT", number}, answer, give_up);
  }
}

std::string ask_for_info(stream& to, parser& from, const address& where, time_point give_up,
                         std::string_view section) {
  reply answer;
  exchange(to, from, where, plain_command{"INFO", section}, answer, give_up);
  if (answer.failed() && answer.failure().starts_with("NOPERM")) return {};
  if (answer.failed()) throw error_in(answer.failure(), where.shown(), {});
  return std::string{cursor{answer}.text()};
}

void refuse_unfit(std::span<const seam::finding> findings, const address& where) {
  for (const seam::finding& one : findings) {
    if (one.weight == seam::severity::refusal) {
      throw make_error(one.code, where.shown() + ": " + one.text);
    }
  }
}

}  // namespace crosslock::redis

# Read by ./crosslock: `./crosslock install [--prefix DIR]`. Ends the script.

stop() { # EXIT_CODE TEXT
  echo "crosslock: $2" >&2
  exit "$1"
}

prefix=/usr/local
shift
while (($#)); do
  case $1 in
    --prefix=?*) prefix=${1#*=} ;;
    --prefix)
      (($# > 1)) && [[ -n $2 ]] || stop 64 "install: --prefix needs a directory"
      prefix=$2
      shift
      ;;
    --help | -h)
      echo "Usage: ./crosslock install [--prefix DIR]"
      echo "Puts program, man page, completions, libraries, headers, and files for CMake and"
      echo "pkg-config below DIR (/usr/local)."
      exit 0
      ;;
    *) stop 64 "install: '$1' was not expected: ./crosslock install [--prefix DIR]" ;;
  esac
  shift
done
[[ $prefix == /* ]] || prefix=$PWD/$prefix

# Before anything is built: whoever may not write there need not wait for it.
there=$prefix
while [[ ! -e $there ]]; do there=$(dirname "$there"); done
[[ -d $there ]] || stop 78 "install: '$there' is not a directory: name another one with --prefix"
for folder in "$there" "$prefix"/{bin,include,lib,share}; do
  if [[ -e $folder && ! -w $folder ]]; then
    stop 77 "install: '$folder' cannot be written: do it as root (sudo ./crosslock install), or \
name another place (./crosslock install --prefix ~/.local)"
  fi
done

is_current || build
{
  cmake --build "$root/build/release" --target crosslock crosslock-completion >/dev/null || exit 70
  umask 022 # for all users, however strict this one is with own files
  cmake --install "$root/build/release" --prefix "$prefix" || exit 70
} | sed -n 's/^-- \(Installing\|Up-to-date\): //p' | {
  echo "crosslock: put in place:"
  while IFS= read -r file; do [[ -d $file ]] || echo "  $file"; done
}

case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "crosslock: '$prefix/bin' is not in PATH: add it, and man finds its page as well" ;;
esac
exit 0

# Completion of crosslock for bash. Works with the package bash-completion and without it.
# Here and now: eval "$(crosslock completion bash)"

_crosslock_options() { # COMMAND
  case $1 in
    '') echo '--help --version' ;;
# <options>
  esac
}

_crosslock_takes_value() { # COMMAND OPTION
  case "$1 $2" in
# <valued>
  esac
  return 1
}

# Into `plain`: a word as it is typed, without what quotes it. Nothing in it is carried out.
_crosslock_unquote() { # WORD
  local word=$1 quote='' char i
  plain=''
  for ((i = 0; i < ${#word}; ++i)); do
    char=${word:i:1}
    if [[ $char == \\ && $quote != "'" ]]; then
      ((++i))
      plain+=${word:i:1}
    elif [[ -z $quote && ($char == "'" || $char == '"') ]]; then
      quote=$char
    elif [[ $char == "$quote" ]]; then
      quote=''
    else
      plain+=$char
    fi
  done
}

# Into `words` and `at`: COMP_WORDS without the breaks that readline makes at colons and the like.
_crosslock_join_words() {
  local line=$COMP_LINE i
  words=() at=0
  for i in "${!COMP_WORDS[@]}"; do
    if ((i > 0)) && [[ $line != [[:space:]]* && -n ${COMP_WORDS[i]} ]]; then
      words[${#words[@]} - 1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
    line=${line#"${line%%[![:space:]]*}"}
    line=${line#"${COMP_WORDS[i]}"}
    ((i > COMP_CWORD)) || at=$((${#words[@]} - 1))
  done
}

# Into COMPREPLY: those of the lines on stdin that begin with the current word, quoted as it is.
_crosslock_offer() { # CURRENT
  local current=$1 plain line quoted broken=''
  _crosslock_unquote "$current"
  # What is before the last break of readline's is not replaced.
  if [[ $current != [\'\"]* && $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    broken=${current%"${current##*:}"}
  fi
  while IFS= read -r line; do
    [[ $line == "$plain"* ]] || continue
    if [[ $current == [\'\"]* ]]; then
      COMPREPLY+=("$line")
    else
      printf -v quoted %q "$line"
      COMPREPLY+=("${quoted#"$broken"}")
    fi
  done
}

_crosslock_names() { # CURRENT
  _crosslock_offer "$1" < <(timeout 2 "${program:-crosslock}" list --names "${where[@]}" \
    2>/dev/null </dev/null)
}

# The words from this one on are a command line of their own.
_crosslock_command_line() { # OFFSET
  local current=${COMP_WORDS[COMP_CWORD]}
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif (($1 == COMP_CWORD)); then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -A command -- "$current" | sort -u)
  else
    compopt -o default
  fi
}

# Into `command`, `given`, `name_at`, `pending` and `where`: what the words before this one say.
_crosslock_read_words() {
  local i word plain only_words=''
  for ((i = 1; i < at; ++i)); do
    word=${words[i]}
    if [[ -n $pending ]]; then
      _crosslock_unquote "$word"
      [[ $pending == @(--url|--prefix) ]] && where+=("$pending" "$plain")
      pending=''
    elif [[ -z $command && $word != -* ]]; then
      command=$word
    elif [[ -z $only_words && $word == -- ]]; then
      only_words=yes
    elif [[ -z $only_words && $word == --@(url|prefix)=* ]]; then
      _crosslock_unquote "$word"
      where+=("$plain")
    elif [[ -z $only_words && $word == -?* ]]; then
      ! _crosslock_takes_value "$command" "$word" || pending=$word
    else
      ((given)) || name_at=$i
      ((++given))
      [[ $command != run ]] || return
    fi
  done
}

# How many of readline's words make up the first COUNT of ours.
_crosslock_offset() { # COUNT
  local line=$COMP_LINE i count=0
  for i in "${!COMP_WORDS[@]}"; do
    if ((i == 0)) || [[ $line == [[:space:]]* || -z ${COMP_WORDS[i]} ]]; then ((++count)); fi
    ((count <= $1)) || { echo "$i" && return; }
    line=${line#"${line%%[![:space:]]*}"}
    line=${line#"${COMP_WORDS[i]}"}
  done
}

_crosslock() {
  local words at command='' pending='' where=() program given=0 name_at=0
  COMPREPLY=()
  _crosslock_join_words
  _crosslock_read_words
  local current=${words[at]} plain
  _crosslock_unquote "${words[0]}"
  program=$(type -P -- "${plain/#\~/$HOME}")
  if [[ $command == run ]] && ((given)); then
    [[ ${words[name_at + 1]} != -- ]] || ((++name_at))
    if ((at > name_at)); then
      _crosslock_command_line "$(_crosslock_offset $((name_at + 1)))"
      return
    fi
  fi
  if [[ -n $pending ]]; then
    case $pending in
      --on-lost) _crosslock_offer "$current" < <(printf '%s\n' term kill ignore) ;;
      --format) _crosslock_offer "$current" < <(printf '%s\n' env json) ;;
    esac
  elif [[ -z $command && $current != -* ]]; then
    _crosslock_offer "$current" < <(printf '%s\n' \
# <commands>
    )
  elif [[ $current == -* ]]; then
    # shellcheck disable=SC2046
    _crosslock_offer "$current" < <(printf '%s\n' $(_crosslock_options "$command"))
  elif ((given == 0)); then
    case $command in
      run | hold | acquire | list | show | watch | top | break) _crosslock_names "$current" ;;
      completion) _crosslock_offer "$current" < <(printf '%s\n' bash zsh fish) ;;
    esac
  fi
}

complete -F _crosslock crosslock

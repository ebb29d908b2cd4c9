#compdef crosslock
# Completion of crosslock for zsh: as a file _crosslock in a folder of $fpath.
# Here and now, behind compinit: source <(crosslock completion zsh)

_crosslock_tables() {
  commands=(
# <commands>
  )
  options=('--help:Print this help message and exit' '--version:Show the version')
  valued=()
  case $1 in
# <options>
  esac
}

_crosslock_names() {
  local -a names
  names=("${(@f)$(timeout 2 ${~program:-crosslock} list --names $where 2>/dev/null </dev/null)}")
  names=(${names:#})
  compadd -a -- names
}

_crosslock_words() {
  case $1 in
    run|hold|acquire|list|show|watch|top|break) _crosslock_names ;;
    completion) compadd -- bash zsh fish ;;
  esac
}

_crosslock() {
  local -a commands options valued where
  local program=$words[1] command='' pending='' word only_words='' i given=0
  _crosslock_tables ''
  for ((i = 2; i < CURRENT; ++i)); do
    word=$words[i]
    if [[ -n $pending ]]; then
      [[ $pending != --(url|prefix) ]] || where+=($pending ${(Q)word})
      pending=''
    elif [[ -z $command && $word != -* ]]; then
      command=$word
      _crosslock_tables $command
    elif [[ -z $only_words && $word == -- ]]; then
      only_words=yes
    elif [[ -z $only_words && $word == --(url|prefix)=* ]]; then
      where+=(${(Q)word})
    elif [[ -z $only_words && $word == -?* ]]; then
      (( ! ${valued[(Ie)$word]} )) || pending=$word
    elif [[ $command == run ]]; then
      # All that comes behind NAME is a command line of its own.
      if [[ $words[i+1] == -- && $((i + 1)) -lt CURRENT ]]; then ((++i)); fi
      shift $i words
      ((CURRENT -= i))
      _normal
      return
    else
      ((++given))
    fi
  done
  case $pending in
    '') ;;
    --on-lost) compadd -- term kill ignore; return ;;
    --format) compadd -- env json; return ;;
    *) _message "a value for $pending"; return ;;
  esac
  if [[ $PREFIX == -* && -z $only_words ]]; then
    _describe -o option options
  elif [[ -z $command ]]; then
    _describe command commands
  elif ((given == 0)); then
    _crosslock_words $command
  fi
}

if [[ $funcstack[1] == _crosslock ]]; then
  _crosslock "$@"
else
  compdef _crosslock crosslock
fi

# Completion of crosslock for fish.
# Here and now: crosslock completion fish | source

function __crosslock_takes_value # COMMAND OPTION
    switch "$argv[1] $argv[2]"
# <valued>
            return 0
    end
    return 1
end

# Prints what the words before this one say: the command, an option that lacks its value, how many
# words that are no options there are (behind NAME of a run nothing is looked at), and the place of
# the first of them.
function __crosslock_said
    set -l words (commandline -opc)
    set -l command ''
    set -l pending ''
    set -l only_words ''
    set -l given 0
    set -l name_at 0
    for i in (seq 2 (count $words))
        set -l word $words[$i]
        if test -n "$pending"
            set pending ''
        else if test -z "$command"; and not string match -q -- '-*' $word
            set command $word
        else if test -z "$only_words"; and string match -q -- -- $word
            set only_words yes
        else if test -z "$only_words"; and string match -q -- '-?*' $word
            __crosslock_takes_value "$command" $word; and set pending $word
        else
            test $given -eq 0; and set name_at $i
            set given (math $given + 1)
            test "$command" = run; and break
        end
    end
    printf '%s\n' "$command" "$pending" $given $name_at
end

function __crosslock_needs_command
    set -l said (__crosslock_said)
    test -z "$said[1]"
end

function __crosslock_options_of # COMMAND
    set -l said (__crosslock_said)
    test "$said[1]" = $argv[1]; and test -z "$said[2]"; and test "$said[3]" -eq 0 -o $argv[1] != run
end

function __crosslock_needs_word_of # COMMAND...
    set -l said (__crosslock_said)
    contains -- "$said[1]" $argv; and test -z "$said[2]"; and test "$said[3]" -eq 0
end

function __crosslock_needs_value_of # OPTION
    set -l said (__crosslock_said)
    string match -q -- "$argv[1]" "$said[2]"
end

function __crosslock_in_command_line
    set -l said (__crosslock_said)
    test "$said[1]" = run; and test "$said[3]" -gt 0
end

function __crosslock_names
    set -l words (commandline -opc)
    set -l where
    for i in (seq 2 (count $words))
        contains -- $words[$i] --url --prefix; and set -a where $words[$i] $words[(math $i + 1)]
        string match -qr -- '^--(url|prefix)=' $words[$i]; and set -a where $words[$i]
    end
    timeout 2 $words[1] list --names $where 2>/dev/null </dev/null
end

# What fish would offer if the words behind NAME stood alone.
function __crosslock_command_line
    set -l words (commandline -opc)
    set -l said (__crosslock_said)
    set -l rest $words[(math $said[4] + 1)..-1]
    string match -q -- -- "$rest[1]"; and set -e rest[1]
    complete -C (string join ' ' -- (string escape -- $rest) (commandline -ct))
end

complete -c crosslock -f
complete -c crosslock -n __crosslock_needs_command -l help -d 'Print this help message and exit'
complete -c crosslock -n __crosslock_needs_command -l version -d 'Show the version'
# <commands>
# <options>
set -l with_names run hold acquire list show watch top break
complete -c crosslock -n "__crosslock_needs_word_of $with_names" -a '(__crosslock_names)' -d lock
complete -c crosslock -n '__crosslock_needs_word_of completion' -a 'bash zsh fish'
complete -c crosslock -n '__crosslock_needs_value_of --on-lost' -a 'term kill ignore'
complete -c crosslock -n '__crosslock_needs_value_of --format' -a 'env json'
complete -c crosslock -n __crosslock_in_command_line -a '(__crosslock_command_line)'

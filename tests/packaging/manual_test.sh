#!/usr/bin/env bash
# Man pages and completion say what --help says: manual_test.sh PROGRAM
# What checks a form (groff, zsh, fish) is used where it is installed.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() {
    echo "$*"
    failures=$((failures + 1))
}
has() {
    command -v "$1" >/dev/null || {
        echo "$1 is not installed: what it would check is left out"
        return 1
    }
}

# With an environment of its own, so that no start-up file of the user's is read.
ln -s "$(readlink -f "$program")" "$work/cornu"
export PATH="$work:$PATH" HOME="$work" XDG_CONFIG_HOME="$work" XDG_DATA_HOME="$work"
cd "$work"
touch model.safetensors # the one file that completion can find, with those below
mapfile -t commands < <(cornu --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
[ ${#commands[@]} -gt 9 ] || complain "found ${#commands[*]} commands in cornu --help; expected 10 or more"
options_of() {
    cornu "$1" --help | sed -n 's/^  --\([a-z-]*\) .*/\1/p'
}
grep -q "here: $(cornu devices --names | paste -sd' ')" <<<"$(cornu train --help)" || complain "--help does not name the devices that are here"
for shell in bash zsh fish; do
    cornu completion $shell >"completion.$shell"
done

# ---- man pages: clean, and of every command and option ----
cornu --help=man >cornu.1
for command in "${commands[@]}"; do
    cornu "$command" --help=man >"cornu-$command.1"
    grep -q "^\.BR cornu\\\\-$command (1)\$" cornu.1 || complain "cornu(1) leaves out $command"
    for option in $(options_of "$command"); do
        grep -qF "\\fB\\-\\-${option//-/\\-}\\fR" "cornu-$command.1" || complain "cornu-$command(1) leaves out --$option"
        for shell in bash zsh fish; do
            grep -q -e "--$option\b" -e "seen_subcommand_from $command' -l $option\b" completion.$shell ||
                complain "completion for $shell leaves out $command --$option"
        done
    done
done
if has groff; then
    for page in *.1; do
        warnings=$(groff -ww -mandoc -Tutf8 -z "$page" 2>&1)
        [ -z "$warnings" ] || complain "$page: $warnings"
    done
    grep -q 'FILE.safetensors' <<<"$(groff -mandoc -Tutf8 cornu-train.1)" || complain "cornu-train(1) has no synopsis"
fi

# ---- completion: what each shell answers ----
# expect SHELL LINE WORD…: all these words are among the answers; WORD of -NAME must not be.
expect() {
    local shell=$1 line=$2 word answers
    shift 2
    answers=$("in_$shell" "$line")
    for word in "$@"; do
        case $word in
        not:*) ! grep -qxF -- "${word#not:}" <<<"$answers" || complain "$shell: \"$line\" gives ${word#not:}" ;;
        *) grep -qxF -- "$word" <<<"$answers" || complain "$shell: \"$line\" does not give $word; it gives $answers" ;;
        esac
    done
}
# "--data=x" becomes three words, as bash does it.
in_bash() {
    bash --norc -c 'source completion.bash
        line=${1//=/ = }
        read -ra COMP_WORDS <<<"$line"
        case $line in *" ") COMP_WORDS+=("") ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _cornu
        printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
# shellcheck disable=SC2016 # fish's own
in_fish() {
    fish --no-config -c 'source completion.fish; complete -C $argv[1]' -- "$1" | cut -f 1
}
# A zsh in a terminal of its own, in which a tabulator is pressed; what it then shows, word by word.
# Its line editor says that it is ready: before that the terminal would take ^U, and the line, for itself.
# shellcheck disable=SC2016 # zsh's own
in_zsh() {
    zsh -f -c 'zmodload zsh/zpty
        zpty -b shell "TERM=dumb zsh -f"
        zpty -w shell "autoload -Uz compinit; compinit -u -D; source ./completion.zsh"
        zpty -w shell "PS1=; bindkey \"^I\" list-choices; LISTMAX=9999"
        zpty -w shell "zle-line-init() { print rea\"\"dy }; zle -N zle-line-init"
        zpty -r -m shell before "*ready*"
        zpty -n -w shell "$1"$'"'\t\t\x15'"'"echo fin\"\"ished"$'"'\n'"'
        zpty -r -m shell after "*finished*"
        zpty -d shell
        print -r -- $after' zsh "$1" | tr -s '[:space:]' '\n'
}
bash -n completion.bash || complain "bash cannot read its file"
expect bash "cornu tr" train not:bench
expect bash "cornu " bench completion help --version
expect bash "cornu train --ep" --epochs not:--batch
expect bash "cornu train mni" mnist-cnn-2 mnist-cnn-4 not:photos-cnn
mapfile -t devices < <(cornu devices --names)
expect bash "cornu train --device " "${devices[@]}" not:--epochs not:model.safetensors
expect bash "cornu train --device=c" cpu not:gpu
expect bash "cornu train --data " mnist cifar10 model.safetensors
expect bash "cornu evaluate mod" model.safetensors
expect bash "cornu data s" show not:list
expect bash "cornu completion " bash zsh fish not:model.safetensors
if has zsh; then
    zsh -n completion.zsh || complain "zsh cannot read its file"
    if zsh -f -c 'zmodload zsh/zpty; zpty -b probe true && zpty -d probe' 2>/dev/null; then
        expect zsh "cornu " train bench not:--epochs
        expect zsh "cornu train --" --epochs --device not:--quick
        expect zsh "cornu train --device " "${devices[@]}"
        expect zsh "cornu train --data " mnist cifar10 model.safetensors
        expect zsh "cornu data " list show
    else
        echo "zsh is not asked: no terminal can be opened here"
    fi
fi
if has fish; then
    fish -n completion.fish || complain "fish cannot read its file"
    expect fish "cornu tr" train not:bench
    expect fish "cornu train --ep" --epochs
    expect fish "cornu train --device " "${devices[@]}"
    expect fish "cornu data s" show
fi
[ "$failures" = 0 ]

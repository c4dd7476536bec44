#!/usr/bin/env bash
# What quickstart builds and says, with a cmake and an apt-get that only note how they are called:
# quickstart_test.sh SOURCE_FOLDER. (`./check --step quickstart` runs it really.)
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/clone/scripts" "$work/tools"
cp "$source/quickstart" "$work/clone/"
cp "$source/scripts/packages.sh" "$work/clone/scripts/"

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

cat >"$work/tools/cmake" <<'TOOL'
#!/bin/sh
echo "$*" >>"$CALLS"
case $1 in
--build)
    mkdir -p build/release
    printf '#!/bin/sh\necho "cornu $*"\nexit $BENCH\n' >build/release/cornu
    chmod +x build/release/cornu
    ;;
esac
TOOL
printf '#!/bin/sh\nprintf installed\n' >"$work/tools/dpkg-query"
printf '#!/bin/sh\nexit 1\n' >"$work/tools/apt-get"
chmod +x "$work/tools"/*
export CALLS=$work/calls HOME=$work/home

# quickstart with BENCH, the benchmark's status, and a PATH; what it says is in $work/said.
quickstart() {
    local status=0
    : >"$CALLS"
    BENCH=$1 PATH=$work/tools:$2 "$work/clone/quickstart" >"$work/said" 2>&1 || status=$?
    [ "$status" = "$1" ] || fail "status is $status; expected $1, the benchmark's: $(cat "$work/said")"
}
says() {
    grep -qF -- "$1" "$work/said" || fail "quickstart does not say \"$1\": $(cat "$work/said")"
}

quickstart 0 "$PATH"
grep -q -- '^--build build/release .*--target cornu_installable$' "$CALLS" ||
    fail "it does not build what cmake --install needs: $(cat "$CALLS")"
says "cornu bench --quick"
says "the program build/release/cornu"
says "cmake --install build/release --prefix ~/.local"
tail -n 1 "$work/said" | grep -qF "export PATH=\"\$HOME/.local/bin:\$PATH\"; cornu --help" ||
    fail "it does not end by how to call the program: $(tail -n 1 "$work/said")"
quickstart 0 "$HOME/.local/bin:$PATH"
[ "$(tail -n 1 "$work/said")" = "Then, anywhere: cornu --help" ] || fail "it tells of a PATH that is right"
quickstart 5 "$PATH" # a benchmark that fails does not hide what was built
says "the program build/release/cornu"

#!/usr/bin/env bash
# Compile the files that include oneDNN against the newest headers that Debian has (sid), besides those of this
# machine: oneDNN 2 and 3 differ. Usage: scripts/newer_libraries.sh BUILD-FOLDER (one that CMake has configured).
# Exit status 77 where the package cannot be had. The unpacked headers stay in build/newer_libraries for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/debian.sh
. scripts/debian.sh
build=${1:?usage: scripts/newer_libraries.sh BUILD-FOLDER}
store=$PWD/build/newer_libraries

skip() {
    echo "skipped: $*"
    exit 77
}

fetch_headers() {
    local mirror
    mirror=$(release_mirror) || skip "the machine's package sources name no Debian mirror"
    apt_folder "$store/apt" "deb $mirror sid main"
    (cd "$store/apt" && rm -f ./*.deb && apt_in "$store/apt" update && apt_in "$store/apt" download libdnnl-dev) \
        >"$store/apt/log" 2>&1 ||
        skip "libdnnl-dev of Debian sid cannot be had: $(grep -m 1 -E '^(E|W|Err)' "$store/apt/log" || echo "no network?")"
    rm -rf "$store/new"
    dpkg -x "$store"/apt/libdnnl-dev_*.deb "$store/new"
    mv "$store/new" "$store/root"
    rm -rf "$store/apt"
}

if ! [ -d "$store/root" ]; then
    if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
        skip "there is no apt-get"
    fi
    fetch_headers
fi

# Debian puts some of the headers into the folder of the architecture.
folders="-I$store/root/usr/include"
for folder in "$store"/root/usr/include/*-linux-gnu*; do
    [ ! -d "$folder" ] || folders+=" -I$folder"
done
number() {
    cat "$store"/root/usr/include/oneapi/dnnl/dnnl_version.h "$store"/root/usr/include/*/oneapi/dnnl/dnnl_version.h \
        2>/dev/null | sed -nE "s/^#define DNNL_VERSION_$1 +//p" || true # one of the two exists
}
files=$(grep -rlE 'dnnl\.h|onednn_[a-z]+\.h' src --include='*.c')
commands=$(sed -nE 's/^ *"command": "(.*)",?$/\1/p' "$build/compile_commands.json" | sed -E 's/\\(["\\])/\1/g')
count=0
while read -r file; do
    command=$(grep -F -m 1 " -c $PWD/$file" <<<"$commands") || skip "$file is not in $build/compile_commands.json"
    sh -c "$(sed -E "s/ -o [^ ]+ -c / $(sed 's/[\/&]/\\&/g' <<<"$folders") -Werror -fsyntax-only /" <<<"$command")"
    count=$((count + 1))
done <<<"$files"
echo "$count files compile with oneDNN $(number MAJOR).$(number MINOR).$(number PATCH)"

#!/usr/bin/env bash
# Compile the files that include oneDNN against the newest headers that Debian has (sid), besides those of this
# machine: oneDNN 2 and 3 differ. Usage: scripts/newer_libraries.sh BUILD-FOLDER (one that CMake has configured).
# Exit status 77 where the package cannot be had. The unpacked headers stay in build/newer_libraries for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/newer_libraries.sh BUILD-FOLDER}
store=$PWD/build/newer_libraries

skip() {
    echo "skipped: $*"
    exit 77
}

# The mirror that this machine's own sources name first, in either format of apt's.
first_mirror() {
    # Some of these files do not exist.
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]+).*/\3/p' | grep -m 1 debian
}

# apt with a list and a state of its own, so that the machine's are not touched.
own_apt() {
    apt-get -qq -o Dir::Etc::SourceList="$store/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$store/apt/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$store/apt/cache" -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o Acquire::Retries=0 -o Acquire::http::Timeout=20 "$@"
}

fetch_headers() {
    local mirror key
    mirror=$(first_mirror) || skip "the machine's package sources name no Debian mirror"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$store/apt/state/lists/partial" "$store/apt/cache/archives/partial"
    echo "deb [signed-by=$key] $mirror sid main" >"$store/apt/sources.list"
    (cd "$store/apt" && rm -f ./*.deb && own_apt update && own_apt download libdnnl-dev) >"$store/apt/log" 2>&1 ||
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

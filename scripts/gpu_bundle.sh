#!/usr/bin/env bash
# Make one archive of all that a machine with a GPU needs to try the CUDA device: program, plug-in, tests, libraries,
# fixtures, the peers' scripts and the runner. This machine needs the CUDA toolkit, and no GPU; that one a driver.
#   scripts/gpu_bundle.sh [--architectures LIST] [--output FILE|--folder-only] [--build FOLDER]
# LIST: compute capabilities ("80;90"); there is PTX of the lowest. FILE: NAME.tar.gz, which becomes NAME.tar.xz where it
# would be too large, or NAME.tar.xz.
# The archive holds a folder "bundle"; it also stays in FOLDER (docs/gpus.md).
set -euo pipefail
cd "$(dirname "$0")/.."

most_bytes=$((45 << 20)) # what still travels where a copy is limited
architectures=90 output='' build=build/bundle archive=true

stop() {
    printf 'gpu_bundle.sh: %s\n' "$*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --architectures | --output | --build)
        [ $# -gt 1 ] || stop "$1: expected a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    --folder-only)
        archive=false
        shift
        ;;
    *) stop "found $1; usage: gpu_bundle.sh [--architectures LIST] [--output FILE|--folder-only] [--build FOLDER]" ;;
    esac
done
output=${output:-$build/bundle.tar.gz}
case $output in
*.tar.gz | *.tar.xz) ;;
*) stop "--output: found $output; expected NAME.tar.gz or NAME.tar.xz" ;;
esac
to=$build/bundle

# The tests of cuda:0, "NAME PROGRAM ARGUMENT...": what ctest would run, without the environment that it sets. Only this
# function knows how a test's name becomes a command.
list_tests() {
    ctest --test-dir "$build" --show-only=json-v1 | python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    name, command = test["name"], test.get("command", [])
    if not name.endswith(".cuda"):
        continue
    if command:
        print(name[:-len(".cuda")], *command)'
}

# DT_RPATH, in which also libraries of libraries are looked for; a DT_RUNPATH is for the program's own alone.
configure() {
    local generator=()
    [ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
    cmake "${generator[@]}" -B "$build" -DCMAKE_BUILD_TYPE=Release "-DCORNU_CUDA_ARCHITECTURES=$architectures" \
        "-DCMAKE_BUILD_RPATH=\$ORIGIN/../lib" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
}

# The libraries that programs need, but for those that every Linux has: glibc's and GCC's.
needed_libraries() {
    LD_LIBRARY_PATH='' ldd "$@" | sed -n 's/^.* => \(\/[^ ]*\) (.*/\1/p' | sort -u |
        grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libutil|ld-linux[^/]*|libstdc\+\+|libgcc_s)\.so\.[0-9]+$'
}

# The newest version of symbols of a kind (GLIBC, GLIBCXX) that files ask for.
newest_version() {
    local kind=$1
    shift
    objdump -T "$@" 2>/dev/null | grep -oE "\b${kind}_[0-9.]+" | sort -uV | tail -n 1
}

configure
# ctest names the commands of tests that are built.
cmake --build "$build" --parallel "$(nproc)" --target cornu_program gpu_tests ||
    stop "cornu and its tests on cuda:0 were not built: are the CUDA toolkit and cmocka (libcmocka-dev) here?"
tests=$(list_tests)
[ -n "$tests" ] || stop "ctest lists no tests on cuda:0 in $build"
mapfile -t programs < <(awk '{print $2}' <<<"$tests" | sort -u)
[ -e "$build/libcornu-cuda.so" ] || stop "$build/libcornu-cuda.so was not built"

rm -rf "$to"
mkdir -p "$to/bin" "$to/lib" "$to/fixtures" "$to/peers"
install -s "$build/cornu" "$build/libcornu-cuda.so" "${programs[@]}" "$to/bin"
mapfile -t libraries < <(needed_libraries "$to"/bin/*)
install -s -m 644 "${libraries[@]}" "$to/lib"
cp tests/fixtures/* "$to/fixtures"
cp peers/gpu_step_time.py peers/peer.py peers/networks.py "$to/peers"
install scripts/gpu_run.sh "$to/run"
install -m 644 scripts/gpu_steps.sh scripts/gpu_records.sh "$to"
awk '{ sub(/^.*\//, "bin/", $2); print }' <<<"$tests" >"$to/tests.txt"
grep -aoE 'lib(cublasLt|cudnn)\.so\.[0-9]+' "$to/bin/libcornu-cuda.so" | sort -u >"$to/needs.txt"
{
    echo "cornu $("$to/bin/cornu" version | sed -n '1s/^cornu //p'), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ', changed')"
    echo "compute capabilities: $architectures"
    echo "needs $(newest_version GLIBC "$to"/bin/* "$to"/lib/*), $(newest_version GLIBCXX "$to"/bin/* "$to"/lib/*)"
} >"$to/about.txt"

cat "$to/about.txt"
if [ "$archive" = false ]; then
    echo "$to/run tries it"
    exit
fi

# pack FILE: programs that are linked with the same objects are the same over megabytes, which xz sees and gzip does not.
pack() {
    rm -f "$1"
    case $1 in
    *.gz) tar -C "$build" --owner=0 --group=0 -cf - bundle | gzip -9 >"$1" ;;
    *.xz) tar -C "$build" --owner=0 --group=0 -cf - bundle | xz -4 -T 0 >"$1" ;;
    esac
    bytes=$(stat -c %s "$1")
}

pack "$output"
if [ "$bytes" -gt "$most_bytes" ] && [ "${output%.gz}" != "$output" ]; then
    echo "$output: $bytes bytes, more than $most_bytes: packed by xz"
    rm -f "$output"
    output=${output%.gz}.xz
    pack "$output"
fi
[ "$bytes" -le "$most_bytes" ] ||
    stop "$output: found $bytes bytes; expected at most $most_bytes: give fewer --architectures"
printf '%s: %d bytes; on a machine with a GPU: tar -xf %s && bundle/run\n' "$output" "$bytes" "${output##*/}"

#!/usr/bin/env bash
# An installed copy serves programs outside this project: install_test.sh CMAKE BUILD_FOLDER
# Installs into a temporary prefix, moves that elsewhere, and builds a C and a C++ program against it,
# once by pkg-config and once by find_package.
set -euo pipefail
cmake=$1 build=$2
outside=$(cd "$(dirname "$0")/outside" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" --strip >/dev/null # as packages are
mv "$work/first" "$work/prefix" # nothing in it may name the place it was installed to
prefix=$work/prefix

fail() {
    echo "$*" >&2
    exit 1
}

for file in bin/cornu include/cornu/cornu.h include/cornu/options.h include/cornu/report.h share/man/man1/cornu.1 share/man/man1/cornu-train.1 \
    share/bash-completion/completions/cornu share/zsh/site-functions/_cornu \
    share/fish/vendor_completions.d/cornu.fish; do
    [ -f "$prefix/$file" ] || fail "not installed: $file"
done
if grep -rlIF "$work" "$prefix"; then
    fail "the files above name the prefix"
fi
library=$(find "$prefix" -name 'libcornu.so')
[ -n "$library" ] || fail "not installed: libcornu.so"
bytes=$(find "$prefix" -type f -exec stat -c %s {} + | awk '{sum += $1} END {print sum}')
[ "$bytes" -lt 13000000 ] || fail "installed size is $bytes bytes; expected less than 13 MB"

# The program needs nothing of the build folder.
(cd / && env -i PATH=/usr/bin:/bin "$prefix/bin/cornu" --version) | grep -q '^cornu ' ||
    fail "the installed program does not show its version"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name cornu.pc)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$library")
read -ra flags <<<"$(pkg-config --cflags --libs cornu)"
[ "$(pkg-config --modversion cornu)" = "$("$prefix/bin/cornu" --version | awk 'NR == 1 {print $2}')" ] ||
    fail "cornu.pc and the program name different versions"
${CC:-cc} -std=c11 -pedantic -Wall -Werror "$outside/program.c" "${flags[@]}" -o "$work/by_pkg_config"
${CXX:-c++} -std=c++11 -pedantic -Wall -Werror -x c++ "$outside/program.cpp" "${flags[@]}" \
    -o "$work/by_pkg_config_cpp"
"$work/by_pkg_config"
"$work/by_pkg_config_cpp"

"$cmake" -S "$outside" -B "$work/build" "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
"$cmake" --build "$work/build" >/dev/null
unset LD_LIBRARY_PATH
"$work/build/program_c"
"$work/build/program_cpp"

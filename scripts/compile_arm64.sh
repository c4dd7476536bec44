#!/usr/bin/env bash
# Compile the library and the program for 64-bit ARM, without linking: that all of it compiles there, without a
# warning, the vector kernels too. Usage: scripts/compile_arm64.sh BUILD-FOLDER (one that CMake has configured)
# Each file once, whatever number of programs it is part of. What is the same C for all processors is optimized less, in
# half the time; the kernels as they would be there.
set -euo pipefail
commands=$(sed -nE 's/^ *"command": "(.*)",?$/\1/p' "$1/compile_commands.json" | sed -E 's/\\(["\\])/\1/g' |
    grep -E -- ' -c [^ ]*/src/[^ ]*\.c$' | grep -vE 'CPU_ISA=a(vx|mx)|/(cuda|opencl)/plugin/' | awk '!seen[$NF]++')
# This machine's headers come last: the libraries' are the same for all processors.
compiler="aarch64-linux-gnu-gcc -Werror -idirafter /usr/include -idirafter /usr/include/$(uname -m)-linux-gnu"
count=$(wc -l <<<"$commands")
sed -E "s|^[^ ]+|$compiler|; s/ -m[^ ]+//g; s/ -MD//; s/ -M[TF] [^ ]+//g; /CPU_ISA=/!s/ -O3 / -O1 /; s/ -o [^ ]+ -c / -S -o - /; s/\$/ >\/dev\/null/" \
    <<<"$commands" | tr '\n' '\0' | xargs -0 -n 1 -P "$(nproc)" sh -c
echo "$count files compile"

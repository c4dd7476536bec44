#!/usr/bin/env bash
# Files that the program writes row by row are whole where signals interrupt its writes: strace makes every second write to
# them fail with EINTR. interrupted_test.sh SOURCE_FOLDER PROGRAM
set -euo pipefail
source=$(readlink -f "$1")
program=$(readlink -f "$2")
command -v strace >/dev/null || {
    echo "skipped: strace is not installed"
    exit 77
}
strace -o /dev/null true 2>/dev/null || {
    echo "skipped: strace may not trace here (ptrace is not permitted)"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OCL_ICD_VENDORS=/nowhere ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # which ptrace is for, too

# interrupted FILE ARGUMENT...: the program with these arguments, while it writes FILE
interrupted() {
    local file=$1
    shift
    strace -f -qq -o trace -P "$work/$file" -e trace=write -e inject=write:error=EINTR:when=1+2 "$program" "$@" >output 2>&1 || {
        echo "cornu $*: $(cat output)"
        exit 1
    }
    grep -q EINTR trace || {
        echo "cornu $*: found no write of $file that was interrupted"
        exit 1
    }
}

cp "$source"/tests/fixtures/tiny.* .
"$program" train tiny.yaml --epochs 1 --quiet --save m.safetensors
for format in csv json; do
    "$program" predict m.safetensors --data tiny.npz "--$format" "whole.$format" >output
    interrupted "rows.$format" predict m.safetensors --data tiny.npz "--$format" "rows.$format"
    cmp "whole.$format" "rows.$format"
done
for class in cat dog; do
    mkdir -p "pets/$class"
    for i in 1 2 3; do printf 'P5 2 2 255\n1234' >"pets/$class/$i.pgm"; done
done
"$program" new whole --data pets >output
interrupted pets.yaml new pets --data pets
diff <(sed s/whole/pets/g whole.yaml) pets.yaml

#!/usr/bin/env bash
# README's C section, typed as it stands after README's installation: readme_test.sh CMAKE BUILD_FOLDER SOURCE_FOLDER
# Its program, and the one at the top of cornu.h, are compiled against the installed tree, train on a data set of
# Fashion-MNIST's form, and end with status 0 if all went well, and only then.
set -euo pipefail
cmake=$1 build=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home CORNU_DATA=$work/data
mkdir -p "$HOME" "$CORNU_DATA/fashion-mnist"

fail() {
    echo "$*" >&2
    exit 1
}

# idx FILE DIMENSION…: a file of MNIST's format, of zeros.
idx() {
    local file=$CORNU_DATA/fashion-mnist/$1 bytes=1 head dimension
    shift
    head="\\0\\0\\x8\\x$#"
    for dimension in "$@"; do
        head+="\\0\\0\\0\\x$(printf %x "$dimension")"
        bytes=$((bytes * dimension))
    done
    printf '%b' "$head" >"$file"
    head -c "$bytes" /dev/zero >>"$file"
}
for split in train t10k; do
    idx $split-images-idx3-ubyte 60 28 28
    idx $split-labels-idx1-ubyte 60
done

# block HEADING NUMBER: the lines of that one of the blocks between ``` below a heading of README's.
block() {
    awk -v heading="$1" -v number="$2" '/^## /{below = $0 == heading}
        below && /^```/ {inside = !inside; count += inside; next} below && inside && count == number' "$source/README.md"
}

# The installation, of this build folder.
install=$(grep -m 1 '^cmake --install build/release ' "$source/README.md") || fail "README does not install"
install=${install/cmake --install build\/release/\"$cmake\" --install \"$build\"}
bash -ec "$install" >/dev/null
export PATH=$HOME/.local/bin:$PATH
[ "$(command -v cornu)" = "$HOME/.local/bin/cornu" ] || fail "README's PATH does not find the program: $(command -v cornu)"
cornu --version >/dev/null

cd "$work"
block "## From C and C++" 1 >clothes.c
commands=$(block "## From C and C++" 2)
grep -q cornu_model_save clothes.c || fail "found no program in README's C section"
grep -q clothes.c <<<"$commands" || fail "README does not say how its program is compiled"

# runs WHAT: once well, then once with a folder in the file's place.
runs() {
    rm -rf clothes.safetensors
    bash -ec "$commands" || fail "$1 failed"
    cornu evaluate clothes.safetensors --data fashion_mnist >/dev/null || fail "$1 has saved no model that can be used"
    rm clothes.safetensors
    mkdir clothes.safetensors
    if bash -ec "$commands" 2>said; then
        fail "$1 ended with status 0 after an error"
    fi
    grep -q clothes.safetensors said || fail "$1 does not say what is wrong: $(cat said)"
}
runs "README's program"
# Its lines are indented, and between the heading and the conventions.
sed -n '/^     #include/,/^   Conventions/{/^     /p}' "$HOME/.local/include/cornu/cornu.h" >clothes.c
runs "cornu.h's program"

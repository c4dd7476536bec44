#!/usr/bin/env bash
# The library's binary interface is still the one kept in libcornu.abi: abi_test.sh SOURCE_FOLDER LIBRARY [--update]
# Functions may have come; nothing that a compiled caller relies on may have gone or changed its shape. Where a
# change is meant (a field that takes its place in a struct's reserve; what breaks callers raises CORNU_SOVERSION),
# --update keeps the new interface. Reads debug information; libcornu.abi is of x86-64.
set -euo pipefail
source=$1 library=$2
kept=$source/tests/packaging/libcornu.abi
only_public=(--headers-dir "$source/include" --drop-private-types --no-corpus-path --no-comp-dir-path
    --no-show-locs --no-elf-needed --no-parameter-names --drop-undefined-syms --exported-interfaces-only)

skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(uname -m)" = x86_64 ] || skip "libcornu.abi is of x86_64; this is $(uname -m)"
command -v abidiff >/dev/null || skip "abidiff is not installed (abigail-tools)"
grep -q '\.debug_info' <<<"$(readelf -S "$library")" ||
    skip "$library has no debug information (builds of the presets debug and asan have)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
abidw "${only_public[@]}" --out-file "$work/new.abi" "$library"
if [ "${3:-}" = --update ]; then
    cp "$work/new.abi" "$kept"
    exit
fi
# Which format abidw writes depends on its version; abidiff compares none with another.
format_of() {
    sed -n "s/.*<abi-corpus version='\([0-9]*\).*/\1/p" "$1"
}
[ "$(format_of "$kept")" = "$(format_of "$work/new.abi")" ] ||
    skip "libcornu.abi has format $(format_of "$kept") of libabigail; $(abidw --version) writes $(format_of "$work/new.abi")"
abidiff --no-added-syms "$kept" "$work/new.abi" || {
    echo "The interface differs from tests/packaging/libcornu.abi, as above. If callers compiled before go on working:"
    echo "    $0 $source $library --update"
    exit 1
}

# A struct that grew is seen.
sed '0,/<class-decl name=.cornu_fit_options. size-in-bits=.\([0-9]*\)./s//<class-decl name="cornu_fit_options" size-in-bits="64"/' \
    "$work/new.abi" >"$work/other.abi"
! abidiff --no-added-syms "$kept" "$work/other.abi" >/dev/null || {
    echo "abidiff does not see that a struct has another size"
    exit 1
}

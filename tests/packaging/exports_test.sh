#!/usr/bin/env bash
# Libraries export their interface and no more: exports_test.sh HEADERS LIBCORNU [MODULE…]
# libcornu.so what the headers of a folder declare, versioned; a module that others open (a plug-in of GPUs, Python's extension) the one
# name by which they begin.
set -euo pipefail
headers=$1 library=$2
failures=0

# complain WHAT NAME…
complain() {
    [ $# -gt 1 ] || return 0
    echo "$1: ${*:2}"
    failures=$((failures + 1))
}

# Functions and objects; the names of versions are absolute (A).
exported() {
    nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | sort
}

# Of the preprocessed headers each function, marked by what CORNU_API is then.
declared=$(printf '#include "%s"\n' "$headers"/*.h | ${CC:-cc} -E -P -I "$headers/.." - | tr '\n' ' ' | grep -o 'visibility("default"))) [^;(]*' |
    sed 's/.*[ *]//' | sort -u)
[ "$(wc -w <<<"$declared")" -gt 50 ] || complain "found too few declarations in $headers" "$declared"

read -ra missing <<<"$(comm -23 <(echo "$declared") <(exported "$library" | sed 's/@.*//') | tr '\n' ' ')"
complain "declared and not exported" "${missing[@]}"
read -ra others <<<"$(comm -13 <(echo "$declared") <(exported "$library" | sed 's/@.*//') | tr '\n' ' ')"
complain "exported and not declared" "${others[@]}"

soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[[ $soname =~ ^libcornu\.so\.[0-9.]+$ ]] || complain "SONAME" "found \"$soname\"; expected libcornu.so.VERSION"
version=CORNU_${soname#libcornu.so.}
read -ra unversioned <<<"$(exported "$library" | grep -vF "@@$version" | tr '\n' ' ')"
complain "exported without the version $version" "${unversioned[@]}"

for module in "${@:3}"; do
    found=$(exported "$module" | tr '\n' ' ')
    [[ $found =~ ^(cornu_(cuda|opencl|mpi)_plugin|PyInit__cornu)\ $ ]] || complain "$module exports more or less than its one name" "$found"
done
[ "$failures" = 0 ]

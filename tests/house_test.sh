#!/bin/sh
# The rules of ARCHITECTURE.md that a compiler does not check: house_test.sh SOURCE_FOLDER
set -eu
cd "$1"
failures=0

complain() {
    printf '%s\n' "$1"
    failures=$((failures + 1))
}

# Each finding is a line on standard input; $1 says which promise it breaks.
complain_all() {
    while IFS= read -r line; do
        complain "$1: $line"
    done
}

# A room includes only itself and the rooms before it.
rooms="base format model step device data parallel exchange report train bench"
allowed=
for room in $rooms; do
    allowed="$allowed|$room"
    found=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' "src/$room" |
        grep -vE "#[[:space:]]*include[[:space:]]+\"(${allowed#|})/" || true)
    [ -z "$found" ] || complain_all "includes a room after its own" <<EOF
$found
EOF
done

# Folders do not include each other in a ring, and neither do files. (A folder and one inside it are one subject.)
includes() {
    grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' src --include='*.[ch]' --include='*.cu' --include='*.cuh' |
        sed -E 's#^src/([^:]*):[0-9]*:[^"]*"([^"]*)".*#\1 \2#'
}
found=$(includes | tsort 2>&1 >/dev/null | tr '\n' ' ')
[ -z "$found" ] || complain "files include each other in a ring: $found"
found=$(includes | awk '{
        sub("/[^/]*$", "", $1); sub("/[^/]*$", "", $2)
        if (index($1 "/", $2 "/") != 1 && index($2 "/", $1 "/") != 1) print $1, $2
    }' | tsort 2>&1 >/dev/null | tr '\n' ' ')
[ -z "$found" ] || complain "folders include each other in a ring: $found"

# The program sees the public headers, the benchmark and the first room, nothing else of the library.
found=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' src/cli |
    grep -vE '#[[:space:]]*include[[:space:]]+"(cli|bench|base)/' || true)
[ -z "$found" ] || complain_all "src/cli uses only the public headers, src/bench and src/base" <<EOF
$found
EOF

# The program prints by way of print.c, which lets no control character of a name through.
found=$(grep -nE '(^|[^_[:alnum:]])(v?f?printf|fputs|fputc|puts|putchar|putc|fwrite)[[:space:]]*\(' src/cli/*.c |
    grep -vE '^src/cli/print\.c:' || true)
[ -z "$found" ] || complain_all "prints past src/cli/print.c" <<EOF
$found
EOF

# (The program in its first comment is indented.)
found=$(grep -nE '^#[[:space:]]*include' include/cornu/*.h |
    grep -vE 'cornu\.h:[0-9]+:.*<std(bool|def|int)\.h>|:#include <cornu/cornu\.h>|options\.h:[0-9]+:.*<std(bool|int)\.h>' || true)
[ -z "$found" ] || complain_all "a public header includes more than cornu.h and C's own" <<EOF
$found
EOF

found=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' examples/*.c examples/*.h |
    grep -vE '"[a-z0-9_]+\.h"' || true)
[ -z "$found" ] || complain_all "examples use only the public header, and headers beside them" <<EOF
$found
EOF

# Library code never ends the caller's process.
found=$(grep -rnE --include='*.c' --include='*.h' --include='*.def' \
    '(^|[^_[:alnum:]])(exit|_exit|abort|assert)[[:space:]]*\(' src |
    grep -v '^src/cli/' || true)
[ -z "$found" ] || complain_all "ends the caller's process" <<EOF
$found
EOF

found=$(find src -type f -exec wc -l {} + | awk '$2 != "total" && $1 > 1000 {print $2 " has " $1}')
[ -z "$found" ] || complain_all "more than 1000 lines" <<EOF
$found
EOF

# A layer without a row would build, and no recipe could name it.
found=$(sed -n 's/^const layer_kind layer_\([A-Za-z0-9]*\) .*/\1/p' src/model/layers/*.c | while IFS= read -r layer; do
    grep -q "^LAYER($layer," src/model/layers/layers.def || printf '%s\n' "$layer"
done)
[ -z "$found" ] || complain_all "a layer without its row in src/model/layers/layers.def" <<EOF
$found
EOF

# The field's words, not those that grew here once: prefetch, deferred and flushed, fused, packed, K-slices, partial
# sums, bf16x3 terms, split-K, blocking, tasks, rotated, random transform.
homemade='bring_near|brings? near|put_off|puts? off|takes? along|catch(es)? up|caught up|spans?|fold(s|ed|ing)?|laid|lays?(_| )out'
homemade_here="$homemade|([a-z_]+_)?parts?|part_[a-z_]+|chunks?|chunk_[a-z_]*|[a-z]+_chunks?|cuts?|cut_[a-z]+|choose_cut|turned|image_change"
found=$(grep -rniwE "$homemade" src --include='*.[ch]' --include='*.cu*' --include='*.cl' --include='*.def' || true
    grep -rniwE "$homemade_here" src/device src/step --include='*.[ch]' --include='*.cu*' --include='*.cl' --include='*.def' |
        grep -vE 'part of|take part' || true)
[ -z "$found" ] || complain_all "another word for what the field has a word for" <<EOF
$found
EOF

for room in $rooms cli; do
    [ -d "src/$room" ] || complain "no such room: src/$room"
done
for folder in src/*; do
    case " $rooms cli " in
    *" $(basename "$folder") "*) ;;
    *) complain "not in the list of rooms: $folder" ;;
    esac
done

[ "$failures" -eq 0 ] || {
    printf '%s broken rules\n' "$failures"
    exit 1
}

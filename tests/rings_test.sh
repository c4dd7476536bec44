#!/bin/sh
# Files of src/ do not call each other in a ring: rings_test.sh LIST, a file with the names of the objects that are
# linked together. A file's calls, and the addresses that its tables hold, are the symbols that its object leaves
# undefined.
set -eu
found=$(grep "/src/" "$1" | xargs nm -A | awk '{
        file = substr($1, 1, index($1, ":") - 1)
        sub(/.*\/src\//, "src/", file)
        sub(/\.o$/, "", file)
        if ($(NF - 1) ~ /U$/) {
            user[++uses] = file
            used[uses] = $NF
        } else if ($(NF - 1) ~ /^[TDRBVWC]$/)
            home[$NF] = file
    }
    END {
        for (i = 1; i <= uses; i++)
            if (used[i] in home && home[used[i]] != user[i])
                print user[i], home[used[i]]
    }' | tsort 2>&1 >/dev/null | grep -o 'src/.*' | sort -u | tr '\n' ' ' || true)
[ -z "$found" ] || {
    echo "files call each other in a ring: $found"
    exit 1
}

#!/bin/sh
# Library code has no global that changes but these: globals_test.sh LIBRARY
set -eu

# What cornu_last_error tells belongs to each thread; which plug-ins there are belongs to the list of devices.
allowed='status.c.o:last_message
loader.c.o:plugin_of_process
loader.c.o:plugin_once'

# Pointers to constants are written once, when the library is loaded (.data.rel.ro).
found=$(nm -A --format=sysv "$1" | awk -F '|' '
    { gsub(/ /, ""); section = $7 }
    section ~ /^(\.t?bss|\.t?data|COM|\*COM\*)/ && section !~ /^\.data\.rel\.ro/ && $4 != "SECTION" {
        count = split($1, name, ":")
        print name[count - 1] ":" name[count]
    }' | sort -u)
[ -n "$found" ] || {
    echo "found no global at all: nm's output is not what this test reads"
    exit 1
}
more=$(printf '%s\n' "$found" | grep -vxF "$allowed" || true)
[ -z "$more" ] || {
    printf '%s\n' "$more" | sed 's/^/a global that changes: /'
    exit 1
}

#!/bin/sh
# No kernel that is hot computes with doubles, of which a GeForce or T4 does a 32nd: doubles_test.sh SOURCES NVCC OPTION...
set -eu
sources=$1
shift
# Of samples: what is drawn and resampled has the host's bits, and sines have a branch for large angles, which no angle here
# takes. Of a step's results: one thread does it.
allowed='draw draw_normals gather_augmented gather_whole penalty_reduce __internal_trig_reduction_slowpathd rows rows_reduce end_step'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$@" -ptx -o "$folder/kernels.ptx" "$sources/src/device/cuda/plugin/kernels/kernels.cu"
# KERNEL DOUBLES, one line for each kernel and for each function that it calls
awk '
    /^[^\/]*\.(entry|func) / {
        name = $0
        sub(/.*\.(entry|func) *(\([^)]*\))? */, "", name)
        sub(/\(.*/, "", name)
        sub(/^cornu_/, "", name)
        count[name] += 0
    }
    /[a-z0-9]\.f64/ { count[name]++ }
    END { for (name in count) print name, count[name] }' "$folder/kernels.ptx" >"$folder/doubles"
kernels=$(wc -l <"$folder/doubles")
[ "$kernels" -gt 40 ] || {
    echo "found $kernels kernels; expected more than 40"
    exit 1
}
failures=0
while read -r kernel count; do
    case " $allowed " in
    *" $kernel "*) continue ;;
    esac
    [ "$count" -eq 0 ] || {
        echo "$kernel: found $count instructions on doubles; expected none"
        failures=1
    }
done <"$folder/doubles"
# Were the instructions not known by their names, nothing would be found anywhere.
grep -qE '^gather_augmented [1-9]' "$folder/doubles" || {
    echo "gather_augmented: found no instruction on doubles; expected some"
    failures=1
}
exit "$failures"

#!/usr/bin/env bash
# What scripts/gpu_bundle.sh packs finds planted faults, on the simulated GPU: bundle_test.sh [BUNDLE SIMULATED]
# BUNDLE: its folder; SIMULATED: that of the simulated libraries. Without them both are built in build/bundle.
set -u
cd "$(dirname "$0")/../.." || exit 1

if [ $# = 2 ]; then
    bundle=$1 simulated=$2
else
    scripts/gpu_bundle.sh --folder-only >/dev/null && cmake --build build/bundle --target simulated_cuda \
        simulated_blas simulated_dnn simulated_nvml simulated_dnn_incomplete >/dev/null || exit 1
    bundle=build/bundle/bundle simulated=build/bundle/tests/cuda/simulated
fi
simulated=$(cd "$simulated" && pwd) || exit 1
folder=$(mktemp -d) failures=0
minutes=5 # beside other tests
trap 'rm -rf "$folder"' EXIT
export CORNU_TEST_MFLOP=1

# try NAME STATUS STEP TEXT [VARIABLE=VALUE...]: the step ends with the status, and its summary has the text.
try() {
    local name=$1 expected=$2 step=$3 text=$4 found=0 begin=$SECONDS
    shift 4
    env "LD_LIBRARY_PATH=$simulated" "$@" "$bundle/run" --minutes "$minutes" --only "$step" --out "$folder/out" >"$folder/log" 2>&1 ||
        found=$?
    if [ "$found" = "$expected" ] && grep -qE -- "$text" "$folder"/out/part?.txt; then
        echo "passed  $name ($((SECONDS - begin)) s)"
    else
        echo "FAILED  $name: found status $found; expected $expected, and \"$text\" in:"
        cat "$folder/log"
        failures=$((failures + 1))
    fi
    rm -rf "$folder/out"
}

# tool NAME: a program of this name in place of NVIDIA's, its text from standard input.
tool() {
    mkdir -p "$folder/$1.folder"
    cat >"$folder/$1.folder/${2:-$1}"
    chmod +x "$folder/$1.folder/${2:-$1}"
}

try "without a fault everything passes" 0 operations "part 1: passed; 2 passed, 0 failed"
try "a wrong kernel" 1 operations "max_pool_forward .*found .*expected" SIMULATED_CUDA_FAULT=max_pool_forward:wrong
try "an access out of bounds" 1 operations "wrote past the end" SIMULATED_CUDA_FAULT=max_pool_forward:bounds
try "no plug-in" 1 operations "the CUDA plug-in is missing" CORNU_CUDA_PLUGIN=/nowhere/libcornu-cuda.so
try "no driver" 1 operations "no usable device: cuda not available: no CUDA driver" LD_LIBRARY_PATH=/nowhere
try "no cuDNN" 1 memcheck "^NO cuDNN" "LD_LIBRARY_PATH=$simulated/incomplete:$simulated"

# Tools of NVIDIA's that find nothing, that find something, of a program that used no GPU, and that take too long.
# shellcheck disable=SC2016
options='while [ "${1#--}" != "$1" ]; do shift 2; done'
tool clean compute-sanitizer <<<"#!/bin/sh
$options; \"\$@\" || exit; echo '========= ERROR SUMMARY: 0 errors'"
tool finds compute-sanitizer <<<"#!/bin/sh
echo '========= Invalid __global__ write of size 4 bytes'; echo '========= ERROR SUMMARY: 1 error'; exit 9"
tool blind compute-sanitizer <<<"#!/bin/sh
$options; unset CORNU_TEST_DEVICES; export LD_LIBRARY_PATH=/nowhere; \"\$@\"
echo '========= ERROR SUMMARY: 0 errors'"
tool slow compute-sanitizer <<<"#!/bin/sh
exec sleep 60"
try "a sanitizer that finds nothing" 0 memcheck "memcheck +1 +0 +0 +0" "PATH=$folder/clean.folder:$PATH"
try "a sanitizer that finds something" 1 memcheck "Invalid __global__ write" "PATH=$folder/finds.folder:$PATH"
try "a sanitizer of a program that used no GPU" 1 memcheck "memcheck: mnist-cnn-2: every test was skipped" \
    "PATH=$folder/blind.folder:$PATH"
minutes=1
try "a sanitizer that takes too long" 2 racecheck "its limit of 12 s is over" "PATH=$folder/slow.folder:$PATH"
minutes=5
tool ncu <<'NCU'
#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
printf '%s\n' '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"' \
    '"0","cornu_gather(gather_params, int)","gpu__time_duration.sum","ns","1,500"' \
    '"1","cornu_end_step(end_step_params)","gpu__time_duration.sum","ns","500"' >"$2"
echo '[       OK ] mnist-cnn-2'
NCU
try "the slowest kernel" 0 ncu "mnist-cnn-2 +1.50 us +1 x, +75 % .*cornu_gather$" "PATH=$folder/ncu.folder:$PATH"

# The tests themselves refuse a device that is named and not there.
read -ra command < <(sed -n 's/^device\.workloads_on_device[^ ]* //p' "$bundle/tests.txt")
if CORNU_TEST_DEVICES=cuda:0 CORNU_CUDA_PLUGIN=/nowhere "$bundle/${command[0]}" "${command[@]:1}" \
    >"$folder/log" 2>&1 || ! grep -q 'found no device cuda:0' "$folder/log"; then
    echo "FAILED  a device that is named and not there: expected a status other than 0, and what is missing:"
    cat "$folder/log"
    failures=$((failures + 1))
else
    echo "passed  a device that is named and not there"
fi
[ "$failures" = 0 ]

#!/usr/bin/env bash
# The tests of the OpenCL device on every driver that is installed here, one line a driver: PoCL, Mesa's
# rusticl on llvmpipe, Intel's CPU runtime, and Oclgrind, which looks for races between work-items,
# accesses beyond a buffer, barriers that not all reach, and wrong API calls. Faults of the drivers
# themselves are in tests/opencl/drivers/README.md.
#   scripts/opencl_drivers.sh [--build FOLDER] [DRIVER...]     build/release; pocl rusticl intel oclgrind
# Intel's runtime is that of a Python environment, "pip install intel-opencl-rt intel-cmplr-lib-rt" (libraries of the
# second are needed, but not named, by the first): CORNU_INTEL_OPENCL names its folder, else .venv. Oclgrind is
# slow: it runs the operations of up to CORNU_TEST_MFLOP (1) MFLOP and a step of each small workload; 100000 for the
# whole table. CORNU_TEST_SECONDS (900) limits a test on the others.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

say() { printf '%s\n' "$*"; }

build=build/release
if [ "${1:-}" = --build ]; then
    build=${2:?--build wants a folder}
    shift 2
fi
[ -e "$build/libcornu-opencl.so" ] || {
    say "opencl_drivers.sh: $build has no libcornu-opencl.so; build cornu there, with OpenCL's headers" >&2
    exit 1
}
build=$(cd "$build" && pwd)
logs=$build/opencl-drivers
limit=${CORNU_TEST_SECONDS:-900} # of one test
vendors=/etc/OpenCL/vendors
mkdir -p "$logs"

# The tests NAME.opencl, but for those of train, of which two stand for all: the same steps by other ways.
tests_of_device() {
    local source name
    for source in tests/device/*_on_device_test.c tests/device/opencl_*_test.c tests/device/host_test.c \
        tests/device/gather_test.c tests/step/gradient_test.c tests/step/update_test.c \
        tests/parity/fixtures_test.c tests/train/resume_test.c tests/train/other_device_test.c; do
        name=${source#tests/}
        name=${name%.c}
        say "${name//\//.}"
    done
}

# in_driver DRIVER ICD COMMAND...: with that driver alone, and a cache of compiled kernels of its own.
in_driver() {
    local driver=$1 icd=$2
    shift 2
    env OCL_ICD_VENDORS="$icd" XDG_CACHE_HOME="$logs/$driver-cache" CORNU_TEST_DEVICES=opencl:0 \
        CORNU_OPENCL_PLUGIN="$build/libcornu-opencl.so" "$@"
}

# The device and its driver, as `cornu devices` has them.
version_of() {
    in_driver "$1" "$2" "$build/cornu" devices |
        sed -n '/^opencl:0 /{N;s/^opencl:0 *//;s/\n */, /;s/, [^,]* memory free//;p}'
}

# has_device DRIVER ICD: else one line, with the libraries that the driver's does not find.
has_device() {
    local driver=$1 icd=$2 missing
    [ -n "$(version_of "$driver" "$icd")" ] && return
    missing=$(ldd "$(cat "$icd")" 2>/dev/null | sed -n 's/^\s*\(.*\) => not found$/\1/p' | sort -u | xargs)
    all_passed=false
    say "FAILED         $driver: no device${missing:+; its library does not find $missing}"
    return 1
}

# run_tests DRIVER ICD: one line.
run_tests() {
    local driver=$1 icd=$2 name failed=() passed=0 begin=$SECONDS
    has_device "$driver" "$icd" || return
    while read -r name; do
        if in_driver "$driver" "$icd" timeout "$limit" "$build/tests/${name%%.*}_tests" "${name#*.}" >"$logs/$driver.$name.log" 2>&1 </dev/null; then
            passed=$((passed + 1))
        else
            failed+=("$name")
        fi
    done < <(tests_of_device)
    report "$driver" "$icd" "$passed" $((SECONDS - begin)) "${failed[@]}"
}

# report DRIVER ICD PASSED SECONDS FAILED...
all_passed=true
report() {
    local driver=$1 icd=$2 passed=$3 seconds=$4
    shift 4
    if [ $# = 0 ]; then
        say "passed         $driver: $passed tests in $seconds s ($(version_of "$driver" "$icd"))"
    else
        all_passed=false
        say "FAILED         $driver: $* ($passed passed; $(version_of "$driver" "$icd")); logs: $logs/$driver.*"
    fi
}

not_installed() {
    say "not installed  $1: $2"
}

# new_icd NAME LIBRARY: the path of a file that names it.
new_icd() {
    say "$2" >"$logs/$1.icd"
    say "$logs/$1.icd"
}

# ---- the drivers ---------------------------------------------------------------------------------

run_pocl() {
    [ -e "$vendors/pocl.icd" ] || { not_installed pocl "apt-get install pocl-opencl-icd"; return; }
    run_tests pocl "$vendors/pocl.icd"
}

run_rusticl() {
    [ -e "$vendors/rusticl.icd" ] || { not_installed rusticl "apt-get install mesa-opencl-icd"; return; }
    export RUSTICL_ENABLE=llvmpipe
    run_tests rusticl "$vendors/rusticl.icd"
}

run_intel() {
    local library
    library=$(find "${CORNU_INTEL_OPENCL:-.venv}/" -name libintelocl.so 2>/dev/null | head -n 1)
    [ -n "$library" ] || {
        not_installed intel "pip install intel-opencl-rt intel-cmplr-lib-rt, and CORNU_INTEL_OPENCL"
        return
    }
    run_tests intel "$(new_icd intel "$library")"
}

# oclgrind_step NAME COMMAND...: it fails, and so does any line on the standard error but those of tests and of the
# compiler, which counts its warnings. (OCLGRIND_LOG would be of no use: each context begins the file anew.)
oclgrind_step() {
    local name=$1 found=$logs/oclgrind.$1.found
    local others='^$|^\[|^ [0-9]+ SKIPPED TEST|^[0-9]+ warnings? generated\.$'
    shift
    in_driver oclgrind "$(new_icd oclgrind "$oclgrind_library")" OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 "$@" \
        >"$logs/oclgrind.$name.log" 2>"$found" </dev/null && ! grep -qvE "$others" "$found"
}

# Planted faults (tests/opencl/drivers/faults.cl): kernel, work-items in
# groups of 8, and the words that Oclgrind has for it; of 9 the call is wrong.
planted_faults='local_race 8 Read-write data race at local memory
global_race 8 Write-write data race at global memory
group_race 16 Write-write data race at global memory
write_beyond 8 Invalid write of size 4 at global memory
read_beyond 8 Invalid read of size 4 at global memory
local_beyond 8 Invalid write of size 4 at local memory
half_barrier 8 Work-group divergence detected (barrier)
half_barrier 9 CL_INVALID_WORK_GROUP_SIZE'

# The planted faults that it does not find.
oclgrind_misses() {
    local kernel items words
    while read -r kernel items words; do
        oclgrind_step planted "$build/tests/opencl_run_kernel" tests/opencl/drivers/faults.cl \
            "$kernel" "$items" 8 8
        grep -qF "$words" "$logs/oclgrind.planted.found" || say "planted-$kernel-$items"
    done <<<"$planted_faults"
}

oclgrind_library=/usr/lib/oclgrind/liboclgrind-rt-icd.so

# try_under_oclgrind NAME COMMAND...: into passed and failed of run_oclgrind.
try_under_oclgrind() {
    if oclgrind_step "$@"; then
        passed=$((passed + 1))
    else
        failed+=("$1")
    fi
}

run_oclgrind() {
    local name failed passed=0 begin=$SECONDS
    [ -e "$oclgrind_library" ] || { not_installed oclgrind "apt-get install oclgrind"; return; }
    mapfile -t failed < <(oclgrind_misses)
    CORNU_TEST_MFLOP=${CORNU_TEST_MFLOP:-1} try_under_oclgrind operations "$build/tests/device_tests" operations_on_device_test
    for name in cifar100-mlp mnist-cnn-2; do
        CORNU_TEST_STEPS=1 CORNU_TEST_BATCH=2 CORNU_TEST_WORKLOADS=$name \
            try_under_oclgrind "$name" "$build/tests/device_tests" workloads_on_device_test
    done
    report oclgrind "$logs/oclgrind.icd" "$passed" $((SECONDS - begin)) "${failed[@]}"
}

[ $# -gt 0 ] || set -- pocl rusticl intel oclgrind
for driver in "$@"; do
    case $driver in
    pocl | rusticl | intel | oclgrind) "run_$driver" ;;
    *)
        say "opencl_drivers.sh: found $driver; expected pocl, rusticl, intel or oclgrind" >&2
        exit 1
        ;;
    esac
done
$all_passed

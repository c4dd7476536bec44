#!/usr/bin/env bash
# Try the CUDA device on this machine's GPU: what scripts/gpu_bundle.sh packed, as "run" (docs/gpus.md).
#   bundle/run [--minutes N] [--only STEP] [--out FOLDER] [--part 1|2]
# Part 1 says whether it is right, part 2 how fast it is; without --part both, one after the other, each of at most N
# minutes (5). The limits of the steps grow with N. FOLDER (gpu-results) gets part1.txt, a summary of a page; part1.json,
# the same for programs; part1.jsonl, a line a result, written when it is there; part1.log, all that was printed.
# The status is 0 where everything passed or was skipped with a reason, 1 where something failed, 2 where nothing failed
# and something was cut by its limit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C

# What the steps need; each may be given in the environment.
export CORNU_CUDA_PLUGIN=${CORNU_CUDA_PLUGIN:-$here/bin/libcornu-cuda.so}
export CORNU_FIXTURES=$here/fixtures CORNU_TEST_PROGRAM=$here/bin/cornu CORNU_TEST_DEVICES=cuda:0
export OCL_ICD_VENDORS=/nowhere # the OpenCL device is not tried here
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer:/usr/sbin:/sbin

minutes=5 only='' out=gpu-results parts=(1 2)

# shellcheck source=scripts/gpu_records.sh
. "$here/gpu_records.sh"
# shellcheck source=scripts/gpu_steps.sh
. "$here/gpu_steps.sh"

usage() {
    printf 'run: %s; usage: run [--minutes N] [--only STEP] [--out FOLDER] [--part 1|2]\n' "$*" >&2
    printf 'steps of part 1: %s\nsteps of part 2: %s\n' "${steps_1[*]}" "${steps_2[*]}" >&2
    exit 64
}

while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || usage "$1: expected an option with its value"
    case $1 in
    --minutes) minutes=$2 ;;
    --only) only=$2 ;;
    --out) out=$2 ;;
    --part) parts=("$2") ;;
    *) usage "found $1" ;;
    esac
    shift 2
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || usage "--minutes: found $minutes; expected a whole number from 1"
[[ ${parts[0]} =~ ^[12]$ ]] || usage "--part: found ${parts[0]}; expected 1 or 2"
if [ -n "$only" ]; then
    if is_one_of "$only" "${steps_1[@]}"; then
        parts=(1)
    elif is_one_of "$only" "${steps_2[@]}"; then
        parts=(2)
    else
        usage "--only: found $only"
    fi
fi
mkdir -p "$out" || exit 64
out=$(cd "$out" && pwd)

# A part's steps in order. The first finds the libraries; without a device the others have nothing to try.
run_part() {
    local -n steps=steps_$1
    local step
    records_open "$1"
    for step in "${steps[@]}"; do
        [ -z "$only" ] || [ "$step" = "$only" ] || [ "$step" = machine ] || continue
        step_begin "$step"
        if [ "$step" = machine ] || [ "$device_is_there" = true ]; then
            "step_${step//-/_}"
        else
            record "$step" "$step" skipped 0 "cuda:0 cannot be used"
        fi
        step_end "$step"
    done
    records_close
}

status=0
trap 'record run run cut 0 "a signal ended the run"; records_close; exit 2' INT TERM
for part in "${parts[@]}"; do
    run_part "$part"
    found=$?
    # 1, a failure, says more than 2, something cut.
    [ "$status" = 1 ] || [ "$found" = 0 ] || status=$found
done
exit "$status"

#!/usr/bin/env bash
# What ./check --gpu does: the bundle of docs/gpus.md on this machine's GPU. A bundle that was unpacked here is run as it is
# and needs no packages; otherwise one is built here. Its summaries are the report.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

logs=build/check/logs
mkdir -p "$logs"
bundle=bundle
if ! [ -x bundle/run ]; then
    install_packages "${BUILD_PACKAGES[@]}" libcmocka-dev python3
    PATH=$PATH:/usr/local/cuda/bin
    # For the GPU that is here.
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n 1p | tr -cd '0-9')
    scripts/gpu_bundle.sh --folder-only --architectures "${capability:-90}" >"$logs/gpu-build.log" 2>&1 || {
        tail -n 20 "$logs/gpu-build.log" >&2
        stop "the bundle could not be built; all it said: $logs/gpu-build.log"
    }
    bundle=build/bundle/bundle
fi
# More minutes than on a machine that is lent: nobody waits.
exec "$bundle/run" --minutes 20 --out "$logs/gpu"

#!/usr/bin/env python3
"""An OpenCL device that runs on the CPU, as PoCL does, beside the cpu device, in turns: a guard against silly work.

usage: scripts/opencl_speed.py [WORKLOAD…] [--cornu PROGRAM] [--device opencl:N] [--rounds N] [--most TIMES]
                               [--empty PERCENT] [--bench-only|--queue-only]

Each round times every workload on both devices by `cornu bench`, one after the other, the order changing; what counts
is the median of the rounds' ratios. Then `cornu explain --run` says for which share of the time the device's queue is
empty, which is the host's fault, and no kernel runs although one is queued, which is the driver's ("between"). Fails where a step takes more than TIMES (8) times the cpu device's, or the queue is empty for PERCENT (3) of the
time or more: the median of three readings. On a machine that others use, too, only the ratios say something.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKLOADS = ["cifar10-mlp", "cifar100-mlp", "mnist-cnn-2", "mnist-cnn-4", "photos-cnn", "photos-cnn-256",
             "photos-cnn-ready", "cifar10-cnn"]
READINGS = 3


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"opencl_speed: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def step_ms(options, workload, device, where):
    run([options.cornu, "bench", workload, "--steps", str(options.steps), "--quick", "--device", device, "--json", where])
    return json.loads(pathlib.Path(where).read_text())["results"][0]["ms_per_step"]["median"]


def compare(options, folder):
    """{workload: [(cpu, device) ms a round]}"""
    where, found = os.path.join(folder, "bench.json"), {w: [] for w in options.workloads}
    for number in range(options.rounds):
        for workload in options.workloads:
            order = ["cpu", options.device] if number % 2 == 0 else [options.device, "cpu"]
            ms = {device: step_ms(options, workload, device, where) for device in order}
            found[workload].append((ms["cpu"], ms[options.device]))
        print(f"\rround {number + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return found


def idle_percents(options, workload):
    empty, between = [], []
    for _ in range(READINGS):
        text = run([options.cornu, "explain", workload, "--run", "--device", options.device])
        found = re.search(r"^queue: empty ([0-9.]+) % .* queued one ([0-9.]+) %", text, re.M)
        empty.append(float(found.group(1)))
        between.append(float(found.group(2)))
    return statistics.median(empty), statistics.median(between)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--cornu", default=str(ROOT / "build/release/cornu"))
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--most", type=float, default=8)
    parser.add_argument("--empty", type=float, default=3)
    parser.add_argument("--bench-only", action="store_true")
    parser.add_argument("--queue-only", action="store_true")
    options = parser.parse_args()
    options.workloads = options.workloads or WORKLOADS
    if os.getloadavg()[0] > 0.5:
        print(f"Note: the machine was not idle at the start: load {os.getloadavg()[0]:.1f}; only the ratios count")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        found = {} if options.queue_only else compare(options, folder)
    print(f"{'workload':<17}{'cpu ms':>9}{options.device + ' ms':>14}{'times':>7}{'queue empty':>13}{'between':>10}")
    for workload in options.workloads:
        row, failed = f"{workload:<17}", False
        if workload in found:
            times = statistics.median(b / a for a, b in found[workload])
            failed |= times > options.most
            row += (f"{statistics.median(a for a, _ in found[workload]):>9.2f}"
                    f"{statistics.median(b for _, b in found[workload]):>14.2f}{times:>7.2f}")
        else:
            row += f"{'-':>9}{'-':>14}{'-':>7}"
        if not options.bench_only:
            empty, between = idle_percents(options, workload)
            failed |= empty >= options.empty
            row += f"{empty:>11.1f} %{between:>8.1f} %"
        failures += failed
        print(row + ("  too slow" if failed else ""), flush=True)
    print(f"{len(options.workloads)} workloads, {failures} beyond {options.most:g} times or {options.empty:g} %")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

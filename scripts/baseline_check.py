#!/usr/bin/env python3
"""Does `cornu bench --baseline` tell a slower program from a noisy machine?

scripts/baseline_check.py [--tries 20] [--build build/release] [WORKLOAD...] [-- BENCH_OPTION...]

Runs the comparison so often with the same program, where it should see no change, and so often with
cornu_slowed, whose steps take 10 % longer, where it should say "slower". Each try is held against
the run of the same program before it, so that every pair is another one. Prints a line a try and
the two counts; exit status 0 where both are at least 19 of 20.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def bench(program, options, baseline, to):
    command = [program, "bench", *options, "--json", to]
    if baseline:
        command += ["--baseline", baseline]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, command))}: exit status {run.returncode}: {run.stderr.strip()}")
    report = json.loads(pathlib.Path(to).read_text())
    changes = report["baseline"]["results"] if baseline else []
    slower = any(c["verdict"] == "slower" for c in changes)
    if slower != (run.returncode == 3):
        sys.exit(f"exit status {run.returncode}, but the JSON says {changes}")
    return changes


def show(change):
    if change["ratio"] is None:
        return f"{change['workload']}: {change['verdict']}: {change['why']}"
    low, high = (100 * (change[k] - 1) for k in ("ratio_low", "ratio_high"))
    return f"{change['workload']}: {change['verdict']}, {100 * (change['ratio'] - 1):+.1f} % ({low:+.1f} to {high:+.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("options", nargs="*", default=None)
    arguments = parser.parse_args()
    options = arguments.options or ["cifar100-mlp", "--quick", "--batch", "8", "--threads", "1"]
    subprocess.run(["cmake", "--build", arguments.build, "--target", "cornu_program", "cornu_slowed"], check=True,
                   stdout=subprocess.DEVNULL)
    same, slowed = (f"{arguments.build}/cornu", f"{arguments.build}/tests/cornu_slowed")
    unchanged = found = 0
    with tempfile.TemporaryDirectory() as folder:
        last = f"{folder}/0.json"
        bench(same, options, None, last)
        for number in range(1, arguments.tries + 1):
            changes = bench(slowed, options, last, f"{folder}/slowed.json")
            found += all(c["verdict"] == "slower" for c in changes)
            print(f"{number} slowed  {'; '.join(map(show, changes))}", flush=True)
            now = f"{folder}/{number}.json"
            changes = bench(same, options, last, now)
            unchanged += all(c["verdict"] == "no change seen" for c in changes)
            print(f"{number} same    {'; '.join(map(show, changes))}", flush=True)
            last = now
    print(f"same program: no change in {unchanged} of {arguments.tries}; "
          f"slowed by 10 %: found in {found} of {arguments.tries}")
    return 0 if min(unchanged, found) * 20 >= arguments.tries * 19 else 1


if __name__ == "__main__":
    sys.exit(main())

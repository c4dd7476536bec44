#!/usr/bin/env python3
"""cornu's own products on an OpenCL device beside CLBlast's, of the published workloads' shapes.

usage: peers/clblast.py [WORKLOAD…] [--device opencl:N] [--build FOLDER] [--rounds N] [--seconds S] [--least SHARE]

Builds clblast.c in FOLDER (build/release; needs Debian's libclblast-dev) and runs it: each shape by both, in turns,
with the same numbers in the same process. Dense layers' products are taken as they are; convolutions as the products
that an implicit GEMM and Winograd's algorithm make of them. Both times are wall-clock's, of many calls in a row.

Prints a row a shape and fails where cornu reaches less than SHARE (0.7) of CLBlast's speed for one: the median of the
rounds' ratios. On a machine that others use, too, only the ratios say something.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(folder):
    if not (folder / "CMakeCache.txt").exists():
        sys.exit(f"clblast: {folder}: no build folder; cmake --preset release makes one")
    made = subprocess.run(["cmake", "--build", str(folder), "--target", "clblast_compare"], capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"clblast: {made.stdout}{made.stderr}\nclblast: not built; expected libclblast-dev and ocl-icd-opencl-dev")
    return folder / "clblast_compare"


def rows(command, environment):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            kind, m, n, k, source, own, peer, ratio = line.split()
            yield dict(kind=kind, m=int(m), n=int(n), k=int(k), source=source, own=float(own), peer=float(peer),
                       ratio=float(ratio))
    if process.returncode:
        sys.exit(f"clblast: {command[0]}: exit status {process.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--least", type=float, default=0.7)
    options = parser.parse_args()
    program = build(options.build)
    print(f"products on {options.device}: medians of {options.rounds} rounds in turns; ratio: CLBlast's time over cornu's")
    if os.getloadavg()[0] > 0.5:
        print(f"Note: the machine was not idle at the start: load {os.getloadavg()[0]:.1f}; only the ratios count")
    print(f"{'':<3}{'m':>8}{'n':>6}{'k':>8} {'of':<26}{'GFLOP/s':>9}{'CLBlast':>9}{'ratio':>7}")
    slow, count = [], 0
    command = [str(program), options.device, str(options.rounds), str(options.seconds), *options.workloads]
    for row in rows(command, os.environ):
        flops = 2e-3 * row["m"] * row["n"] * row["k"]
        count += 1
        below = row["ratio"] < options.least
        slow += [row] if below else []
        print(f"{row['kind']:<3}{row['m']:>8}{row['n']:>6}{row['k']:>8} {row['source']:<26}{flops / row['own']:>9.1f}"
              f"{flops / row['peer']:>9.1f}{row['ratio']:>7.2f}{'  below' if below else ''}", flush=True)
    print(f"{count} shapes, {len(slow)} below {options.least:g} of CLBlast's speed")
    return 1 if slow or not count else 0


if __name__ == "__main__":
    sys.exit(main())

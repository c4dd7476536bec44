#!/usr/bin/env python3
"""Do the published workloads get the same model file from any number of ranks, by either MPI, also after an interruption?

  scripts/ranks_check.py build/release/cornu [WORKLOAD...] --data DIR [--mpi openmpi,mpich] [--pictures DIR]
      [--ranks 1,2,4,8] [--steps 4]

DIR holds the data sets; where CIFAR-100 is not among them, noise in its file layout stands in. Each workload is trained for a
few steps with 8 shards: by one process, and by each number of ranks of each launcher (mpirun.openmpi, mpirun.mpich), every
other time with --shard-optimizer. Then a run is stopped by SIGTERM to one of its ranks at a random step, and goes on with
another number of ranks. Ends with 1 where a file differs.
"""
import argparse
import itertools
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

WORKLOADS = {"cifar10-mlp": [], "cifar100-mlp": [], "mnist-cnn-2": [], "mnist-cnn-4": [], "cifar10-cnn": [],
             "photos-cnn-ready": ["--batch", "16"], "photos-cnn": ["--batch", "8"], "photos-cnn-256": ["--batch", "8"]}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launcher(mpi, ranks):
    if ranks == 1:
        return []
    return [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(ranks)]


def data_of(name, data, pictures, folder):
    """Arguments that say where a workload's data is."""
    if name.startswith("photos"):
        return ["--data", str(pictures.resolve())]
    if name != "cifar100-mlp" or any(data.rglob("fine_label_names.txt")):
        return []
    made = folder / "cifar-100-binary"
    made.mkdir()
    draw = random.Random(1)
    for file, records in (("train.bin", 2000), ("test.bin", 400)):
        rows = (bytes([i // 5 % 20, i % 100]) + draw.randbytes(3072) for i in range(records))
        (made / file).write_bytes(b"".join(rows))
    (made / "fine_label_names.txt").write_text("".join(f"kind-{i}\n" for i in range(100)))
    return ["--data", str(made)]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}")


def rank_processes(program, marker):
    """Those that train, with `marker` among their arguments."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if entry.name.isdigit() and words[0] == os.fsencode(program) and os.fsencode(marker) in words:
            found.append(int(entry.name))
    return found


def interrupted(program, train, mpi, first, then, folder, after):
    """Stop a run of `first` ranks after so many seconds; `then` ranks go on. True where there was something to stop."""
    marker = "part.safetensors"
    process = subprocess.Popen([*launcher(mpi, first), *train, "--save", marker], cwd=folder, env=ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while process.poll() is None and len(rank_processes(program, marker)) < first:
        time.sleep(0.01)
    time.sleep(after)
    for pid in rank_processes(program, marker)[:1]:
        os.kill(pid, signal.SIGTERM)
    rest = process.stdout.read()
    process.wait()
    if "stopped after step" not in rest:
        return False
    run([*launcher(mpi, then), program, "train", "--resume", marker, "--threads", "1"], folder)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("workloads", nargs="*", default=None)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder of pictures; without, photos-* are left out")
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    draw = random.Random(o.seed)
    ENVIRONMENT["CORNU_DATA"] = str(o.data.resolve())
    program, ranks = str(o.program.resolve()), [int(n) for n in o.ranks.split(",")]
    if len(ranks) < 2:
        parser.error(f"--ranks: found {o.ranks}; expected two numbers or more, the first for a run that is stopped")
    differ = 0
    for name in o.workloads or WORKLOADS:
        of_pictures = name.startswith("photos")
        if of_pictures and not o.pictures:
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            data = data_of(name, o.data, o.pictures, folder)
            train = [program, "train", name, *data, *WORKLOADS.get(name, []), "--epochs", "1", "--steps", str(o.steps),
                     "--shards", "8", "--threads", "1"]
            run([*train, "--save", "alone.safetensors"], folder)
            alone = (folder / "alone.safetensors").read_bytes()
            shortest = math.inf
            for turn, (mpi, n) in enumerate(itertools.product(o.mpi.split(","), ranks[1:])):
                divides = ["--shard-optimizer"] if turn % 2 else []
                began = time.monotonic()
                run([*launcher(mpi, n), *train, *divides, "--save", "all.safetensors"], folder)
                took = time.monotonic() - began
                shortest = min(shortest, took)
                same = (folder / "all.safetensors").read_bytes() == alone
                differ += not same
                print(f"{name:18} {mpi:8} {n} ranks{', divided' if divides else ''}: {'same' if same else 'OTHER'} bytes, "
                      f"{took:.1f} s", flush=True)
            mpi, (first, then) = draw.choice(o.mpi.split(",")), draw.sample(ranks, 2)
            train += draw.choice([[], ["--shard-optimizer"]])
            # Before its first step, and behind its last, there is nothing to stop.
            stopped = any(interrupted(program, train, mpi, first, then, folder, draw.uniform(0.1, 0.6) * shortest)
                          for _ in range(8))
            same = stopped and (folder / "part.safetensors").read_bytes() == alone
            differ += stopped and not same
            print(f"{name:18} {mpi:8} {first} ranks, stopped, then {then}: "
                  f"{'same bytes' if same else 'OTHER bytes' if stopped else 'was not within its steps'}", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

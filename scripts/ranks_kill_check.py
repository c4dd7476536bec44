#!/usr/bin/env python3
"""Is the model file whole, whenever a rank is killed?

  scripts/ranks_kill_check.py build/release/cornu [--kills 200] [--mpi openmpi,mpich] [--ranks 2] [--seed 1]

Two or more ranks train a small network that is saved behind each short epoch, now and then with --shard-optimizer; one of
them, drawn by chance, gets SIGKILL at a random moment. Then nobody may be left, the launcher must have ended within 10 s, and
what lies there as a model file must be whole. Ends with 1 where something was lost.
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from ranks_check import ENVIRONMENT, launcher, rank_processes

RECIPE = """
model: {input: [32, 32, 3], layers: [Flatten, {Dense: {units: 256, activation: relu}}, {Dense: {units: 10, activation: softmax}}]}
compile: {optimizer: adam, loss: categorical_crossentropy}
fit: {batch_size: 32, validation: none}
"""


def make_data(folder):
    """CIFAR-10's files, with 60 samples each."""
    folder.mkdir()
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        (folder / f"{name}.bin").write_bytes(b"".join(bytes([i % 10]) + os.urandom(3072) for i in range(60)))
    (folder / "batches.meta.txt").write_text("\n".join("abcdefghij"))


def kill_one(program, mpi, ranks, folder, draw):
    """(what happened, is all well?)"""
    model = folder / "kill.safetensors"
    model.unlink(missing_ok=True)
    train = [program, "train", "net.yaml", "--data", "cifar-10-batches-bin", "--threads", "1",
             *draw.choice([[], ["--shard-optimizer"]])]
    process = subprocess.Popen([*launcher(mpi, ranks), *train, "--epochs", "1000000", "--save", model.name], cwd=folder,
                               env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(rank_processes(program, model.name)) < ranks:
        time.sleep(0.01)
    time.sleep(3 * draw.random())
    victims = rank_processes(program, model.name)
    if victims:
        os.kill(draw.choice(victims), signal.SIGKILL)
    began = time.monotonic()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        return "the launcher did not end within 20 s", False
    took = time.monotonic() - began
    while rank_processes(program, model.name) and time.monotonic() - began < 12:
        time.sleep(0.05)
    if took > 10 or rank_processes(program, model.name):
        return f"ended after {took:.1f} s, left: {rank_processes(program, model.name)}", False
    left = [p.name for p in folder.iterdir() if p.name.startswith("kill") or p.name.startswith(".kill")]
    if not model.exists():
        return f"{took:.1f} s, nothing saved yet", True
    known = subprocess.run([program, "evaluate", model.name, "--data", "cifar-10-batches-bin"], cwd=folder,
                           capture_output=True, text=True)
    return f"{took:.1f} s, {', '.join(sorted(left))} {'whole' if known.returncode == 0 else known.stderr}", known.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    draw, mpis, lost, saved = random.Random(o.seed), o.mpi.split(","), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "net.yaml").write_text(RECIPE)
        make_data(folder / "cifar-10-batches-bin")
        for number in range(1, o.kills + 1):
            mpi = mpis[number % len(mpis)]
            what, well = kill_one(str(o.program.resolve()), mpi, o.ranks, folder, draw)
            lost += not well
            saved += "whole" in what
            print(f"{number:4} {mpi:8} {what}", flush=True)
            for left in folder.glob("*kill*"):
                left.unlink()
    print(f"{o.kills} kills, {saved} with a model file, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

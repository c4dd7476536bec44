#!/usr/bin/env python3
"""cornu's ranks beside PyTorch's DistributedDataParallel (gloo) on this machine, in turns: ratios of a step.

usage: peers/ranks.py [WORKLOAD…] [--ranks 2] [--threads 1] [--batch 128] [--rounds 5] [--seconds 5] [--mpi openmpi,mpich]
                      [--shard-optimizer] [--no-torch] [--cornu PROGRAM]

A round is a run of `cornu bench --ranks` by each launcher, a run of cornu alone with as many threads as all ranks have
together, and a run of PyTorch (eager, fused optimizer, channels_last), each warm, for about so many seconds. With
--shard-optimizer the ranks run once as they are and once so. The batch is that of all ranks. Pixels are generated, or what
`cornu bench` finds; PyTorch reads no pictures: its photos-cnn is photos-cnn-ready.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from networks import NETWORKS  # noqa: E402

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def train_as_rank(o):
    """One rank of PyTorch's; the first one prints the milliseconds of a step, and the loss."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from peer import Torch
    name = o.workloads[0]
    network = {**NETWORKS[name if name in NETWORKS else f"{name}-ready"], "batch": o.batch // o.ranks}
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{o.port}", rank=o.rank, world_size=o.ranks)
    peer = Torch(network, argparse.Namespace(device="cpu", threads=o.threads, precision="fp32", framework="torch"))
    peer.model = DistributedDataParallel(peer.model, gradient_as_bucket_view=True, static_graph=True)
    data = peer.prepare(8)
    peer.run(data)
    peer.run(data)
    times, end = [], time.perf_counter() + o.seconds
    going = torch.ones(1)
    while going.item() > 0:
        begin = time.perf_counter()
        loss = peer.run(data)
        times.append((time.perf_counter() - begin) / 8)
        going[0] = time.perf_counter() < end
        dist.all_reduce(going, op=dist.ReduceOp.MIN)
    if o.rank == 0:
        print(json.dumps({"ms": 1e3 * statistics.median(times), "loss": loss, "version": peer.version}), flush=True)
    dist.destroy_process_group()


def run_torch(o, workload):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, __file__, workload, "--ranks", str(o.ranks), "--threads", str(o.threads), "--batch", str(o.batch),
               "--seconds", str(o.seconds), "--port", str(port)]
    ranks = [subprocess.Popen([*command, "--rank", str(i)], stdout=subprocess.PIPE if i == 0 else subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, text=True) for i in range(o.ranks)]
    line = ranks[0].communicate()[0]
    if any(r.wait() for r in ranks):
        sys.exit(f"{workload}: PyTorch's ranks failed")
    return json.loads(line)["ms"]


def run_ranks(o, workload, mpi, *how):
    launch = [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(o.ranks)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*launch, o.cornu, "bench", "--ranks", workload, "--batch", str(o.batch), "--threads", str(o.threads),
                        *how, "--quick", "--json", f"{folder}/ranks.json"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env={**os.environ, **ROOT})
        return 1e3 * json.loads(pathlib.Path(f"{folder}/ranks.json").read_text())["results"][0]["step_seconds"]


def run_alone(o, workload):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([o.cornu, "bench", workload, "--batch", str(o.batch), "--threads", str(o.threads * o.ranks), "--quick",
                        "--json", f"{folder}/alone.json"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(pathlib.Path(f"{folder}/alone.json").read_text())["results"][0]["ms_per_step"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=["cifar10-cnn", "photos-cnn-ready"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--shard-optimizer", action="store_true")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--cornu", default="build/release/cornu")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    o = parser.parse_args()
    o.cornu = str(pathlib.Path(o.cornu).resolve())
    if o.rank is not None:
        return train_as_rank(o)
    ways = {mpi: [mpi] for mpi in o.mpi.split(",")}
    if o.shard_optimizer:
        ways |= {f"{mpi} --shard-optimizer": [mpi, "--shard-optimizer"] for mpi in o.mpi.split(",")}
    for workload in o.workloads:
        times = {}
        for number in range(1, o.rounds + 1):
            row = {"alone": run_alone(o, workload)}
            for name, (mpi, *how) in ways.items():
                row[name] = run_ranks(o, workload, mpi, *how)
            if not o.no_torch:
                row["torch"] = run_torch(o, workload)
            print(f"{workload} round {number}: " + ", ".join(f"{k} {v:.1f} ms" for k, v in row.items()), flush=True)
            for name, ms in row.items():
                times.setdefault(name, []).append(ms)
        for name in ways:
            for peer, title in (("alone", f"one process of {o.ranks * o.threads} threads"), ("torch", "PyTorch")):
                if peer not in times:
                    continue
                ratios = [a / b for a, b in zip(times[name], times[peer])]
                print(f"{workload}: {o.ranks} ranks by {name} against {title}: median {statistics.median(ratios):.2f}, "
                      f"of the least {min(times[name]) / min(times[peer]):.2f}", flush=True)


if __name__ == "__main__":
    main()

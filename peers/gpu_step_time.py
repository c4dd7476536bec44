#!/usr/bin/env python3
"""Milliseconds a step of the published networks in PyTorch and JAX on this machine's GPU, beside `cornu bench`.

usage: gpu_step_time.py [--seconds N] [--device gpu|cpu] [--peers P,...] [--precision fp32|tf32] [WORKLOAD...]

Every peer of every network is a process (peer.py): PyTorch eager, PyTorch under torch.compile, PyTorch with the whole
step in a CUDA graph, and JAX with a scan over the steps. All are warmed first, many at a time; then each network's
peers are timed in turns, while the others wait for a line of input. It ends after N seconds with what it has. A line
for each: "time WORKLOAD PEER PRECISION MILLISECONDS", the median over the rounds, or "skipped WORKLOAD PEER WHY".
Exit status 77: neither framework is here.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS, ROUND_SECONDS = 7, 0.25
MOST_STEPS = {"photos-cnn-ready": 24}  # its batch is 9 MB
WARM_SHARE = 0.7  # of the time: compiling takes longer than measuring


class Peer:
    def __init__(self, workload, framework, options):
        self.workload, self.framework, self.why, self.ms = workload, framework, None, []
        self.warm = False
        self.log = tempfile.TemporaryFile()
        environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", TORCHINDUCTOR_COMPILE_THREADS="2")
        if options.device == "gpu":
            environment["JAX_PLATFORMS"] = "cuda"  # it would fall back to the CPU and say so in a warning
        self.process = subprocess.Popen(
            [sys.executable, HERE / "peer.py", framework, workload, "--device", options.device, "--precision",
             options.precision], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env=environment)

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").strip().splitlines() or ["it printed nothing"]
        self.why = self.why or said[-1][:200]
        return None

    def round(self):
        try:
            self.process.stdin.write(f"{self.steps}\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended: answer() says why
        found = self.answer()
        return found["seconds"] / self.steps * 1e3 if found else None

    def prepare(self):
        """Compile, and once more for the number of steps of a round, which JAX's scan depends on."""
        ready = self.answer()
        if ready:
            most = MOST_STEPS.get(self.workload, 300)
            self.steps = max(4, min(most, round(ROUND_SECONDS * 1e3 / max(ready["ms"], 1e-3))))
            self.warm = self.round() is not None

    def end(self):
        self.process.kill()
        self.process.wait()


def warm(rows, options, deadline):
    """Start the peers, as many at a time as there are cores; those that are not warm by then are ended."""
    peers, begin = [], time.monotonic()
    free = threading.Semaphore(max(2, os.cpu_count() or 2))

    def prepare(peer):
        peer.prepare()
        free.release()

    for workload, framework in rows:
        if not free.acquire(timeout=max(0.0, deadline - time.monotonic())):
            print("skipped", workload, framework, "there was no time left to start it", flush=True)
            continue
        peer = Peer(workload, framework, options)
        peer.thread = threading.Thread(target=prepare, args=(peer,), daemon=True)
        peer.thread.start()
        peers.append(peer)
    for peer in peers:
        peer.thread.join(max(0.0, deadline - time.monotonic()))
        if peer.thread.is_alive():
            peer.why = f"it was not warm after {time.monotonic() - begin:.0f} s"
            peer.end()
            peer.thread.join()
    return peers


def measure(peers, precision, deadline):
    """Rounds of one network's peers, in turns."""
    for _ in range(ROUNDS):
        for peer in peers:
            if peer.warm and time.monotonic() < deadline:
                ms = peer.round()
                peer.warm = ms is not None
                peer.ms += [ms] if peer.warm else []
    for peer in peers:
        if peer.ms:
            print("time", peer.workload, peer.framework, precision, f"{statistics.median(peer.ms):.5g}", flush=True)
        else:
            print("skipped", peer.workload, peer.framework, peer.why or "there was no time left to time it", flush=True)
        peer.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--seconds", type=float, default=110)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="gpu")
    parser.add_argument("--peers", default="torch,torch-graph,torch-compile,jax")
    parser.add_argument("--precision", choices=["fp32", "tf32"], default="fp32")
    options = parser.parse_args()
    # The last seconds are for ending the processes.
    begin, deadline = time.monotonic(), time.monotonic() + max(1.0, options.seconds - 4)
    wanted = options.peers.split(",")
    here = [p for p in wanted if importlib.util.find_spec(p.split("-")[0])]
    if not importlib.util.find_spec("numpy") or not here:
        print("neither PyTorch nor JAX (and NumPy) is in this Python:", sys.executable)
        sys.exit(77)
    for framework in wanted:
        if framework not in here:
            print("skipped all", framework, "it is not in this Python:", sys.executable, flush=True)
    from networks import NETWORKS  # needs nothing, but stands beside this file
    names = options.workloads or list(NETWORKS)
    # The quickest peers of all networks first: what compiles for long is what may be left out.
    rows = [(w, f) for f in here for w in names]
    peers = warm(rows, options, begin + WARM_SHARE * (deadline - begin))
    for name in names:
        measure([p for p in peers if p.workload == name], options.precision, deadline)


if __name__ == "__main__":
    main()

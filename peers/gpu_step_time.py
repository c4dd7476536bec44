#!/usr/bin/env python3
"""The published networks on this machine's GPU in PyTorch and JAX, in turns with cornu: milliseconds a step.

usage: gpu_step_time.py [--cornu PROGRAM] [--rounds N] [--seconds S] [--device gpu|cpu] [--precision fp32|tf32|both]
                        [WORKLOAD...]

PyTorch runs as people write it (eager), under torch.compile, and both once more with the whole step replayed from one
CUDA graph; JAX runs lax.scan over the steps. Each framework is one process (--serve) that stays, is warm before it is
timed and waits while others run. fp32: TF32 is off in both; tf32: it is on. photos-cnn and photos-cnn-256 change their
samples at random, which these peers do not: photos-cnn-ready is the first one's network without that.

Prints a line when it is known: "value", workload, peer, precision, ms a step, with tabs between; other lines are for
people. The ms are the median of the rounds.
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
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from networks import NETWORKS  # noqa: E402

VARIANTS = {"torch": ["eager", "compile", "graph", "compile+graph"], "jax": ["scan"]}
DATA_STEPS = 64  # steps whose samples lie in the GPU's memory; photographs are 9 MB a step


# ---- a framework's process ----------------------------------------------------------------------

def torch_runner(variant, network, options):
    import torch
    from peer import Torch

    class Graph(Torch):
        """One step, with its optimizer, is captured and replayed; samples are gathered within it."""

        def prepare(self, steps):
            data = super().prepare(steps)
            x, y = data
            for group in self.optimizer.param_groups:
                if "capturable" in group:
                    group["capturable"] = True
            self.index = torch.zeros(network["batch"], dtype=torch.int64, device=self.device)
            self.total = torch.zeros((), device=self.device)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(4):
                    self.step(x, y)
            torch.cuda.current_stream().wait_stream(stream)
            self.optimizer.zero_grad(set_to_none=True)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.step(x, y)
            return data

        def step(self, x, y):
            self.optimizer.zero_grad(set_to_none=True)
            loss, _ = self.forward(x[self.index], y[self.index])
            loss.backward()
            self.optimizer.step()
            self.total.add_(loss.detach())

        def run(self, data):
            x, _ = data
            batch = network["batch"]
            order = torch.randperm(len(x), device=self.device)
            self.total.zero_()
            for begin in range(0, len(x), batch):
                self.index.copy_(order[begin:begin + batch])
                self.graph.replay()
            torch.cuda.synchronize()
            return float(self.total) / (len(x) // batch)

    if "graph" in variant and options.device != "gpu":
        raise RuntimeError("CUDA graphs need a GPU")
    options.framework = "torch"
    peer = (Graph if "graph" in variant else Torch)(network, options)
    if "compile" in variant:
        peer.forward = torch.compile(peer.loss)
    return peer


def runner_of(framework, variant, workload, options):
    network = NETWORKS[workload]
    if framework == "torch":
        return torch_runner(variant, network, options)
    import jax
    from peer import Jax
    peer = Jax(network, options)
    # Its jit is of the setting at the time of the call, which another precision's runner changes.
    setting = "float32" if options.precision == "fp32" else "tensorfloat32"
    run = peer.run

    def with_precision(data):
        jax.config.update("jax_default_matmul_precision", setting)
        return run(data)
    peer.run = with_precision
    return peer


def serve(framework, device):
    """Lines of JSON: {"warm": [workload, variant, precision]} or {"time": seconds}; each gets an answer."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the frameworks print is not an answer
    kept = {}
    for line in sys.stdin:
        asked = json.loads(line)
        name = tuple(asked["runner"])
        try:
            if name not in kept:
                workload, variant, precision = name
                for other in [n for n in kept if n[0] != workload]:
                    del kept[other]
                options = argparse.Namespace(device=device, precision=precision, threads=0, framework=framework)
                peer = runner_of(framework, variant, workload, options)
                data = peer.prepare(DATA_STEPS)
                for _ in range(3):
                    peer.run(data)
                kept[name] = peer, data, options
            peer, data, options = kept[name]
            answers.write(json.dumps(timed(framework, peer, data, options, asked["seconds"])) + "\n")
        except Exception as error:  # a peer that cannot run this is left out, and the others go on
            answers.write(json.dumps(dict(error=f"{type(error).__name__}: {error}".splitlines()[0][:200])) + "\n")


def timed(framework, peer, data, options, seconds):
    if framework == "torch":
        import torch
        tf32 = options.precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    steps, begin = 0, time.perf_counter()
    while steps == 0 or time.perf_counter() - begin < seconds:
        peer.run(data)
        steps += DATA_STEPS
    return dict(ms=(time.perf_counter() - begin) / steps * 1e3, version=peer.version)


# ---- the turns ----------------------------------------------------------------------------------

class Framework:
    def __init__(self, name, device):
        self.name, self.log = name, tempfile.TemporaryFile()
        environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", TF_CPP_MIN_LOG_LEVEL="3")
        if device == "cpu":
            environment.update(CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "gpu_step_time.py"), "--serve", name, "--device", device],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)

    def ask(self, runner, seconds):
        try:
            self.process.stdin.write(json.dumps(dict(runner=runner, seconds=seconds)) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if line:
            return json.loads(line)
        self.log.seek(0)
        last = self.log.read().decode(errors="replace").strip().splitlines()[-1:]
        return dict(error=last[0] if last else "its process has ended")

    def close(self):
        self.process.kill()
        self.process.wait()


def cornu_ms(options, workload, precision):
    with tempfile.TemporaryDirectory() as folder:
        where = os.path.join(folder, "cornu.json")
        command = [options.cornu, "bench", workload, "--quick", "--json", where, "--precision", precision, "--device",
                   "cuda:0" if options.device == "gpu" else "cpu"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{workload}: cornu {precision}: {done.stderr.strip()[:200]}", flush=True)
            return None
        return json.loads(pathlib.Path(where).read_text())["results"][0]["ms_per_step"]["median"]


def compare(workload, precision, frameworks, options):
    peers, rounds = [], {}
    for framework in frameworks:
        for variant in VARIANTS[framework.name]:
            answer = framework.ask([workload, variant, precision], 0)  # that was the warm-up
            if "error" in answer:
                print(f"{workload}: {framework.name} {variant} {precision} did not run: {answer['error']}", flush=True)
            else:
                peers.append((framework, variant))
    own = None
    for number in range(options.rounds):
        if options.cornu and number == options.rounds // 2:
            own = cornu_ms(options, workload, precision)
        for framework, variant in peers:
            answer = framework.ask([workload, variant, precision], options.seconds)
            if "ms" in answer:
                rounds.setdefault(f"{framework.name} {variant}", []).append(answer["ms"])
    if own is not None:
        say(workload, "cornu cuda:0 in turns" if options.device == "gpu" else "cornu cpu in turns", precision, own)
    for name, ms in rounds.items():
        say(workload, name, precision, statistics.median(ms))


def say(workload, what, precision, ms):
    print("value", workload, what, precision, f"{ms:.6g}", sep="\t", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--cornu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of a round (0.1)")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    parser.add_argument("--precision", choices=["fp32", "tf32", "both"], default="both")
    parser.add_argument("--serve", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.device)
    for name in options.workloads:
        if name not in NETWORKS:
            sys.exit(f"gpu_step_time: found {name}; expected some of {', '.join(NETWORKS)}")
    there = [name for name in VARIANTS if importlib.util.find_spec(name)]
    if not there:
        sys.exit(f"gpu_step_time: {sys.executable} has neither PyTorch nor JAX")
    print("ms a step; fp32: TF32 is off, tf32: it is on; peers:", ", ".join(there), flush=True)
    frameworks = [Framework(name, options.device) for name in there]
    try:
        for precision in ["fp32", "tf32"] if options.precision == "both" else [options.precision]:
            for workload in options.workloads or [n for n in NETWORKS if "recipe" not in NETWORKS[n]]:
                compare(workload, precision, frameworks, options)
    finally:
        for framework in frameworks:
            framework.close()


if __name__ == "__main__":
    main()

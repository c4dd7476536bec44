#!/usr/bin/env python3
"""Kernels of the cpu device beside PyTorch's (oneDNN's where it uses that), forward and backward, by instruction set.

usage: peers/kernels.py [--cornu PROGRAM] [--rounds N] [--isa avx512,avx2,base] [CASE…]

Of each layer alone, batch 32, images with the channels last: cornu's times are those of `explain --run`, PyTorch's those of
the module and of autograd's gradients of its input and weights. Both have all cores, in turns, and are medians of a round's
repeats; the minimum of the rounds counts.
"of limit" is the share of the machine's measured roofline (of its widest vectors) that cornu reaches.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

BATCH = 32
# name: input (height, width, channels), the layer in a recipe, the module in PyTorch
CASES = {
    "depthwise 3x3": ((56, 56, 64), "DepthwiseConv2D: {kernel_size: 3, padding: same, name: timed}",
                      "nn.Conv2d(64, 64, 3, padding=1, groups=64)"),
    "depthwise 3x3, stride 2": ((56, 56, 64), "DepthwiseConv2D: {kernel_size: 3, strides: 2, padding: same, name: timed}",
                                "nn.Conv2d(64, 64, 3, stride=2, padding=1, groups=64)"),
    "depthwise 5x5": ((28, 28, 128), "DepthwiseConv2D: {kernel_size: 5, padding: same, name: timed}",
                      "nn.Conv2d(128, 128, 5, padding=2, groups=128)"),
    "depthwise 5x5, stride 2": ((28, 28, 128), "DepthwiseConv2D: {kernel_size: 5, strides: 2, padding: same, name: timed}",
                                "nn.Conv2d(128, 128, 5, stride=2, padding=2, groups=128)"),
    "1x1": ((28, 28, 128), "Conv2D: {filters: 128, kernel_size: 1, name: timed}", "nn.Conv2d(128, 128, 1)"),
    "transposed 3x3, stride 2": ((14, 14, 64), "Conv2DTranspose: {filters: 64, kernel_size: 3, strides: 2, padding: same, name: timed}",
                                 "nn.ConvTranspose2d(64, 64, 3, stride=2, padding=1, output_padding=1)"),
    "batch norm, relu": ((56, 56, 64), "BatchNormalization: {name: timed}\n    - ReLU: {name: timed_too}",
                         "nn.Sequential(nn.BatchNorm2d(64), nn.ReLU())"),
    "up-sampling, nearest": ((28, 28, 64), "UpSampling2D: {size: 2, name: timed}", "nn.Upsample(scale_factor=2)"),
    "up-sampling, bilinear": ((28, 28, 64), "UpSampling2D: {size: 2, interpolation: bilinear, name: timed}",
                              "nn.Upsample(scale_factor=2, mode='bilinear')"),
    "global average": ((28, 28, 128), "GlobalAveragePooling2D: {name: timed}", "nn.AdaptiveAvgPool2d(1)"),
    "global maximum": ((28, 28, 128), "GlobalMaxPooling2D: {name: timed}", "nn.AdaptiveMaxPool2d(1)"),
}
# What keeps PyTorch and oneDNN to an instruction set.
PEER_ISA = {"avx512": {}, "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
            "base": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}}
RECIPE = """model:
  input: [{0}, {1}, 4]
  layers:
    - Conv2D: {{filters: {2}, kernel_size: 1}}
    - {3}
    - {4}
    - Dense: {{units: 2, activation: softmax}}
compile: {{optimizer: sgd, loss: categorical_crossentropy}}
fit: {{batch_size: {5}, epochs: 1}}
"""
LINE = re.compile(r"^ *\d+  (\w+) +(timed\w*)\S* .*?(cpu/\S+|with \d+) .*? ([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+) % (?:mem|fma)$")


def cornu_times(options, name, isa, folder):
    """[forward, backward]: milliseconds and those at the limit."""
    (height, width, channels), layer, _ = CASES[name]
    path = os.path.join(folder, "layer.yaml")
    after = "Flatten" if "global" in name else "GlobalAveragePooling2D"
    with open(path, "w", encoding="utf-8") as f:
        f.write(RECIPE.format(height, width, channels, layer, after, BATCH))
    out = subprocess.run([options.cornu, "explain", path, "--run"], env={**os.environ, "CORNU_ISA": isa}, check=True,
                         capture_output=True, text=True).stdout
    times = [[0.0, 0.0], [0.0, 0.0]]
    for line in out.splitlines():
        if (found := LINE.match(line)) and found[1] != "update":
            ms, share = float(found[4]), float(found[5]) / 100
            into = times["backward" in found[1]]
            into[0] += ms
            into[1] += ms * share
    if not times[0][0]:
        sys.exit(f"{name}: found no operation of the layer in:\n{out}")
    return times


def serve():
    """PyTorch's side: of each case that a line of the input names, a line of the milliseconds forward and backward."""
    import statistics
    import time

    import torch
    from torch import nn

    def median(run):
        run()
        times = []
        for _ in range(15):
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e3

    for line in sys.stdin:
        (height, width, channels), _, code = CASES[line.strip()]
        module = eval(code, {"nn": nn}).to(memory_format=torch.channels_last)  # of the table above
        x = torch.rand(BATCH, channels, height, width).to(memory_format=torch.channels_last).requires_grad_()
        y = module(x)
        slope, wanted = torch.rand_like(y), [x, *module.parameters()]
        forward = median(lambda: module(x))
        backward = median(lambda: torch.autograd.grad(y, wanted, slope, retain_graph=True))
        print(forward, backward, flush=True)


class Peer:
    def __init__(self, isa):
        self.process = subprocess.Popen([sys.executable, __file__, "--serve"], env={**os.environ, **PEER_ISA[isa]}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def times(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return [float(ms) for ms in self.process.stdout.readline().split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--cornu", default="build/release/cornu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isa", default="avx512,avx2,base")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    print("| Kernel | " + " | ".join(f"{isa}: forward, backward | of limit" for isa in options.isa.split(",")) + " |")
    print("|---|" + "---|" * 2 * len(options.isa.split(",")))
    peers = {isa: Peer(isa) for isa in options.isa.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases or CASES:
            cells = []
            for isa, peer in peers.items():
                rounds = [(cornu_times(options, name, isa, folder), peer.times(name)) for _ in range(options.rounds)]
                ratios, shares = [], []
                for way in (0, 1):
                    mine, limit = min(mine[way] for mine, _ in rounds)
                    ratios.append(f"{mine / min(theirs[way] for _, theirs in rounds):.2f}")
                    shares.append(f"{limit / mine:.0%}")
                cells += [", ".join(ratios), ", ".join(shares)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

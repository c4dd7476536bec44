#!/usr/bin/env python3
"""Do shards train the published workloads as undivided batches do?

  scripts/shards_check.py build/release/cornu [WORKLOAD...] --data DIR [--pictures DIR] [--shards 2,4,8] [--steps 20]

DIR holds the data sets, as for ranks_check.py. Two things must agree within 1e-5, for networks without kinks: average pooling
and silu in the place of max-pooling and relu.
gradients: of one batch, from the same weights (the first ones, and those after --steps steps), relative to a variable's
           largest. They are read from Adam's first moments, which takes SGD's place where need be.
losses:    of each of --steps steps.

The networks as published cannot be held to that. A batch of cifar10-cnn has 1.2 million windows, some of whose two largest
numbers differ by less than rounding: the last bit of a weight decides which of them gets the gradient, and so it does for
a relu whose input is near zero. So two runs part, shards or none; how far is printed, beside a run without shards whose first
weights were changed in their last bits. Ends with 1 where something that must agree does not.
"""
import argparse
import array
import csv
import json
import operator
import pathlib
import random
import re
import sys
import tempfile

import ranks_check

RECIPES = pathlib.Path(__file__).resolve().parent.parent / "recipes"
MOST = 1e-5
ADAM = "optimizer: {adam: {learning_rate: 0.001}}"


def parts(content):
    """Where each tensor of a model file lies: name -> (begin, end)."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    return {name: tuple(8 + size + at for at in entry["data_offsets"]) for name, entry in header.items()
            if name != "__metadata__"}


def gradients(path):
    content = path.read_bytes()
    return {name: array.array("f", content[begin:end]) for name, (begin, end) in parts(content).items()
            if name.startswith("optimizer/momentum/")}


def gradient_difference(a, b):
    """The largest of all variables' and its name."""
    return max((max(map(abs, map(operator.sub, a[name], b[name]))) / (max(map(abs, a[name])) or 1), name.split("/", 2)[2])
               for name in a)


def change_last_bits(path, to, draw):
    """Half of the weights of a model file, zeros apart, move to a neighbouring float."""
    content = bytearray(path.read_bytes())
    for name, (begin, end) in parts(content).items():
        if name.startswith("optimizer/"):
            continue
        bits = array.array("i", bytes(content[begin:end]))
        for i, value in enumerate(bits):
            if value & 0x7fffffff:
                bits[i] = value ^ draw.getrandbits(1)
        content[begin:end] = bits.tobytes()
    to.write_bytes(content)


class Workload:
    def __init__(self, o, name, folder):
        text = re.sub(r"optimizer: .*", ADAM, (RECIPES / f"{name}.yaml").read_text())
        (folder / "own.yaml").write_text(text)
        (folder / "smooth.yaml").write_text(text.replace("MaxPooling2D", "AveragePooling2D").replace("relu", "silu"))
        self.folder = folder
        self.program = o.program.resolve()
        self.options = [*ranks_check.data_of(name, o.data, o.pictures, folder), *ranks_check.WORKLOADS[name], "--epochs", "1",
                        "--threads", "1", "--exact-conv", "--quiet"]

    def train(self, recipe, steps, shards, *more):
        """Its model file, and the losses of its steps."""
        saved, log = self.folder / "out.safetensors", self.folder / "out.csv"
        log.unlink(missing_ok=True)
        ranks_check.run([*map(str, (self.program, "train", recipe, *self.options, "--steps", steps, "--shards", shards,
                                    "--save", saved, "--log", log, "--log-steps", *more))], self.folder)
        with log.open() as rows:
            return saved, [float(row["loss"]) for row in csv.DictReader(rows)]

    def gradients_differ(self, recipe, start, shards):
        """By how much, and in which variable most, in the step behind those weights."""
        whole = gradients(self.train(recipe, 1, 1, "--init", start)[0])
        return [gradient_difference(whole, gradients(self.train(recipe, 1, n, "--init", start)[0])) for n in shards]


def relative(whole, other):
    return max(abs(a - b) / abs(a) for a, b in zip(whole, other, strict=True))


def kept(path, name):
    return path.rename(path.with_name(name))


def compare(w, o, shards, recipe):
    """The first weights, the losses without shards, what to print, and how many numbers are more than MOST apart."""
    first = kept(w.train(recipe, 1, 1, "--learning-rate", "1e-60")[0], "first.safetensors")  # 0 as a float
    later, whole = w.train(recipe, o.steps, 1)
    later = kept(later, "later.safetensors")
    lines, apart = [], 0
    for where, start in ("first", first), (f"after {o.steps} steps", later):
        found = w.gradients_differ(recipe, start, shards)
        lines.append(f"gradients, {where}: " + ", ".join(f"{n} shards {most:.1e} ({name})" for n, (most, name) in zip(shards, found)))
        apart += sum(not most <= MOST for most, _ in found)
    found = [relative(whole, w.train(recipe, o.steps, n)[1]) for n in shards]
    lines.append("losses: " + ", ".join(f"{n} shards {most:.1e}" for n, most in zip(shards, found)))
    return first, whole, lines, apart + sum(not most <= MOST for most in found)


def check(w, o, shards, draw):
    """How many of the numbers that must agree do not."""
    _, _, lines, wrong = compare(w, o, shards, "smooth.yaml")
    first, whole, own, _ = compare(w, o, shards, "own.yaml")
    change_last_bits(first, w.folder / "changed.safetensors", draw)
    changed = w.train("own.yaml", o.steps, 1, "--init", w.folder / "changed.safetensors")[1]
    own[-1] += f"; last bits of the first weights {relative(whole, changed):.1e}"
    for line in [*lines, *("as published, not held to it: " + line for line in own)]:
        print(f"  {line}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder of pictures; without, photos-* are left out")
    parser.add_argument("--shards", default="2,4,8")
    parser.add_argument("--steps", type=int, default=20)
    o = parser.parse_args()
    ranks_check.ENVIRONMENT["CORNU_DATA"] = str(o.data.resolve())
    shards, wrong = [int(n) for n in o.shards.split(",")], 0
    for name in o.workloads or ranks_check.WORKLOADS:
        if name.startswith("photos") and not o.pictures:
            continue
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            wrong += check(Workload(o, name, pathlib.Path(folder)), o, shards, random.Random(1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

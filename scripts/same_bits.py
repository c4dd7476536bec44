#!/usr/bin/env python3
"""Do two builds of cornu train to the same bits?

    scripts/same_bits.py OLD/cornu NEW/cornu [--steps 30] [--weights] [WORKLOAD...]

Trains every built-in workload for a few steps with both programs, on each instruction set that this processor
has, and compares the model files: byte for byte, or with --weights their tensors alone, where the programs are
meant to write other metadata. The data is random and made here, in the data sets' own layouts. Only Python's
standard library is needed.
"""
import argparse
import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

SAMPLES, TESTS = 3000, 100


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


def make_idx(folder, bits):
    for name, count in (("train", SAMPLES), ("t10k", TESTS)):
        images = struct.pack(">4I", 0x803, count, 28, 28) + bits.randbytes(count * 784)
        labels = struct.pack(">2I", 0x801, count) + bytes(bits.randrange(10) for _ in range(count))
        write(f"{folder}/{name}-images-idx3-ubyte.gz", gzip.compress(images, 1))
        write(f"{folder}/{name}-labels-idx1-ubyte.gz", gzip.compress(labels, 1))


def cifar_records(count, labels, bits):
    return b"".join(bytes(bits.randrange(n) for n in labels) + bits.randbytes(3072) for _ in range(count))


def make_cifar(folder, bits):
    for k in range(1, 6):
        write(f"{folder}/cifar-10-batches-bin/data_batch_{k}.bin", cifar_records(SAMPLES // 5, [10], bits))
    write(f"{folder}/cifar-10-batches-bin/test_batch.bin", cifar_records(TESTS, [10], bits))
    for name, count in (("train", SAMPLES), ("test", TESTS)):
        write(f"{folder}/cifar-100-binary/{name}.bin", cifar_records(count, [20, 100], bits))


def png(width, height, bits):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bits.randbytes(width * 3) for _ in range(height))
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def make_photos(folder, bits):
    for split, count in (("train", 8), ("test", 2)):
        for kind in range(8):
            for k in range(count):
                write(f"{folder}/{split}/kind{kind}/{k}.png", png(100 + 9 * k, 90 + 7 * k, bits))


def data_for(workload, folder):
    for prefix, name in (("mnist", "mnist"), ("photos", "photos"), ("cifar", "cifar")):
        if workload.startswith(prefix):
            return os.path.join(folder, name)
    sys.exit(f"same_bits: {workload}: no data is made for it; teach data_for()")


def workloads(program):
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return text.split("workloads:")[1].split()


def instruction_sets(program, env):
    """Widest last. One that the processor lacks is refused by name."""
    for isa in ("base", "avx2", "avx512", "amx"):
        done = subprocess.run([program, "explain", "cifar100-mlp"], env={**env, "CORNU_ISA": isa},
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            yield isa


def train(program, workload, isa, steps, folder, env):
    path = os.path.join(folder, "model.safetensors")
    command = [program, "train", workload, "--data", data_for(workload, folder), "--epochs", "1", "--steps",
               str(steps), "--seed", "7", "--save", path, "--quiet"]
    done = subprocess.run(command, env={**env, "CORNU_ISA": isa}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"same_bits: {' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    with open(path, "rb") as f:
        content = f.read()
    os.remove(path)
    return content


def split(content):
    """safetensors: {name: bytes} and the metadata."""
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    begin = 8 + length
    return {name: content[begin + t["data_offsets"][0]:begin + t["data_offsets"][1]]
            for name, t in header.items()}, metadata


def compare(old, new, weights):
    """What differs, in words; "" where nothing does."""
    if old == new:
        return ""
    (a, a_said), (b, b_said) = split(old), split(new)
    tensors = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
    said = sorted(key for key in a_said.keys() | b_said.keys() if a_said.get(key) != b_said.get(key))
    if tensors:
        return f"{len(tensors)} tensors differ: {', '.join(tensors[:4])}"
    return "" if weights else f"metadata differs: {', '.join(said) or 'order or padding'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--weights", action="store_true", help="compare tensors alone")
    parser.add_argument("workload", nargs="*")
    o = parser.parse_intermixed_args()
    env = {k: v for k, v in os.environ.items() if not re.match("CORNU_", k)}
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        bits = random.Random(1)
        make_idx(f"{folder}/mnist", bits)
        make_cifar(f"{folder}/cifar", bits)
        make_photos(f"{folder}/photos", bits)
        for isa in instruction_sets(o.old, env):
            for workload in o.workload or workloads(o.old):
                old, new = (train(os.path.abspath(p), workload, isa, o.steps, folder, env) for p in (o.old, o.new))
                difference = compare(old, new, o.weights)
                differ += difference != ""
                print(f"{workload:18} {isa:8} {difference or 'same'}", flush=True)
    print(f"{differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

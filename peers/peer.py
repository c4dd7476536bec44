#!/usr/bin/env python3
"""One peer framework training one published network, in a process of its own, a round at a time.

usage: peer.py FRAMEWORK WORKLOAD [--device cpu|gpu] [--threads N] [--precision fp32|tf32]

FRAMEWORK: keras (TensorFlow, model.fit as the posts call it), keras-xla (jit_compile=True), keras-jax,
torch (eager; fused optimizer; channels_last where there are convolutions), torch-compile (the same under
torch.compile; on a GPU with mode="reduce-overhead", which uses CUDA graphs), jax (one jit of lax.scan over
the steps).

Prints a JSON line when it is warm, then reads numbers of steps from standard input and answers each with
{"seconds": …, "loss": …}. Pixels and labels are generated: times do not depend on them.
"""
import argparse
import json
import os
import sys
import time

import numpy as np

from networks import NETWORKS, shapes


def generate(network, steps):
    count = network["batch"] * steps
    random = np.random.default_rng(1)
    x = random.random((count, *network["input"]), dtype=np.float32)
    return x, random.integers(0, network["classes"], count)


class Keras:
    def __init__(self, network, options):
        import keras
        if options.device == "gpu" and options.precision == "fp32":
            import tensorflow
            tensorflow.config.experimental.enable_tensor_float_32_execution(False)
        self.network, self.version = network, f"keras {keras.__version__} on {keras.backend.backend()}"
        make = dict(
            dense=lambda units, activation: keras.layers.Dense(units, activation=activation),
            conv=lambda filters, kernel, padding, activation, strides=1:
                keras.layers.Conv2D(filters, kernel, strides, padding, activation=activation),
            pool=lambda: keras.layers.MaxPooling2D(2),
            flatten=keras.layers.Flatten,
            dropout=keras.layers.Dropout,
            norm=keras.layers.BatchNormalization,
            relu=keras.layers.ReLU,
            mean=keras.layers.GlobalAveragePooling2D)
        x = start = keras.Input(network["input"])
        marked = {}
        for kind, *arguments in network["layers"]:
            if kind == "mark":
                marked[arguments[0]] = x
            elif kind == "from":
                x = marked[arguments[0]]
            else:
                x = keras.layers.add([x, marked[arguments[0]]]) if kind == "add" else make[kind](*arguments)(x)
        self.model = keras.Model(start, x)
        self.model.compile(
            optimizer=keras.optimizers.SGD() if network["optimizer"] == "sgd" else keras.optimizers.Adam(),
            loss="categorical_crossentropy", metrics=["accuracy"], jit_compile=options.framework != "keras")

    def prepare(self, steps):
        x, y = generate(self.network, steps)
        return x, np.eye(self.network["classes"], dtype=np.float32)[y]

    def run(self, data):
        history = self.model.fit(*data, batch_size=self.network["batch"], epochs=1, verbose=0)
        return history.history["loss"][-1]


class Torch:
    def __init__(self, network, options):
        import torch
        from torch import nn
        self.torch, self.network, self.version = torch, network, f"torch {torch.__version__}"
        torch.manual_seed(0)
        self.gpu = options.device == "gpu"
        self.device = torch.device("cuda" if self.gpu else "cpu")
        if options.threads:
            torch.set_num_threads(options.threads)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
        convolutions = any(kind == "conv" for kind, *_ in network["layers"])
        modules = []
        for kind, a, at in shapes(network):
            if kind in ("mark", "from", "add"):
                modules.append((kind, a[0], None))
                continue
            if kind == "conv":
                modules.append((kind, None, nn.Conv2d(at[2], *a[:2], stride=a[4] if len(a) > 4 else 1,
                                                      padding=a[1] // 2 if a[2] == "same" else 0)))
            elif kind == "dense":
                modules.append((kind, None, nn.Linear(at[0], a[0])))
            elif kind == "dropout":
                modules.append((kind, None, nn.Dropout(a[0])))
            elif kind == "mean":
                modules += [(kind, None, nn.AdaptiveAvgPool2d(1)), ("flatten", None, nn.Flatten())]
            else:
                modules.append((kind, None, nn.MaxPool2d(2) if kind == "pool" else nn.Flatten() if kind == "flatten"
                                else nn.BatchNorm2d(at[2], 1e-3, 0.01) if kind == "norm" else nn.ReLU(inplace=True)))
            if kind in ("conv", "dense") and a[3 if kind == "conv" else 1] == "relu":
                modules.append(("relu", None, nn.ReLU()))

        class Rows(nn.Module):
            def __init__(self, rows):
                super().__init__()
                self.rows = [(kind, name) for kind, name, _ in rows]
                self.kept = nn.ModuleList(nn.Identity() if m is None else m for _, _, m in rows)

            def forward(self, x):
                marked = {}
                for (kind, name), module in zip(self.rows, self.kept):
                    if kind == "mark":
                        marked[name] = x
                    elif kind == "from":
                        x = marked[name]
                    else:
                        x = x + marked[name] if kind == "add" else module(x)
                return x

        self.format = torch.channels_last if convolutions else torch.contiguous_format
        self.model = Rows(modules).to(self.device, memory_format=self.format)
        if network["optimizer"] == "sgd":
            self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, fused=True)
        else:
            self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, fused=True)
        self.forward = self.loss
        if options.framework == "torch-compile":
            self.forward = torch.compile(self.loss, mode="reduce-overhead" if self.gpu else None)

    def loss(self, x, y):
        """On the logits, as Keras does it also under a sigmoid."""
        z = self.model(x)
        return self.torch.nn.functional.cross_entropy(z, y), (z.argmax(1) == y).sum()

    def prepare(self, steps):
        x, y = generate(self.network, steps)
        x = self.torch.from_numpy(x).permute(0, 3, 1, 2)
        if self.format == self.torch.contiguous_format:
            x = x.contiguous()
        return x.to(self.device), self.torch.from_numpy(y).to(self.device)

    def run(self, data):
        x, y = data
        batch, total, right = self.network["batch"], 0, 0
        order = self.torch.randperm(len(x), device=self.device)
        for begin in range(0, len(x), batch):
            index = order[begin:begin + batch]
            self.optimizer.zero_grad(set_to_none=True)
            loss, correct = self.forward(x[index], y[index])
            loss.backward()
            self.optimizer.step()
            total, right = total + loss.detach(), right + correct
        if self.gpu:
            self.torch.cuda.synchronize()
        return float(total) / (len(x) // batch)


class Jax:
    def __init__(self, network, options):
        import jax
        from jax import lax, numpy as jnp
        self.jax, self.network, self.version = jax, network, f"jax {jax.__version__}"
        if options.precision == "fp32":
            jax.config.update("jax_default_matmul_precision", "float32")
        key, weights = jax.random.PRNGKey(0), []
        for kind, a, at in shapes(network):
            key, used = jax.random.split(key)
            shape = (a[1], a[1], at[2], a[0]) if kind == "conv" else (at[0], a[0]) if kind == "dense" else None
            weights.append((jnp.ones(at[2]), jnp.zeros(at[2])) if kind == "norm" else None if shape is None else
                           (jax.random.normal(used, shape) * (2 / np.prod(shape[:-1])) ** 0.5, jnp.zeros(a[0])))
        self.state = (weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights),
                      jnp.zeros((), jnp.int32), key)
        self.state += ([(jnp.zeros(at[2]), jnp.ones(at[2])) for kind, _, at in shapes(network) if kind == "norm"],)
        rows = list(shapes(network))

        def logits(weights, x, key):
            marked, statistics = {}, []
            for (kind, a, _), w in zip(rows, weights):
                if kind == "conv":
                    x = lax.conv_general_dilated(x, w[0], (a[4],) * 2 if len(a) > 4 else (1, 1), a[2].upper(),
                                                 dimension_numbers=("NHWC", "HWIO", "NHWC")) + w[1]
                elif kind == "mark":
                    marked[a[0]] = x
                elif kind == "from":
                    x = marked[a[0]]
                elif kind == "add":
                    x = x + marked[a[0]]
                elif kind == "norm":
                    statistics.append((x.mean((0, 1, 2)), x.var((0, 1, 2))))
                    x = (x - statistics[-1][0]) * lax.rsqrt(statistics[-1][1] + 1e-3) * w[0] + w[1]
                elif kind == "relu":
                    x = jax.nn.relu(x)
                elif kind == "mean":
                    x = x.mean((1, 2))
                elif kind == "dense":
                    x = x @ w[0] + w[1]
                elif kind == "pool":
                    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
                elif kind == "flatten":
                    x = x.reshape(len(x), -1)
                else:
                    key, used = jax.random.split(key)
                    x = jnp.where(jax.random.bernoulli(used, 1 - a[0], x.shape), x / (1 - a[0]), 0)
                if kind in ("conv", "dense") and a[3 if kind == "conv" else 1] == "relu":
                    x = jax.nn.relu(x)
            return x, statistics

        def loss(weights, x, y, key):
            z, statistics = logits(weights, x, key)
            right = (z.argmax(1) == y).sum()
            return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1).mean(), (right, statistics)

        def step(state, index, x, y):
            weights, m, v, t, key, moving = state
            key, used = jax.random.split(key)
            (value, (right, statistics)), g = jax.value_and_grad(loss, has_aux=True)(weights, x[index], y[index], used)
            t = t + 1
            if network["optimizer"] == "sgd":
                weights = jax.tree.map(lambda w, d: w - 0.01 * d, weights, g)
            else:
                m = jax.tree.map(lambda a, d: a + (d - a) * 0.1, m, g)
                v = jax.tree.map(lambda a, d: a + (d * d - a) * 0.001, v, g)
                rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
                weights = jax.tree.map(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-7), weights, m, v)
            moving = jax.tree.map(lambda a, b: a + (b - a) * 0.01, moving, statistics)
            return (weights, m, v, t, key, moving), (value, right)

        self.epoch = jax.jit(lambda state, order, x, y: lax.scan(lambda s, i: step(s, i, x, y), state, order),
                             donate_argnums=0)

    def prepare(self, steps):
        return [self.jax.device_put(a) for a in generate(self.network, steps)]

    def run(self, data):
        order = np.random.default_rng(2).permutation(len(data[0])).reshape(-1, self.network["batch"])
        self.state, (losses, _) = self.epoch(self.state, order, *data)
        return float(losses.mean())


FRAMEWORKS = {"keras": Keras, "keras-xla": Keras, "keras-jax": Keras, "torch": Torch, "torch-compile": Torch,
              "jax": Jax}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("workload", choices=NETWORKS)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--precision", choices=["fp32", "tf32"], default="fp32")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the frameworks print is not an answer
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes 75 % of the GPU that others share
    os.environ["KERAS_BACKEND"] = "jax" if options.framework == "keras-jax" else "tensorflow"
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"], os.environ["JAX_PLATFORMS"] = "", "cpu"
    if options.threads:
        os.environ["OMP_NUM_THREADS"] = str(options.threads)
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    peer = FRAMEWORKS[options.framework](NETWORKS[options.workload], options)
    data, steps = peer.prepare(4), 4
    peer.run(data)
    begin = time.perf_counter()
    peer.run(data)
    print(json.dumps(dict(ms=(time.perf_counter() - begin) / steps * 1e3, version=peer.version)), file=answers)
    for line in sys.stdin:
        if int(line) != steps:
            steps = int(line)
            data = peer.prepare(steps)
            peer.run(data)  # compiled functions are compiled anew for another size
        begin = time.perf_counter()
        loss = peer.run(data)
        print(json.dumps(dict(seconds=time.perf_counter() - begin, loss=loss)), file=answers)


if __name__ == "__main__":
    main()

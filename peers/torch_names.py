"""Weights of real PyTorch in cornu, and cornu's in PyTorch.

    PYTHONPATH=build/release/python python3 peers/torch_names.py [--cornu PROGRAM]

For every sample of every layer in src/model/layers that has weights, and for all workloads, the same network is made
of PyTorch's modules; its state_dict, saved as safetensors, gives cornu's outputs within 1e-5 of PyTorch's outputs' scale, on
the same images (channels last and first); and so does the state_dict that cornu writes, in PyTorch again."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

from cornu import _cornu

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MOST = 1e-5
rng = np.random.default_rng(1)
worst: dict[str, float] = {}


def save_file(state: dict, path: str) -> None:
    """As safetensors.torch's, which Debian has not."""
    header, at, data = {"__metadata__": {"format": "pt"}}, 0, []
    for name, value in sorted(state.items()):
        value = value.detach().contiguous().numpy()
        header[name] = {"dtype": {"float32": "F32", "float64": "F64", "int64": "I64"}[value.dtype.name],
                        "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
        data.append(value.tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(data))


def load_file(path: str) -> dict:
    with open(path, "rb") as file:
        content = file.read()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    assert header.pop("__metadata__") == {"format": "pt"}
    return {name: torch.from_numpy(np.frombuffer(content[begin + t["data_offsets"][0]:begin + t["data_offsets"][1]],
                                                 np.float32).reshape(t["shape"]).copy()) for name, t in header.items()}


# ---- the same network

class Function(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Last(nn.Module):
    """A module over the last dimension in cornu's order, of an image that PyTorch has channels first."""

    def __init__(self, inner) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) if x.dim() == 4 else self.inner(x)


class BatchNorm(nn.Module):
    """Over the last dimension of anything but images, which PyTorch has second."""

    def __init__(self, inner) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.reshape(-1, x.shape[-1])).reshape(x.shape)


def activation(name: str, alpha: float = 0.2):
    of_rows = {"softmax": lambda x: torch.softmax(x, 1 if x.dim() == 4 else -1),
               "log_softmax": lambda x: torch.log_softmax(x, 1 if x.dim() == 4 else -1)}
    plain = {"relu": nn.ReLU(), "tanh": nn.Tanh(), "sigmoid": nn.Sigmoid(), "gelu": nn.GELU(), "elu": nn.ELU(),
             "leaky_relu": nn.LeakyReLU(alpha), "silu": nn.SiLU(), "linear": nn.Identity(), None: nn.Identity(), "selu": nn.SELU(),
             "softplus": nn.Softplus(), "softsign": nn.Softsign()}
    return Function(of_rows[name]) if name in of_rows else plain[name]


def same_padding(sizes, kernel, strides, dilation) -> tuple:
    """Keras's, for F.pad: (left, right, top, bottom)."""
    out: list[int] = []
    for i in (1, 0):
        total = max((-(-sizes[i] // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilation[i] + 1 - sizes[i], 0)
        out += [total // 2, total - total // 2]
    return tuple(out)


def conv(options: dict, shape: tuple) -> list:
    kernel, strides, dilation = options["kernel_size"], options["strides"], options["dilation_rate"]
    padding = [nn.ZeroPad2d(same_padding(shape, kernel, strides, dilation))] if options["padding"] == "same" else []
    return [*padding, nn.Conv2d(shape[2], options["filters"], kernel, strides, 0, dilation, options["groups"],
                                options["use_bias"]), activation(options["activation"])]


def pool(options: dict, shape: tuple):
    size, strides = options["pool_size"], options["strides"] or options["pool_size"]
    pad = same_padding(shape, size, strides, (1, 1)) if options["padding"] == "same" else (0, 0, 0, 0)
    return Function(lambda x: nn.functional.max_pool2d(nn.functional.pad(x, pad, value=-torch.inf), size, strides))


def norm(kind, options: dict, size: int):
    affine = options["center"] or options["scale"]
    inner = (nn.LayerNorm(size, options["epsilon"], affine) if kind is nn.LayerNorm
             else kind(size, options["epsilon"], 1 - options["momentum"], affine))
    with torch.no_grad():
        for name, value in inner.state_dict().items():
            there = {"weight": options["scale"], "bias": options["center"]}.get(name, True)
            if there and value.dtype == torch.float32:
                value.copy_(torch.from_numpy(rng.uniform(0.5, 1.5, size).astype(np.float32)))
    return inner


def modules(kind: str, options: dict, shape: tuple) -> list:
    """Of one layer for inputs of cornu's shape."""
    if kind == "Conv2D":
        return conv(options, shape)
    if kind == "Dense":
        linear = nn.Linear(shape[-1], options["units"], options["use_bias"])
        return [Last(linear), activation(options["activation"])]
    if kind == "DepthwiseConv2D":
        return modules("Conv2D", {**options, "filters": shape[-1] * options["depth_multiplier"], "groups": shape[-1]}, shape)
    if kind == "BatchNormalization":
        return [norm(nn.BatchNorm2d, options, shape[-1]) if len(shape) == 3
                else BatchNorm(norm(nn.BatchNorm1d, options, shape[-1]))]
    if kind == "LayerNormalization":
        return [Last(norm(nn.LayerNorm, options, shape[-1]))]
    simple = {"Flatten": lambda: nn.Flatten(), "Dropout": lambda: nn.Dropout(options["rate"]),
              "MaxPooling2D": lambda: pool(options, shape),
              "ReLU": lambda: nn.ReLU(), "Softmax": lambda: activation("softmax"),
              "Activation": lambda: activation(options["activation"]),
              "Rescaling": lambda: Function(lambda x: x * options["scale"] + options["offset"]),
              "GlobalAveragePooling2D": lambda: Function(lambda x: x.mean((2, 3)))}
    return [simple[kind]()]


def peer(handle) -> nn.Sequential:
    made: list = []
    shape = tuple(handle.shapes()[0])
    for layer in json.loads(handle.config())["config"]["layers"]:
        if layer["class_name"] == "InputLayer":
            continue
        made += modules(layer["class_name"], layer["config"], shape)
        with torch.no_grad():
            out = nn.Sequential(*made).eval()(images(np.zeros((1, *handle.shapes()[0]), np.float32)))
        shape = tuple(last(out.numpy()).shape[1:])
    return nn.Sequential(*made).eval()


def images(x: np.ndarray):
    return torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if x.ndim == 4 else x)


def last(y: np.ndarray) -> np.ndarray:
    return y.transpose(0, 2, 3, 1) if y.ndim == 4 else y


# ---- comparing

def outputs_of(handle, x: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), *handle.shapes()[1]), np.float32)
    handle.predict(x, y, batch=len(x))
    return y


def compare(name: str, text: str | None, folder: str) -> None:
    def fresh():
        return _cornu.open(name) if text is None else _cornu.parse(text, name)
    handle = fresh()
    made = peer(handle)
    # The wrapping modules' own names ("inner") come in between, as other people's do.
    save_file(made.state_dict(), f"{folder}/w.safetensors")
    handle.load_weights(f"{folder}/w.safetensors", "torch", False, False)
    x = rng.uniform(-1, 1, (3, *handle.shapes()[0])).astype(np.float32)
    with torch.no_grad():
        expected = last(made(images(x)).numpy())
    scale = max(np.abs(expected).max(), 1e-30)
    worst[name] = float(np.abs(outputs_of(handle, x) - expected).max() / scale)
    handle.save_weights(f"{folder}/back.safetensors", "torch")
    back = load_file(f"{folder}/back.safetensors")
    renamed = rename(back, made.state_dict())
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
        made.load_state_dict(renamed)
        worst[f"{name}, back"] = float(np.abs(last(made(images(x)).numpy()) - expected).max() / scale)


def rename(back: dict, state: dict) -> dict:
    """The layers' names as the modules', one after the other."""
    prefixes = list(dict.fromkeys(key.rpartition(".")[0] for key in state))
    layers = list(dict.fromkeys(key.rpartition(".")[0] for key in back))
    assert len(prefixes) == len(layers), (prefixes, layers)
    return {f"{prefixes[layers.index(key.rpartition('.')[0])]}.{key.rpartition('.')[2]}": value for key, value in back.items()}


def samples() -> list[tuple[str, str]]:
    """(name, recipe) of the layers' own tables, and chains."""
    found = []
    for name, kinds in (("convolutional", ["Conv2D", "DepthwiseConv2D"]), ("core", ["Dense"]),
                        ("normalization", ["BatchNormalization", "LayerNormalization"])):
        with open(f"{ROOT}/src/model/layers/{name}.c") as file:
            text = file.read()
        tables = dict(re.findall(r"^static const char \*const (\w+)\[\] = \{(.*?)^\};", text, re.MULTILINE | re.DOTALL))
        for kind, row in re.findall(r"^const layer_kind layer_(\w+) = \{(.*?)^\};", text, re.MULTILINE | re.DOTALL):
            if kind in kinds:
                table = tables[re.search(r"\.samples = (\w+)", row)[1]]
                found += [(kind, shape, options) for shape, options in re.findall(r'"([\d,]+) \| (\{[^"]*\})"', table)]
    rows = [(f"{kind} {shape} {options}", f"model: {{input: [{shape}], layers: [{{{kind}: {options}}}]}}")
            for kind, shape, options in found]
    relu = "{Conv2D: {filters: 6, kernel_size: 3, activation: relu}}"
    chains = {
        "flattened": ("7,9,3", f"{relu}, MaxPooling2D, Flatten, {{Dense: {{units: 8}}}}, {{Dense: {{units: 3}}}}"),
        "normalized": ("9,7,3", f"{relu}, BatchNormalization, Flatten, BatchNormalization, {{Dropout: {{rate: 0.2}}}}, "
                       "{Dense: {units: 90}}, LayerNormalization, {Dense: {units: 90}}, {Dense: {units: 2}}"),
        "square behind a Flatten": ("3,2,4", "Flatten, {Dense: {units: 24}}, {Dense: {units: 24}}, Softmax"),
        "many alike": ("6,6,4", ", ".join(["{Conv2D: {filters: 4, kernel_size: 3, padding: same}}"] * 12)),
        "averaged": ("8,8,2", f"{relu}, GlobalAveragePooling2D, {{Dense: {{units: 6}}}}")}
    return rows + [(name, f"model: {{input: [{shape}], layers: [{layers}]}}") for name, (shape, layers) in chains.items()]


def compare_program(cornu: str, folder: str) -> None:
    """train --init, convert and predict with weights of PyTorch's."""
    with open(f"{folder}/r.yaml", "w") as file:
        file.write("model: {input: [6, 5, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3}}, Flatten, {Dense: {units: 3}}]}\n")
    made = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(48, 3)).eval()
    save_file(made.state_dict(), f"{folder}/p.safetensors")
    run = subprocess.run([cornu, "convert", f"{folder}/p.safetensors", f"{folder}/m.safetensors", "--recipe", f"{folder}/r.yaml",
                          "--names", "torch"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    x = rng.uniform(-1, 1, (3, 6, 5, 3)).astype(np.float32)
    with torch.no_grad():
        expected = made(images(x)).numpy()
    found = outputs_of(_cornu.open(f"{folder}/m.safetensors"), x)
    worst["the program"] = float(np.abs(found - expected).max() / np.abs(expected).max())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cornu", default=f"{ROOT}/build/release/cornu")
    cornu = parser.parse_args().cornu
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in samples():
            compare(name, text, folder)
        for name in sorted(n[:-5] for n in os.listdir(f"{ROOT}/recipes")):
            compare(name, None, folder)
        compare_program(cornu, folder)
    bad = {name: apart for name, apart in worst.items() if not apart <= MOST}
    for name, apart in sorted(worst.items(), key=lambda row: -row[1])[:5]:
        print(f"{apart:.1e}  {name}")
    for name, apart in bad.items():
        print(f"{name}: {apart:.2e} apart; expected at most {MOST}")
    print(f"{len(worst)} comparisons, {len(bad)} too far apart; PyTorch {torch.__version__}")
    sys.exit(1 if bad else 0)


main()

"""Write cases of ONNX files whose meaning hangs on an opset, an order or a shape into tests/fixtures/onnx_graphs.npz, with
onnxruntime's outputs or why cornu refuses them; exchange.onnx_graphs_test reads it.

    PYTHONPATH=build/release/python .venv/bin/python peers/make_onnx_fixtures.py [--output FILE]"""
import argparse
import os
import subprocess
import tempfile

import numpy as np
import onnx

from onnx_graphs import run, session_of
from onnx_operators import Graph, leave_zeros_out

rng = np.random.default_rng(1)


class ByHand(Graph):
    def drawn(self, *shape: int, low: float = -0.7) -> str:
        return self.constant(coarse(rng.uniform(low, 0.9, shape)))


def hand(opset: int, *shape: int) -> Graph:
    return ByHand(opset, shape)


def coarse(values: np.ndarray) -> np.ndarray:
    """Numbers that take few bytes in an archive."""
    return (np.round(values * 16) / 16).astype(np.float32)


def plain_conv(c: Graph) -> None:
    c.node("Conv", c.drawn(3, c.shape[0], 2, 2), c.drawn(3), shape=(3, c.shape[1] - 1, c.shape[2] - 1))


def dense(c: Graph, units: int = 4, bias: tuple[int, ...] | None = None, **attributes) -> None:
    weights = [c.drawn(c.shape[0], units)] + ([c.drawn(*bias)] if bias is not None else [])
    c.node("Gemm", *weights, shape=(units,), **attributes)


def block(opset: int, *merge: str, **attributes) -> Graph:
    """A convolution that two read, whose results come together by one operator."""
    c = hand(opset, 3, 4, 5)
    c.node("Conv", c.drawn(3, 3, 3, 3), c.drawn(3), pads=[1, 1, 1, 1])
    x = c.value
    c.node("Relu")
    c.node("Conv", c.drawn(3, 3, 3, 3), pads=[1, 1, 1, 1])
    c.nodes.append(onnx.helper.make_node("Tanh", [x], ["tanh"], name="tanh"))  # between the product and its bias
    c.node("Add", c.drawn(3, 1, 1))
    c.node(*merge, "tanh", **attributes)
    return c


def branching_cases():
    for kind in ("Add", "Sum", "Mean", "Sub", "Mul", "Max", "Min"):
        yield f"a block that ends in {kind}", block(13, kind), "", False
    for axis in (1, 2, -1):
        yield f"a block that ends in Concat, axis {axis}", block(13, "Concat", axis=axis), "", False
    yield "a concatenated batch", block(13, "Concat", axis=0), "(Concat): axis: found 0 of 4 dimensions", False
    c = block(13, "Add")
    c.node("Sum", c.value, "tanh")
    c.node("Flatten")
    c.nodes.append(onnx.helper.make_node("Add", [c.value, c.value], ["twice"], name="twice"))
    c.value, c.shape = "twice", (60,)
    dense(c)
    yield "a sum of three, and a flattened image twice", c, "", False
    c = block(13, "Add")
    x = c.value
    c.node("Flatten")
    flat = c.value
    c.value = x
    c.node("Transpose", perm=[0, 2, 3, 1])
    c.node("Flatten")
    c.node("Add", flat)
    yield "two orders", c, "(Add): found two orders of elements: of v8 the file's, of v6 of an image that was flattened", False
    c = block(13, "Add")
    c.node("Exp")
    c.nodes.append(onnx.helper.make_node("Div", ["tanh", c.value], ["quotient"], name="quotient"))
    c.value = "quotient"
    yield "a quotient of two", c, "", False
    c = block(13, "Add")
    c.node("Mod", "tanh")
    yield "a remainder", c, "(Mod)", False
    c = hand(13, 4, 4)
    x = c.value
    c.node("Relu")
    c.node("ReduceMean", axes=[2], keepdims=0)
    c.node("Add", x)
    yield "two ranks", c, "(ReduceMean): found axes", False


def array_cases():
    """Constants of several numbers as operands."""
    for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "LessOrEqual", "Sum"):
        c = hand(13, 2, 4, 5)
        plain_conv(c)
        shape = (3, 1, 1) if kind in ("Add", "Max", "Greater") else (1, 3, 3, 4) if kind == "Mul" else (3, 4)
        c.node(kind, c.drawn(*shape, low=0.2))
        if kind in ("Greater", "LessOrEqual"):
            c.node("Cast", to=1)
        yield f"{kind} of an image and an array", c, "", False
    c = hand(13, 3, 4)
    given = c.drawn(3, 1, low=0.2)
    c.nodes.append(onnx.helper.make_node("Sub", [given, "x"], ["v0"], name="v0"))
    c.nodes.append(onnx.helper.make_node("Div", ["v0", c.drawn(1, 4, low=0.2)], ["v1"], name="v1"))
    c.nodes.append(onnx.helper.make_node("Less", ["v1", c.constant(0.1)], ["v2"], name="v2"))
    c.nodes.append(onnx.helper.make_node("Not", ["v2"], ["v3"], name="v3"))
    c.nodes.append(onnx.helper.make_node("Where", ["v3", "v1", c.drawn(4)], ["v4"], name="v4"))
    c.nodes.append(onnx.helper.make_node("Where", [c.constant([[True], [False], [True]], np.bool_), c.constant(2.0), "v4"], ["v5"],
                                         name="v5"))
    c.value = "v5"
    yield "arrays on either side, and choices", c, "", False
    c = hand(13, 2, 4, 5)
    plain_conv(c)
    c.node("Flatten", shape=(36,))
    c.node("Mul", c.drawn(36))
    yield "an array beside a flattened image", c, "(Mul): found a constant of 1 dimensions beside a result of 2, an image", False
    c = hand(13, 4, 3)
    c.node("Transpose", perm=[0, 2, 1], shape=(3, 4))
    c.node("MatMul", c.drawn(4, 2), shape=(3, 2))
    yield "a product of exchanged dimensions", c, "", False
    c = hand(13, 4, 3)
    c.nodes.append(onnx.helper.make_node("MatMul", [c.drawn(2, 4), "x"], ["v0"], name="v0"))
    c.nodes.append(onnx.helper.make_node("MatMul", ["v0", c.drawn(1, 3, 5)], ["v1"], name="v1"))
    c.value = "v1"
    yield "products with constants", c, "", False
    c = hand(13, 4, 3)
    c.node("Transpose", perm=[0, 2, 1], shape=(3, 4))
    c.node("Add", c.drawn(3, 1))
    c.node("Transpose", perm=[0, 2, 1], shape=(4, 3))
    yield "dimensions exchanged and back", c, "", False


def reshape(c: Graph, target: list[int], shape: tuple[int, ...]) -> None:
    c.node("Reshape", c.constant(target, np.int64), shape=shape)


def attention() -> Graph:
    """Two heads of a sequence of 3, which may not read what follows."""
    c = hand(13, 3, 4)
    heads = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        c.value, c.shape = "x", (3, 4)
        c.node("MatMul", c.drawn(4, 4))
        reshape(c, [0, 0, 2, 2], (3, 2, 2))
        c.node("Transpose", perm=perm, shape=(2, 3, 2))
        heads.append(c.value)
    c.value = heads[0]
    c.node("MatMul", heads[1], shape=(2, 3, 3))
    c.node("Add", c.constant(np.triu(np.full((3, 3), -1e9), 1)))
    c.node("Softmax", axis=-1)
    c.node("MatMul", heads[2], shape=(2, 3, 2))
    c.node("Transpose", perm=[0, 2, 1, 3], shape=(3, 2, 2))
    reshape(c, [0, 0, 4], (3, 4))
    return c


def of_steps(inner: tuple[int, ...]) -> Graph:
    """Three steps of a sample, which have become part of the batch."""
    c = hand(13, 3, *inner)
    reshape(c, [-1, *inner], inner)
    return c


def stack_cases():
    """Stacks of matrices, and steps beside the batch."""
    yield "attention of two heads", attention(), "", False
    c = hand(13, 2, 4, 4)
    plain_conv(c)
    c.node("Transpose", perm=[0, 1, 3, 2])
    c.node("MatMul", c.value)
    yield "products of an image's channels, exchanged", c, "found an image with its channels first; expected", False
    c = hand(13, 2, 4, 4)
    plain_conv(c)
    c.node("MatMul", c.value)
    reshape(c, [0, 27], (27,))
    yield "products of an image's channels", c, "", False
    c = hand(13, 4, 3)
    x = c.value
    reshape(c, [0, 2, 2, 3], (2, 2, 3))
    c.node("MatMul", x)
    yield "products of stacks of two ranks", c, "(MatMul): found v0 of 4 dimensions", False
    c = of_steps((4,))
    dense(c, bias=(4,))
    c.node("Relu")
    c.node("MatMul", c.drawn(4, 2), shape=(2,))
    reshape(c, [-1, 3, 2], (3, 2))
    yield "a dense layer of each step", c, "", False
    c = of_steps((3, 4, 2))
    c.node("Transpose", perm=[0, 3, 1, 2], shape=(2, 3, 4))
    plain_conv(c)
    c.node("MaxPool", kernel_shape=[2, 2], shape=(3, 1, 2))
    reshape(c, [0, -1], (6,))
    dense(c, 2)
    reshape(c, [-1, 3, 2], (3, 2))
    yield "a network of images for each step", c, "", False
    c = of_steps((4,))
    c.node("Add", c.value)
    reshape(c, [-1, 3, 4], (3, 4))
    yield "a sum of steps", c, "(Add): found several inputs, of which one has steps beside its batch", False
    yield "an output of steps", of_steps((4,)), "of steps beside the batch; expected rows", False
    c = of_steps((4,))
    reshape(c, [-1, 2, 4], (2, 4))
    yield "other steps", c, "(Reshape): ", False


def recurrent(c: Graph, kind: str, gates: int, units: int, *inputs: str, directions: int = 1, bias: bool = True, **attributes) -> None:
    """An operator on the value at hand, (steps, batch, features): v.all, v.h, v.c."""
    v = f"v{len(c.nodes)}"
    rows = gates * units
    weights = [c.drawn(directions, rows, c.shape[-1]), c.drawn(directions, rows, units), c.drawn(directions, 2 * rows) if bias else ""]
    c.nodes.append(onnx.helper.make_node(kind, [c.value, *weights, *inputs], [f"{v}.all", f"{v}.h", f"{v}.c"][:3 if gates == 4 else 2],
                                         name=v, hidden_size=units, **attributes))
    c.value, c.shape = f"{v}.all", (c.shape[0], directions * units)


def sequence(opset: int = 13) -> Graph:
    c = hand(opset, 4, 3)
    c.node("Transpose", perm=[1, 0, 2])
    return c


def recurrent_cases():
    """Sequences with their steps first, as recurrent operators have them."""
    one, zero = (lambda c: c.constant([1], np.int64)), (lambda c: c.constant([0], np.int64))
    c = sequence()
    recurrent(c, "LSTM", 4, 2, "", c.constant(np.zeros((2, 2, 2))), c.constant(np.zeros((2, 2, 2))), directions=2,
              direction="bidirectional")
    c.node("Transpose", perm=[0, 2, 1, 3])
    c.node("Reshape", c.constant([0, 0, -1], np.int64))
    recurrent(c, "GRU", 3, 3, linear_before_reset=1)
    c.node("Squeeze", one(c))
    c.node("Transpose", perm=[1, 0, 2], shape=(4, 3))
    yield "an LSTM of both directions, and a GRU", c, "", False
    c = sequence()
    recurrent(c, "GRU", 3, 2, direction="reverse", activations=["HardSigmoid", "LeakyRelu"], activation_alpha=[1 / 6, 0.25],
              activation_beta=[0.5])
    c.node("Squeeze", one(c))
    recurrent(c, "RNN", 1, 3, direction="reverse", bias=False, activations=["Elu"])
    c.value = c.value.replace(".all", ".h")
    c.node("Squeeze", zero(c))
    yield "a GRU backwards, and an RNN forwards on its steps", c, "", False
    c = sequence()
    recurrent(c, "LSTM", 4, 2)
    x, given = c.value, c.value.replace(".all", ".")
    c.value, c.shape = "v0", (4, 3)
    recurrent(c, "LSTM", 4, 2, "", f"{given}h", f"{given}c", direction="reverse")
    c.node("Slice", *(c.constant([n], np.int64) for n in (-1, -9, 0, -1)))
    c.node("Squeeze", one(c))
    c.node("Transpose", perm=[1, 0, 2])
    yield "an LSTM backwards from the states of another", c, "", False
    c = sequence()
    recurrent(c, "GRU", 3, 2, directions=2, direction="bidirectional")
    c.value = c.value.replace(".all", ".h")
    c.node("Transpose", perm=[1, 0, 2])
    c.node("Reshape", c.constant([0, 4], np.int64))
    yield "the last states of both directions", c, "", False
    c = sequence()
    recurrent(c, "LSTM", 4, 2, directions=2, direction="bidirectional")
    x = c.value
    c.value = x.replace(".all", ".c")
    c.node("Transpose", perm=[1, 0, 2])
    c.node("Reshape", c.constant([0, 4], np.int64), shape=(4,))
    yield "the last cells of both directions", c, "", False
    for name, why, given in (
            ("clip", "(LSTM): clip: found 3; expected none", {"clip": 3.0}),
            ("input_forget", "(LSTM): input_forget: found 1; expected 0", {"input_forget": 1}),
            ("different activations", "(LSTM): activations: found different ones", {"activations": ["Sigmoid", "Tanh", "Relu"]}),
            ("softsign", "(LSTM): activations: found Softsign; expected Tanh", {"activations": ["Sigmoid", "Softsign", "Softsign"]}),
            ("too few activations", "(LSTM): activations: found 2; expected 3", {"activations": ["Sigmoid", "Tanh"]}),
            ("a direction", "(LSTM): direction: found another", {"direction": "up"}),
            ("another slope", "HardSigmoid: found alpha 0.2 and beta 0.5; expected 1/6", {"activations": ["HardSigmoid", "Tanh", "Tanh"]})):
        c = sequence()
        recurrent(c, "LSTM", 4, 2, **given)
        c.value = c.value.replace(".all", ".h")
        c.node("Squeeze", zero(c))
        yield f"an LSTM of {name}", c, why, False
    c = hand(13, 4, 3)
    recurrent(c, "RNN", 1, 2)
    c.node("Squeeze", one(c))
    yield "a sequence whose batch comes first", c, "(RNN): found an input that is no sequence (steps, batch, features)", False
    c = sequence()
    recurrent(c, "RNN", 1, 2, direction="reverse")
    c.node("Squeeze", one(c))
    c.node("Transpose", perm=[1, 0, 2])
    yield "steps that go backwards", c, "(Transpose): found the steps of a layer that goes backwards", False
    c = sequence()
    recurrent(c, "RNN", 1, 2)
    c.node("Squeeze", one(c))
    c.node("Add", c.drawn(2))
    yield "a sum with the steps first", c, "(Add): found a sequence whose steps come first", False
    c = sequence()
    recurrent(c, "RNN", 1, 2)
    c.node("Squeeze", one(c))
    yield "an output with the steps first", c, "a sequence whose steps come first; expected rows", False
    c = sequence()
    recurrent(c, "RNN", 1, 2, c.constant([4, 3], np.int32))
    c.node("Squeeze", one(c))
    yield "sequences of several lengths", c, "(RNN): sequence_lens: found one; expected none", False
    c = sequence()
    recurrent(c, "RNN", 1, 2, "", c.drawn(1, 2, 2))
    c.node("Squeeze", one(c))
    yield "a constant as the first state", c, "(RNN): initial_h: found one that cannot be read", False
    c = sequence()
    c.shape = (4, 5)
    recurrent(c, "RNN", 1, 2)
    c.node("Squeeze", one(c))
    yield "weights of more features", c, "(RNN): W: found no constant of floats (1, 2, inputs)", False


def resize_cases():
    def image(*scales: float, opset: int = 13, **attributes) -> Graph:
        c = hand(opset, 2, 4, 6)
        c.node("Conv", c.drawn(2, 2, 1, 1))
        c.node("Resize", "" if opset > 11 else c.constant([0, 0, 0, 0, 1, 1, 1, 1]), c.constant(list(scales)), **attributes)
        return c

    yield "twice as large", image(1, 1, 2, 2, mode="linear"), "", False
    yield "rows and columns of another number", image(1, 1, 0.75, 1.5, mode="linear", opset=11), "", False
    c = hand(13, 2, 4, 6)
    c.node("Conv", c.drawn(2, 2, 1, 1))
    c.node("Resize", "", "", c.constant([2, 2, 5, 3], np.int64), mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    yield "of sizes", c, "", False
    nearest = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    yield "pixels repeated", image(1, 1, 2, 3, **nearest), "", False
    yield "pixels repeated unevenly", image(1, 1, 1.5, 1, **nearest), "(Resize): found another mode", False
    yield "the nearest pixels", image(1, 1, 1.25, 0.5, mode="nearest", nearest_mode="round_prefer_ceil"), "", False
    yield "of two pixels the first", image(1, 1, 1, 0.5, mode="nearest"), "(Resize): found another mode", False
    yield "of one pixel the nearest", image(1, 1, 2, 1, mode="nearest"), "", False
    yield "by cubes", image(1, 1, 2, 2, mode="cubic"), "(Resize): found another mode", False
    yield "corners aligned", image(1, 1, 2, 2, mode="linear", coordinate_transformation_mode="align_corners"), "(Resize): found another", False
    yield "more channels", image(1, 2, 2, 2, mode="linear"), "(Resize): found no constant of scales or sizes", False
    yield "no whole rows", image(1, 1, 1.3, 1, mode="linear"), "(Resize): found no constant of scales or sizes", False
    c = hand(18, 2, 4, 6)
    c.node("Conv", c.drawn(2, 2, 1, 1))
    c.node("Resize", "", c.constant([0.5, 0.5]), mode="linear", antialias=1, axes=[2, 3])
    yield "antialiased", c, "(Resize): found antialias; expected none", False


def part_cases():
    """Slices, limits and orders of dimensions."""
    c = hand(13, 2, 6, 5)
    plain_conv(c)
    c.node("Slice", *(c.constant(n, np.int64) for n in ([1, -4, 0], [3, 2**63 - 1, -1], [1, -1, 2], [1, 2, 3])), shape=(2, 2, 2))
    c.node("Relu")
    yield "a part of an image", c, "", False
    c = hand(9, 4, 5)
    c.node("Slice", starts=[-2, 1], ends=[2147483647, 4], axes=[2, 1], shape=(3, 2))
    yield "a part by attributes", c, "", False
    c = hand(13, 4, 5)
    c.node("Slice", c.constant([0], np.int64), c.constant([1], np.int64), c.constant([0], np.int64))
    yield "a part of the batch", c, "(Slice): axes: found 0; expected each dimension after the batch", False
    c = hand(13, 4, 5)
    c.node("Slice", c.constant([3], np.int64), c.constant([0], np.int64), c.constant([1], np.int64), c.constant([-1], np.int64))
    yield "a part backwards", c, "found a slice of step -1", False
    for opset, least, most in ((13, 0.25, 0.5), (13, None, 0.25), (13, -0.25, None), (6, -0.5, 0.5)):
        c = hand(opset, 6)
        if opset < 11:
            c.node("Clip", min=least, max=most)
        else:
            c.node("Clip", *("" if n is None else c.constant(n) for n in (least, most)))
        yield f"limits {least} and {most}, opset {opset}", c, "" if opset > 6 else "found opset 6", False
    for shape, perm in (((3, 4, 5), (0, 2, 1, 3)), ((3, 4, 5), (0, 3, 2, 1)), ((2, 3, 4, 2), (0, 4, 1, 3, 2))):
        c = hand(13, *shape)
        c.node("Transpose", perm=perm, shape=tuple(shape[n - 1] for n in perm[1:]))
        c.node("Flatten")
        yield f"the order {perm}", c, "", False


def fixture_cases():
    """(name, graph, why it is refused or "", is what is 0 left out?)"""
    for opset, axis in ((7, None), (12, 1), (13, 1), (13, -3)):
        c = hand(opset, 2, 4, 5)
        plain_conv(c)
        c.node("Softmax", axis=axis)
        yield f"softmax of an image, opset {opset}, axis {axis}", c, "", False
    c = hand(12, 2, 4, 5)
    plain_conv(c)
    c.node("Softmax", axis=3)
    yield "softmax of columns", c, "(Softmax): axis: found 3, of opset 12; expected that of the channels", False
    for opset, axis in ((11, None), (11, 2), (11, 3), (13, None)):
        c = hand(opset, 2, 4, 5)
        c.node("Softmax", axis=axis)
        yield f"softmax of rows, opset {opset}, axis {axis}", c, "", False
    c = hand(13, 6)
    c.node("Softmax", axis=0)
    yield "softmax of the batch", c, "(Softmax): axis: found 0, of opset 13", True
    for name, steps in {"flattened twice": ["Flatten", "Flatten"], "flattened, rectified, reshaped": ["Flatten", "Relu", "Reshape"],
                        "reshaped, normalized, flattened": ["Reshape", "BatchNormalization", "Flatten"]}.items():
        c = hand(13, 2, 4, 5)
        plain_conv(c)
        for kind in steps:
            n = int(np.prod(c.shape))
            given = {"Reshape": lambda: [c.constant([-1, n], np.int64)],
                     "BatchNormalization": lambda: [c.drawn(n), c.drawn(n), c.drawn(n), c.drawn(n, low=0.3)]}.get(kind, list)()
            c.node(kind, *given, shape=(n,))
        dense(c, bias=(4,))
        yield name, c, "", False
    for name, axes, pads in (("last two", [-2, -1], [1, 2, 0, 3]), ("other way round", [3, 2], [1, 0, 2, 0]), ("one", [3], [2, 1])):
        c = hand(18, 2, 4, 5)
        c.node("Pad", c.constant(pads, np.int64), "", c.constant(axes, np.int64), shape=(0, 0, 0))
        c.node("Conv", c.drawn(3, 2, 2, 2), shape=(0, 0, 0))
        yield f"padded axes, {name}", c, "", False
    c = hand(18, 2, 4, 5)
    c.node("Pad", c.constant([0, 0, 1, 2, 0, 0, 0, 1], np.int64), "", c.constant([0, 1, 3, 2], np.int64), shape=(0, 0, 0))
    c.node("Conv", c.drawn(3, 2, 2, 2), shape=(0, 0, 0))
    yield "padded axes, all four", c, "", False
    c = hand(18, 2, 4, 5)
    c.node("Conv", c.drawn(3, 2, 2, 2), pads=[1, 1, 1, 1], auto_pad="VALID", shape=(0, 0, 0))
    yield "pads beside VALID", c, "(Conv): pads: found them beside auto_pad; expected one of the two", False
    c = hand(18, 2, 4, 5)
    c.node("Conv", c.drawn(3, 2, 2, 3), kernel_shape=[3, 2], shape=(0, 0, 0))
    yield "another kernel_shape", c, "(Conv): kernel_shape: found 3, 2; expected 2, 3 as the kernel", False
    c = hand(0, 4)
    c.node("Relu")
    yield "no opset", c, "found no opset, the version of ONNX's operators", False
    c = hand(18, 2, 4, 5)
    c.node("Pad", c.constant([1, 1, 1, 1], np.int64), "", c.constant([1, 2], np.int64), shape=(0, 0, 0))
    c.node("Conv", c.drawn(3, 4, 2, 2), shape=(0, 0, 0))
    yield "padded channels", c, "(Pad): found another padding; expected zeros around an image", False
    c = hand(7, 2, 4, 5)
    c.node("Pad", pads=[0, 0, 1, 0, 0, 0, 2, 3], shape=(0, 0, 0))
    c.node("Conv", c.drawn(3, 2, 2, 2), shape=(0, 0, 0))
    yield "padded by an attribute", c, "", False
    for bias in ((4,), (1, 4)):
        c = hand(11, 5)
        dense(c, bias=bias)
        yield f"C of {len(bias)} dimensions", c, "", False
    for bias in ((3, 1), (1, 1), ()):
        c = hand(11, 5)
        dense(c, 3, bias)
        yield f"C of shape {bias}", c, "(Gemm): C: found no constant of 3 floats in a row; expected one", False
    c = hand(13, 2, 4, 5)
    plain_conv(c)
    c.node("ReduceMean", axes=[2, 3], keepdims=0, shape=(3,))
    dense(c)
    yield "averaged, without zeros", c, "", True
    c = hand(11, 5)
    dense(c, bias=(4,), beta=0.0)
    yield "beta, without zeros", c, "(Gemm): found alpha 1, beta 0", True
    c = hand(13, 4)
    c.node("Dropout", c.constant(0.5), c.constant(True, np.bool_))
    yield "dropout that trains", c, "(Dropout): training_mode: found true", False
    c = hand(13, 4, 3)
    c.node("Reshape", c.constant([1, -1], np.int64), shape=(12,))
    yield "a batch in one row", c, "(Reshape): found the shape's dimension -1, and 1 for the batch", False
    c = hand(13, 4)
    c.node("Mul", c.constant([[[2]]]), shape=(1, 4))
    yield "a dimension more", c, "(Mul): found a constant of 3 dimensions beside a result of 2", False
    c = hand(13, 4)
    c.node("MatMul", c.drawn(4, 2), shape=(2,))
    c.node("Add", c.drawn(1, 1, 2), shape=(1, 2))
    yield "a dimension more behind a product", c, "(Add): found a constant of 3 dimensions beside a result of 2", False
    c = hand(7, 2, 4, 5)
    plain_conv(c)
    c.node("BatchNormalization", *[c.drawn(3, 3, 4, low=0.3) for _ in range(4)], spatial=0)
    yield "a mean for each pixel", c, "(BatchNormalization): spatial: found 0, a mean for each pixel; expected 1", False
    yield from recurrent_cases()
    yield from resize_cases()
    yield from array_cases()
    yield from part_cases()
    yield from stack_cases()
    yield from branching_cases()
    yield "torch", torch_model(), "", False


def torch_model() -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.onnx"
        subprocess.run(["/usr/bin/python3", "-P", os.path.join(os.path.dirname(__file__), "torch_onnx.py"), path], check=True)
        return onnx.load(path)


def model_of(c: Graph) -> onnx.ModelProto:
    y = onnx.helper.make_tensor_value_info(c.value, 1, None)
    x = onnx.helper.make_tensor_value_info("x", 1, ["n", *c.given])
    graph = onnx.helper.make_graph(c.nodes, "case", [x], [y], c.constants)
    opsets = [onnx.helper.make_opsetid("", c.opset)] if c.opset else []
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def write_fixtures(path: str) -> None:
    """Lines of the cases: name, bytes of the file, samples and numbers of x and y (in cornu's order), why it is refused."""
    lines, files, numbers = [], [], []
    for name, c, why, without in fixture_cases():
        model = c if isinstance(c, onnx.ModelProto) else model_of(c)
        if without:
            leave_zeros_out(model)
        files.append(model.SerializeToString())
        counts = [0, 0]
        if not why:
            shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim[1:]]
            given = coarse(rng.uniform(-1, 1, (2, *shape)))
            expected = run(session_of(model), given)
            first = any(n.op_type == "Conv" for n in model.graph.node)
            numbers += [(a.transpose(0, 2, 3, 1) if a.ndim == 4 and first else a).ravel() for a in (given, expected)]
            counts = [given.size, expected.size]
        lines.append(f"{name}|{len(files[-1])}|{counts[0]}|{counts[1]}|{why}\n")
    text = np.frombuffer("".join(lines).encode(), np.uint8)
    np.savez_compressed(path, cases=text, files=np.frombuffer(b"".join(files), np.uint8), numbers=np.concatenate(numbers))


parser = argparse.ArgumentParser()
parser.add_argument("--output", default=os.path.join(os.path.dirname(__file__), "../tests/fixtures/onnx_graphs.npz"))
write_fixtures(parser.parse_args().output)

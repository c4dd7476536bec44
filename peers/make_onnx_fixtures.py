"""Write cases of ONNX files whose meaning hangs on an opset, an order or a shape into tests/fixtures/onnx_chains.npz, with
onnxruntime's outputs or why cornu refuses them; exchange.onnx_chains_test reads it.

    PYTHONPATH=build/release/python .venv/bin/python peers/make_onnx_fixtures.py [--output FILE]"""
import argparse
import os

import numpy as np
import onnx

from onnx_chains import run, session_of
from onnx_operators import Chain, leave_zeros_out

rng = np.random.default_rng(1)


class ByHand(Chain):
    def drawn(self, *shape: int, low: float = -0.7) -> str:
        return self.constant(coarse(rng.uniform(low, 0.9, shape)))


def hand(opset: int, *shape: int) -> Chain:
    return ByHand(opset, shape)


def coarse(values: np.ndarray) -> np.ndarray:
    """Numbers that take few bytes in an archive."""
    return (np.round(values * 16) / 16).astype(np.float32)


def plain_conv(c: Chain) -> None:
    c.node("Conv", c.drawn(3, c.shape[0], 2, 2), c.drawn(3), shape=(3, c.shape[1] - 1, c.shape[2] - 1))


def dense(c: Chain, units: int = 4, bias: tuple[int, ...] | None = None, **attributes) -> None:
    weights = [c.drawn(c.shape[0], units)] + ([c.drawn(*bias)] if bias is not None else [])
    c.node("Gemm", *weights, shape=(units,), **attributes)


def fixture_cases():
    """(name, chain, why it is refused or "", is what is 0 left out?)"""
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
    yield "a dimension more", c, "(Mul): found a constant of several numbers or of more dimensions than the input", False
    c = hand(13, 4)
    c.node("MatMul", c.drawn(4, 2), shape=(2,))
    c.node("Add", c.drawn(1, 1, 2), shape=(1, 2))
    yield "a dimension more behind a product", c, "(Add): found a constant of several numbers", False
    c = hand(7, 2, 4, 5)
    plain_conv(c)
    c.node("BatchNormalization", *[c.drawn(3, 3, 4, low=0.3) for _ in range(4)], spatial=0)
    yield "a mean for each pixel", c, "(BatchNormalization): spatial: found 0, a mean for each pixel; expected 1", False


def write_fixtures(path: str) -> None:
    """Lines of the cases: name, bytes of the file, samples and numbers of x and y (in cornu's order), why it is refused."""
    lines, files, numbers = [], [], []
    for name, c, why, without in fixture_cases():
        y = onnx.helper.make_tensor_value_info(c.value, 1, None)
        x = onnx.helper.make_tensor_value_info("x", 1, ["n", *c.given])
        graph = onnx.helper.make_graph(c.nodes, "case", [x], [y], c.constants)
        opsets = [onnx.helper.make_opsetid("", c.opset)] if c.opset else []
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
        if without:
            leave_zeros_out(model)
        files.append(model.SerializeToString())
        counts = [0, 0]
        if not why:
            given = coarse(rng.uniform(-1, 1, (2, *c.given)))
            expected = run(session_of(model), given)
            first = any(n.op_type == "Conv" for n in c.nodes)
            numbers += [(a.transpose(0, 2, 3, 1) if a.ndim == 4 and first else a).ravel() for a in (given, expected)]
            counts = [given.size, expected.size]
        lines.append(f"{name}|{len(files[-1])}|{counts[0]}|{counts[1]}|{why}\n")
    text = np.frombuffer("".join(lines).encode(), np.uint8)
    np.savez_compressed(path, cases=text, files=np.frombuffer(b"".join(files), np.uint8), numbers=np.concatenate(numbers))


parser = argparse.ArgumentParser()
parser.add_argument("--output", default=os.path.join(os.path.dirname(__file__), "../tests/fixtures/onnx_chains.npz"))
write_fixtures(parser.parse_args().output)

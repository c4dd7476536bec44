"""Random graphs of ONNX's operators, over opsets 7 to 21, as cornu reads them and as onnxruntime does.

    PYTHONPATH=build/release/python .venv/bin/python peers/onnx_graphs.py [--graphs N] [--seed N]

A graph is of one to seven pieces, each a node or branches that come together again, with attributes drawn from all that their
operators allow, the rare and the obsolete among them. What onnxruntime takes, cornu reads and gives the same outputs, within 1e-4 of their scale, or refuses by the node's
name; what it has read it writes, and onnxruntime gives the same outputs of that file, too. `--graphs` counts those that
cornu read. Cases by hand for tests without onnxruntime: make_onnx_fixtures.py."""
import argparse
import collections
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from cornu import _cornu

import onnx_operators
from onnx_operators import BATCH, Graph, draw

MOST = 1e-4


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession | None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # of many kinds: what onnxruntime does not take is no case
        return None


def run(session, x: np.ndarray):
    try:
        return session.run(None, {session.get_inputs()[0].name: x})[0]
    except Exception:
        return None


def outputs_of(handle, x: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), *handle.shapes()[1]), np.float32)
    handle.predict(np.ascontiguousarray(x, np.float32), y, batch=len(x))
    return y


def is_turned(handle, c: Graph) -> bool:
    """Does cornu take x, which is channels first, channels last?"""
    return len(c.given) == 3 and tuple(handle.shapes()[0]) != c.given


def as_cornu(y: np.ndarray, c: Graph, turned: bool) -> np.ndarray:
    first = {"as x": turned, "not x": not turned, "last": False, "first": True}[c.first]
    return y.transpose(0, 2, 3, 1) if y.ndim == 4 and first else y


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    if found.shape != expected.shape:
        return float("inf")
    same = np.abs(found - expected)
    return float(same.max() / max(np.abs(expected).max(), 1e-30)) if np.isfinite(expected).all() else float("nan")


refusals: collections.Counter = collections.Counter()
kinds: collections.Counter = collections.Counter()


def compare(c: Graph, model: onnx.ModelProto, folder: str) -> str | None:
    """"" where all agree, what differs; None: onnxruntime does not take it, or cornu refuses it by name."""
    session = session_of(model)
    if session is None:
        return None
    size = (c.batch or BATCH, *c.given)
    x = onnx_operators.rng.integers(0, 256, size).astype(np.uint8) if c.bytes_in else onnx_operators.rng.uniform(-1, 1, size).astype(np.float32)
    expected = run(session, x)
    if expected is None or not np.isfinite(expected).all() or np.abs(expected).max(initial=0) < 1e-20:
        return None
    with open(f"{folder}/c.onnx", "wb") as file:
        file.write(model.SerializeToString())
    try:
        handle = _cornu.open(f"{folder}/c.onnx")
    except NotImplementedError as error:
        said = re.search(r"c\.onnx: (?:\w+ )?\(?(\w*)\)?: (.*)", str(error))
        refusals[f"{said[1]}: {re.sub(r'-?[0-9.]+', 'N', said[2])[:70]}" if said else str(error)[:90]] += 1
        return None
    turned = is_turned(handle, c)
    given = x.transpose(0, 2, 3, 1) if turned else x
    expected = as_cornu(expected, c, turned)
    found = apart(outputs_of(handle, given), expected)
    if not found <= MOST:
        return f"read: {found:.2e} apart"
    handle.export(f"{folder}/back.onnx", False)
    again = session_of(onnx.load(f"{folder}/back.onnx"))
    if again is None:
        return "written: onnxruntime does not take it"
    back = run(again, np.ascontiguousarray(given, np.float32))
    found = apart(back, expected) if back is not None else float("inf")
    for node in c.nodes:
        kinds[node.op_type] += 1
    return "" if found <= MOST else f"written: {found:.2e} apart"


def shown(name: str, value: np.ndarray | None) -> str:
    if value is None:
        return name
    return f"{name}{list(value.shape)}{value.tolist() if value.dtype != np.float32 else ''}"


def show(c: Graph, model: onnx.ModelProto) -> str:
    values = {t.name: onnx.numpy_helper.to_array(t) for t in c.constants}
    lines = [f"  opset {c.opset}, x {c.batch or 'n'} {c.given}"]
    for n in c.nodes:
        inputs = [shown(i, values.get(i)) for i in n.input]
        attributes = [f"{a.name}={onnx.helper.get_attribute_value(a)}" for a in n.attribute]
        lines.append(f"  {n.output[0]} = {n.op_type}({', '.join(inputs)}) {' '.join(attributes)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=300, help="until cornu has read so many")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    read = drawn = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        while read < options.graphs and drawn < 20 * options.graphs + 1000:
            onnx_operators.start(options.seed, drawn)  # so that one graph can be drawn again
            drawn += 1
            c = draw()
            if not c.nodes:
                continue
            model = c.model()
            said = compare(c, model, folder)
            read += said is not None
            if said is not None and read % 1000 == 0:
                print(f"{read} graphs read, {bad} differ", file=sys.stderr, flush=True)
            if said:
                bad += 1
                print(f"seed {options.seed}, graph {drawn - 1}: {said}\n{show(c, model)}", flush=True)
    for why, count in refusals.most_common(60):
        print(f"{count:6}  {why}")
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    refused = sum(refusals.values())
    print(f"{read} graphs read, {refused} refused, {drawn} drawn; {bad} differ; onnxruntime {onnxruntime.__version__}")
    if read < options.graphs or read < refused:
        print(f"expected {options.graphs} that are read, and fewer that are refused")
        bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

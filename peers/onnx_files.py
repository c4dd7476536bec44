"""ONNX files of cornu as onnx checks them and onnxruntime runs them.

    PYTHONPATH=build/release/python .venv/bin/python peers/onnx_files.py [--cornu PROGRAM]

Every sample of every layer in src/model/layers, with weights drawn at random (also of means, variances and gammas), and
all workloads: the file passes onnx.checker's full check with its shapes inferred, and for batches of 1 and 5 onnxruntime's
outputs are within 1e-5 of cornu's outputs' scale; so are those of files with the preprocessing inside, given bytes."""
import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from cornu import _cornu, keras
from cornu._tables import TABLES

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MOST = 1e-5
# What samples of merging layers read (NET_BRANCHES in tests/support/net.h).
BRANCHES = "{Activation: {activation: tanh, name: a}}, {Rescaling: {scale: -0.5, offset: 0.2, name: b, inputs: input_layer}}, "
DIVISORS = "{Activation: {activation: tanh, name: a}}, {Activation: {activation: sigmoid, name: b, inputs: input_layer}}, "
# Dimensions that go where an image's channels go first; nodes that have a meaning for some shapes alone; steps of a direction that
# goes backwards, in the input's order, which only a Bidirectional has whose directions are concatenated, added or multiplied.
NOT_READ = ("Transpose 3,4,2 ", "Permute 3,4,2 {dims: [3, 1, 2]}", "Softmax 2,3,5 {axis: 1}", "LogSoftmax 2,3,5 {axis",
            "Sparsemax ", "Activation 3,3,5 {activation: sparsemax", "Activation 4 {activation: sparsemax",
            "Bidirectional 3,2 {Bidirectional: ", "not read: ")
rng = np.random.default_rng(1)
worst: dict[str, float] = {}


def samples() -> list[tuple[str, str, str]]:
    """(layer, input shape, options) of the layers' own tables."""
    with open(f"{ROOT}/src/model/activations.def") as file:
        activations = re.findall(r'^ACTIVATION(_OF_ROWS|_ALONE)?\(\w+, "(\w+)"', file.read(), re.MULTILINE)
    found = [("Activation", shape, f"{{activation: {name}}}")
             for rows, name in activations for shape in ("3,3,5", "4") if shape == "3,3,5" or rows == "_OF_ROWS"]
    folder = f"{ROOT}/src/model/layers"
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}") as file:
            text = file.read().replace('" SIGMOID "', "{Activation: {activation: sigmoid}}, ").replace('" NEAR "', "{Rescaling: {scale: 0.125}}, ")
            text = re.sub(r'"\n\s*"', "", text)  # a sample of several lines
        tables = dict(re.findall(r"^static const char \*const (\w+)\[\] = \{(.*?)\};", text, re.MULTILINE | re.DOTALL))
        rows = re.findall(r"^const layer_kind layer_(\w+) = \{(.*?)^\};", text, re.MULTILINE | re.DOTALL)
        rows += [(kind, f".samples = {macro.lower()}_samples")
                 for macro, kind in re.findall(r"^(MERGING|PAIR|REDUCTION|EXTREME)\((\w+),", text, re.MULTILINE)]
        rows += [(kind, f".samples = {table}") for kind, table in re.findall(r"^ALONG_AXIS\((\w+), \w+, \w+, (\w+)", text, re.MULTILINE)]
        rows += [(kind, ".samples = pair_samples") for kind in re.findall(r"^COMPARISON\((\w+),", text, re.MULTILINE)]
        numbers = re.findall(r'^WITH_NUMBER\((\w+),[^;]*?"([\d,]+) \| (\{[^;}]*\})"\);', text, re.MULTILINE)
        found += [(kind, *sample) for kind, *given in numbers for sample in (("8", "{}"), given)]
        rows += [(kind, f".samples = {table}") for kind, table in re.findall(r"^ELEMENTWISE\((\w+), \w+, \w+, (\w+)", text, re.MULTILINE)]
        rows += [(kind, f".samples = {table}_samples") for kind, table in re.findall(r'^RECURRENT\((\w+), "\w+", (\w+)', text, re.MULTILINE)]
        rows += [(kind, f".samples = {table}_samples")
                 for kind, table in re.findall(r"^POOLING\((\w+), \"\w+\", \w+, \w+, (\w+),", text, re.MULTILINE)]
        rows += [(kind, f".samples = {table}_samples") for kind, table in re.findall(r'^BORDER\((\w+), (\w+),', text, re.MULTILINE)]
        rows += [(kind, f".samples = {table}_samples") for kind, table in re.findall(r"^COLORS_LAYER\((\w+), (\w+),", text, re.MULTILINE)]
        rows += [(kind, f".samples = {table}_samples") for kind, table in re.findall(r"^UP_SAMPLING\((\w+), (\w+),", text, re.MULTILINE)]
        for kind, row in rows:
            table = re.search(r"\.samples = (\w+)", row)
            found += [(kind, shape, options) for shape, options in re.findall(r'"([\d,]+) \| (\{[^"]*\})"',
                                                                            tables[table[1]] if table else "")
                      if kind != "Activation"]
    return found


def others() -> list[tuple[str, str, str]]:
    """Layers of ranks and neighbours that no sample has: (name, input shape, layers)."""
    conv = "{Conv2D: {filters: 4, kernel_size: 3, padding: same, activation: relu}}"
    return [("rank 3", "5,6", "BatchNormalization, {Dense: {units: 3, activation: gelu}}, LayerNormalization, Flatten"),
            ("rank 5", "2,3,4,5", "{Activation: {activation: elu}}, BatchNormalization, {Dense: {units: 2}}, Softmax"),
            ("channels first", "9,8,3", f"{conv}, BatchNormalization, ZeroPadding2D, {conv}, Softmax, LeakyReLU, {{Rescaling: "
             "{scale: 2, offset: -1}}, AveragePooling2D, LayerNormalization, Flatten, {Dense: {units: 3}}"),
            ("into images", "30", f"{{Reshape: {{target_shape: [5, 6, 1]}}}}, {conv}, GlobalAveragePooling2D, BatchNormalization"),
            ("ends in an image", "8,8,2", f"{conv}, MaxPooling2D"),
            ("one channel", "8,8,2", "{Conv2D: {filters: 1, kernel_size: 3}}, Flatten, {Dense: {units: 2}}"),
            ("arrays beside images", "8,8,2", f"{conv}, {{Multiply: {{x2: [1, -2, 0.5, 3]}}}}, {{Where: {{condition: [[[true, false, "
             f"true, true]]], x2: 0.5}}}}, {{Minimum: {{x1: [[[0.5, 0.2, 0.4, 0.3]]]}}}}, {conv}"),
            ("nothing", "4,3", "{Dropout: {rate: 0.5}}"),
            ("recurrent, both directions", "4,3", "{Bidirectional: {layer: {LSTM: {units: 3, return_sequences: true}}}}, {Bidirectional: "
             "{layer: {GRU: {units: 2, return_sequences: true, activation: {LeakyReLU: {negative_slope: 0.1}}}}}}, {Bidirectional: "
             "{layer: {GRU: {units: 2, reset_after: false, recurrent_activation: hard_sigmoid}}}}, {Dense: {units: 2}}"),
            ("recurrent, all steps and the last one", "4,3", "{LSTM: {units: 3, return_sequences: true, name: all}}, {GetItem: {key: "
             "':,-1', name: last}}, {GlobalAveragePooling1D: {inputs: all}}, {Add: {inputs: [last, global_average_pooling1d]}}"),
            ("recurrent, directions added", "4,3", "{Bidirectional: {layer: {LSTM: {units: 3, return_sequences: true}}, merge_mode: sum}}, {Bidirectional: "
             "{layer: {GRU: {units: 2, use_bias: false, return_sequences: true}}, merge_mode: mul}}, {Bidirectional: {layer: {GRU: {units: 2, "
             "return_sequences: true}}, merge_mode: ave}}, {Bidirectional: {layer: {SimpleRNN: {units: 3}}, merge_mode: sum}}"),
            ("not read: recurrent, both directions from states", "3,2", "{Bidirectional: {layer: {SimpleRNN: {units: 2, activation: linear, "
             "return_sequences: true, return_state: true}}, name: first}}, {Bidirectional: {layer: {SimpleRNN: {units: 2, activation: elu}}, "
             "inputs: [first, first/output_3, first/output_2]}}"),
            ("not read: resized to the nearest pixels", "6,14,2", "{Resizing: {height: 9, width: 10, interpolation: nearest}}, {Resizing: {height: 14, "
             "width: 31, interpolation: nearest}}"),
            ("resized by whole numbers", "3,2,2", "{Resizing: {height: 9, width: 7}}, {Resizing: {height: 3, width: 1, interpolation: nearest}}")]


def draw_weights(handle) -> None:
    for index, (path, shape, *_) in enumerate(handle.weights()):
        value = np.empty(shape, np.float32)
        handle.get_weight(index, value)
        if value.ndim == 1:
            low = 0.5 if path.endswith(("variance", "gamma")) else -1
            handle.set_weight(index, rng.uniform(low, 1.5, shape).astype(np.float32))


def check_file(path: str) -> onnxruntime.InferenceSession:
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    assert model.opset_import[0].version == 17 and not any(t.external_data for t in model.graph.initializer)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def compare(name: str, session, given: np.ndarray, expected: np.ndarray) -> None:
    found = session.run(None, {"input": given})[0]
    assert found.shape == expected.shape, f"{name}: found shape {found.shape}; expected {expected.shape}"
    apart = float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30))
    worst[name] = max(worst.get(name, 0), apart)


def outputs_of(handle, x: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), *handle.shapes()[1]), np.float32)
    handle.predict(x, y, batch=len(x))
    return y


def compare_model(name: str, handle, folder: str) -> None:
    path = f"{folder}/m.onnx"
    handle.export(path, False)
    session = check_file(path)
    for batch in (1, 5):
        x = rng.uniform(-1, 1, (batch, *handle.shapes()[0])).astype(np.float32)
        compare(name, session, x, outputs_of(handle, x))
    if name.startswith(NOT_READ):
        return
    again = _cornu.open(path)
    apart = np.abs(outputs_of(again, x) - outputs_of(handle, x)).max()
    worst[f"{name}, read again"] = float(apart / max(np.abs(outputs_of(handle, x)).max(), 1e-9))  # a comparison may give zeros


def compare_layers(folder: str) -> None:
    rows = []
    for kind, shape, options in samples():
        before, _, own = options.rpartition("| ")
        rows.append((f"{kind} {shape} {options}", shape, f"{before}{{{kind}: {own}}}"))
    cells = {"GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells"}
    layers = {row["class_name"] for row in TABLES["layers"]} - {"InputLayer"} - cells
    assert {row[0].split()[0] for row in rows} == layers, {row[0].split()[0] for row in rows} ^ layers
    for name, shape, layers in rows + others():
        branches = (DIVISORS if "Divide" in name else BRANCHES) if re.search(r"inputs: \[?[ab]\b", layers) else ""
        handle = _cornu.parse(f"model: {{input: [{shape}], layers: [{branches}{layers}]}}", name)
        handle.initialize(7)
        draw_weights(handle)
        compare_model(name, handle, folder)


def compare_workloads(folder: str) -> None:
    names = sorted(n[:-5] for n in os.listdir(f"{ROOT}/recipes"))
    for name in names:
        handle = _cornu.open(name)
        handle.initialize(3)
        compare_model(name, handle, folder)


def compare_preprocessing(folder: str) -> None:
    """Bytes, against what cornu makes of the floats that they stand for."""
    cases = {"bytes": ("{scale: 0.25}", 0.25), "bytes, 0 to 1": ("{name: mnist}", 1 / 255),
             "bytes, standardized": ("{name: mnist, augment: {samplewise_std_normalization: true}}", 1 / 255)}
    for name, (data, scale) in cases.items():
        handle = _cornu.parse(f"data: {data}\nmodel: {{input: [6, 5, 3], layers: [Flatten, {{Dense: {{units: 4}}}}]}}", name)
        handle.initialize(3)
        handle.export(f"{folder}/p.onnx", True)
        x = rng.integers(0, 256, (5, 6, 5, 3)).astype(np.uint8)
        compare(name, check_file(f"{folder}/p.onnx"), x, outputs_of(handle, x * np.float32(scale)))


def run_cornu(cornu: str, *arguments: str) -> None:
    run = subprocess.run([cornu, *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def tensor(name: str, value) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.asarray(value, np.int64 if np.asarray(value).dtype.kind == "i" else np.float32), name)


def drawn(name: str, *shape: int) -> onnx.TensorProto:
    return tensor(name, rng.uniform(-0.5, 0.5, shape))


def others_graphs() -> list[tuple]:
    """(name, input shape, nodes, constants) in the style of other programs: channels first, or as opset 13 had them."""
    node = onnx.helper.make_node
    torch = [node("Conv", ["x", "k", "b"], ["1"], pads=[1, 1, 1, 1], strides=[1, 1], dilations=[1, 1], group=1, kernel_shape=[3, 3]),
             node("BatchNormalization", ["1", "g", "h", "m", "v"], ["2"]), node("Relu", ["2"], ["3"]),
             node("MaxPool", ["3"], ["4"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["4", "k2"], ["5"], pads=[2, 1, 2, 1], strides=[2, 2], kernel_shape=[3, 3]),
             node("Add", ["5", "b2"], ["6"]), node("Sigmoid", ["6"], ["s"]), node("Mul", ["6", "s"], ["7"]),
             node("Flatten", ["7"], ["8"]), node("BatchNormalization", ["8", "g3", "h3", "m3", "v3"], ["9"]),
             node("Gemm", ["9", "w", "c"], ["10"], transB=1), node("Div", ["10", "root"], ["11"]), node("Erf", ["11"], ["12"]),
             node("Add", ["12", "one"], ["13"]), node("Mul", ["10", "13"], ["14"]), node("Mul", ["14", "half"], ["15"]),
             node("MatMul", ["15", "w2"], ["16"]), node("Add", ["c2", "16"], ["17"]), node("Softmax", ["17"], ["y"], axis=1)]
    constants = [drawn("k", 4, 3, 3, 3), drawn("b", 4), drawn("g", 4), drawn("h", 4), drawn("m", 4), tensor("v", [0.5, 1, 2, 1.5]),
                 drawn("k2", 6, 4, 3, 3), drawn("g3", 36), drawn("h3", 36), drawn("m3", 36), tensor("v3", np.linspace(0.5, 2, 36)),
                 drawn("w", 7, 36), drawn("c", 7), tensor("root", np.float32(2 ** 0.5)), tensor("one", np.float32(1)),
                 tensor("half", np.float32(0.5)), drawn("w2", 7, 5), drawn("c2", 5), drawn("b2", 1, 6, 1, 1)]
    without = [copy.deepcopy(n) for n in torch if n.output[0] != "6"]
    for n in without:  # the second convolution has no bias
        n.input[:] = ["5" if i == "6" else i for i in n.input]
    pooled = [node("Conv", ["x", "k"], ["1"], auto_pad="SAME_UPPER", strides=[2, 2]), node("LeakyRelu", ["1"], ["2"], alpha=0.3),
              node("AveragePool", ["2"], ["3"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
              node("ReduceMean", ["3"], ["4"], axes=[2, 3], keepdims=0), node("Sub", ["4", "half"], ["5"]),
              node("Gemm", ["5", "w3", "c2"], ["y"])]
    squeezed = [node("Pad", ["x", "p"], ["1"]), node("Conv", ["1", "k"], ["2"], group=1),
                node("GlobalAveragePool", ["2"], ["3"]), node("Squeeze", ["3", "axes"], ["4"]), node("Elu", ["4"], ["y"], alpha=0.5)]
    branches = [node("Relu", ["x"], ["1"]), node("Tanh", ["1"], ["2"]), node("Add", ["1", "2"], ["3"], name="join"),
                node("Conv", ["3", "k"], ["4"], pads=[1, 1, 1, 1]), node("Conv", ["4", "k4"], ["5"], pads=[1, 1, 1, 1]),
                node("Sum", ["4", "5", "5"], ["6"]), node("Mean", ["6", "5"], ["7"]), node("GlobalAveragePool", ["7"], ["8"]),
                node("Flatten", ["8"], ["9"]), node("Gemm", ["9", "w3", "c2"], ["y"])]
    more = constants + [drawn("w3", 4, 5), drawn("k4", 4, 4, 3, 3), tensor("p", [0, 0, 1, 2, 0, 0, 3, 0]), tensor("axes", [2, 3])]
    return [("channels first, as torch has it", (3, 6, 8), without, more), ("Conv, then Add", (3, 6, 8), torch, more),
            ("pooled and averaged", (3, 7, 6), pooled, more), ("padded and squeezed", (3, 7, 6), squeezed, more),
            ("two branches", (3, 7, 6), branches, more)] + recurrent_graphs()


def recurrent_graphs() -> list[tuple]:
    """Recurrent operators on sequences (batch, steps, features), as PyTorch and TensorFlow's converter have them."""
    node = onnx.helper.make_node
    torch = [node("Transpose", ["x"], ["1"], perm=[1, 0, 2]),
             node("LSTM", ["1", "w", "r", "b", "", "zeros", "zeros"], ["2", "3", "4"], hidden_size=3, direction="bidirectional"),
             node("Transpose", ["2"], ["5"], perm=[0, 2, 1, 3]), node("Reshape", ["5", "flat"], ["6"]),
             node("LSTM", ["6", "w2", "r2", "b2"], ["7", "8", "9"], hidden_size=2), node("Squeeze", ["7", "one"], ["10"]),
             node("Transpose", ["10"], ["11"], perm=[1, 0, 2]), node("Squeeze", ["9", "zero"], ["12"]), node("Flatten", ["11"], ["13"]),
             node("Concat", ["13", "12"], ["y"], axis=1)]
    last = [node("Transpose", ["x"], ["1"], perm=[1, 0, 2]),
            node("GRU", ["1", "gw", "gr", "gb"], ["2", "3"], hidden_size=2, linear_before_reset=1, direction="reverse",
                 activations=["HardSigmoid", "LeakyRelu"], activation_alpha=[1 / 6, 0.3], activation_beta=[0.5]),
            node("Relu", ["2"], ["4"]), node("Squeeze", ["4", "one"], ["5"]),
            node("RNN", ["5", "nw", "nr"], ["6", "7"], hidden_size=3, direction="reverse", activations=["Elu"]),
            node("RNN", ["5", "nw", "nr"], ["8", "9"], hidden_size=3, direction="forward"),
            node("Squeeze", ["7", "zero"], ["10"]), node("Squeeze", ["9", "zero"], ["11"]), node("Sub", ["10", "11"], ["y"])]
    states = [node("Transpose", ["x"], ["1"], perm=[1, 0, 2]), node("GRU", ["1", "gw", "gr", "gb"], ["2", "3"], hidden_size=2),
              node("GRU", ["1", "gw", "gr", "gb", "", "3"], ["", "4"], hidden_size=2, linear_before_reset=1),
              node("Squeeze", ["4", "zero"], ["y"])]
    constants = [drawn("w", 2, 12, 4), drawn("r", 2, 12, 3), drawn("b", 2, 24), tensor("zeros", np.zeros((2, 3, 3), np.float32)),
                 tensor("flat", [0, 0, -1]), drawn("w2", 1, 8, 6), drawn("r2", 1, 8, 2), drawn("b2", 1, 16), tensor("one", [1]),
                 tensor("zero", [0]), drawn("gw", 1, 6, 4), drawn("gr", 1, 6, 2), drawn("gb", 1, 12), drawn("nw", 1, 3, 2),
                 drawn("nr", 1, 3, 3)]
    return [("LSTM of both directions, then another", (5, 4), torch, constants), ("GRU backwards, then RNN", (5, 4), last, constants),
            ("GRU from a state", (5, 4), states, constants)]


def compare_reading(folder: str) -> None:
    """Graphs of others: cornu computes what onnxruntime does."""
    for name, shape, nodes, constants in others_graphs():
        used = {i for n in nodes for i in n.input}
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, ["n", *shape])], [value("y", 1, ["n", "outputs"])],
                                       [c for c in constants if c.name in used])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        path = f"{folder}/o.onnx"
        onnx.save(model, path)
        session = check_other(path)
        x = rng.uniform(-1, 1, (3, *shape)).astype(np.float32)
        expected = session.run(None, {"x": x})[0]
        handle = _cornu.open(path)
        found = outputs_of(handle, np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x)
        worst[name] = float(np.abs(found - expected).max() / np.abs(expected).max())


def check_other(path: str) -> onnxruntime.InferenceSession:
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def compare_program(cornu: str, folder: str) -> None:
    """The command, on what it trained itself, standardized by its training samples' mean and deviation."""
    x = rng.integers(0, 256, (20, 6, 5, 3)).astype(np.uint8)
    y = rng.integers(0, 3, 20)
    np.savez(f"{folder}/d.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    with open(f"{folder}/r.yaml", "w") as file:
        file.write("data: {file: d.npz, augment: {samplewise_center: true, featurewise_std_normalization: true}}\n"
                   "model: {input: [6, 5, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3}}, Flatten, {Dense: {units: 3}}]}\n"
                   "compile: {optimizer: sgd, loss: mse}\n")
    run_cornu(cornu, "train", f"{folder}/r.yaml", "--save", f"{folder}/m.safetensors", "--quiet")
    run_cornu(cornu, "convert", f"{folder}/m.safetensors", f"{folder}/c.onnx", "--preprocess")
    expected = outputs_of(_cornu.open(f"{folder}/m.safetensors"), x / np.float32(255))
    compare("the program, bytes", check_file(f"{folder}/c.onnx"), x, expected)
    run_cornu(cornu, "convert", f"{folder}/m.safetensors", f"{folder}/c.onnx")
    metadata = check_file(f"{folder}/c.onnx").get_modelmeta().custom_metadata_map
    assert np.isclose(float(metadata["pixel_scale"]), 1 / 255), metadata


def compare_face(folder: str) -> None:
    """model.export, as Keras has it, within a callback of fit."""
    x = rng.uniform(0, 1, (20, 8, 8, 1)).astype(np.float32)
    model = keras.Sequential([keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("sgd", "mse")

    class Export(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.export(f"{folder}/{epoch}.onnx", format="onnx", verbose=False)
            compare(f"epoch {epoch}", check_file(f"{folder}/{epoch}.onnx"), x, self.model.predict(x, verbose=0))

    model.fit(x, np.zeros((20, 3), np.float32), epochs=2, verbose=0, callbacks=[Export()])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cornu", default=f"{ROOT}/build/release/cornu")
    cornu = parser.parse_args().cornu
    with tempfile.TemporaryDirectory() as folder:
        compare_layers(folder)
        compare_workloads(folder)
        compare_preprocessing(folder)
        compare_program(cornu, folder)
        compare_face(folder)
        compare_reading(folder)
    bad = {name: apart for name, apart in worst.items() if not apart <= MOST}
    for name, apart in sorted(worst.items(), key=lambda row: -row[1])[:5]:
        print(f"{apart:.1e}  {name}")
    for name, apart in bad.items():
        print(f"{name}: {apart:.2e} apart; expected at most {MOST}")
    print(f"{len(worst)} networks, {len(bad)} too far apart; onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}")
    sys.exit(1 if bad else 0)


main()

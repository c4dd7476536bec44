#!/usr/bin/env python3
"""The table of layers in docs/README.md: what runs each on every device, and which files hold it.

usage: layers_table.py PROGRAM [--write]

Asks the program itself: for the names of its layers, `explain` of a network with one of them, and `convert` to each kind
of file and back. A layer without a row in LAYERS is an error. Devices that are not there keep the columns that the
document has. --write puts the table into the document; without it a difference is an error.
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "README.md"
BEGIN, END = "<!-- layers: scripts/layers_table.py -->", "<!-- end of layers -->"
# A sample's shape and the layer's options. What has no operation of its own leaves the columns of devices empty.
MERGED = ("[8, 8, 4]", "{inputs: [before, before]}")
FUNCTION = ("[8, 8, 4]", "{}")
LAYERS = {
    "Absolute": FUNCTION,
    "Activation": ("[8, 8, 4]", "{activation: tanh}"),
    "ActivityRegularization": ("[8, 8, 4]", "{l2: 0.01}"),
    "AdaptiveAveragePooling1D": ("[8, 4]", "{output_size: 3}"),
    "AdaptiveAveragePooling2D": ("[8, 8, 4]", "{output_size: [4, 3]}"),
    "AdaptiveMaxPooling1D": ("[8, 4]", "{output_size: 3}"),
    "AdaptiveMaxPooling2D": ("[8, 8, 4]", "{output_size: [4, 3]}"),
    "Add": MERGED,
    "AdditiveAttention": ("[8, 4]", "{inputs: [before, before]}"),
    "Attention": ("[8, 4]", "{inputs: [before, before]}"),
    "Average": MERGED,
    "AveragePooling1D": ("[8, 4]", "{}"),
    "AveragePooling2D": ("[8, 8, 4]", "{}"),
    "BatchNormalization": ("[8, 8, 4]", "{}"),
    "Bidirectional": ("[8, 4]", "{layer: {LSTM: {units: 4}}}"),
    "Concatenate": MERGED,
    "Conv1D": ("[8, 4]", "{filters: 4, kernel_size: 3}"),
    "Conv1DTranspose": ("[8, 4]", "{filters: 4, kernel_size: 3, strides: 2}"),
    "Conv2D": ("[8, 8, 4]", "{filters: 4, kernel_size: 3}"),
    "Conv2DTranspose": ("[8, 8, 4]", "{filters: 4, kernel_size: 3, strides: 2}"),
    "Cropping1D": ("[8, 4]", "{}"),
    "Cropping2D": ("[8, 8, 4]", "{cropping: 1}"),
    "Dense": ("[12]", "{units: 4}"),
    "DepthwiseConv1D": ("[8, 4]", "{kernel_size: 3}"),
    "DepthwiseConv2D": ("[8, 8, 4]", "{kernel_size: 3}"),
    "Divide": MERGED,
    "Discretization": ("[8, 4]", "{bin_boundaries: [-0.5, 0.5]}"),
    "Dot": ("[12]", "{axes: 1, inputs: [before, before]}"),
    "Dropout": ("[8, 8, 4]", "{rate: 0.5}"),
    "AlphaDropout": ("[8, 8, 4]", "{rate: 0.5}"),
    "GaussianDropout": ("[8, 8, 4]", "{rate: 0.5}"),
    "GaussianNoise": ("[8, 8, 4]", "{stddev: 0.5}"),
    "SpatialDropout1D": ("[8, 4]", "{rate: 0.5}"),
    "SpatialDropout2D": ("[8, 8, 4]", "{rate: 0.5}"),
    "ELU": ("[8, 8, 4]", "{}"),
    "EinsumDense": ("[8, 4]", "{equation: 'abc,cd->abd', output_shape: [null, 4]}"),
    "Embedding": ("[8]", "{input_dim: 10, output_dim: 4}"),
    "Exp": FUNCTION,
    "Flatten": ("[8, 8, 4]", "{}"),
    "GRU": ("[8, 4]", "{units: 4}"),
    "GRUCell": None,
    "GlobalAveragePooling1D": ("[8, 4]", "{}"),
    "GlobalAveragePooling2D": ("[8, 8, 4]", "{}"),
    "GlobalMaxPooling1D": ("[8, 4]", "{}"),
    "GlobalMaxPooling2D": ("[8, 8, 4]", "{}"),
    "GroupNormalization": ("[8, 8, 4]", "{groups: 2}"),
    "Identity": ("[8, 8, 4]", "{}"),
    "InputLayer": None,
    "LSTM": ("[8, 4]", "{units: 4}"),
    "LSTMCell": None,
    "LayerNormalization": ("[12]", "{}"),
    "LeakyReLU": ("[8, 8, 4]", "{}"),
    "Log": FUNCTION,
    "LogSoftmax": FUNCTION,
    "MaxPooling1D": ("[8, 4]", "{}"),
    "MaxPooling2D": ("[8, 8, 4]", "{}"),
    "Maximum": MERGED,
    "Minimum": MERGED,
    "MultiHeadAttention": ("[8, 4]", "{num_heads: 2, key_dim: 3, inputs: [before, before]}"),
    "Multiply": MERGED,
    "Normalization": ("[8, 8, 4]", "{}"),
    "PReLU": ("[8, 8, 4]", "{shared_axes: [1, 2]}"),
    "Permute": ("[8, 8, 4]", "{dims: [3, 1, 2]}"),
    "RMSNormalization": ("[12]", "{}"),
    "RNN": ("[8, 4]", "{cell: {LSTMCell: {units: 4}}}"),
    "RandomBrightness": ("[8, 8, 4]", "{factor: 0.2}"),
    "AutoContrast": ("[8, 8, 4]", "{}"),
    "RandomColorDegeneration": ("[8, 8, 3]", "{factor: 0.2}"),
    "RandomColorJitter": ("[8, 8, 3]", "{brightness_factor: 0.2, hue_factor: 0.2}"),
    "RandomErasing": ("[8, 8, 4]", "{}"),
    "RandomGrayscale": ("[8, 8, 3]", "{}"),
    "RandomHue": ("[8, 8, 3]", "{factor: 0.2}"),
    "RandomInvert": ("[8, 8, 4]", "{}"),
    "RandomPosterization": ("[8, 8, 4]", "{factor: 4}"),
    "RandomSaturation": ("[8, 8, 3]", "{factor: 0.2}"),
    "RandomSharpness": ("[8, 8, 4]", "{factor: 0.2}"),
    "Solarization": ("[8, 8, 4]", "{}"),
    "RandomContrast": ("[8, 8, 4]", "{factor: 0.2}"),
    "RandomCrop": ("[8, 8, 4]", "{height: 6, width: 5}"),
    "RandomFlip": ("[8, 8, 4]", "{}"),
    "RandomRotation": ("[8, 8, 4]", "{factor: 0.2}"),
    "RandomShear": ("[8, 8, 4]", "{x_factor: 0.2}"),
    "Resizing": ("[8, 8, 4]", "{height: 6, width: 5}"),
    "CategoryEncoding": ("[12]", "{num_tokens: 4}"),
    "CenterCrop": ("[8, 8, 4]", "{height: 6, width: 5}"),
    "RandomTranslation": ("[8, 8, 4]", "{height_factor: 0.2, width_factor: 0.2}"),
    "RandomZoom": ("[8, 8, 4]", "{height_factor: 0.2}"),
    "ReLU": ("[8, 8, 4]", "{}"),
    "Reciprocal": FUNCTION,
    "RepeatVector": ("[12]", "{n: 3}"),
    "Rescaling": ("[8, 8, 4]", "{scale: 0.5}"),
    "Reshape": ("[8, 8, 4]", "{target_shape: [256]}"),
    "Rsqrt": FUNCTION,
    "SeparableConv1D": ("[8, 4]", "{filters: 4, kernel_size: 3}"),
    "SeparableConv2D": ("[8, 8, 4]", "{filters: 4, kernel_size: 3}"),
    "SimpleRNN": ("[8, 4]", "{units: 4}"),
    "SimpleRNNCell": None,
    "SpectralNormalization": ("[8, 8, 4]", "{layer: {Conv2D: {filters: 4, kernel_size: 3}}}"),
    "StackedRNNCells": None,
    "Softmax": ("[12]", "{}"),
    "Sqrt": FUNCTION,
    "Square": FUNCTION,
    "Subtract": MERGED,
    "TimeDistributed": ("[8, 4]", "{layer: {Dense: {units: 4}}}"),
    "TrueDivide": MERGED,
    "UnitNormalization": ("[12]", "{}"),
    "UpSampling1D": ("[8, 4]", "{}"),
    "UpSampling2D": ("[8, 8, 4]", "{}"),
    "ZeroPadding1D": ("[8, 4]", "{}"),
    "ZeroPadding2D": ("[8, 8, 4]", "{padding: 1}"),
    "Celu": FUNCTION,
    "Gelu": FUNCTION,
    "Glu": FUNCTION,
    "HardShrink": FUNCTION,
    "SoftShrink": FUNCTION,
    "Sparsemax": FUNCTION,
    "Squareplus": FUNCTION,
    "Threshold": ("[8, 8, 4]", "{threshold: 0.5, default_value: 1}"),
    "Equal": MERGED,
    "Greater": MERGED,
    "GreaterEqual": MERGED,
    "Less": MERGED,
    "LessEqual": MERGED,
    "NotEqual": MERGED,
    "Where": ("[8, 8, 4]", "{x2: 0, inputs: [before, before]}"),
    "Clip": ("[8, 8, 4]", "{x_min: -1, x_max: 1}"),
    "GetItem": ("[8, 8, 4]", "{key: ':, 1:7:2, ..., 0'}"),
    "Matmul": ("[4, 4, 4]", MERGED[1]),
    "Max": ("[8, 8, 4]", "{axis: [1, 2]}"),
    "Mean": ("[8, 8, 4]", "{axis: [1, 2]}"),
    "Min": ("[8, 8, 4]", "{axis: 1}"),
    "Pad": ("[8, 8, 4]", "{pad_width: [[0, 0], [1, 1], [0, 2], [0, 0]]}"),
    "Stack": ("[12]", "{axis: 1, inputs: [before, before]}"),
    "Sum": ("[8, 8, 4]", "{axis: 3}"),
    "Transpose": ("[8, 8, 4]", "{axes: [0, 3, 1, 2]}"),
}
DEVICES = ["cpu", "cuda", "opencl"]
FILES = {".safetensors": "cornu", ".keras": ".keras", ".h5": ".h5", ".onnx": ".onnx"}


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def names_of(program, folder):
    """A layer that is not there is answered with those that are."""
    recipe = recipe_of(folder, "Unknown", "[4]", "{}")
    said = run(program, "summary", recipe).stderr
    found = re.search(r"cornu has ([A-Za-z0-9, ]+)", said)
    if not found:
        sys.exit(f"layers_table.py: {program} names no layers: {said}")
    return [name.strip() for name in found[1].split(",")]


def recipe_of(folder, name, shape, options):
    """The layer behind one with weights, so that gradients go through it, and before another."""
    channels = re.findall(r"\d+", shape)[-1]
    images = ("{Dense: {name: before, units: 12}}", f"{{Conv1D: {{name: before, filters: {channels}, kernel_size: 1}}}}",
              f"{{Conv2D: {{name: before, filters: {channels}, kernel_size: 1}}}}")
    first = images[shape.count(",")]
    path = folder / "net.yaml"
    path.write_text(f"model: {{input: {shape}, layers: [{first}, {{{name}: {options}}}, {{Flatten: {{name: behind}}}}, "
                    "{Dense: {name: last, units: 3}}]}\n"
                    "compile: {optimizer: sgd, loss: mean_squared_error}\n")
    return str(path)


def operations_on(program, recipe, device):
    """{operation: kernel} of the layer under test, None where the device is not there."""
    done = run(program, "explain", recipe, "--device", device)
    if done.returncode:
        if "not available" in done.stderr or "no device" in done.stderr or "not found" in done.stderr:
            return None
        return done.stderr.strip()
    kernels = {}
    for line in done.stdout.splitlines():
        row = re.match(r"\s*\d+\s+(\w+)\s+(\S+)\s+.*?\s((?:cpu|reference|cuda|opencl)/\S+|with \d+)", line)
        if row and row[2].split("/")[0] not in ("before", "behind", "last", "input_layer", "mean_squared_error"):
            kernels[row[1]] = row[3]
    return kernels


def cell(kernels):
    """own: kernels of the device alone; plain C: the reference's; the reason where it is refused."""
    if isinstance(kernels, str):
        return "no"
    if not kernels:
        return "none"
    plain = [name for name, kernel in kernels.items() if kernel.startswith("reference/")]
    return "plain C" if plain else "yes"


def samples_of(folder, shape):
    """Four samples of zeros, as an .npz file: NumPy may be absent."""
    path = folder / "samples.npz"
    sizes = {"x_train": [4, *map(int, re.findall(r"\d+", shape))], "y_train": [4, 3]}
    with zipfile.ZipFile(path, "w") as archive:
        for name in sizes:
            count = 1
            for size in sizes[name]:
                count *= size
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(sizes[name])}, }}".ljust(117) + "\n"
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() +
                             bytes(4 * count))
    return str(path)


def trained_model(program, folder, recipe, data):
    """cornu's own file of a model after a step."""
    model = folder / "m.safetensors"
    trained = run(program, "train", recipe, "--data", data, "--steps", "1", "--epochs", "1", "--batch", "2",
                  "--quiet", "--save", str(model))
    if trained.returncode:
        sys.exit(f"layers_table.py: {recipe} does not train: {trained.stderr}")
    return model


def saved_and_read(program, folder, model, ending):
    """Written, and read back where that kind of file is read."""
    there, back = folder / f"x{ending}", folder / "back.safetensors"
    if ending != ".safetensors" and run(program, "convert", str(model), str(there)).returncode:
        return "no"
    if ending != ".safetensors" and run(program, "convert", str(there), str(back)).returncode:
        return "written"
    return "yes"


def table(program, before):
    kept = {row[0]: row for row in ([c.strip() for c in line.strip("|").split("|")] for line in before) if len(row) > 3}
    lines = ["| layer | " + " | ".join(DEVICES + list(FILES.values())) + " |", "|---" * (1 + len(DEVICES) + len(FILES)) + "|"]
    absent = set()
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        for name in names_of(program, folder):
            if name not in LAYERS:
                sys.exit(f"layers_table.py: {name} has no row in LAYERS")
            if LAYERS[name] is None:
                continue
            recipe = recipe_of(folder, name, *LAYERS[name])
            cells = []
            for column, device in enumerate(DEVICES):
                found = operations_on(program, recipe, device if device == "cpu" else device + ":0")
                if found is None:
                    absent.add(device)
                    old = kept.get(f"`{name}`")
                    cells.append(old[1 + column] if old else "?")
                else:
                    cells.append(cell(found))
            model = trained_model(program, folder, recipe, samples_of(folder, LAYERS[name][0]))
            cells += [saved_and_read(program, folder, model, ending) for ending in FILES]
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines, absent


def main():
    program, write = sys.argv[1], "--write" in sys.argv[2:]
    text = DOCUMENT.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"layers_table.py: {DOCUMENT}: found no place for the table; expected {BEGIN} and {END}")
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    lines, absent = table(program, old.strip().splitlines())
    for device in sorted(absent):
        print(f"{device} is not here: its column is not checked")
    new = "\n" + "\n".join(lines) + "\n"
    if write:
        DOCUMENT.write_text(head + BEGIN + new + END + tail)
    elif new != old:
        for line in [line for line in new.splitlines() if line not in old]:
            print("found   ", line)
        sys.exit(f"{DOCUMENT}: the table of layers is not what the program says; scripts/layers_table.py {program} --write")


if __name__ == "__main__":
    main()

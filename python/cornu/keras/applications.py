"""keras.applications: networks by their names, as the library describes them. Weights come from files: a path, or "imagenet",
those that Keras has downloaded."""
import inspect
import json
import os
from typing import Any, Callable

import numpy as np

from .. import _cornu
from .._missing import missing
from .._modules import submodule
from .._tables import TABLES, Option, describe, only
from . import _keras_names, activations
from ._functional import tensors_of_config
from ._names import automatic_name
from ._tensors import KerasTensor, is_symbolic
from .layers import concatenate
from .models import Functional, Model, _operation_of, _with_own_operations

CLASS_INDEX = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"


# ---- Keras's cache


def _cached(address: str, what: str) -> str:
    """The file of this address among those that Keras has downloaded."""
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    path = os.path.join(home, "models", address.rsplit("/", 1)[1])
    if not os.path.exists(path):
        raise FileNotFoundError(f"{what}: found no {path}; expected the file {address} there, as Keras downloads it")
    return path


# ---- networks


def _inputs_of(tensor: KerasTensor) -> list[KerasTensor]:
    """The inputs that lead to a tensor."""
    found: dict = {}
    waiting, seen = [tensor], set()
    while waiting:
        node = waiting.pop().node
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.is_input:
            found.update({id(t): t for t in node.output_tensors})
        waiting += node.input_tensors
    return list(found.values())


def _plain_options(given: dict) -> dict:
    """As the library takes them."""
    options = dict(given)
    if callable(options.get("classifier_activation")):
        options["classifier_activation"] = activations.serialize(options["classifier_activation"])
    if options.get("input_shape") is not None:
        options["input_shape"] = [None if n is None else int(n) for n in options["input_shape"]]
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in options.items()}


def _weights_file(name: str, weights, address: str | None) -> str | None:
    if weights is None:
        return None
    if weights == "imagenet":
        if address is None:
            raise ValueError(f"{name}: weights: found 'imagenet'; expected None or the path of a file, as Keras has none of this "
                             f"network")
        return _cached(address, f"{name}: weights")
    path = os.fspath(weights)
    if not os.path.exists(path):
        raise ValueError(f"{name}: weights: found {path!r}; expected None, 'imagenet', or the path of a file that exists")
    return path


def _histories(nodes: list) -> list[list]:
    """What calls read: in tf.keras 2's form, and of operations in Keras 3's."""
    return [history for node in nodes for history in
            ([a["config"]["keras_history"] for a in node["args"] if isinstance(a, dict)] if isinstance(node, dict) else node)]


def _with_names(config: dict, automatic: list[str]) -> dict:
    """The configuration with the next names of layers that Keras numbers across models."""
    stems = {layer["name"]: layer["name"] for layer in config["layers"]}
    for name in automatic:
        stem, _, number = name.rpartition("_")
        stems[name] = automatic_name(stem if number.isdigit() else name)
    for layer in config["layers"]:
        layer["name"] = layer["config"]["name"] = stems[layer["name"]]
        for history in _histories(layer["inbound_nodes"]):
            history[0] = stems.get(history[0], history[0])
    for ends in (config["input_layers"], config["output_layers"]):
        ends[0][0] = stems.get(ends[0][0], ends[0][0])
    return config


def _build(name: str, is_open: bool, options: dict, weights, input_tensor) -> Model:
    if input_tensor is not None and not is_symbolic(input_tensor):
        raise NotImplementedError(f"{name}: input_tensor: found {type(input_tensor).__name__}; expected a tensor of keras.Input or of "
                                  f"a layer")
    if options["input_shape"] is None and input_tensor is not None:
        options["input_shape"] = input_tensor.shape[1:]
    elif options["input_shape"] is None and (is_open or not options["include_top"]):
        options["input_shape"] = (None, None, 3)
    if weights == "imagenet":
        options["weights"] = weights
    made = json.loads(_cornu.application(name, json.dumps(_plain_options(options))))
    path = _weights_file(name, weights, made["weights"])
    automatic = made["automatic"]
    given = {}
    if input_tensor is not None:
        given[automatic.pop(0)] = input_tensor
    config = made["config"]
    config = _with_names(config, automatic)
    inputs, outputs = tensors_of_config(_with_own_operations(config), _operation_of, given)
    begin = _inputs_of(input_tensor) if given else inputs
    model = Functional(inputs=begin if len(begin) > 1 else begin[0], outputs=outputs[0], name=config["name"])
    if path is not None:
        model.load_weights(path)
    return model


class _Call:
    """What all these functions take.

    weights: None, 'imagenet' (Keras's file in its cache), or the path of a file; default 'imagenet'.

    input_tensor: None, or a tensor to begin with."""


def _function(row: dict) -> Callable:
    options = [Option(option) for option in row["options"]]
    for option in options:
        option.default = {"weights": "imagenet", "name": row["model_name"]}.get(option.name, option.default)
    at = [option.name for option in options].index("weights") + 1
    parameters = [option.parameter() for option in options]
    tensor = inspect.Parameter("input_tensor", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    signature = inspect.Signature([*parameters[:at], tensor, *parameters[at:]])

    def function(*args, **kwargs) -> Model:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{row['class_name']}: {error}; it takes {signature}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        return _build(row["class_name"], row["open"], given, given.pop("weights"), given.pop("input_tensor"))

    function.__name__ = function.__qualname__ = row["class_name"]
    function.__signature__ = signature
    function.__doc__ = describe(row, [option for option in options if option.name != "weights"], _Call)
    return function


# ---- pixels and classes

_MEANS = {"caffe": [103.939, 116.779, 123.68], "torch": [0.485, 0.456, 0.406]}
_DEVIATION = [0.229, 0.224, 0.225]


def _preprocess(x, mode: str):
    if not is_symbolic(x):
        x = np.asarray(x)
        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float32)
    numbers = np.float32 if is_symbolic(x) else x.dtype
    if mode == "tf":
        return x / 127.5 - 1.0
    if mode == "torch":
        return (x / 255.0 - np.asarray(_MEANS["torch"], numbers)) / np.asarray(_DEVIATION, numbers)
    reverse = concatenate([x[..., i:i + 1] for i in (2, 1, 0)]) if is_symbolic(x) else x[..., ::-1]
    return reverse - np.asarray(_MEANS["caffe"], numbers)


def _preprocess_input_of(mode: str) -> Callable:
    def preprocess_input(x, data_format=None):
        only("data_format", None, "channels_last").check("preprocess_input", data_format)
        return x if mode == "none" else _preprocess(x, mode)

    preprocess_input.__doc__ = {
        "tf": "Pixels of 0 to 255 as -1 to 1.",
        "torch": "Pixels of 0 to 255 as 0 to 1, less ImageNet's means, divided by its deviations.",
        "caffe": "Pixels of 0 to 255 in the order blue, green, red, less ImageNet's means.",
        "none": "The same pixels: the network itself scales them.",
    }[mode]
    return preprocess_input


def _preprocess_input_by_mode(x, data_format=None, mode="caffe"):
    """Pixels of 0 to 255 as networks of this mode take them: "caffe", "tf" or "torch"."""
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: mode={mode}")
    return _preprocess_input_of(mode)(x, data_format)


_classes: dict[str, list] = {}


def decode_predictions(preds, top=5) -> list[list[tuple[str, str, Any]]]:
    """For each row of ImageNet's 1000 probabilities the `top` classes: (WordNet's id, name, probability). The names are those of
    Keras's file imagenet_class_index.json, in its cache."""
    preds = np.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(f"`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). Received "
                         f"array with shape: {preds.shape}")
    if not _classes:
        with open(_cached(CLASS_INDEX, "decode_predictions"), encoding="utf-8") as file:
            _classes.update(json.load(file))
    return [[(*_classes[str(i)], row[i]) for i in np.argsort(row)[::-1][:top]] for row in preds]


# ---- modules

_functions = {row["class_name"]: _function(row) for row in TABLES["applications"]}
_modules: dict[str, dict] = {}
for _row in TABLES["applications"]:
    if _row["module"]:
        _of_module = _modules.setdefault(_row["module"], {"preprocess_input": _preprocess_input_of(_row["preprocessing"])})
        if _row["module"] != "mobilenet_v3":  # as in Keras
            _of_module[_row["class_name"]] = _functions[_row["class_name"]]
_modules["resnet50"] = {"preprocess_input": _modules["resnet"]["preprocess_input"], "ResNet50": _functions["ResNet50"]}
_modules["imagenet_utils"] = {"preprocess_input": _preprocess_input_by_mode}
for _name, _names in _modules.items():
    globals()[_name] = submodule(f"{__name__}.{_name}", f"keras.applications.{_name}.", decode_predictions=decode_predictions, **_names)
globals().update(_functions)

__all__ = sorted([*_functions, *_modules])
__getattr__ = missing("cornu.keras.applications", __all__, _keras_names.applications)

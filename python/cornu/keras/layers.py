"""keras.layers: a class for each row of the library's table."""
import inspect
import json
from typing import Any

import numpy as np

from .. import _cornu
from .._missing import missing
from .._modules import submodule
from .._tables import KWARGS, TABLES, Configured, Option, check_dtype, deserializer, get, make_classes, only, options_of, plain
from . import _discretization, _eager, _keras_names, activations, constraints, initializers, regularizers
from ._names import automatic_name, snake_case
from ._normalization import adapt, statistic
from ._own_layers import OwnLayer, network_of
from ._tensors import KerasTensor, Node, call, is_symbolic
from ._tf2 import takes
from .initializers import draw_seed

class Alone:
    """The library's model of one layer alone. Its weights are drawn when one is asked for."""

    def __init__(self, handle, seed: int):
        self.handle, self.seed, self.drawn = handle, seed, False

    def _drawn(self):
        if not self.drawn:
            self.handle.initialize(self.seed)
            self.drawn = True
        return self.handle

    def get_weight(self, index: int, out) -> None:
        """As the library's model has it."""
        self._drawn().get_weight(index, out)

    def set_weight(self, index: int, array) -> None:
        """As the library's model has it."""
        self._drawn().set_weight(index, array)


class Variable:
    """A weight of a built model: numpy(), assign(), and an array wherever one is wanted."""

    def __init__(self, model, index: int, path: str, shape: tuple, trainable: bool, statistic: bool):
        self._model, self._index, self.path, self.shape = model, index, path, shape
        self._trainable, self._statistic = trainable, statistic
        self.name = path.rsplit("/", 1)[-1]
        self.dtype = "float32"

    @property
    def trainable(self) -> bool:
        """Is it changed by training? Moving averages and the like are not, nor weights of a frozen layer."""
        return self._trainable

    @trainable.setter
    def trainable(self, value) -> None:
        if bool(value) != self._trainable:
            raise NotImplementedError(f"{self.path}: trainable={bool(value)} of one weight is not in cornu; its layer's "
                                      f"trainable is that of all its weights")

    def numpy(self) -> np.ndarray:
        """A copy of the weight's values."""
        out = np.empty(self.shape, np.float32)
        self._model.get_weight(self._index, out)
        return out

    def assign(self, value) -> "Variable":
        """Set the weight to an array of its shape."""
        array = np.asarray(value, np.float32, order="C")
        if array.shape != self.shape:
            raise ValueError(f"{self.path}: found shape {array.shape}; expected {self.shape}")
        self._model.set_weight(self._index, array)
        return self

    def _move(self, model, index: int) -> None:
        """Move the layer's weights to that model; values that were never read are drawn there."""
        if not isinstance(self._model, Alone) or self._model.drawn:
            model.set_weight(index, self.numpy())
        self._model, self._index = model, index

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        return f"<Variable path={self.path}, shape={self.shape}, dtype=float32>"


# What every layer of Keras takes besides its own options, and where it may say nothing else.
_NEUTRAL = [only(name, *choices) for name, choices in (
    ("autocast", [True, False, None]), ("activity_regularizer", [None]), ("weights", [None]),
    ("dynamic", [False]), ("batch_size", [None]), ("robust_masking", [False]))]
_SHAPES = ("input_shape", "batch_input_shape", "input_dim")
_ANY_SIZES = (256, 512)  # two that a window of either fits into


def check_trainable(owner: str, value: Any) -> bool:
    """The flag that a layer or model is made with."""
    if not isinstance(value, bool):
        raise ValueError(f"{owner}: Expected `trainable` to be a boolean. Received: trainable={value} (of type {type(value)})")
    return value


class Layer(OwnLayer, Configured):
    """Base of all layers: options by Keras's names, weights once its model is built. Classes of one's own may be derived of it,
    with `call` and, if need be, `build`.

    Besides its own options each layer has name and, if it is the first of a model, input_shape (of a sample), input_dim or
    batch_input_shape, and trainable. dtype is always "float32"."""

    _may_be_own = True
    _is_operation = False  # made by keras.ops or an operator
    _is_called_once = False  # in the library
    _adaptations = 0  # how often adapt() has changed its options

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "_row" not in cls.__dict__ and cls._row is not None:
            raise NotImplementedError(f"{cls.__name__}: a {cls.__bases__[0].__name__} of one's own is not in cornu; it derives layers from "
                                      f"keras.layers.Layer, which may use a {cls.__bases__[0].__name__}")

    def __init__(self, *args, **kwargs):
        owner = type(self).__name__
        own = getattr(type(self), "__signature__", None)
        own = own.parameters if own else {}
        shapes = {key: kwargs.pop(key, None) for key in _SHAPES if key not in own}
        name, dtype = kwargs.pop("name", None), kwargs.pop("dtype", None)
        check_dtype(owner, dtype)
        trainable = check_trainable(owner, kwargs.pop("trainable", True))
        for option in _NEUTRAL:
            if option.name in kwargs and option.name not in own:
                option.check(owner, kwargs.pop(option.name))
        if self._row is None and type(self) is not Layer:
            if args or kwargs:
                raise TypeError(f"{owner}: got an unexpected argument, {next(iter(kwargs), args and args[0])!r}; Layer takes name, trainable "
                                f"and dtype")
            return self._begin_own(owner, name, trainable)
        super().__init__(*args, **kwargs)
        for option in self._options:
            if option.type in _RESOLVE:
                self._config[option.name] = _RESOLVE[option.type](self._config[option.name])
            if option.type == "layer":
                self._config[option.name] = _inner(owner, option.name, self._config[option.name])
        self._finish_options()
        if "pool_size" in self._config and self._config["strides"] is None:
            self._config["strides"] = self._config["pool_size"]
        self._begin(owner, name, _sample_shape(owner, shapes))
        self._trainable = trainable

    def _finish_options(self) -> None:
        """What options mean together."""

    def _inner_layers(self) -> list["Layer"]:
        """The layers that are its options, and those that are theirs."""
        values = [self._config[option.name] for option in self._options if option.type == "layer"]
        direct = [layer for value in values for layer in (value if isinstance(value, list) else [value]) if layer is not None]
        return [inner for layer in direct for inner in (layer, *layer._inner_layers())]

    def _begin(self, owner: str, name: str | None, input_shape: tuple | None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{owner}: name: found {name!r}; expected a string")
        self.name = name or automatic_name(self._row["name"] if self._row else snake_case(owner))
        self._input_shape = input_shape
        self._trainable = True
        self._variables: list[Variable] = []
        self._built_for: list[tuple] | None = None  # the shapes of its inputs
        self._alone: Alone | None = None  # where its weights stand while it is in no model
        self._keeper: Any = None  # a weak reference to the model that was made of it, or trained it, last
        self._trained_by: Any = None
        self._inbound_nodes: list[Node] = []
        self._keywords: dict[str, Any] = {}  # arguments of its calls, which all say the same

    def _keyword_names(self) -> list[str]:
        """The arguments of its calls that the library knows as options."""
        return [o["name"] for o in self._row["options"] if o["argument"]] if self._row and not self._row["operation"] else []

    def _take_keywords(self, **given) -> None:
        """A call with these arguments begins."""
        said = {name: value for name, value in given.items() if value}
        if (self._inbound_nodes or self._built_for) and said != self._keywords:
            raise NotImplementedError(f"layer {self.name}: calls with {said} and {self._keywords} of one layer are not in cornu; expected the "
                                      f"same in all its calls")
        self._keywords = said

    def _settle(self, samples: list[tuple], owner: str) -> list[tuple]:
        """The shape of its output for inputs of these shapes; its weights are made where it has none."""
        if any(None in sample for sample in samples):
            return self._settle_open(samples, owner)
        handle = self._model_for(samples, owner)
        numbered = self._own_weights(handle)
        rows = [row for _, row in numbered]
        if self._built_for is None and not self._variables:
            self._alone = Alone(handle, draw_seed())
            self._take_variables([Variable(self._alone, i, *row) for i, row in numbered])
        needed, own = [row[1] for row in rows], [v.shape for v in self._variables]
        if needed != own:
            raise ValueError(f"{owner}: found inputs of shape {', '.join(map(str, samples))} for layer {self.name}, which would need weights of "
                             f"shapes {needed}; expected inputs for those that it has, {own}")
        self._built_for = samples
        first = handle.shapes()[1]
        return [first, *self._further_shapes(samples, first)]

    def _further_shapes(self, samples: list[tuple], first: tuple) -> list[tuple]:
        """The shapes of the outputs after the first: of the other direction, states, or attention's scores."""
        if self._returns_scores:
            heads = (self._config["num_heads"],) if "num_heads" in self._config else ()
            return [(*heads, samples[0][0], samples[1][0])]
        other = [(*first[:-1], (self._config.get("backward_layer") or self._config["layer"])._units())] if self._is_unmerged else []
        return [*other, *((units,) for units in self._returned_states())]

    def _further_count(self) -> int:
        return self._returns_scores + self._is_unmerged + len(self._returned_states())

    @property
    def _returns_scores(self) -> bool:
        return bool(self._keywords.get("return_attention_scores"))

    @property
    def _is_unmerged(self) -> bool:
        """Is it a Bidirectional whose directions are two outputs?"""
        return self._config.get("merge_mode", "") is None

    def _units(self) -> int:
        """The features of a recurrent layer's steps."""
        cell = self._config.get("cell", self)
        return cell._config["cells"][-1]._units() if "cells" in cell._config else cell._config["units"]

    def _states(self) -> list[int]:
        """The sizes of a recurrent layer's states."""
        if "cell" in self._config:
            return [] if "cells" in self._config["cell"]._config else self._config["cell"]._states()
        if "layer" in self._config:
            forward = self._config["layer"]
            return [*forward._states(), *(self._config.get("backward_layer") or forward)._states()]
        return [self._config["units"]] * (2 if self._row["class_name"].startswith("LSTM") else 1)

    def _returned_states(self) -> list[int]:
        """The sizes of those that are further outputs."""
        said = self._config.get("layer", self) if self._row and self._row["reads_states"] else None
        return self._states() if said is not None and said._config.get("return_state") else []

    def _take_variables(self, variables: list) -> None:
        """Its weights, some of which are those of layers that are its options."""
        self._variables = variables
        for inner in self._inner_layers():
            inner._variables = [v for v in variables if f"/{inner.name}/" in v.path]

    def _own_weights(self, handle) -> list[tuple]:
        """Its weights in a model of it alone, with their numbers; those of stand-ins for what it is called on are none of them."""
        own = f"{self.name}/"
        return [(i, row) for i, row in enumerate(handle.weights()) if not self._may_have_several or row[0].startswith(own)]

    @property
    def _may_have_several(self) -> bool:
        """Inputs, or an input and states."""
        return self._row["merges"] or self._row["reads_states"]

    def _settle_open(self, samples: list[tuple], owner: str) -> list[tuple]:
        """The same where None stands for any size: what differs between two sizes is None in the output, too."""
        told = ", ".join(map(str, samples))
        small, large = ([tuple(size if n is None else n for n in sample) for sample in samples] for size in _ANY_SIZES)
        before = self._built_for
        rows, other = ([row[1] for row in self._model_for(sizes, owner).weights()] for sizes in (small, large))
        if rows != other and not self._row["merges"]:
            raise ValueError(f"{owner}: found inputs of shape {told} for layer {self.name}, whose weights depend on the sizes that are "
                             f"None; expected numbers there")
        first, second = self._settle(small, owner), self._settle(large, owner)
        self._built_for = before or small
        return [tuple(a if a == b else None for a, b in zip(*both)) for both in zip(first, second)]

    def _inputs_by_name(self, inputs: dict, owner: str) -> list:
        raise ValueError(f"{owner}: found a dictionary with {', '.join(map(repr, inputs))}; expected a tensor"
                         f"{', or a list of them' if self._row['merges'] else ''}")

    def _as_outputs(self, outputs: list):
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _is_kept_by(self, model) -> bool:
        """Or by none, as the one that kept it is no more."""
        keeper = self._keeper and self._keeper()
        return keeper is None or keeper is model

    def _model_for(self, samples: list[tuple], owner: str):
        """The library's model of this layer alone."""
        if self._row["merges"] or len(samples) != 1:
            return self._merging_model_for(samples, owner)
        layers = [{"class_name": "InputLayer", "config": {"batch_shape": [None, *samples[0]]}}, self._describe()]
        model = {"class_name": "Sequential", "config": {"name": owner, "layers": layers}}
        return _cornu.parse(json.dumps({"model": model}), owner)

    def _merging_model_for(self, samples: list[tuple], owner: str):
        """The same of a layer of several inputs. Other layers, which are never run, stand in for what it is called on."""
        if not self._may_have_several:
            raise ValueError(f'{owner}: Layer "{self.name}" expects 1 input(s), but it received {len(samples)} input tensors.')
        begin = f"{self.name} input"
        layers = [_called({"class_name": "InputLayer", "config": {"batch_shape": [None, 1], "name": begin}}, [])]
        for number, sample in enumerate(samples):
            dense, shaped = (f"{begin} {number}{end}" for end in (" elements", ""))
            layers += [_called({"class_name": "Dense", "config": {"units": int(np.prod(sample)), "name": dense}}, [begin]),
                       _called({"class_name": "Reshape", "config": {"target_shape": list(sample), "name": shaped}}, [dense])]
        layers.append(_called(self._describe(), [f"{begin} {number}" for number in range(len(samples))]))
        model = {"class_name": "Functional", "config": {"name": owner, "layers": layers, "input_layers": [begin, 0, 0],
                                                        "output_layers": [self.name, 0, 0]}}
        try:
            return _cornu.parse(json.dumps({"model": model}), owner)
        except ValueError as error:  # which names a place among the stand-ins
            told = str(error).rpartition(f"({self._row['class_name']}): ")[2]
            raise ValueError(f"{owner} ({self._row['class_name']}): {told}") from None

    def _owners(self) -> list:
        """The layers that have its weights: itself."""
        return [self]

    def _expand(self, sources: list, listed: bool, calls) -> list:
        name, number, _ = calls.add(self, sources, listed)
        return [(name, number, output) for output in range(1 + self._further_count())]

    def _leave(self) -> None:
        """Its weights stand alone."""
        self._alone, self._keeper = Alone(self._model_for(self._built_for, self.name), draw_seed()), None
        for (index, _), variable in zip(self._own_weights(self._alone.handle), self._variables):
            self._alone.set_weight(index, variable.numpy())
            variable._model, variable._index = self._alone, index

    def __reduce__(self):
        weights = self.get_weights() if self._variables else None
        return _restored, (type(self), self.get_config(), self._built_for if weights else None, weights)

    @property
    def trainable(self) -> bool:
        """Is it trained? False freezes it, from the next compile on: its weights have no gradients, and batch
        normalization uses its moving averages."""
        return self._trainable

    @trainable.setter
    def trainable(self, value) -> None:
        self._trainable = bool(value)
        for variable in self._variables:
            variable._trainable = self._trainable and not variable._statistic

    @property
    def weights(self) -> list[Variable]:
        """All weights, in Keras's order; empty before the model is built."""
        network = self._network if self._row is None else None
        return list(self._variables) if network is None else network.weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes."""
        return [v for v in self.weights if v.trainable]

    variables, trainable_variables = weights, trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """Moving averages and the like."""
        return [v for v in self.weights if not v.trainable]

    non_trainable_variables = non_trainable_weights

    def get_weights(self) -> list[np.ndarray]:
        """Copies of the weights."""
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights) -> None:
        """Set all weights, in the order of get_weights."""
        if len(weights) != len(self.weights):
            raise ValueError(f"layer {self.name}: found {len(weights)} weights; expected {len(self.weights)}")
        for variable, value in zip(self.weights, weights):
            variable.assign(value)

    def count_params(self) -> int:
        """The number of elements of all weights."""
        return sum(int(np.prod(v.shape)) for v in self.weights)

    def get_config(self) -> dict:
        """The constructor's arguments, as JSON values."""
        return {"name": self.name, "trainable": self._trainable, "dtype": "float32", **plain(self._config)}

    @classmethod
    def from_config(cls, config: dict):
        """A layer of get_config's dictionary."""
        config = {k: tuple(v) if k in _SHAPES and isinstance(v, list) else v for k, v in config.items()}
        return super().from_config(config)

    def _describe(self) -> dict:
        """As to_json has it."""
        config = {"name": self.name, "trainable": self._trainable}
        for option in self._options:
            if option.type not in ("ignored", "neutral"):
                config[option.name] = plain(self._config[option.name])
        config |= self._keywords
        return {"class_name": self._row["class_name"], "config": config, **registered(self)}

    def __call__(self, inputs, *args, training=None, mask=None, **kwargs):
        """On tensors: their outputs' tensor. On arrays: outputs, as Model.predict computes them; layers that change images draw,
        and with training=True dropout and noise, too."""
        if self._row and self._row["reads_states"]:
            states, args = self._states_of(inputs, args, kwargs)
        else:
            states = []
        if args or kwargs or mask is not None:
            told = "mask" if mask is not None else next(iter(kwargs), "a second argument")
            raise NotImplementedError(f"layer {self.name}: called with {told} is not in cornu; it takes tensors alone")
        if self._row is None:
            return network_of(self, inputs)(inputs, training=training) if is_symbolic(inputs) else self._on_arrays(inputs)
        if is_symbolic(inputs):
            check_training(self, training)
            return call(self, [inputs, *states] if states else inputs)
        return _eager.on_arrays(self, inputs, training, states)

    def _states_of(self, inputs, args: tuple, kwargs: dict) -> tuple[list, tuple]:
        """The initial_state of a recurrent layer's call, tensors or arrays, and the arguments that are left."""
        if isinstance(inputs, (list, tuple)) and is_symbolic(inputs) and len(inputs) > 1:
            raise ValueError(f'Layer "{self.name}" expects 1 input(s), but it received {len(inputs)} input tensors.')
        given = kwargs.pop("initial_state", None)
        if args and given is None:
            given, args = args[0], args[1:]
        if given is None:
            return [], args
        return list(given) if isinstance(given, (list, tuple)) else [given], args

    def _on_arrays(self, inputs):
        """A layer of one's own, on arrays: by a model of it alone."""
        arrays = [np.asarray(x) for x in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        begin = [KerasTensor((None, *x.shape[1:])) for x in arrays]
        return network_of(self, begin if isinstance(inputs, (list, tuple)) else begin[0])(inputs)

    def _first_node(self, which: str) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined {which}.")
        return self._inbound_nodes[0]

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("input", "output"):  # of its first call, as Keras has it
            node = self._first_node(name)
            tensors = node.output_tensors if name == "output" else node.input_tensors or node.output_tensors
            return tensors[0] if len(tensors) == 1 else list(tensors)
        config = self.__dict__.get("_config", {})
        if name in config:
            return config[name]
        for variable in self.__dict__.get("_variables", []):
            if variable.name == name:
                return variable
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}"
                             + ("" if self.__dict__.get("_variables") else "; its weights are there once it is built"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def check_training(operation, training) -> None:
    """The layers that compute otherwise in training do so in fit alone; training=False changes nothing there in Keras, either."""
    differing = [layer.name for layer in _eager.layers_of(operation) if _eager.differs_in_training(layer)]
    if training and differing:
        raise NotImplementedError(f"{operation.name}: called with training={training!r} is not in cornu: {differing[0]} trains "
                                  f"in fit, and nowhere else; expected a call without it")


def registered(operation) -> dict:
    """The name by which configurations know what keras.ops or an operator made from a layer."""
    return {"registered_name": type(operation).__name__} if getattr(operation, "_is_operation", False) else {}


def _called(layer: dict, sources: list[str]) -> dict:
    """A layer of a Functional model's configuration, with its call."""
    tensors = [{"class_name": "__keras_tensor__", "config": {"keras_history": [source, 0, 0]}} for source in sources]
    nodes = [{"args": [tensors] if len(tensors) > 1 else tensors, "kwargs": {}}] if sources else []
    return {**layer, "name": layer["config"]["name"], "inbound_nodes": nodes}


def _restored(cls: type, config: dict, shapes: list[tuple] | None, weights: list | None):
    """A copy of a layer, from a pickle."""
    layer = cls.from_config(config)
    if weights:
        layer._settle(shapes, layer.name)
        layer.set_weights(weights)
    return layer


def _inner(owner: str, key: str, value: Any):
    """A layer that is an option of another one, or a list of them."""
    if isinstance(value, (list, tuple)):
        return [_inner(owner, key, layer) for layer in value]
    layer = _of_config(value) if isinstance(value, dict) else value
    if layer is not None and not isinstance(layer, Layer) and not hasattr(layer, "layers"):
        raise ValueError(f"Please initialize `{owner}` layer with a `keras.layers.Layer` instance. Received: {key}={value!r}")
    if layer is not None and getattr(layer, "_row", None) is None:
        raise NotImplementedError(f"{owner}: {key}={value!r} is not in cornu; it takes layers of keras.layers, no models and none of one's own")
    return layer


def _activation(value: Any):
    """Its function; a layer or its configuration stays."""
    return value if isinstance(value, (Layer, dict)) else activations.get(value)


def _pair(value: Any):
    """As Keras keeps it: two numbers. What is neither stays for the library to refuse."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return (value, value)
    return tuple(value) if isinstance(value, list) else value


def _single(value: Any):
    """As Keras keeps it: a tuple of one number."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _padding(value: Any):
    """((top, bottom), (left, right)) of a number or two."""
    pair = _pair(value)
    return tuple(map(_pair, pair)) if isinstance(pair, tuple) else pair


_RESOLVE = {"activation": _activation, "initializer": initializers.get, "regularizer": regularizers.get, "constraint": constraints.get,
            "pair": _pair, "single": _single, "padding": _padding}


def _sample_shape(owner: str, given: dict) -> tuple | None:
    """The shape of a sample that input_shape, batch_input_shape or input_dim tells."""
    shape = given.get("input_shape")
    if given.get("batch_input_shape") is not None:
        shape = _without_batch(owner, given["batch_input_shape"])
    if given.get("input_dim") is not None:
        shape = (given["input_dim"],)
    return shape if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def _without_batch(owner: str, shape) -> tuple:
    batch, *sample = shape
    if batch is not None:
        raise NotImplementedError(f"{owner}: a batch of {batch!r} in {tuple(shape)} is not in cornu; it takes None: "
                                  f"fit and predict say the size")
    return tuple(sample)


class InputLayer(Layer):
    """The shape of a sample, without the batch."""

    _row = next(r for r in TABLES["layers"] if r["class_name"] == "InputLayer")
    _options = []

    def __init__(self, shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None,
                 input_tensor=None, optional=False, name=None, input_shape=None, batch_input_shape=None, type_spec=None):
        owner = type(self).__name__
        only("type_spec", None).check(owner, type_spec)
        said = {"sparse": sparse or False, "ragged": ragged or False, "optional": optional}
        for row in self._row["options"]:
            if row["name"] in said:
                Option(row).check(owner, said[row["name"]])
        for name_, value in (("batch_size", batch_size), ("input_tensor", input_tensor)):
            only(name_, None).check(owner, value)
        check_dtype(owner, dtype)
        batch_shape = batch_shape if batch_shape is not None else batch_input_shape
        shape = shape if shape is not None else input_shape
        if shape is None and batch_shape is None:
            raise ValueError("InputLayer: found no shape; expected that of a sample, such as (28, 28, 1)")
        self._config: dict[str, Any] = {}
        batch_shape = batch_shape if shape is None else None
        sample = _sample_shape(owner, {"input_shape": shape, "batch_input_shape": batch_shape})
        if any(n is not None and (not isinstance(n, (int, np.integer)) or n < 1) for n in sample):
            raise ValueError(f"InputLayer: found shape {sample}; expected whole numbers of at least 1, or None")
        self._begin(owner, name, tuple(None if n is None else int(n) for n in sample))
        Node(self, [], [(None, *self._input_shape)], name=name)

    def get_config(self) -> dict:
        return {"batch_shape": (None, *self._input_shape), "dtype": "float32", "sparse": False, "ragged": False,
                "name": self.name}

    @classmethod
    def from_config(cls, config: dict):
        return cls(**{k: v for k, v in config.items() if k != "trainable"})

    def _describe(self) -> dict:
        return {"class_name": "InputLayer", "config": {"batch_shape": [None, *self._input_shape], "name": self.name}}


@takes(type_spec=(None,))
def Input(shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None, name=None, tensor=None,
          optional=False) -> KerasTensor:
    """A tensor of samples of this shape: where a network begins, and the first entry of a Sequential."""
    if isinstance(dtype, str) and name is None and not hasattr(np, dtype):
        dtype, name = None, dtype  # tf.keras 2 has the name in third place
    return InputLayer(shape, batch_size, dtype, sparse, ragged, batch_shape, tensor, optional, name).output


def _own_options(row: dict) -> list[Option]:
    arguments = [o["name"] for o in row["options"] if o["argument"]]  # those of an operation of the same name
    return options_of(row, arguments)


_made = make_classes("layers", Layer, __name__, globals(), _own_options, extra=(KWARGS,),
                     rows=[row for row in TABLES["layers"] if not row["operation"]])
Normalization = globals()["Normalization"]
Normalization.adapt, Normalization.mean, Normalization.variance = adapt, statistic("mean"), statistic("variance")
Discretization, CategoryEncoding = globals()["Discretization"], globals()["CategoryEncoding"]
Discretization.adapt, Discretization._finish_options = _discretization.adapt, _discretization.check_bins
Discretization.from_config, Discretization.__call__ = classmethod(_discretization.from_config), _discretization.call
CategoryEncoding._finish_options, CategoryEncoding.__call__ = _discretization.modern_mode, _discretization.call
_classes = {name: globals()[name] for name in (*_made, "InputLayer")}


def _take_arguments(layer: Layer, use_causal_mask, return_attention_scores, **others) -> None:
    for name, given in others.items():
        if given is not None:
            raise NotImplementedError(f"layer {layer.name}: called with {name} is not in cornu; it takes query, value and key alone")
    layer._take_keywords(use_causal_mask=bool(use_causal_mask), return_attention_scores=bool(return_attention_scores))


def _attend(self, query, value=None, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None,
            return_attention_scores=False, training=None, use_causal_mask=False):
    """On query, value and, if it is not the value, key."""
    _take_arguments(self, use_causal_mask, return_attention_scores, query_mask=query_mask, value_mask=value_mask, key_mask=key_mask,
                    attention_mask=attention_mask)
    if value is None and not isinstance(query, (list, tuple)):
        raise TypeError(f"layer {self.name}: found no value; expected query and value, and key, if it is not the value")
    inputs = query if value is None else [query, value, *([] if key is None else [key])]
    return Layer.__call__(self, inputs, training=training)


def _attend_listed(self, inputs, mask=None, training=None, return_attention_scores=False, use_causal_mask=False):
    """On a list of query, value and, if it is not the value, key."""
    _take_arguments(self, use_causal_mask, return_attention_scores, mask=mask)
    return Layer.__call__(self, inputs, training=training)


_classes["MultiHeadAttention"].__call__ = _attend
_classes["Attention"].__call__ = _classes["AdditiveAttention"].__call__ = _attend_listed


def _renamed(layer: Layer, prefix: str, **options) -> Layer:
    """A copy of a layer, whose name begins so."""
    config = {**layer.get_config(), **options, "name": prefix + layer.name.removeprefix(prefix)}
    return type(layer).from_config(config)


def _both_directions(self) -> None:
    """As in Keras, the layer that it is given is copied, and stays as it is."""
    layer, backward = self._config["layer"], self._config["backward_layer"]
    if layer is None:
        raise ValueError(f"Please initialize `Bidirectional` layer with a `keras.layers.Layer` instance. Received: {layer}")
    if backward is None and "go_backwards" in layer._config:
        self._config["backward_layer"] = _renamed(layer, "backward_", go_backwards=True)
    self._config["layer"] = self.forward_layer = _renamed(layer, "forward_")


def _stack_cells(self) -> None:
    """Several cells are stacked ones."""
    if isinstance(self._config["cell"], list):
        self._config["cell"] = _classes["StackedRNNCells"](self._config["cell"])


def _as_sizes(self) -> None:
    """One size is a shape."""
    if isinstance(self._config["output_shape"], (int, np.integer)):
        self._config["output_shape"] = (int(self._config["output_shape"]),)


_classes["EinsumDense"]._finish_options = _as_sizes
_classes["Bidirectional"]._finish_options = _both_directions
_classes["RNN"]._finish_options = _stack_cells


def _function_of(cls: type) -> Any:
    """Keras's function beside a merging class: a call of a new layer."""

    def merge(inputs, *args, **kwargs):
        if required and not args:
            kwargs.setdefault(required, -1)  # Keras's functions have a default that its classes lack
        return cls(*args, **kwargs)(inputs)

    merge.__name__ = merge.__qualname__ = cls._row["name"]
    merge.__doc__ = f"The tensor of {cls.__name__} on a list of tensors; the other arguments are the layer's."
    *given, others = cls.__signature__.parameters.values()
    required = next((p.name for p in given if p.default is p.empty), None)
    given = [p.replace(default=-1) if p.name == required else p for p in given[:1]]
    inputs = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    merge.__signature__ = inspect.Signature([inputs, *given, others])
    return merge


_ATTENTION = ("AdditiveAttention", "Attention", "MultiHeadAttention")  # of several inputs, and without a function of their own
_functions = {cls._row["name"]: _function_of(cls) for cls in _classes.values()
              if cls._row["merges"] and cls._row["class_name"] not in _ATTENTION}
globals().update(_functions)
__all__ = ["Input", "InputLayer", "Lambda", "Layer", *_made, *_functions, "deserialize", "experimental", "serialize"]


def _of_config(config: dict) -> Layer:
    name = config.get("class_name")
    if name in _on_data:
        return _on_data[name].from_config(config["config"])
    if name in _keras_names.layers and name not in _classes:
        __getattr__(name)
    return get("layer", config, Layer, _classes)


deserialize = deserializer("layer", _of_config)


@takes(use_legacy_format=(False, True))
def serialize(layer: Layer) -> dict:
    """{class_name, config} of a layer."""
    return plain(layer)


class Lambda(Layer):
    """A function of tensors as a layer, written with keras.ops, operators and layers; a model of its name takes its place."""

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        only("mask", None).check("Lambda", mask)
        super().__init__(**kwargs)
        self.function, self.arguments = function, dict(arguments or {})

    def call(self, inputs):
        """What the function gives."""
        return self.function(inputs, **self.arguments)


from ._data_layers import LAYERS as _on_data  # noqa: E402  which apply layers from above

globals().update(_on_data)
__all__ += _on_data
_PREPROCESSING = ("CategoryEncoding", "CenterCrop", "Discretization", "Normalization", "Rescaling", "Resizing")
_preprocessing = {name: cls for name, cls in _classes.items() if _eager.changes_images(name) or name in _PREPROCESSING}
experimental = submodule(
    f"{__name__}.experimental", "keras.layers.experimental, as older scripts call it.",
    preprocessing=submodule(f"{__name__}.experimental.preprocessing", "keras.layers.experimental.preprocessing.",
                            __getattr__=missing(f"{__name__}.experimental.preprocessing", _preprocessing,
                                                _keras_names.layers), **_preprocessing))

__getattr__ = missing("cornu.keras.layers", __all__, _keras_names.layers)

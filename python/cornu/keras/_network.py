"""A network of layers and the library's model of it.

Weights belong to layers: a variable stands in the model of the library that has its newest numbers. Before a layer is
in use that is one of its own; then it is that of the model which was built with it or trained it last, so that
models that share a layer share its weights. The library's model is made when it is first needed."""
import contextlib
import contextvars
import json
import weakref
from typing import Any, Callable, Iterator

import numpy as np

from .. import _cornu
from .._tables import plain
from . import _data
from ._own_losses import with_losses
from ._own_metrics import with_metrics
from ._own_weights import in_keras_order
from .layers import InputLayer, Layer, Variable, draw_seed, registered


# Layers of a configuration by Keras's shared_object_id; None: those of one configuration are different ones, as in
# get_config and from_config.
_shared: contextvars.ContextVar[dict | None] = contextvars.ContextVar("shared", default=None)


@contextlib.contextmanager
def sharing():
    """Within it, a layer that is in several models of one configuration stays one layer."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def config_of(operation) -> dict:
    """A layer, or a model, as a configuration has it. Operations have a registered name there, layers none."""
    shared = _shared.get()
    number = {} if shared is None else {"shared_object_id": shared.setdefault(id(operation), len(shared))}
    return {**plain(operation), **registered(operation), **number}


def operation_of(config: dict, make: Callable[[dict], Any]):
    """The layer or model that config_of described: made, or made before."""
    shared, number = _shared.get(), config.get("shared_object_id")
    if shared is None or number is None:
        return make(config)
    if number not in shared:
        shared[number] = make(config)
    return shared[number]


def _layer_of(weight: str, layers) -> str:
    """The layer, of these, whose weight has this name; a layer within it may have it."""
    last = path = weight.rsplit("/", 1)[0]
    while path not in layers and "/" in path:
        path = path.rsplit("/", 1)[0]
    return path if path in layers else last


def fits(expected: tuple, sample: tuple) -> bool:
    """Is it such a shape? None is any size."""
    return len(expected) == len(sample) and all(e in (None, n) for e, n in zip(expected, sample))


class Calls:
    """The layers of a network with their calls, models within it taken apart."""

    MOST = 1000  # that the library takes

    def __init__(self, owner: str):
        self.owner = owner
        # For each layer: its name, the sources of each call, and were they in a list? The library calls an operation once: its
        # further calls are operations of their own.
        self.of: dict[tuple, tuple[Layer, str, list]] = {}
        self.count = 0

    def add(self, layer: Layer, sources: list, listed: bool) -> tuple:
        """A call of a layer on the outputs of others: [(name, number of its call, of the output), ...]. Returns its first."""
        again = layer._is_called_once and sum(of is layer for of, _, _ in self.of.values())
        name = f"{layer.name}_call_{again + 1}" if again else layer.name
        _, _, calls = self.of.setdefault((id(layer), again), (layer, name, []))
        self.count += 1
        if self.count > self.MOST:
            raise ValueError(f"{self.owner}: found more than {self.MOST} calls of layers, with those of models within it; expected "
                             f"at most that many")
        calls.append((sources, listed))
        return name, len(calls) - 1, 0

    def names(self) -> list[str]:
        """Of the layers, in the order of their first calls."""
        return [name for _, name, _ in self.of.values()]

    def is_chain(self) -> bool:
        """Is each layer called once, on the one before?"""
        before: list = []
        for _, name, calls in self.of.values():
            if len(calls) != 1 or calls[0][0] != before:
                return False
            before = [(name, 0, 0)]
        return True

    def describe(self) -> list[dict]:
        """The layers of a Functional model's configuration."""
        return [{**_renamed(layer._describe(), name), "name": name, "inbound_nodes": [_node(*call) for call in calls if call[0]]}
                for layer, name, calls in self.of.values()]


def _renamed(described: dict, name: str) -> dict:
    return {**described, "config": {**described["config"], "name": name}}


def _node(sources: list, listed: bool) -> dict:
    tensors = [{"class_name": "__keras_tensor__", "config": {"keras_history": list(source)}} for source in sources]
    return {"args": [tensors] if listed else tensors, "kwargs": {}}


def described(operation) -> dict:
    """The configuration of a layer, or of a model in the place of one, as the library takes it."""
    return operation._described() if isinstance(operation, Network) else operation._describe()


class Network:
    """The layers of a model and their calls. Each kind says which layers it has and how they are called."""

    name: str
    _weights_made: list = []  # those of the layer of one's own that it is
    _compiled: dict | None
    _rate: float | None
    _trainable: bool
    _inbound_nodes: list  # calls of the model on tensors

    def _begin_network(self) -> None:
        self._inbound_nodes = []
        self._model = None  # the library's, once it is made
        self._made_of: tuple = ()  # the _version that it was made of
        self._changes = 0
        self._sizes: tuple | None = None  # of samples, where its input leaves some open
        self._told: list[bool] = []  # the flags `trainable` that it knows: the model's, then those of its layers
        self._classes: list[str] = []  # class names of the model before its layers changed
        self._slots: list[tuple[Layer, Variable, int]] = []  # its weights, with their numbers there
        self._paths: dict[Layer, str] = {}  # its layers' names there
        self._inner: dict[Network, str] = {}  # the same of models within it, where they are models there
        # Data sections: the one in force, and that of the last fit, which a file keeps.
        self._section = self._trained_section = _data.Source.section

    def _prepare(self) -> None:
        """Its layers have weights from now on."""

    def _members(self) -> list:
        """Its layers, and models, in Keras's order."""
        raise NotImplementedError

    def _expand(self, sources: list, listed: bool, calls: Calls) -> list:
        """Add the calls of its layers on these sources; returns what its outputs are there."""
        raise NotImplementedError

    def _walk(self, begin: str = "", met: set[int] | None = None) -> Iterator[tuple]:
        """(name, layer or model, was it met before?) of its layers, and models, those of models within it among them, by the
        names that they have where these stay models: MODEL/LAYER. What a model has that was met before does not come again: the
        ways to a layer may be more than anybody can count."""
        met = set() if met is None else met
        for member in self._members():
            again = id(member) in met
            met.add(id(member))
            yield begin + member.name, member, again
            if isinstance(member, Network) and not again:
                yield from member._walk(f"{begin}{member.name}/", met)

    def _owners(self) -> list[Layer]:
        """The layers that have its weights, those of models within it among them, each once."""
        return list(self._paths_in_models())

    def _paths_in_models(self) -> dict[Layer, str]:
        """Its layers, with their names where models within it stay models."""
        return {member: path for path, member, again in self._walk() if not again and not isinstance(member, Network)}

    def _networks(self) -> dict["Network", str]:
        """The models within it, with their names: MODEL, MODEL/MODEL."""
        return {member: path for path, member, again in self._walk() if not again and isinstance(member, Network)}

    @property
    def call_names(self) -> list[str]:
        """By what its inputs are called in dictionaries: their keys there, or the names of their InputLayers."""
        return [tensor._keras_history.operation.name for tensor in self.inputs]

    def _inputs_by_name(self, inputs: dict, owner: str) -> list:
        for name in self.call_names:
            if name not in inputs:
                raise ValueError(f"{owner}: found nothing for the input {name!r}; expected a tensor for each of "
                                 f"{', '.join(self.call_names)}")
        for name in inputs:
            if name not in self.call_names:
                raise ValueError(f"{owner}: found {name!r}; the inputs are {', '.join(self.call_names)}")
        return [inputs[name] for name in self.call_names]

    def _as_outputs(self, outputs: list):
        """Its outputs, tensors or arrays, in the form in which it gives them."""
        return outputs[0] if len(outputs) == 1 else outputs

    def _version(self) -> tuple:
        """Another one after each change of its layers, and of those of models within it, and of options by adapt()."""
        adaptations = sum(inner._adaptations for layer in self._owners() for inner in (layer, *layer._inner_layers()))
        return self._changes, adaptations, *(network._changes for network in self._networks())

    # ---- the library's model

    @property
    def _handle(self):
        """The library's model of the layers, made where there is none; None where they have no shapes yet. What uses its
        weights asks for _to_read or _to_train."""
        if self._model is not None and self._made_of != self._version():
            self._forget()
        if self._model is None and self.built and not self._waits:
            self._make()
        if self._model is not None:
            self._tell_trainable()
        return self._model

    @property
    def _is_open(self) -> bool:
        """Does an input leave sizes open, None? The library's model is made for those of the samples."""
        return any(None in tensor.sample for tensor in self.inputs)

    @property
    def _waits(self) -> bool:
        return self._sizes is None and self._is_open

    def _take_sizes(self, sample: tuple) -> None:
        """Samples have this shape from now on, as far as its input leaves it open."""
        if not self.built or not self._is_open:
            return
        if len(sample) + 1 == self.inputs[0].ndim - 1:
            sample += (1,)  # pictures without an axis of their one channel
        if self._sizes == sample:
            return
        self._want_one_input()
        if not fits(self.inputs[0].sample, sample):
            raise ValueError(f"{self.name}: found samples of shape {sample}; expected {self.inputs[0].sample}")
        if self._sizes is not None and self._has_trained():
            raise NotImplementedError(f"{self.name}: found samples of shape {sample}, and a training on those of {self._sizes}; one "
                                      f"model's samples have one size in cornu, but a model that calls it may have another")
        self._sizes = sample
        self._forget()

    def _has_trained(self) -> bool:
        """Or does it train now? Then the library's model has an optimizer's state, which another would lack."""
        if self._model is None or self._compiled is None:
            return False
        return any(layer._trained_by is not None for layer in self._owners()) or self._model.position()["iterations"] > 0

    def _want_one_input(self) -> None:
        if len(self.inputs) > 1:
            raise NotImplementedError(f"{self.name}: found {len(self.inputs)} inputs, of which sizes are None; a model of several "
                                      f"inputs of any size is in cornu only within other models")

    def _want_sizes(self) -> None:
        if self._waits:
            raise ValueError(f"{self.name}: found an input of shape {self.inputs[0].shape}; expected samples, whose sizes it takes, "
                             f"before this, or a model with sizes that calls it")

    def _with_sizes(self, described: dict) -> dict:
        """Its configuration with the sizes of the samples in its InputLayer."""
        if self._sizes is not None:
            own = next(l for l in described["config"]["layers"] if l["class_name"] == "InputLayer")
            own["config"] = {**own["config"], "batch_shape": [None, *self._sizes]}
        return described

    def _tell_trainable(self) -> None:
        """The library, where flags have changed."""
        now = [self._trainable, *self._flags()]
        if now == self._told:
            return
        if now[0] != self._told[0]:
            self._model.set_trainable(None, now[0])
        for network, path in self._inner.items():
            self._model.set_trainable(path, network._trainable)
        for layer in self._owners():
            self._model.set_trainable(self._paths[layer], layer._trainable)
        self._told = now

    def _flags(self) -> list[bool]:
        for layer in self._owners():
            for inner in layer._inner_layers():
                if layer._trainable and not inner._trainable:
                    raise NotImplementedError(f"{inner.name}.trainable: found False of a layer within {layer.name}; expected it of "
                                              f"{layer.name} itself")
        return [layer._trainable for layer in (*self._inner, *self._owners())]

    @property
    def trainable(self) -> bool:
        """Is it trained? Setting it sets all its layers; the next compile counts."""
        return self._trainable

    @trainable.setter
    def trainable(self, value) -> None:
        for network in (self, *self._networks()):
            network._trainable = bool(value)
        for layer in self._owners():
            layer.trainable = value

    def _inputs_alone(self, calls: Calls) -> list:
        """Its inputs in the library's model, each a source."""
        raise NotImplementedError

    def _described(self) -> dict:
        """Keras's configuration, in which models within it are models."""
        raise NotImplementedError

    def _find_inner(self) -> None:
        """The library, and Keras's files, have a layer, or a model, in one place, and models at most 8 deep. Others are taken
        apart."""
        inner = self._networks()
        twice = any(again and not isinstance(member, InputLayer) for _, member, again in self._walk())
        deepest = max((path.count("/") for path in inner.values()), default=0)
        self._inner = inner if not twice and deepest < 8 else {}

    def _describe(self) -> dict:
        """As the library takes it."""
        self._find_inner()
        if self._inner:
            return self._described()
        calls = Calls(self.name)
        begin = self._inputs_alone(calls)
        ends = [list(source) for source in self._expand(begin, False, calls)]
        names = calls.names()
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{self.name}: found two layers of the name {name} in it and the models within it; expected "
                                 f"names of their own")
        if self._is_line and len(ends) == 1 and calls.is_chain():
            return {"class_name": "Sequential",
                    "config": {"name": self.name, "layers": [layer._describe() for layer, _, _ in calls.of.values()]}}
        inputs = [list(source) for source in begin]
        return {"class_name": "Functional", "config": {
            "name": self.name, "layers": calls.describe(), **self._ends_by_key(inputs, ends)}}

    def _ends_by_key(self, inputs: list, outputs: list) -> dict:
        return {"input_layers": inputs, "output_layers": outputs}

    def _forget(self) -> None:
        """Layers have changed: another model is made when it is needed."""
        if self._model is not None:
            self._classes = self._model.classes()
        self._model, self._slots, self._told = None, [], []
        self._changes += 1

    def _make(self) -> None:
        self._prepare()
        owners = self._owners()
        recipe = {"data": {"scale": 1}, "model": self._with_sizes(self._describe())}
        handle = _cornu.parse(json.dumps(recipe), self.name)
        handle.initialize(next((l._alone.seed for l in reversed(owners) if l._alone), None) or draw_seed())
        if self._compiled:
            handle.compile(json.dumps(self._section_for(handle)))
            rate = self._compiled["optimizer"]["config"].get("learning_rate")
            self._rate = float(rate) if hasattr(rate, "__float__") else None
        self._paths = self._paths_in_models() if self._inner else {layer: layer.name for layer in owners}
        numbers: dict[str, list[int]] = {}
        rows = handle.weights()
        known = set(self._paths.values())
        for index, row in enumerate(rows):
            numbers.setdefault(_layer_of(row[0], known), []).append(index)
        self._slots = [(layer, v, index) for layer in owners
                       for v, index in zip(layer._variables, numbers.get(self._paths[layer], []))]
        for layer, variable, index in self._slots:
            if rows[index][1] != variable.shape:
                raise ValueError(f"{self.name}: found inputs for layer {layer.name} for which its {variable.name} would have shape "
                                 f"{rows[index][1]}; expected those for which it has {variable.shape}")
        self._model, self._made_of = handle, self._version()
        self._told = [True, *self._flags()]
        outputs = handle.shapes()[1][-1]
        if self._classes and len(self._classes) == (outputs if outputs > 1 else 2):  # else they name other outputs
            handle.set_classes(self._classes)
        self._classes = []
        self._section = self._trained_section = _data.Source.section
        self._keep()

    def _take(self, handle, paths: list[str] | None = None) -> None:
        """A model that is there: the layers' variables are its weights, by the layers' names there (`paths`, in the order of
        _owners)."""
        self._find_inner()
        self._paths = own = self._paths_in_models()
        if paths is not None:
            self._paths = dict(zip(own, paths))
        if self._paths != own:
            self._inner = {}
        by_layer: dict[str, list[Variable]] = {}
        known = set(self._paths.values())
        for index, row in enumerate(handle.weights()):
            by_layer.setdefault(_layer_of(row[0], known), []).append(Variable(handle, index, *row))
        for layer, path in self._paths.items():
            layer._take_variables(by_layer.pop(path, []))
        if by_layer:
            raise ValueError(f"{self.name}: found weights of {', '.join(by_layer)}, which are none of its layers; expected those "
                             f"of {', '.join(self._paths.values())}")
        if self.built and self._is_open:
            self._sizes = handle.shapes()[0]
        pairs = [(layer, v) for layer in self._owners() for v in layer._variables]
        self._slots = [(layer, v, v._index) for layer, v in pairs]
        self._model, self._made_of = handle, self._version()
        self._told = [self._trainable, *self._flags()]
        self._keep()

    def _keep(self, all_layers: bool = False) -> None:
        """Weights of layers that no other model has in use, or of all, stand here from now on."""
        kept = {id(layer) for layer in self._owners() if all_layers or layer._is_kept_by(self)}
        for layer, variable, index in self._slots:
            if variable._model is not self._model and id(layer) in kept:
                variable._move(self._model, index)
        for layer in self._owners():
            if id(layer) in kept:
                layer._keeper, layer._alone = weakref.ref(self), None

    def _to_read(self):
        """The library's model with the newest weights of layers that it shares."""
        handle = self._handle
        elsewhere = [slot for slot in self._slots if slot[1]._model is not handle]
        if elsewhere:
            self._keep()
        for _, variable, index in elsewhere:
            if variable._model is not handle:
                handle.set_weight(index, variable.numpy())
        return handle

    def _to_train(self):
        """The same, and from now on it is this model that has the newest weights."""
        for layer in self._owners():
            if layer._trained_by not in (None, self):
                raise RuntimeError(f"{self.name}: found layer {layer.name} in the training of another model; expected "
                                   f"one training of it at a time")
        handle = self._handle
        self._keep(all_layers=True)
        return handle

    def _train_all(self, model) -> None:
        for layer in self._owners():
            layer._trained_by = model

    @property
    def input_shape(self) -> tuple:
        """With None for the batch."""
        return self.inputs[0].shape

    @property
    def output_shape(self) -> tuple:
        """With None for the batch."""
        return self.outputs[0].shape

    # ---- weights

    @property
    def weights(self) -> list[Variable]:
        """The weights of all layers, in order; of a layer of one's own first those that it made itself."""
        found = [v for l in self._owners() for v in l._variables]
        for network in [*reversed(self._networks()), self]:
            own = in_keras_order(network._weights_made)
            if own:
                block = {id(v) for l in network._owners() for v in l._variables}
                places = [i for i, v in enumerate(found) if id(v) in block]
                first = {id(v) for v in own}
                rest = [found[i] for i in places if id(found[i]) not in first]
                for i, v in zip(places, own + rest):
                    found[i] = v
        return found

    variables = weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes by gradients."""
        return [v for v in self.weights if v.trainable] if self._trainable else []

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The others, such as moving means."""
        return [v for v in self.weights if not (v.trainable and self._trainable)]

    def get_weights(self) -> list[np.ndarray]:
        """Copies of all weights, in their order."""
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights) -> None:
        """Replace all weights, in get_weights' order."""
        own = self.weights
        if len(weights) != len(own):
            raise ValueError(f"{self.name}: found {len(weights)} weights; expected {len(own)}")
        for variable, value in zip(own, weights):
            if np.shape(value) != variable.shape:
                raise ValueError(f"{variable.path}: found shape {np.shape(value)}; expected {variable.shape}")
        for variable, value in zip(own, weights):
            variable.assign(value)

    def count_params(self) -> int:
        """The total number of elements of all weights."""
        if not self.built:
            self.build()
        return sum(int(np.prod(v.shape)) for v in self.weights)

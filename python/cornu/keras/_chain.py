"""A chain of layers and the library's model of it.

Weights belong to layers: a variable stands in the model of the library that has its newest numbers. Before a layer is
in use that is one of its own; then it is that of the Sequential which was built with it or trained it last, so that
models that share a layer share its weights. The library's model is made when it is first needed."""
import json
import weakref

import numpy as np

from .. import _cornu
from . import _data
from .layers import InputLayer, Layer, Variable, draw_seed


class Chain:
    """What Sequential is made of."""

    name: str
    _compiled: dict | None
    _rate: float | None

    def __init__(self):
        self._layers: list[Layer] = []
        self._names: set[str] = set()
        self._input: InputLayer | None = None
        self._shapes: list[tuple] = []  # of the outputs of the first layers: of those for which they were asked
        self._model = None  # the library's, once it is made
        self._classes: list[str] = []  # class names of the model before its layers changed
        self._slots: list[tuple[Layer, Variable, int]] = []  # its weights, with their numbers there
        # Data sections: the one in force, and that of the last fit, which a file keeps.
        self._section = self._trained_section = _data.Source.section

    # ---- layers

    def add(self, layer, rebuild=True) -> None:
        """Append a layer. If it has weights, it keeps them, and shares them with the other models that have the layer."""
        if isinstance(layer, InputLayer):
            if self._layers or self._input:
                raise ValueError(f"{self.name}: found an Input after other layers; expected it first")
            self._input = layer
            return
        if not isinstance(layer, Layer):
            raise TypeError(f"{self.name}: found {layer!r}; expected a layer of keras.layers")
        if layer.name in self._names:
            raise ValueError(f"{self.name}: found two layers of the name {layer.name}; expected names of their own")
        given = self._input
        if not self._layers and given is None and layer._input_shape is not None:
            given = InputLayer(layer._input_shape)
        if given:
            before = self._known_shapes()[-1] if self._layers else given._input_shape
            self._shapes.append(layer._settle(before, self.name))
        self._input = given
        self._layers.append(layer)
        self._names.add(layer.name)
        self._forget()

    def pop(self, rebuild=True) -> Layer:
        """Remove the last layer; returns it, with its weights."""
        if not self._layers:
            raise TypeError(f"{self.name}: found no layers to pop")
        shapes = self._known_shapes() if self._input else []
        layer = self._layers.pop()
        self._names.discard(layer.name)
        if shapes:
            shapes.pop()
        if layer._variables and layer._is_kept_by(self):
            layer._leave()
        self._forget()
        self._classes = []  # they were of its outputs
        return layer

    def _known_shapes(self) -> list[tuple]:
        """Of each layer's output; of a model from a file they are found now."""
        shape = self._shapes[-1] if self._shapes else self._input._input_shape
        for layer in self._layers[len(self._shapes):]:
            shape = layer._settle(shape, self.name)
            self._shapes.append(shape)
        return self._shapes

    # ---- the library's model

    @property
    def built(self) -> bool:
        """Does the model have weights?"""
        return self._input is not None and bool(self._layers)

    def build(self, input_shape=None) -> None:
        """Create the weights for samples of input_shape, which begins with the batch (None)."""
        if input_shape is not None:
            sample = tuple(input_shape)[1:]
            if self._input is not None and sample != self._input._input_shape:
                raise ValueError(f"{self.name}: found input_shape {tuple(input_shape)}; expected "
                                 f"{(None, *self._input._input_shape)}, for which it was built before")
            self._begin_with(InputLayer(sample) if self._input is None else self._input)
        if not self.built:
            raise ValueError(f"{self.name}: found no {'input shape' if self._layers else 'layers'}; expected keras.Input, "
                             f"input_shape=, or fit with data")

    def _begin_with(self, given: InputLayer) -> None:
        before, self._input = self._input, given
        try:
            self._known_shapes()
        except BaseException:
            self._input, self._shapes = before, []
            raise

    @property
    def _handle(self):
        """The library's model of the layers, made where there is none; None where they have no shapes yet. What uses its
        weights asks for _to_read or _to_train."""
        if self._model is None and self.built:
            self._make()
        return self._model

    def _describe(self) -> dict:
        layers = [self._input._describe()] if self._input else []
        return {"class_name": "Sequential",
                "config": {"name": self.name, "layers": layers + [l._describe() for l in self._layers]}}

    def _forget(self) -> None:
        """Layers have changed: another model is made when it is needed."""
        if self._model is not None:
            self._classes = self._model.classes()
        self._model, self._slots = None, []

    def _make(self) -> None:
        self._known_shapes()
        recipe = {"data": {"scale": 1}, "model": self._describe()}
        handle = _cornu.parse(json.dumps(recipe), self.name)
        handle.initialize(next((l._alone.seed for l in reversed(self._layers) if l._alone), None) or draw_seed())
        if self._compiled:
            handle.compile(json.dumps(self._compiled))
            rate = self._compiled["optimizer"]["config"].get("learning_rate")
            self._rate = float(rate) if hasattr(rate, "__float__") else None
        pairs = [(layer, v) for layer in self._layers for v in layer._variables]
        self._slots = [(layer, v, index) for index, (layer, v) in enumerate(pairs)]
        self._model = handle
        outputs = self._shapes[-1][-1]
        if self._classes and len(self._classes) == (outputs if outputs > 1 else 2):  # else they name other outputs
            handle.set_classes(self._classes)
        self._classes = []
        self._section = self._trained_section = _data.Source.section
        self._keep()

    def _take(self, handle) -> None:
        """A model that is there: the layers' variables are its weights, by the layers' names."""
        by_layer: dict[str, list[Variable]] = {}
        for index, (path, shape, trainable) in enumerate(handle.weights()):
            variable = Variable(handle, index, path, shape, trainable)
            by_layer.setdefault(path.rsplit("/", 1)[0], []).append(variable)
        for layer in self._layers:
            layer._variables = by_layer.get(layer.name, [])
        pairs = [(layer, v) for layer in self._layers for v in layer._variables]
        self._slots = [(layer, v, v._index) for layer, v in pairs]
        self._model = handle
        self._keep()

    def _keep(self, all_layers: bool = False) -> None:
        """Weights of layers that no other model has in use, or of all, stand here from now on."""
        kept = {id(layer) for layer in self._layers if all_layers or layer._is_kept_by(self)}
        for layer, variable, index in self._slots:
            if variable._model is not self._model and id(layer) in kept:
                variable._move(self._model, index)
        for layer in self._layers:
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
        for layer in self._layers:
            if layer._trained_by not in (None, self):
                raise RuntimeError(f"{self.name}: found layer {layer.name} in the training of another model; expected "
                                   f"one training of it at a time")
        handle = self._handle
        self._keep(all_layers=True)
        return handle

    def _train_all(self, model) -> None:
        for layer in self._layers:
            layer._trained_by = model

    @property
    def input_shape(self) -> tuple:
        """With None for the batch."""
        self.build()
        return (None, *self._handle.shapes()[0])

    @property
    def output_shape(self) -> tuple:
        """With None for the batch."""
        self.build()
        return (None, *self._handle.shapes()[1])

    # ---- weights

    @property
    def weights(self) -> list[Variable]:
        """The weights of all layers, in order."""
        return [v for l in self._layers for v in l._variables]

    variables = weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes by gradients."""
        return [v for v in self.weights if v.trainable]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The others, such as moving means."""
        return [v for v in self.weights if not v.trainable]

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
        self.build()
        return sum(int(np.prod(v.shape)) for v in self.weights)

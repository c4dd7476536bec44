"""A chain of layers."""
from ._names import count_name
from ._network import Calls, Network, described, fits
from ._own_layers import network_of
from ._tensors import KerasTensor, call
from .layers import InputLayer, Layer


class Chain(Network):
    """The layers of a Sequential."""

    _is_line = True

    def _begin_chain(self) -> None:
        self._begin_network()
        self._layers: list = []
        self._names: set[str] = set()
        self._input: InputLayer | None = None
        self._tensors: list[KerasTensor] = []  # outputs of the first layers: of those for which they were asked
        self._tensors_of: list[tuple] = []  # the versions of the models among its layers that gave them

    # ---- layers

    def add(self, layer, rebuild=True) -> None:
        """Append a layer, or a model. If it has weights, it keeps them, and shares them with the other models that have it."""
        if isinstance(layer, KerasTensor) and isinstance(layer.node.operation, InputLayer):
            layer = layer.node.operation
        if isinstance(layer, InputLayer):
            if self._layers or self._input:
                raise ValueError(f"{self.name}: found an Input after other layers; expected it first")
            self._input = layer
            return
        if not isinstance(layer, (Layer, Network)) or getattr(layer, "_is_operation", False):
            raise TypeError(f"{self.name}: found {layer!r}; expected a layer of keras.layers")
        if layer.name in self._names:
            raise ValueError(f"{self.name}: found two layers of the name {layer.name}; expected names of their own")
        given = self._input
        if not self._layers and given is None:
            given = _input_of(layer)
        if given:
            before = self._known_tensors()[-1] if self._layers else given.output
            layer = network_of(layer, before)
            tensor = call(layer, before, self.name)
            if isinstance(tensor, (list, tuple)):
                raise ValueError("All layers in a Sequential model should have a single output tensor. For multi-output layers, use the "
                                 f"functional API. Found {len(tensor)} outputs of {layer.name}")
            self._tensors.append(tensor)
        self._input = given
        self._layers.append(layer)
        self._names.add(layer.name)
        self._forget()
        if rebuild:
            self._count_rebuilt()

    def _count_rebuilt(self) -> None:
        """Keras makes a Functional whenever a chain gets its shapes, which takes one of the automatic names."""
        if self.built:
            count_name("functional")

    def pop(self, rebuild=True) -> Layer:
        """Remove the last layer; returns it, with its weights."""
        if not self._layers:
            raise TypeError(f"{self.name}: found no layers to pop")
        tensors = self._known_tensors() if self._input else []
        layer = self._layers.pop()
        self._names.discard(layer.name)
        if tensors:
            tensors.pop()
        for owner in layer._owners():
            if owner._variables and owner._is_kept_by(self):
                owner._leave()
        self._forget()
        self._classes = []  # they were of its outputs
        if rebuild:
            self._count_rebuilt()
        return layer

    def _known_tensors(self) -> list[KerasTensor]:
        """Each layer's output; of a model from a file they are made now, and anew where a model among the layers has
        changed."""
        versions = [layer._version() for layer in self._layers if isinstance(layer, Network)]
        if any(now != then for now, then in zip(versions, self._tensors_of)):
            self._tensors = []
        self._tensors_of = versions
        tensor = self._tensors[-1] if self._tensors else self._input.output
        for place in range(len(self._tensors), len(self._layers)):
            layer = self._layers[place] = network_of(self._layers[place], tensor)
            tensor = call(layer, tensor, self.name)
            self._tensors.append(tensor)
        return self._tensors

    def _prepare(self) -> None:
        self._known_tensors()

    def _members(self) -> list:
        return self._layers

    # ---- shapes

    @property
    def built(self) -> bool:
        """Does the model have weights?"""
        return self._input is not None and bool(self._layers)

    def build(self, input_shape=None) -> None:
        """Create the weights for samples of input_shape, which begins with the batch (None)."""
        if input_shape is not None:
            sample = tuple(input_shape)[1:]
            self._take_sizes(sample)
            if self._input is not None and not fits(self._input._input_shape, sample):
                raise ValueError(f"{self.name}: found input_shape {tuple(input_shape)}; expected "
                                 f"{(None, *self._input._input_shape)}, for which it was built before")
            self._begin_with(InputLayer(sample) if self._input is None else self._input)
        self._want_shapes()
        self._want_sizes()

    def _want_shapes(self) -> None:
        if not self.built:
            raise ValueError(f"{self.name}: found no {'input shape' if self._layers else 'layers'}; expected keras.Input, "
                             f"input_shape=, or fit with data")

    def _begin_with(self, given: InputLayer) -> None:
        before, self._input = self._input, given
        try:
            self._known_tensors()
        except BaseException:
            self._input, self._tensors = before, []
            raise
        if before is None:
            self._count_rebuilt()

    def _settle(self, samples: list[tuple], owner: str) -> list[tuple]:
        """The shape of its output, where it is called as a layer."""
        if len(samples) != 1:
            raise ValueError(f"{owner}: found {len(samples)} tensors for {self.name}; expected one")
        if self._input is None or not self.built:
            self.build((None, *samples[0]))
        if not fits(self._input._input_shape, samples[0]):
            raise ValueError(f"{self.name}: found input_shape {(None, *samples[0])}; expected {self.input_shape}, for which it was "
                             f"built before")
        if samples[0] == self._input._input_shape:
            return [self.output.sample]
        for layer in self._layers:
            samples = layer._settle(samples, owner)
        return samples

    # ---- tensors

    @property
    def inputs(self) -> list[KerasTensor]:
        """Its input, as a list."""
        self._want_shapes()
        return [self._input.output]

    @property
    def outputs(self) -> list[KerasTensor]:
        """Its output, as a list."""
        self._want_shapes()
        return [self._known_tensors()[-1]]

    @property
    def input(self) -> KerasTensor:
        """Where its samples come in, as keras.Model takes it."""
        return self.inputs[0]

    @property
    def output(self) -> KerasTensor:
        """The last layer's output, as keras.Model takes it."""
        return self.outputs[0]

    # ---- the library's model

    def _described(self) -> dict:
        return {"class_name": "Sequential", "config": {
            "name": self.name, "trainable": self._trainable,
            "layers": [described(layer) for layer in ([self._input] if self._input else []) + self._layers]}}

    def _inputs_alone(self, calls: Calls) -> list:
        return [calls.add(self._input, [], False)] if self._input else []

    def _expand(self, sources: list, listed: bool, calls: Calls) -> list:
        for layer in self._layers:
            sources = layer._expand(sources, False, calls)
        return sources


def _input_of(layer) -> InputLayer | None:
    """That a first layer says of itself."""
    if isinstance(layer, Network):
        return InputLayer(batch_shape=layer.input_shape) if layer.built else None
    return InputLayer(layer._input_shape) if layer._input_shape is not None else None



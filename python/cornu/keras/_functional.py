"""Networks of calls: keras.Model(inputs, outputs), and Keras's configuration of one."""
import inspect
from typing import Any, Callable

from . import _operations
from ._network import Calls, Network, config_of, described, fits
from ._tensors import Graph, KerasTensor, Node, between, check_tensors, flat
from .layers import Input, InputLayer, Layer


class GraphNetwork(Network):
    """The layers and calls of a functional model."""

    _is_line = False
    _graph: Graph | None = None
    _inputs_struct: Any = None  # as they were given: a tensor, a list, a tuple, a dictionary
    _outputs_struct: Any = None

    def _begin_graph(self, inputs, outputs) -> None:
        self._begin_network()
        check_tensors(self.name, "inputs", flat(inputs))
        check_tensors(self.name, "outputs", flat(outputs))
        begin, end = between(flat(inputs), flat(outputs), _new_input)
        self._inputs_struct, self._outputs_struct = _packed(inputs, iter(begin)), _packed(outputs, iter(end))
        self._graph = Graph(self.name, begin, end)
        if len({t._keras_history for t in begin}) < len(begin):
            raise ValueError(f"{self.name}: found an input twice among `inputs`; expected each once")

    def _begin_own_graph(self, input_shape) -> None:
        if input_shape is None:
            raise ValueError(f"{self.name}: found no input shape; expected build(input_shape), or fit with data, before this")
        several = isinstance(input_shape, list)
        given = [Input(tuple(shape)[1:]) for shape in (input_shape if several else [input_shape])]
        inputs = given if several else given[0]
        more = {"training": None} if "training" in inspect.signature(self.call).parameters else {}
        self._begin_graph(inputs, self.call(inputs, **more))

    def _members(self) -> list:
        return self._graph.operations if self._graph else []

    @property
    def operations(self) -> list:
        """Its layers, and what keras.ops and operators made, in Keras's order."""
        return list(self._graph.operations)

    # ---- shapes and tensors

    @property
    def built(self) -> bool:
        """Does the model have weights? Always, where its inputs say their shapes; one with a call of its own learns them."""
        return self._graph is not None

    def build(self, input_shape=None) -> None:
        """Check the shape of its samples; its weights are there. One with a call of its own begins here."""
        if not self.built:
            self._begin_own_graph(input_shape)
        if input_shape is not None and isinstance(input_shape, list):
            return
        if input_shape is not None:
            self._take_sizes(tuple(input_shape)[1:])
        self._want_sizes()
        if input_shape is not None and not fits(self.inputs[0].sample, tuple(input_shape)[1:]):
            raise ValueError(f"{self.name}: found input_shape {tuple(input_shape)}; expected {self.inputs[0].shape}, for which "
                             f"it was built")

    def _settle(self, samples: list[tuple], owner: str) -> list[tuple]:
        """The shapes of its outputs, where it is called as a layer."""
        if not self.built:
            self.build([(None, *sample) for sample in samples] if len(samples) > 1 else (None, *samples[0]))
        expected = [t.sample for t in self.inputs]
        if len(samples) != len(expected) or not all(map(fits, expected, samples)):
            raise ValueError(f"{owner}: found inputs of shapes {', '.join(map(str, samples))} for {self.name}; expected "
                             f"{', '.join(map(str, expected))}")
        if samples == expected:
            return [t.sample for t in self.outputs]
        made = {t._keras_history: sample for t, sample in zip(self.inputs, samples)}
        for node in self._graph.in_order():
            if not node.is_input:
                own = node.operation._settle([made[t._keras_history] for t in node.input_tensors], owner)
                made.update({t._keras_history: sample for t, sample in zip(node.output_tensors, own)})
        return [made[t._keras_history] for t in self.outputs]

    @property
    def call_names(self) -> list[str]:
        return _keys_of(self._inputs_struct) or super().call_names

    def _as_outputs(self, outputs: list):
        if len(outputs) == 1 and not isinstance(self._outputs_struct, dict):
            return outputs[0]
        return _packed(self._outputs_struct, iter(outputs))

    def _ends_by_key(self, inputs: list, outputs: list) -> dict:
        return super()._ends_by_key(_keyed(self._inputs_struct, inputs), _keyed(self._outputs_struct, outputs))

    @property
    def inputs(self) -> list[KerasTensor]:
        """Its inputs."""
        return list(self._graph.inputs)

    @property
    def outputs(self) -> list[KerasTensor]:
        """Its outputs."""
        return list(self._graph.outputs)

    @property
    def input(self):
        """Its inputs as they were given: one, or several."""
        return self._inputs_struct

    @property
    def output(self):
        """Its outputs as they were given: one, or several."""
        return self._outputs_struct

    @property
    def input_shape(self):
        """With None for the batch; a list where there are several inputs."""
        return _one([t.shape for t in self.inputs])

    @property
    def output_shape(self):
        """With None for the batch; a list where there are several outputs."""
        return _one([t.shape for t in self.outputs])

    @property
    def input_names(self) -> list[str]:
        """The names of its InputLayers."""
        return [t._keras_history.operation.name for t in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the layers whose outputs are its own."""
        return [t._keras_history.operation.name for t in self.outputs]

    # ---- the library's model

    def _inputs_alone(self, calls: Calls) -> list:
        return [calls.add(t._keras_history.operation, [], False) for t in self.inputs]

    def _expand(self, sources: list, listed: bool, calls: Calls) -> list:
        made = {t._keras_history: source for t, source in zip(self.inputs, sources)}
        for node in self._graph.in_order():
            if not node.is_input:
                own = node.operation._expand([made[t._keras_history] for t in node.input_tensors], node.listed, calls)
                made.update({t._keras_history: source for t, source in zip(node.output_tensors, own)})
        return [made[t._keras_history] for t in self.outputs]

    def _described(self) -> dict:
        graph = self._graph
        ends = [[[*history[:1], history[1] + _begins_at(t._keras_history.operation), history[2]]
                 for t in tensors for history in (graph.history_of(t),)] for tensors in (self.inputs, self.outputs)]
        return {"class_name": "Functional", "config": {
            "name": self.name, "trainable": self._trainable,
            "layers": [{**(config_of(o) if isinstance(o, _operations.Operation) else described(o)), "name": o.name,
                        "inbound_nodes": [_node_config(graph, node) for node in graph.calls_of(o) if not node.is_input]}
                       for o in graph.operations],
            "input_layers": _keyed(self._inputs_struct, ends[0]), "output_layers": _keyed(self._outputs_struct, ends[1])}}

    # ---- Keras's configuration

    def _config_of_graph(self) -> dict:
        graph = self._graph
        return {"name": self.name, "trainable": self._trainable,
                "layers": [{**config_of(o), "name": o.name,
                            "inbound_nodes": [_node_config(graph, node) for node in graph.calls_of(o) if not node.is_input]}
                           for o in graph.operations],
                "input_layers": _histories(graph, self._inputs_struct),
                "output_layers": _histories(graph, self._outputs_struct)}


def _one(items: list):
    return items[0] if len(items) == 1 else items


def _new_input(tensor: KerasTensor) -> KerasTensor:
    return InputLayer(batch_shape=tensor.shape, name=f"{tensor.name}CLONE").output


def _keyed(struct, ends: list):
    """The ends by the keys of the dictionary that was given, or in a list."""
    keys = _keys_of(struct)
    return dict(zip(keys, ends)) if keys else ends


def _keys_of(struct) -> list[str]:
    """A dictionary's keys, in the order of its tensors among a model's inputs or outputs; [] for another form."""
    flat_dict = isinstance(struct, dict) and all(isinstance(value, KerasTensor) for value in struct.values())
    return sorted(struct) if flat_dict else []


def _packed(like, items):
    """The items in the form of `like`: one, a list, a tuple, or a dict, whose items come by its sorted keys."""
    if isinstance(like, dict):
        made = {key: _packed(like[key], items) for key in sorted(like)}
        return {key: made[key] for key in like}
    if isinstance(like, (list, tuple)):
        return type(like)([_packed(value, items) for value in like])
    return next(items)


def _histories(graph: Graph, struct):
    if isinstance(struct, dict):
        return {key: _histories(graph, value) for key, value in struct.items()}
    if isinstance(struct, (list, tuple)):
        return type(struct)([_histories(graph, value) for value in struct])
    name, number, index = graph.history_of(struct)
    return [name, number + _begins_at(struct._keras_history.operation), index]


def _begins_at(operation) -> int:
    """The number of its first call among the ends of a model: Keras counts a Functional's own input and output as one."""
    return 1 if isinstance(operation, GraphNetwork) and not operation._is_line else 0


def _node_config(graph: Graph, node: Node) -> dict:
    tensors = [{"class_name": "__keras_tensor__", "config": {
        "shape": list(t.shape), "dtype": t.dtype, "keras_history": graph.history_of(t)}} for t in node.input_tensors]
    own = node.operation
    if isinstance(own, _operations.Operation):
        return {"args": own.arguments(tensors), "kwargs": {}}
    if own is not None and getattr(own, "_row", None) and own._row["reads_states"] and len(tensors) > 1:
        return {"args": tensors[:1], "kwargs": {"initial_state": tensors[1:]}}
    given = [tensors] if node.listed else [dict(zip(node.keys, tensors))] if node.keys else tensors
    return {"args": given, "kwargs": dict(getattr(own, "_keywords", {}))}


# ---- from a configuration


def tensors_of_config(config: dict, make: Callable[[dict], Any], given: dict[str, KerasTensor] = {}) -> tuple:
    """The inputs and outputs of a Functional model's configuration, in its form; `make` makes each layer. `given`: tensors in
    the place of inputs that are no layers of it, by their names."""
    entries = [entry for entry in config["layers"] if entry.get("name") not in given]
    layers = {entry.get("name") or entry["config"]["name"]: make(entry) for entry in entries}
    begin = {name: len(layer._inbound_nodes) for name, layer in layers.items()}  # an InputLayer has its node, a model may
    waiting = [(layers[name], node) for name, entry in zip(layers, entries)
               for node in entry.get("inbound_nodes") or ()]

    def tensor_of(history):
        name, number, index = history[:3]
        if name in given:
            return given[name]
        layer = layers.get(name)
        if layer is None:
            raise ValueError(f"{config.get('name')}: found a call on {name!r}, which is no layer of the model")
        nodes = layer._inbound_nodes[0 if isinstance(layer, InputLayer) else begin[name]:]
        return nodes[number].output_tensors[index] if number < len(nodes) else None

    def end_of(history):
        name, number, index = history
        return tensor_of([name, number - _begins_at(layers.get(name)), index])

    while waiting:
        left = []
        for layer, node in waiting:
            inputs = _inputs_of(node, tensor_of)
            earlier = any(layer is other for other, _ in left)  # the calls of a layer keep their order
            if earlier or any(t is None for t in flat([inputs, *_states_of(node, tensor_of).values()])):
                left.append((layer, node))
            elif isinstance(layer, _operations.Operation):
                layer(flat(inputs) if layer._row["merges"] else inputs)
            else:
                layer(inputs, **_keywords_of(layer, node), **_states_of(node, tensor_of))
        if len(left) == len(waiting):
            raise ValueError(f"{config.get('name')}: found calls of {', '.join(layer.name for layer, _ in left)} that nothing "
                             f"leads to; expected no cycles, and outputs of layers of the model")
        waiting = left
    return tuple(_struct_of(config[key], end_of) for key in ("input_layers", "output_layers"))


def _keywords_of(layer, node) -> dict:
    """The arguments of a call that change what it computes."""
    said = node.get("kwargs") or {} if isinstance(node, dict) else next((t[3] for t in node if len(t) > 3), {})
    known = layer._keyword_names() if isinstance(layer, Layer) else []
    return {name: value for name, value in said.items() if name in known}


def _states_of(node, tensor_of: Callable) -> dict:
    """The initial_state of a recurrent layer's call."""
    given = (node.get("kwargs") or {}).get("initial_state") if isinstance(node, dict) else None
    return {} if given is None else {"initial_state": flat(_struct_of_args(given, tensor_of))}


def _inputs_of(node, tensor_of: Callable):
    """The inputs of a call: Keras 3's form, or tf.keras 2's [[name, 0, 0, {}], ...]."""
    if isinstance(node, dict):
        args = [value for value in node["args"] if _operations.is_tensors(value)]
        return _struct_of_args(args[0] if len(args) == 1 else args, tensor_of)
    tensors = [tensor_of(history) for history in node]
    return tensors[0] if len(tensors) == 1 else tensors


def _struct_of_args(value, tensor_of: Callable):
    if isinstance(value, (list, tuple)):
        return [_struct_of_args(item, tensor_of) for item in value]
    if value.get("class_name") != "__keras_tensor__":
        return {key: _struct_of_args(item, tensor_of) for key, item in value.items()}
    return tensor_of(value["config"]["keras_history"])


def _struct_of(value, tensor_of: Callable):
    if isinstance(value, dict):
        return {key: _struct_of(item, tensor_of) for key, item in value.items()}
    if len(value) == 3 and isinstance(value[0], str):
        return tensor_of(value)
    return type(value)([_struct_of(item, tensor_of) for item in value])

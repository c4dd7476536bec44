"""Symbolic tensors: what layers are called on, and what a network of calls is made of.

A call of a layer on tensors is a node, which the layer keeps; its tensor knows the layer and the node's number there, as
Keras's _keras_history does. A network is found from its outputs alone, by walking back."""
import itertools
import weakref
from typing import Any, Callable, Iterable, NamedTuple

import numpy as np

from ._names import automatic_name


class History(NamedTuple):
    """Where a tensor comes from."""

    operation: Any
    node_index: int
    tensor_index: int


class FlatShape(tuple):
    """What a tensor shows where the batch is no axis of its own, in a loss of one's own: (None,), a number or several of
    each sample, one after the other; or (), one number for all samples. sample: what the library has for each sample."""

    sample: tuple

    def __new__(cls, shown: tuple, sample: tuple):
        shape = super().__new__(cls, shown)
        shape.sample = tuple(sample)
        return shape


class Arithmetic:
    """The operators of tensors, and of the weights that stand beside them: layers compute them."""

    def __add__(self, other):
        return _ops().add(self, other)

    def __radd__(self, other):
        return _ops().add(other, self)

    def __sub__(self, other):
        return _ops().subtract(self, other)

    def __rsub__(self, other):
        return _ops().subtract(other, self)

    def __mul__(self, other):
        return _ops().multiply(self, other)

    def __rmul__(self, other):
        return _ops().multiply(other, self)

    def __truediv__(self, other):
        return _ops().true_divide(self, other)

    def __rtruediv__(self, other):
        return _ops().true_divide(other, self)

    def __matmul__(self, other):
        return _ops().matmul(self, other)


class KerasTensor(Arithmetic):
    """The output of a layer's call, without numbers: shape (None: the batch), dtype, name."""

    # Arrays leave operators to the tensor.
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __array_function__(self, function, *_):
        if function in (np.shape, np.ndim):
            return self.shape if function is np.shape else self.ndim
        raise NotImplementedError(f"numpy.{function.__name__} of a tensor that has no numbers yet is not in cornu; keras.ops has "
                                  f"what layers compute")

    _keras_history: History | None

    def __init__(self, shape, dtype="float32", sparse=False, ragged=False, record_history=True, name=None):
        self.shape = shape if isinstance(shape, FlatShape) else tuple(shape)
        self.dtype, self.sparse, self.ragged = dtype, bool(sparse), bool(ragged)
        self.name = name or automatic_name("keras_tensor")
        self._keras_history = None
        self.is_of_weights = False  # the same for all samples: of weights of a layer of one's own alone

    @property
    def ndim(self) -> int:
        """The number of axes, with the batch."""
        return len(self.shape)

    rank = ndim

    @property
    def sample(self) -> tuple:
        """The shape without the batch."""
        return self.shape.sample if isinstance(self.shape, FlatShape) else self.shape[1:]

    @property
    def node(self) -> "Node":
        """The call that it is the output of."""
        if self._keras_history is None:
            raise ValueError(f"{self.name}: found a KerasTensor that no layer made; expected keras.Input, or a layer's output")
        return self._keras_history.operation._inbound_nodes[self._keras_history.node_index]

    def get_shape(self) -> tuple:
        """The shape, as older scripts ask for it."""
        return self.shape

    # ---- further operators, which weights lack

    def __rmatmul__(self, other):
        return _ops().matmul(other, self)

    def __neg__(self):
        return _ops().negative(self)

    def __abs__(self):
        return _ops().absolute(self)

    def __pow__(self, other):
        return _ops().power(self, other)

    def __gt__(self, other):
        return _ops().greater(self, other)

    def __ge__(self, other):
        return _ops().greater_equal(self, other)

    def __lt__(self, other):
        return _ops().less(self, other)

    def __le__(self, other):
        return _ops().less_equal(self, other)

    def __getitem__(self, key):
        return _ops()._part(self, key)

    def __array__(self, *_, **__):
        raise ValueError("a KerasTensor cannot be used as input to a NumPy function: it has no numbers yet; expected "
                         "layers of keras.layers, and Model.predict for numbers")

    def __bool__(self):
        raise TypeError("A symbolic KerasTensor cannot be used as a boolean.")

    def __iter__(self):
        raise NotImplementedError("Iterating over a symbolic KerasTensor is not supported.")

    def __float__(self):
        raise ValueError("A symbolic KerasTensor has no number yet; Model.predict computes them.")

    __int__ = __float__

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, sparse={self.sparse}, ragged={self.ragged}, name={self.name}>"


def _ops():
    from . import ops

    return ops


class Node:
    """A call of a layer, or of a model, on tensors. listed: they were given in a list; keys: in a dictionary.

    A tensor holds its layer, which holds its calls, which hold the tensors that they read. Nothing holds what comes after
    it: so a network is freed with its last reference, and not some time later."""

    _serials = itertools.count()

    def __init__(self, operation, inputs: list[KerasTensor], shapes: list[tuple], listed: bool = False,
                 name: str | None = None, keys: list[str] | None = None):
        self._operation = weakref.ref(operation)
        self.input_tensors, self.listed, self.keys = inputs, listed, keys
        self.number = len(operation._inbound_nodes)
        self.serial = next(Node._serials)  # orders all calls: each comes after those that it reads
        self._shapes, self._names = shapes, [name or automatic_name("keras_tensor") for _ in shapes]
        self._outputs: list = [None] * len(shapes)
        operation._inbound_nodes.append(self)

    @property
    def operation(self):
        """The layer or model that was called."""
        return self._operation()

    @property
    def is_input(self) -> bool:
        """Is it where data comes in?"""
        return not self.input_tensors

    @property
    def output_tensors(self) -> list[KerasTensor]:
        """Its tensors; made again where nobody holds them."""
        return [self._output(index) for index in range(len(self._shapes))]

    def _output(self, index: int) -> KerasTensor:
        reference = self._outputs[index]
        tensor = reference and reference()
        if tensor is None:
            tensor = KerasTensor(self._shapes[index], name=self._names[index])
            tensor._keras_history = History(self.operation, self.number, index)
            self._outputs[index] = weakref.ref(tensor)
        return tensor


def is_symbolic(value) -> bool:
    """A KerasTensor, or several, some in lists?"""
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, KerasTensor) or isinstance(value, (list, tuple)) and any(map(is_symbolic, value))


def flat(value) -> list:
    """The tensors of one, a list, or a dict, by its sorted keys."""
    if isinstance(value, dict):
        return [t for key in sorted(value) for t in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in flat(item)]
    return [value]


def check_inputs(operation, inputs, owner: str) -> list:
    """The inputs of a call, one after the other: tensors, or arrays. A merging layer takes a list."""
    merges = getattr(operation, "_row", {}).get("merges", False)
    if merges and not isinstance(inputs, (list, tuple)):
        raise ValueError(f"{owner}: A merge layer should be called on a list of inputs. Received: {_told(inputs)}")
    if isinstance(inputs, dict):
        return operation._inputs_by_name(inputs, owner)
    if is_symbolic(inputs):
        return flat(inputs)
    return list(inputs) if merges else [inputs]


def call(operation, inputs, owner: str = ""):
    """Call a layer or a model on tensors: a new node. Returns its tensor, or a model's outputs in their form."""
    owner = owner or f"layer {operation.name}"
    tensors = check_inputs(operation, inputs, owner)
    for tensor in tensors:
        if not isinstance(tensor, KerasTensor):
            raise ValueError(f"layer {operation.name}: found {_told(tensor)} among its inputs; expected KerasTensors alone")
        _ = tensor.node  # that there is one
    shapes = [_shown(tensors, sample) for sample in operation._settle([t.sample for t in tensors], owner)]
    keys = operation.call_names if isinstance(inputs, dict) else None
    return operation._as_outputs(Node(operation, tensors, shapes, isinstance(inputs, (list, tuple)), keys=keys).output_tensors)


def _shown(tensors: list[KerasTensor], sample: tuple) -> tuple:
    """The shape of an output: without an axis for the batch where no input has one."""
    shapes = [t.shape for t in tensors]
    if shapes and all(isinstance(shape, FlatShape) for shape in shapes):
        return FlatShape(max(shapes, key=len), sample)
    return (None, *sample)


def shown_as(tensor: KerasTensor, shape: tuple) -> KerasTensor:
    """The tensor, which shows this shape from now on."""
    history = tensor._keras_history
    tensor.shape = tensor.node._shapes[history.tensor_index] = shape
    return tensor


def computed(operation, inputs) -> KerasTensor:
    """The output of a new layer that computes an operation of keras.ops: Model.layers does not list it."""
    operation._is_operation = True
    return operation(inputs)


def _told(value) -> str:
    return f"an array of shape {np.shape(value)}" if hasattr(value, "__array__") else repr(value)


def check_tensors(what: str, which: str, tensors: Iterable) -> None:
    """Inputs or outputs of a model."""
    for tensor in tensors:
        if not isinstance(tensor, KerasTensor):
            raise ValueError(f"{what}: found {tensor!r} of type {type(tensor).__name__} among {which}; all `{which}` values "
                             f"must be KerasTensors")
        _ = tensor.node


# ---- graphs


def _walk(inputs: list[KerasTensor], outputs: list[KerasTensor]) -> tuple[list[Node], dict]:
    """The nodes between, each after those that it reads; and when the walk from the outputs met each operation first. It
    goes no further than the inputs. Without recursion, which long networks would exhaust."""
    ends = {t._keras_history for t in inputs if not t.node.is_input}
    done: set[Node] = set()
    nodes: list[Node] = []
    turns: dict = {}
    for output in outputs:
        stack = [(output, False)]
        while stack:
            tensor, complete = stack.pop()
            node = tensor.node
            if node in done or tensor._keras_history in ends:
                continue
            if complete:
                done.add(node)
                nodes.append(node)
            else:
                turns.setdefault(node.operation, len(turns))
                stack.append((tensor, True))
                stack += [(t, False) for t in reversed(node.input_tensors)]
    return nodes, turns


def between(inputs: list[KerasTensor], outputs: list[KerasTensor], new_input: Callable) -> tuple[list, list]:
    """Inputs and outputs where some inputs are layers' outputs: the same calls, on new inputs in the place of those."""
    if all(t.node.is_input for t in inputs):
        return inputs, outputs
    nodes, _ = _walk(inputs, outputs)
    new = {t._keras_history: t if t.node.is_input else new_input(t) for t in inputs}
    for node in nodes:
        if not node.is_input:
            read = [new.get(t._keras_history, t) for t in node.input_tensors]
            made = node.output_tensors
            copies = Node(node.operation, read, [t.shape for t in made], node.listed, keys=node.keys).output_tensors
            new.update({t._keras_history: new.get(t._keras_history, copy) for t, copy in zip(made, copies)})
    return [new[t._keras_history] for t in inputs], [new.get(t._keras_history, t) for t in outputs]


class Graph:
    """The calls between inputs and outputs: nodes in an order in which each comes after what it reads, operations in
    Keras's."""

    def __init__(self, name: str, inputs: list[KerasTensor], outputs: list[KerasTensor]):
        self.inputs, self.outputs = inputs, outputs
        self.nodes, turns = _walk(inputs, outputs)
        unread = [t.node for t in inputs if t.node.is_input and t.node not in self.nodes]
        turns.update({node.operation: -1 for node in unread})  # Keras has them before what is as far from the outputs
        self.nodes += reversed(unread)
        self._own = set(self.nodes)
        self._check_connected(name)
        self.operations = self._in_order(turns)
        self._check_names(name)

    def _check_connected(self, name: str) -> None:
        ends = {t._keras_history for t in self.inputs}
        names = ", ".join(t._keras_history.operation.name for t in self.inputs)
        for node in self.nodes:
            for tensor in node.input_tensors or [t for t in self.outputs if t.node is node]:
                if tensor.node.is_input and tensor._keras_history not in ends:
                    raise ValueError(f"{name}: Graph disconnected: cannot find parent for tensor {tensor} at operation "
                                     f"'{node.operation.name}'; expected it among the inputs, {names}")
        for tensor in self.outputs:
            if tensor._keras_history in ends:
                raise ValueError(f"{name}: found {tensor._keras_history.operation.name}, an input, among the outputs; expected "
                                 f"what a layer computes")

    def _in_order(self, turns: dict) -> list:
        """By the longest way to an output, as Keras lists layers; then as the walk met them."""
        of_node: dict[Node, int] = {}
        of_operation: dict = {}
        for node in reversed(self.nodes):
            depth = max(of_node.get(node, 0), of_operation.get(node.operation, 0))
            of_operation[node.operation] = of_node[node] = depth
            for before in (t.node for t in node.input_tensors):
                of_node[before] = max(depth + 1, of_node.get(before, 0))
        return sorted(of_operation, key=lambda o: (-of_operation[o], turns[o]))

    def _check_names(self, name: str) -> None:
        names = [o.name for o in self.operations]
        for own in names:
            if names.count(own) > 1:
                raise ValueError(f'{name}: The name "{own}" is used {names.count(own)} times in the model. All operation names '
                                 f"should be unique.")

    def in_order(self) -> list[Node]:
        """All calls, as they were made: each after what it reads, those of a layer by their numbers."""
        return sorted(self.nodes, key=lambda node: node.serial)

    def calls_of(self, operation) -> list[Node]:
        """The calls of a layer that belong to this network."""
        return [node for node in operation._inbound_nodes if node in self._own]

    def history_of(self, tensor: KerasTensor) -> list:
        """[layer's name, number of its call in this network, number of the tensor], as Keras's configuration has it."""
        operation, _, index = tensor._keras_history
        return [operation.name, self.calls_of(operation).index(tensor.node), index]

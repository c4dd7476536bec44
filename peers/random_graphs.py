#!/usr/bin/env python3
"""Random networks that branch, in real Keras and in cornu.

    PYTHONPATH=build/release/python .venv/bin/python peers/random_graphs.py [--graphs N] [--seed N] [--files N]

Each is a Functional model of up to 20 layers, with 1 to 3 inputs and outputs, tensors that several layers read, or one layer
twice, layers that are called twice, models within models, frozen layers, and merging layers that broadcast. The same calls
build it in Keras and in cornu: names, layers and weights stand in the same order, both predict the same, and three steps
of SGD, with a loss (or none) and a weight for each output, and often weights of the samples, have the same losses and change
the weights alike. So it is with what cornu opens of Keras's .keras file. Of the first `--files` graphs cornu writes .keras,
.h5 and .weights.h5, which Keras loads and predicts the same from; cornu reads Keras's .h5 and .weights.h5, and its own
.safetensors and .onnx, which onnxruntime reads, too. Prints a line for each graph that differs, and at the end the largest
differences. Exit status 0: all agree."""
import argparse
import collections
import json
import logging
import os
import sys
import tempfile
import traceback
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import keras as real  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

from cornu import keras as ours  # noqa: E402

for logger in ("absl", "tensorflow"):
    logging.getLogger(logger).setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "You are using a softmax")
warnings.filterwarnings("ignore", "Skipping variable loading")
BATCH, STEPS, RATE = 8, 3, 0.02
OUTPUT_LIMIT, CHANGE_LIMIT = 1e-5, 1e-4
ROUNDING = 2e-3  # of a weight, in units of CHANGE_LIMIT: three sums of it with changes may differ by so much
ELEMENTS_MOST = 4000
MERGES = ("Add", "Add", "Average", "Subtract", "Multiply", "Maximum", "Minimum", "Concatenate")
ACTIVATIONS = (None, "relu", "tanh", "gelu", "elu", "sigmoid", "silu", "softmax")


class Drawn:
    """A model under construction, by the Keras that is given. Whatever is drawn depends on shapes alone, so that the same
    generator draws the same model in another Keras."""

    def __init__(self, keras, rng) -> None:
        self.keras, self.layers, self.rng = keras, keras.layers, rng
        self.tensors: list = []
        self.read: set[int] = set()  # numbers of tensors
        self.called: list = []  # (a layer or model, the shapes of its inputs)
        self.has_operations = False

    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def below(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def late(self) -> int:
        """The number of a tensor, rather a late one."""
        return len(self.tensors) - 1 - int(len(self.tensors) * self.rng.random() ** 2)

    def shape(self, number: int) -> tuple:
        return tuple(self.tensors[number].shape[1:])

    def input(self, shape: tuple) -> None:
        self.tensors.append(self.layers.Input(shape))

    def call(self, operation, *numbers: int, listed: bool = False, kept: bool = True) -> list[int]:
        """The numbers of what it gives; none where that would be too large, or nothing. Is it kept for further calls?"""
        inputs = [self.tensors[number] for number in numbers]
        made = operation(inputs if listed or len(inputs) > 1 else inputs[0])
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        if kept:
            self.called.append((operation, [self.shape(number) for number in numbers]))
        if not all(0 < np.prod(y.shape[1:]) <= ELEMENTS_MOST for y in made):
            return []
        self.read.update(numbers)
        self.tensors += made
        return list(range(len(self.tensors) - len(made), len(self.tensors)))


# ---- layers of one input


def image_layer(d: Drawn, shape: tuple):
    L, small, channels = d.layers, min(shape[:2]), shape[2]
    padding = d.pick("same", "valid") if small >= 3 else "same"
    kind = d.pick("conv", "conv", "conv", "dilated", "max", "average", "norm", "pad", "global", "dense")
    if kind == "conv":
        groups = d.pick(1, 1, channels)
        return L.Conv2D(groups * d.below(1, 3), (d.below(1, 3), d.below(1, 3)), strides=d.pick(1, 1, 2), padding=padding,
                        groups=groups, activation=d.pick(*ACTIVATIONS), use_bias=d.chance(0.7))
    if kind == "dilated":
        return L.Conv2D(d.below(1, 3), 2, dilation_rate=d.pick(1, 2), padding="same")
    if kind in ("max", "average"):
        make = L.MaxPooling2D if kind == "max" else L.AveragePooling2D
        return make(d.pick(2, 3), strides=d.pick(None, 1, 2), padding=padding)
    if kind == "pad":
        return L.ZeroPadding2D(d.pick(1, ((0, 1), (2, 0)))) if small < 9 else L.LeakyReLU(0.2)
    if kind == "norm":
        return L.BatchNormalization(momentum=d.pick(0.99, 0.5), center=d.chance(0.8), scale=d.chance(0.8))
    if kind == "global":
        return L.GlobalAveragePooling2D(keepdims=d.chance(0.6))
    return L.Dense(d.below(1, 4), activation=d.pick(*ACTIVATIONS))


def any_layer(d: Drawn, shape: tuple):
    L = d.layers
    kind = d.pick("Activation", "LeakyReLU", "ELU", "ReLU", "Softmax", "Rescaling", "Dropout", "Flatten", "LayerNormalization",
                  "BatchNormalization", "Reshape")
    if kind == "LayerNormalization" and shape[-1] == 1:  # a number less itself: Keras gives what rounding leaves of that
        kind = "ELU"
    options = {"Activation": lambda: {"activation": d.pick("relu", "tanh", "gelu", "silu")},
               "LeakyReLU": lambda: {"negative_slope": 0.3}, "Rescaling": lambda: {"scale": 0.7, "offset": 0.1},
               "Dropout": lambda: {"rate": 0.0}, "Reshape": lambda: {"target_shape": reshaped(d, int(np.prod(shape)))}}
    return getattr(L, kind)(**options.get(kind, dict)())


def reshaped(d: Drawn, n: int) -> tuple:
    first = d.pick(*[p for p in range(1, n + 1) if n % p == 0])
    if d.chance(0.5):
        return (first, n // first)
    rest = d.pick(*[p for p in range(1, n // first + 1) if (n // first) % p == 0])
    return (first, rest, n // first // rest)


def layer_on(d: Drawn, shape: tuple):
    if len(shape) == 3 and d.chance(0.7):
        return image_layer(d, shape)
    if len(shape) == 1 and d.chance(0.6):
        return d.layers.Dense(d.below(1, 6), activation=d.pick(*ACTIVATIONS))
    return any_layer(d, shape)


# ---- operations


# Those that cornu writes as Keras does; others are layers there: `x * 2` is a Rescaling.
SAME_FORM = ("GetItem", "Transpose", "Mean", "Sum", "Max", "Min", "Absolute", "Clip", "Stack")


def operate(d: Drawn, x: int) -> None:
    """An operation of keras.ops on x, or an operator."""
    ops, shape, t = d.keras.ops, d.shape(x), d.tensors[x]
    rank = len(shape)
    kind = d.pick("part", "part", "place", "new axis", "transpose", "reduce", "reduce", "number", "negative", "clip", "pad", "stack",
                  "square", "both", "array", "array", "array", "where", "where")
    axis = d.below(1, rank)
    if kind == "part":
        begin = d.below(0, shape[axis - 1] - 1)
        made = t[(*[slice(None)] * axis, slice(begin, d.pick(None, shape[axis - 1]), d.pick(None, 1, 2)))]
    elif kind == "place" and rank > 1:
        made = t[(*[slice(None)] * axis, d.pick(0, -1, shape[axis - 1] - 1))]
    elif kind in ("new axis", "stack") and rank < 4:
        made = ops.stack([t, t], axis=axis) if kind == "stack" else t[(*[slice(None)] * axis, None)]
    elif kind == "transpose":
        made = ops.transpose(t, (0, *(int(n) + 1 for n in d.rng.permutation(rank))))
    elif kind == "reduce":
        made = getattr(ops, d.pick("mean", "sum", "max", "min"))(t, axis=axis, keepdims=rank == 1 or d.chance(0.5))
    elif kind == "number":
        made = d.pick(lambda: t * 2, lambda: 1 - t, lambda: t / 4, lambda: 0.5 + t, lambda: ops.maximum(t, 0.1),
                      lambda: ops.minimum(0.2, t))()
    elif kind == "pad":
        made = ops.pad(t, [[0, 0], *([d.below(0, 1), d.below(0, 2)] for _ in shape)], constant_values=d.pick(None, 0.75))
    elif kind == "array":
        made = beside_array(d, t)
    elif kind == "where":
        array = array_beside(d, t)
        condition = d.pick(lambda: array > 0, lambda: t > array)()
        made = ops.where(condition, *d.pick(lambda: (t, array * 2), lambda: (0.5, t), lambda: (t, -1 * t))())
    elif kind == "both":
        made = d.pick(lambda: t + t, lambda: t * t, lambda: t - 2 * t)()
    else:
        made = {"clip": lambda: ops.clip(t, -0.4, 0.7), "square": lambda: ops.square(t)}.get(kind, lambda: abs(t))()
    if np.prod(made.shape[1:]) <= ELEMENTS_MOST:
        d.read.add(x)
        d.tensors.append(made)


def array_beside(d: Drawn, t) -> np.ndarray:
    """Numbers that are broadcast to t's shape, none near 0."""
    shape = [1 if d.chance(0.4) else n for n in t.shape[1:]]
    array = (d.rng.uniform(0.4, 1.5, shape) * d.rng.choice([-1, 1], shape)).astype("float32")
    return array[0] if shape[0] == 1 and d.chance(0.3) else array


def beside_array(d: Drawn, t):
    """An operation on t and an array."""
    ops, array = d.keras.ops, array_beside(d, t)
    return d.pick(lambda: t + array, lambda: t * array, lambda: t / array, lambda: ops.subtract(array, t),
                  lambda: ops.maximum(t, array), lambda: ops.minimum(array, t),
                  lambda: ops.matmul(t, d.rng.normal(size=(t.shape[-1], 3)).astype("float32") / 2),
                  lambda: ops.matmul(d.rng.normal(size=(2, t.shape[-2])).astype("float32") / 2, t) if t.ndim > 2 else t - array)()


# ---- of several


def merge(d: Drawn, x: int) -> None:
    """x with others of its shape, or itself."""
    others = [t for t in range(len(d.tensors)) if d.shape(t) == d.shape(x)]
    kind = d.pick(*MERGES)
    inputs = [x, *[d.pick(*others) for _ in range(1 if kind == "Subtract" else d.pick(1, 1, 2))]]
    d.rng.shuffle(inputs)
    options = {"axis": d.pick(-1, -1, 1)} if kind == "Concatenate" else {}
    d.call(getattr(d.layers, kind)(**options), *inputs, listed=True)


def broadcasts(a: tuple, b: tuple) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b)))


def merge_broadcasting(d: Drawn, x: int) -> None:
    """x with one of another shape whose elements are repeated, or that repeats those of x; made where there is none."""
    shape = d.shape(x)
    others = [t for t in range(len(d.tensors)) if d.shape(t) != shape and broadcasts(d.shape(t), shape)]
    if not others or d.chance(0.3):
        narrow = tuple(1 if d.chance(0.5) else n for n in shape[d.below(0, len(shape) - 1):])
        rows = d.call(d.layers.Flatten(), x)
        units = d.call(d.layers.Dense(int(np.prod(narrow)), activation=d.pick("tanh", None)), *rows)
        others = d.call(d.layers.Reshape(narrow), *units)
    kind = d.pick("Add", "Average", "Subtract", "Multiply", "Maximum", "Minimum")
    inputs = [x, d.pick(*others)]
    d.rng.shuffle(inputs)
    d.call(getattr(d.layers, kind)(), *inputs, listed=True)


def functions(d: Drawn, x: int) -> None:
    """Of keras.ops: of any numbers, or of those above 0 that an exponential gives, and quotients."""
    ops = d.keras.ops
    if d.chance(0.3):
        d.call(d.pick(ops.absolute, ops.square), x, kept=False)
        return
    above = d.call(ops.exp, *d.call(d.layers.Activation("tanh"), x), kept=False)
    if d.chance(0.4):
        d.call(lambda tensors: d.pick(ops.divide, ops.true_divide)(*tensors), x, *above, kept=False)
    else:
        d.call(d.pick(ops.log, ops.sqrt, ops.rsqrt, ops.reciprocal), *above, kept=False)


def dot(d: Drawn, x: int) -> None:
    """Products along axes of equal length, if there are any."""
    shape = d.shape(x)
    fits = [(other, (i + 1, k + 1)) for other in range(len(d.tensors)) for i, m in enumerate(shape)
            for k, n in enumerate(d.shape(other)) if m == n and len(shape) < 3 and len(d.shape(other)) < 3]
    if fits:
        other, axes = d.pick(*fits)
        long = shape[axes[0] - 1] > 1  # normalized, a number is its sign, which may be that of a rounding
        d.call(d.layers.Dot(axes, normalize=d.chance(0.3) and long), x, other)


STEPS_MOST = 12


def sequences(d: Drawn, x: int) -> None:
    """Calls of several outputs on x, or a sequence made of it: a layer's states, from which another may begin; the scores of
    attention; both directions apart."""
    L, shape = d.layers, d.shape(x)
    if len(shape) != 2 or shape[0] > STEPS_MOST:
        steps, features = d.below(1, 4), d.below(1, 4)
        rows = d.call(L.Flatten(), x)
        (x,) = d.call(L.Reshape((steps, features)), *d.call(L.Dense(steps * features, activation="tanh"), *rows))
    kind = d.pick("states", "states", "scores", "directions")
    if kind == "states":
        cell, units = d.pick(L.GRU, L.LSTM, L.SimpleRNN), d.below(1, 3)
        made = d.call(cell(units, return_sequences=d.chance(0.5), return_state=True, go_backwards=d.chance(0.3)), x, kept=False)
        others = [t for t in range(len(d.tensors)) if len(d.shape(t)) == 2 and d.shape(t)[0] <= STEPS_MOST]
        if made and d.chance(0.7):
            second = cell(units, return_sequences=d.chance(0.3))
            d.call(lambda tensors: second(tensors[0], initial_state=tensors[1:]), d.pick(*others), *made[1:], kept=False)
    elif kind == "directions":
        cell = d.pick(L.GRU, L.LSTM, L.SimpleRNN)
        d.call(L.Bidirectional(cell(d.below(1, 3), return_sequences=d.chance(0.5)), merge_mode=None), x)
    elif d.chance(0.5):
        attend = L.Attention(use_scale=d.chance(0.5))
        d.call(lambda tensors: attend(tensors, return_attention_scores=True), x, x, kept=False)
    else:
        heads = L.MultiHeadAttention(d.below(1, 2), d.below(1, 3))
        d.call(lambda tensors: heads(*tensors, return_attention_scores=True), x, x, kept=False)


def call_again(d: Drawn, x: int) -> None:
    """A layer or model that was called already, on tensors of these shapes: it is shared."""
    fits = [(operation, shapes) for operation, shapes in d.called if shapes[0] == d.shape(x)]
    if fits:
        operation, shapes = d.pick(*fits)
        others = [d.pick(*[t for t in range(len(d.tensors)) if d.shape(t) == shape]) for shape in shapes[1:]]
        d.call(operation, x, *others, listed=type(operation).__name__ in MERGES)


# ---- models


def nested(d: Drawn, x: int, depth: int) -> None:
    """A model of some layers, called on x and perhaps another tensor; its layers may be called alone, too."""
    if d.chance(0.3):
        shape, operations = d.shape(x), []
        kinds = ("BatchNormalization", "ReLU", "ELU", "Flatten")
        for _ in range(d.below(1, 3)):
            operations.append(getattr(d.layers, d.pick(*kinds))() if d.chance(0.4) else
                              d.layers.Conv2D(d.below(1, 3), 2, padding="same", activation=d.pick(*ACTIVATIONS))
                              if len(shape) == 3 and not any(type(o).__name__ == "Flatten" for o in operations) else
                              d.layers.Dense(d.below(1, 5), activation=d.pick(*ACTIVATIONS)))
        d.call(d.keras.Sequential(operations), x)
        return
    read = [x] if d.chance(0.6) else [x, d.late()]
    inner = Drawn(d.keras, d.rng)
    inner.has_operations = d.has_operations
    for number in read:
        inner.input(d.shape(number))
    grow(inner, d.below(1, 4), depth + 1)
    d.call(d.keras.Model(inner.tensors[:len(read)], several(finish(inner, d.pick(1, 1, 2), len(read)))), *read)
    if d.chance(0.3):
        d.called += [(operation, shapes) for operation, shapes in inner.called if len(shapes) == 1]


def several(tensors: list):
    return tensors if len(tensors) > 1 else tensors[0]


def grow(d: Drawn, count: int, depth: int = 0) -> None:
    for _ in range(count):
        x, turn = d.late(), d.rng.random()
        if d.has_operations and d.chance(0.35):
            operate(d, x)
        elif turn < 0.12:
            call_again(d, x)
        elif turn < 0.32:
            merge(d, x)
        elif turn < 0.38:
            merge_broadcasting(d, x)
        elif turn < 0.43:
            dot(d, x)
        elif turn < 0.50 and depth < 2:
            nested(d, x, depth)
        elif turn < 0.57:
            functions(d, x)
        elif turn < 0.65:
            sequences(d, x)
        else:
            d.call(layer_on(d, d.shape(x)), x)


def finish(d: Drawn, count: int, inputs: int) -> list:
    """`count` tensors, of all that no layer reads: parts of these, merged, or one of them in its own shape. An output may
    be one that layers read, too."""
    ends = [t for t in range(len(d.tensors)) if t not in d.read]
    groups: list[list[int]] = [[] for _ in range(count)]
    for turn, t in enumerate(ends):
        groups[turn if turn < count else d.below(0, count - 1)].append(t)
    outputs: list[int] = []
    for group in groups:
        inner = [t for t in range(inputs, len(d.tensors)) if t not in outputs]
        if not group and inner and d.chance(0.5):
            outputs.append(d.pick(*inner))
        else:
            outputs += head(d, group or [d.late()])
    return [d.tensors[t] for t in outputs]


def head(d: Drawn, group: list[int]) -> list[int]:
    activation = d.pick(None, "softmax", "sigmoid", "tanh")
    if len(group) == 1 and d.chance(0.3) and 3 * np.prod(d.shape(group[0])[:-1]) <= ELEMENTS_MOST:
        return d.call(d.layers.Dense(d.below(2, 3), activation=activation), *group)
    rows: list[int] = []
    for t in group:
        n = [t]
        if len(d.shape(t)) == 3 and d.chance(0.5):
            n = d.call(d.layers.GlobalAveragePooling2D(), t)
        elif len(d.shape(t)) != 1:
            n = d.call(d.layers.Flatten(), t)
        rows += d.call(d.layers.Dense(4, activation=d.pick("tanh", None)), *n)
    if len(rows) > 1:
        rows = d.call(getattr(d.layers, d.pick("Add", "Average"))(), *rows)
    return d.call(d.layers.Dense(3, activation=activation), *rows)


def draw(keras, seed: int, number: int):
    """The model, not compiled, and the generator as it is then."""
    rng = np.random.default_rng((seed, number))
    d = Drawn(keras, rng)
    d.has_operations = number % 3 == 2
    keras.backend.clear_session()
    keras.utils.set_random_seed(number)
    inputs = d.pick(1, 1, 2, 3)
    for _ in range(inputs):
        image = d.chance(0.8)
        d.input((d.below(3, 8), d.below(3, 8), d.below(1, 3)) if image else (d.below(2, 9),))
    grow(d, d.below(3, 12))
    outputs = finish(d, d.pick(1, 1, 2, 3), inputs)
    model = keras.Model(several(d.tensors[:inputs]), several(outputs))
    freeze(model, d)
    return model, rng


def freeze(model, d: Drawn) -> None:
    """Some layers and models within it, but never all weights."""
    share = d.pick(0, 0, 0.2, 0.5)
    for operation in operations_of(model):
        if d.chance(share):
            operation.trainable = False
    if not model.trainable_weights:
        model.trainable = False  # on TensorFlow, Keras takes no notice of the value that a flag has already
        model.trainable = True


def operations_of(model) -> list:
    """Layers and models, those within models after them, without operations of keras.ops, which Keras does not list."""
    found = []
    for operation in [layer for layer in model.layers if not getattr(layer, "is_operation", False)]:
        found += [operation, *(operations_of(operation) if hasattr(operation, "layers") else [])]
    return found


# ---- training


LOSSES = {"softmax": ("categorical_crossentropy", "sparse_categorical_crossentropy", "mse"),
          "sigmoid": ("binary_crossentropy", "mse")}


def losses_of(model, rng) -> list[tuple[str | None, float]]:
    """A loss for each output, by the activation that gives it, and a weight. Of several outputs one may have no loss."""
    found = []
    for t in model.outputs:
        activation = getattr(getattr(t._keras_history.operation, "activation", None), "__name__", None)
        choice = LOSSES.get(activation, ("mse", "mae")) if t.shape[-1] > 1 else ("mse", "mae")
        found.append((choice[rng.integers(len(choice))], float(rng.choice([1, 0.5, 2]))))
    if len(found) > 1 and rng.random() < 0.3:
        without = rng.integers(len(found))
        found[without] = None, found[without][1]
    return found


def sample_weights_of(model, rng):
    """None, an array for all outputs, or one for each. Keras has them for outputs of one axis."""
    draw = rng.integers(3) if all(len(t.shape) == 2 for t in model.outputs) else 0
    weights = [rng.uniform(0, 2, BATCH * STEPS).astype("float32") for _ in model.outputs]
    return None if draw == 0 else weights[0] if draw == 1 or len(weights) == 1 else weights


def targets_of(model, losses: list, rng) -> list[np.ndarray]:
    found = []
    for t, (loss, _) in zip(model.outputs, losses):
        shape = (BATCH * STEPS, *t.shape[1:])
        classes = rng.integers(0, shape[-1], shape[:-1])
        y = {"sparse_categorical_crossentropy": classes, "categorical_crossentropy": np.eye(shape[-1])[classes],
             "binary_crossentropy": rng.integers(0, 2, shape)}.get(loss)
        found.append(np.asarray(rng.uniform(-1, 1, shape) if y is None else y, "float32"))
    return found


def compile_model(keras, model, losses: list, by_name: bool) -> None:
    kinds, weights = [loss for loss, _ in losses], [weight for _, weight in losses]
    if len(losses) == 1:
        kinds, weights = kinds[0], weights[0]
    elif by_name:
        kinds, weights = (dict(zip(model.output_names, values)) for values in (kinds, weights))
    options = {"run_eagerly": True} if keras is real else {}
    model.compile(keras.optimizers.SGD(RATE), kinds, loss_weights=weights, **options)


def give_values(model, rng) -> list[np.ndarray]:
    """Also biases, means and variances are random, so that none is left out unseen."""
    values = model.get_weights()
    for i, variable in enumerate(model.weights):
        low = 0.5 if variable.path.endswith(("variance", "gamma")) else -0.5
        if len(variable.shape) == 1:
            values[i] = rng.uniform(low, 1, variable.shape).astype("float32")
    return values


# ---- comparing


class Difference(Exception):
    pass


worst: collections.defaultdict = collections.defaultdict(float)


def same(kind: str, what: str, found, expected, limit: float, scale: float = 0) -> None:
    """Apart by at most `limit` of the largest that is expected; of `scale` where that is larger."""
    found, expected = np.asarray(found, "float64"), np.asarray(expected, "float64")
    if found.shape != expected.shape:
        raise Difference(f"{what}: shape {found.shape}; expected {expected.shape}")
    apart = float(np.max(np.abs(found - expected), initial=0) / max(np.abs(expected).max(initial=0), scale, 1e-30))
    if not apart <= limit:
        raise Difference(f"{what}: {apart:.2e} apart, more than {limit:g}")
    worst[kind] = max(worst[kind], apart)


def equal(what: str, found, expected) -> None:
    if found != expected:
        raise Difference(f"{what}: found {found}; expected {expected}")


def outputs(model, x: list) -> list[np.ndarray]:
    """Of Keras's model without predict(), which would take a second to trace."""
    made = model(several(x), training=False) if isinstance(model, real.Model) else model.predict(several(x), verbose=0)
    return [np.asarray(y) for y in (made if isinstance(made, (list, tuple)) else [made])]


def same_outputs(what: str, found, expected: list, x: list) -> None:
    own = outputs(found, x)
    equal(f"{what}: outputs", len(own), len(expected))
    for i, (a, b) in enumerate(zip(own, expected)):
        same("outputs", f"{what}: output {i}", a, b, OUTPUT_LIMIT, 1e-3)


def has_models(model) -> bool:
    return any(hasattr(operation, "layers") for operation in model.layers)


def compare_in_onnxruntime(path: str, mine, x: list, expected: list) -> None:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [end.name for end in session.get_inputs()]
    if len(names) > 1:
        equal("ONNX: inputs", names, mine.input_names)
    for i, (a, b) in enumerate(zip(session.run(None, dict(zip(names, x))), expected)):
        same("outputs in onnxruntime", f"ONNX: output {i}", a, b, OUTPUT_LIMIT, 1e-3)


def compare_files(model, mine, x: list, folder: str) -> None:
    """Both ways; cornu's files have no models within models."""
    expected, config, flat = outputs(model, x), model.to_json(), not has_models(model)
    operations = [type(o).__name__ for o in model.operations if o not in model.layers]
    for ending in (".keras", ".h5", ".weights.h5", ".safetensors", ".onnx"):
        path, theirs = f"{folder}/m{ending}", f"{folder}/k{ending}"
        back = again = None
        if ending == ".weights.h5":
            if flat:
                mine.save_weights(path)
                model.save_weights(theirs)
                again, back = ours.models.model_from_json(config), real.models.model_from_json(config)
                again.load_weights(theirs)
                back.load_weights(path)
        elif ending == ".onnx":
            mine.export(path, verbose=False)
            compare_in_onnxruntime(path, mine, x, expected)
            try:
                again = ours.models.load_model(path)
            except NotImplementedError as refused:  # what is no layer: a Dot that normalizes, and the like
                equal("the refusal names a node", f"{path}: " in str(refused) and "(" in str(refused), True)
        else:
            mine.save(path)
            again = ours.models.load_model(path)
            # Keras does not read operations in .h5 files, its own among them.
            back = real.models.load_model(path) if ending == ".keras" or ending == ".h5" and not operations else None
            if back and flat:
                if all(kind in SAME_FORM for kind in operations):
                    equal(f"{ending}: the configuration", json.loads(back.to_json())["config"], json.loads(config)["config"])
                model.save(theirs)
                same_outputs(f"{ending} of Keras in cornu", ours.models.load_model(theirs), expected, x)
        if back:
            same_outputs(f"{ending} of cornu in Keras", back, expected, x)
        if again:
            same_outputs(f"{ending} read by cornu", again, expected, x)


def train(model, x: list, y: list, weights) -> list:
    scores = []
    for i in range(0, len(x[0]), BATCH):
        w = [a[i:i + BATCH] for a in weights] if isinstance(weights, list) else None if weights is None else weights[i:i + BATCH]
        scores.append(model.train_on_batch(several([a[i:i + BATCH] for a in x]), several([a[i:i + BATCH] for a in y]), w))
    return scores


def same_training(what: str, found: tuple, expected: tuple, names: list) -> None:
    """(scores, weights before, weights after) of both. A gradient may be a small sum of large numbers: a change is compared with
    the largest of all, too."""
    same("losses", f"{what}: losses", found[0], expected[0], CHANGE_LIMIT)
    changes = [after - before for before, after in zip(*expected[1:])]
    largest = max(np.abs(change).max(initial=0) for change in changes)
    for name, change, before, after in zip(names, changes, found[1], found[2]):
        scale = max(largest / 10, ROUNDING * np.abs(before).max(initial=0))
        same("changes", f"{what}: the change of {name}", after - before, change, CHANGE_LIMIT, scale)


def compare(seed: int, number: int, files: bool, kinds: collections.Counter) -> None:
    model, rng = draw(real, seed, number)
    kinds.update(type(operation).__name__ for operation in operations_of(model))
    kinds.update({f"{len(model.inputs)} inputs": 1, f"{len(model.outputs)} outputs": 1})
    kinds["frozen"] += any(not operation.trainable for operation in operations_of(model))
    mine, same_rng = draw(ours, seed, number)
    equal("the generator", same_rng.random(), rng.random())
    equal("layers", [o.name for o in operations_of(mine)], [o.name for o in operations_of(model)])
    equal("inputs", [t.name for t in mine.inputs], [t.name for t in model.inputs])
    equal("outputs", mine.output_names, model.output_names)
    equal("weights", [w.shape for w in mine.weights], [tuple(w.shape) for w in model.weights])
    for which in ("trainable_weights", "non_trainable_weights"):
        equal(which, [w.shape for w in getattr(mine, which)], [tuple(w.shape) for w in getattr(model, which)])
    values, losses = give_values(model, rng), losses_of(model, rng)
    by_name = bool(rng.random() < 0.5) and len(set(model.output_names)) == len(losses)
    x = [rng.uniform(-1, 1, (BATCH * STEPS, *t.shape[1:])).astype("float32") for t in model.inputs]
    y, weights = targets_of(model, losses, rng), sample_weights_of(model, rng)
    kinds["without a loss"] += any(loss is None for loss, _ in losses)
    kinds[f"{'no' if weights is None else 'several' if isinstance(weights, list) else 'one array of'} sample_weight"] += 1
    for keras, m in ((real, model), (ours, mine)):
        m.set_weights(values)
        compile_model(keras, m, losses, by_name)
    expected = outputs(model, x)
    same_outputs("outputs", mine, expected, x)
    opened = []
    with tempfile.TemporaryDirectory() as folder:
        if not has_models(model):
            model.save(f"{folder}/first.keras")
            opened.append(("opened", ours.models.load_model(f"{folder}/first.keras")))
            same_outputs("opened", opened[0][1], expected, x)
        if files:
            compare_files(model, mine, x, folder)
    names = [w.path for w in model.weights]
    try:
        scores = train(model, x, y, weights)
    except ValueError as error:
        if "No gradients provided" in str(error):  # all that the losses depend on is frozen
            return
        raise
    result = (scores, values, model.get_weights())
    for what, m in [("trained", mine), *opened]:
        before = m.get_weights()
        same_training(what, (train(m, x, y, weights), before, m.get_weights()), result, names)


def show(config: dict, indent: str = "  ") -> str:
    lines = []
    for layer in config["layers"]:
        reads = [json.dumps(t["config"]["keras_history"][:2]) if isinstance(t, dict) and "keras_history" in t["config"] else str(t)
                 for n in layer.get("inbound_nodes", []) for a in n["args"] for t in (a if isinstance(a, list) else [a])]
        own = {k: v for k, v in layer["config"].items() if k in (
            "filters", "kernel_size", "strides", "padding", "activation", "units", "pool_size", "target_shape", "axis", "groups",
            "axes", "normalize", "trainable", "batch_shape")}
        lines.append(f"{indent}{layer['config']['name']} on {', '.join(reads)} {own}")
        if "layers" in layer["config"]:
            lines.append(show(layer["config"], indent + "    "))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=30)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first graph's number")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed, kinds = 0, collections.Counter()
    for number in range(options.first, options.first + options.graphs):
        try:
            compare(options.seed, number, number - options.first < options.files, kinds)
        except Exception as error:
            told = str(error) if isinstance(error, Difference) else traceback.format_exc(limit=-3)[-900:]
            failed += 1
            model, _ = draw(real, options.seed, number)
            print(f"graph {number}: {told}\n{show(model.get_config())}", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    print(f"{options.graphs} graphs, {failed} differ; apart at most: {', '.join(f'{k} {v:.1e}' for k, v in worst.items())}; "
          f"Keras {real.__version__}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

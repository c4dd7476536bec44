#!/usr/bin/env python3
"""Write what real Keras computes for each layer, loss, metric and optimizer as small .npz files.

usage: make_fixtures.py [--seed N] [--output FOLDER]

Besides, tiny.npz: a data set of a few samples.

The files in tests/fixtures were made with the default seed; `./check --all` makes others with another
seed and compares cornu with those too. tests/parity/fixtures_test.c reads them. Each file holds many
cases; the members of a case are

    CASE/model, CASE/compile   JSON as bytes: Keras's to_json(); optimizer, loss, metrics as Keras writes them
                               (left out: sgd and mean_squared_error)
    CASE/weight/LAYER/NAME     the weights before the first step
    CASE/x, CASE/y             one batch; in optimizers.npz and frozen.npz [steps][batch]...; in metrics.npz [batches][batch]...
and what Keras gives:
    CASE/output                predict
    CASE/loss_evaluate         evaluate's loss (scalar)
    CASE/loss                  the training step's loss (scalar; in those two one a step)
    CASE/gradient/LAYER/NAME   of the training loss with respect to a weight, CASE/input_gradient to x
    CASE/after/LAYER/NAME      moving statistics after the forward pass; in those two [steps]...
    CASE/metric                the compiled metric's value over all batches
"""
import argparse
import io
import json
import os
import warnings
import zipfile
import zlib

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# oneDNN's own order of summation inside TensorFlow differs more from the exact value.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers as L, ops  # noqa: E402

BATCH = 3


class Group:
    """The members of one file, and the random numbers of its cases: each case has its own stream, so
    that adding one leaves the others as they were."""

    def __init__(self, seed):
        self.seed, self.members, self.case = seed, {}, None

    def start(self, case):
        assert f"{case}/model" not in self.members, case
        self.case = case
        self.random = np.random.default_rng([self.seed, zlib.crc32(case.encode())])

    def put(self, name, value):
        if isinstance(value, str):
            value = np.frombuffer(value.encode(), np.uint8)
        value = np.asarray(value)
        if value.dtype == np.float64 or value.dtype == np.int64 and value.ndim == 0:  # Normalization's count
            value = value.astype(np.float32)
        self.members[f"{self.case}/{name}"] = value

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def write(self, path):
        """As np.savez_compressed, which adds 20 bytes to each of many small members."""
        with zipfile.ZipFile(path, "w") as file:
            for name, value in self.members.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, value)
                file.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), zipfile.ZIP_DEFLATED, 9)
        cases = sum(name.endswith("/model") for name in self.members)
        print(f"{path}: {cases} cases, {os.path.getsize(path)} bytes")


def serialize_loss(loss):
    """With the options that Keras 3.15 leaves out of Huber's and CosineSimilarity's configurations."""
    section = keras.losses.serialize(loss)
    if isinstance(loss, (keras.losses.Huber, keras.losses.CosineSimilarity)):
        section["config"] |= loss._fn_kwargs
    return section


def compile_section(optimizer=None, loss=None, metrics=()):
    plain = lambda o, serialize: o if o is None or isinstance(o, str) else serialize(o)
    section = {"optimizer": plain(optimizer or "sgd", keras.optimizers.serialize),
               "loss": plain(loss or "mean_squared_error", serialize_loss),
               "metrics": [plain(m, keras.metrics.serialize) for m in metrics]}
    return json.dumps(section)


def set_weights(group, model):
    """Weights that are no special case: no zeros, variances above zero, no saturated activations."""
    for name, w in named_weights(model):
        value = group.normal(*w.shape)
        if w.name == "kernel":
            value = (value / np.sqrt(np.prod(w.shape[:-1]))).astype(np.float32)
        if w.name in ("moving_variance", "variance", "gamma"):
            value = np.abs(value) + 0.5
        w.assign(value)
        group.put(f"weight/{name}", w.numpy())


def layers_in(layer):
    """Of a model, or of a layer around others; else none."""
    if isinstance(layer, L.Bidirectional):
        return [layer.forward_layer, layer.backward_layer]
    if isinstance(layer, (L.SpectralNormalization, L.TimeDistributed)):
        return [layer.layer]
    if type(layer) is L.RNN:
        return [layer.cell]
    if isinstance(layer, L.StackedRNNCells):
        return layer.cells
    return layer.layers if isinstance(layer, keras.Model) else []


def named_weights(model, within=""):
    for layer in layers_in(model):
        if layers_in(layer):
            yield from named_weights(layer, f"{within}{layer.name}/")
            if isinstance(layer, L.SpectralNormalization):
                yield f"{within}{layer.name}/vector_u", layer.vector_u
        else:
            parts = 2 if isinstance(layer, L.MultiHeadAttention) else 1  # its weights are those of layers in it
            yield from ((f"{within}{layer.name}/{'_'.join(w.path.split('/')[-parts:])}", w) for w in layer.weights)


def step_function(model):
    """One training step as fit does it, up to the gradients: in a graph, where Keras finds the logits
    under a softmax or sigmoid."""
    @tf.function
    def step(x, y):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            prediction = model(x, training=True)
            loss = model.compute_loss(x=x, y=y, y_pred=prediction)
        gradients = tape.gradient(loss, model.trainable_weights)
        return loss, gradients, tape.gradient(loss, x)
    return step


def write_case(group, case, model, x, y, loss=None, gradients=True, of_input=True):
    group.start(case)
    x, y = (f(group) if callable(f) else f for f in (x, y))
    model.compile(optimizer="sgd", loss=loss or "mean_squared_error")
    group.put("model", model.to_json())
    if loss is not None:
        group.put("compile", compile_section(loss=loss))
    set_weights(group, model)
    for layer in model.layers:
        if isinstance(layer, L.Normalization):
            layer.finalize_state()  # it computes with a copy of its weights
    if y is None:
        y = group.normal(*((len(x),) + tuple(model.output_shape[1:])))
    group.put("x", x)
    group.put("y", y)
    group.put("output", model.predict(x, verbose=0, batch_size=len(x)))
    group.put("loss_evaluate", model.evaluate(x, y, verbose=0, batch_size=len(x)))
    if not gradients:
        return
    trainable = {id(w) for w in model.trainable_weights}
    value, of_weights, input_gradient = step_function(model)(tf.constant(x), tf.constant(y))
    group.put("loss", value)
    if of_input and input_gradient is not None:  # None: numbers of rows have none
        group.put("input_gradient", input_gradient)
    names = {id(w): name for name, w in named_weights(model)}
    for w, g in zip(model.trainable_weights, of_weights):
        group.put(f"gradient/{names[id(w)]}", tf.convert_to_tensor(g))  # an Embedding has slices
    for name, w in named_weights(model):
        if id(w) not in trainable:
            group.put(f"after/{name}", w.numpy())


# ---- layers: (case, shape of one input, layers) ---------------------------------------------------

def layer_cases():
    yield "dense", (7,), [L.Dense(5)]
    yield "dense_no_bias", (7,), [L.Dense(1, use_bias=False)]
    yield "dense_wide", (33,), [L.Dense(65, activation="relu")]
    yield "dense_on_rank_3", (4, 7), [L.Dense(3, activation="tanh")]
    for name in ("linear", "relu", "leaky_relu", "elu", "gelu", "sigmoid", "tanh", "silu", "softmax"):
        yield f"dense_{name}", (6,), [L.Dense(5, activation=name)]
        yield f"activation_{name}", (3, 4, 5), [L.Activation(name)]
        yield f"conv_{name}", (5, 4, 3), [L.Conv2D(4, 3, activation=name)]
    yield "relu_layer", (9,), [L.ReLU()]
    yield "leaky_relu_layer", (9,), [L.LeakyReLU()]
    yield "leaky_relu_layer_slope", (2, 9), [L.LeakyReLU(negative_slope=0.05)]
    yield "elu_layer", (9,), [L.ELU()]
    yield "elu_layer_alpha", (3, 5), [L.ELU(alpha=0.7)]
    yield "softmax_layer", (4, 6), [L.Softmax()]

    yield "conv_3x3_valid", (7, 6, 2), [L.Conv2D(3, 3)]
    yield "conv_3x3_same", (7, 6, 2), [L.Conv2D(3, 3, padding="same")]
    yield "conv_5x5_same", (6, 9, 1), [L.Conv2D(4, 5, padding="same")]
    yield "conv_1x1", (5, 5, 6), [L.Conv2D(7, 1)]
    yield "conv_no_bias", (5, 5, 3), [L.Conv2D(2, 2, use_bias=False)]
    yield "conv_even_kernel_same", (5, 6, 2), [L.Conv2D(3, (2, 4), padding="same")]
    yield "conv_oblong_kernel", (8, 7, 2), [L.Conv2D(3, (1, 5))]
    yield "conv_stride_2_valid", (8, 7, 2), [L.Conv2D(3, 3, strides=2)]
    yield "conv_stride_2_same_even", (8, 6, 2), [L.Conv2D(3, 3, strides=2, padding="same")]
    yield "conv_stride_2_same_odd", (7, 9, 2), [L.Conv2D(3, 3, strides=2, padding="same")]
    yield "conv_stride_3_2_same", (10, 7, 3), [L.Conv2D(2, (4, 3), strides=(3, 2), padding="same")]
    yield "conv_stride_over_kernel", (9, 9, 2), [L.Conv2D(3, 2, strides=3)]
    yield "conv_dilation_2_valid", (9, 8, 2), [L.Conv2D(3, 3, dilation_rate=2)]
    yield "conv_dilation_2_3_same", (9, 8, 2), [L.Conv2D(3, 3, dilation_rate=(2, 3), padding="same")]
    yield "conv_groups_2", (6, 5, 4), [L.Conv2D(6, 3, groups=2, padding="same")]
    yield "conv_groups_depthwise", (6, 5, 4), [L.Conv2D(4, 3, groups=4, activation="relu")]
    yield "conv_groups_3_stride_2", (7, 7, 6), [L.Conv2D(9, 3, groups=3, strides=2, padding="same")]
    yield "conv_kernel_over_input_same", (2, 3, 2), [L.Conv2D(3, 5, padding="same")]
    yield "conv_one_pixel", (1, 1, 3), [L.Conv2D(4, 3, padding="same")]
    yield "conv_17_channels", (5, 5, 17), [L.Conv2D(19, 3, padding="same", activation="relu")]

    for name, pool in (("max", L.MaxPooling2D), ("average", L.AveragePooling2D)):
        yield f"{name}_pool_2", (6, 6, 3), [pool(2)]
        yield f"{name}_pool_2_odd", (7, 5, 3), [pool(2)]
        yield f"{name}_pool_2_odd_same", (7, 5, 3), [pool(2, padding="same")]
        yield f"{name}_pool_3_stride_1", (6, 5, 2), [pool(3, strides=1)]
        yield f"{name}_pool_3_stride_2_same", (7, 8, 2), [pool(3, strides=2, padding="same")]
        yield f"{name}_pool_oblong", (8, 9, 2), [pool((2, 3), strides=(3, 2))]
        yield f"{name}_pool_stride_over_window", (9, 9, 1), [pool(2, strides=4)]
    yield "global_average_pool", (5, 4, 6), [L.GlobalAveragePooling2D()]
    yield "global_average_pool_keepdims", (5, 4, 6), [L.GlobalAveragePooling2D(keepdims=True)]
    yield "flatten", (3, 4, 2), [L.Flatten(), L.Dense(4)]
    yield "reshape", (12,), [L.Reshape((2, 3, 2)), L.Conv2D(2, 2)]
    yield "reshape_inferred", (4, 6), [L.Reshape((-1, 3))]
    yield "dropout_rate_0", (8,), [L.Dropout(0.0), L.Dense(3)]
    yield "batch_norm", (5, 4, 3), [L.BatchNormalization()]
    # A bias before it has no gradient but rounding, so there is none here.
    yield "batch_norm_dense", (6,), [L.Dense(5, use_bias=False),
                                     L.BatchNormalization(momentum=0.9, epsilon=1e-2)]
    yield "batch_norm_no_scale", (5, 4, 3), [L.BatchNormalization(scale=False)]
    yield "batch_norm_no_center", (5, 4, 3), [L.BatchNormalization(center=False)]
    yield "batch_norm_bare", (5, 4, 3), [L.BatchNormalization(center=False, scale=False)]
    yield "layer_norm", (5, 4, 3), [L.LayerNormalization()]
    yield "layer_norm_dense", (6,), [L.Dense(5), L.LayerNormalization(epsilon=1e-2), L.Dense(3)]
    yield "layer_norm_no_scale", (5, 4, 3), [L.LayerNormalization(scale=False)]
    yield "layer_norm_no_center", (5, 4, 3), [L.LayerNormalization(center=False)]
    yield "rescaling", (5, 4, 3), [L.Rescaling(1 / 127.5, offset=-1.0)]
    yield "rescaling_first", (6, 4, 3), [L.Rescaling(0.25), L.Conv2D(2, 3)]
    yield "zero_padding", (4, 5, 2), [L.ZeroPadding2D(1)]
    yield "zero_padding_sides", (4, 5, 2), [L.ZeroPadding2D(((1, 0), (2, 3))), L.Conv2D(3, 3)]
    yield "zero_padding_symmetric", (4, 5, 2), [L.ZeroPadding2D((2, 1))]

    yield "conv1d", (9, 3), [L.Conv1D(4, 3, strides=2, padding="same", activation="relu")]
    yield "conv1d_causal", (8, 2), [L.Conv1D(3, 3, padding="causal", dilation_rate=2)]
    yield "conv1d_groups", (7, 4), [L.Conv1D(6, 2, groups=2, use_bias=False)]
    yield "depthwise_conv1d", (8, 3), [L.DepthwiseConv1D(3, depth_multiplier=2, padding="same")]
    yield "depthwise_conv2d", (6, 5, 3), [L.DepthwiseConv2D(3, activation="relu")]
    yield "depthwise_conv2d_multiplier", (6, 7, 2), [L.DepthwiseConv2D((3, 2), strides=2, padding="same", depth_multiplier=3)]
    yield "depthwise_conv2d_dilation", (7, 8, 2), [L.DepthwiseConv2D(3, dilation_rate=2, use_bias=False)]
    yield "separable_conv1d", (9, 3), [L.SeparableConv1D(4, 3, strides=2, depth_multiplier=2)]
    yield "separable_conv2d", (6, 5, 3), [L.SeparableConv2D(4, 3, padding="same", activation="relu")]
    yield "separable_conv2d_multiplier", (7, 6, 2), [L.SeparableConv2D(3, 3, strides=2, depth_multiplier=2, use_bias=False)]
    yield "conv1d_transpose", (5, 3), [L.Conv1DTranspose(4, 3, strides=2, padding="same", activation="relu")]
    yield "conv1d_transpose_valid", (5, 2), [L.Conv1DTranspose(3, 2, strides=3)]
    yield "conv2d_transpose", (4, 3, 3), [L.Conv2DTranspose(4, 3)]
    yield "conv2d_transpose_stride_2_same", (3, 4, 2), [L.Conv2DTranspose(3, 3, strides=2, padding="same", activation="relu")]
    yield "conv2d_transpose_even_same", (3, 4, 2), [L.Conv2DTranspose(3, (4, 2), strides=(2, 1), padding="same")]
    yield "conv2d_transpose_output_padding", (3, 3, 2), [L.Conv2DTranspose(3, 3, strides=2, output_padding=1, use_bias=False)]
    yield "conv2d_transpose_same_output_padding", (3, 3, 2), [L.Conv2DTranspose(2, 3, strides=2, padding="same", output_padding=0)]
    for name, pool in (("max", L.MaxPooling1D), ("average", L.AveragePooling1D)):
        yield f"{name}_pool_1d", (7, 3), [pool(3, strides=2, padding="same")]
        yield f"{name}_pool_1d_odd", (7, 2), [pool(2)]
    yield "global_average_pool_1d", (5, 4), [L.GlobalAveragePooling1D()]
    yield "global_max_pool_1d", (5, 4), [L.GlobalMaxPooling1D(keepdims=True)]
    yield "global_max_pool", (5, 4, 3), [L.GlobalMaxPooling2D()]
    yield "cropping_1d", (6, 2), [L.Cropping1D((1, 2))]
    yield "cropping", (6, 5, 2), [L.Cropping2D(((1, 0), (2, 1)))]
    yield "zero_padding_1d", (4, 3), [L.ZeroPadding1D((2, 1))]
    yield "up_sampling_1d", (4, 3), [L.UpSampling1D(3)]
    yield "up_sampling", (3, 2, 3), [L.UpSampling2D((2, 3))]
    yield "permute", (3, 4, 2), [L.Permute((3, 1, 2))]
    yield "repeat_vector", (5,), [L.RepeatVector(3), L.Conv1D(2, 2)]
    yield "identity", (4,), [L.Identity(), L.Dense(2)]
    yield "group_norm", (4, 3, 6), [L.GroupNormalization(groups=3)]
    yield "group_norm_instances", (5, 4), [L.GroupNormalization(groups=-1, center=False)]
    yield "group_norm_dense", (6,), [L.Dense(8), L.GroupNormalization(groups=2, epsilon=1e-2, scale=False)]
    yield "rms_norm", (4, 6), [L.RMSNormalization(epsilon=1e-3)]
    yield "unit_norm", (4, 3, 2), [L.UnitNormalization(axis=(1, 2))]
    yield "unit_norm_last", (4, 5), [L.UnitNormalization()]

    # Several at once: folding of activations, sharing of memory between buffers.
    yield "stack_conv_pool", (9, 9, 2), [
        L.Conv2D(4, 3, padding="same", activation="relu"), L.MaxPooling2D(2),
        L.Conv2D(5, 3, padding="same", activation="relu"), L.MaxPooling2D(2, padding="same"),
        L.Flatten(), L.Dense(7, activation="relu"), L.Dense(4, activation="softmax")]
    yield "stack_linear_convs", (8, 8, 3), [
        L.Conv2D(4, 3, padding="same"), L.Conv2D(4, 3), L.MaxPooling2D(2, padding="same"),
        L.Flatten(), L.Dropout(0.0), L.Dense(6, activation="relu"), L.Dense(3)]
    yield "stack_batch_norm", (8, 8, 3), [
        L.Rescaling(2.0, offset=0.5), L.ZeroPadding2D(1), L.Conv2D(4, 3, strides=2, use_bias=False),
        L.BatchNormalization(), L.Activation("elu"), L.AveragePooling2D(2),
        L.Conv2D(6, 1, activation="gelu"), L.GlobalAveragePooling2D(), L.Dense(3, activation="sigmoid")]
    yield "stack_separate_activations", (6, 6, 2), [
        L.Conv2D(3, 3), L.ReLU(), L.Flatten(), L.Dense(5), L.Activation("tanh"), L.Dense(4), L.Softmax()]
    yield "adaptive_pooling", (7, 6, 2), [L.AdaptiveAveragePooling2D((6, 4)), L.AdaptiveMaxPooling2D((4, 3)), L.AdaptiveAveragePooling2D(2)]
    yield "activity", (4, 3), [L.Dense(3, "tanh", activity_regularizer=keras.regularizers.L1L2(0.1, 0.2)), L.ActivityRegularization(l2=0.3)]
    yield "adaptive_pooling_1d", (8, 2), [L.AdaptiveMaxPooling1D(6), L.AdaptiveAveragePooling1D(4)]


# ---- networks that branch: (case, shape of one input, its output) ------------------------------------

def residual_block(x):
    stem = L.Conv2D(4, 3, padding="same", activation="tanh")(x)
    y = L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(stem))
    y = L.Activation("elu")(L.Add()([stem, y]))
    return L.Dense(3, activation="softmax")(L.GlobalAveragePooling2D()(y))


def residual_shortcut(x):
    y = L.Activation("tanh")(L.Conv2D(3, 3, strides=2, padding="same")(x))
    y = L.Conv2D(5, 3, padding="same")(y)
    shortcut = L.Conv2D(5, 1, strides=2)(x)
    return L.Dense(2)(L.Flatten()(L.Add()([shortcut, y])))


def parallel_branches(x):
    stem = L.Conv2D(3, 1, activation="tanh")(x)
    branches = [L.Conv2D(3, 1)(stem), L.Conv2D(3, 3, padding="same")(stem),
                L.AveragePooling2D(3, strides=1, padding="same")(stem), stem]
    return L.Dense(2, activation="tanh")(L.Flatten()(L.Average()(branches)))


def merging_cases():
    """Each of two or more inputs: equal shapes, one that is repeated, and different ranks."""
    def branches(x):
        return L.Conv2D(4, 1, activation="tanh")(x), L.Conv2D(4, 1)(x)

    def channels(x):
        return L.Dense(4, activation="sigmoid")(L.GlobalAveragePooling2D()(x))

    for name, make in (("add", L.Add), ("multiply", L.Multiply), ("maximum", L.Maximum), ("minimum", L.Minimum),
                       ("average", L.Average), ("subtract", L.Subtract)):
        two = name == "subtract"
        yield f"merging_{name}", (3, 2, 2), lambda x, f=make, two=two: f()([*branches(x), *branches(x)][:2 if two else 3])
        yield f"merging_{name}_of_channels", (3, 2, 2), lambda x, f=make: f()(
            [L.Reshape((1, 1, 4))(channels(x)), branches(x)[0]])
        yield f"merging_{name}_of_ranks", (3, 2, 2), lambda x, f=make: f()([branches(x)[0], channels(x)])
    for name, make in (("multiply", L.Multiply), ("average", L.Average), ("maximum", L.Maximum)):
        yield f"merging_{name}_of_three_shapes", (4,), lambda x, f=make: f()(
            [L.Reshape((3, 1))(L.Dense(3)(x)), L.Reshape((1, 2))(L.Dense(2)(x)), L.Reshape((2, 1, 1))(L.Dense(2)(x))])
    yield "merging_one_input", (4,), lambda x: L.Add()([L.Dense(3)(x)])
    yield "merging_one_twice", (4,), lambda x: L.Multiply()([x, x])
    for axis in (-1, 1, 2, -2):
        yield f"concatenate_{axis}", (3, 3, 2), lambda x, axis=axis: L.Concatenate(axis=axis)([x, branches(x)[0], x] if axis == -1 else
                                                                                     [*branches(x), branches(x)[0]])
    for case, axes, first, second in (("vectors", 1, (5,), (5,)), ("last", -1, (2, 3), (4, 3)), ("matrices", (2, 1), (2, 3), (3, 4)),
                                      ("first", 1, (3, 2), (3, 4)), ("both_ways", (1, 2), (3, 2), (4, 3)),
                                      ("vector_and_matrix", (1, 2), (3,), (4, 3)), ("middle", 2, (2, 3, 2), (2, 3, 2))):
        for normalize in (False, True):
            yield f"dot_{case}{'_normalized' * normalize}", (4,), lambda x, a=axes, s=(first, second), n=normalize: L.Dot(a, normalize=n)(
                [L.Reshape(t)(L.Dense(int(np.prod(t)), activation=f)(x)) for t, f in zip(s, ("tanh", None))])
    yield "concatenate_one_twice", (4,), lambda x: L.Dense(2)(L.Concatenate()([L.Dense(3, activation="tanh")(x)] * 2))


def operation_cases():
    """Of keras.ops, on tensors of a network: functions of numbers above 0, and quotients."""
    def above(x, units=4):
        return L.Dense(units, activation="sigmoid")(x)

    for name in ("absolute", "exp", "log", "reciprocal", "rsqrt", "sqrt", "square"):
        yield f"function_{name}", (3, 5), lambda x, f=getattr(ops, name): L.Dense(2)(f(above(x)))
    yield "function_absolute_of_both_signs", (4,), lambda x: ops.absolute(L.Dense(6)(x))
    yield "divide", (5,), lambda x: ops.divide(L.Dense(4)(x), above(x))
    yield "divide_by_channels", (3, 2, 2), lambda x: L.Conv2D(4, 1)(x) / L.Reshape((1, 1, 4))(above(L.Flatten()(x)))
    yield "divide_repeated", (3, 4), lambda x: L.Dense(1)(x) / above(x)
    yield from array_cases()


def array_cases():
    """Operands that are arrays."""
    def chosen(x):
        return ops.where(x > row, ops.tanh(x), column)

    row = np.array([0.5, -2, 1.5, 3], "float32")
    column = np.array([[1], [-0.5], [2]], "float32")
    yield "array_arithmetic", (3, 5), lambda x: L.Dense(2)(ops.subtract(column, L.Dense(4)(x) * row) / row + column)
    yield "array_extremes", (3, 5), lambda x: ops.maximum(ops.minimum(column, L.Dense(4)(x)), row - 2)
    yield "array_condition", (3, 5), lambda x: ops.where(np.array([True, False, True, True]), L.Dense(4)(x), L.Dense(1)(x))
    yield "array_chosen", (3, 5), lambda x: chosen(L.Dense(4)(x))
    yield "array_of_matrices", (3, 5), lambda x: ops.matmul(
        np.ones((2, 3), "float32") + column.T, ops.matmul(L.Dense(4)(x), np.outer(row, row)))
    yield "pad_number", (3, 2), lambda x: L.Dense(3)(ops.pad(L.Dense(2)(x), [[0, 0], [2, 1], [0, 1]], constant_values=-1.5))


def graph_cases():
    yield from merging_cases()
    yield from operation_cases()
    yield "add", (5,), lambda x: L.Add()([L.Dense(4)(x), L.Dense(4, activation="tanh")(x)])
    yield "add_one_twice", (3, 4), lambda x: L.Add()([x, L.Dense(4)(x), x])
    yield "average", (6,), lambda x: L.Average()([L.Dense(4)(x), L.Dense(4)(x), L.Dense(4)(x)])
    yield "residual_block", (6, 5, 2), residual_block
    yield "residual_shortcut", (6, 7, 2), residual_shortcut
    yield "parallel_branches", (5, 5, 2), parallel_branches


def make_layers(seed):
    group = Group(seed)
    for case, shape, stack in layer_cases():
        keras.backend.clear_session()
        write_case(group, case, keras.Sequential([keras.Input(shape)] + stack),
                   lambda g, s=shape: g.normal(BATCH, *s), None)
    # Random masks cannot agree; what is predicted must.
    write_case(group, "dropout_in_prediction", keras.Sequential([keras.Input((8,)), L.Dropout(0.5)]),
               lambda g: g.normal(BATCH, 8), None, gradients=False)
    x = keras.Input((6, 6, 2))
    y = L.Conv2D(3, 3, activation="relu", name="first")(x)
    y = L.Dense(4, activation="softmax", name="last")(L.Flatten()(y))
    write_case(group, "functional_chain", keras.Model(x, y), lambda g: g.normal(BATCH, 6, 6, 2), None)
    return group


def preprocessing_cases():
    """Random layers whose two ends are equal: nothing is left to chance."""
    yield "rotation", (5, 4, 1), [L.RandomRotation((0.1, 0.1)), L.RandomRotation((-0.2, -0.2), fill_mode="constant", fill_value=0.5)]
    yield "rotation_borders", (5, 4, 1), [L.RandomRotation((0.3, 0.3), fill_mode="wrap"), L.RandomRotation((0.4, 0.4), fill_mode="nearest")]
    yield "rotation_nearest_pixel", (5, 5, 1), [L.RandomRotation((0.13, 0.13), fill_mode="constant", interpolation="nearest")]
    yield "zoom", (5, 4, 1), [L.RandomZoom((0.3, 0.3)), L.RandomZoom((0.7, 0.7), (-0.2, -0.2), fill_mode="constant"),
                              L.RandomZoom((0.9, 0.9), (0.8, 0.8), fill_mode="wrap")]
    yield "translation", (3, 5, 1), [L.RandomTranslation((0.3, 0.3), (-0.25, -0.25)),
                                     L.RandomTranslation((0.25, 0.25), (-0.3, -0.3), fill_mode="constant", fill_value=2.0)]
    yield "translation_nearest_pixel", (4, 5, 1), [L.RandomTranslation((-0.4, -0.4), (0.45, 0.45), interpolation="nearest")]
    yield "contrast_and_brightness", (2, 3, 2), [L.RandomContrast((0.0, 0.0), value_range=(-1, 1)),
                                                 L.RandomBrightness((0.1, 0.1), value_range=(1, -1))]
    yield "colors", (3, 4, 3), [L.Rescaling(0.1, 1.0), L.RandomColorDegeneration((0.3, 0.3), (0, 2)), L.RandomSaturation((0.3, 0.3), (0, 2)),
                                L.RandomHue((1.0, 1.0), (0, 2)), L.RandomSharpness((0.2, 0.2), (0, 2))]
    yield "color_jitter", (2, 3, 3), [L.Rescaling(0.1, 1.0), L.RandomColorJitter((0, 2), (0.1, 0.1), (0.0, 0.0), (0.7, 0.7), (1.0, 1.0)),
                                      L.RandomSaturation((0.9, 0.9), (0, 1)), L.RandomGrayscale(0.0)]
    yield "channels", (3, 4, 2), [L.RandomInvert((1.0, 1.0), (-1, 1)), L.RandomPosterization((3, 3), (-4, 4)),
                                  L.Solarization(value_range=(-2, 2)), L.RandomInvert((0.0, 0.0)), L.RandomErasing((0.0, 0.0))]
    yield "auto_contrast", (3, 4, 2), [L.AutoContrast((-1, 1))]
    yield "gray", (2, 3, 3), [L.RandomGrayscale(1.0)]
    yield "resizing", (5, 4, 1), [L.Resizing(3, 7), L.Resizing(7, 3, "nearest"), L.Resizing(4, 3, crop_to_aspect_ratio=True),
                                  L.Resizing(5, 6, pad_to_aspect_ratio=True, fill_value=0.5),
                                  L.Resizing(4, 3, "nearest", pad_to_aspect_ratio=True)]
    yield "up_sampling_bilinear", (2, 3, 1), [L.UpSampling2D((2, 3), interpolation="bilinear")]
    yield "center_crop", (5, 6, 1), [L.CenterCrop(4, 3), L.CenterCrop(2, 5)]
    yield "categories", (4,), [L.Discretization([-0.4, 0.4]), L.CategoryEncoding(3, "count"), L.CategoryEncoding(5),
                               L.CategoryEncoding(2, "one_hot")]
    yield "bins", (3, 2), [L.Discretization([-0.3, 0.4], output_mode="count"), L.Discretization([1.0, 2.0], output_mode="multi_hot"),
                           L.Discretization([-1.0, 1.0, 1.0], output_mode="one_hot")]
    yield "normalization", (5,), [L.Normalization()]
    yield "normalization_axes", (2, 3, 2), [L.Normalization(axis=(1, 3)), L.Normalization(axis=None, invert=True)]
    yield "normalization_given", (2, 3), [L.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 0.0, 0.25]),
                                          L.Normalization(axis=1, mean=[0.5, 1.5], variance=[1.0, 2.0], invert=True),
                                          L.Normalization(axis=(1, 2), mean=2.0, variance=9.0)]


def make_preprocessing(seed):
    """TensorFlow's gradient of a resampled image is that of a transform near to it, and not held against cornu's."""
    group = Group(seed)
    for case, shape, stack in preprocessing_cases():
        keras.backend.clear_session()
        write_case(group, case, keras.Sequential([keras.Input(shape), *stack, L.Flatten(), L.Dense(1)]),
                   lambda g, s=shape: g.normal(BATCH, *s), None, of_input=False)
    return group


def make_networks(seed, cases):
    group = Group(seed)
    for case, shape, output in cases:
        keras.backend.clear_session()
        x = keras.Input(shape)
        write_case(group, case, keras.Model(x, output(x)), lambda g, s=shape: g.normal(BATCH, *s), None)
    return group


def make_graphs(seed):
    return make_networks(seed, graph_cases())


# ---- activations: (case, shape of one input, its output) ---------------------------------------------

# Those that are always an operation of their own.
ALONE = ("celu", "exponential", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh", "log_sigmoid", "mish", "relu6", "selu",
         "soft_shrink", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh_shrink")
RELU_OPTIONS = ({"max_value": 0.7}, {"max_value": 6.0}, {"negative_slope": 0.3}, {"threshold": 0.4},
                {"max_value": 0.7, "negative_slope": 0.3}, {"max_value": 0.7, "negative_slope": 0.3, "threshold": 0.4})
OPERATIONS = (("celu", {"alpha": 0.6}), ("gelu", {}), ("gelu", {"approximate": False}), ("hard_shrink", {"threshold": 0.3}),
              ("soft_shrink", {"threshold": 0.3}), ("squareplus", {"b": 0.5}), ("threshold", {"threshold": 0.2, "default_value": -1.5}),
              ("relu6", {}), ("sparse_plus", {}), ("log_sigmoid", {}))


def activation_cases():
    """By name, as layers with options, and as operations of keras.ops."""
    def beside(*made):
        return lambda x: L.Concatenate()([f(x) for f in made])

    yield "names", (4, 5), lambda x: beside(*map(L.Activation, ALONE))(L.Rescaling(3.0)(x))
    yield "in_layers", (5, 4, 3), lambda x: L.Dense(5, activation="mish")(L.Conv2D(4, 3, activation="selu")(x))
    yield "relu", (4, 5), beside(*(L.ReLU(**options) for options in RELU_OPTIONS))
    yield "operations", (4, 5), beside(*(lambda x, f=getattr(ops, name), o=o: f(x, **o) for name, o in OPERATIONS))
    yield "prelu", (4, 3), lambda x: L.PReLU(shared_axes=[1])(L.PReLU("he_normal")(L.Dense(5)(x)))
    yield "prelu_of_channels", (4, 3, 2), lambda x: L.PReLU(shared_axes=[1, 2])(L.Conv2D(3, 2)(x))
    yield "softmax", (2, 3, 4), beside(*(L.Softmax(axis) for axis in (1, 2, [1, 2], [3, 1])))
    yield "glu", (4, 3), lambda x: ops.glu(ops.glu(L.Dense(4)(x), axis=1))
    yield "of_rows", (3, 4), lambda x: L.Dense(3, activation="sparsemax")(beside(
        L.Activation("log_softmax"), L.Activation("sparsemax"), lambda x: ops.log_softmax(x, 1), lambda x: ops.sparsemax(x, 1))(x))


def make_activations(seed):
    return make_networks(seed, activation_cases())


# ---- layers of sequences: (case, shape of one input, its output) --------------------------------------

def numbers(most, offset=0.0):
    """Numbers for the rows of an Embedding, from the end where they are negative, of any input."""
    return lambda x: L.Rescaling(most, offset)(L.Activation("tanh")(x))


def states_of_an_encoder(x):
    _, h, c = L.LSTM(2, return_state=True)(x)
    y, last, _ = L.LSTM(2, return_sequences=True, return_state=True)(x, initial_state=[h, c])
    return L.Add()([L.GRU(2)(y, initial_state=c), last])


def states_of_both_directions(x):
    _, *states = L.Bidirectional(L.SimpleRNN(2, return_state=True), merge_mode=None)(x)
    y, h, _ = L.Bidirectional(L.SimpleRNN(2, return_state=True), merge_mode="sum")(x, initial_state=states[1:])
    return L.Multiply()([y, h, states[0]])


def scores_of_attention(x):
    y, scores = L.MultiHeadAttention(2, 2, use_bias=False)(x, L.Dense(2)(x), return_attention_scores=True)
    z, more = L.Attention()([y, x], return_attention_scores=True, use_causal_mask=True)
    _, last = L.AdditiveAttention()([z, more], return_attention_scores=True)
    return L.Add()([L.Dense(2)(L.Reshape((3, 6))(scores)), L.Dense(2)(last), L.Dense(2)(more)])


def sequence_cases():
    yield "embedding", (4,), lambda x: L.Embedding(5, 3)(numbers(4.9)(x))
    yield "embedding_of_matrices", (3, 2), lambda x: L.Dense(2, activation="tanh")(L.Embedding(6, 4)(numbers(2.9, 3.0)(x)))
    for units, options in ((3, {"return_sequences": True}), (2, {"go_backwards": True, "use_bias": False})):
        for cell in L.SimpleRNN, L.LSTM, L.GRU:
            name = f"{cell.__name__.lower()}_{units}"
            yield name, (3, 4), lambda x, cell=cell, units=units, options=options: cell(units, **options)(x)
    yield "bidirectional_sequences", (3, 4), lambda x: L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode="mul")(
        L.Bidirectional(L.SimpleRNN(2, return_sequences=True), merge_mode="ave")(x))
    yield "bidirectional_of_two", (3, 4), lambda x: L.Bidirectional(
        L.RNN(L.SimpleRNNCell(2), return_sequences=True),
        backward_layer=L.LSTM(2, return_sequences=True, go_backwards=True))(x)
    yield "stacked_cells", (3, 4), lambda x: L.RNN([L.LSTMCell(3), L.GRUCell(2)], go_backwards=True)(x)
    yield "time_distributed", (3, 4, 5, 2), lambda x: L.TimeDistributed(L.Flatten())(
        L.TimeDistributed(L.Conv2D(3, (2, 3), strides=2, activation="elu"))(x))
    yield "gru_reset_before", (3, 4), lambda x: L.GRU(3, reset_after=False)(x)
    yield "stacked", (4, 2), lambda x: L.Dense(2)(L.GRU(3, recurrent_activation="hard_sigmoid", reset_after=False)(
        L.LSTM(3, activation="elu", return_sequences=True, go_backwards=True)(L.SimpleRNN(3, "sigmoid", return_sequences=True)(x))))
    yield "attention", (3, 4), lambda x: L.Attention()([L.Dense(4)(x), L.Dense(2)(x), x])
    yield "multi_head_attention", (3, 4), lambda x: L.MultiHeadAttention(2, 3, use_bias=False)(x, x)
    yield "multi_head_attention_of_three", (3, 4), lambda x: L.MultiHeadAttention(2, 2, value_dim=3, use_bias=False, output_shape=3)(
        x, L.Dense(3)(x), L.Dense(2, use_bias=False)(x))  # a key's bias changes nothing
    yield "attention_additive", (3, 4), lambda x: L.AdditiveAttention()([x, L.Dense(4)(x)], use_causal_mask=True)
    yield "attention_scaled", (3, 4), lambda x: L.Attention(use_scale=True)([x, L.Dense(4)(x)])
    yield "multi_head_attention_causal", (3, 4), lambda x: L.MultiHeadAttention(2, 2, use_bias=False)(x, L.Dense(3)(x), use_causal_mask=True)
    yield "einsum", (3, 4), lambda x: L.EinsumDense("abcd,cde->aeb", (2, 3), bias_axes="e", activation="tanh")(
        L.EinsumDense("abc,cde->abde", (3, 2, 3), bias_axes="de")(L.EinsumDense("...x,xy->...y", 3)(x)))
    yield "states_of_an_encoder", (3, 2), states_of_an_encoder
    yield "states_of_both_directions", (2, 2), states_of_both_directions
    yield "scores_of_attention", (3, 3), scores_of_attention
    table = L.Embedding(3, 2)
    yield "embedding_twice", (3,), lambda x: L.Add()([table(numbers(2.9)(x)), table(numbers(-2.9)(x))])


def make_sequences(seed):
    return make_networks(seed, sequence_cases())


# ---- layers that are called several times: (case, shape of one input, its output) ---------------------

def shared_convolution(x):
    """A norm's moving statistics change in the order in which Keras runs the calls: the second first."""
    conv, norm = L.Conv2D(2, 3, padding="same", use_bias=False), L.BatchNormalization(momentum=0.6)
    short = norm(conv(x))
    y = norm(conv(L.ReLU()(x)))
    return L.Dense(2)(L.GlobalAveragePooling2D()(L.Add()([L.Activation("tanh")(y), short])))


def shared_in_a_row(x):
    dense, norm = L.Dense(5, activation="tanh"), L.LayerNormalization()
    return L.Dense(3, activation="softmax")(norm(dense(norm(dense(dense(x))))))


def shared_on_two_sizes(x):
    conv, mean = L.Conv2D(2, 3, padding="same", activation="elu"), L.GlobalAveragePooling2D()
    y = conv(x)
    return L.Add()([mean(y), mean(conv(L.AveragePooling2D(2)(y)))])


def shared_cases():
    yield "shared_convolution", (5, 4, 2), shared_convolution
    yield "shared_in_a_row", (5,), shared_in_a_row
    yield "shared_on_two_sizes", (6, 5, 2), shared_on_two_sizes


def make_shared(seed):
    return make_networks(seed, shared_cases())


# ---- losses ---------------------------------------------------------------------------------------

def one_hot(group, n, *rows):
    return np.eye(n, dtype=np.float32)[group.random.integers(0, n, rows)]


def soft(group, n, *rows):
    p = group.random.random(rows + (n,)).astype(np.float32) + 0.1
    return p / p.sum(-1, keepdims=True)


def make_losses(seed):
    group = Group(seed)
    n, b = 5, 4
    losses = keras.losses
    targets = {"categorical": lambda g, *rows: one_hot(g, n, *rows),
               "sparse": lambda g, *rows: g.random.integers(0, n, rows).astype(np.int32),
               "binary": lambda g, *rows: g.random.integers(0, 2, rows + (n,)).astype(np.float32),
               "squared": lambda g, *rows: g.normal(*rows, n)}
    kinds = {"categorical": losses.CategoricalCrossentropy,
             "sparse": losses.SparseCategoricalCrossentropy, "binary": losses.BinaryCrossentropy}

    def identity():
        return keras.Sequential([keras.Input((n,)), L.Flatten()])

    def positive(g):
        return g.random.random((b, n)).astype(np.float32) * 0.9 + 0.05

    for name, kind in kinds.items():
        y = targets[name]
        batch = lambda g, y=y: y(g, b)
        write_case(group, f"{name}_on_probabilities", identity(), positive, batch, kind())
        write_case(group, f"{name}_on_normalised", identity(), lambda g: soft(g, n, b), batch, kind())
        write_case(group, f"{name}_from_logits", identity(), lambda g: 3 * g.normal(b, n), batch,
                   kind(from_logits=True))
        write_case(group, f"{name}_from_large_logits", identity(), lambda g: 60 * g.normal(b, n), batch,
                   kind(from_logits=True))
        for act in ("softmax", "sigmoid"):
            write_case(group, f"{name}_under_dense_{act}",
                       keras.Sequential([keras.Input((6,)), L.Dense(n, activation=act)]),
                       lambda g: g.normal(b, 6), batch, kind())
            write_case(group, f"{name}_under_large_{act}",
                       keras.Sequential([keras.Input((n,)), L.Activation(act)]),
                       lambda g: 40 * g.normal(b, n), batch, kind())
            write_case(group, f"{name}_from_logits_under_{act}",
                       keras.Sequential([keras.Input((6,)), L.Dense(n, activation=act)]),
                       lambda g: g.normal(b, 6), batch, kind(from_logits=True))
        write_case(group, f"{name}_under_softmax_layer",
                   keras.Sequential([keras.Input((6,)), L.Dense(n), L.Softmax()]),
                   lambda g: g.normal(b, 6), batch, kind())
        write_case(group, f"{name}_under_relu",
                   keras.Sequential([keras.Input((n,)), L.Activation("relu")]), positive, batch, kind())
        write_case(group, f"{name}_in_rows",
                   keras.Sequential([keras.Input((3, 6)), L.Dense(n, activation="softmax")]),
                   lambda g: g.normal(b, 3, 6), lambda g, y=y: y(g, b, 3), kind())
    write_case(group, "categorical_soft_targets",
               keras.Sequential([keras.Input((6,)), L.Dense(n, activation="softmax")]),
               lambda g: g.normal(b, 6), lambda g: soft(g, n, b), kinds["categorical"]())
    # At and beyond the clipping at 1e-7 the gradient is zero.
    edge = np.array([[0, 1, 0.5, 1e-9, 0.25], [1, 0, 0.5, 0.5, 1 - 1e-4]], np.float32)
    write_case(group, "binary_clipped", identity(), edge,
               np.array([[0, 1, 1, 1, 0], [1, 1, 0, 1, 1]], np.float32), kinds["binary"]())
    edge = np.array([[0, 1, 0, 0, 0], [0.2, 0.2, 0.2, 0.4, 0]], np.float32)
    write_case(group, "categorical_clipped", identity(), edge,
               np.eye(n, dtype=np.float32)[[1, 4]], kinds["categorical"]())
    write_case(group, "sparse_clipped", identity(), edge, np.array([1, 4], np.int32), kinds["sparse"]())
    write_case(group, "binary_one_output",
               keras.Sequential([keras.Input((6,)), L.Dense(1, activation="sigmoid")]),
               lambda g: g.normal(b, 6), lambda g: g.random.integers(0, 2, (b, 1)).astype(np.float32),
               kinds["binary"]())
    write_case(group, "squared", identity(), lambda g: g.normal(b, n), lambda g: g.normal(b, n),
               losses.MeanSquaredError())
    write_case(group, "squared_under_softmax",
               keras.Sequential([keras.Input((6,)), L.Dense(n, activation="softmax")]),
               lambda g: g.normal(b, 6), lambda g: soft(g, n, b), losses.MeanSquaredError())
    write_case(group, "squared_image", keras.Sequential([keras.Input((4, 4, 2)), L.Conv2D(3, 3)]),
               lambda g: g.normal(b, 4, 4, 2), None, losses.MeanSquaredError())
    write_case(group, "absolute", identity(), lambda g: g.normal(b, n), lambda g: g.normal(b, n),
               losses.MeanAbsoluteError())
    # What is met exactly has no gradient.
    write_case(group, "absolute_met", identity(), np.array([[0, 1, -2, 0.5, 3], [1, 1, 1, 1, 1]], np.float32),
               np.array([[0, 1, -1, 0.25, 3], [1, 0, 2, 1, 1]], np.float32), losses.MeanAbsoluteError())
    write_case(group, "absolute_image", keras.Sequential([keras.Input((4, 4, 2)), L.Conv2D(3, 3)]),
               lambda g: g.normal(b, 4, 4, 2), None, losses.MeanAbsoluteError())

    def dense(activation=None):
        return keras.Sequential([keras.Input((6,)), L.Dense(n, activation=activation)])

    def wide(g):
        return g.normal(b, 6)

    numbers, distributions = (lambda g: g.normal(b, n)), (lambda g: soft(g, n, b))
    classes, ones = (lambda g: targets["sparse"](g, b)), (lambda g: one_hot(g, n, b))
    bits, signs = (lambda g: targets["binary"](g, b)), (lambda g: 2 * targets["binary"](g, b) - 1)
    counts = lambda g: g.random.integers(0, 6, (b, n)).astype(np.float32)
    for name, x, y, loss in (
            ("percentage", numbers, numbers, losses.MeanAbsolutePercentageError()),
            ("percentage_of_0", numbers, ones, losses.MeanAbsolutePercentageError()),
            ("logarithmic", numbers, numbers, losses.MeanSquaredLogarithmicError()),
            ("huber", lambda g: 2 * g.normal(b, n), numbers, losses.Huber()),
            ("huber_of_04", numbers, numbers, losses.Huber(delta=0.4)),
            ("log_cosh", lambda g: 5 * g.normal(b, n), numbers, losses.LogCosh()),
            ("cosine", numbers, numbers, losses.CosineSimilarity()),
            ("cosine_of_0", np.array([[0, 0, 0, 0, 0], [1e-9, 0, 2e-9, 0, 0], [1, 2, 3, 4, 5]], np.float32),
             np.array([[1, 2, 3, 4, 5], [1, 2, 0, 0, 0], [0, 0, 0, 0, 0]], np.float32), losses.CosineSimilarity()),
            ("poisson", positive, counts, losses.Poisson()),
            ("hinge_of_signs", numbers, signs, losses.Hinge()),
            ("hinge_of_bits", numbers, bits, losses.Hinge()),
            ("hinge_on_the_margin", np.array([[1, 2, 0.5, -1, -2]], np.float32),
             np.array([[1, 1, 1, -1, -1]], np.float32), losses.Hinge()),
            ("squared_hinge_of_signs", numbers, signs, losses.SquaredHinge()),
            ("squared_hinge_of_bits", numbers, bits, losses.SquaredHinge()),
            ("categorical_hinge", numbers, ones, losses.CategoricalHinge()),
            ("categorical_hinge_of_ties", np.array([[1, 1, 0.5, 1, 0], [3, 1, 1, 1, 1]], np.float32),
             np.eye(n, dtype=np.float32)[[2, 0]], losses.CategoricalHinge()),
            ("divergence", distributions, distributions, losses.KLDivergence()),
            ("divergence_clipped", np.array([[0, 1, 1.5, -1, 0.3], [1, 1e-8, 0.5, 0.2, 0.3]], np.float32),
             np.array([[0.2, 0, 0.3, 0.1, 2], [1, 0, 0, 0, 0]], np.float32), losses.KLDivergence()),
            ("binary_focal", positive, bits, losses.BinaryFocalCrossentropy()),
            ("binary_focal_clipped", edge, np.array([[0, 1, 1, 1, 0], [1, 1, 0, 1, 1]], np.float32),
             losses.BinaryFocalCrossentropy(gamma=1.0)),
            ("binary_focal_from_logits", numbers, bits,
             losses.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.3, gamma=1.5, from_logits=True)),
            ("categorical_focal", positive, ones, losses.CategoricalFocalCrossentropy()),
            ("categorical_focal_from_logits", numbers, ones,
             losses.CategoricalFocalCrossentropy(alpha=0.4, gamma=1.5, from_logits=True)),
            ("generalized", positive, classes, losses.CategoricalGeneralizedCrossEntropy(q=0.7)),
            ("categorical_smoothed_from_logits", numbers, ones,
             losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)),
            ("binary_smoothed", positive, bits, losses.BinaryCrossentropy(label_smoothing=0.2)),
            ("squared_sum", numbers, numbers, losses.MeanSquaredError(reduction="sum"))):
        write_case(group, name, identity(), x, y, loss)
    for name, activation, y, loss in (
            ("binary_focal_under_sigmoid", "sigmoid", bits,
             losses.BinaryFocalCrossentropy(apply_class_balancing=True, label_smoothing=0.1)),
            ("binary_focal_from_logits_under_sigmoid", "sigmoid", bits,
             losses.BinaryFocalCrossentropy(from_logits=True)),
            ("categorical_focal_under_softmax", "softmax", ones,
             losses.CategoricalFocalCrossentropy(label_smoothing=0.1)),
            ("categorical_focal_from_logits_under_softmax", "softmax", ones,
             losses.CategoricalFocalCrossentropy(from_logits=True)),
            ("categorical_focal_under_sigmoid", "sigmoid", ones, losses.CategoricalFocalCrossentropy(gamma=0.5)),
            ("generalized_under_softmax", "softmax", classes, losses.CategoricalGeneralizedCrossEntropy()),
            ("categorical_sum", "softmax", ones, losses.CategoricalCrossentropy(reduction="sum", label_smoothing=0.1)),
            ("sparse_sum", "softmax", classes, losses.SparseCategoricalCrossentropy(reduction="sum"))):
        write_case(group, name, dense(activation), wide, y, loss)
    write_case(group, "huber_image", keras.Sequential([keras.Input((4, 4, 2)), L.Conv2D(3, 3)]),
               lambda g: g.normal(b, 4, 4, 2), None, losses.Huber(0.5, reduction="sum"))
    for name, loss in (("dice", losses.Dice()), ("dice_axes", losses.Dice(axis=(1, 3))), ("tversky", losses.Tversky(0.3, 0.6))):
        write_case(group, name, keras.Sequential([keras.Input((3, 3, 2)), L.Conv2D(2, 2, activation="sigmoid")]),
                   lambda g: g.normal(3, 3, 3, 2), lambda g: g.random.integers(0, 2, (3, 2, 2, 2)).astype(np.float32), loss)
    labels = np.array([1, 7, 1, 7, 3, 1], np.int32)
    for name, loss in (("circle", losses.Circle(gamma=4.0)), ("circle_sum", losses.Circle(3.0, 0.25, remove_diagonal=False, reduction="sum"))):
        write_case(group, name, keras.Sequential([keras.Input((4,)), L.Dense(3), L.UnitNormalization()]), lambda g: g.normal(6, 4), labels, loss)
    return group


# ---- metrics --------------------------------------------------------------------------------------

def make_metrics(seed):
    group = Group(seed)
    n, batches, b, M = 6, 3, 8, keras.metrics

    def coarse(g, columns):
        """Few different values, so that ties are frequent."""
        return (g.random.integers(0, 5, (batches, b, columns)) / 4).astype(np.float32)

    sparse = lambda g: g.random.integers(0, n, (batches, b)).astype(np.int32)
    dense = lambda g: one_hot(g, n, batches, b)
    bits = lambda columns: lambda g: g.random.integers(0, 2, (batches, b, columns)).astype(np.float32)
    cases = [("binary", n, bits(n), "mean_squared_error", M.BinaryAccuracy()),
             ("categorical", n, dense, "mean_squared_error", M.CategoricalAccuracy()),
             ("categorical_soft", n, lambda g: soft(g, n, batches, b), "mean_squared_error",
              M.CategoricalAccuracy()),
             ("sparse_categorical", n, sparse, "sparse_categorical_crossentropy",
              M.SparseCategoricalAccuracy()),
             ("accuracy_one_hot", n, dense, "categorical_crossentropy", "accuracy"),
             ("accuracy_sparse", n, sparse, "sparse_categorical_crossentropy", "accuracy"),
             ("accuracy_binary", 1, bits(1), "binary_crossentropy", "accuracy")]
    for k in (1, 2, 5):
        cases += [(f"top_{k}", n, dense, "categorical_crossentropy", M.TopKCategoricalAccuracy(k=k)),
                  (f"sparse_top_{k}", n, sparse, "sparse_categorical_crossentropy",
                   M.SparseTopKCategoricalAccuracy(k=k))]
    for ties in (False, True):
        for name, columns, target, loss, metric in cases:
            if not isinstance(metric, str):  # one object keeps what it counted for another model
                metric = type(metric).from_config(metric.get_config())
            model = keras.Sequential([keras.Input((columns,)), L.Flatten()])
            group.start(name + ("_with_ties" if ties else ""))
            x = coarse(group, columns) if ties else \
                group.random.random((batches, b, columns)).astype(np.float32)
            y = target(group)
            model.compile(optimizer="sgd", loss=loss, metrics=[metric])
            group.put("model", model.to_json())
            group.put("compile", compile_section(loss=loss, metrics=[metric]))
            group.put("x", x)
            group.put("y", y)
            flat = lambda a: a.reshape((-1,) + a.shape[2:])
            scores = model.evaluate(flat(x), flat(y), batch_size=b, verbose=0)
            group.put("loss_evaluate", scores[0])
            group.put("metric", scores[1])
    return group


# ---- optimizers -----------------------------------------------------------------------------------

def optimizer_cases():
    O, S = keras.optimizers, keras.optimizers.schedules
    yield "sgd", O.SGD(0.1)
    yield "sgd_momentum", O.SGD(0.1, momentum=0.9)
    yield "sgd_nesterov", O.SGD(0.1, momentum=0.8, nesterov=True)
    yield "sgd_clipnorm", O.SGD(0.1, clipnorm=0.3)
    yield "sgd_clipnorm_above", O.SGD(0.1, clipnorm=1e6)
    yield "sgd_global_clipnorm", O.SGD(0.1, momentum=0.5, global_clipnorm=0.5)
    yield "sgd_clipvalue", O.SGD(0.1, clipvalue=0.2)
    yield "sgd_weight_decay", O.SGD(0.1, weight_decay=0.05)
    yield "adam", O.Adam()
    yield "adam_large_rate", O.Adam(0.05, beta_1=0.8, beta_2=0.9, epsilon=1e-3)
    yield "adam_amsgrad", O.Adam(0.01, amsgrad=True)
    yield "adam_clipnorm", O.Adam(0.01, clipnorm=0.3)
    yield "adam_global_clipnorm", O.Adam(0.01, global_clipnorm=0.3)
    yield "adamw", O.AdamW(0.01)
    yield "adamw_decay", O.AdamW(0.01, weight_decay=0.1, beta_2=0.99)
    yield "adamw_amsgrad", O.AdamW(0.01, amsgrad=True)
    yield "rmsprop", O.RMSprop(0.01)
    yield "rmsprop_rho", O.RMSprop(0.01, rho=0.7, epsilon=1e-3)
    yield "rmsprop_momentum", O.RMSprop(0.01, momentum=0.8)
    yield "rmsprop_centered", O.RMSprop(0.01, centered=True, momentum=0.3)
    yield "adagrad", O.Adagrad(0.1)
    yield "adagrad_initial", O.Adagrad(0.1, initial_accumulator_value=0.0, epsilon=1e-2)
    yield "adagrad_decay", O.Adagrad(0.1, initial_accumulator_value=1.5, weight_decay=0.05)
    yield "adadelta", O.Adadelta(1.0)
    yield "adadelta_rho", O.Adadelta(0.5, rho=0.7, epsilon=1e-2, weight_decay=0.05)
    yield "adamax", O.Adamax(0.05)
    yield "adamax_betas", O.Adamax(0.05, beta_1=0.7, beta_2=0.8, epsilon=1e-2, global_clipnorm=0.5)
    yield "nadam", O.Nadam(0.05)
    yield "nadam_betas", O.Nadam(0.05, beta_1=0.7, beta_2=0.8, epsilon=1e-2, weight_decay=0.05)
    yield "lion", O.Lion(0.05)
    yield "lion_betas", O.Lion(0.05, beta_1=0.5, beta_2=0.8, weight_decay=0.1)
    yield "ftrl", O.Ftrl(0.1)
    yield "ftrl_strengths", O.Ftrl(0.1, initial_accumulator_value=0.5, l1_regularization_strength=0.1,
                                   l2_regularization_strength=0.2, l2_shrinkage_regularization_strength=0.05, beta=0.3)
    yield "ftrl_power", O.Ftrl(0.1, learning_rate_power=-0.3, l1_regularization_strength=0.05, clipvalue=0.5)
    yield "lamb", O.Lamb(0.05)
    yield "lamb_decay", O.Lamb(0.05, beta_1=0.7, beta_2=0.8, epsilon=1e-2, weight_decay=0.1, gradient_accumulation_steps=2)
    yield "adafactor", O.Adafactor(0.5)
    yield "adafactor_options", O.Adafactor(S.ExponentialDecay(0.8, 2, 0.7), beta_2_decay=-0.5, epsilon_1=1e-3, epsilon_2=0.3,
                                           clip_threshold=0.6, weight_decay=0.1, clipnorm=0.3), {"kernel_regularizer": "l2"}
    yield "muon", O.Muon(0.1)
    yield "muon_options", O.Muon(S.ExponentialDecay(0.3, 2, 0.7), adam_beta_1=0.7, adam_beta_2=0.8, adam_weight_decay=0.3, epsilon=1e-2,
                                 weight_decay=0.1, clipnorm=0.3, muon_a=3.0, muon_b=-4.0, muon_c=1.8, adam_lr_ratio=0.5, momentum=0.8,
                                 ns_steps=2, nesterov=False, rms_rate=None), {"kernel_regularizer": "l2"}
    yield "muon_excluded", O.Muon(0.1, exclude_layers=["x", "^seq.*/a/(k|b)er[m-o]el$"], gradient_accumulation_steps=2), {"name": "a"}
    yield "schedule_free", O.ScheduleFreeAdamW(0.05)
    yield "schedule_free_warmup", O.ScheduleFreeAdamW(0.05, beta_1=0.7, beta_2=0.8, epsilon=1e-2, warmup_steps=3, weight_decay=0.1)
    R = keras.regularizers
    penalized = {"kernel_regularizer": R.L1L2(0.03, 0.1), "bias_regularizer": R.L2(0.2)}
    yield "regularized", O.SGD(0.1), {"kernel_regularizer": R.L2(0.1), "bias_regularizer": R.L1(0.05)}
    yield "regularized_adam", O.Adam(0.05, epsilon=1e-2), penalized
    yield "regularized_clipnorm", O.SGD(0.1, clipnorm=0.3), penalized
    yield "regularized_global_clipnorm", O.SGD(0.1, momentum=0.5, global_clipnorm=0.5), penalized
    yield "regularized_clipvalue", O.RMSprop(0.01, epsilon=1e-2, clipvalue=0.2, weight_decay=0.1), penalized
    C = keras.constraints
    yield "constrained", O.SGD(0.1), {"kernel_constraint": C.MaxNorm(0.8), "bias_constraint": "non_neg"}
    yield "constrained_rows", O.Adam(0.05, epsilon=1e-2), {"kernel_constraint": C.UnitNorm(axis=1), "bias_constraint": "unit_norm"}
    yield "constrained_rate", O.SGD(0.1, clipnorm=0.3), {
        "kernel_constraint": C.MinMaxNorm(0.5, 0.9, rate=0.6, axis=[0, 1]), "kernel_regularizer": "l2"}
    yield "average", O.SGD(0.1, use_ema=True, ema_momentum=0.7)
    yield "average_overwrites", O.Adam(0.05, epsilon=1e-2, use_ema=True, ema_momentum=0.6, ema_overwrite_frequency=2), {
        "kernel_constraint": "max_norm"}
    yield "accumulated", O.SGD(0.1, gradient_accumulation_steps=2)
    yield "accumulated_nadam", O.Nadam(0.05, epsilon=1e-2, gradient_accumulation_steps=2, clipnorm=0.3, weight_decay=0.1), {
        "kernel_regularizer": "l2"}
    yield "accumulated_average", O.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5,
                                       ema_overwrite_frequency=2)
    yield "excluded", O.AdamW(0.05, epsilon=1e-2, weight_decay=0.5), {"name": "a"}, ["bias"]
    yield "excluded_kernel", O.SGD(0.1, weight_decay=0.5, clipnorm=0.3), {"name": "a"}, ["a/kern"]
    yield "schedule_step", O.SGD(S.PiecewiseConstantDecay([0, 2], [0.3, 0.2, 0.05]))
    yield "schedule_step_adam", O.Adam(S.PiecewiseConstantDecay([1, 3], [0.1, 0.05, 0.01]))
    yield "schedule_exponential", O.SGD(S.ExponentialDecay(0.3, 2, 0.5), momentum=0.9)
    yield "schedule_exponential_staircase", O.SGD(S.ExponentialDecay(0.3, 2, 0.5, staircase=True))
    yield "schedule_cosine", O.SGD(S.CosineDecay(0.3, 4, alpha=0.1))
    yield "schedule_cosine_warmup", O.SGD(S.CosineDecay(0.05, 3, alpha=0.1, warmup_target=0.3,
                                                       warmup_steps=2))
    yield "schedule_polynomial", O.SGD(S.PolynomialDecay(0.3, 3, end_learning_rate=0.05, power=2.0), momentum=0.9)
    yield "schedule_polynomial_cycle", O.Adam(S.PolynomialDecay(0.1, 2, 0.01, cycle=True))
    yield "schedule_cosine_restarts", O.SGD(S.CosineDecayRestarts(0.3, 1, m_mul=0.5, alpha=0.1))
    yield "schedule_cosine_restarts_even", O.Adam(S.CosineDecayRestarts(0.1, 2, t_mul=1.0))
    yield "schedule_inverse_time", O.SGD(S.InverseTimeDecay(0.3, 2, 0.5), momentum=0.9)
    yield "schedule_inverse_time_staircase", O.Adam(S.InverseTimeDecay(0.1, 2, 0.8, staircase=True))


def make_optimizers(seed):
    """The inputs are unit vectors, so that the kernel's gradient is 2 (W + b - y) / count, element by
    element: what is compared is the optimizer, not a sum's rounding."""
    group = Group(seed)
    n, units, steps = 6, 4, 5
    for case, optimizer, *options in optimizer_cases():
        keras.backend.clear_session()
        group.start(case)
        options, excluded = (*options, {}, [])[:2]
        model = keras.Sequential([keras.Input((n,)), L.Dense(units, **options)])
        if excluded:
            optimizer.exclude_from_weight_decay(var_names=excluded)
        model.compile(optimizer=optimizer, loss="mean_squared_error")
        group.put("model", model.to_json())
        section = json.loads(compile_section(optimizer=optimizer))
        group.put("compile", json.dumps({**section, "exclude_from_weight_decay": excluded} if excluded else section))
        set_weights(group, model)
        x = np.stack([np.eye(n, dtype=np.float32)] * steps)
        y = 10 * group.normal(steps, n, units)
        group.put("x", x)
        group.put("y", y)
        step, losses = step_function(model), []
        after = {name: [] for name, _ in named_weights(model)}
        for xs, ys in zip(x, y):
            loss, gradients, _ = step(tf.constant(xs), tf.constant(ys))
            optimizer.apply_gradients(zip(gradients, model.trainable_weights))
            losses.append(float(loss))
            for name, w in named_weights(model):
                after[name].append(w.numpy())
        group.put("loss", np.array(losses, np.float32))
        for name, values in after.items():
            group.put(f"after/{name}", np.stack(values))
    return group


# ---- frozen layers: (case, optimizer, shape of one input, layers, those that are trained) ----------

def frozen_cases():
    yield "dense_below", "sgd", (4,), [L.Dense(3, activation="tanh", name="a"), L.Dense(2, name="b")], "b"
    yield "dense_between", "adam", (4,), [L.Dense(3, activation="tanh", name="a"), L.Dense(3, name="b"),
                                          L.Dense(2, name="c")], "ac"
    yield "norm_below", "adam", (4,), [L.BatchNormalization(name="n"), L.Dense(2, name="a")], "a"
    yield "norm_between", "sgd", (4,), [L.Dense(3, name="a"), L.BatchNormalization(name="n", scale=False),
                                        L.Activation("tanh", name="t"), L.Dense(2, name="b")], "ab"
    yield "conv_below", "sgd", (6, 6, 1), [
        L.Conv2D(2, 3, padding="same", name="a"), L.BatchNormalization(name="n"), L.MaxPooling2D(2, name="p"),
        L.Conv2D(2, 2, activation="tanh", name="b"), L.Flatten(name="f"), L.Dense(2, name="c")], "bc"
    yield "conv_between", "adam", (6, 6, 1), [
        L.Conv2D(2, 3, name="a"), L.BatchNormalization(name="m"), L.Conv2D(2, 2, name="b"),
        L.BatchNormalization(name="n"), L.Flatten(name="f"), L.Dense(2, name="c")], "amc"
    l1, l2, both = keras.regularizers.L1(0.03), keras.regularizers.L2(0.05), keras.regularizers.L1L2(0.02, 0.04)
    yield "regularized", "sgd", (6, 6, 2), [
        L.Conv2D(4, 2, kernel_regularizer=l2, bias_regularizer=l1, name="a"), L.BatchNormalization(gamma_regularizer=l2, beta_regularizer=l1, name="n"),
        L.DepthwiseConv2D(2, depthwise_regularizer=both, name="d"), L.PReLU(alpha_regularizer=l2, shared_axes=(1, 2), name="p"),
        L.SeparableConv2D(4, 2, depthwise_regularizer=l1, pointwise_regularizer=l2, name="s"),
        L.GroupNormalization(2, gamma_regularizer=both, beta_regularizer=l2, name="g"), L.Conv2DTranspose(2, 2, kernel_regularizer=l2, name="t"),
        L.Flatten(name="f"), L.LayerNormalization(gamma_regularizer=l1, beta_regularizer=both, name="l"),
        L.Dense(3, kernel_regularizer=both, name="frozen"), L.Dense(2, kernel_regularizer=l2, name="b")], "andpsgtflb"
    norm = keras.constraints.MaxNorm(0.9, axis=[0, 1, 2])
    yield "constrained", "sgd", (4, 4, 2), [
        L.Conv2D(3, 2, kernel_constraint=norm, name="a"), L.DepthwiseConv2D(2, depthwise_constraint=keras.constraints.UnitNorm([0, 1]), name="d"),
        L.BatchNormalization(gamma_constraint="non_neg", beta_constraint="max_norm", name="n"), L.Flatten(name="f"),
        L.Dense(2, kernel_constraint="unit_norm", name="frozen"), L.Dense(2, kernel_constraint="non_neg", name="b")], "andfb"
    yield "all", "adam", (4,), [L.Dense(3, name="a"), L.BatchNormalization(name="n", center=False, scale=False),
                                L.Dense(2, name="b")], "n"
    O = keras.regularizers.OrthogonalRegularizer
    yield "orthogonal", "sgd", (4,), [
        L.Dense(3, kernel_regularizer=O(0.3), name="a"), L.Dense(3, kernel_regularizer=O(0.5), name="frozen"),
        L.Dense(2, kernel_regularizer=O(0.2, "columns"), bias_regularizer=l2, name="b")], "ab"
    spectral = lambda layer, name, **more: L.SpectralNormalization(layer, name=name, **more)
    yield "spectral", "sgd", (4, 4, 2), [
        spectral(L.Conv2D(3, 2, activation="tanh"), "a", power_iterations=2), spectral(L.Conv2DTranspose(2, 2), "frozen"), L.Flatten(name="f"),
        spectral(L.Dense(3), "b"), L.Dense(2, name="c")], "afbc"


def make_frozen(seed):
    """Three steps of models that are trained in part. Adam's epsilon is large, so that it does not make much of the
    rounding of small gradients."""
    group = Group(seed)
    batch, steps = 4, 3
    for case, kind, shape, layers, trained in frozen_cases():
        keras.backend.clear_session()
        group.start(case)
        optimizer = (keras.optimizers.SGD(0.1, momentum=0.9, weight_decay=0.05, global_clipnorm=0.5)
                     if kind == "sgd" else keras.optimizers.Adam(0.02, epsilon=0.1))
        model = keras.Sequential([keras.Input(shape), *layers])
        for layer in model.layers:
            layer.trainable = layer.name in trained
        model.compile(optimizer=optimizer, loss="mean_squared_error")
        group.put("model", model.to_json())
        group.put("compile", compile_section(optimizer=optimizer))
        set_weights(group, model)
        x, y = group.normal(steps, batch, *shape), group.normal(steps, batch, 2)
        group.put("x", x)
        group.put("y", y)
        losses, after = [], {name: [] for name, _ in named_weights(model)}
        for xs, ys in zip(x, y):
            losses.append(float(model.train_on_batch(xs, ys)))
            model.reset_metrics()
            for name, w in named_weights(model):
                after[name].append(w.numpy())
        group.put("loss", np.array(losses, np.float32))
        for name, values in after.items():
            group.put(f"after/{name}", np.stack(values))
    return group


def write_tiny(path, seed):
    """A data set for tests/fixtures/tiny.yaml: 8x8 pixels, three classes that differ in brightness."""
    random = np.random.default_rng(seed)
    members = {}
    for split, count in (("train", 45), ("test", 15)):
        y = random.integers(0, 3, count)
        members[f"x_{split}"] = (random.random((count, 8, 8, 1)) * 85 + 85 * y[:, None, None, None]
                                 ).astype(np.uint8)
        members[f"y_{split}"] = y.astype(np.uint8)
    np.savez_compressed(path, **members)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default=os.path.join(os.path.dirname(here), "tests", "fixtures"))
    options = parser.parse_args()
    tf.get_logger().setLevel("ERROR")
    warnings.simplefilter("ignore")  # some cases are what Keras warns about
    keras.utils.set_random_seed(options.seed)
    os.makedirs(options.output, exist_ok=True)
    write_tiny(os.path.join(options.output, "tiny.npz"), options.seed)
    for name, make in (("layers", make_layers), ("graphs", make_graphs), ("activations", make_activations), ("sequences", make_sequences), ("shared", make_shared), ("preprocessing", make_preprocessing),
                       ("losses", make_losses), ("metrics", make_metrics), ("optimizers", make_optimizers),
                       ("frozen", make_frozen)):
        keras.backend.clear_session()  # Keras numbers its names: a file's are those of its own cases
        make(options.seed).write(os.path.join(options.output, f"{name}.npz"))


if __name__ == "__main__":
    main()

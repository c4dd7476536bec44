"""The mathematics of keras.backend, as older scripts call it: of arrays, and of tensors as far as keras.ops has it."""
import numpy as np

from . import losses, ops


def abs(x):
    """The size of each number."""
    return ops.absolute(x)


def cast(x, dtype):
    """Numbers of another type."""
    return ops.cast(x, dtype)


def clip(x, min_value, max_value):
    """The numbers, at least the one and at most the other."""
    return ops.clip(x, min_value, max_value)


def concatenate(tensors, axis=-1):
    """Tensors one after the other along an axis."""
    return ops.concatenate(tensors, axis)


def constant(value, dtype=None, shape=None, name=None):
    """An array of a number or of lists."""
    made = np.asarray(value, dtype or np.float32)
    return made if shape is None else np.broadcast_to(made, shape)


def equal(x, y):
    """1, or true, where both are equal."""
    return ops.equal(x, y)


def exp(x):
    """e to the power of each number."""
    return ops.exp(x)


def expand_dims(x, axis=-1):
    """With a further axis of length 1."""
    return ops.expand_dims(x, axis)


def flatten(x):
    """The numbers of all samples, one after the other."""
    return ops.reshape(x, (-1,))


def batch_flatten(x):
    """The numbers of each sample, one after the other."""
    return ops.reshape(x, (-1, int(np.prod(x.shape[1:]))))


def greater(x, y):
    """1, or true, where x is greater."""
    return ops.greater(x, y)


def greater_equal(x, y):
    """1, or true, where x is not less."""
    return ops.greater_equal(x, y)


def less(x, y):
    """1, or true, where x is less."""
    return ops.less(x, y)


def less_equal(x, y):
    """1, or true, where x is not greater."""
    return ops.less_equal(x, y)


def not_equal(x, y):
    """1, or true, where the two differ."""
    return ops.not_equal(x, y)


def maximum(x, y):
    """The larger of two, element by element."""
    return ops.maximum(x, y)


def minimum(x, y):
    """The smaller of two, element by element."""
    return ops.minimum(x, y)


def l2_normalize(x, axis=None):
    """Divided by its length along an axis."""
    squares = ops.sum(ops.square(x), axis=axis, keepdims=True)
    return x * ops.rsqrt(ops.maximum(squares, 1e-12))


def log(x):
    """The natural logarithm of each number."""
    return ops.log(x)


def max(x, axis=None, keepdims=False):
    """The largest number along axes."""
    return ops.max(x, axis, keepdims)


def mean(x, axis=None, keepdims=False):
    """The mean along axes; of all numbers without axis."""
    return ops.mean(x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    """The smallest number along axes."""
    return ops.min(x, axis, keepdims)


def sum(x, axis=None, keepdims=False):
    """The sum along axes."""
    return ops.sum(x, axis, keepdims)


def prod(x, axis=None, keepdims=False):
    """The product along axes, of arrays."""
    return ops.prod(x, axis, keepdims)


def std(x, axis=None, keepdims=False):
    """The standard deviation along axes, of arrays."""
    return ops.std(x, axis, keepdims)


def var(x, axis=None, keepdims=False):
    """The variance along axes, of arrays."""
    return ops.var(x, axis, keepdims)


def all(x, axis=None, keepdims=False):
    """Are all true, along axes of arrays?"""
    return ops.all(x, axis, keepdims)


def any(x, axis=None, keepdims=False):
    """Is one true, along axes of arrays?"""
    return ops.any(x, axis, keepdims)


def argmax(x, axis=-1):
    """The place of the largest number along an axis of an array."""
    return ops.argmax(x, axis)


def argmin(x, axis=-1):
    """The place of the smallest number along an axis of an array."""
    return ops.argmin(x, axis)


def ndim(x):
    """The number of axes."""
    return ops.ndim(x)


def one_hot(indices, num_classes):
    """A 1 at the place of each number, along a new axis."""
    return ops.one_hot(indices, num_classes)


def ones_like(x, dtype=None, name=None):
    """Ones in the shape of another."""
    return ops.ones_like(x, dtype)


def zeros_like(x, dtype=None, name=None):
    """Zeros in the shape of another."""
    return ops.zeros_like(x, dtype)


def ones(shape, dtype=None, name=None):
    """Ones."""
    return np.ones(shape, dtype or np.float32)


def zeros(shape, dtype=None, name=None):
    """Zeros."""
    return np.zeros(shape, dtype or np.float32)


def permute_dimensions(x, pattern):
    """The axes in another order."""
    return ops.transpose(x, pattern)


def pow(x, a):
    """x to the power of a."""
    return ops.power(x, a)


def reshape(x, shape):
    """The same numbers in another shape."""
    return ops.reshape(x, shape)


def round(x):
    """The nearest whole numbers, of arrays."""
    return ops.round(x)


def shape(x):
    """The sizes."""
    return ops.shape(x)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(x)


def sign(x):
    """-1, 0 or 1, of arrays."""
    return ops.sign(x)


def softmax(x, axis=-1):
    """exp(x), divided by its sum along an axis."""
    return ops.softmax(x, axis)


def softplus(x):
    """log(1 + exp(x))."""
    return ops.softplus(x)


def softsign(x):
    """x / (1 + |x|)."""
    return ops.softsign(x)


def sqrt(x):
    """The square root; 0 of numbers below 0, as Keras 2 has it."""
    return ops.sqrt(ops.maximum(x, 0.0))


def square(x):
    """x times x."""
    return ops.square(x)


def squeeze(x, axis):
    """Without an axis of length 1."""
    return ops.squeeze(x, axis)


def stack(x, axis=0):
    """Tensors along a new axis."""
    return ops.stack(x, axis)


def tanh(x):
    """The hyperbolic tangent."""
    return ops.tanh(x)


def transpose(x):
    """The axes in the reverse order, of arrays."""
    return ops.transpose(x)


def binary_crossentropy(target, output, from_logits=False):
    """For targets 0 and 1, of each number."""
    if from_logits:
        output = ops.sigmoid(output)
    output = ops.clip(output, 1e-7, 1 - 1e-7)
    return -(target * ops.log(output) + (1 - target) * ops.log(1 - output))


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """For one-hot targets, of each row."""
    return losses.categorical_crossentropy(target, output, from_logits, axis=axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1, ignore_class=None):
    """For class numbers, of each row."""
    return losses.sparse_categorical_crossentropy(target, output, from_logits, ignore_class, axis)


names = [name for name, value in dict(globals()).items()
         if not name.startswith("_") and getattr(value, "__module__", None) == __name__]

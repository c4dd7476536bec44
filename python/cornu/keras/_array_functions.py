"""Functions of keras.ops that compute arrays alone: no layer of the library computes them of tensors."""
import inspect
from typing import Callable

import numpy as np

from ._tensors import is_symbolic

# Those that NumPy has under the same name, with Keras's arguments.
_OF_NUMPY = """
all(x, axis=None, keepdims=False); any(x, axis=None, keepdims=False); append(x1, x2, axis=None);
arange(start, stop=None, step=None, dtype=None); arccos(x); arccosh(x); arcsin(x); arcsinh(x); arctan(x);
arctan2(x1, x2); arctanh(x); argmax(x, axis=None, keepdims=False); argmin(x, axis=None, keepdims=False);
argpartition(x, kth, axis=-1); argsort(x, axis=-1); array(x, dtype=None); array_split(x, indices_or_sections, axis=0);
average(x, axis=None, weights=None); bincount(x, weights=None, minlength=0, sparse=False); broadcast_to(x, shape);
ceil(x); copy(x); corrcoef(x); cos(x); cosh(x); count_nonzero(x, axis=None);
cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None); cumprod(x, axis=None, dtype=None);
cumsum(x, axis=None, dtype=None); diag(x, k=0); diagflat(x, k=0); diagonal(x, offset=0, axis1=0, axis2=1);
diff(a, n=1, axis=-1); digitize(x, bins); dot(x1, x2); einsum(subscripts, *operands, **kwargs); empty(shape, dtype=None);
exp2(x); expm1(x); eye(N, M=None, k=0, dtype=None); flip(x, axis=None); floor(x); floor_divide(x1, x2);
full(shape, fill_value, dtype=None); full_like(x, fill_value, dtype=None); histogram(x, bins=10, range=None); hstack(xs);
hypot(x1, x2); identity(n, dtype=None); inner(x1, x2); isclose(x1, x2, rtol=1e-05, atol=1e-08, equal_nan=False);
isfinite(x); isinf(x); isnan(x); kron(x1, x2);
linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0); log10(x); log1p(x); log2(x);
logaddexp(x1, x2); logical_and(x1, x2); logical_not(x); logical_or(x1, x2); logical_xor(x1, x2);
logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0); median(x, axis=None, keepdims=False);
meshgrid(*x, indexing='xy'); mod(x1, x2); nan_to_num(x, nan=0.0, posinf=None, neginf=None); nonzero(x);
ones(shape, dtype=None); outer(x1, x2); prod(x, axis=None, keepdims=False, dtype=None);
quantile(x, q, axis=None, method='linear', keepdims=False); ravel(x); repeat(x, repeats, axis=None);
roll(x, shift, axis=None); rot90(array, k=1, axes=(0, 1)); round(x, decimals=0);
searchsorted(sorted_sequence, values, side='left'); sign(x); signbit(x); sin(x); sinh(x); sort(x, axis=-1);
std(x, axis=None, keepdims=False); take_along_axis(x, indices, axis=None); tan(x); tanh(x); tensordot(x1, x2, axes=2);
tile(x, repeats); trace(x, offset=0, axis1=0, axis2=1); tri(N, M=None, k=0, dtype=None); tril(x, k=0); triu(x, k=0);
trunc(x); unravel_index(indices, shape); var(x, axis=None, keepdims=False); vdot(x1, x2); vstack(xs);
zeros(shape, dtype=None)
"""
_EMPTY = inspect.Parameter.empty
# Without dtype these give float32.
_FLOATS = ("empty", "eye", "full", "identity", "linspace", "logspace", "ones", "tri", "zeros")


def refuse_tensors(name: str, values) -> None:
    """What cannot be traced names itself."""
    if any(is_symbolic(value) for value in values):
        raise NotImplementedError(f"ops.{name}: of tensors that have no numbers yet is not in cornu; it computes arrays alone")


def _of_numpy(name: str, said: str) -> Callable:
    scope: dict = {}
    exec(f"def {name}({said}): ...", scope)  # the table's own text: a signature as Keras writes it
    signature, numpy = inspect.signature(scope[name]), getattr(np, name)

    def of_arrays(*args, **kwargs):
        refuse_tensors(name, (*args, *kwargs.values()))
        bound = signature.bind(*args, **kwargs)
        given = [value for key, value in bound.arguments.items() if signature.parameters[key].default is _EMPTY]
        more = {key: value for key, value in bound.arguments.items() if signature.parameters[key].default is not _EMPTY
                and value is not signature.parameters[key].default}
        listed = [part for key, value in zip(bound.arguments, given)
                  for part in (value if signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL else [value])]
        if name in _FLOATS:
            more.setdefault("dtype", np.float32)
        return numpy(*listed, **more)

    of_arrays.__signature__ = signature
    of_arrays.__name__ = of_arrays.__qualname__ = name
    of_arrays.__doc__ = f"NumPy's {name}, of arrays."
    return of_arrays


def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x)))."""
    refuse_tensors("logsumexp", [x])
    largest = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, axis)


def norm(x, ord=None, axis=None, keepdims=False):
    """A vector's or matrix's norm."""
    refuse_tensors("norm", [x])
    return np.linalg.norm(x, ord, axis, keepdims)


def top_k(x, k, sorted=True):
    """(values, indices) of the k largest along the last axis."""
    refuse_tensors("top_k", [x])
    indices = np.argsort(-np.asarray(x), -1, kind="stable")[..., :k]
    return np.take_along_axis(np.asarray(x), indices, -1), indices.astype(np.int32)


def in_top_k(targets, predictions, k):
    """Is the class number among the k largest?"""
    refuse_tensors("in_top_k", [targets, predictions])
    numbers = np.asarray(targets).astype(np.int64)
    own = np.take_along_axis(np.asarray(predictions), numbers[..., None], -1)
    return np.sum(predictions > own, -1) < k


def is_tensor(x) -> bool:
    """Is it an array, or a tensor of a network?"""
    return isinstance(x, np.ndarray) or is_symbolic(x)


def convert_to_numpy(x) -> np.ndarray:
    """As an array of NumPy's."""
    refuse_tensors("convert_to_numpy", [x])
    return np.asarray(x)


def size(x):
    """The number of elements."""
    refuse_tensors("size", [x])
    return np.size(x)


def ndim(x) -> int:
    """The number of axes."""
    return x.ndim if is_symbolic(x) else np.ndim(x)


_signatures = [row.strip()[:-1].split("(", 1) for row in " ".join(_OF_NUMPY.split()).split(";")]
functions = {name: _of_numpy(name, said) for name, said in _signatures}
functions |= {f.__name__: f for f in (logsumexp, norm, top_k, in_top_k, is_tensor, convert_to_numpy, size, ndim)}

"""What Discretization and CategoryEncoding have beyond other layers: adapt(), configurations after it, and calls on arrays without a
batch."""
import numpy as np

from . import _eager
from ._normalization import batches_of
from ._tensors import is_symbolic

# A sketch of numbers: two rows, ascending values, and how many numbers each of them stands for.


def _sketch(values: np.ndarray, epsilon: float) -> np.ndarray:
    """Every so many of the values in order, so that about 1 / epsilon are left."""
    ordered = np.sort(values.reshape(-1))
    step = max(ordered.size / (1.0 / epsilon), 1)
    taken = ordered[int(step - 1)::int(step)]
    return np.stack([taken, np.full_like(taken, step)])


def _shortened(sketch: np.ndarray, epsilon: float) -> np.ndarray:
    """The values at each epsilon of all weight, between those that are there. Few are left as they are."""
    if sketch.shape[1] * epsilon < 1:
        return sketch
    parts = np.arange(0.0, 1.0, epsilon) + epsilon
    below = sketch[1].cumsum()
    at = below / below[-1]
    return np.stack([np.interp(parts, at, sketch[0]), np.diff(np.interp(parts, at, below), prepend=0)]).astype(np.float32)


def _merged(new: np.ndarray, before: np.ndarray, epsilon: float) -> np.ndarray:
    both = np.concatenate([new, before], axis=1)
    return _shortened(both[:, np.argsort(both[0])], epsilon)


def adapt(layer, data, steps=None) -> None:
    """Keras's adapt: set bin_boundaries to quantiles of an array, or of a data set's or another iterable's batches, of which `steps`
    are read."""
    owner = f"{layer.name}: adapt"
    if layer._config["num_bins"] is None:
        raise ValueError("Cannot adapt a Discretization layer that has been initialized with `bin_boundaries`, use `num_bins` instead.")
    sketch, epsilon, count = np.zeros((2, 0), np.float32), float(layer._config["epsilon"]), 0
    for batch in batches_of(owner, data):
        if steps is not None and count == steps:
            break
        values = np.asarray(batch, np.float32)
        if not np.isfinite(values).all():
            raise ValueError(f"{owner}: found a number that is not finite; expected finite ones")
        sketch, count = _merged(_sketch(values, epsilon), sketch, epsilon), count + 1
    boundaries = _shortened(sketch, 1.0 / layer._config["num_bins"])[0, :-1].tolist()
    if not boundaries:
        raise ValueError(f"{owner}: found {sketch.shape[1]} numbers; expected at least two")
    layer._config["bin_boundaries"] = boundaries
    layer._adaptations += 1


def check_bins(layer) -> None:
    """As Keras's constructor does."""
    bins, boundaries = layer._config["num_bins"], layer._config["bin_boundaries"]
    if (bins is None) == (boundaries is None):
        found = "none" if bins is None else f"num_bins={bins!r} and bin_boundaries={boundaries!r}"
        raise ValueError(f"Discretization: found {found}; expected one of num_bins and bin_boundaries")
    if boundaries is not None:
        layer._config["bin_boundaries"] = np.asarray(boundaries, np.float64).tolist()


def from_config(cls, config: dict):
    """A layer of get_config's dictionary, which has both after adapt()."""
    boundaries = config.get("bin_boundaries")
    if boundaries is None or config.get("num_bins") is None:
        return super(cls, cls).from_config(config)
    layer = super(cls, cls).from_config({**config, "bin_boundaries": None})
    layer._config["bin_boundaries"] = list(boundaries)
    return layer


def modern_mode(layer) -> None:
    """An older name of a mode."""
    if layer._config["output_mode"] == "binary":
        layer._config["output_mode"] = "multi_hot"


def call(self, inputs, count_weights=None, training=None):
    """On a tensor or an array of numbers. One axis is that of the batch, or with multi_hot and count a sample."""
    if count_weights is not None:
        raise NotImplementedError(f"layer {self.name}: called with count_weights is not in cornu; it takes one input")
    base = super(type(self), self).__call__
    if is_symbolic(inputs):
        return base(inputs, training=training)
    array = np.asarray(inputs, np.float32)
    if array.ndim > 1:
        return base(array, training=training)
    if self._config["output_mode"] in ("multi_hot", "count"):
        return _eager.as_tensors(base(array.reshape(1, -1))[0])
    outputs = base(array.reshape(-1, 1))
    return _eager.as_tensors(np.reshape(outputs, array.shape) if self._config["output_mode"] == "int" else outputs)

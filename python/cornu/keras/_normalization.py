"""What Normalization has beyond other layers: adapt(), and the statistics as they stand beside a batch."""
import numpy as np

from ._image_dataset import Tensor


def _kept(layer, rank: int) -> list[int]:
    """Axes of a batch of this rank, the batch's own among them, that have statistics of their own."""
    axes = layer._config["axis"]
    axes = [] if axes is None else [axes] if isinstance(axes, (int, np.integer)) else list(axes)
    kept = sorted(axis + rank if axis < 0 else axis for axis in axes)
    if any(axis < 1 or axis >= rank for axis in kept):
        raise ValueError(f"{layer.name}: axis: found {layer._config['axis']!r} for data of {rank} dimensions; expected axes from 1 to {rank - 1}")
    return kept


def batches_of(owner: str, data):
    """Arrays of a data set's batches, without their targets; of an array, itself."""
    if hasattr(data, "shape"):
        yield np.asarray(data, np.float64)
        return
    if not hasattr(data, "__iter__"):
        raise TypeError(f"{owner}: found {type(data).__name__}; expected an array, or a data set or another iterable of batches")
    for batch in data:
        has_targets = isinstance(batch, tuple) or isinstance(batch, list) and hasattr(batch[0], "shape")
        yield np.asarray(batch[0] if has_targets else batch, np.float64)


def adapt(layer, data) -> None:
    """Keras's adapt: set mean and variance to those of an array, or of a data set's or another iterable's batches."""
    if layer._config["mean"] is not None:
        raise ValueError(f"{layer.name}: adapt: found a layer that has been given mean and variance; expected one without them")
    count, mean, squares, kept = 0, 0.0, 0.0, []
    for batch in batches_of(f"{layer.name}: adapt", data):
        batch = batch[:, None] if batch.ndim == 1 else batch
        if not count:
            kept, sample = _kept(layer, batch.ndim), batch.shape[1:]
        elif batch.shape[1:] != sample and [batch.shape[axis] for axis in kept] != [sample[axis - 1] for axis in kept]:
            raise ValueError(f"{layer.name}: adapt: found a batch of samples of shape {batch.shape[1:]} after one of {sample}; expected equal shapes")
        others = tuple(axis for axis in range(batch.ndim) if axis not in kept)
        more = int(np.prod([batch.shape[axis] for axis in others]))
        apart = batch.mean(others) - mean
        squares = squares + batch.var(others) * more + apart ** 2 * count * more / (count + more)
        mean, count = mean + apart * (more / (count + more)), count + more
    if not count:
        raise ValueError(f"{layer.name}: adapt: found no batches; expected at least one")
    if layer._built_for is None:
        layer._settle([sample], f"{layer.name}: adapt")
    layer._variables[0].assign(mean)
    layer._variables[1].assign(squares / count)


def statistic(name: str) -> property:
    """mean or variance, with axes of 1 for those of a batch that have none of their own."""
    def beside(layer):
        given = layer._config[name]
        if layer._built_for is None and given is None:
            return None
        value = np.asarray(layer._variables[("mean", "variance").index(name)] if given is None else given, np.float32)
        if layer._built_for is None:
            return value.view(Tensor)
        sample, left = layer._built_for[0], list(value.shape)
        shape = [1] * (len(sample) + 1)
        for axis in reversed(_kept(layer, len(shape))):
            shape[axis] = left.pop() if left else 1
        return value.reshape(shape).view(Tensor)

    return property(beside, doc=f"The {name}, as it stands beside a batch.")

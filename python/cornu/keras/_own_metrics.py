"""Metrics of one's own in compile: the library runs the batches, and calls for their values after each."""
from typing import Any, Callable, Iterator

import numpy as np

from .._arrays import tensor
from .._tables import plain
from ._objects import found, name_of_class
from ._own_losses import Form


class OwnMetric:
    """A metric of compile, with how files know it."""

    def __init__(self, given, metric):
        self.given, self.metric = given, metric  # a function is in a metric that is its mean
        self.is_class = given is metric

    def entry(self) -> dict:
        """As the library takes it; but for `called` as Keras's files have it."""
        if not self.is_class:
            name = self.metric.name
            return {"module": "builtins", "class_name": "function", "config": name, "registered_name": "function", "called": name}
        cls = type(self.metric)
        return {"module": None, "class_name": cls.__name__, "config": plain(self.metric.get_config()),
                "registered_name": name_of_class(cls), "called": self.metric.name}


def with_metrics(compiled: dict) -> dict:
    """A compile section with entries for metrics of one's own."""
    return {**compiled, "metrics": _entries(compiled["metrics"])}


def _entries(metrics) -> Any:
    if isinstance(metrics, OwnMetric):
        return metrics.entry()
    if isinstance(metrics, dict):
        return {key: _entries(value) for key, value in metrics.items()}
    return list(map(_entries, metrics)) if isinstance(metrics, list) else metrics


def restored(metrics, make: Callable) -> Any:
    """Of a file: those of one's own that are known by their names; `make` makes a metric of a function or a configuration."""
    if isinstance(metrics, list):
        return [restored(one, make) for one in metrics]
    if not isinstance(metrics, dict) or "called" not in metrics:
        return metrics
    given = found({key: value for key, value in metrics.items() if key != "called"}, {})
    return metrics if given is None else OwnMetric(given, make(given))


def unknown(metrics) -> Iterator[str]:
    """The names of metrics of one's own that a file has and nobody has given."""
    if isinstance(metrics, dict) and "called" in metrics:
        yield metrics["called"]
    elif isinstance(metrics, (list, tuple, dict)):
        for one in metrics.values() if isinstance(metrics, dict) else metrics:
            yield from unknown(one) if isinstance(one, (list, tuple, dict)) else ()


def own_metrics(compiled: dict | None, ends: list) -> list[tuple[int, Any]]:
    """(number of the output, metric), in the order in which the library calls for them."""
    metrics = compiled["metrics"] if compiled else []
    if isinstance(metrics, dict):
        metrics = [metrics.get(end[0]) for end in ends]
    if len(ends) > 1:
        return [(number, own.metric) for number, of in enumerate(metrics) for own in _found(of)]
    return [(0, own.metric) for own in _found(metrics)]


def _found(metrics) -> Iterator[OwnMetric]:
    if isinstance(metrics, OwnMetric):
        yield metrics
    elif isinstance(metrics, (list, tuple)):
        for one in metrics:
            yield from _found(one)


class Called:
    """What the library calls: the metrics' states follow the batches."""

    def __init__(self, metrics: list, ends: list, forms: list | None):
        self._metrics, self._ends, self._forms = metrics, ends, forms or [Form()] * len(ends)

    def __call__(self, begins, count, outputs, targets, values):
        """A batch: set `values`, those of the metrics over the pass so far."""
        rows = np.frombuffer(outputs, np.float32).reshape(count, -1)
        true = np.frombuffer(targets, np.float32).reshape(count, -1)
        predicted = self._parts(rows, [shape for _, shape, *_ in self._ends])
        expected = self._parts(true, [(*shape[:-1], 1) if classes else shape if size else (0,)
                                      for _, shape, size, classes in self._ends])
        if begins:
            for _, metric in self._metrics:
                metric.reset_state()
        told = np.frombuffer(values, np.float64)
        for place, (output, metric) in enumerate(self._metrics):
            metric.update_state(self._shaped(expected[output], output), tensor(predicted[output]))
            told[place] = _number_of(metric)

    def _parts(self, rows: np.ndarray, shapes: list) -> list[np.ndarray]:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        return [np.array(rows[:, end - int(np.prod(shape)): end]).reshape(len(rows), *shape) for end, shape in zip(ends, shapes)]

    def _shaped(self, array: np.ndarray, output: int):
        """As they were given: class numbers whole, one number a sample without an axis of its own."""
        if self._ends[output][3]:
            array = array.astype(np.int64)
        flat = self._forms[output].flat and array[0].size == 1
        return tensor(array.reshape(len(array)) if flat else array)


def _number_of(metric) -> float:
    value = metric.result()
    if isinstance(value, dict):
        raise NotImplementedError(f"metric {metric.name}: a dictionary as its result is not in cornu; it takes one number")
    if np.size(value) != 1:
        raise ValueError(f"metric {metric.name}: found a result of shape {np.shape(value)}; expected one number")
    return float(np.asarray(value).reshape(()))

"""What fit, evaluate and predict take: arrays, batches of any iterable, and data that the library loads itself."""
import collections
import itertools
import json
import queue
import random
import threading
from typing import Iterator

import numpy as np

from .. import _cornu
from ._native_data import arrays_by_name, arrays_of_outputs, has_arrays, numbers_of, rows_of, targets_of

AHEAD = 10  # batches that wait for the training, as Keras's max_queue_size


def array_of(value, what: str) -> np.ndarray:
    """C-contiguous, of this machine's byte order; uint8 and float32 stay where they are."""
    array = numbers_of(value, what)
    if array.ndim == 0:
        raise ValueError(f"{what}: found a single number; expected an array with samples first")
    if array.dtype != np.uint8:
        array = array.astype(np.float32, copy=False)
    return np.ascontiguousarray(array)


def _sizes_of(model, x, what: str) -> tuple:
    """The shape of a sample: one array, also in a list or a dictionary."""
    if isinstance(x, dict) and len(x) == 1:
        x = next(iter(x.values()))
    elif isinstance(x, (list, tuple)) and len(x) == 1 and np.ndim(x[0]) == model.inputs[0].ndim:
        x = x[0]
    return numbers_of(x, what).shape[1:]


def inputs_of(model, x, what: str) -> np.ndarray:
    """Samples as the model takes them, which is built for them where it is not yet."""
    if model.built and model._is_open:
        model._want_one_input()
        model._take_sizes(_sizes_of(model, x, what))
    ends = [] if model._handle is None else model._handle.ends()[0]
    if isinstance(x, dict) and not ends:
        raise ValueError(f"{what}: found a dictionary, and a model that has no inputs yet; expected one array")
    if len(ends) > 1:
        arrays = arrays_by_name(x, ends, what, "input")
        return rows_of([_input_of(array_of(array, f"{what}[{name!r}]"), shape, f"{what}[{name!r}]")
                        for array, (name, shape, *_) in zip(arrays, ends)], what)
    if isinstance(x, dict):
        x = arrays_by_name(x, ends, what, "input")[0]
    elif ends and isinstance(x, (list, tuple)) and len(x) == 1 and np.shape(x[0])[1:] == ends[0][1]:
        x = x[0]  # an array in a list, as of several inputs
    array = array_of(x, what)
    if len(array) == 0:
        raise ValueError(f"{what}: found no samples")
    if model._handle is None:
        model.build((None, *array.shape[1:]))
    return _input_of(array, model._handle.shapes()[0], what)


def _input_of(array: np.ndarray, expected: tuple, what: str) -> np.ndarray:
    if len(array) == 0:
        raise ValueError(f"{what}: found no samples")
    if array.shape[1:] != expected and array.shape[1:] + (1,) != expected:
        raise ValueError(f"{what}: found samples of shape {array.shape[1:]}; expected {expected}")
    return array.reshape(len(array), *expected)


def outputs_of(model, rows: np.ndarray):
    """A prediction's result, a row a sample: an array, or the arrays of several outputs in the model's form."""
    ends = model._handle.ends()[1]
    if len(ends) == 1:
        return model._as_outputs([rows])
    sizes = np.cumsum([int(np.prod(shape)) for _, shape, *_ in ends])[:-1]
    return model._as_outputs([np.ascontiguousarray(part).reshape(len(rows), *shape)
                              for part, (_, shape, *_) in zip(np.split(rows, sizes, axis=1), ends)])


def targets_and_weights(model, y, weights, count: int, what: str) -> tuple:
    """y and the samples' weights as the library takes them. Weights for each of several outputs become the last columns of
    y's rows; in place of weights is then their number."""
    model._settle_losses(y)
    ends = model._handle.ends()[1]
    y = targets_of(model._handle, y, count, f"{what}: y")
    what = f"{what}: sample_weight"
    if len(ends) > 1 and (isinstance(weights, dict) or has_arrays(weights)):
        columns = [np.ones(count) if array is None else _weights_of(array, count, f"{what}[{name!r}]")
                   for array, (name, *_) in zip(arrays_of_outputs(weights, ends, what), ends)]
        return rows_of([y, *columns], what), len(ends)
    if isinstance(weights, dict):
        weights = arrays_by_name(weights, ends, what, "output")[0]
    return y, None if weights is None else _weights_of(weights, count, what)


def _weights_of(weights, count: int, what: str) -> np.ndarray:
    array = numbers_of(weights, what)
    if array.size != count:
        raise ValueError(f"{what}: found weights of shape {array.shape}; expected {(count,)}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what}: found weights that are not finite numbers")
    return np.ascontiguousarray(array, np.float32).reshape(count)


def is_arrays(x) -> bool:
    """Or a list of numbers; else it gives batches."""
    return not (hasattr(x, "_cornu_data") or hasattr(x, "__next__") or is_sequence(x)
                or (hasattr(x, "__iter__") and not hasattr(x, "__array__") and not hasattr(x, "__dlpack__")
                    and not isinstance(x, (list, tuple, dict, memoryview, bytearray, bytes, str))))


def is_sequence(x) -> bool:
    """A batch for each number, as keras.utils.Sequence has it."""
    return (hasattr(x, "__getitem__") and hasattr(x, "__len__") and not hasattr(x, "__array__")
            and not isinstance(x, (list, tuple, dict, str, bytes, bytearray, memoryview)))


def length_of(x) -> int | None:
    """The number of batches of a pass; None if it is unknown."""
    cardinality = getattr(x, "num_batches", None) if is_sequence(x) else None
    try:
        return int(cardinality if cardinality is not None else len(x))
    except TypeError:
        return None


class PyDataset:
    """Batches by number: a class with __len__ (or num_batches) and __getitem__, which returns (x, y) or (x, y,
    sample_weight). fit reads them in another order each epoch, with `workers` threads, max_queue_size ahead."""

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        if use_multiprocessing:
            raise NotImplementedError("PyDataset: use_multiprocessing is not in cornu; workers= are threads")
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__}: expected __getitem__ of its own")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: expected __len__ of its own")

    @property
    def num_batches(self) -> int | None:
        """Batches of a pass; None: without end."""
        return len(self)

    def on_epoch_begin(self) -> None:
        """Before a pass."""

    def on_epoch_end(self) -> None:
        """After a pass."""


class Source:
    """The library's data, and how to go through it."""

    section = '{"scale": 1}'  # of the recipe: what is done to the samples

    def __init__(self, data, batch: int, count: int | None, steps: int | None):
        self.data, self.batch, self.count, self.steps = data, batch, count, steps
        self.shuffle: bool | None = None  # where the data says it itself
        self.seed: int | None = None
        self.class_names: list[str] | None = None  # of batches that are made in Python

    def close(self) -> None: ...


def from_arrays(model, x, y, sample_weight, batch: int, what: str) -> Source:
    x = inputs_of(model, x, f"{what}: x")
    if y is None:
        raise ValueError(f"{what}: y: found None; expected targets")
    y, weights = targets_and_weights(model, y, sample_weight, len(x), what)
    return Source(_cornu.data_from_arrays(x, y, weights), batch, len(x), -(-len(x) // batch))


def from_dataset(model, x, what: str) -> Source:
    """A tf.data.Dataset of arrays in memory, which the library shuffles, batches and scales."""
    own = x._arrays
    inputs, y, weights = (*own.whole, None)[:3]
    source = from_arrays(model, inputs, y, weights, own.size, what)
    source.shuffle, source.seed = own.shuffles, own.seed
    if own.scale != 1:
        source.section = json.dumps({"scale": own.scale})
        source.data.set_scale(own.scale)
    return source


def from_loaded(model, x, what: str) -> Source:
    if model._handle is None:
        model.build((None, *x.image_shape))
    data, section = x._cornu_data(model._handle)
    data.set_scale(json.loads(section).get("scale", 1))
    source = Source(data, x.batch_size, x.samples, -(-x.samples // x.batch_size))
    source.section, source.shuffle, source.seed = section, bool(x.shuffle), x.seed
    return source


def parts_of(item, what: str) -> tuple:
    """(x, y, weights) of what an iterable gave."""
    if isinstance(item, dict) or not isinstance(item, (tuple, list)) or not 1 <= len(item) <= 3:
        shown = f"{len(item)} things" if isinstance(item, (tuple, list)) else f"a {type(item).__name__}"
        raise ValueError(f"{what}: found a batch of {shown}; expected (x, y) or (x, y, sample_weight)")
    return (*item, *(None,) * (3 - len(item)))


def passes_of(x, shuffle: bool, workers: int = 1) -> Iterator[Iterator]:
    """Pass after pass over an iterable, each an iterator of batches."""
    if is_sequence(x):
        while True:
            order = range(length_of(x)) if length_of(x) is not None else itertools.count()
            if shuffle and length_of(x) is not None:
                order = random.sample(order, len(order))
            if hasattr(x, "on_epoch_begin"):
                x.on_epoch_begin()
            yield _fetched(x, order, workers)
            if hasattr(x, "on_epoch_end"):
                x.on_epoch_end()
    elif hasattr(x, "__next__"):
        yield x
    else:
        while True:
            yield iter(x)


def _fetched(x, order, workers: int) -> Iterator:
    if workers <= 1:
        return (x[i] for i in order)
    return _fetched_by_threads(x, order, workers)


def _fetched_by_threads(x, order, workers: int) -> Iterator:
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(workers, "cornu-fetch") as pool:
        waiting: collections.deque = collections.deque()
        for i in order:
            waiting.append(pool.submit(x.__getitem__, i))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Ahead:
    """Items of an iterator, made by a thread of its own, so many ahead. What goes wrong there is raised here."""

    def __init__(self, items: Iterator, ahead: int):
        self._queue: queue.Queue = queue.Queue(max(int(ahead), 1))
        self._closed = False
        self._thread = threading.Thread(target=self._run, args=(items,), name="cornu-batches", daemon=True)
        self._thread.start()

    def _put(self, entry) -> bool:
        while not self._closed:
            try:
                self._queue.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _run(self, items: Iterator) -> None:
        try:
            for item in items:
                if not self._put((item, None)):
                    return
            self._put((None, StopIteration()))
        except BaseException as error:
            self._put((None, error))

    def next(self):
        item, error = self._queue.get()
        if error is None:
            return item
        self._queue.put((None, error))  # for whoever asks again
        if isinstance(error, StopIteration):
            return None
        raise error

    def close(self) -> None:
        self._closed = True
        while not self._queue.empty():
            self._queue.get_nowait()
        self._thread.join(timeout=0.3)  # one that waits for the caller's generator ends with its next batch


def changes_of(section: str, of_itself: bool) -> set[str]:
    """What a data section does besides scaling: to a sample by its own numbers, or at random."""
    augment = json.loads(section).get("augment") or {}
    return {name for name, value in augment.items() if value and name.startswith("samplewise_") == of_itself}


class Stream(Source):
    """Batches of an iterable. At most `most` are taken, so that a generator of the caller's goes no further than it
    must."""

    def __init__(self, model, x, what: str, shuffle: bool = False, most: int | None = None,
                 workers: int | None = None, ahead: int | None = None):
        self._model, self._what, self._most = model, what, most
        workers = getattr(x, "workers", 1) if workers is None else workers
        ahead = ahead or getattr(x, "max_queue_size", AHEAD)
        self._passes = passes_of(x, shuffle, workers)
        items = self._items()
        first = next(items, None)
        if first is None:
            raise ValueError(f"{what}: found no batches (an iterator that has ended?); expected at least one")
        self._dtype = first[0].dtype
        self._ahead = _Ahead(itertools.chain((first,), items), ahead)
        steps = length_of(x)
        super().__init__(_cornu.data_stream(self._ahead.next, *first, steps or 0), len(first[0]), None, steps)

    def _items(self) -> Iterator:
        """(x, y, weights), and None at the end of each pass."""
        taken = 0
        for batches in self._passes:
            before = taken
            for item in batches:
                yield self._batch(item)
                taken += 1
                if taken == self._most:
                    return
            if taken == before:
                return
            yield None

    def _batch(self, item) -> tuple:
        x, y, weights = parts_of(item, self._what)
        x = inputs_of(self._model, x, f"{self._what}: x")
        if y is None:
            raise ValueError(f"{self._what}: found a batch without targets; expected (x, y)")
        if getattr(self, "_dtype", x.dtype) != x.dtype:
            x = x.astype(self._dtype)
        return x, *targets_and_weights(self._model, y, weights, len(x), self._what)

    def close(self) -> None:
        self._ahead.close()


def batches_of(x, steps: int | None) -> Iterator[np.ndarray]:
    """The inputs alone, of a pass, for predict."""
    for number, item in enumerate(next(iter(passes_of(x, False)))):
        if steps is not None and number >= steps:
            return
        yield item[0] if isinstance(item, (tuple, list)) else item
        if number + 1 == steps:
            return


def section_text(source: Source, section: dict) -> str:
    """A fit section for this data."""
    if source.shuffle is not None:
        section["shuffle"] = source.shuffle
    if source.seed is not None:
        section["seed"] = max(int(source.seed), 1)
    section["batch_size"] = source.batch
    return json.dumps(section)

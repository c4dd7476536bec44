"""tf.data: data sets as chains of steps over NumPy arrays, which fit, evaluate and predict take."""
import glob
import itertools
import os
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import numpy as np

from ._arrays import Scaled, TensorSpec, dtype_of, leaves, nested, tensor
from ._missing import missing

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


class Options:
    """Takes any attribute; nothing of them changes what a data set gives."""

    def __init__(self):
        self.experimental_optimization = self.threading = self.autotune = SimpleNamespace()
        self.deterministic = None


class Dataset:
    """Elements: tensors, or tuples and dictionaries of them. Each pass over the data set makes them anew."""

    def __init__(self, make: Callable[[], Iterator], count: int = UNKNOWN_CARDINALITY, spec: Callable[[], Any] | None = None,
                 arrays: "Arrays | None" = None):
        self._make, self._count, self._spec = make, count, spec
        self._arrays = arrays  # where the library can go through them by itself

    # ---- where data sets begin

    @staticmethod
    def from_tensors(tensors, name=None) -> "Dataset":
        """One element."""
        element = _structure(tensors)
        return Dataset(lambda: iter([element]), 1, lambda: nested(_spec_of, element))

    @staticmethod
    def from_tensor_slices(tensors, name=None) -> "Dataset":
        """An element for each row of the arrays."""
        whole = _structure(tensors)
        counts = {len(leaf) if leaf.ndim else None for leaf in leaves(whole)}
        if len(counts) != 1 or None in counts:
            raise ValueError(f"from_tensor_slices: found arrays of {', '.join(map(str, counts))} rows; expected as many in each")
        (count,) = counts
        return Dataset(lambda: (nested(lambda leaf: leaf[i], whole) for i in range(count)), count,
                       lambda: nested(lambda leaf: TensorSpec(leaf.shape[1:], leaf.dtype), whole), Arrays(whole))

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None,
                       name=None) -> "Dataset":
        """What a function's generator gives, as tensors of these types."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        if output_signature is None and output_types is None:
            raise TypeError("Either `output_signature` or `output_types` must be specified.")
        signature = output_signature if output_signature is not None else _signature(output_types, output_shapes)
        given = tuple(tensor(arg).numpy() for arg in args or ())
        return Dataset(lambda: (nested(_typed, signature, _like(signature, item)) for item in generator(*given)),
                       spec=lambda: signature)

    @staticmethod
    def range(*args, output_type=np.int64, name=None) -> "Dataset":
        """start, start + step, ... before stop: arguments as of Python's range."""
        numbers = range(*(int(arg) for arg in args))
        kind = dtype_of(output_type)
        return Dataset(lambda: (tensor(kind.type(n)) for n in numbers), len(numbers), lambda: TensorSpec((), kind))

    @staticmethod
    def zip(*args, datasets=None, name=None) -> "Dataset":
        """Elements of several data sets side by side, until one ends."""
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        sets = leaves(given)
        for one in sets:
            _check_dataset("zip", one)
        counts = [_count_of(one) for one in sets]
        finite = [n for n in counts if n >= 0]
        count = UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in counts else min(finite, default=INFINITE_CARDINALITY)

        def make():
            iterators = [iter(one) for one in sets]
            for parts in zip(*iterators):
                rest = iter(parts)
                yield nested(lambda _: next(rest), given)

        return Dataset(make, count, lambda: nested(lambda one: one.element_spec, given))

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None) -> "Dataset":
        """The names of files that fit a pattern, or several, shuffled unless shuffle=False."""
        patterns = [file_pattern] if isinstance(file_pattern, (str, bytes, os.PathLike)) else list(np.ravel(file_pattern))
        files = sorted(file for pattern in patterns for file in glob.glob(os.fsdecode(pattern)))
        if not files:
            raise ValueError(f"list_files: found no file for {', '.join(map(os.fsdecode, patterns))}")
        listed = Dataset.from_tensor_slices(files)
        return listed if shuffle is False else listed.shuffle(len(files), seed)

    @staticmethod
    def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False, rerandomize_each_iteration=None):
        """Elements of several data sets, drawn at random."""
        share = None if weights is None else np.asarray(weights, float) / np.sum(weights)
        rng = _generator(seed)

        def make():
            open_sets = [iter(one) for one in datasets]
            left = list(range(len(open_sets)))
            while left:
                p = None if share is None else share[left] / share[left].sum()
                chosen = left[rng.choice(len(left), p=p)]
                element = next(open_sets[chosen], _END)
                if element is not _END:
                    yield element
                elif stop_on_empty_dataset:
                    return
                else:
                    left.remove(chosen)

        return Dataset(make)

    # ---- steps

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None, use_unbounded_threadpool=False,
            name=None) -> "Dataset":
        """What a function gives of each element, in their order; num_parallel_calls: by several threads."""
        workers = (os.cpu_count() or 1) if num_parallel_calls in (AUTOTUNE,) else int(num_parallel_calls or 1)

        def call(element):
            return _structure(map_func(*element) if isinstance(element, tuple) else map_func(element))

        make = (lambda: _by_threads(call, iter(self), workers)) if workers > 1 else (lambda: map(call, iter(self)))
        return Dataset(make, self._count, arrays=self._arrays and self._arrays.mapped(map_func),
                       spec=lambda: self._spec_after(call))

    def _spec_after(self, call: Callable):
        """As TensorFlow tells it: a batch stays open where it was."""
        element = next(iter(self), _END)
        if element is _END:
            return self.element_spec
        batches = {part.shape[0] for part, spec in zip(leaves(element), leaves(self.element_spec))
                   if spec.shape[:1] == (None,)}
        return nested(lambda leaf: TensorSpec((None, *leaf.shape[1:]) if leaf.ndim and leaf.shape[0] in batches else leaf.shape,
                                              leaf.dtype), call(element))

    def flat_map(self, map_func, name=None) -> "Dataset":
        """The elements of the data sets that a function gives, one data set after the other."""
        return Dataset(lambda: itertools.chain.from_iterable(self._sets_of(map_func, "flat_map")))

    def _sets_of(self, map_func, what: str) -> Iterator["Dataset"]:
        for element in self:
            made = map_func(*element) if isinstance(element, tuple) else map_func(element)
            yield _check_dataset(what, made)

    def interleave(self, map_func, cycle_length=None, block_length=1, num_parallel_calls=None, deterministic=None,
                   name=None) -> "Dataset":
        """The same, block_length elements at a time of cycle_length data sets in turn."""
        cycle = (os.cpu_count() or 1) if cycle_length in (None, AUTOTUNE) else int(cycle_length)
        if cycle < 1 or block_length < 1:
            raise ValueError(f"interleave: found cycle_length={cycle_length}, block_length={block_length}; expected at least 1")

        def make():
            sets = self._sets_of(map_func, "interleave")
            turns = [iter(one) for one in itertools.islice(sets, cycle)]
            place = 0
            while any(turn is not None for turn in turns):
                if turns[place] is None:
                    following = next(sets, None)
                    turns[place] = None if following is None else iter(following)
                if turns[place] is not None:
                    taken = 0
                    for element in itertools.islice(turns[place], block_length):
                        taken += 1
                        yield element
                    if taken < block_length:
                        turns[place] = None
                        if place + 1 == len(turns) and all(turn is None for turn in turns):
                            following = next(sets, None)
                            turns[0] = None if following is None else iter(following)
                            place = -1
                place = (place + 1) % len(turns)

        return Dataset(make)

    def filter(self, predicate, name=None) -> "Dataset":
        """Those elements for which a function says so."""
        def keeps(element):
            return bool(predicate(*element) if isinstance(element, tuple) else predicate(element))

        return Dataset(lambda: (element for element in self if keeps(element)), spec=lambda: self.element_spec)

    def take_while(self, predicate, name=None) -> "Dataset":
        """Elements up to the first for which a function does not say so."""
        def goes_on(element):
            return bool(predicate(*element) if isinstance(element, tuple) else predicate(element))

        return Dataset(lambda: itertools.takewhile(goes_on, iter(self)), spec=lambda: self.element_spec)

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None) -> "Dataset":
        """batch_size elements at a time, one above the other."""
        size = int(batch_size)
        if size < 1:
            raise ValueError(f"batch: batch_size: found {batch_size}; expected at least 1")

        def make():
            elements = iter(self)
            while batch := list(itertools.islice(elements, size)):
                if len(batch) == size or not drop_remainder:
                    yield nested(lambda *parts: _stacked(parts), *batch)

        count = self._count if self._count < 0 else self._count // size if drop_remainder else -(-self._count // size)
        rows = size if drop_remainder else None
        return Dataset(make, count, lambda: nested(lambda spec: TensorSpec((rows, *spec.shape), spec.dtype), self.element_spec),
                       self._arrays and self._arrays.batched(size, drop_remainder))

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None) -> "Dataset":
        """Data sets of size elements each, stride apart, that begin shift elements after one another (size)."""
        size, stride = int(size), int(stride)
        shift = size if shift is None else int(shift)
        if min(size, shift, stride) < 1:
            raise ValueError(f"window: found size={size}, shift={shift}, stride={stride}; expected at least 1")

        def make():
            begun: list = []
            for number, element in enumerate(self):
                if number % shift == 0:
                    begun.append((number, []))
                for begin, window in begun:
                    if (number - begin) % stride == 0:
                        window.append(element)
                while begun and len(begun[0][1]) == size:
                    yield _window(begun.pop(0)[1])
            if not drop_remainder:
                yield from (_window(window) for _, window in begun)

        return Dataset(make)

    def unbatch(self, name=None) -> "Dataset":
        """The rows of each element."""
        def make():
            for element in self:
                counts = {len(leaf) for leaf in leaves(element)}
                if len(counts) > 1:
                    raise ValueError(f"unbatch: found parts of {', '.join(map(str, sorted(counts)))} rows; expected as many in each")
                for i in range(counts.pop()):
                    yield nested(lambda leaf: leaf[i], element)

        return Dataset(make, spec=lambda: nested(lambda spec: TensorSpec(spec.shape[1:], spec.dtype), self.element_spec))

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None) -> "Dataset":
        """In an order drawn at random: from a buffer of buffer_size elements, which the others follow."""
        size = int(buffer_size)
        if size < 1:
            raise ValueError(f"shuffle: buffer_size: found {buffer_size}; expected at least 1")
        state = _generator(seed)
        first = state.get_state()

        def make():
            rng = state
            if reshuffle_each_iteration is False:
                rng = np.random.RandomState()
                rng.set_state(first)
            return _shuffled(iter(self), size, rng)

        arrays = self._arrays and reshuffle_each_iteration is not False and 0 <= self._count <= size and self._arrays.shuffled(seed)
        return Dataset(make, self._count, lambda: self.element_spec, arrays or None)

    def repeat(self, count=None, name=None) -> "Dataset":
        """Pass after pass: count of them, or without end."""
        times = -1 if count is None else int(count)
        total = (INFINITE_CARDINALITY if times < 0 and self._count else self._count * times if self._count >= 0
                 else self._count if times else 0)

        def make():
            for _ in itertools.count() if times < 0 else range(times):
                empty = True
                for element in self:
                    empty = False
                    yield element
                if empty:
                    return

        return Dataset(make, total, lambda: self.element_spec)

    def take(self, count, name=None) -> "Dataset":
        """The first count elements; all where it is -1."""
        if count < 0:
            return self
        total = min(int(count), self._count) if self._count >= 0 else int(count) if self._count == INFINITE_CARDINALITY else self._count
        return Dataset(lambda: itertools.islice(iter(self), int(count)), total, lambda: self.element_spec)

    def skip(self, count, name=None) -> "Dataset":
        """Without the first count elements; nothing where it is -1."""
        if count < 0:
            return Dataset(lambda: iter(()), 0, lambda: self.element_spec)
        total = max(self._count - int(count), 0) if self._count >= 0 else self._count
        return Dataset(lambda: itertools.islice(iter(self), int(count), None), total, lambda: self.element_spec)

    def shard(self, num_shards, index, name=None) -> "Dataset":
        """Every num_shards-th element from number index on."""
        if not 0 <= index < num_shards:
            raise ValueError(f"shard: found index {index} of {num_shards}; expected 0 to {num_shards - 1}")
        total = -(-(self._count - index) // num_shards) if self._count >= 0 else self._count
        return Dataset(lambda: itertools.islice(iter(self), int(index), None, int(num_shards)), total, lambda: self.element_spec)

    def cache(self, filename="", name=None) -> "Dataset":
        """Keep the elements of the first whole pass in memory for those that follow."""
        if filename:
            raise NotImplementedError(f"cache: a file, {os.fspath(filename)!r}, is not in cornu; it keeps elements in memory")
        kept: list = []
        complete = [False]

        def make():
            if complete[0]:
                yield from kept
                return
            own = []
            for element in self:
                own.append(element)
                yield element
            kept[:], complete[0] = own, True

        arrays = None if self._arrays and self._arrays.shuffles else self._arrays  # what is kept has one order
        return Dataset(make, self._count, lambda: self.element_spec, arrays)

    def prefetch(self, buffer_size, name=None) -> "Dataset":
        """The same: fit reads batches ahead by itself."""
        return Dataset(lambda: iter(self), self._count, lambda: self.element_spec, self._arrays)

    def enumerate(self, start=0, name=None) -> "Dataset":
        """(number, element), numbers from start on."""
        return Dataset(lambda: ((tensor(np.int64(n)), element) for n, element in enumerate(self, int(start))), self._count,
                       lambda: (TensorSpec((), np.int64), self.element_spec))

    def concatenate(self, dataset, name=None) -> "Dataset":
        """Its elements, then those of the other."""
        _check_dataset("concatenate", dataset)
        counts = (self._count, _count_of(dataset))
        total = INFINITE_CARDINALITY if INFINITE_CARDINALITY in counts else sum(counts) if min(counts) >= 0 else UNKNOWN_CARDINALITY
        return Dataset(lambda: itertools.chain(iter(self), iter(dataset)), total, lambda: self.element_spec)

    def apply(self, transformation_func) -> "Dataset":
        """What a function of data sets makes of it."""
        return _check_dataset("apply", transformation_func(self))

    def with_options(self, options) -> "Dataset":
        """The same."""
        return self

    # ---- elements

    def __iter__(self) -> Iterator:
        return iter(self._make())

    def as_numpy_iterator(self) -> Iterator:
        """Elements as NumPy has them."""
        return (nested(lambda leaf: leaf.numpy(), element) for element in self)

    def reduce(self, initial_state, reduce_func, name=None):
        """The last state: a function makes each of the one before and an element."""
        state = _structure(initial_state)
        for element in self:
            state = _structure(reduce_func(state, element))
        return state

    def get_single_element(self, name=None):
        """The only element."""
        elements = list(itertools.islice(iter(self), 2))
        if len(elements) != 1:
            raise ValueError(f"get_single_element: found {'no element' if not elements else 'more than one'}; expected one")
        return elements[0]

    def cardinality(self, name=None):
        """How many elements there are: INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, or their number."""
        return tensor(np.int64(self._count))

    def __len__(self) -> int:
        if self._count < 0:
            raise TypeError("The dataset is infinite." if self._count == INFINITE_CARDINALITY else "The dataset length is unknown.")
        return self._count

    def __bool__(self) -> bool:
        return True

    @property
    def element_spec(self):
        """The shapes and types of an element; where only elements tell, of the first one."""
        if self._spec is not None:
            return self._spec()
        element = next(iter(self), _END)
        if element is _END:
            raise ValueError("element_spec: found no elements, which would tell it")
        return nested(_spec_of, element)

    def __repr__(self) -> str:
        return f"<_Dataset element_spec={self.element_spec!r}>"


class Arrays:
    """What the library does by itself with arrays in memory: shuffle them, batch them, multiply the samples by a number."""

    def __init__(self, whole, size: int | None = None, shuffles: bool = False, seed: int | None = None, scale: float = 1.0):
        self.whole, self.size, self.shuffles, self.seed, self.scale = whole, size, shuffles, seed, scale

    def _with(self, **changes) -> "Arrays":
        return Arrays(**{**vars(self), **changes})

    def shuffled(self, seed) -> "Arrays | None":
        """None: it is batched, or shuffled, before."""
        return None if self.size or self.shuffles else self._with(shuffles=True, seed=seed)

    def batched(self, size: int, drop_remainder: bool) -> "Arrays | None":
        """None: other batches than the library's."""
        pair = isinstance(self.whole, tuple) and 2 <= len(self.whole) <= 3 and not any(
            isinstance(part, (tuple, dict)) for part in self.whole)
        if self.size or not pair or drop_remainder and len(self.whole[0]) % size:
            return None
        return self._with(size=size)

    def mapped(self, function) -> "Arrays | None":
        """Where the function only multiplies the samples, and those are bytes, which the library scales."""
        if self.scale != 1.0 or not isinstance(self.whole, tuple) or self.whole[0].dtype != np.uint8:
            return None
        scale = _scale_of(function, len(self.whole))
        return None if scale is None else self._with(scale=scale)


class _Passed:
    """Stands for targets, which nothing may be done with."""


def _scale_of(function, parts: int) -> float | None:
    """The factor by which the function multiplies the first of so many parts of an element; None: it does anything else."""
    given = [Scaled(), *(_Passed() for _ in range(parts - 1))]
    try:
        made = function(*given)
    except Exception:  # whatever it does with what is none of its arguments
        return None
    fits = isinstance(made, tuple) and len(made) == parts and isinstance(made[0], Scaled)
    return made[0].scale if fits and all(a is b for a, b in zip(made[1:], given[1:])) else None


_END = object()


def _structure(value):
    """Tensors in tuples and dictionaries, as map_func's results are taken; a list is one tensor."""
    if isinstance(value, dict):
        return {key: _structure(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return type(value)(*map(_structure, value)) if hasattr(value, "_fields") else tuple(_structure(part) for part in value)
    return value if isinstance(value, Dataset) else tensor(value)


def _spec_of(leaf) -> TensorSpec:
    return TensorSpec(leaf.shape, leaf.dtype)


def _signature(types, shapes):
    if isinstance(types, dict):
        return {key: _signature(types[key], shapes and shapes[key]) for key in types}
    if isinstance(types, (tuple, list)):
        return tuple(_signature(kind, shapes and shapes[n]) for n, kind in enumerate(types))
    return TensorSpec(shapes, types) if shapes is not None else _AnyShape(None, types)


class _AnyShape(TensorSpec):
    """Of a generator that says types alone."""


def _like(signature, item):
    """What a generator gave, in the form of its signature: lists may stand for tuples."""
    if isinstance(signature, tuple) and not isinstance(signature, TensorSpec):
        if not isinstance(item, (tuple, list)) or len(item) != len(signature):
            raise TypeError(f"from_generator: found {item!r}; expected {len(signature)} things")
        return tuple(_like(part, one) for part, one in zip(signature, item))
    if isinstance(signature, dict):
        return {key: _like(signature[key], item[key]) for key in signature}
    return item


def _typed(spec: TensorSpec, item):
    made = tensor(item) if spec.dtype.kind == "O" else tensor(item, spec.dtype)
    if not isinstance(spec, _AnyShape):
        try:
            made.set_shape(spec.shape)
        except ValueError:
            raise TypeError(f"from_generator: found an element of shape {tuple(made.shape)}; expected {tuple(spec.shape)}") from None
    return made


def _window(elements: list):
    """Elements as a data set, or as one for each of their parts."""
    def of(place: int) -> Dataset:
        parts = [leaves(element)[place] for element in elements]
        return Dataset(lambda: iter(parts), len(parts))

    places = itertools.count()
    return nested(lambda _: of(next(places)), elements[0])


def _stacked(parts):
    shapes = {tuple(part.shape) for part in parts}
    if len(shapes) > 1:
        raise ValueError(f"batch: found elements of shapes {', '.join(map(str, sorted(shapes)))}; expected equal ones")
    return tensor(np.stack([np.asarray(part) for part in parts]))


def _count_of(dataset) -> int:
    if isinstance(dataset, Dataset):
        return dataset._count
    try:
        return len(dataset)
    except TypeError:
        return UNKNOWN_CARDINALITY


def _check_dataset(what: str, value):
    if not isinstance(value, Dataset) and not (hasattr(value, "__iter__") and hasattr(value, "cardinality")):
        raise TypeError(f"{what}: found {value!r}; expected a tf.data.Dataset")
    return value


def _generator(seed) -> "np.random.RandomState":
    """Without a seed, as weights are drawn: by the seed of the program, where one is set."""
    from .keras.initializers import draw_seed

    return np.random.RandomState((draw_seed() if seed is None else int(seed)) % 2**32)


def _shuffled(elements: Iterator, size: int, rng: "np.random.RandomState") -> Iterator:
    buffer: list = []
    for element in elements:
        buffer.append(element)
        if len(buffer) == size:
            place = rng.randint(size)
            buffer[place], buffer[-1] = buffer[-1], buffer[place]
            yield buffer.pop()
    while buffer:
        place = rng.randint(len(buffer))
        buffer[place], buffer[-1] = buffer[-1], buffer[place]
        yield buffer.pop()


def _by_threads(call: Callable, elements: Iterator, workers: int) -> Iterator:
    """In the order of the elements."""
    from collections import deque
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque = deque()
    with ThreadPoolExecutor(workers, "cornu-map") as pool:
        try:
            for element in elements:
                waiting.append(pool.submit(call, element))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


experimental = SimpleNamespace(AUTOTUNE=AUTOTUNE, INFINITE_CARDINALITY=INFINITE_CARDINALITY,
                               UNKNOWN_CARDINALITY=UNKNOWN_CARDINALITY, cardinality=lambda dataset: dataset.cardinality())
__all__ = ["AUTOTUNE", "Dataset", "INFINITE_CARDINALITY", "Options", "UNKNOWN_CARDINALITY", "experimental"]
__getattr__ = missing("cornu.data", [*__all__, "keras.utils.image_dataset_from_directory"],
                      ["FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset", "ThreadingOptions",
                       "NumpyIterator", "DatasetSpec", "IteratorSpec"])

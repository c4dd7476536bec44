"""keras.utils.image_dataset_from_directory: a folder of pictures as a data set."""
import json
import os
from typing import Any, Callable, Iterator

import numpy as np

from .. import _cornu
from .._arrays import Tensor, tensor as _tensor
from ._images import channels_of, is_channels_last, size_of
from ._native_data import Opened, check_inputs, check_labels, write_line

_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_FILTERS = {"bilinear": "bilinear_tf", "nearest": "nearest", "bicubic": "bicubic_tf", "lanczos3": "lanczos3_tf"}
_MISSING_FILTERS = ("area", "lanczos5", "gaussian", "mitchellcubic")


class _Files:
    """Pictures by path, with their classes."""

    def __init__(self, paths, labels, class_names, label_mode, shape, interpolation, crop):
        self.paths, self.labels, self.class_names, self.label_mode = paths, labels, class_names, label_mode
        self.shape, self.interpolation, self.crop = shape, interpolation, crop
        self.opened = Opened()

    def names(self):
        """Those of the class numbers; None where the numbers are the caller's own."""
        if self.labels is not None and (not self.class_names or self.labels.max() >= len(self.class_names)):
            return None
        return self.class_names

    def open(self):
        return _cornu.data_from_files(self.paths, self.labels, self.names(), *self.shape, self.interpolation, self.crop)

    def batch(self, index: np.ndarray):
        x = np.empty((len(index), *self.shape), np.float32)
        self.opened.get("samples", self.open).batch(np.ascontiguousarray(index, np.int64), '{"scale": 1}', 0, 0, x)
        if self.interpolation == "nearest":
            x = x.astype(np.uint8)  # as tf.image.resize leaves them
        if self.labels is None:
            return _tensor(x)
        y = self.labels[index]
        if self.label_mode == "binary":
            y = y.astype(np.float32)[:, None]
        elif self.label_mode == "categorical":
            y = (y[:, None] == np.arange(len(self.class_names))).astype(np.float32)
        return _tensor(x), _tensor(y)


def _apply(function: Callable, element):
    out = function(*element) if isinstance(element, tuple) else function(element)
    return tuple(map(_tensor, out)) if isinstance(out, tuple) else _tensor(out)


def _parts(element) -> tuple:
    return element if isinstance(element, tuple) else (element,)


def _whole(parts, element):
    parts = tuple(map(_tensor, parts))
    return parts if isinstance(element, tuple) else parts[0]


def _batched(elements: Iterator, size: int, drop: bool):
    waiting: list = []
    for element in elements:
        waiting.append(element)
        if len(waiting) == size:
            yield _whole(map(np.stack, zip(*map(_parts, waiting))), element)
            waiting = []
    if waiting and not drop:
        yield _whole(map(np.stack, zip(*map(_parts, waiting))), waiting[0])


def _shuffled(elements: Iterator, size: int, rng: "np.random.RandomState"):
    """By a buffer that elements leave at random."""
    buffer: list = []
    for element in elements:
        buffer.append(element)
        if len(buffer) == size:
            yield buffer.pop(rng.randint(size))
    while buffer:
        yield buffer.pop(rng.randint(len(buffer)))


class _Shuffle:
    """A data set's `shuffle`: tf.data's method, and fit's question."""

    def __init__(self, dataset: "Dataset"):
        self._dataset = dataset

    def __call__(self, *args, **kwargs) -> "Dataset":
        return self._dataset._shuffled(*args, **kwargs)

    def __bool__(self) -> bool:
        return self._dataset._shuffles


class Dataset:
    """Batches of pictures, with the methods of tf.data that scripts use.

    `fit` uses the library's loader unless the data set has functions of Python."""

    def __init__(self, files: _Files, batch_size, shuffle: bool, seed, steps: tuple = (), length: int | None = None):
        self._files, self.batch_size, self._shuffles, self.seed = files, batch_size, shuffle, seed
        self._steps = steps  # each a function from an iterator to another
        self._length = length
        self._passes = 0
        self.class_names, self.file_paths = files.class_names, files.paths

    # ---- for fit

    samples = property(lambda self: len(self._files.paths))
    _class_names = property(lambda self: self._files.names())
    image_shape = property(lambda self: self._files.shape)

    @property
    def _cornu_data(self):
        if self._steps or self.batch_size is None or self._files.labels is None:
            raise AttributeError("_cornu_data: batches are made in Python")
        return self._open_for

    def _open_for(self, handle):
        files = self._files
        check_inputs(handle, files.shape)
        count = len(files.class_names) if files.label_mode == "categorical" else int(files.labels.max()) + 1
        check_labels(handle, files.label_mode, count, "label_mode")
        section = {"scale": 1, "interpolation": files.interpolation, "keep_aspect_ratio": files.crop}
        return files.opened.get("samples", files.open), json.dumps(section)

    # ---- iteration

    def __len__(self) -> int:
        if self._length == -1:
            raise TypeError("the data set is infinite, it has no length")
        if self._length == -2:
            raise TypeError("the length of the data set is unknown")
        return self._source_length() if self._length is None else self._length

    def _source_length(self) -> int:
        return self.samples if self.batch_size is None else -(-self.samples // self.batch_size)

    def cardinality(self) -> int:
        """The number of elements of a pass; -1: infinite, -2: unknown."""
        return self._source_length() if self._length is None else self._length

    def _source(self):
        order = np.arange(self.samples)
        if self._shuffles:
            rng = np.random if self.seed is None else np.random.RandomState((self.seed + self._passes) % 2**32)
            order = rng.permutation(self.samples)
        self._passes += 1
        size = self.batch_size or 1
        for first in range(0, self.samples, size):
            batch = self._files.batch(order[first: first + size])
            yield batch if self.batch_size else _whole((part[0] for part in _parts(batch)), batch)

    def __iter__(self):
        elements = self._source()
        for step in self._steps:
            elements = step(elements)
        return iter(elements)

    def as_numpy_iterator(self):
        for element in self:
            parts = tuple(part.numpy() for part in _parts(element))
            yield parts if isinstance(element, tuple) else parts[0]

    # ---- tf.data's methods

    def _with(self, step: Callable | None = None, length: int | None = None, **changes) -> "Dataset":
        values: dict[str, Any] = {"batch_size": self.batch_size, "shuffle": self._shuffles, "seed": self.seed,
                                  "steps": self._steps + ((step,) if step else ()),
                                  "length": self._length if length is None else length}
        return Dataset(self._files, **{**values, **changes})

    def cache(self, filename="", name=None) -> "Dataset":
        """No effect: decoded pictures stay in memory anyway, as far as they fit."""
        if filename:
            raise NotImplementedError("cache: a file is not in cornu; it keeps pictures in memory")
        return self

    def prefetch(self, buffer_size, name=None) -> "Dataset":
        """No effect: files are decoded ahead anyway."""
        return self

    def map(self, map_func, num_parallel_calls=None, deterministic=None, name=None) -> "Dataset":
        """Apply a function of NumPy arrays to each element, which is a batch."""
        return self._with(lambda elements: (_apply(map_func, element) for element in elements))

    def filter(self, predicate, name=None) -> "Dataset":
        return self._with(lambda elements: (e for e in elements if predicate(*_parts(e))), -2)

    def take(self, count, name=None) -> "Dataset":
        def step(elements):
            for number, element in enumerate(elements):
                if number == count:
                    return
                yield element
                if number + 1 == count:
                    return

        if count == -1:
            return self
        known = self.cardinality()
        return self._with(step, count if known == -1 else -2 if known == -2 else min(count, known))

    def skip(self, count, name=None) -> "Dataset":
        known = self.cardinality()
        return self._with(lambda elements: (e for number, e in enumerate(elements) if number >= count),
                          known if known < 0 else max(known - count, 0))

    def _shuffled(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None) -> "Dataset":
        if not self._steps:
            return self._with(shuffle=True, seed=self.seed if seed is None else seed)
        return self._with(lambda elements: _shuffled(elements, buffer_size, np.random.RandomState(seed)))

    @property
    def shuffle(self) -> _Shuffle:
        """Called, as tf.data has it: samples in another order each pass. As a value: are they?"""
        return _Shuffle(self)

    def repeat(self, count=None, name=None) -> "Dataset":
        def step(elements):
            # The elements before come from a pass of their own each time.
            number = 0
            while count in (None, -1) or number < count:
                yield from before
                number += 1

        before, known = self, self.cardinality()
        endless = count in (None, -1)
        return Dataset(self._files, self.batch_size, self._shuffles, self.seed, (lambda elements: step(elements),),
                       -1 if endless else known if known < 0 else known * count)

    def unbatch(self, name=None) -> "Dataset":
        """Single samples instead of batches."""
        if not self._steps and self.batch_size is not None:
            return self._with(batch_size=None)
        return self._with(lambda elements: (_whole(parts, e) for e in elements for parts in zip(*_parts(e))), -2)

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None) -> "Dataset":
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ValueError(f"batch: batch_size: found {batch_size!r}; expected a whole number of at least 1")
        if not self._steps and self.batch_size is None and not drop_remainder:
            return self._with(batch_size=int(batch_size))
        known = self.cardinality()
        length = known if known < 0 else known // batch_size if drop_remainder else -(-known // batch_size)
        return self._with(lambda elements: _batched(elements, batch_size, drop_remainder), length)

    def __repr__(self) -> str:
        return f"<Dataset {self.samples} images of {self._files.shape}, batches of {self.batch_size}>"


def _walk(directory: str, follow_links: bool) -> list[str]:
    """As Keras walks: folders by path, files by name."""
    return [os.path.join(root, file) for root, _, files in sorted(os.walk(directory, followlinks=follow_links))
            for file in sorted(files) if file.lower().endswith(_FORMATS)]


def _classes_of(directory: str, class_names) -> list[str]:
    found = [name for name in sorted(os.listdir(directory))
             if os.path.isdir(os.path.join(directory, name)) and not name.startswith(".")]
    if class_names is None:
        return found
    if not set(class_names) <= set(found):
        raise ValueError(f"image_dataset_from_directory: class_names: found {list(class_names)}; expected some of {found}, "
                         f"the folders in {directory}")
    return list(class_names)


def _index(directory: str, labels, class_names, follow_links: bool):
    """(paths, labels or None, class_names or None)."""
    if isinstance(labels, str):
        names = _classes_of(directory, class_names)
        by_class = [_walk(os.path.join(directory, name), follow_links) for name in names]
        numbers = np.repeat(np.arange(len(names), dtype=np.int32), [len(files) for files in by_class])
        return [path for files in by_class for path in files], numbers, names
    paths = _walk(directory, follow_links)
    if labels is None:
        return paths, None, None
    if len(labels) != len(paths):
        raise ValueError(f"image_dataset_from_directory: labels: found {len(labels)} for the {len(paths)} files in "
                         f"{directory}; expected as many")
    return paths, np.array(labels, np.int32), [str(label) for label in sorted(set(labels))]


def _check_split(validation_split, subset, shuffle, seed) -> None:
    what = "image_dataset_from_directory"
    if validation_split and not 0 < validation_split < 1:
        raise ValueError(f"{what}: validation_split: found {validation_split}; expected a number between 0 and 1")
    if bool(validation_split) != bool(subset):
        raise ValueError(f"{what}: found only one of validation_split and subset; expected both or none")
    if subset not in ("training", "validation", "both", None):
        raise ValueError(f"{what}: subset: found {subset!r}; expected 'training', 'validation' or 'both'")
    if validation_split and shuffle and seed is None:
        raise ValueError(f"{what}: found a validation_split of shuffled files without a seed; expected one, so that the "
                         f"training and validation subsets share no file")


def _check_labels_argument(labels, label_mode, class_names) -> None:
    what = "image_dataset_from_directory"
    if labels is not None and (isinstance(labels, str) and labels != "inferred"
                               or not isinstance(labels, (str, list, tuple))):
        raise ValueError(f"{what}: labels: found {labels!r}; expected 'inferred', None or a list of class numbers")
    if not isinstance(labels, str) and class_names:
        raise ValueError(f"{what}: found class_names and labels={labels!r}; class_names are for labels='inferred'")
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(f"{what}: label_mode: found {label_mode!r}; expected 'int', 'categorical', 'binary' or None")


def _filter_of(interpolation) -> str:
    what = "image_dataset_from_directory"
    name = interpolation.lower() if isinstance(interpolation, str) else interpolation
    if name in _MISSING_FILTERS:
        raise NotImplementedError(f"{what}: interpolation={name!r} is not in cornu; there is {', '.join(_FILTERS)}")
    if name not in _FILTERS:
        raise ValueError(f"{what}: interpolation: found {name!r}; expected {', '.join(_FILTERS)}")
    return _FILTERS[name]


def image_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, color_mode="rgb",
                                 batch_size=32, image_size=(256, 256), shuffle=True, seed=None, validation_split=None,
                                 subset=None, interpolation="bilinear", follow_links=False, crop_to_aspect_ratio=False,
                                 pad_to_aspect_ratio=False, data_format=None, format="tf", verbose=True):
    """The pictures of a folder that has a folder a class, as batches of float32 from 0 to 255 and their classes."""
    what = "image_dataset_from_directory"
    _check_labels_argument(labels, label_mode, class_names)
    if labels is None or label_mode is None:
        labels = label_mode = None
    channels = channels_of(color_mode, what)
    size = size_of((image_size, image_size) if isinstance(image_size, int) else image_size, f"{what}: image_size")
    resizing = _filter_of(interpolation)
    if pad_to_aspect_ratio:
        raise NotImplementedError(f"{what}: pad_to_aspect_ratio is not in cornu; there is crop_to_aspect_ratio")
    if not is_channels_last(data_format, what):
        raise NotImplementedError(f"{what}: data_format='channels_first' is not in cornu; it takes 'channels_last'")
    if format != "tf":
        raise NotImplementedError(f"{what}: format={format!r} is not in cornu; it takes 'tf'")
    if batch_size is not None and (not isinstance(batch_size, (int, np.integer)) or batch_size < 1):
        raise ValueError(f"{what}: batch_size: found {batch_size!r}; expected a whole number of at least 1, or None")
    _check_split(validation_split, subset, shuffle, seed)
    seed = int(np.random.randint(1e6)) if seed is None else seed
    directory = os.fspath(directory)
    if not os.path.isdir(directory):
        raise FileNotFoundError(f"{what}: {directory}: no such folder")
    paths, numbers, names = _index(directory, labels, class_names, follow_links)
    if verbose:
        write_line(f"Found {len(paths)} files." if names is None
                   else f"Found {len(paths)} files belonging to {len(names)} classes.")
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(f"{what}: found label_mode='binary' and the classes {names}; expected two")
    if shuffle:  # as Keras does it: the same numbers for files and labels
        np.random.RandomState(seed).shuffle(paths)
        if numbers is not None:
            np.random.RandomState(seed).shuffle(numbers)

    def dataset(part: str | None) -> Dataset:
        cut = len(paths) - int((validation_split or 0) * len(paths))
        chosen = slice(cut) if part == "training" else slice(cut, None) if part else slice(None)
        if part:
            write_line(f"Using {cut if part == 'training' else len(paths) - cut} files for {part}.")
        if not paths[chosen]:
            raise ValueError(f"{what}: {directory}: found no {part + ' ' if part else ''}images; expected files that end "
                             f"with {', '.join(_FORMATS)}")
        files = _Files(paths[chosen], None if numbers is None else numbers[chosen], names, label_mode, (*size, channels),
                       resizing, bool(crop_to_aspect_ratio))
        return Dataset(files, batch_size, bool(shuffle) and not (subset == "both" and part == "validation"), seed)

    return [dataset("training"), dataset("validation")] if subset == "both" else dataset(subset)

"""The iterators of ImageDataGenerator: over folders and over arrays.

Batches are decoded and changed by the library. `fit` asks for `_cornu_data`, which is there where the library can do all
of it by itself; otherwise, and in loops of one's own, an iterator gives NumPy arrays."""
import os
import threading
import warnings

import numpy as np

from ... import _cornu
from .._images import array_to_img, channels_of, check_filter, is_channels_last, size_of
from .._native_data import Opened, check_inputs, check_labels, targets_of, write_line


class Iterator:
    """Batches by number: their order, and the lock of those who ask for them."""

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")
    workers, use_multiprocessing, max_queue_size = 1, False, 10  # as keras.utils.PyDataset has them

    def __init__(self, n, batch_size, shuffle, seed, workers=1, use_multiprocessing=False, max_queue_size=10):
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ValueError(f"batch_size: found {batch_size!r}; expected a whole number of at least 1")
        if seed is not None and not isinstance(seed, (int, np.integer)):
            raise TypeError(f"seed: found {seed!r}; expected a whole number or None")
        self.n, self.batch_size, self.shuffle, self.seed = n, int(batch_size), shuffle, seed
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: np.ndarray | None = None
        self._opened = Opened()
        self._draws = int(np.random.randint(2**31)) if seed is None else int(seed) % 2**63

    def _generator(self):
        """Keras seeds NumPy's global generator before each batch; here it stays unchanged."""
        return np.random if self.seed is None else np.random.RandomState((self.seed + self.total_batches_seen) % 2**32)

    def _set_index_array(self) -> None:
        self.index_array = self._generator().permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    num_batches = property(__len__, doc="Batches of a pass.")

    def _want_samples(self) -> None:
        if self.n == 0:
            raise ValueError(f"{type(self).__name__}: found no samples; expected at least one")

    def __getitem__(self, idx):
        self._want_samples()
        if not 0 <= idx < len(self):
            raise ValueError(f"batch {idx}: there are {len(self)}, numbered from 0")
        with self.lock:
            if self.index_array is None:
                self._set_index_array()
            self.total_batches_seen += 1
            return self._get_batches_of_transformed_samples(
                self.index_array[self.batch_size * idx: self.batch_size * (idx + 1)])

    def __iter__(self):
        return self

    def __next__(self):
        """The next batch; a new pass follows each pass."""
        self._want_samples()
        with self.lock:
            if self.batch_index == 0:
                self._set_index_array()
            first = self.batch_index * self.batch_size % self.n
            self.batch_index = self.batch_index + 1 if first + self.batch_size < self.n else 0
            self.total_batches_seen += 1
            return self._get_batches_of_transformed_samples(self.index_array[first: first + self.batch_size])

    def next(self):
        """The next batch."""
        return self.__next__()

    def reset(self) -> None:
        """Begin a new pass with the next batch."""
        self.batch_index = 0

    def on_epoch_end(self) -> None:
        """After a pass: draw the order of the next."""
        self._set_index_array()

    def _get_batches_of_transformed_samples(self, index_array):
        raise NotImplementedError(f"{type(self).__name__}: expected _get_batches_of_transformed_samples of its own")

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        del state["lock"], state["_opened"]
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, lock=threading.Lock(), _opened=Opened())


class _Pictures(Iterator):
    """What folders and arrays share: the generator's changes, files of what came out, and the way into fit."""

    image_shape: tuple
    sample_weight = None

    def _set_saving(self, generator, save_to_dir, save_prefix, save_format) -> None:
        if save_to_dir and save_format != "png":
            raise NotImplementedError(f"save_format={save_format!r} is not in cornu; it writes 'png'")
        self.image_data_generator = generator
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format

    def _needs_python(self) -> bool:
        return bool(self.image_data_generator._needs_python() or self.save_to_dir or self.sample_weight is not None)

    @property
    def _cornu_data(self):
        """A function of the library's model that gives (data, section); fit then needs no Python."""
        if self._needs_python():
            raise AttributeError("_cornu_data: batches are made in Python")
        return self._open_for

    def _open_for(self, handle):
        raise NotImplementedError

    def _data(self):
        raise NotImplementedError

    def _changed(self, index_array) -> np.ndarray:
        data = self._opened.get("samples", self._data)
        out = self.image_data_generator._batch(data, index_array, self._draws, self.total_batches_seen, self.image_shape)
        for picture, number in zip(out if self.save_to_dir else (), index_array):
            name = f"{self.save_prefix}_{number}_{np.random.randint(int(1e7))}.{self.save_format}"
            array_to_img(picture, scale=True).save(os.path.join(self.save_to_dir, name))
        return out


def _files_of_class(directory: str, name: str, formats: tuple, split, follow_links: bool) -> list[str]:
    """As Keras walks: folders by path, files by name; of a split a share of the class's files, the first validate."""
    found = []
    folder = os.path.join(directory, name)
    for root, _, files in sorted(os.walk(folder, followlinks=follow_links)):
        found += [os.path.join(name, os.path.relpath(os.path.join(root, file), folder))
                  for file in sorted(files) if file.lower().endswith(formats)]
    if split:
        found = found[int(split[0] * len(found)): int(split[1] * len(found))]
    return found


def _split_of(subset, generator):
    if subset not in (None, "training", "validation"):
        raise ValueError(f"subset: found {subset!r}; expected 'training' or 'validation'")
    share = generator._validation_split
    return None if subset is None else (0, share) if subset == "validation" else (share, 1)


class FileIterator(_Pictures):
    """Pictures of files: how they are read, and what a batch of them is."""

    allowed_class_modes: set

    def _set_reading(self, what, generator, target_size, color_mode, class_mode, data_format, subset, interpolation,
                     keep_aspect_ratio) -> None:
        if class_mode not in self.allowed_class_modes:
            modes = ", ".join(sorted(map(repr, self.allowed_class_modes)))
            raise ValueError(f"{what}: class_mode: found {class_mode!r}; expected one of {modes}")
        if not is_channels_last(data_format, what):
            raise NotImplementedError(f"{what}: data_format='channels_first' is not in cornu; it takes 'channels_last'")
        self.target_size = size_of(target_size, f"{what}: target_size")
        self.image_shape = (*self.target_size, channels_of(color_mode, what))
        self.color_mode, self.class_mode, self.data_format = color_mode, class_mode, "channels_last"
        self.interpolation, self.keep_aspect_ratio = check_filter(interpolation, what), bool(keep_aspect_ratio)
        self.subset, self.split, self.dtype = subset, _split_of(subset, generator), "float32"

    filepaths = property(lambda self: self._filepaths)

    @property
    def _class_names(self):
        return list(self.class_indices) if self.class_mode in ("categorical", "binary", "sparse") else None

    labels = property(lambda self: self.classes, doc="The pictures' class numbers.")

    def _needs_python(self) -> bool:
        return super()._needs_python() or self.class_mode not in ("categorical", "binary", "sparse")

    def _data(self):
        self._want_samples()
        classes = self._numbers() if hasattr(self, "class_indices") else None
        return _cornu.data_from_files(self._filepaths, classes, None if classes is None else list(self.class_indices),
                                      *self.image_shape, self.interpolation, self.keep_aspect_ratio)

    def _numbers(self) -> np.ndarray:
        return np.ascontiguousarray(self.classes, np.int32)

    def _open_for(self, handle):
        check_inputs(handle, self.image_shape)
        check_labels(handle, self.class_mode, len(self.class_indices), "class_mode")
        section = self.image_data_generator._section(interpolation=self.interpolation,
                                                     keep_aspect_ratio=self.keep_aspect_ratio)
        return self._opened.get("samples", self._data), section

    def _targets(self, x, index_array):
        if self.class_mode == "input":
            return x.copy()
        if self.class_mode == "raw":
            return self.labels[index_array]
        numbers = self._numbers()[index_array]
        if self.class_mode == "categorical":
            return np.eye(len(self.class_indices), dtype=np.float32)[numbers]
        return numbers.astype(np.float32)

    def _get_batches_of_transformed_samples(self, index_array):
        x = self._changed(index_array)
        if self.class_mode is None:
            return x
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return x, self._targets(x, index_array), *weights

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.n} images, {self.image_shape}, batches of {self.batch_size}>"


class DirectoryIterator(FileIterator):
    """Batches of the pictures of a folder that has a folder a class."""

    allowed_class_modes = {"categorical", "binary", "sparse", "input", None}

    def __init__(self, directory, image_data_generator, target_size=(256, 256), color_mode="rgb", classes=None,
                 class_mode="categorical", batch_size=32, shuffle=True, seed=None, data_format=None, save_to_dir=None,
                 save_prefix="", save_format="png", follow_links=False, subset=None, interpolation="nearest",
                 keep_aspect_ratio=False, dtype=None):
        what = "flow_from_directory"
        self._set_reading(what, image_data_generator, target_size, color_mode, class_mode, data_format, subset,
                          interpolation, keep_aspect_ratio)
        self._set_saving(image_data_generator, save_to_dir, save_prefix, save_format)
        self.directory = directory = os.fspath(directory)
        if not os.path.isdir(directory):
            raise FileNotFoundError(f"{what}: {directory}: no such folder")
        if classes is not None and isinstance(classes, str):
            raise TypeError(f"{what}: classes: found {classes!r}; expected a list of names")
        self._find_files(list(classes or self._folders_of(directory)), follow_links)
        super().__init__(self.samples, batch_size, shuffle, seed)

    @staticmethod
    def _folders_of(directory: str) -> list[str]:
        return [name for name in sorted(os.listdir(directory)) if os.path.isdir(os.path.join(directory, name))]

    def _find_files(self, names: list[str], follow_links: bool) -> None:
        self.class_indices = {name: number for number, name in enumerate(names)}
        self.num_classes = len(names)
        self.filenames: list[str] = []
        classes = []
        for number, name in enumerate(names):
            if not os.path.isdir(os.path.join(self.directory, name)):
                warnings.warn(f"flow_from_directory: {os.path.join(self.directory, name)}: no such folder; the class has "
                              f"no pictures", stacklevel=5)
            files = _files_of_class(self.directory, name, self.white_list_formats, self.split, follow_links)
            self.filenames += files
            classes += [number] * len(files)
        self.classes = np.array(classes, np.int32)
        self.samples = len(self.filenames)
        self._filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        write_line(f"Found {self.samples} images belonging to {self.num_classes} classes.")


def _check_pictures(x) -> np.ndarray:
    if isinstance(x, (tuple, list)) and any(np.ndim(part) > 3 for part in x):
        raise NotImplementedError("flow: several inputs are not in cornu; it takes one array of pictures")
    x = np.asarray(x.detach() if hasattr(x, "detach") else x)
    if x.dtype == object or x.dtype.kind not in "buif":
        raise TypeError(f"flow: x: found an array of {x.dtype}; expected numbers")
    if x.ndim != 4:
        raise ValueError(f"flow: x: found shape {x.shape}; expected (samples, height, width, channels)")
    return np.ascontiguousarray(x, np.uint8 if x.dtype == np.uint8 else np.float32)


def _check_length(array, count: int, name: str):
    if array is None:
        return None
    array = np.asarray(array)
    if array.ndim == 0 or len(array) != count:
        raise ValueError(f"flow: {name}: found {len(array) if array.ndim else 'a single number'}; expected as many as x "
                         f"has, {count}")
    return array


class NumpyArrayIterator(_Pictures):
    """Batches of an array of pictures."""

    def __init__(self, x, y, image_data_generator, batch_size=32, shuffle=False, sample_weight=None, seed=None,
                 data_format=None, save_to_dir=None, save_prefix="", save_format="png", subset=None,
                 ignore_class_split=False, dtype=None):
        if not is_channels_last(data_format, "flow"):
            raise NotImplementedError("flow: data_format='channels_first' is not in cornu; it takes 'channels_last'")
        x = _check_pictures(x)
        y = _check_length(y, len(x), "y")
        weight = _check_length(sample_weight, len(x), "sample_weight")
        split = _split_of(subset, image_data_generator)
        if split:
            middle = int(len(x) * image_data_generator._validation_split)
            part = slice(middle) if subset == "validation" else slice(middle, None)
            if y is not None and not ignore_class_split and not np.array_equal(np.unique(y[:middle]), np.unique(y[middle:])):
                raise ValueError("flow: found other classes in the training subset than in the validation one; expected "
                                 "arrays that are not sorted by class (or ignore_class_split=True)")
            x, y, weight = x[part], None if y is None else y[part], None if weight is None else weight[part]
        self._pixels, self.y, self.sample_weight = x, y, weight
        self.image_shape, self.data_format, self.dtype = x.shape[1:], "channels_last", "float32"
        self._set_saving(image_data_generator, save_to_dir, save_prefix, save_format)
        super().__init__(len(x), batch_size, shuffle, seed)

    x = property(lambda self: self._pixels.astype(np.float32, copy=False), doc="The pictures as floats.")
    samples = property(lambda self: self.n, doc="How many pictures there are.")

    def _needs_python(self) -> bool:
        return super()._needs_python() or self.y is None

    def _data(self):
        self._want_samples()
        return _cornu.data_from_arrays(self._pixels, np.zeros(self.n, np.int32), None)

    def _open_for(self, handle):
        self._want_samples()
        check_inputs(handle, self.image_shape)
        y = targets_of(handle, self.y, self.n, "flow: y")
        data = self._opened.get(("samples and targets", y.dtype.kind),
                                lambda: _cornu.data_from_arrays(self._pixels, y, None))
        return data, self.image_data_generator._section()

    def _get_batches_of_transformed_samples(self, index_array):
        batch = (self._changed(index_array), *(a[index_array] for a in (self.y, self.sample_weight) if a is not None))
        return batch[0] if self.y is None else batch

    def __repr__(self) -> str:
        return f"<NumpyArrayIterator {self.n} images of {self.image_shape}, batches of {self.batch_size}>"

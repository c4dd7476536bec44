"""ImageDataGenerator: what happens to pictures before a network sees them.

What the library knows becomes the data section of a recipe, which fit runs without Python; a preprocessing_function, and
statistics that fit() computes, are applied in Python, batch by batch."""
import inspect
import json
import warnings

import numpy as np

from ... import _cornu
from .._images import is_channels_last
from ._dataframe import DataFrameIterator
from ._iterators import DirectoryIterator, NumpyArrayIterator

# Keras's options that are the library's, by the same names, and the value that changes nothing.
_RANDOM = {"rotation_range": 0, "width_shift_range": 0, "height_shift_range": 0, "shear_range": 0,
           "zoom_range": [1, 1], "channel_shift_range": 0, "brightness_range": None, "horizontal_flip": False,
           "vertical_flip": False, "fill_mode": "nearest", "cval": 0}
_OF_SAMPLE = ("samplewise_center", "samplewise_std_normalization")


def _plain(value):
    """As JSON has it; a whole number stays one, which Keras tells from 7.0."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(v) for v in value] if isinstance(value, (tuple, list, np.ndarray)) else value


def _pair_of(value, name: str) -> list:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name}: found {value!r}; expected a tuple or list of two numbers")
    return [_plain(v) for v in value]


def _implies(generator, name: str, implied: str) -> None:
    if getattr(generator, name) and not getattr(generator, implied):
        setattr(generator, implied, True)
        warnings.warn(f"ImageDataGenerator: {name} implies {implied}", stacklevel=3)


class ImageDataGenerator:
    """Batches of pictures with random transforms."""

    def __init__(self, featurewise_center=False, samplewise_center=False, featurewise_std_normalization=False,
                 samplewise_std_normalization=False, zca_whitening=False, zca_epsilon=1e-6, rotation_range=0,
                 width_shift_range=0.0, height_shift_range=0.0, brightness_range=None, shear_range=0.0, zoom_range=0.0,
                 channel_shift_range=0.0, fill_mode="nearest", cval=0.0, horizontal_flip=False, vertical_flip=False,
                 rescale=None, preprocessing_function=None, data_format=None, validation_split=0.0,
                 interpolation_order=1, dtype=None):
        if zca_whitening:
            raise NotImplementedError("ImageDataGenerator: zca_whitening is not in cornu; there is featurewise_center, "
                                      "featurewise_std_normalization and the samplewise ones")
        if not is_channels_last(data_format, "ImageDataGenerator"):
            raise NotImplementedError("ImageDataGenerator: data_format='channels_first' is not in cornu; it takes "
                                      "'channels_last'")
        if interpolation_order != 1:
            raise NotImplementedError(f"ImageDataGenerator: interpolation_order={interpolation_order} is not in cornu; it "
                                      f"takes 1")
        if dtype is not None and np.dtype(dtype) != np.float32:
            raise NotImplementedError(f"ImageDataGenerator: dtype={dtype!r} is not in cornu; it takes 'float32'")
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"ImageDataGenerator: validation_split: found {validation_split}; expected a number between "
                             f"0 and 1")
        if preprocessing_function is not None and not callable(preprocessing_function):
            raise TypeError(f"ImageDataGenerator: preprocessing_function: found {preprocessing_function!r}; expected a "
                            f"function of one picture")
        if rescale is not None and rescale != 0 and not rescale > 0:
            raise NotImplementedError(f"ImageDataGenerator: rescale={rescale} is not in cornu; it takes numbers above 0")
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range = rotation_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.shear_range, self.channel_shift_range = shear_range, channel_shift_range
        self.fill_mode, self.cval = fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.data_format, self.interpolation_order, self.dtype = "channels_last", 1, "float32"
        self.channel_axis, self.row_axis, self.col_axis = 3, 1, 2
        single = isinstance(zoom_range, (int, float, np.number))
        self.zoom_range = ([1 - zoom_range, 1 + zoom_range] if single
                           else _pair_of(zoom_range, "ImageDataGenerator: zoom_range"))
        self.brightness_range = None if brightness_range is None else _pair_of(brightness_range,
                                                                              "ImageDataGenerator: brightness_range")
        self.mean = self.std = self.zca_whitening_matrix = None
        self._validation_split = validation_split
        _implies(self, "featurewise_std_normalization", "featurewise_center")
        _implies(self, "samplewise_std_normalization", "samplewise_center")
        self._check()

    # ---- for the library

    def _augment(self) -> dict:
        """The random changes, in the words of a recipe."""
        values = {name: _plain(getattr(self, name)) for name in _RANDOM}
        return {name: value for name, value in values.items() if value != _RANDOM[name]}

    def _check(self) -> None:
        """What the library says of the options, before there is a picture."""
        grey = _cornu.data_from_arrays(np.zeros((1, 1, 1, 1), np.uint8), np.zeros(1, np.int32), None)
        try:
            grey.batch(np.zeros(1, np.int64), self._section(), 0, 0, np.empty(1, np.float32))
        except ValueError as error:
            raise ValueError(f"ImageDataGenerator: {str(error).removeprefix('section: ')}") from None

    def _section(self, **more) -> str:
        """The data section of a recipe that does all of it; see _needs_python."""
        augment = self._augment() | {name: True for name in _OF_SAMPLE if getattr(self, name)}
        return json.dumps({"scale": _plain(self.rescale) or 1.0, "augment": augment, **more})

    def _needs_python(self) -> bool:
        return self.preprocessing_function is not None or self.featurewise_center

    def _batch(self, data, index: np.ndarray, seed: int, number: int, shape: tuple) -> np.ndarray:
        """Samples of `data` by number, changed at random as `seed` and `number` say, then standardized."""
        out = np.empty((len(index), *shape), np.float32)
        in_python = self._needs_python()
        section = json.dumps({"scale": 1, "augment": self._augment()}) if in_python else self._section()
        data.batch(np.ascontiguousarray(index, np.int64), section, seed, number, out)
        for i in range(len(out) if in_python else 0):
            out[i] = self.standardize(out[i])
        return out

    # ---- Keras's methods

    def flow(self, x, y=None, batch_size=32, shuffle=True, sample_weight=None, seed=None, save_to_dir=None,
             save_prefix="", save_format="png", ignore_class_split=False, subset=None) -> NumpyArrayIterator:
        """Batches of an array of pictures (samples, height, width, channels)."""
        return NumpyArrayIterator(x, y, self, batch_size=batch_size, shuffle=shuffle, sample_weight=sample_weight,
                                  seed=seed, data_format=self.data_format, save_to_dir=save_to_dir,
                                  save_prefix=save_prefix, save_format=save_format, subset=subset,
                                  ignore_class_split=ignore_class_split, dtype=self.dtype)

    def flow_from_directory(self, directory, target_size=(256, 256), color_mode="rgb", classes=None,
                            class_mode="categorical", batch_size=32, shuffle=True, seed=None, save_to_dir=None,
                            save_prefix="", save_format="png", follow_links=False, subset=None, interpolation="nearest",
                            keep_aspect_ratio=False) -> DirectoryIterator:
        """Batches of pictures from a folder with one folder per class."""
        return DirectoryIterator(directory, self, target_size=target_size, color_mode=color_mode, classes=classes,
                                 class_mode=class_mode, batch_size=batch_size, shuffle=shuffle, seed=seed,
                                 data_format=self.data_format, save_to_dir=save_to_dir, save_prefix=save_prefix,
                                 save_format=save_format, follow_links=follow_links, subset=subset,
                                 interpolation=interpolation, keep_aspect_ratio=keep_aspect_ratio, dtype=self.dtype)

    def flow_from_dataframe(self, dataframe, directory=None, x_col="filename", y_col="class", weight_col=None,
                            target_size=(256, 256), color_mode="rgb", classes=None, class_mode="categorical",
                            batch_size=32, shuffle=True, seed=None, save_to_dir=None, save_prefix="", save_format="png",
                            subset=None, interpolation="nearest", validate_filenames=True, **kwargs) -> DataFrameIterator:
        """Batches of the pictures that a table lists, with their classes: a pandas DataFrame, or columns by name."""
        if kwargs:
            raise NotImplementedError(f"flow_from_dataframe: {', '.join(kwargs)} is not in cornu")
        return DataFrameIterator(dataframe, directory, self, x_col=x_col, y_col=y_col, weight_col=weight_col,
                                 target_size=target_size, color_mode=color_mode, classes=classes,
                                 class_mode="raw" if class_mode == "other" else class_mode, batch_size=batch_size,
                                 shuffle=shuffle, seed=seed, data_format=self.data_format, save_to_dir=save_to_dir,
                                 save_prefix=save_prefix, save_format=save_format, subset=subset,
                                 interpolation=interpolation, validate_filenames=validate_filenames, dtype=self.dtype)

    def standardize(self, x: np.ndarray) -> np.ndarray:
        """preprocessing_function, rescale and the centers and deviations, in place where they are numbers."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        if self.featurewise_center and self._has(self.mean, "featurewise_center"):
            x -= self.mean
        if self.featurewise_std_normalization and self._has(self.std, "featurewise_std_normalization"):
            x /= self.std + 1e-6
        return x

    @staticmethod
    def _has(statistic, name: str) -> bool:
        if statistic is None:
            warnings.warn(f"ImageDataGenerator: {name} has no statistics and changes nothing; expected .fit(x) before",
                          stacklevel=4)
        return statistic is not None

    def get_random_transform(self, img_shape, seed=None) -> dict:
        """Not in cornu."""
        raise NotImplementedError("get_random_transform is not in cornu; there is random_transform, which draws and applies")

    def apply_transform(self, x, transform_parameters):
        """Not in cornu."""
        raise NotImplementedError("apply_transform is not in cornu; there is random_transform, which draws and applies")

    def random_transform(self, x, seed=None) -> np.ndarray:
        """Transform one picture at random, without standardizing it."""
        picture = np.ascontiguousarray(x, np.float32)
        if picture.ndim != 3:
            raise ValueError(f"random_transform: found shape {picture.shape}; expected (height, width, channels)")
        data = _cornu.data_from_arrays(picture[None], np.zeros(1, np.int32), None)
        out = np.empty_like(picture)
        seed = np.random.randint(2**31) if seed is None else seed
        data.batch(np.zeros(1, np.int64), json.dumps({"scale": 1, "augment": self._augment()}), seed, 0, out)
        return out

    def fit(self, x, augment=False, rounds=1, seed=None) -> None:
        """Compute the statistics for featurewise_center and featurewise_std_normalization."""
        x = np.array(x, np.float32)
        if x.ndim != 4:
            raise ValueError(f"fit: found shape {x.shape}; expected (samples, height, width, channels)")
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = np.stack([self.random_transform(picture) for _ in range(rounds) for picture in x])
        if self.featurewise_center:
            self.mean = np.mean(x, axis=(0, 1, 2)).reshape(1, 1, -1)
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=(0, 1, 2)).reshape(1, 1, -1)

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self)).parameters.items()}
        defaults["zoom_range"] = [1, 1]
        given = {n: getattr(self, n, d) for n, d in defaults.items() if getattr(self, n, d) != d and n != "data_format"}
        given.pop("dtype", None)
        return f"ImageDataGenerator({', '.join(f'{n}={v!r}' for n, v in given.items())})"

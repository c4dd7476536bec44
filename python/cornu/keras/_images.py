"""Single pictures as keras.utils has them, without Pillow: files are read by the library's decoders."""
import functools
import io
import os
from typing import Any, Callable

import numpy as np

from .. import _cornu

FILTERS = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")
_CHANNELS = {"rgb": 3, "grayscale": 1}
_OF_PILLOW = frozenset("convert copy crop filter getpixel paste point putpixel resize rotate show split thumbnail tobytes "
                       "transpose".split())


def channels_of(color_mode: str, what: str) -> int:
    """Of Keras's color_mode."""
    if color_mode == "rgba":
        raise NotImplementedError(f"{what}: color_mode='rgba' is not in cornu; there is 'rgb' and 'grayscale'")
    if color_mode not in _CHANNELS:
        raise ValueError(f"{what}: color_mode: found {color_mode!r}; expected 'rgb', 'grayscale' or 'rgba'")
    return _CHANNELS[color_mode]


def size_of(size, what: str) -> tuple[int, int]:
    """(height, width)."""
    if not isinstance(size, (tuple, list, np.ndarray)):
        raise TypeError(f"{what}: found {size!r}; expected (height, width)")
    whole = len(size) == 2 and all(isinstance(side, (int, np.integer)) and 1 <= side <= 10000 for side in size)
    if not whole:
        raise ValueError(f"{what}: found {size!r}; expected (height, width), whole numbers from 1 to 10000")
    return int(size[0]), int(size[1])


def check_filter(name, what: str) -> str:
    if name not in FILTERS:
        raise ValueError(f"{what}: interpolation: found {name!r}; expected {', '.join(FILTERS)}")
    return name


def is_channels_last(data_format, what: str) -> bool:
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(f"{what}: data_format: found {data_format!r}; expected 'channels_last' or 'channels_first'")
    return data_format != "channels_first"


class Image:
    """A picture with the face of Pillow's that scripts use: size, mode, save, np.asarray."""

    def __init__(self, pixels: np.ndarray):
        self._pixels = pixels

    @property
    def size(self) -> tuple[int, int]:
        """(width, height), as Pillow has it."""
        return self._pixels.shape[1], self._pixels.shape[0]

    width = property(lambda self: self.size[0])
    height = property(lambda self: self.size[1])

    @property
    def mode(self) -> str:
        if self._pixels.ndim == 2:
            return "L" if self._pixels.dtype == np.uint8 else "I"
        return "RGB" if self._pixels.shape[2] == 3 else "RGBA"

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self._pixels, dtype=dtype, copy=True)

    def save(self, fp, format=None, **params) -> None:
        """As a PNG, to a path or an open file."""
        if params:
            raise NotImplementedError(f"save: {', '.join(params)}: is not in cornu; it writes PNG without options")
        if self.mode not in ("L", "RGB"):
            raise NotImplementedError(f"save: a picture of mode {self.mode} is not in cornu; it writes 'L' and 'RGB'")
        is_path = isinstance(fp, (str, bytes, os.PathLike))
        kind = format or (os.path.splitext(os.fsdecode(fp))[1][1:] if is_path else "")
        if kind.lower() != "png":
            raise NotImplementedError(f"save: found the format {kind!r}, which is not in cornu; it writes PNG")
        if is_path:
            self._write(fp)
        else:
            fp.write(self._repr_png_())

    def _write(self, path) -> None:
        pixels = self._pixels.astype(np.float32) / np.float32(255)
        _cornu.write_png(path, *self.size[::-1], 1 if self.mode == "L" else 3, np.ascontiguousarray(pixels))

    def _repr_png_(self) -> bytes:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "image.png")
            self._write(path)
            with open(path, "rb") as file:
                return file.read()

    def close(self) -> None:
        """No effect; Pillow's pictures have this method."""

    def __eq__(self, other) -> bool:
        return isinstance(other, Image) and self.mode == other.mode and np.array_equal(self._pixels, other._pixels)

    __hash__ = None

    def __repr__(self) -> str:
        return f"<cornu Image mode={self.mode} size={self.width}x{self.height}>"

    def __getattr__(self, name: str):
        if name in _OF_PILLOW:
            raise NotImplementedError(f"{name} of a picture is not in cornu; with Pillow there is "
                                      f"PIL.Image.fromarray(np.asarray(picture)).{name}")
        raise AttributeError(f"'Image' object has no attribute {name!r}")


def _as_of_tf2(load: Callable) -> Callable:
    """tf.keras 2 has grayscale in second place."""

    @functools.wraps(load)
    def call(*args, **kwargs):
        if len(args) > 1 and isinstance(args[1], bool):
            args = (args[0], "grayscale" if args[1] else args[2] if len(args) > 2 else "rgb", *args[3:])
        if "grayscale" in kwargs and kwargs.pop("grayscale"):
            kwargs["color_mode"] = "grayscale"
        return load(*args, **kwargs)

    return call


@_as_of_tf2
def load_img(path, color_mode="rgb", target_size=None, interpolation="nearest", keep_aspect_ratio=False) -> Image:
    """Read a picture from a file, in its own size or resized."""
    file = None
    if isinstance(path, io.BytesIO):
        path, file = "BytesIO", path.getvalue()
    elif not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"load_img: path: found {type(path).__name__}; expected a path or io.BytesIO")
    channels = channels_of(color_mode, "load_img")
    if isinstance(target_size, (tuple, list)) and len(target_size) == 3:
        target_size = target_size[:2]  # an input_shape, of which Keras takes these
    height, width = (0, 0) if target_size is None else size_of(target_size, "load_img: target_size")
    check_filter(interpolation, "load_img")
    shape, pixels = _cornu.read_image(path, file, height, width, channels, interpolation,
                                      keep_aspect_ratio and target_size is not None)
    array = np.frombuffer(pixels, np.uint8).reshape(shape)
    return Image(array[:, :, 0] if channels == 1 else array)


def img_to_array(img, data_format=None, dtype=None) -> np.ndarray:
    """A picture, cornu's or Pillow's, as an array of (height, width, channels)."""
    last = is_channels_last(data_format, "img_to_array")
    x = np.asarray(img, dtype=dtype or "float32")
    if x.ndim == 2:
        x = x[:, :, None]
    if x.ndim != 3:
        raise ValueError(f"img_to_array: found shape {x.shape}; expected (height, width) or (height, width, channels)")
    return x if last else x.transpose(2, 0, 1)


def array_to_img(x, data_format=None, scale=True, dtype=None) -> Image:
    """An array of (height, width, channels) as a picture; with `scale` its minimum becomes 0 and its maximum 255."""
    last = is_channels_last(data_format, "array_to_img")
    x = np.asarray(x, dtype=dtype or "float32")
    if x.ndim != 3:
        raise ValueError(f"array_to_img: found shape {x.shape}; expected a single picture, (height, width, channels)")
    x = x if last else x.transpose(1, 2, 0)
    if x.shape[2] not in (1, 3, 4):
        raise ValueError(f"array_to_img: found {x.shape[2]} channels; expected 1, 3 or 4")
    if scale:
        x = x - np.min(x)
        most = np.max(x)
        x = (x / most if most != 0 else x) * 255
    if x.shape[2] > 1:
        return Image(x.astype("uint8"))
    return Image(x[:, :, 0].astype("int32" if np.max(x) > 255 else "uint8"))


def save_img(path, x, data_format=None, file_format=None, scale=True, **kwargs: Any) -> None:
    """Write an array of (height, width, channels) as a PNG."""
    array_to_img(x, data_format=data_format, scale=scale).save(path, format=file_format, **kwargs)

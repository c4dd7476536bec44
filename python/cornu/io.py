"""tf.io: reading of files, and of pictures, by the library's decoders."""
import os

import numpy as np

from . import _cornu
from ._arrays import tensor
from ._missing import missing


def read_file(filename, name=None):
    """The bytes of a file."""
    with open(_path(filename), "rb") as file:
        return tensor(file.read())


def write_file(filename, contents, name=None) -> None:
    """Write bytes into a file."""
    with open(_path(filename), "wb") as file:
        file.write(tensor(contents).numpy())


def _path(filename):
    found = tensor(filename).numpy() if not isinstance(filename, os.PathLike) else os.fspath(filename)
    if not isinstance(found, (bytes, str)):
        raise TypeError(f"read_file: found {filename!r}; expected the name of a file")
    return found


def _decoded(what: str, contents, channels: int, dtype):
    found = tensor(contents).numpy()
    if not isinstance(found, bytes):
        raise TypeError(f"{what}: found {contents!r}; expected the bytes of a file")
    if channels not in (0, 1, 3):
        raise NotImplementedError(f"{what}: channels={channels} is not in cornu; it takes 0, 1 and 3")
    shape, pixels = _cornu.read_image(what, found, 0, 0, channels, "nearest", False)
    array = np.frombuffer(pixels, np.uint8).reshape(shape)
    kind = np.dtype(dtype)
    if kind == np.uint8:
        return tensor(array.copy())
    if kind != np.float32:
        raise NotImplementedError(f"{what}: dtype={kind} is not in cornu; it takes uint8 and float32")
    return tensor(array.astype(np.float32) / np.float32(255))


def decode_image(contents, channels=None, dtype=np.uint8, name=None, expand_animations=True):
    """Pixels (height, width, channels), uint8, of a JPEG, PNG, GIF (its first picture) or BMP; channels 0: those of the file."""
    return _decoded("decode_image", contents, channels or 0, dtype)


def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False, acceptable_fraction=1,
                dct_method="", name=None):
    """Pixels (height, width, channels), uint8; channels 0: those of the file."""
    if ratio != 1:
        raise NotImplementedError(f"decode_jpeg: ratio={ratio} is not in cornu; it takes 1")
    return _decoded("decode_jpeg", contents, channels, np.uint8)


def decode_png(contents, channels=0, dtype=np.uint8, name=None):
    """The same of a PNG."""
    return _decoded("decode_png", contents, channels, dtype)


def decode_bmp(contents, channels=0, name=None):
    """The same of a BMP."""
    return _decoded("decode_bmp", contents, channels, np.uint8)


__all__ = ["decode_bmp", "decode_image", "decode_jpeg", "decode_png", "read_file", "write_file"]
__getattr__ = missing("cornu.io", __all__, ["FixedLenFeature", "TFRecordWriter", "decode_csv", "decode_gif", "decode_raw",
                                            "encode_jpeg", "encode_png", "gfile", "matching_files", "parse_example",
                                            "parse_single_example", "parse_tensor", "serialize_tensor"])

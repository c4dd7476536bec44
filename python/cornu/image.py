"""tf.image: pictures as arrays (height, width, channels), or several of them."""
import numpy as np

from . import io as _io
from ._arrays import Scaled, dtype_of, tensor
from ._functions import _given
from ._missing import missing
from .keras._array_functions import refuse_tensors

decode_bmp, decode_image, decode_jpeg, decode_png = _io.decode_bmp, _io.decode_image, _io.decode_jpeg, _io.decode_png


class ResizeMethod:
    """How pictures are resized."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"


def _pictures(what: str, image):
    refuse_tensors(f"image.{what}", [image])
    made = _given(image)
    if made.ndim not in (3, 4):
        raise ValueError(f"{what}: found a tensor of shape {tuple(made.shape)}; expected (height, width, channels), or several")
    return np.asarray(made)


def _blended(pixels: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Bilinear, between the centres of pixels."""
    count = pixels.shape[axis]
    places = np.clip((np.arange(size, dtype=np.float32) + np.float32(0.5)) * np.float32(count / size) - np.float32(0.5), 0, None)
    low = np.minimum(np.floor(places).astype(int), count - 1)
    share = (places - low).astype(np.float32).reshape([-1 if a == axis % pixels.ndim else 1 for a in range(pixels.ndim)])
    first = np.take(pixels, low, axis)
    return first + (np.take(pixels, np.minimum(low + 1, count - 1), axis) - first) * share


def resize(images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None):
    """To (height, width): float32 by "bilinear", or "nearest" in the type of the pictures."""
    pixels = _pictures("resize", images)
    height, width = (int(side) for side in np.ravel(size))
    if preserve_aspect_ratio:
        scale = min(height / pixels.shape[-3], width / pixels.shape[-2])
        height, width = (max(int(np.round(side * scale)), 1) for side in pixels.shape[-3:-1])
    if antialias or method not in ("bilinear", "nearest"):
        raise NotImplementedError(f"image.resize: method={method!r}, antialias={antialias} is not in cornu; it takes 'bilinear' and "
                                  f"'nearest', without antialias")
    if method == "nearest":
        rows, columns = (np.minimum(((np.arange(n) + 0.5) * (m / n)).astype(int), m - 1)
                         for n, m in ((height, pixels.shape[-3]), (width, pixels.shape[-2])))
        return tensor(np.take(np.take(pixels, rows, -3), columns, -2))
    if (height, width) == pixels.shape[-3:-1]:
        return tensor(pixels.astype(np.float32))
    return tensor(_blended(_blended(pixels.astype(np.float32), -3, height), -2, width))


def _rng() -> "np.random.RandomState":
    from .keras.initializers import draw_seed

    return np.random.RandomState(draw_seed() % 2**32)


def flip_left_right(image):
    """Mirrored."""
    return tensor(_pictures("flip_left_right", image)[..., ::-1, :])


def flip_up_down(image):
    """Upside down."""
    return tensor(_pictures("flip_up_down", image)[..., ::-1, :, :])


def _maybe(flip, image, seed):
    pixels = _pictures(flip.__name__, image)
    rng = _rng() if seed is None else np.random.RandomState(seed)
    if pixels.ndim == 3:
        return flip(pixels) if rng.random_sample() < 0.5 else tensor(pixels)
    return tensor(np.stack([np.asarray(flip(one)) if rng.random_sample() < 0.5 else one for one in pixels]))


def random_flip_left_right(image, seed=None):
    """Mirrored, each picture with a chance of a half."""
    return _maybe(flip_left_right, image, seed)


def random_flip_up_down(image, seed=None):
    """Upside down, each picture with a chance of a half."""
    return _maybe(flip_up_down, image, seed)


def rot90(image, k=1, name=None):
    """Turned to the left by k quarters."""
    return tensor(np.rot90(_pictures("rot90", image), k, (-3, -2)))


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Pixels of another type: floats are 0 to 1, bytes 0 to 255."""
    if isinstance(image, Scaled):
        return image.as_type(dtype, 1 / 255)
    pixels, kind = _pictures("convert_image_dtype", image), dtype_of(dtype)
    if pixels.dtype == kind:
        return tensor(pixels)
    if pixels.dtype.kind in "iu" and kind.kind == "f":
        return tensor(pixels.astype(kind) * kind.type(1 / np.iinfo(pixels.dtype).max))
    if pixels.dtype.kind == "f" and kind.kind == "f":
        return tensor(pixels.astype(kind))
    if pixels.dtype.kind == "f" and kind.kind in "iu":
        scaled = pixels * pixels.dtype.type(np.iinfo(kind).max + 0.5)
        return tensor((np.clip(scaled, 0, np.iinfo(kind).max) if saturate else scaled).astype(kind))
    raise NotImplementedError(f"convert_image_dtype: {pixels.dtype} to {kind} is not in cornu; it takes a whole type and floats")


def _as_floats(what: str, image, change):
    """The change of float pixels, in the picture's type: bytes are 0 to 1 while they change."""
    pixels = _pictures(what, image)
    if pixels.dtype.kind == "f":
        return tensor(change(pixels).astype(pixels.dtype))
    return convert_image_dtype(change(np.asarray(convert_image_dtype(pixels, np.float32))), pixels.dtype, True)


def adjust_brightness(image, delta):
    """delta added to pixels of 0 to 1."""
    return _as_floats("adjust_brightness", image, lambda pixels: pixels + np.float32(delta))


def adjust_contrast(images, contrast_factor):
    """Each channel's distance from its mean multiplied."""
    def change(pixels):
        mean = pixels.mean((-3, -2), keepdims=True)
        return (pixels - mean) * np.float32(contrast_factor) + mean

    return _as_floats("adjust_contrast", images, change)


def random_brightness(image, max_delta, seed=None):
    """adjust_brightness by up to max_delta, either way."""
    rng = _rng() if seed is None else np.random.RandomState(seed)
    return adjust_brightness(image, rng.uniform(-max_delta, max_delta))


def random_contrast(image, lower, upper, seed=None):
    """adjust_contrast by a factor between the two."""
    rng = _rng() if seed is None else np.random.RandomState(seed)
    return adjust_contrast(image, rng.uniform(lower, upper))


def per_image_standardization(image):
    """Each picture with mean 0 and deviation 1."""
    pixels = _pictures("per_image_standardization", image).astype(np.float32)
    count = np.float32(np.prod(pixels.shape[-3:]))
    deviation = np.maximum(pixels.std((-3, -2, -1), keepdims=True), 1 / np.sqrt(count))
    return tensor(((pixels - pixels.mean((-3, -2, -1), keepdims=True)) / deviation).astype(np.float32))


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """A part of the picture."""
    pixels = _pictures("crop_to_bounding_box", image)
    bottom, right = offset_height + target_height, offset_width + target_width
    if min(offset_height, offset_width) < 0 or bottom > pixels.shape[-3] or right > pixels.shape[-2]:
        raise ValueError(f"crop_to_bounding_box: found rows to {bottom} and columns to {right} of a picture of "
                         f"{tuple(pixels.shape[-3:-1])}; expected a part of it")
    return tensor(pixels[..., offset_height:bottom, offset_width:right, :])


def central_crop(image, central_fraction):
    """The middle, of this share of height and width."""
    if not 0 < central_fraction <= 1:
        raise ValueError(f"central_crop: central_fraction: found {central_fraction}; expected more than 0, up to 1")
    pixels = _pictures("central_crop", image)
    begins = [int((side - side * central_fraction) / 2) for side in pixels.shape[-3:-1]]
    return crop_to_bounding_box(pixels, *begins, *(side - 2 * begin for side, begin in zip(pixels.shape[-3:-1], begins)))


def resize_with_crop_or_pad(image, target_height, target_width):
    """The middle, with zeros around it where the picture is smaller."""
    pixels = _pictures("resize_with_crop_or_pad", image)
    for axis, wanted in ((-3, int(target_height)), (-2, int(target_width))):
        side = pixels.shape[axis]
        begin, before = max((side - wanted) // 2, 0), max((wanted - side) // 2, 0)
        pixels = np.take(pixels, np.arange(begin, begin + min(side, wanted)), axis)
        widths = [(0, 0)] * pixels.ndim
        widths[axis] = (before, max(wanted - side, 0) - before)
        pixels = np.pad(pixels, widths)
    return tensor(pixels)


def random_crop(value, size, seed=None, name=None):
    """A part of this size, at a place drawn at random."""
    refuse_tensors("random_crop", [value])
    whole, rng = np.asarray(_given(value)), _rng() if seed is None else np.random.RandomState(seed)
    wanted = [int(n) for n in np.ravel(size)]
    if len(wanted) != whole.ndim or any(n > m for n, m in zip(wanted, whole.shape)):
        raise ValueError(f"random_crop: size: found {wanted} of a tensor of shape {whole.shape}; expected a part of it")
    begins = [rng.randint(m - n + 1) for n, m in zip(wanted, whole.shape)]
    return tensor(whole[tuple(slice(begin, begin + n) for begin, n in zip(begins, wanted))])


def rgb_to_grayscale(images, name=None):
    """One channel: 0.2989 red, 0.587 green, 0.114 blue."""
    pixels = _pictures("rgb_to_grayscale", images)
    weights = np.array([0.2989, 0.5870, 0.1140], np.float32)
    if pixels.dtype.kind == "f":
        return tensor(np.tensordot(pixels, weights.astype(pixels.dtype), 1)[..., None])
    floats = np.asarray(convert_image_dtype(pixels, np.float32))
    return convert_image_dtype(np.tensordot(floats, weights, 1)[..., None], pixels.dtype, True)


def grayscale_to_rgb(images, name=None):
    """The channel three times."""
    return tensor(np.repeat(_pictures("grayscale_to_rgb", images), 3, -1))


__all__ = [name for name, value in dict(globals()).items()
           if not name.startswith("_") and getattr(value, "__module__", None) in (__name__, _io.__name__)]
__getattr__ = missing("cornu.image", __all__, [
    "adjust_gamma", "adjust_hue", "adjust_jpeg_quality", "adjust_saturation", "crop_and_resize", "decode_and_crop_jpeg",
    "decode_gif", "draw_bounding_boxes", "encode_jpeg", "encode_png", "extract_patches", "hsv_to_rgb", "image_gradients",
    "non_max_suppression", "pad_to_bounding_box", "psnr", "random_hue", "random_jpeg_quality", "random_saturation",
    "resize_with_pad", "rgb_to_hsv", "rgb_to_yuv", "sobel_edges", "ssim", "stateless_random_brightness",
    "stateless_random_contrast", "stateless_random_crop", "stateless_random_flip_left_right",
    "stateless_random_flip_up_down", "total_variation", "transpose"])

"""Layers that change arrays, called on them or mapped over data (Dataset.map): they stand in no network."""
import numpy as np

from .._tables import only
from ._image_dataset import Tensor
from ._tensors import is_symbolic
from .initializers import draw_seed
from .layers import (AutoContrast, Layer, RandomBrightness, RandomColorDegeneration, RandomContrast, RandomPosterization, RandomRotation,
                     RandomSharpness, RandomShear, RandomTranslation, Solarization)


def _ends(owner: str, name: str, value, least: float = 0, most: float = 1) -> tuple:
    """A factor's ends, in order: those of a pair, or from the least to a number."""
    given = list(value) if isinstance(value, (list, tuple)) else [least, value]
    if len(given) != 2 or not all(isinstance(end, (int, float)) and least <= end <= most for end in given):
        raise ValueError(f"{owner}: {name}: found {value!r}; expected a number from {least} to {most}, or two of them")
    return tuple(sorted(given))


def _rescaled(images: np.ndarray, of, to) -> np.ndarray:
    return images if tuple(of) == tuple(to) else (images - of[0]) / (of[1] - of[0]) * (to[1] - to[0]) + to[0]


class OnData(Layer):
    """Base of these layers. They take a batch of images, or one, or a dictionary of images and labels."""

    _in_training_alone = True

    def __init__(self, options: dict, data_format, kwargs: dict):
        super().__init__(**kwargs)
        only("data_format", None, "channels_last").check(type(self).__name__, data_format)
        self._config = {**options, "data_format": "channels_last"}
        self._random = np.random.RandomState((draw_seed() if options.get("seed") is None else int(options["seed"])) % 2**32)

    @classmethod
    def from_config(cls, config: dict):
        return cls(**config)

    def __call__(self, inputs, training=True):
        owner = f"layer {self.name} ({type(self).__name__})"
        if is_symbolic(inputs):
            raise NotImplementedError(f"{owner}: within a network is not in cornu; it changes arrays, before a model or in Dataset.map")
        given = inputs if isinstance(inputs, dict) else {"images": inputs}
        if "images" not in given or set(given) - {"images", "labels"}:
            raise NotImplementedError(f"{owner}: found a dictionary with {', '.join(map(repr, given))}; expected 'images', and perhaps 'labels'")
        images, labels = np.asarray(given["images"], np.float32), given.get("labels")
        if images.ndim not in (3, 4):
            raise ValueError(f"{owner}: found shape {images.shape}; expected an image (height, width, channels), or a batch of them")
        if training is not False or not self._in_training_alone:
            changed, labels = self._changed(images[None] if images.ndim == 3 else images, labels)
            images = np.asarray(changed, np.float32).reshape(images.shape)
        images = images.view(Tensor)
        return {**given, "images": images, **({} if labels is None else {"labels": labels})} if isinstance(inputs, dict) else images

    def _changed(self, images: np.ndarray, labels):
        """A batch of images, and its labels, which most layers leave alone."""
        return self._of_images(images), labels

    def _chosen(self, images: np.ndarray, changed: np.ndarray) -> np.ndarray:
        """The changed ones, with the probability that `factor` says, which is drawn, too."""
        chance = self._random.uniform(*self._config["factor"], len(images))
        return np.where((self._random.uniform(size=len(images)) < chance)[:, None, None, None], changed, images)

    def _mixed_labels(self, labels, order: np.ndarray, weight: np.ndarray):
        """Of each sample its own label times the weight, and another's times the rest."""
        if labels is None:
            return None
        labels = np.asarray(labels, np.float32)
        if labels.ndim != 2:
            raise ValueError(f"layer {self.name}: found labels of shape {labels.shape}; expected a row for each image, as tf.one_hot gives them")
        return (weight[:, None] * labels + (1 - weight[:, None]) * labels[order]).astype(np.float32).view(Tensor)


class MixUp(OnData):
    """Each image mixed with another one of the batch, and so its label."""

    def __init__(self, alpha=0.2, data_format=None, seed=None, **kwargs):
        super().__init__({"alpha": alpha, "seed": seed}, data_format, kwargs)

    def _changed(self, images, labels):
        order = self._random.permutation(len(images))
        weight = self._random.beta(self.alpha, self.alpha, len(images))
        own = weight[:, None, None, None]
        return own * images + (1 - own) * images[order], self._mixed_labels(labels, order, weight)


class CutMix(OnData):
    """Each image with a box of another one of the batch; labels by the areas."""

    def __init__(self, factor=1.0, seed=None, data_format=None, **kwargs):
        super().__init__({"factor": _ends("CutMix", "factor", factor), "seed": seed}, data_format, kwargs)

    def _between(self, size: int, part: np.ndarray):
        length = part * size
        begin = self._random.uniform(size=len(part)) * (size - length)
        places = np.arange(size)
        return (places >= begin[:, None]) & (places < (begin + length)[:, None]), length

    def _changed(self, images, labels):
        count, height, width, _ = images.shape
        alpha = self._random.uniform(*self.factor) + 1e-6
        part = np.sqrt(1 - self._random.beta(alpha, alpha, count))
        columns, across = self._between(width, part)
        rows, down = self._between(height, part)
        order = self._random.permutation(count)
        box = (rows[:, :, None] & columns[:, None])[..., None]
        return np.where(box, images[order], images), self._mixed_labels(labels, order, 1 - across * down / (width * height))


class Equalization(OnData):
    """Each channel's numbers, over the whole batch as in Keras, as often as each other."""

    def __init__(self, value_range=(0, 255), bins=256, data_format=None, **kwargs):
        super().__init__({"value_range": sorted(value_range), "bins": bins}, data_format, kwargs)

    def _of_images(self, images):
        bytes_ = _rescaled(images, self.value_range, (0, 255))
        equal = [self._equalized(bytes_[..., channel]) for channel in range(images.shape[-1])]
        return _rescaled(np.stack(equal, -1), (0, 255), self.value_range)

    def _equalized(self, channel: np.ndarray) -> np.ndarray:
        places = np.clip((channel * ((self.bins - 1) / 255)).astype(np.int32), 0, self.bins - 1)
        counts = np.bincount(places.ravel(), minlength=self.bins)
        if np.count_nonzero(counts) <= 1:
            return channel
        below = np.cumsum(counts)
        least = below[np.nonzero(below)[0][0]]
        table = np.clip(np.round((below - least) * 255 / max(below[-1] - least, 1)), 0, 255).astype(np.float32)
        return table[places]


class RandomGaussianBlur(OnData):
    """Blurred by normal weights, whose deviations are drawn for the batch."""

    def __init__(self, factor=1.0, kernel_size=3, sigma=1.0, value_range=(0, 255), data_format=None, seed=None, **kwargs):
        sizes = tuple(kernel_size) if isinstance(kernel_size, (list, tuple)) else (kernel_size, kernel_size)
        if len(sizes) != 2 or not all(isinstance(size, (int, np.integer)) and size % 2 == 1 and size > 0 for size in sizes):
            raise ValueError(f"RandomGaussianBlur: kernel_size: found {kernel_size!r}; expected an odd number, or two")
        owner = "RandomGaussianBlur"
        super().__init__({"factor": _ends(owner, "factor", factor), "kernel_size": sizes, "sigma": _ends(owner, "sigma", sigma),
                          "value_range": value_range, "seed": seed}, data_format, kwargs)

    def _of_images(self, images):
        sigma = self._random.uniform(*self.sigma, 2) + 1e-6
        blurred = _blurred(images, self.kernel_size, sigma)
        return np.clip(self._chosen(images, blurred), *self.value_range)


def _normal_weights(size: int, sigma: float) -> np.ndarray:
    weights = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2)
    return weights / weights.sum()


def _blurred(images: np.ndarray, sizes: tuple, sigma) -> np.ndarray:
    """Beyond the border are zeros. The weights lie as Keras lays them, which differs from their meaning where the sizes differ."""
    height, width = images.shape[1:3]
    kernel = np.outer(*map(_normal_weights, sizes[::-1], sigma[::-1])).reshape(sizes)
    padded = np.pad(images, [(0, 0), *((size // 2, size // 2) for size in sizes), (0, 0)])
    return sum(kernel[row, column] * padded[:, row:row + height, column:column + width] for row, column in np.ndindex(sizes))


class ContrastLimitedAdaptiveHistogramEqualization(OnData):
    """Equalized in tiles, whose counts are limited; between the tiles' middles by interpolation."""

    _in_training_alone = False

    def __init__(self, value_range=(0, 255), clip_limit=4.0, tile_grid_size=(8, 8), data_format=None, **kwargs):
        super().__init__({"value_range": value_range, "clip_limit": clip_limit, "tile_grid_size": tuple(tile_grid_size)}, data_format, kwargs)

    def _of_images(self, images):
        count, height, width, channels = images.shape
        grid = self.tile_grid_size
        sides = [-(-size // tiles) for size, tiles in zip((height, width), grid)]
        more = [(0, side * tiles - size) for side, tiles, size in zip(sides, grid, (height, width))]
        padded = np.pad(_rescaled(images, self.value_range, (0, 255)), [(0, 0), *more, (0, 0)], "symmetric")
        bytes_ = np.clip(padded, 0, 255).astype(np.int32)
        tables = self._tables(bytes_.reshape(count, grid[0], sides[0], grid[1], sides[1], channels), sides[0] * sides[1])
        (top, bottom, down), (left, right, across) = map(_tiles_around, sides, grid)
        pictures, channel = np.arange(count)[:, None, None, None], np.arange(channels)
        across, down = across[:, None], down[:, None, None]

        def of(rows, columns):
            return tables[pictures, rows[:, None, None], columns[:, None], channel, bytes_]

        upper = of(top, left) * (1 - across) + of(top, right) * across
        lower = of(bottom, left) * (1 - across) + of(bottom, right) * across
        equal = (upper * (1 - down) + lower * down)[:, :height, :width]
        return _rescaled(equal.astype(np.float32), (0, 255), self.value_range)

    def _tables(self, tiles: np.ndarray, pixels: int) -> np.ndarray:
        """[picture][row of tiles][column][channel][256]: what each byte becomes; around the border the outermost tile again."""
        count, rows, _, columns, _, channels = tiles.shape
        tiles = tiles.transpose(0, 1, 3, 5, 2, 4).reshape(-1, pixels)
        counts = np.zeros((len(tiles), 256), np.float32)
        np.add.at(counts, (np.arange(len(tiles))[:, None], tiles), 1)
        if self.clip_limit > 0:
            limited = np.minimum(counts, self.clip_limit * pixels / 256)
            counts = limited + (counts - limited).sum(-1, keepdims=True) / 256
        below = np.cumsum(counts, -1)
        least = below.min(-1, keepdims=True)
        rest = pixels - least
        tables = np.clip((below - least) * 255 / np.where(rest == 0, 1, rest), 0, 255)
        return np.pad(tables.reshape(count, rows, columns, channels, 256), [(0, 0), (1, 1), (1, 1), (0, 0), (0, 0)], "edge")


def _tiles_around(side: int, tiles: int):
    """Of each pixel of a side the tables before and after it, and the latter's weight."""
    at = (np.arange(side * tiles, dtype=np.float32) - side / 2) / side + 1
    before = np.floor(at)
    return (*(np.clip(place, 0, tiles + 1).astype(np.int32) for place in (before, before + 1)), at - before)


class _OfLayers(OnData):
    """Base of layers that apply others, which draw for themselves."""

    def __init__(self, options: dict, data_format, kwargs: dict):
        super().__init__(options, data_format, kwargs)
        factor, seed, values = options["factor"], options["seed"], {"value_range": options["value_range"]}
        moved = {"interpolation": options["interpolation"], "seed": seed}
        self._layers = [
            RandomShear(factor, factor, **moved), RandomTranslation(factor, factor, **moved), RandomRotation(factor, **moved),
            RandomPosterization(max(1, int(8 * factor[1])), seed=seed, **values), Solarization(factor, factor, seed=seed, **values),
            AutoContrast(**values), Equalization(**values)]
        if options.get("all_ops", True):
            self._layers += [kind(factor, seed=seed, **values)
                             for kind in (RandomBrightness, RandomColorDegeneration, RandomContrast, RandomSharpness)]


class RandAugment(_OfLayers):
    """Some layers, one after the other, that are drawn for each batch."""

    def __init__(self, value_range=(0, 255), num_ops=2, factor=0.5, interpolation="bilinear", seed=None, data_format=None, **kwargs):
        super().__init__({"value_range": value_range, "num_ops": num_ops, "factor": _ends("RandAugment", "factor", factor),
                          "interpolation": interpolation, "seed": seed}, data_format, kwargs)

    def _of_images(self, images):
        for number in self._random.randint(0, len(self._layers), self.num_ops):
            images = np.asarray(self._layers[number](images, training=True))
        return images


class AugMix(_OfLayers):
    """The image, mixed with a mix of chains of such layers."""

    def __init__(self, value_range=(0, 255), num_chains=3, chain_depth=3, factor=0.3, alpha=1.0, all_ops=True, interpolation="bilinear",
                 seed=None, data_format=None, **kwargs):
        super().__init__({"value_range": value_range, "num_chains": num_chains, "chain_depth": chain_depth,
                          "factor": _ends("AugMix", "factor", factor), "alpha": alpha, "all_ops": all_ops, "interpolation": interpolation,
                          "seed": seed}, data_format, kwargs)

    def _chain(self, images: np.ndarray) -> np.ndarray:
        for number in self._random.randint(0, len(self._layers) + 1, self.chain_depth):
            if number < len(self._layers):  # else nothing
                images = np.asarray(self._layers[number](images, training=True))
        return images

    def _of_images(self, images):
        weights = self._random.dirichlet([self.alpha] * self.num_chains)
        own = self._random.beta(self.alpha, self.alpha)
        mixed = sum(weight * self._chain(images) for weight in weights)
        return np.clip(own * images + (1 - own) * mixed, *self.value_range)


LAYERS = {cls.__name__: cls for cls in (AugMix, ContrastLimitedAdaptiveHistogramEqualization, CutMix, Equalization, MixUp, RandAugment,
                                        RandomGaussianBlur)}

"""Calls of layers and models on arrays: there, too, layers draw random numbers, and those of images take one image alone, or a
dictionary of images and labels."""
import itertools
import threading
import zlib

import numpy as np

from ._image_dataset import Tensor
from .initializers import draw_seed

# Layers that change images, which a call without `training` makes draw, as in Keras; and those of which training=True alone does.
_OF_IMAGES = ("Solarization",)
_NOT_RANDOM = ("AutoContrast", "CenterCrop", "Resizing")
_DROPS = ("AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D", "SpatialDropout2D")
_WITH_DROPOUT = ("AdditiveAttention", "Attention", "GRU", "GRUCell", "LSTM", "LSTMCell", "MultiHeadAttention", "SimpleRNN", "SimpleRNNCell")
NONE, IMAGES, ALL = range(3)  # cornu_draws


def changes_images(class_name: str) -> bool:
    """Is it a layer that changes images at random?"""
    return class_name.startswith("Random") or class_name in _OF_IMAGES


def _takes_an_image(layer) -> bool:
    return changes_images(layer._row["class_name"]) or layer._row["class_name"] in _NOT_RANDOM


def _drops(layer) -> bool:
    name = layer._row["class_name"]
    return name in _DROPS or name in _WITH_DROPOUT and bool(layer._config.get("dropout"))


def _normalizes(layer) -> bool:
    return layer._row["class_name"] == "BatchNormalization"


def differs_in_training(layer) -> bool:
    """Does it compute otherwise in training?"""
    return _normalizes(layer) or _drops(layer) or changes_images(layer._row["class_name"])


def layers_of(operation) -> list:
    """All layers of a layer or model, and those that are options of others."""
    return [layer for owner in operation._owners() for layer in (owner, *owner._inner_layers())]


def draws_of(operation, training) -> int:
    """Which layers of a layer or model draw in a call on arrays."""
    layers = layers_of(operation)
    normalized = [layer.name for layer in layers if _normalizes(layer) and layer.trainable]
    if training and normalized:
        raise NotImplementedError(f"{operation.name}: called on arrays with training=True is not in cornu: {normalized[0]} takes its "
                                  f"batch's statistics in fit, and nowhere else; expected a call without it")
    if training and any(map(_drops, layers)):
        return ALL
    changes = training or training is None
    return IMAGES if changes and any(changes_images(layer._row["class_name"]) for layer in layers) else NONE


class Stream:
    """The random numbers of one layer's or model's calls: each call draws others, the same from the same seed."""

    def __init__(self, operation):
        seeds = [layer._config.get("seed") for layer in layers_of(operation)]
        given = [seed for seed in seeds if seed is not None]
        self._seed = zlib.crc32(repr(seeds).encode()) if given else draw_seed()
        self._calls = itertools.count()

    def next(self, draws: int) -> dict:
        """What predict takes for the next call."""
        return {"draws": draws, "seed": self._seed, "draw": next(self._calls)}


def drawn_by(operation, draws: int) -> dict:
    """The same of an operation, whose first call makes its stream."""
    if not draws:
        return {}
    if operation.__dict__.get("_stream") is None:
        operation._stream = Stream(operation)
    return operation._stream.next(draws)


# A model computes one call at a time; the library's own threads share it. Dataset.map calls from several.
_AT_WORK = threading.RLock()


def outputs_of(model, inputs, operation, draws: int):
    """A model's outputs of arrays, drawn for the operation that is called: the model, or its only layer."""
    with _AT_WORK:
        return as_tensors(model._outputs_of_batch(inputs, drawn_by(operation, draws)))


def as_tensors(outputs):
    """Arrays with tensors' methods."""
    if isinstance(outputs, dict):
        return {key: as_tensors(part) for key, part in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return type(outputs)(map(as_tensors, outputs))
    return np.asarray(outputs).view(Tensor)


def on_arrays(layer, inputs, training, states=()):
    """A layer's outputs of arrays."""
    from .models import ArrayCall

    if not _takes_an_image(layer):
        return ArrayCall(layer, inputs, states).outputs_of_call(draws_of(layer, training))
    if isinstance(inputs, dict):
        return _of_dictionary(layer, inputs, training)
    images = np.asarray(inputs)
    batch = images[None] if images.ndim == 3 else images
    outputs = ArrayCall(layer, batch).outputs_of_call(draws_of(layer, training))
    return outputs[0] if images.ndim == 3 else outputs


def _of_dictionary(layer, inputs: dict, training) -> dict:
    """Labels stay as they are."""
    other = sorted(set(inputs) - {"images", "labels"})
    if "images" not in inputs or other:
        raise NotImplementedError(f"{layer.name}: found a dictionary with {', '.join(map(repr, other or inputs))}; expected 'images', and "
                                  f"perhaps 'labels'")
    return {**inputs, "images": on_arrays(layer, inputs["images"], training)}

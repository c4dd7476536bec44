"""keras.saving: models in files."""
from .._missing import missing
from .._tables import only
from . import _keras_names
from ._objects import (CustomObjectScope, custom_object_scope, get_custom_objects, get_registered_name,
                       get_registered_object, register_keras_serializable)
from .models import load_model


def save_model(model, filepath, overwrite=True, zipped=None) -> None:
    """Weights, optimizer state and configuration in one .keras, .safetensors or .h5 file."""
    model.save(filepath, overwrite, zipped)


def load_weights(model, filepath, skip_mismatch=False, **kwargs) -> None:
    """A file's weights into a model, as its load_weights takes them."""
    model.load_weights(filepath, skip_mismatch, **kwargs)


def save_weights(model, filepath, overwrite=True, max_shard_size=None) -> None:
    """A model's weights into a file. max_shard_size: only None."""
    only("max_shard_size", None).check("save_weights", max_shard_size)
    model.save_weights(filepath, overwrite)


__all__ = ["CustomObjectScope", "custom_object_scope", "get_custom_objects", "get_registered_name",
           "get_registered_object", "load_model", "load_weights", "register_keras_serializable", "save_model",
           "save_weights"]
__getattr__ = missing("cornu.keras.saving", __all__, _keras_names.saving)

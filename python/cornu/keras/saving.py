"""keras.saving: models in files."""
from .._missing import missing
from . import _keras_names
from .models import load_model


def save_model(model, filepath, overwrite=True, zipped=None) -> None:
    """Weights, optimizer state and configuration in one .safetensors file."""
    model.save(filepath, overwrite, zipped)


def load_weights(model, filepath) -> None:
    """A file's weights into a model."""
    model.load_weights(filepath)


def save_weights(model, filepath, overwrite=True) -> None:
    """A model's weights into a file."""
    model.save_weights(filepath, overwrite)


__all__ = ["load_model", "load_weights", "save_model", "save_weights"]
__getattr__ = missing("cornu.keras.saving", __all__, _keras_names.saving)

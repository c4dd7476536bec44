"""keras.saving."""
from .._missing import missing
from .models import load_model
from . import _keras_names

__all__ = ["load_model", "save_model"]


def save_model(model, filepath, overwrite=True, **kwargs) -> None:
    model.save(filepath, overwrite)

__getattr__ = missing("cornu.keras.saving", __all__, _keras_names.saving)

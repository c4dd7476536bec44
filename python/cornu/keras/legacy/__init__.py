"""keras.legacy."""
from . import preprocessing

__all__ = ["preprocessing"]

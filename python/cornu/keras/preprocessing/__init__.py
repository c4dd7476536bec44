"""keras.preprocessing."""
from ..._missing import missing
from .._image_dataset import image_dataset_from_directory
from . import image

__all__ = ["image", "image_dataset_from_directory"]
__getattr__ = missing("cornu.keras.preprocessing", __all__,
                      ["sequence", "text", "text_dataset_from_directory", "timeseries_dataset_from_array"])

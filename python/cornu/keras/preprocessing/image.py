"""keras.preprocessing.image: pictures and generators of them."""
from ..._missing import missing
from .._images import array_to_img, img_to_array, load_img, save_img
from ._dataframe import DataFrameIterator
from ._generator import ImageDataGenerator
from ._iterators import DirectoryIterator, Iterator, NumpyArrayIterator

__all__ = ["DataFrameIterator", "DirectoryIterator", "ImageDataGenerator", "Iterator", "NumpyArrayIterator",
           "array_to_img", "img_to_array", "load_img", "save_img"]
__getattr__ = missing("cornu.keras.preprocessing.image", __all__,
                      ["apply_affine_transform", "apply_brightness_shift", "apply_channel_shift",
                       "random_brightness", "random_channel_shift", "random_rotation", "random_shear", "random_shift",
                       "random_zoom", "smart_resize"])

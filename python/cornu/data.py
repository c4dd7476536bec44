"""tf.data, as far as data sets of pictures need it: their own methods are those of tf.data."""
from types import SimpleNamespace

from ._missing import missing

AUTOTUNE = -1
experimental = SimpleNamespace(AUTOTUNE=AUTOTUNE)
__all__ = ["AUTOTUNE", "experimental"]
__getattr__ = missing("cornu.data", ["AUTOTUNE", "keras.utils.image_dataset_from_directory"],
                      ["Dataset", "FixedLengthRecordDataset", "Iterator", "Options", "TFRecordDataset", "TextLineDataset"])

"""keras.legacy.preprocessing: the same as keras.preprocessing."""
import sys

from ...preprocessing import image

sys.modules[f"{__name__}.image"] = image
__all__ = ["image"]

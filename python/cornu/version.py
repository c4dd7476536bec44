"""tf.version."""
from ._cornu import version as VERSION

__all__ = ["VERSION"]

"""tf.math: functions of each element, reductions and comparisons."""
from . import _functions
from ._missing import missing

__all__ = ("abs add argmax argmin ceil cos cumsum divide equal exp floor greater greater_equal less less_equal log logical_and "
           "logical_not logical_or maximum minimum multiply negative not_equal pow reciprocal reduce_all reduce_any reduce_max "
           "reduce_mean reduce_min reduce_prod reduce_sum round sigmoid sign sin sqrt square subtract tanh").split()
globals().update({name: getattr(_functions, name) for name in __all__})
__getattr__ = missing("cornu.math", __all__, ["erf", "l2_normalize", "log1p", "reduce_std", "reduce_variance", "top_k", "unsorted_segment_sum"])

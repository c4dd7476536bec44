"""keras.distribution: several processes, started by an MPI launcher (mpirun, srun), train one model.

    from cornu import keras
    keras.distribution.initialize()
    ...  # the same code on all of them
    model.fit(x, y, batch_size=128, shards=8)  # with the same bits for 1, 2, 4 and 8 processes

Each process computes the gradients of its share of every batch. Only the first prints. All other code of the program, such as
saving, runs on every process, unless it checks process_index()."""
import atexit
import random

from .. import _cornu
from .._missing import missing
from . import _keras_names

_place = (0, 1)  # this process, of so many


def initialize(job_addresses=None, num_processes=None, process_id=None) -> None:
    """Join the other processes; without a launcher there are none. Seeds Python's generator with 1, so that all
    processes draw the same weights and orders; call keras.utils.set_random_seed afterwards for another seed. The launcher
    decides addresses and numbers; if you pass numbers, they must be the launcher's."""
    global _place
    if job_addresses is not None:
        raise NotImplementedError("initialize: job_addresses: found some; the launcher (mpirun, srun) knows where its "
                                  "processes are: expected None")
    index, count = _cornu.ranks_open()
    for name, given, real in (("num_processes", num_processes, count), ("process_id", process_id, index)):
        if given is not None and given != real:
            raise ValueError(f"initialize: {name}: found {given!r}; the launcher has {real}")
    if count > 1:
        random.seed(1)
    if _place[1] == 1:
        atexit.register(_cornu.ranks_close)
    _place = index, count


def process_index() -> int:
    """The number of this process, from 0."""
    return _place[0]


def process_count() -> int:
    """The number of processes that train together."""
    return _place[1]


__all__ = ["initialize", "process_count", "process_index"]
__getattr__ = missing("cornu.keras.distribution", __all__, _keras_names.distribution)

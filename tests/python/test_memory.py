"""What is made and dropped leaves nothing: Python's objects, references to arrays, and the library's memory."""
import array
import copy
import ctypes
import gc
import os
import pickle
import sys

import numpy as np
import pytest

from cornu import _cornu, keras

TIMES = 100
BATCH = 20


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def _allocated() -> int:
    """Bytes that malloc has given out: no noise of what it keeps for later. 0 where it is not glibc's."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _Mallinfo
    info = mallinfo()
    return info.uordblks + info.hblkhd


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _state() -> np.ndarray:
    gc.collect()
    return np.array([len(gc.get_objects()), sys.getallocatedblocks(), _allocated(), _resident()])


def _known():
    """All objects but whole numbers, some more than once: None, types and names, too, of which a leak makes no more."""
    gc.collect()
    for known in gc.get_objects():
        yield known
        yield from (o for o in gc.get_referents(known) if type(o) is not int)


def _references() -> dict[int, int]:
    return {id(o): sys.getrefcount(o) for o in _known()}


def _network():
    m = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2048, "relu"), keras.layers.Dense(3, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def _batches(x, y):
    for i in range(0, len(x), BATCH):
        yield x[i: i + BATCH], y[i: i + BATCH]


def _endless(x, y):
    while True:
        yield from _batches(x, y)


class _ByNumber(keras.utils.PyDataset):
    def __init__(self, x, y, **options):
        super().__init__(**options)
        self.batches = list(_batches(x, y))

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


class _Breaks(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise KeyError("mine")


class _Stops(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.get_weights()
        self.model.stop_training = True


def _refused(work, error=Exception):
    with pytest.raises(error):
        work()


def _broken(x, y):
    yield x, y
    raise KeyError("mine")


def _save_and_load(m, x, y, folder):
    m.build((None, *x.shape[1:]))
    m.save(folder / "m.safetensors")
    keras.models.load_model(folder / "m.safetensors").load_weights(folder / "m.safetensors")


# (np.ones is not among them: NumPy itself loses a reference to its dtype by each.)
USES = {
    "fit": lambda m, x, y, folder: m.fit(x, y, verbose=0, validation_split=0.2),
    "weighted": lambda m, x, y, folder: m.fit(x, y, verbose=0, sample_weight=[1.0] * len(x), validation_data=(x, y)),
    "generator": lambda m, x, y, folder: m.fit(_batches(x, y), verbose=0, validation_data=_batches(x, y)),
    "endless": lambda m, x, y, folder: m.fit(_endless(x, y), verbose=0, steps_per_epoch=2, epochs=2),
    "stopped": lambda m, x, y, folder: m.fit(_endless(x, y), verbose=0, steps_per_epoch=9, callbacks=[_Stops()]),
    "by number": lambda m, x, y, folder: m.fit(_ByNumber(x, y, workers=2), verbose=0, validation_data=_ByNumber(x, y)),
    "callback": lambda m, x, y, folder: _refused(lambda: m.fit(x, y, verbose=0, callbacks=[_Breaks()]), KeyError),
    "broken": lambda m, x, y, folder: _refused(lambda: m.fit(_broken(x, y), verbose=0), KeyError),
    "on batch": lambda m, x, y, folder: (m.train_on_batch(x, y), m.test_on_batch(x, y), m.predict_on_batch(x)),
    "evaluate": lambda m, x, y, folder: (m.evaluate(x, y, verbose=0), m.evaluate(_endless(x, y), steps=2, verbose=0)),
    "predict": lambda m, x, y, folder: (m.predict(x, verbose=0), m.predict(_ByNumber(x, y), verbose=0), m(x)),
    "save": _save_and_load,
    "copy": lambda m, x, y, folder: (m.train_on_batch(x, y), copy.deepcopy(m), keras.models.clone_model(m),
                                     keras.models.model_from_json(m.to_json())),
    "pickle": lambda m, x, y, folder: (m.train_on_batch(x, y), pickle.loads(pickle.dumps(m))),
    "weights": lambda m, x, y, folder: (m.build((None, *x.shape[1:])), m.set_weights(m.get_weights()), m.summary(
        print_fn=lambda text: None)),
    "wrong": lambda m, x, y, folder: [_refused(work) for work in (
        lambda: m.fit(x, y[1:]), lambda: m.fit(x, y + 3), lambda: m.train_on_batch(x[:, :3], y),
        lambda: m.load_weights(folder / "nothing.safetensors"), lambda: m.fit(x * np.float32("nan"), y, verbose=0),
        lambda: m.set_weights([]), lambda: m.compile("adma", "mse"), lambda: m.fit(iter([x]), verbose=0))],
}


@pytest.mark.parametrize("use", USES)
def test_models_made_used_and_dropped_leave_no_memory(samples, tmp_path, use):
    def once():
        USES[use](_network(), *samples, tmp_path)

    for _ in range(15):
        once()
    references = _references()
    before = _state()
    for _ in range(TIMES):
        once()
    objects, blocks, allocated, resident = _state() - before
    assert objects < TIMES / 2
    assert blocks < TIMES / 2 or use == "pickle"  # which keeps strings of any array's
    assert allocated < 1500 * TIMES  # a model has 500 KB and more
    assert resident < 64 << 20
    grown = {o for o, count in _references().items() if count - references.get(o, count) > TIMES / 2}
    assert not [repr(o)[:99] for o in _known() if id(o) in grown]


def test_batches_of_many_sizes_take_no_more_memory_than_those_of_the_largest(samples):
    x, y = samples
    m = _network()

    def all_sizes(sizes):
        for size in sizes:
            m.train_on_batch(x[:size], y[:size])
            m.predict_on_batch(x[:size])

    all_sizes([60, 59, 58, 57])
    before = _allocated()
    all_sizes(range(1, 56))
    assert _allocated() - before < 8 << 20


def _counted(work, *arrays) -> None:
    """Nobody holds the arrays once the work is done, well or not."""
    counts = [sys.getrefcount(a) for a in arrays]
    for _ in range(5):
        work()
    gc.collect()
    assert [sys.getrefcount(a) for a in arrays] == counts


def test_arrays_belong_to_nobody_else_after_a_call(model, samples):
    x, y = samples
    labels, weights, outputs = y.astype(np.int32), np.ones(len(x), np.float32), np.empty((len(x), 3), np.float32)
    handle = model._handle
    works = [lambda: model.fit(x, labels, sample_weight=weights, verbose=0, validation_data=(x, labels, weights)),
             lambda: model.fit(iter([(x, labels, weights)]), verbose=0),
             lambda: model.evaluate(x, labels, sample_weight=weights, verbose=0),
             lambda: model.train_on_batch(x, labels, weights), lambda: model.predict_on_batch(x),
             lambda: handle.predict(x, outputs, batch=32, keep=True),
             lambda: _cornu.data_from_arrays(x, labels, weights).view(False)]
    wrong = [lambda: model.fit(x, labels - 1, weights), lambda: model.fit(x, labels, sample_weight=weights[1:]),
             lambda: _cornu.data_from_arrays(x, labels, outputs), lambda: _cornu.data_from_arrays(x, weights[1:], None),
             lambda: _cornu.data_from_arrays(x, labels, labels), lambda: _cornu.data_from_arrays(labels, weights, None),
             lambda: _cornu.data_from_arrays(x * np.nan, labels, weights),
             lambda: _cornu.data_stream(None, x, labels, weights[1:], 0),
             lambda: _cornu.data_stream(None, x, labels, weights, -1),
             lambda: handle.predict(x, outputs[1:], batch=32),
             lambda: handle.predict(x, labels, batch=32),
             lambda: handle.predict(x, outputs, device="nowhere"),
             lambda: handle.on_batch(x[:, :4].copy(), labels, weights, True),
             lambda: handle.get_weight(0, outputs),
             lambda: handle.set_weight(99, weights), lambda: handle.set_weight(0, labels),
             lambda: handle.fit(_cornu.data_from_arrays(x, labels, weights), x),
             lambda: handle.fit(_cornu.data_from_arrays(x, labels, weights), None, section="{"),
             lambda: _cornu.write_png(os.devnull, 8, 8, 1, x), lambda: _cornu.write_png(os.devnull, 2**40, 2**40, 1, x[0])]
    for work in works + [lambda work=work: _refused(work) for work in wrong]:
        _counted(work, x, labels, weights, outputs)


def test_an_array_in_use_can_neither_shrink_nor_grow(samples):
    x, y = samples
    labels = array.array("i", y.tolist())
    data = _cornu.data_from_arrays(x, labels, None)
    with pytest.raises(BufferError):
        labels.append(1)
    del data
    labels.append(1)

"""Forks, threads, Ctrl-C, copies, exits, and arrays of all kinds: no crash, no hang, and the model stays usable."""
import array
import copy
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from cornu import _cornu, keras

HEAD = """
import os, signal, sys, threading, time
import numpy as np
from cornu import keras
keras.utils.set_random_seed(3)
y = np.arange(60) % 3
x = np.random.default_rng(1).random((60, 8, 8, 1), np.float32)
def network(width=8):
    m = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(width, "relu"), keras.layers.Dense(3, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy")
    return m
def endless():
    while True:
        yield x, y
"""


def run(script: str, expected: str = "done") -> None:
    """In a process of its own, which must neither crash nor hang nor write to standard error."""
    done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", expected)


# ---- forks

FORKS = {
    "import": "work = lambda: network().fit(x, y, verbose=0)",
    "fit": "m = network(); m.fit(x, y, verbose=0); work = lambda: (m.fit(x, y, verbose=0), m.predict(x, verbose=0))",
    "trainer": """
        m = network(); m.train_on_batch(x, y); before = m.get_weights()[0]
        def work():
            assert np.array_equal(m.get_weights()[0], before)
            m.train_on_batch(x, y)
            assert not np.array_equal(m.get_weights()[0], before)
            m.predict_on_batch(x)
            m.fit(x, y, verbose=0)""",
    "trainer that is dropped": "m = network(); m.train_on_batch(x, y); work = lambda: globals().pop('m')",
    "generator": """
        m = network(); batches = endless(); m.fit(batches, steps_per_epoch=2, verbose=0)
        work = lambda: m.fit(batches, steps_per_epoch=2, verbose=0)""",
    "callback": """
        m = network()
        class Forks(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                fork(lambda: (self.model.get_weights(), self.model.predict(x, verbose=0)))
        work = lambda: m.fit(x, y, verbose=0, callbacks=[Forks()])""",
}


@pytest.mark.parametrize("after", FORKS)
def test_a_child_trains_on_after_a_fork_and_so_does_its_parent(after):
    run("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later warn of a fork beside threads
def fork(work):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        work()
        sys.exit(0)  # with all that an interpreter's end does
    assert os.waitpid(child, 0)[1] == 0
""" + textwrap.dedent(FORKS[after]) + """
fork(work)
work()
print("done")
""")


# ---- threads

def test_two_models_train_in_two_threads_with_generators(samples):
    x, y = samples

    def train(out):
        m = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3, "softmax", kernel_initializer="zeros")])
        m.compile("sgd", "sparse_categorical_crossentropy")
        batches = ((x[i % 3 * 20:][:20], y[i % 3 * 20:][:20]) for i in range(60))
        out.append(m.fit(batches, steps_per_epoch=3, epochs=20, verbose=0).history["loss"])

    out = []
    threads = [threading.Thread(target=train, args=(out,)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out[0] == out[1] and len(out[0]) == 20


class Waits(keras.callbacks.Callback):
    """Holds the training in its first epoch's end until it may go on."""

    def __init__(self):
        super().__init__()
        self.there, self.go_on = threading.Event(), threading.Event()

    def on_epoch_end(self, epoch, logs=None):
        self.there.set()
        assert self.go_on.wait(30)


def test_a_model_in_training_is_refused_to_other_threads(model, samples):
    x, y = samples
    waits = Waits()
    thread = threading.Thread(target=lambda: model.fit(x, y, verbose=0, callbacks=[waits]))
    thread.start()
    assert waits.there.wait(30)
    for work in (lambda: model.fit(x, y, verbose=0), lambda: model.predict(x, verbose=0), model.get_weights,
                 lambda: model.evaluate(x, y, verbose=0), lambda: model.train_on_batch(x, y), model.reset_metrics,
                 lambda: model.compile("sgd", "sparse_categorical_crossentropy"), lambda: model._handle.classes()):
        with pytest.raises(RuntimeError, match="at work|in training"):
            work()
    waits.go_on.set()
    thread.join()
    model.fit(x, y, verbose=0)


def _fit(handle, data, validation=None, on_epoch=None):
    return handle.fit(data, validation, section='{"batch_size": 20}', on_epoch=on_epoch)


def test_data_in_use_is_refused_to_other_threads(model, samples):
    x, y = samples
    data, other = _cornu.data_from_arrays(x, y.astype(np.int32), None), keras.models.clone_model(model)
    other.compile("sgd", "sparse_categorical_crossentropy")
    refused = []

    def work(*arguments):
        def use(what):
            try:
                what()
            except RuntimeError as error:
                refused.append(str(error))
        for what in (lambda: _fit(other._handle, data), lambda: other._handle.evaluate(data, batch=20),
                     lambda: data.set_scale(2.0),
                     lambda: data.batch(np.zeros(1, np.int64), None, 0, 0, np.zeros((1, 8, 8, 1), np.float32))):
            thread = threading.Thread(target=use, args=(what,))
            thread.start()
            thread.join()
        other._handle.evaluate(data, batch=20)  # by the thread whose it is

    _fit(model._handle, data, data, work)
    assert refused == ["the data is at work in another call"] * 4
    _fit(other._handle, data)


def test_a_stream_serves_one_call_and_then_another(model, samples):
    x, y = samples[0], samples[1].astype(np.int32)
    batches, found = iter([(x, y, None), None] * 3), []
    stream = _cornu.data_stream(lambda: next(batches, None), x, y, None, 1)

    def again(*arguments):
        with pytest.raises(RuntimeError, match="at work"):
            model._handle.evaluate(stream, batch=20)
        found.append(True)

    with pytest.raises(RuntimeError, match="at work"):
        _fit(model._handle, stream, stream)
    _fit(model._handle, stream, None, again)
    model._handle.evaluate(stream, batch=20)
    assert found == [True]


@pytest.mark.parametrize("given, error", [(3, TypeError), ((1, 2), TypeError), ("xyz", TypeError),
                                          ((np.zeros((2, 3)), None, None), TypeError)])
def test_a_stream_of_something_else_says_so(model, samples, given, error):
    x, y = samples[0], samples[1].astype(np.int32)
    with pytest.raises(error):
        _fit(model._handle, _cornu.data_stream(lambda: given, x, y, None, 1))
    model.fit(x, y, verbose=0)


# ---- callbacks

def test_callbacks_of_evaluate_and_predict_use_the_model(model, samples):
    x, y = samples
    seen = []

    class Uses(keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            self.model.get_weights()
            seen.append(self.model.predict(x, verbose=0).shape)
            with pytest.raises(RuntimeError, match="in training"):
                self.model.fit(x, y, verbose=0)

        on_predict_batch_end = on_test_batch_end

    class Tests(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.evaluate(x, y, batch_size=30, verbose=0, callbacks=[Uses()])
            self.model.get_weights()

    model.evaluate(x, y, batch_size=30, verbose=0, callbacks=[Uses()])
    assert seen == [(60, 3)] * 2
    model.fit(x, y, epochs=2, verbose=0, callbacks=[Tests()])
    assert seen == [(60, 3)] * 6
    model.fit(x, y, verbose=0)


def test_the_last_name_of_a_model_may_go_within_its_callback():
    run("""
        class Drops(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                globals().pop("m", None)
                del self.model
                self.set_model(None)
        m = network()
        m.fit(x, y, verbose=0, batch_size=20, callbacks=[Drops()])
        assert "m" not in globals()
        print("done")
    """)


@pytest.mark.parametrize("method", ["__len__", "__getitem__", "on_epoch_end", "on_epoch_begin"])
@pytest.mark.parametrize("workers", [1, 3])
def test_an_exception_of_a_dataset_is_raised(model, samples, method, workers):
    x, y = samples

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return x, y

    def fails(self, *arguments):
        raise LookupError("mine")

    setattr(Batches, method, fails)
    with pytest.raises(LookupError, match="mine"):
        model.fit(Batches(workers=workers), epochs=2, verbose=0)
    with pytest.raises(LookupError, match="mine"):
        model.fit(x, y, validation_data=Batches(workers=workers), epochs=2, verbose=0)
    model.fit(x, y, verbose=0)


# ---- Ctrl-C

LONG = {
    "fit": "m.fit(x, y, batch_size=4, epochs=10**6, verbose=0)",
    "fit with a callback": "m.fit(x, y, epochs=10**6, verbose=0, callbacks=[keras.callbacks.LambdaCallback("
                           "on_train_batch_end=lambda batch, logs: None)])",
    "fit with validation": "m.fit(x, y, epochs=10**6, verbose=0, validation_data=(x, y))",
    "fit of a generator": "m.fit(endless(), steps_per_epoch=10**6, epochs=10**6, verbose=0)",
    "fit of a generator that blocks": "m.fit(blocks(), steps_per_epoch=9, verbose=0)",
    "validation by a generator that blocks": "m.fit(x, y, verbose=0, validation_data=blocks(), validation_steps=9)",
    "evaluate": "m.evaluate(big, np.zeros(len(big), int), batch_size=1, verbose=0)",
    "evaluate of a generator": "m.evaluate(endless(), steps=10**6, verbose=0)",
    "evaluate of a generator that blocks": "m.evaluate(blocks(), steps=9, verbose=0)",
    "predict": "m.predict(big, batch_size=1, verbose=0)",
    "predict of a generator": "m.predict(endless(), steps=10**6, verbose=0)",
    "train_on_batch": "while True: m.train_on_batch(x, y)",
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_ends_it_soon_and_the_model_goes_on(what):
    run(f"""
        m = network(1024)
        m.fit(x, y, verbose=0)
        big = np.broadcast_to(x[:1], (4 * 10**5, 8, 8, 1))
        def blocks():
            yield x, y
            time.sleep(3600)
        sent = []
        def interrupt():
            time.sleep(0.5)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            {LONG[what]}
        except KeyboardInterrupt:
            took = time.monotonic() - sent[0]
            m.fit(x, y, verbose=0)
            m.train_on_batch(x, y)
            print("done" if took < 5 else took)  # some milliseconds on a machine that is idle
    """)


# ---- copies

def _alike(a, b) -> bool:
    return len(a) == len(b) and all(np.array_equal(v, w) for v, w in zip(a, b))


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("state", ["empty", "unbuilt", "built", "compiled", "trained", "trainer"])
def test_a_copy_of_a_model_in_any_state_is_one_of_its_own(samples, state, copied):
    x, y = samples
    m = keras.Sequential([] if state == "empty" else [keras.layers.Flatten(), keras.layers.Dense(3, "softmax")])
    if state in ("compiled", "trained", "trainer"):
        m.compile("sgd", "sparse_categorical_crossentropy")
    if state in ("built", "compiled"):
        m.build((None, 8, 8, 1))
    if state == "trained":
        m.fit(x, y, verbose=0)
    if state == "trainer":
        m.train_on_batch(x, y)
    before = m.get_weights()
    other = copied(m)
    assert _alike(other.get_weights(), before) and [l.name for l in other.layers] == [l.name for l in m.layers]
    if state == "empty":
        other.add(keras.layers.Flatten())
        other.add(keras.layers.Dense(3, "softmax"))
    if state in ("empty", "unbuilt", "built"):
        other.compile("sgd", "sparse_categorical_crossentropy")
    other.fit(x, y, verbose=0)
    assert _alike(m.get_weights(), before)


# ---- the end of the interpreter

@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "del m", "gc.collect()"])
@pytest.mark.parametrize("state", [
    "m.train_on_batch(x, y)",
    "next(iter(keep(m._source(endless(), None, None, None, 'fit'))))",
    "threading.Thread(target=lambda: m.fit(x, y, epochs=10**9, verbose=0), daemon=True).start(); time.sleep(0.3)",
    "threading.Thread(target=lambda: m.fit(endless(), steps_per_epoch=10**9, verbose=0), daemon=True).start(); time.sleep(0.3)",
])
def test_the_interpreter_ends_whatever_is_under_way(state, ending):
    run(f"""
        import gc
        kept = []
        def keep(source):
            kept.append(source)
            return [source]
        m = network()
        {state}
        print("done", flush=True)
        {ending}
    """)


# ---- arrays

class _Sub(np.ndarray):
    pass


class _OnlyDlpack:
    def __init__(self, of):
        self._of = of

    def __dlpack__(self, **options):
        return self._of.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._of.__dlpack_device__()


def _mapped(a, folder):
    np.save(folder / f"{a.ndim}.npy", a)
    return np.load(folder / f"{a.ndim}.npy", mmap_mode="r")


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _every_second(a):
    wide = np.zeros((2 * len(a), *a.shape[1:]), a.dtype)
    wide[::2] = a
    return wide[::2]


ARRAYS = {
    "fortran": lambda a, folder: np.asfortranarray(a),
    "reversed": lambda a, folder: a[::-1].copy()[::-1],
    "every second": lambda a, folder: _every_second(a),
    "big-endian": lambda a, folder: a.astype(a.dtype.newbyteorder(">")),
    "wide": lambda a, folder: a.astype(np.float64),
    "half": lambda a, folder: a.astype(np.float16),
    "read-only": lambda a, folder: _read_only(a),
    "mapped": _mapped,
    "subclass": lambda a, folder: a.view(_Sub),
    "masked": lambda a, folder: np.ma.masked_array(a),
    "memoryview": lambda a, folder: memoryview(a),
    "list": lambda a, folder: a.tolist(),
    "dlpack": lambda a, folder: _OnlyDlpack(a),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_any_kind_give_the_same_numbers_and_stay_as_they_are(model, samples, tmp_path, kind):
    x = samples[0].astype(np.float16).astype(np.float32)
    y = samples[1].astype(np.int64 if kind == "dlpack" else np.float32)
    same, others = ARRAYS[kind](x, tmp_path), ARRAYS[kind](y, tmp_path)
    weights = model.get_weights()

    def numbers(x, y):
        keras.utils.set_random_seed(1)
        model.set_weights(weights)
        model.compile("sgd", "sparse_categorical_crossentropy")
        loss = model.fit(x, y, verbose=0, sample_weight=y).history["loss"]
        return [model.predict(x, verbose=0), model.evaluate(x, y, verbose=0), loss, model.train_on_batch(x, y), model(x)]

    expected, found = numbers(x, y), numbers(same, others)
    assert all(np.array_equal(a, b) for a, b in zip(expected, found))
    assert np.array_equal(np.from_dlpack(same) if kind == "dlpack" else np.asarray(same), x)


def test_bytes_are_pixels_whatever_holds_them(samples):
    y = samples[1]
    pixels = (samples[0] * 100).astype(np.uint8).reshape(60, 64)
    m = keras.Sequential([keras.Input((64,)), keras.layers.Dense(3, "softmax")])
    expected = m.predict(pixels, verbose=0)
    held = memoryview(bytearray(pixels.tobytes())).cast("B", (60, 64))
    assert np.array_equal(m.predict(held, verbose=0), expected)
    m.compile("sgd", "sparse_categorical_crossentropy")
    for labels in (array.array("i", y.tolist()), array.array("b", y.tolist()), bytearray(y.tolist()),
                   memoryview(bytes(y.tolist())), array.array("d", y.tolist())):
        m.fit(held, labels, verbose=0, sample_weight=array.array("f", [1] * 60))


def test_one_sample_repeated_without_memory_is_taken(model):
    x, y = np.broadcast_to(np.float32(0.5), (60, 8, 8, 1)), np.broadcast_to(1, 60)
    assert np.array_equal(model.predict(x, verbose=0), model.predict(x.copy(), verbose=0))
    model.fit(x, y, verbose=0, sample_weight=np.broadcast_to(2.0, 60))
    model.fit(iter([(x, y)]), verbose=0)
    model.train_on_batch(x, y)

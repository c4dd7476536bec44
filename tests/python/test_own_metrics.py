"""Metrics of one's own: what they get and what may go wrong; the script own_metrics.py holds them against Keras's."""
import numpy as np
import pytest

from cornu import keras


def largest(y_true, y_pred):
    return np.max(y_pred)


class Count(keras.metrics.Metric):
    def __init__(self, name="count", factor=1.0, **kwargs):
        super().__init__(name=name, **kwargs)
        self.factor, self.seen = factor, self.add_weight("seen", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.seen.assign_add(len(y_pred))

    def result(self):
        return self.seen * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return rng.random((12, 4), np.float32), rng.random((12, 2), np.float32)


def line(metrics, loss="mse"):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, kernel_initializer="ones")])
    model.compile("sgd", loss, metrics=metrics)
    return model


def test_a_metric_sees_each_sample_once(data):
    model = line([Count(), Count("half", 0.5)])
    history = model.fit(*data, batch_size=5, epochs=2, verbose=0, validation_split=0.25).history
    assert history["count"] == [9, 9] and history["half"] == [4.5, 4.5] and history["val_count"] == [3, 3]
    assert model.evaluate(*data, batch_size=7, verbose=0, return_dict=True)["count"] == 12


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_outputs_are_those_before_the_step(data, device):
    x, y = data
    seen = []

    def keep(y_true, y_pred):
        seen.append((np.array(y_true), np.array(y_pred)))
        return 0.0

    model = line([keep])
    before = model.predict(x[:5], verbose=0)
    with keras.device(device):
        model.fit(x, y, batch_size=5, epochs=1, shuffle=False, verbose=0)
    assert np.allclose(seen[0][1], before, atol=1e-6) and np.array_equal(np.concatenate([t for t, _ in seen]), y)
    assert not np.allclose(seen[1][1], model.predict(x[5:10], verbose=0))


def test_the_softmax_under_a_crossentropy_is_there():
    rng = np.random.default_rng(6)
    x, y = rng.random((40, 5), np.float32), rng.integers(0, 3, 40)
    sums = []
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy", lambda t, p: sums.append(np.sum(p, -1)) or 0.0])
    model.fit(x, y, batch_size=16, epochs=2, verbose=0)
    assert np.allclose(np.concatenate(sums), 1, atol=1e-5)


def test_monitors_know_them(data, tmp_path):
    model = line([Count()])
    stop = keras.callbacks.EarlyStopping("count", patience=1, mode="max")
    path = str(tmp_path / "best.safetensors")
    best = keras.callbacks.ModelCheckpoint(path, monitor="val_count", save_best_only=True)
    log = keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    history = model.fit(*data, epochs=6, verbose=0, validation_split=0.25, callbacks=[stop, best, log]).history
    assert len(history["count"]) == 2 and (tmp_path / "best.safetensors").exists()
    assert "val_count" in (tmp_path / "log.csv").read_text()
    with pytest.raises(ValueError, match="mode: found auto for count, which the caller computes; expected min or max"):
        model.fit(*data, verbose=0, callbacks=[keras.callbacks.EarlyStopping("count")])


@pytest.mark.parametrize("name", ["model.keras", "model.safetensors"])
def test_files_know_their_names(data, tmp_path, name):
    path, model = str(tmp_path / name), line([largest, Count("n", 2.0)])
    model.fit(*data, verbose=0)
    model.save(path)
    again = keras.models.load_model(path, custom_objects={"largest": largest, "Count": Count})
    assert again.evaluate(*data, verbose=0, return_dict=True) == pytest.approx(model.evaluate(*data, verbose=0, return_dict=True))
    unknown = keras.models.load_model(path)
    assert unknown.predict(data[0], verbose=0).shape == (12, 2)
    with pytest.raises(NotImplementedError, match="metric largest: is one of the caller's own"):
        unknown.evaluate(*data, verbose=0)


def test_batch_by_batch(data):
    model = line([Count()])
    assert model.train_on_batch(*data, return_dict=True)["count"] == 12
    assert model.train_on_batch(data[0][:3], data[1][:3], return_dict=True)["count"] == 3
    assert model.test_on_batch(*data, return_dict=True)["count"] == 12


@pytest.mark.parametrize("metric, error, told", [
    (lambda t, p: 1 / 0, ZeroDivisionError, "division"),
    (lambda t, p: "many", ValueError, "could not convert|many"),
    (type("Empty", (keras.metrics.Metric,), {})(), NotImplementedError, "Empty: expected a method update_state"),
    (type("Wide", (Count,), {"result": lambda self: np.zeros(3)})(), ValueError, r"metric wide: found a result of shape \(3,\)"),
    (type("Two", (Count,), {"result": lambda self: {"a": 1}})(), NotImplementedError, "metric two: a dictionary"),
])
def test_what_goes_wrong_is_told(data, metric, error, told):
    if hasattr(metric, "name"):
        metric._config["name"] = type(metric).__name__.lower()
    model = line([metric])
    with pytest.raises(error, match=told):
        model.fit(*data, verbose=0)
    line([]).fit(*data, verbose=0)


def test_objects_of_values_are_none_of_compiles(data):
    with pytest.raises(NotImplementedError, match="Mean takes values"):
        line([keras.metrics.Mean()])
    with pytest.raises(NotImplementedError, match="shards: found the metric count"):
        line([Count()]).fit(*data, verbose=0, shards=2)

"""keras.models: Sequential."""
import json
import math
import os
import random
from typing import Any

import numpy as np

from .._missing import missing
from .. import _cornu
from .._tables import TABLES, plain
from ..devices import current_device, current_threads
from . import callbacks as callbacks_module
from . import losses as losses_module
from . import optimizers as optimizers_module
from ._progress import Progress, verbosity
from .layers import InputLayer, Layer, Variable, automatic_name, deserialize
from . import _keras_names

_SPARSE = {name for row in TABLES["losses"] if row["sparse"] for name in (row["name"], row["class_name"])}


def _seed() -> int:
    """As Keras draws one: from Python's generator, which utils.set_random_seed seeds."""
    return random.randint(1, int(1e9))


def _not_here(what: str, value: Any, instead: str) -> None:
    if value is not None:
        raise NotImplementedError(f"{what} is not in cornu yet; {instead}")


def _array(value, what: str) -> np.ndarray:
    """C-contiguous, of this machine's byte order; uint8 and float32 stay where they are."""
    if hasattr(value, "detach"):
        value = value.detach()
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "buif":
        raise TypeError(f"{what}: found an array of {array.dtype}; expected numbers")
    if array.ndim == 0:
        raise ValueError(f"{what}: found a single number; expected an array with samples first")
    if array.dtype != np.uint8:
        array = array.astype(np.float32, copy=False)
    return np.ascontiguousarray(array)


class Sequential:
    """A chain of layers."""

    def __init__(self, layers=None, trainable=True, name=None):
        self.name = name or automatic_name("sequential")
        self._layers: list[Layer] = []
        self._input: InputLayer | None = None
        self._handle = None
        self._compiled: dict | None = None
        self.optimizer = self.loss = None
        self.stop_training = False
        self.history: callbacks_module.History | None = None
        for layer in layers or []:
            self.add(layer)

    # ---- layers

    def add(self, layer, rebuild=True) -> None:
        if isinstance(layer, InputLayer):
            if self._layers or self._input:
                raise ValueError(f"{self.name}: found an Input behind other layers; expected it first")
            self._input = layer
            return
        if not isinstance(layer, Layer):
            raise TypeError(f"{self.name}: found {layer!r}; expected a layer of keras.layers")
        if any(layer.name == other.name for other in self._layers):
            raise ValueError(f"{self.name}: found two layers of the name {layer.name}; expected names of their own")
        kept = self._keep_weights()
        if not self._layers and not self._input and layer._input_shape is not None:
            self._input = InputLayer(layer._input_shape)
        self._layers.append(layer)
        self._rebuild(kept)

    def pop(self, rebuild=True) -> Layer:
        if not self._layers:
            raise TypeError(f"{self.name}: found no layers to pop")
        kept = self._keep_weights()
        layer = self._layers.pop()
        layer._variables = []
        self._rebuild(kept)
        return layer

    @property
    def layers(self) -> list[Layer]:
        return list(self._layers)

    def get_layer(self, name=None, index=None) -> Layer:
        if index is not None:
            return self._layers[index]
        for layer in self._layers:
            if layer.name == name:
                return layer
        raise ValueError(f"{self.name}: no layer {name}; there is {', '.join(l.name for l in self._layers)}")

    # ---- the library's model

    @property
    def built(self) -> bool:
        return self._handle is not None

    def build(self, input_shape=None) -> None:
        """Make the weights for samples of input_shape, which begins with the batch (None)."""
        if input_shape is not None and self._input is None:
            self._input = InputLayer(tuple(input_shape)[1:])
        if self._handle is None:
            self._rebuild({})
        if self._handle is None:
            raise ValueError(f"{self.name}: found no {'input shape' if self._layers else 'layers'}; expected keras.Input, "
                             f"input_shape=, or fit with data")

    def _describe(self) -> dict:
        layers = [self._input._describe()] if self._input else []
        return {"class_name": "Sequential",
                "config": {"name": self.name, "layers": layers + [l._describe() for l in self._layers]}}

    def _keep_weights(self) -> dict:
        return {l.name: l.get_weights() for l in self._layers if l._variables}

    def _rebuild(self, kept: dict) -> None:
        if not self._input or not self._layers:
            self._handle = None
            return
        recipe = {"data": {"scale": 1}, "model": self._describe()}
        self._take(_cornu.parse(json.dumps(recipe), self.name), _seed())
        for layer in self._layers:
            if layer.name in kept:
                layer.set_weights(kept[layer.name])

    def _take(self, handle, seed=None) -> None:
        self._handle = handle
        if seed:
            handle.initialize(seed)
        by_layer: dict[str, list[Variable]] = {}
        for index, (path, shape, trainable) in enumerate(handle.weights()):
            by_layer.setdefault(path.rsplit("/", 1)[0], []).append(Variable(handle, index, path, shape, trainable))
        for layer in self._layers:
            layer._variables = by_layer.get(layer.name, [])
        if self._compiled:
            handle.compile(json.dumps(self._compiled))

    @property
    def input_shape(self) -> tuple:
        self.build()
        return (None, *self._handle.shapes()[0])

    @property
    def output_shape(self) -> tuple:
        self.build()
        return (None, *self._handle.shapes()[1])

    # ---- weights

    @property
    def weights(self) -> list[Variable]:
        return [v for l in self._layers for v in l._variables]

    variables = weights

    @property
    def trainable_weights(self) -> list[Variable]:
        return [v for v in self.weights if v.trainable]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return [v for v in self.weights if not v.trainable]

    def get_weights(self) -> list[np.ndarray]:
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights) -> None:
        own = self.weights
        if len(weights) != len(own):
            raise ValueError(f"{self.name}: found {len(weights)} weights; expected {len(own)}")
        for variable, value in zip(own, weights):
            if np.shape(value) != variable.shape:
                raise ValueError(f"{variable.path}: found shape {np.shape(value)}; expected {variable.shape}")
        for variable, value in zip(own, weights):
            variable.assign(value)

    def count_params(self) -> int:
        self.build()
        return sum(int(np.prod(v.shape)) for v in self.weights)

    # ---- descriptions

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                layer_range=None) -> None:
        self.build()
        text = self._handle.summary()
        (print_fn or print)(text.rstrip("\n"))

    def get_config(self) -> dict:
        layers = ([self._input] if self._input else []) + self._layers
        return {"name": self.name,
                "layers": [{"class_name": type(l).__name__, "config": l.get_config()} for l in layers]}

    @classmethod
    def from_config(cls, config: dict) -> "Sequential":
        model = cls(name=config.get("name"))
        for layer in config["layers"]:
            model.add(deserialize(layer))
        return model

    def to_json(self, **kwargs) -> str:
        self.build()
        return self._handle.config()

    def __repr__(self) -> str:
        return f"<Sequential name={self.name}, built={self.built}>"

    # ---- training

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True) -> None:
        _not_here("compile: loss_weights", loss_weights, "there is one loss")
        _not_here("compile: weighted_metrics", weighted_metrics, "metrics= takes them")
        if loss is None:
            raise ValueError(f"compile: found no loss; cornu has {', '.join(r['name'] for r in TABLES['losses'])}")
        if isinstance(metrics, dict):
            metrics = [m for value in metrics.values() for m in (value if isinstance(value, (list, tuple)) else [value])]
        metrics = [metrics] if isinstance(metrics, str) else list(metrics or [])
        self.optimizer = optimizers_module.get(optimizer)
        self.loss = loss
        compiled = {"optimizer": plain(self.optimizer), "loss": plain(losses_module.get(loss)),
                    "metrics": [plain(m() if isinstance(m, type) else m) for m in metrics]}
        before, self._compiled = self._compiled, compiled
        if self._handle is None:
            return
        try:
            self._handle.compile(json.dumps(compiled))
        except BaseException:
            self._compiled = before
            raise

    def _is_sparse(self) -> bool:
        loss = self._compiled["loss"]
        return (loss if isinstance(loss, str) else loss["class_name"]) in _SPARSE

    def _want_compiled(self, what: str) -> None:
        if self._compiled is None:
            raise ValueError(f"{what}: found a model that is not compiled; expected compile() before")

    def _inputs(self, x, what: str) -> np.ndarray:
        array = _array(x, what)
        if self._handle is None:
            self.build((None, *array.shape[1:]))
        expected = self._handle.shapes()[0]
        if array.shape[1:] != expected and array.shape[1:] + (1,) != expected:
            raise ValueError(f"{what}: found samples of shape {array.shape[1:]}; expected {expected}")
        if len(array) == 0:
            raise ValueError(f"{what}: found no samples")
        return array.reshape(len(array), *expected)

    def _targets(self, y, count: int, what: str) -> np.ndarray:
        if y is None:
            raise ValueError(f"{what}: found None; expected targets")
        array = np.asarray(y.detach() if hasattr(y, "detach") else y)
        if array.dtype == object or array.dtype.kind not in "buif":
            raise TypeError(f"{what}: found an array of {array.dtype}; expected numbers")
        if array.ndim == 0 or len(array) != count:
            raise ValueError(f"{what}: found {array.shape[0] if array.ndim else 'a single'} targets for {count} samples")
        outputs = int(np.prod(self._handle.shapes()[1]))
        if self._is_sparse():
            if array.size != count:
                raise ValueError(f"{what}: found targets of shape {array.shape}; expected one class number a sample")
            flat = array.reshape(count)
            if not np.all(np.isfinite(flat)) or np.any(flat != np.floor(flat)):
                raise ValueError(f"{what}: found targets that are no whole numbers; expected class numbers")
            if count and (flat.min() < 0 or flat.max() >= outputs):
                raise ValueError(f"{what}: found class numbers from {flat.min()} to {flat.max()}; expected 0 to {outputs - 1}")
            return np.ascontiguousarray(flat, np.int32)
        if array.size != count * outputs:
            raise ValueError(f"{what}: found targets of shape {array.shape}; expected {(count, outputs)}")
        out = np.ascontiguousarray(array, np.float32).reshape(count, outputs)
        if not np.all(np.isfinite(out)):
            raise ValueError(f"{what}: found targets that are not finite numbers")
        return out

    def _data(self, x, y, test, what: str):
        x = self._inputs(x, what + ": x")
        y = self._targets(y, len(x), what + ": y")
        test_x = test_y = None
        if test is not None:
            if len(test) == 3:
                raise NotImplementedError(f"{what}: sample weights in validation_data are not in cornu yet; it takes (x, y)")
            test_x = self._inputs(test[0], "validation_data: x")
            test_y = self._targets(test[1], len(test_x), "validation_data: y")
            if test_x.dtype != x.dtype:
                x, test_x = x.astype(np.float32), test_x.astype(np.float32)
        return _cornu.data_from_arrays(x, y, test_x, test_y), len(x)

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1):
        """Train on arrays; returns History."""
        self._want_compiled("fit")
        _not_here("fit: class_weight", class_weight, "the samples count alike")
        _not_here("fit: sample_weight", sample_weight, "the samples count alike")
        _not_here("fit: initial_epoch", initial_epoch or None, "it takes 0")
        _not_here("fit: validation_batch_size", validation_batch_size, "validation goes by batch_size")
        _not_here("fit: validation_freq", None if validation_freq == 1 else validation_freq, "it takes 1")
        if y is None or hasattr(x, "__next__"):
            raise NotImplementedError("fit: generators and data sets are not in cornu.keras yet; it takes arrays x and y")
        for name, value in (("epochs", epochs), ("batch_size", batch_size), ("steps_per_epoch", steps_per_epoch)):
            if value is not None and (value != int(value) or value < 1):
                raise ValueError(f"fit: {name}: found {value!r}; expected a whole number of at least 1")
        data, count = self._data(x, y, validation_data, "fit")
        batch = int(batch_size or 32)
        section: dict[str, Any] = {"batch_size": batch, "epochs": int(epochs), "shuffle": bool(shuffle), "seed": _seed()}
        if steps_per_epoch:
            section["steps_per_epoch"] = int(steps_per_epoch)
        if validation_steps:
            section["validation_steps"] = int(validation_steps)
        if validation_data is not None:
            section["validation"] = "test"
        elif validation_split:
            section["validation_split"] = float(validation_split)
        run = _Fit(self, epochs, Progress(verbosity(verbose)), callbacks, count, batch)
        section["callbacks"] = run.sections()
        return run.start(lambda: self._handle.fit(data, json.dumps(section), current_device(), current_threads(),
                                                  run.batches, run.on_step,
                                                  run.on_epoch_begin, run.on_epoch, run.on_notice))

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **kwargs):
        """Loss and metrics of arrays: a number, a list, or a dict."""
        self._want_compiled("evaluate")
        _not_here("evaluate: sample_weight", sample_weight, "the samples count alike")
        if y is None:
            raise NotImplementedError("evaluate: generators and data sets are not in cornu.keras yet; it takes arrays x and y")
        batch = int(batch_size or 32)
        if steps is not None:
            x, y = x[: steps * batch], y[: steps * batch]
        data, _ = self._data(x, y, None, "evaluate")
        progress = Progress(verbosity(verbose))

        def on_step(epoch, epochs, step, steps, seconds, rate, logs):
            progress.step(step, steps, seconds, logs, step == steps)

        scores = self._handle.evaluate(data, False, current_device(), current_threads(), batch, on_step)
        if return_dict:
            return dict(sorted(scores.items()))
        values = list(scores.values())
        return values[0] if len(values) == 1 else values

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None) -> np.ndarray:
        """Outputs of arrays."""
        inputs = self._inputs(x, "predict: x").astype(np.float32, copy=False)
        batch = int(batch_size or 32)
        if steps is not None:
            inputs = inputs[: steps * batch]
        outputs = np.empty((len(inputs), *self._handle.shapes()[1]), np.float32)
        self._handle.predict(np.ascontiguousarray(inputs), outputs, current_device(), current_threads(), batch)
        if verbosity(verbose):
            steps = math.ceil(len(inputs) / batch)
            Progress(verbosity(verbose)).step(steps, steps, 0.0, {}, True)
        return outputs

    def predict_on_batch(self, x) -> np.ndarray:
        return self.predict(x, batch_size=max(len(x), 1), verbose=0)

    def __call__(self, x, training=None, mask=None) -> np.ndarray:
        if training:
            raise NotImplementedError("calling a model with training=True is not in cornu; it computes as predict does")
        return self.predict_on_batch(x)

    # ---- files

    def save(self, filepath, overwrite=True, zipped=None, **kwargs) -> None:
        """Weights, optimizer state and configuration in one .safetensors file."""
        self.build()
        path = os.fspath(filepath)
        if not path.endswith(".safetensors"):
            raise NotImplementedError(f"save: {path}: this format is not in cornu yet; it writes .safetensors")
        if not overwrite and os.path.exists(path):
            raise FileExistsError(f"{path}: exists")
        self._handle.save(path)

    def save_weights(self, filepath, overwrite=True) -> None:
        self.save(filepath, overwrite)

    def load_weights(self, filepath) -> None:
        self.build()
        self._handle.load_weights(os.fspath(filepath))

    def __getstate__(self) -> dict:
        state = {"config": self.get_config(), "weights": self.get_weights(), "compiled": self._compiled}
        return state

    def __setstate__(self, state: dict) -> None:
        model = type(self).from_config(state["config"])
        self.__dict__.update(model.__dict__)
        self._compiled = state["compiled"]
        if self._handle is not None and self._compiled:
            self._handle.compile(json.dumps(self._compiled))
        if state["weights"]:
            self.set_weights(state["weights"])


Model = Sequential


class _Fit:
    """One call of fit: the library's callbacks to Keras's."""

    def __init__(self, model, epochs, progress, callbacks, count, batch):
        self.model, self.epochs, self.progress = model, epochs, progress
        self.history = callbacks_module.History()
        callbacks = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        for callback in callbacks:
            if not isinstance(callback, callbacks_module.Callback):
                raise TypeError(f"fit: callbacks: found {callback!r}; expected a keras.callbacks.Callback")
        self.native = [c for c in callbacks if isinstance(c, callbacks_module._Native)]
        self.python = [c for c in callbacks if not isinstance(c, callbacks_module._Native)] + [self.history]
        self.batches = any(c._wants_batches() for c in self.python)
        self.rates = any(isinstance(c, (callbacks_module.ReduceLROnPlateau, callbacks_module.LearningRateScheduler))
                         for c in self.native)
        self.params = {"epochs": epochs, "steps": math.ceil(count / batch), "verbose": progress.verbose}
        self.last: tuple = ()

    def sections(self) -> list:
        rate = getattr(self.model.optimizer, "learning_rate", 0)
        rate = rate if isinstance(rate, (int, float)) else 0.0
        return [c._at(self.epochs, rate) if isinstance(c, callbacks_module.LearningRateScheduler) else c._section()
                for c in self.native]

    def start(self, work):
        self.model.stop_training = False
        self.model.history = self.history
        for callback in [*self.python, *self.native]:
            callback.set_model(self.model)
            callback.set_params(self.params)
        self._all("on_train_begin", {})
        work()
        self._all("on_train_end", {})
        return self.history

    def _all(self, hook: str, *arguments) -> None:
        for callback in self.python:
            getattr(callback, hook)(*arguments)

    def on_epoch_begin(self, epoch, epochs, step, steps, seconds, rate, logs):
        self.progress.epoch(epoch, epochs)
        self._all("on_epoch_begin", epoch, {})
        self._begin_batch(0)

    def _begin_batch(self, batch: int) -> None:
        if self.batches:
            self._all("on_train_batch_begin", batch, {})
            self._all("on_batch_begin", batch, {})

    def on_step(self, epoch, epochs, step, steps, seconds, rate, logs):
        self.progress.step(step, steps, seconds, logs, False)
        if self.batches:
            self._all("on_train_batch_end", step - 1, logs)
            self._all("on_batch_end", step - 1, logs)
            if step < steps:
                self._begin_batch(step)
        return self.model.stop_training and step < steps

    def on_epoch(self, epoch, epochs, step, steps, seconds, rate, logs):
        logs = dict(sorted(logs.items()))
        if self.rates:
            logs["learning_rate"] = rate
        self.progress.step(steps, steps, seconds, logs, True)
        self._all("on_epoch_end", epoch, logs)
        return self.model.stop_training

    def on_notice(self, line):
        """The library's callbacks begin with the epoch; Keras's are silent unless they are to be verbose."""
        of_callback = line.startswith("Epoch ")
        if any(c.verbose for c in self.native) if of_callback else self.progress.verbose:
            self.progress._write(f"cornu: {line}\n")


def _sequential_of(handle) -> Sequential:
    config = json.loads(handle.config())
    inner = config["config"]
    model = Sequential(name=inner["name"])
    for layer in inner["layers"]:
        cleaned = {k: v for k, v in layer["config"].items() if k not in ("trainable", "dtype")}
        made = deserialize({"class_name": layer["class_name"], "config": cleaned})
        if isinstance(made, InputLayer):
            model._input = made
        else:
            model._layers.append(made)
    model._take(handle)
    compiled = json.loads(handle.compile_config())
    if compiled:
        model._compiled = compiled
        model.optimizer = optimizers_module.get(compiled["optimizer"])
        model.loss = compiled["loss"]["class_name"] if isinstance(compiled["loss"], dict) else compiled["loss"]
    return model


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True) -> Sequential:
    """The model of a .safetensors file, a recipe, or the name of a workload."""
    path = os.fspath(filepath)
    if path.endswith((".keras", ".h5", ".hdf5")):
        raise NotImplementedError(f"load_model: {path}: this format is not in cornu yet; it reads .safetensors")
    return _sequential_of(_cornu.open(path))


def model_from_json(json_string, custom_objects=None) -> Sequential:
    """A new model of to_json's text."""
    config = json.loads(json_string)
    recipe = {"data": {"scale": 1}, "model": config}
    handle = _cornu.parse(json.dumps(recipe), "model_from_json")
    handle.initialize(_seed())
    return _sequential_of(handle)


def clone_model(model, input_tensors=None, clone_function=None, **kwargs) -> Sequential:
    """The same layers with new weights."""
    _not_here("clone_model: input_tensors", input_tensors, "it takes a model")
    _not_here("clone_model: clone_function", clone_function, "it takes a model")
    return Sequential.from_config(model.get_config())


__all__ = ["Model", "Sequential", "clone_model", "load_model", "model_from_json"]

__getattr__ = missing("cornu.keras.models", __all__, _keras_names.models)

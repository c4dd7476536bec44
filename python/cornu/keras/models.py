"""keras.models: Sequential."""
import json
import os
import random
from typing import Any

import numpy as np

from .._missing import missing
from .. import _cornu
from .._tables import TABLES, plain
from ..devices import current_placement
from . import _data
from ._arguments import class_weights, not_here, older, whole
from ._data import Stream
from ._runs import FitRun, TestRun, callback_list
from . import losses as losses_module
from . import metrics as metrics_module
from . import optimizers as optimizers_module
from ._progress import Progress, verbosity
from .callbacks import History
from .distribution import process_index
from .layers import InputLayer, Layer, Variable, automatic_name, deserialize
from . import _keras_names


def _seed() -> int:
    """As Keras draws one: from Python's generator, which utils.set_random_seed seeds."""
    return random.randint(1, int(1e9))


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
        self._rate: float | None = None  # that the library has
        # Data sections: the one in force, and that of the last fit, which a file keeps.
        self._section = self._trained_section = _data.Source.section
        self.history: History | None = None
        for layer in layers or []:
            self.add(layer)

    # ---- layers

    def add(self, layer, rebuild=True) -> None:
        """Append a layer."""
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
        """Take the last layer away; returns it."""
        if not self._layers:
            raise TypeError(f"{self.name}: found no layers to pop")
        kept = self._keep_weights()
        layer = self._layers.pop()
        layer._variables = []
        self._rebuild(kept)
        return layer

    @property
    def layers(self) -> list[Layer]:
        """In their order, without the Input."""
        return list(self._layers)

    def get_layer(self, name=None, index=None) -> Layer:
        """A layer by its name, or by its number from 0."""
        if index is not None:
            return self._layers[index]
        for layer in self._layers:
            if layer.name == name:
                return layer
        raise ValueError(f"{self.name}: no layer {name}; there is {', '.join(l.name for l in self._layers)}")

    # ---- the library's model

    @property
    def built(self) -> bool:
        """Does it have weights?"""
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
        self._section = self._trained_section = _data.Source.section
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
        """With None for the batch."""
        self.build()
        return (None, *self._handle.shapes()[0])

    @property
    def output_shape(self) -> tuple:
        """With None for the batch."""
        self.build()
        return (None, *self._handle.shapes()[1])

    # ---- weights

    @property
    def weights(self) -> list[Variable]:
        """Of all layers, in their order."""
        return [v for l in self._layers for v in l._variables]

    variables = weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """Those that training changes by gradients."""
        return [v for v in self.weights if v.trainable]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The others, such as moving means."""
        return [v for v in self.weights if not v.trainable]

    def get_weights(self) -> list[np.ndarray]:
        """Copies of all weights, in their order."""
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights) -> None:
        """Replace all weights, in get_weights' order."""
        own = self.weights
        if len(weights) != len(own):
            raise ValueError(f"{self.name}: found {len(weights)} weights; expected {len(own)}")
        for variable, value in zip(own, weights):
            if np.shape(value) != variable.shape:
                raise ValueError(f"{variable.path}: found shape {np.shape(value)}; expected {variable.shape}")
        for variable, value in zip(own, weights):
            variable.assign(value)

    def count_params(self) -> int:
        """Numbers in all weights."""
        self.build()
        return sum(int(np.prod(v.shape)) for v in self.weights)

    # ---- descriptions

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                layer_range=None) -> None:
        """Print the table of layers, by print_fn if given."""
        self.build()
        text = self._handle.summary()
        (print_fn or print)(text.rstrip("\n"))

    def get_config(self) -> dict:
        """Name and layers, as from_config takes them."""
        layers = ([self._input] if self._input else []) + self._layers
        return {"name": self.name,
                "layers": [{"class_name": type(l).__name__, "config": l.get_config()} for l in layers]}

    @classmethod
    def from_config(cls, config: dict) -> "Sequential":
        """A new model of get_config's dict."""
        model = cls(name=config.get("name"))
        for layer in config["layers"]:
            model.add(deserialize(layer))
        return model

    def to_json(self, **kwargs) -> str:
        """Keras's JSON of the network, as model_from_json takes it."""
        self.build()
        return self._handle.config()

    def __repr__(self) -> str:
        return f"<Sequential name={self.name}, built={self.built}>"

    # ---- training

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True) -> None:
        """Choose optimizer, loss and metrics: names, objects or configurations."""
        not_here("compile: loss_weights", loss_weights, "there is one loss")
        not_here("compile: weighted_metrics", weighted_metrics, "metrics= takes them")
        if loss is None:
            raise ValueError(f"compile: found no loss; cornu has {', '.join(r['name'] for r in TABLES['losses'])}")
        if isinstance(metrics, dict):
            metrics = [m for value in metrics.values() for m in (value if isinstance(value, (list, tuple)) else [value])]
        metrics = [metrics] if isinstance(metrics, str) else list(metrics or [])
        self.optimizer = optimizers_module.get(optimizer)
        self.loss = loss
        compiled = {"optimizer": plain(self.optimizer), "loss": plain(losses_module.get(loss)),
                    "metrics": [m if isinstance(m, str) else plain(metrics_module.get(m)) for m in metrics]}
        before, self._compiled = self._compiled, compiled
        self._rate = self._given_rate()
        if self._handle is None:
            return
        try:
            self._handle.compile(json.dumps(compiled))
        except BaseException:
            self._compiled = before
            raise

    def _want_compiled(self, what: str) -> None:
        if self._compiled is None:
            raise ValueError(f"{what}: found a model that is not compiled; expected compile() before")

    def _source(self, x, y, sample_weight, batch_size, what: str, shuffle: bool = False, most: int | None = None,
                fetch: dict | None = None) -> _data.Source:
        """What the library trains on; arrays in batches of batch_size."""
        if _data.is_arrays(x):
            return _data.from_arrays(self, x, y, sample_weight, batch_size or 32, what)
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(f"{what}: {name}: found one beside data that gives batches; expected it within them")
        if hasattr(x, "_cornu_data"):
            source = _data.from_loaded(self, x, what)
            if what == "fit" or not _data.changes_of(source.section, False):
                return source  # the library changes nothing at random where it only tests
        return Stream(self, x, what, shuffle, most, **(fetch or {}))

    def _validation(self, data, batch_size, steps, epochs: int, freq, fetch: dict) -> _data.Source:
        what = "fit: validation_data"
        if not isinstance(data, (tuple, list)):
            most = steps * epochs if steps and freq == 1 else None
            return self._source(data, None, None, batch_size, what, most=most, fetch=fetch)
        if not 2 <= len(data) <= 3:
            raise ValueError(f"{what}: found {len(data)} things; expected (x, y) or (x, y, sample_weight)")
        return self._source(*(*data, None)[:3], batch_size, what)

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1, **kwargs):
        """Train; returns History.

        x: an array with y; or what gives batches (x, y) or (x, y, sample_weight): a generator, a keras.utils.PyDataset,
        any iterable; or a data set of pictures, which the library loads itself. Of tf.keras 2, workers and
        max_queue_size say how batches are fetched ahead. Of cornu alone: shards=N divides each batch into N, a power of
        two, and adds their gradients (keras.distribution: by several processes), as wire says: "fp32" or "bf16";
        shard_optimizer=True: of several processes each updates a part of the weights."""
        self._want_compiled("fit")
        shards = whole("fit", "shards", kwargs.pop("shards", None))
        wire = kwargs.pop("wire", None)
        divides = bool(kwargs.pop("shard_optimizer", False))
        fetch = older("fit", kwargs)
        epochs, batch_size = whole("fit", "epochs", epochs), whole("fit", "batch_size", batch_size)
        steps = whole("fit", "steps_per_epoch", steps_per_epoch)
        validation_steps = whole("fit", "validation_steps", validation_steps)
        section: dict[str, Any] = {"epochs": epochs, "shuffle": bool(shuffle), "seed": _seed(),
                                   "initial_epoch": whole("fit", "initial_epoch", initial_epoch, 0),
                                   "steps_per_epoch": steps, "validation_steps": validation_steps, "shards": shards,
                                   "wire": plain(wire),
                                   "validation_batch_size": whole("fit", "validation_batch_size", validation_batch_size),
                                   "validation_freq": plain(validation_freq) if validation_freq != 1 else None}
        if class_weight is not None:
            section["class_weight"] = class_weights(class_weight)
        if validation_split and validation_data is None:
            if not _data.is_arrays(x):
                raise ValueError("fit: validation_split: found data that gives batches; expected arrays, or "
                                 "validation_data=")
            section["validation_split"] = float(validation_split)
        source = validation = None
        try:
            per_epoch = steps or (None if _data.is_arrays(x) else _data.length_of(x))
            most = per_epoch * max(epochs - section["initial_epoch"], 0) if per_epoch else None
            source = self._source(x, y, sample_weight, batch_size, "fit", bool(shuffle), most, fetch)
            if validation_data is not None:
                validation = self._validation(validation_data, validation_batch_size or source.batch, validation_steps,
                                              epochs, validation_freq, fetch)
                if _data.changes_of(source.section, True) != _data.changes_of(validation.section, True):
                    raise NotImplementedError("fit: validation_data: found samples that are standardized otherwise than those "
                                              "of the training is not in cornu; standardize both, or none")
            return self._fit(source, validation, section, divides, callbacks,
                             Progress(verbosity(verbose) if process_index() == 0 else 0))
        finally:
            for opened in (source, validation):
                if opened:
                    opened.close()

    def _fit(self, source, validation, section: dict, divides: bool, callbacks, progress: Progress):
        run = FitRun(self, section["epochs"], progress, callbacks, section["steps_per_epoch"] or source.steps)
        section["callbacks"] = run.sections()
        self._handle.set_data(source.section)
        self._section = self._trained_section = source.section
        self._set_rate()
        return run.start(lambda: self._handle.fit(
            source.data, validation and validation.data, _data.section_text(source, section), divides, *current_placement(),
            run.batches, run.on_step, run.on_epoch_begin, run.on_epoch, run.on_validation if run.tests else None,
            run.on_notice))

    def _use(self, section: str) -> None:
        """Samples are standardized as this data section says, where that is another way than now."""
        if _data.changes_of(section, True) != _data.changes_of(self._section, True):
            self._handle.set_data(section)
            self._section = section

    def fit_generator(self, generator, **kwargs):
        """As tf.keras 2 called it: fit."""
        return self.fit(generator, **kwargs)

    def _evaluate(self, what, x, y, batch_size, verbose, sample_weight, steps, callbacks, kwargs, *more):
        """One pass over what fit takes; `more`: what the library's evaluate takes besides."""
        self._want_compiled(what)
        fetch = older(what, kwargs)
        steps = whole(what, "steps", steps)
        source = self._source(x, y, sample_weight, whole(what, "batch_size", batch_size), what, most=steps, fetch=fetch)
        try:
            self._use(source.section)
            run = TestRun(self, Progress(verbosity(verbose)), callback_list(callbacks, what), "test")
            return run.start(lambda: self._handle.evaluate(source.data, *current_placement(), source.batch, steps or 0,
                                                           bool(run.callbacks), run.on_step, *more))
        finally:
            source.close()

    def classification_report(self, x=None, y=None, batch_size=None, verbose=0, steps=None, top_k=5, files=()) -> dict:
        """Precision, recall and F1 of each class, the confusion matrix and misclassified samples of what evaluate takes, as
        docs/evaluation.md has them; written to each of `files` as well (FILE.json, FILE.png: the matrix)."""
        paths = tuple(os.fspath(f) for f in ([files] if isinstance(files, (str, os.PathLike)) else files))
        top = whole("classification_report", "top_k", top_k)
        return json.loads(self._evaluate("classification_report", x, y, batch_size, verbose, None, steps, None, {}, paths, top))

    def confusion_matrix(self, x=None, y=None, batch_size=None, verbose=0, steps=None) -> np.ndarray:
        """Samples by true class (rows) and predicted class (columns)."""
        return np.array(self.classification_report(x, y, batch_size, verbose, steps)["confusion_matrix"], np.int64)

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **kwargs):
        """Loss and metrics of what fit takes: a number, a list, or a dict."""
        scores = self._evaluate("evaluate", x, y, batch_size, verbose, sample_weight, steps, callbacks, kwargs)
        if return_dict:
            return dict(sorted(scores.items()))
        values = list(scores.values())
        return values[0] if len(values) == 1 else values

    def evaluate_generator(self, generator, **kwargs):
        """As tf.keras 2 called it: evaluate."""
        return self.evaluate(generator, **kwargs)

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None, **kwargs) -> np.ndarray:
        """Outputs of an array, or of what gives batches."""
        older("predict", kwargs)
        batch = whole("predict", "batch_size", batch_size) or 32
        steps = whole("predict", "steps", steps)
        run = TestRun(self, Progress(verbosity(verbose)), callback_list(callbacks, "predict"), "predict")
        if _data.is_arrays(x):
            inputs = _data.inputs_of(self, x, "predict: x")
            inputs = inputs[: steps * batch] if steps else inputs
            if not run.callbacks:
                return run.start(lambda: run.whole(self._outputs(inputs, batch, False), -(-len(inputs) // batch)))
            batches, count = (inputs[i: i + batch] for i in range(0, len(inputs), batch)), -(-len(inputs) // batch)
        else:
            batches, count = _data.batches_of(x, steps), steps or _data.length_of(x) or 0
        outputs = run.start(lambda: [run.after(self._outputs(_data.inputs_of(self, part, "predict: x"), None, True), count)
                                     for part in batches])
        if not outputs:
            raise ValueError("predict: x: found no batches (an iterator that has ended?); expected at least one")
        return np.concatenate(outputs)

    def predict_generator(self, generator, **kwargs):
        """As tf.keras 2 called it: predict."""
        return self.predict(generator, **kwargs)

    def _outputs(self, inputs: np.ndarray, batch: int | None, keep: bool) -> np.ndarray:
        """keep: the weights stay on the device for the next batch."""
        self._use(_data.Source.section)
        outputs = np.empty((len(inputs), *self._handle.shapes()[1]), np.float32)
        inputs = np.ascontiguousarray(inputs, np.float32)
        self._handle.predict(inputs, outputs, *current_placement(), batch or len(inputs), keep)
        return outputs

    def predict_on_batch(self, x) -> np.ndarray:
        """Outputs of one batch."""
        return self._outputs(_data.inputs_of(self, x, "predict_on_batch: x"), None, True)

    def __call__(self, x, training=None, mask=None) -> np.ndarray:
        """Outputs of one batch, as predict computes them."""
        if training:
            raise NotImplementedError("calling a model with training=True is not in cornu; it computes as predict does")
        return self.predict_on_batch(x)

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        """One optimizer step; returns the batch's loss and metrics before it."""
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError("train_on_batch: found class_weight and sample_weight; expected one of the two")
            classes = np.asarray(y)
            classes = classes.argmax(-1) if classes.ndim > 1 and classes.shape[-1] > 1 else classes.reshape(-1)
            sample_weight = [class_weight.get(int(number), 1.0) for number in classes]
        return self._on_batch(x, y, sample_weight, True, return_dict, "train_on_batch")

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Loss and metrics of one batch."""
        return self._on_batch(x, y, sample_weight, False, return_dict, "test_on_batch")

    def _on_batch(self, x, y, sample_weight, train: bool, return_dict: bool, what: str):
        self._want_compiled(what)
        x = _data.inputs_of(self, x, f"{what}: x")
        if y is None:
            raise ValueError(f"{what}: y: found None; expected targets")
        y = _data.targets_of(self._handle, y, len(x), f"{what}: y")
        weights = _data.weights_of(sample_weight, len(x), f"{what}: sample_weight")
        self._use(_data.Source.section)
        self._set_rate()
        self.reset_metrics()
        scores = self._handle.on_batch(x, y, weights, train, *current_placement())
        if return_dict:
            return dict(sorted(scores.items()))
        values = list(scores.values())
        return values[0] if len(values) == 1 else values

    def reset_metrics(self) -> None:
        """Means begin anew; train_on_batch and test_on_batch do that themselves."""
        if self._handle is not None:
            self._handle.reset_metrics()

    def _set_rate(self) -> None:
        """The learning rate that the optimizer was given since."""
        rate = self._given_rate()
        if rate is not None and rate != self._rate:
            self._handle.set_learning_rate(rate)
            self._rate = rate

    def _given_rate(self) -> float | None:
        """None: a schedule."""
        rate = getattr(self.optimizer, "learning_rate", None)
        return float(rate) if hasattr(rate, "__float__") else None

    # ---- files

    def save(self, filepath, overwrite=True, zipped=None, **kwargs) -> None:
        """Weights, optimizer state and configuration in one file: .keras, .safetensors, or .h5 as older Keras has it."""
        not_here("save: zipped", zipped, "it writes one file")
        if not kwargs.pop("include_optimizer", True):
            raise NotImplementedError("save: include_optimizer=False is not in cornu; a file holds the optimizer's state")
        for name in kwargs:
            raise TypeError(f"save: got an unexpected keyword argument {name!r}")
        path = os.fspath(filepath)
        _check_ending("save", path, WHOLE)
        if path.endswith(".weights.h5"):
            raise ValueError(f"save: {path}: holds weights alone; save_weights writes it")
        self._save(path, overwrite)

    def _save(self, path: str, overwrite: bool) -> None:
        self.build()
        _check_new(path, overwrite)
        if self._section != self._trained_section:
            self._handle.set_data(self._trained_section)
            self._section = self._trained_section
        self._handle.save(path)

    def export(self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs) -> None:
        """The network for prediction as an ONNX file, where the name ends in .onnx or format="onnx".

        preprocess=True, which Keras has not: the input is uint8 pixels, scaled and standardized in the file."""
        not_here("export: input_signature", input_signature, "the file takes any number of samples of the model's shape")
        preprocess = bool(kwargs.pop("preprocess", False))
        for name in kwargs:
            raise NotImplementedError(f"export: {name}= is not in cornu; an ONNX file is of opset 17")
        path = os.fspath(filepath)
        if format != "onnx" and not (format == "tf_saved_model" and path.endswith(".onnx")):
            raise NotImplementedError(f"export: {path}: found format={format!r}, which is not in cornu; it writes 'onnx'")
        self.build()
        if self._section != self._trained_section:
            self._handle.set_data(self._trained_section)
            self._section = self._trained_section
        self._handle.export(path, preprocess)

    def save_weights(self, filepath, overwrite=True, names=None) -> None:
        """Weights and the optimizer's state in a .weights.h5 file; or as save, of which load_weights takes the weights.

        names="torch", which Keras has not: weights alone in a .safetensors file that PyTorch's load_state_dict takes."""
        path = os.fspath(filepath)
        _check_ending("save_weights", path, (".safetensors",) if names else (".weights.h5", ".safetensors"))
        if names is None:
            self._save(path, overwrite)
            return
        self.build()
        _check_new(path, overwrite)
        self._handle.save_weights(path, names)

    def load_weights(self, filepath, skip_mismatch=False, names=None, **kwargs) -> None:
        """Weights of a .weights.h5, .keras, .h5, .onnx or .safetensors file, layer by layer in their order whatever the
        layers' names; of a .npz by names. The optimizer's state stays as it is.

        names="torch", which Keras has not: of a PyTorch state_dict that is saved as .safetensors."""
        not_here("load_weights: skip_mismatch", skip_mismatch or None, "every weight must fit")
        for name in kwargs:
            raise TypeError(f"load_weights: got an unexpected keyword argument {name!r}")
        self.build()
        path = os.fspath(filepath)
        try:
            self._handle.load_weights(path, names)
        except ValueError:
            if names is not None or not self._load_in_order(path):
                raise

    def _load_in_order(self, path: str) -> bool:
        """Of a model file whose layers have other names; False where it is none, or another network's."""
        try:
            other = _cornu.open(path)
        except (ValueError, OSError):
            return False
        rows = other.weights()
        if [row[1:] for row in rows] != [row[1:] for row in self._handle.weights()]:
            return False
        for index, (variable, row) in enumerate(zip(self.weights, rows)):
            variable.assign(Variable(other, index, *row).numpy())
        return True

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


WHOLE = (".keras", ".safetensors", ".h5", ".hdf5")


def _check_ending(method: str, path: str, endings: tuple) -> None:
    if not path.endswith(endings):
        raise ValueError(f"{method}: {path}: found another ending; expected {', '.join(endings)}")


def _check_new(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{path}: exists")


def _sequential_of(handle) -> Sequential:
    inner = json.loads(handle.config())["config"]
    model = Sequential(name=inner["name"])
    for layer in inner["layers"]:
        made = deserialize(layer)
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
        model._rate = model._given_rate()
    return model


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True) -> Sequential:
    """The model of a .keras, .h5 or .safetensors file, a recipe, or the name of a workload."""
    not_here("load_model: custom_objects", custom_objects or None, "it has the layers of its tables")
    path = os.fspath(filepath)
    model = _sequential_of(_cornu.open(path))
    if not compile:
        model._compiled = model.optimizer = model.loss = None
    return model


def model_from_json(json_string, custom_objects=None) -> Sequential:
    """A new model of to_json's text."""
    not_here("model_from_json: custom_objects", custom_objects or None, "it has the layers of its tables")
    config = json.loads(json_string)
    recipe = {"data": {"scale": 1}, "model": config}
    handle = _cornu.parse(json.dumps(recipe), "model_from_json")
    handle.initialize(_seed())
    return _sequential_of(handle)


def clone_model(model, input_tensors=None, clone_function=None, **kwargs) -> Sequential:
    """The same layers with new weights."""
    not_here("clone_model: input_tensors", input_tensors, "it takes a model")
    not_here("clone_model: clone_function", clone_function, "it takes a model")
    return Sequential.from_config(model.get_config())


__all__ = ["Model", "Sequential", "clone_model", "load_model", "model_from_json"]

__getattr__ = missing("cornu.keras.models", __all__, _keras_names.models)

"""keras.models: Model and Sequential."""
import contextlib
import itertools
import json
import os
import shutil
import tempfile
import warnings
import weakref
from typing import Any

import numpy as np

from .._missing import missing
from .. import _cornu
from .._tables import TABLES, only, plain
from ..devices import where
from . import _data, _eager, _operations
from ._arguments import class_weights, not_here, older, own_options, whole
from ._data import Stream
from ._functional import GraphNetwork, tensors_of_config
from ._network import config_of, operation_of, sharing
from ._names import automatic_name, snake_case
from ._objects import custom_object_scope, own_object
from ._native_data import check_names
from ._own_losses import Form, OwnLoss, forms_of, has_own, with_losses
from ._own_metrics import Called, OwnMetric, own_metrics, restored, unknown, with_metrics
from ._runs import FitRun, TestRun, callback_list
from ._sequential import Chain
from ._summary import with_trainable
from ._tensors import call, check_inputs, is_symbolic
from ._tf2 import ANY, as_metrics, takes
from . import losses as losses_module
from . import metrics as metrics_module
from . import optimizers as optimizers_module
from ._progress import Progress, verbosity
from .callbacks import BackupAndRestore, History
from .distribution import process_index
from .layers import InputLayer, Layer, Variable, check_trainable, check_training, deserialize, draw_seed
from . import _keras_names


FETCH = ("max_queue_size", "workers", "use_multiprocessing")  # behind tf.keras 2's other arguments


def _warn(line: str) -> None:
    warnings.warn(line, stacklevel=2)


@contextlib.contextmanager
def _scratch_file():
    """The name of a model file that is there for a moment."""
    folder = tempfile.mkdtemp()
    try:
        yield os.path.join(folder, "model.safetensors")
    finally:
        shutil.rmtree(folder)



def _each(value, change):
    """The same of one thing, or of each in a list or a dictionary of outputs."""
    if isinstance(value, dict) and "class_name" not in value:
        return {name: change(one) for name, one in value.items()}
    return [change(one) for one in value] if isinstance(value, (list, tuple)) else change(value)


def _plain_loss(loss):
    """As the compile section has it; one's own as it is."""
    if loss is None:
        return None
    loss = losses_module.get(loss)
    is_own = not isinstance(loss, losses_module.Loss) or loss._row is None
    return OwnLoss(loss) if is_own else plain(loss)


_GOALS = ("loss", "loss_weights", "metrics", "weighted_metrics")


def _plain_metric(metric):
    if isinstance(metric, str) and own_object(metric) is None:
        return metrics_module.check_name(metric)
    made = metrics_module.get(metric)
    if made._row is not None:
        return plain(made)
    if type(made) in (metrics_module.Mean, metrics_module.Sum):
        raise NotImplementedError(f"compile: metrics: {type(made).__name__} takes values, and not targets and outputs; it is an object "
                                  f"by itself")
    return OwnMetric(metric if made is metric else getattr(made, "_fn", metric), made)


def _plain_metrics(of_output):
    """The metrics of one of several outputs."""
    if of_output is None:
        return None
    return [_plain_metric(m) for m in (of_output if isinstance(of_output, (list, tuple)) else [of_output])]


def _flat(values) -> list:
    """The values of a list, and of lists within it."""
    return [one for value in values for one in (_flat(value) if isinstance(value, (list, tuple)) else [value])]


def _compiled_metrics(metrics, several: bool):
    """As the library takes them; several: of several outputs."""
    if isinstance(metrics, dict) and not several:
        metrics = [m for value in metrics.values() for m in (value if isinstance(value, (list, tuple)) else [value])]
    if not several:
        metrics = [metrics] if isinstance(metrics, str) else _flat(metrics or [])
    return _each(metrics or [], _plain_metrics if several else _plain_metric)


def _all_names(metrics: list[tuple], weighted: list[tuple]) -> list[str]:
    """As the library calls metrics, and those by weights whose names these have: pairs of the output's prefix and metric."""
    names = [f"{prefix}{_metric_name(m)}" for prefix, m in metrics]
    for prefix, m in weighted:
        name = f"{prefix}{_metric_name(m)}"
        names.append(f"{prefix}weighted_{_metric_name(m)}" if name in names else name)
    return _numbered(names)


def _numbered(names: list[str]) -> list[str]:
    """As the library calls metrics whose name another has before them."""
    seen: list[str] = []
    for name in names:
        forms = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
        seen.append(next(form for form in forms if form not in seen))
    return seen


def _metric_name(metric) -> str:
    if isinstance(metric, dict) and "called" in metric:
        return metric["called"]
    return metric if isinstance(metric, str) else metric["config"].get("name") or metrics_module.get(metric)._row["name"]


class Model(GraphNetwork):
    """A network of layers' calls, from `inputs` to `outputs`: tensors of keras.Input and of layers that were called on
    tensors. Layers that other models have, too, share their weights with them."""

    def __new__(cls, *args, **kwargs):
        return super().__new__(Functional if cls is Model else cls)

    def __init__(self, inputs=None, outputs=None, name=None, trainable=True, **kwargs):
        for given in kwargs:
            raise TypeError(f"Model: got an unexpected keyword argument {given!r}")
        self._begin_model(name, trainable)
        if inputs is None and outputs is None and type(self).call is not Model.call:
            self._begin_network()  # its graph begins with the shape of its inputs
            return
        if inputs is None or outputs is None:
            raise NotImplementedError(f"{self.name}: a model without inputs= and outputs= is not in cornu; expected tensors from "
                                      f"keras.Input to layers' outputs, or a class with a call of its own")
        self._begin_graph(inputs, outputs)

    def call(self, inputs):
        """What the model computes of inputs; one's own is traced once their shape is known."""
        return self(inputs)

    def _begin_model(self, name: str | None, trainable: bool) -> None:
        self._trainable = check_trainable(type(self).__name__, trainable)
        self.name = name or automatic_name(snake_case(type(self).__name__))
        self._compiled: dict | None = None
        self._shown_forms: list | None = None  # of the targets that metrics of one's own get
        self._forms: list | None = None  # of the targets, where a loss is one's own
        self._compiled_with: Any = None  # the optimizer whose state the library's model has
        self.optimizer = self.loss = None
        self.stop_training = False
        self._rate: float | None = None  # that the library has
        self.history: History | None = None

    @property
    def layers(self) -> list:
        """In Keras's order: by the longest way to an output. What keras.ops and operators made is none."""
        return [member for member in self._members() if not getattr(member, "_is_operation", False)]

    def get_layer(self, name=None, index=None) -> Layer:
        """A layer by its name, or by its number from 0."""
        layers = self.layers
        if (index is None) == (name is None):
            raise ValueError(f"{self.name}: get_layer: found name={name!r}, index={index!r}; expected one of the two")
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(f"{self.name}: Was asked to retrieve layer at index {index} but model only has {len(layers)} "
                                 f"layers.")
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"{self.name}: no layer {name}; there is {', '.join(l.name for l in layers)}")

    # ---- descriptions

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                layer_range=None) -> None:
        """Print the table of layers, by print_fn if given."""
        self.build()
        nested = bool(expand_nested)
        text = with_trainable(self._handle, nested) if show_trainable else self._handle.summary(nested)
        (print_fn or print)(text.rstrip("\n"))

    def get_config(self) -> dict:
        """Name, layers and their calls, as from_config takes them."""
        return self._config_of_graph()

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "Model":
        """A new model from the dict of get_config."""
        not_here("from_config: custom_objects", custom_objects or None, "it has the layers of its tables")
        if "input_layers" not in config:
            raise ValueError(f"{config.get('name')}: found no input_layers; expected the configuration of a functional model")
        inputs, outputs = tensors_of_config(_with_own_operations(config), _operation_of)
        kind = cls if cls.call is Model.call else Functional  # a call of one's own has become a graph
        return kind(inputs=inputs, outputs=outputs, name=config.get("name"), trainable=config.get("trainable", True))

    def to_json(self, **kwargs) -> str:
        """Keras's JSON of the network, as model_from_json takes it."""
        self.build()
        return self._handle.config()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"

    # ---- training

    @takes(sample_weight_mode=(None,), target_tensors=(None,), distribute=(None,), pss_evaluation_shards=(0,),
           experimental_run_tf_function=ANY)
    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True) -> None:
        """Choose optimizer, loss and metrics: names, objects or configurations."""
        loss_weights, metrics = as_metrics(loss_weights, metrics)
        if loss is None:
            raise ValueError(f"compile: found no loss; cornu has {', '.join(r['name'] for r in TABLES['losses'])}")
        several = self.built and len(self.outputs) > 1
        self._train_by(optimizer)
        self.loss = loss
        compiled = {"optimizer": plain(self.optimizer),
                    "loss": _each(loss, _plain_loss),
                    "metrics": _compiled_metrics(metrics, several)}
        if weighted_metrics:
            compiled["weighted_metrics"] = _compiled_metrics(weighted_metrics, several)
            weighted = compiled["weighted_metrics"]
            if any(isinstance(m, OwnMetric) for m in _flat(weighted.values() if isinstance(weighted, dict) else weighted)):
                raise NotImplementedError("compile: weighted_metrics: found a metric of one's own; expected those of cornu, or metrics=")
        if loss_weights is not None:
            compiled["loss_weights"] = _each(loss_weights, lambda one: None if one is None else float(one))
        goes_on = self._handle is not None and self._goes_on(compiled["optimizer"])
        before = self._compiled, self._forms
        self._compiled, self._forms = compiled, None
        try:
            if goes_on:
                self._handle.change_loss(self._section_text(*_GOALS))
                return
            if self._handle is not None:
                self._handle.compile(self._section_text())
        except BaseException:
            self._compiled, self._forms = before
            raise
        self._compiled_with = self.optimizer
        self._rate = self._given_rate()

    def _train_by(self, optimizer):
        self.optimizer = optimizers_module.get(optimizer)
        self.optimizer._trains = weakref.ref(self)
        return self.optimizer

    def _goes_on(self, optimizer: dict) -> bool:
        """Is it the object that was compiled before, whose state Keras keeps, too? Its rate may have been set since."""
        if self._compiled is None or self._compiled_with is not self.optimizer:
            return False
        before = self._compiled["optimizer"]
        rates = [o["config"]["learning_rate"] for o in (before, optimizer)]
        numbers = not any(isinstance(rate, dict) for rate in rates)
        return before == optimizer or numbers and all(
            before["config"].get(k) == v for k, v in optimizer["config"].items() if k != "learning_rate")

    def _section_for(self, handle) -> dict:
        section = with_metrics(with_losses(self._compiled, handle, self._forms))
        excluded = self.optimizer._undecayed(self, handle)
        return {**section, "exclude_from_weight_decay": excluded} if excluded else section

    def _section_text(self, *keys: str) -> str:
        """The compile section as the library takes it, or these keys of it."""
        section = self._section_for(self._handle)
        return json.dumps({key: value for key, value in section.items() if not keys or key in keys})

    def _settle_losses(self, y=None) -> None:
        """Losses of one's own are traced for targets like these; by default for those like the outputs."""
        if self._compiled is None:
            return
        ends = self._handle.ends()[1]
        if y is not None and own_metrics(self._compiled, ends):
            self._shown_forms = forms_of(y, ends)
        if not has_own(self._compiled["loss"]):
            return
        forms = [Form() for _ in ends] if y is None else forms_of(y, ends)
        if y is None and self._forms is not None or forms == self._forms:
            return
        self._forms = forms
        self._handle.change_loss(self._section_text(*_GOALS))

    def _on_outputs(self):
        """What the library calls after each batch; None without metrics of one's own."""
        ends = self._handle.ends()[1]
        metrics = own_metrics(self._compiled, ends)
        for name in unknown(self._compiled["metrics"]) if metrics else ():
            raise ValueError(f"metrics: found no function or class {name}, of which the file has the name; expected it in custom_objects")
        return Called(metrics, ends, self._shown_forms) if metrics else None

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
        if getattr(x, "_arrays", None) is not None and x._arrays.size:
            return _data.from_dataset(self, x, what)
        if hasattr(x, "_cornu_data"):
            source = _data.from_loaded(self, x, what)
            if what == "fit" or not _data.changes_of(source.section, False):
                return source  # the library changes nothing at random where it only tests
        stream = Stream(self, x, what, shuffle, most, **(fetch or {}))
        stream.class_names = getattr(x, "_class_names", None)
        try:
            check_names(self._handle, stream.class_names, what)
        except ValueError:
            stream.close()
            raise
        return stream

    def _validation(self, data, batch_size, steps, epochs: int, freq, fetch: dict) -> _data.Source:
        what = "fit: validation_data"
        if not isinstance(data, (tuple, list)):
            most = steps * epochs if steps and freq == 1 else None
            return self._source(data, None, None, batch_size, what, most=most, fetch=fetch)
        if not 2 <= len(data) <= 3:
            raise ValueError(f"{what}: found {len(data)} things; expected (x, y) or (x, y, sample_weight)")
        return self._source(*(*data, None)[:3], batch_size, what)

    @takes(order=("self", "x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data",
                  "shuffle", "class_weight", "sample_weight", "initial_epoch", "steps_per_epoch", "validation_steps",
                  "validation_batch_size", "validation_freq", *FETCH))
    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1, **kwargs):
        """Train; returns History.

        x: an array, with y; or anything that gives batches (x, y) or (x, y, sample_weight): a generator, a
        keras.utils.PyDataset, any iterable; or a data set of pictures, which the library loads itself. tf.keras 2's workers
        and max_queue_size say how batches are fetched ahead. cornu's own arguments: shards=N divides each batch into N
        micro-batches, a power of two, and adds their gradients (with keras.distribution: over several processes);
        gradient_dtype="bf16" rounds these gradients ("fp32" does not); shard_optimizer=True lets each of several processes
        update only its slices of the weights; recompute=True computes activations again in the backward pass instead of keeping
        them: less memory, more time, the same bits."""
        self._want_compiled("fit")
        own_section, own = own_options(kwargs)
        fetch = older("fit", kwargs)
        epochs, batch_size = whole("fit", "epochs", epochs), whole("fit", "batch_size", batch_size)
        steps = whole("fit", "steps_per_epoch", steps_per_epoch)
        validation_steps = whole("fit", "validation_steps", validation_steps)
        section: dict[str, Any] = {"epochs": epochs, "shuffle": bool(shuffle), "seed": draw_seed(),
                                   "initial_epoch": whole("fit", "initial_epoch", initial_epoch, 0),
                                   "steps_per_epoch": steps, "validation_steps": validation_steps,
                                   "validation_batch_size": whole("fit", "validation_batch_size", validation_batch_size),
                                   "validation_freq": plain(validation_freq) if validation_freq != 1 else None,
                                   **own_section}
        if class_weight is not None:
            section["class_weight"] = class_weights(class_weight, x)
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
            return self._fit(source, validation, section, own, callbacks,
                             Progress(verbosity(verbose) if process_index() == 0 else 0))
        finally:
            for opened in (source, validation):
                if opened:
                    opened.close()

    def _restore(self, path: str, layers: list[str]) -> None:
        """Weights and optimizer of a backup of this model, whose layers had these names."""
        self.build()
        self._take(_cornu.open(path), layers)
        self._handle.change_loss(self._section_text(*_GOALS))
        self._compiled_with, self._rate = self.optimizer, self._given_rate()

    def _layer_paths(self) -> list[str]:
        return [self._paths[layer] for layer in self._owners()]

    def _fit(self, source, validation, section: dict, own: dict, callbacks, progress: Progress):
        for callback in callback_list(callbacks, "fit"):
            if isinstance(callback, BackupAndRestore):
                section["initial_epoch"] = callback._restore(self) or section["initial_epoch"]
        run = FitRun(self, section["epochs"], progress, callbacks, section["steps_per_epoch"] or source.steps)
        section["callbacks"] = run.sections()
        handle = self._to_train()
        handle.set_data(source.section)
        self._section = self._trained_section = source.section
        self._set_rate()
        self._learn_names(source)
        self._train_all(self)
        try:
            return run.start(lambda: handle.fit(
                source.data, validation and validation.data, section=_data.section_text(source, section),
                callback_state=run.states(), each_step=run.batches or run.test_batches, on_step=run.on_step,
                on_epoch_begin=run.on_epoch_begin, on_epoch=run.on_epoch, on_notice=run.on_notice, on_states=run.on_states,
                on_validation=run.on_validation if run.tests else None, on_outputs=self._on_outputs(), **own, **where()))
        finally:
            self._train_all(None)

    def _learn_names(self, source) -> None:
        """Take the class names of batches that Python makes; for other data the library does it."""
        outputs = self._handle.shapes()[1][-1]
        if source.class_names and not self._handle.classes() and len(source.class_names) == (outputs if outputs > 1 else 2):
            self._handle.set_classes(source.class_names)

    @property
    def class_names(self) -> list[str] | None:
        """The outputs' class names from the training data (cornu's own); files keep them. None removes them."""
        return (self._handle.classes() if self._handle else None) or None

    @class_names.setter
    def class_names(self, names) -> None:
        if self._handle is None and names is not None:
            self.build()
        if self._handle is not None:
            self._handle.set_classes(None if names is None else [str(name) for name in names])

    def _use(self, section: str) -> None:
        """Samples are standardized as this data section says, where that is another way than now."""
        if _data.changes_of(section, True) != _data.changes_of(self._section, True):
            self._handle.set_data(section)
            self._section = section

    def fit_generator(self, generator, steps_per_epoch=None, epochs=1, verbose=1, callbacks=None, validation_data=None,
                      validation_steps=None, validation_freq=1, class_weight=None, max_queue_size=10, workers=1,
                      use_multiprocessing=False, shuffle=True, initial_epoch=0):
        """tf.keras 2's name for fit."""
        return self.fit(generator, None, None, epochs, verbose, callbacks, 0.0, validation_data, shuffle, class_weight,
                        None, initial_epoch, steps_per_epoch, validation_steps, None, validation_freq,
                        max_queue_size=max_queue_size, workers=workers, use_multiprocessing=use_multiprocessing)

    def _evaluate(self, what, x, y, batch_size, verbose, sample_weight, steps, callbacks, kwargs, **more):
        """One pass over what fit takes; `more`: what the library's evaluate takes besides."""
        self._want_compiled(what)
        fetch = older(what, kwargs)
        steps = whole(what, "steps", steps)
        source = self._source(x, y, sample_weight, whole(what, "batch_size", batch_size), what, most=steps, fetch=fetch)
        try:
            self._use(source.section)
            run = TestRun(self, Progress(verbosity(verbose)), callback_list(callbacks, what), "test")
            return run.start(lambda: self._to_read().evaluate(
                source.data, batch=source.batch, steps=steps, each_step=bool(run.callbacks), on_step=run.on_step,
                on_notice=_warn, on_outputs=self._on_outputs(), **more, **where()))
        finally:
            source.close()

    def classification_report(self, x=None, y=None, batch_size=None, verbose=0, steps=None, top_k=5, files=()) -> dict:
        """Precision, recall and F1 of each class, the confusion matrix and misclassified samples, for evaluate's arguments;
        docs/evaluation.md explains them. Also writes them to each of `files` (FILE.json; FILE.png: the matrix)."""
        paths = tuple(os.fspath(f) for f in ([files] if isinstance(files, (str, os.PathLike)) else files))
        top = whole("classification_report", "top_k", top_k)
        return json.loads(self._evaluate("classification_report", x, y, batch_size, verbose, None, steps, None, {},
                                         files=paths, top_k=top))

    def confusion_matrix(self, x=None, y=None, batch_size=None, verbose=0, steps=None) -> np.ndarray:
        """Samples by true class (rows) and predicted class (columns)."""
        return np.array(self.classification_report(x, y, batch_size, verbose, steps)["confusion_matrix"], np.int64)

    @takes(order=("self", "x", "y", "batch_size", "verbose", "sample_weight", "steps", "callbacks", *FETCH, "return_dict"))
    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **kwargs):
        """Loss and metrics of what fit takes: a number, a list, or a dict."""
        scores = self._evaluate("evaluate", x, y, batch_size, verbose, sample_weight, steps, callbacks, kwargs)
        if return_dict:
            return dict(sorted(scores.items()))
        values = self._in_order(scores)
        return values[0] if len(values) == 1 else values

    def evaluate_generator(self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1,
                           use_multiprocessing=False, verbose=0):
        """tf.keras 2's name for evaluate."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose, max_queue_size=max_queue_size,
                             workers=workers, use_multiprocessing=use_multiprocessing)

    @takes(order=("self", "x", "batch_size", "verbose", "steps", "callbacks", *FETCH))
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None, **kwargs) -> np.ndarray:
        """Outputs for an array, or for anything that gives batches."""
        older("predict", kwargs)
        batch = whole("predict", "batch_size", batch_size) or 32
        steps = whole("predict", "steps", steps)
        run = TestRun(self, Progress(verbosity(verbose)), callback_list(callbacks, "predict"), "predict")
        if _data.is_arrays(x):
            inputs = _data.inputs_of(self, x, "predict: x")
            inputs = inputs[: steps * batch] if steps else inputs
            if not run.callbacks:
                return _data.outputs_of(self, run.start(
                    lambda: run.whole(self._outputs(inputs, batch, False), -(-len(inputs) // batch))))
            batches, count = (inputs[i: i + batch] for i in range(0, len(inputs), batch)), -(-len(inputs) // batch)
        else:
            batches, count = _data.batches_of(x, steps), steps or _data.length_of(x) or 0
        outputs = run.start(lambda: [run.after(self._outputs(_data.inputs_of(self, part, "predict: x"), None, True), count)
                                     for part in batches])
        if not outputs:
            raise ValueError("predict: x: found no batches (an iterator that has ended?); expected at least one")
        return _data.outputs_of(self, np.concatenate(outputs))

    def predict_generator(self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1,
                          use_multiprocessing=False, verbose=0):
        """tf.keras 2's name for predict."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose, max_queue_size=max_queue_size,
                            workers=workers, use_multiprocessing=use_multiprocessing)

    def _outputs(self, inputs: np.ndarray, batch: int | None, keep: bool, **drawn) -> np.ndarray:
        """keep: the weights stay on the device for the next batch."""
        self._use(_data.Source.section)
        outputs = np.empty((len(inputs), *self._handle.shapes()[1]), np.float32)
        inputs = np.ascontiguousarray(inputs, np.float32)
        self._to_read().predict(inputs, outputs, batch=batch or len(inputs), keep=keep, **drawn, **where())
        return outputs

    def predict_on_batch(self, x) -> np.ndarray:
        """Outputs of one batch."""
        return self._outputs_of_batch(x, {})

    def _outputs_of_batch(self, x, drawn: dict) -> np.ndarray:
        return _data.outputs_of(self, self._outputs(_data.inputs_of(self, x, "predict_on_batch: x"), None, True, **drawn))

    def __call__(self, x, training=None, mask=None):
        """On tensors: the tensors of its outputs, with the same layers. On arrays: outputs of one batch, as predict computes
        them; layers that change images draw, and with training=True dropout and noise, too."""
        if is_symbolic(x):
            check_training(self, training)
            return call(self, x)
        return _eager.outputs_of(self, x, self, _eager.draws_of(self, training))

    @property
    def metrics_names(self) -> list[str]:
        """In the order of evaluate's list."""
        self._want_compiled("metrics_names")
        if self._handle is None:
            return ["loss"]
        compiled = json.loads(self._handle.compile_config())
        names = [name for name, *_ in self._handle.ends()[1]]
        if len(names) > 1:
            losses = compiled["loss"]
            own = [f"{name}_loss" for name, loss in zip(names, losses) if loss is not None and len(losses) - losses.count(None) > 1]
            return ["loss", *own,
                    *sorted(_all_names([(f"{name}_", m) for name, of in zip(names, compiled["metrics"]) for m in of],
                                       [(f"{name}_", m) for name, of in zip(names, compiled.get("weighted_metrics", []))
                                        for m in of]))]
        return ["loss", *_all_names([("", m) for m in compiled["metrics"]],
                                    [("", m) for m in compiled.get("weighted_metrics", [])])]

    def _in_order(self, scores: dict) -> list:
        """As Keras lists them: of several outputs the losses, then the others by name."""
        own = {f"{name}_loss" for name, *_ in self._handle.ends()[1]}
        names = list(scores)
        losses = 1 + sum(name in own for name in names)
        return [scores[name] for name in (names if len(own) == 1 else [*names[:losses], *sorted(names[losses:])])]

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False, **kwargs):
        """One optimizer step; returns the batch's loss and metrics before it. With tf.keras 2's reset_metrics=False returns
        the means since the last reset."""
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError("train_on_batch: found class_weight and sample_weight; expected one of the two")
            if self._handle is not None and len(self._handle.ends()[1]) > 1:
                raise ValueError("train_on_batch: class_weight: found a model of several outputs; expected one output")
            classes = np.asarray(y)
            classes = classes.argmax(-1) if classes.ndim > 1 and classes.shape[-1] > 1 else classes.reshape(-1)
            sample_weight = [class_weight.get(int(number), 1.0) for number in classes]
        return self._on_batch(x, y, sample_weight, True, return_dict, "train_on_batch", **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False, **kwargs):
        """Loss and metrics of one batch."""
        return self._on_batch(x, y, sample_weight, False, return_dict, "test_on_batch", **kwargs)

    def _on_batch(self, x, y, sample_weight, train: bool, return_dict: bool, what: str, reset_metrics=True):
        self._want_compiled(what)
        x = _data.inputs_of(self, x, f"{what}: x")
        if y is None:
            raise ValueError(f"{what}: y: found None; expected targets")
        y, weights = _data.targets_and_weights(self, y, sample_weight, len(x), what)
        self._use(_data.Source.section)
        self._set_rate()
        if reset_metrics:
            self.reset_metrics()
        scores = (self._to_train if train else self._to_read)().on_batch(x, y, weights, train, on_outputs=self._on_outputs(),
                                                                         **where())
        if return_dict:
            return dict(sorted(scores.items()))
        values = self._in_order(scores)
        return values[0] if len(values) == 1 else values

    def reset_metrics(self) -> None:
        """Restart the running means; train_on_batch and test_on_batch do this themselves."""
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
        return None if self.optimizer is None or self.optimizer._has_schedule() else float(self.optimizer.learning_rate)

    # ---- files

    def save(self, filepath, overwrite=True, zipped=None, **kwargs) -> None:
        """Weights, optimizer state and configuration in one file: .keras, .safetensors, or .h5 as older Keras has it."""
        save_format = kwargs.pop("save_format", zipped if isinstance(zipped, str) else None)
        for name in ("signatures", "options"):
            only(name, None).check("save", kwargs.pop(name, None))
        kwargs.pop("save_traces", None)
        # In third place tf.keras 2 has include_optimizer, later save_format.
        not_here("save: zipped", True if zipped is False else None, "it writes one file, with the optimizer's state")
        if not kwargs.pop("include_optimizer", True):
            raise NotImplementedError("save: include_optimizer=False is not in cornu; a file holds the optimizer's state")
        for name in kwargs:
            raise TypeError(f"save: got an unexpected keyword argument {name!r}")
        path = os.fspath(filepath)
        _check_format("save", path, save_format)
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
        self._settle_losses()
        self._to_read().save(path)

    def export(self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs) -> None:
        """Write the network for prediction as an ONNX file; the name ends in .onnx, or format="onnx".

        preprocess=True (cornu's own): the input is uint8 pixels, which nodes of the file scale and standardize."""
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
        self._to_read().export(path, preprocess)

    @takes(options=(None,))
    def save_weights(self, filepath, overwrite=True, names=None, save_format=None) -> None:
        """Write weights and the optimizer's state into a .weights.h5 file. With another ending write what save writes, from
        which load_weights reads the weights (from .h5 tf.keras 2 does, too).

        names="torch" (cornu's own): write only weights, into a .safetensors file for PyTorch's load_state_dict."""
        path = os.fspath(filepath)
        if names in _FORMATS:  # in third place tf.keras 2 has it
            names, save_format = None, names
        _check_format("save_weights", path, save_format)
        _check_ending("save_weights", path, (".safetensors",) if names else (".weights.h5", ".h5", ".hdf5", ".safetensors"))
        if names is None:
            self._save(path, overwrite)
            return
        self.build()
        _check_new(path, overwrite)
        self._to_read().save_weights(path, names)

    @takes(options=(None,))
    def load_weights(self, filepath, skip_mismatch=False, names=None, **kwargs) -> None:
        """Load weights from a .weights.h5, .keras, .h5, .onnx or .safetensors file, layer by layer in order, whatever the
        layers' names; from a .npz file by name. The optimizer's state stays unchanged.

        by_name=True (Keras 2): only into layers of the same name. skip_mismatch=True: weights of another shape stay
        unchanged, too. A warning names the weights that stay.
        names="torch" (cornu's own): from a PyTorch state_dict saved as .safetensors."""
        by_name, skip_mismatch = bool(kwargs.pop("by_name", False)), bool(skip_mismatch)
        for name in kwargs:
            raise TypeError(f"load_weights: got an unexpected keyword argument {name!r}")
        self.build()
        path = os.fspath(filepath)
        try:
            told = self._to_train().load_weights(path, names, by_name, skip_mismatch)
        except ValueError:
            if names is not None or by_name or skip_mismatch or not self._load_in_order(path):
                raise
            told = None
        if told:
            warnings.warn(f"load_weights: {told}", stacklevel=3)

    def _load_in_order(self, path: str) -> bool:
        """Of a model file whose layers have other names; False where it is none, or another network's."""
        try:
            other = _cornu.open(path)
        except (ValueError, OSError):
            return False
        rows = other.weights()
        if [row[1] for row in rows] != [row[1] for row in self._handle.weights()]:
            return False
        for _, variable, index in self._slots:
            variable.assign(Variable(other, index, *rows[index]).numpy())
        return True

    def __getstate__(self) -> dict:
        """Includes the optimizer's state, as in files."""
        file, paths, weights = None, None, None
        if self.built and self._waits:
            weights = self.get_weights()
        elif self.built:
            with _scratch_file() as path:
                self._save(path, True)
                with open(path, "rb") as saved:
                    file, paths = saved.read(), [self._paths[layer] for layer in self._owners()]
        with sharing():
            config = self.get_config()
        return {"config": config, "file": file, "paths": paths, "weights": weights, "compiled": self._compiled, "loss": plain(self.loss),
                "optimizer": self.optimizer and plain(self.optimizer), "rate": self._rate,
                "section": self._trained_section}

    def __setstate__(self, state: dict) -> None:
        with sharing():
            model = type(self).from_config(state["config"])
        if state["file"] is not None:
            with _scratch_file() as path:
                with open(path, "wb") as saved:
                    saved.write(state["file"])
                model._take(_cornu.open(path), state["paths"])
            model._section = model._trained_section = state["section"]
        if state.get("weights") is not None:
            model.set_weights(state["weights"])
        model._compiled, model.loss, model._rate = state["compiled"], state["loss"], state["rate"]
        if state["optimizer"]:
            model._compiled_with = model._train_by(state["optimizer"])
        self.__dict__.update(model.__dict__)
        if self.optimizer is not None:
            self.optimizer._trains = weakref.ref(self)


class Functional(Model):
    """What keras.Model(inputs, outputs) gives."""


class Sequential(Chain, Model):
    """A chain of layers."""

    def __init__(self, layers=None, trainable=True, name=None):
        if isinstance(trainable, str) and name is None:
            trainable, name = True, trainable  # tf.keras 2 has the name in second place
        self._begin_model(name, trainable)
        self._begin_chain()
        for layer in layers or []:
            self.add(layer, rebuild=False)
        self._count_rebuilt()

    def get_config(self) -> dict:
        """Name and layers, as from_config takes them."""
        layers = ([self._input] if self._input else []) + self._layers
        return {"name": self.name, "trainable": self._trainable,
                "layers": [config_of(layer) for layer in layers]}

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "Sequential":
        """A new model from the dict of get_config."""
        not_here("from_config: custom_objects", custom_objects or None, "it has the layers of its tables")
        model = cls(name=config.get("name"))
        for layer in config["layers"]:
            model.add(_operation_of(layer), rebuild=False)
        model._count_rebuilt()
        return model


class ArrayCall(Model):
    """A call of a layer on arrays. The layer gets weights by it, but no node: networks of tensors know nothing of it."""

    _is_open, built = False, True

    def __init__(self, layer: Layer, inputs, states=()):
        what = f"layer {layer.name}"
        arrays = [_data.array_of(array, what) for array in (*check_inputs(layer, inputs, what), *states)]
        samples = [array.shape[1:] for array in arrays]
        layer._settle(samples, what)
        self._begin_model(layer.name, True)
        self._begin_network()
        self._layer, self._arrays = layer, arrays
        self._inputs = [InputLayer(sample, name=f"{layer.name} input {number}") for number, sample in enumerate(samples)]

    def outputs_of_call(self, draws: int) -> np.ndarray:
        """The numbers."""
        return _eager.outputs_of(self, self._arrays if len(self._arrays) > 1 else self._arrays[0], self._layer, draws)

    def _as_outputs(self, outputs: list):
        return self._layer._as_outputs(outputs)

    def _members(self) -> list:
        return [self._layer]

    def _inputs_alone(self, calls) -> list:
        return [source for given in self._inputs for source in given._expand([], False, calls)]

    def _expand(self, sources: list, listed: bool, calls) -> list:
        return self._layer._expand(sources, self._layer._row["merges"] or len(sources) > 1, calls)


def _with_own_operations(config: dict) -> dict:
    """The configuration with the library's layers for all operations that Keras has in another form."""
    if all(_operations.is_own(entry) for entry in config["layers"] if _operations.is_operation(entry)):
        return config
    handle = _cornu.parse(json.dumps({"model": {"class_name": "Functional", "config": config}}), str(config.get("name")))
    return json.loads(handle.config())["config"]


def _operation_of(config: dict):
    """A layer, or a model in the place of one."""
    return operation_of(config, _new_operation)


def _new_operation(config: dict):
    kinds = {"Sequential": Sequential, "Functional": Functional, "Model": Functional}
    kind = kinds.get(config.get("class_name"))
    if _operations.is_operation(config):
        return _operations.of_config(config)
    if kind:
        return kind.from_config(config["config"])
    layer = deserialize({key: value for key, value in config.items() if key not in ("name", "inbound_nodes")})
    layer._is_operation = config.get("registered_name") is not None
    return layer


WHOLE = (".keras", ".safetensors", ".h5", ".hdf5")
_FORMATS = {"h5": (".h5", ".hdf5"), "hdf5": (".h5", ".hdf5"), "keras": (".keras",), "tf": ()}  # tf.keras 2's save_format


def _check_format(method: str, path: str, save_format) -> None:
    """The name's ending decides the format."""
    if save_format is None:
        return
    if save_format not in _FORMATS:
        raise ValueError(f"{method}: save_format: found {save_format!r}; expected {', '.join(map(repr, _FORMATS))}")
    if not path.endswith(_FORMATS[save_format]):
        raise NotImplementedError(f"{method}: {path}: save_format={save_format!r} is not in cornu for this name; expected one "
                                  f"that ends in {' or '.join(_FORMATS[save_format] or WHOLE)}, without save_format")


def _check_ending(method: str, path: str, endings: tuple) -> None:
    if not path.endswith(endings):
        raise ValueError(f"{method}: {path}: found another ending; expected {', '.join(endings)}")


def _check_new(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{path}: exists")


def _network_of(config: dict) -> Model:
    """A model of the library's configuration, whose layers have no weights yet."""
    inner = config["config"]
    if config["class_name"] != "Sequential":
        return Functional.from_config(inner)
    model = Sequential(name=inner["name"])
    for layer in inner["layers"]:
        made = _operation_of(layer)
        if isinstance(made, InputLayer):
            model._input = made
        else:
            model._layers.append(made)
            model._names.add(made.name)
    model._count_rebuilt()
    return model


def _loss_of_file(loss):
    """What a model from a file says of its loss: the name, or what custom_objects has of one's own."""
    if not isinstance(loss, dict):
        return loss
    name = loss["config"] if loss["class_name"] == "function" else loss["class_name"]
    return own_object(name, loss.get("registered_name")) or name if "traced" in loss else name


def _model_of(handle) -> Model:
    model = _network_of(json.loads(handle.config()))
    model._take(handle)
    model._prepare()
    compiled = json.loads(handle.compile_config())
    if compiled:
        model._compiled = {**compiled, "metrics": restored(compiled["metrics"], metrics_module.get)}
        model._compiled_with = model._train_by(compiled["optimizer"])
        model.loss = _each(compiled["loss"], _loss_of_file) if isinstance(compiled["loss"], list) else _loss_of_file(compiled["loss"])
        model._rate = model._given_rate()
    return model


@takes(options=(None,))
def load_model(filepath, custom_objects=None, compile=True, safe_mode=True) -> Model:
    """The model of a .keras, .h5 or .safetensors file, a recipe, or the name of a workload."""
    path = os.fspath(filepath)
    with custom_object_scope(custom_objects):
        model = _model_of(_cornu.open(path))
    if not compile:
        model._compiled = model.optimizer = model.loss = None
    return model


def model_from_json(json_string, custom_objects=None) -> Model:
    """A new model from the text of to_json."""
    not_here("model_from_json: custom_objects", custom_objects or None, "it has the layers of its tables")
    config = json.loads(json_string)
    recipe = {"data": {"scale": 1}, "model": config}
    handle = _cornu.parse(json.dumps(recipe), "model_from_json")
    handle.initialize(draw_seed())
    return _model_of(handle)


def clone_model(model, input_tensors=None, clone_function=None, **kwargs) -> Model:
    """The same layers with new weights."""
    not_here("clone_model: input_tensors", input_tensors, "it takes a model")
    not_here("clone_model: clone_function", clone_function, "it takes a model")
    return type(model).from_config(model.get_config())


__all__ = ["Model", "Sequential", "clone_model", "load_model", "model_from_json"]

__getattr__ = missing("cornu.keras.models", __all__, _keras_names.models)

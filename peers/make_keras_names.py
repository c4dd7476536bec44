"""Names that Keras and TensorFlow have, for the errors of what cornu has not: writes
python/cornu/keras/_keras_names.py and python/cornu/_tensorflow_names.py."""
import os
import pathlib
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

PACKAGE = pathlib.Path(__file__).parent.parent / "python" / "cornu"
KERAS = {"keras": [keras, tf.keras], "layers": [keras.layers], "losses": [keras.losses], "metrics": [keras.metrics],
         "optimizers": [keras.optimizers], "schedules": [keras.optimizers.schedules], "callbacks": [keras.callbacks],
         "initializers": [keras.initializers], "regularizers": [keras.regularizers],
         "constraints": [keras.constraints], "activations": [keras.activations], "models": [keras.models],
         "utils": [keras.utils], "saving": [keras.saving], "backend": [keras.backend, tf.keras.backend],
         "config": [keras.config], "applications": [keras.applications], "distribution": [keras.distribution],
         "ops": [keras.ops]}
TENSORFLOW = {"tensorflow": [tf, tf.compat.v1], "config": [tf.config], "config_experimental": [tf.config.experimental],
              "test": [tf.test], "sysconfig": [tf.sysconfig], "debugging": [tf.debugging], "random": [tf.random],
              "nn": [tf.nn]}


def names_in(modules, with_modules):
    return sorted({n for m in modules for n in dir(m) if not n.startswith("_") and
                   (with_modules or not isinstance(getattr(m, n), types.ModuleType))})


def write(path, tables, whole, of):
    lines = [f'"""Made by peers/make_keras_names.py from {of}: what each module has."""', ""]
    for name, modules in tables.items():
        lines.append(f"{name} = frozenset(")
        row = '    "'
        for word in names_in(modules, name == whole):
            if len(row) + len(word) > 110:
                lines.append(row + '"')
                row = '    " '
            row += word + " "
        lines += [row.rstrip() + '".split()', ")"]
    path.write_text("\n".join(lines) + "\n")


write(PACKAGE / "keras" / "_keras_names.py", KERAS, "keras", f"Keras {keras.__version__}")
write(PACKAGE / "_tensorflow_names.py", TENSORFLOW, "tensorflow", f"TensorFlow {tf.__version__}")

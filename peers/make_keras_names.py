"""Names that Keras has, for the errors of what cornu has not: writes python/cornu/keras/_keras_names.py."""
import os
import pathlib
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras  # noqa: E402

MODULES = {"keras": keras, "layers": keras.layers, "losses": keras.losses, "metrics": keras.metrics,
           "optimizers": keras.optimizers, "schedules": keras.optimizers.schedules, "callbacks": keras.callbacks,
           "initializers": keras.initializers, "activations": keras.activations, "models": keras.models,
           "utils": keras.utils, "saving": keras.saving}

lines = [f'"""Made by peers/make_keras_names.py from Keras {keras.__version__}: what each module has."""', ""]
for name, module in MODULES.items():
    names = sorted(n for n in dir(module) if not n.startswith("_") and
                   (name == "keras" or not isinstance(getattr(module, n), types.ModuleType)))
    lines.append(f"{name} = frozenset(")
    row = '    "'
    for word in names:
        if len(row) + len(word) > 110:
            lines.append(row + '"')
            row = '    " '
        row += word + " "
    lines += [row.rstrip() + '".split()', ")"]
pathlib.Path(__file__).parent.parent.joinpath("python/cornu/keras/_keras_names.py").write_text("\n".join(lines) + "\n")

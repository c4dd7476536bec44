"""Pictures by a table of their names and classes: a pandas DataFrame, or whatever gives columns by name."""
import os
import warnings

import numpy as np

from .._native_data import write_line
from ._iterators import FileIterator

_BY_CLASS = ("categorical", "binary", "sparse")


def _column(table, name, what: str) -> list:
    try:
        return list(table[name])
    except (KeyError, IndexError, TypeError):
        raise KeyError(f"flow_from_dataframe: {what}: found no column {name!r}") from None


class DataFrameIterator(FileIterator):
    """Batches of the pictures of a table."""

    allowed_class_modes = {"binary", "categorical", "input", "multi_output", "raw", "sparse", None}

    def __init__(self, dataframe, directory=None, image_data_generator=None, x_col="filename", y_col="class",
                 weight_col=None, target_size=(256, 256), color_mode="rgb", classes=None, class_mode="categorical",
                 batch_size=32, shuffle=True, seed=None, data_format="channels_last", save_to_dir=None, save_prefix="",
                 save_format="png", subset=None, interpolation="nearest", keep_aspect_ratio=False, dtype="float32",
                 validate_filenames=True):
        what = "flow_from_dataframe"
        self._set_reading(what, image_data_generator, target_size, color_mode, class_mode, data_format, subset,
                          interpolation, keep_aspect_ratio)
        self._set_saving(image_data_generator, save_to_dir, save_prefix, save_format)
        if class_mode == "multi_output":
            raise NotImplementedError(f"{what}: class_mode='multi_output' is not in cornu; there is 'raw'")
        if isinstance(y_col, (list, tuple)) and class_mode not in ("raw", None, "input"):
            raise NotImplementedError(f"{what}: several y_col are not in cornu but for class_mode='raw'")
        self.directory = os.fspath(directory) if directory else ""
        names = _column(dataframe, x_col, "x_col")
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"{what}: x_col {x_col!r}: expected names of files, all of them strings")
        targets = self._targets_of(dataframe, y_col, len(names))
        weights = None if weight_col is None else np.asarray(_column(dataframe, weight_col, "weight_col"))
        if weights is not None and weights.dtype.kind not in "iuf":
            raise TypeError(f"{what}: weight_col {weight_col!r}: found {weights.dtype}; expected numbers")
        rows = self._valid_rows(names, x_col) if validate_filenames else range(len(names))
        if class_mode in _BY_CLASS:
            rows = self._index_classes(targets, rows, classes, y_col)
        if self.split:
            rows = list(rows)[int(self.split[0] * len(rows)): int(self.split[1] * len(rows))]
        rows = np.asarray(rows, np.int64)
        self._keep(names, targets, weights, rows, "validated" if validate_filenames else "non-validated")
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _targets_of(self, table, y_col, count: int):
        if self.class_mode in ("input", None):
            return None
        if self.class_mode != "raw":
            return _column(table, y_col, "y_col")
        columns = y_col if isinstance(y_col, (list, tuple)) else [y_col]
        values = [np.asarray(_column(table, name, "y_col")) for name in columns]
        return np.stack(values, axis=1) if isinstance(y_col, (list, tuple)) else values[0]

    def _valid_rows(self, names: list[str], x_col) -> list[int]:
        rows = [i for i, name in enumerate(names) if name.lower().endswith(self.white_list_formats)
                and os.path.isfile(os.path.join(self.directory, name))]
        if len(rows) < len(names):
            warnings.warn(f"Found {len(names) - len(rows)} invalid image filename(s) in x_col=\"{x_col}\". These "
                          f"filename(s) will be ignored.", stacklevel=4)
        return rows

    def _index_classes(self, labels: list, rows, classes, y_col) -> list[int]:
        if any(isinstance(label, (list, tuple)) for label in labels):
            raise NotImplementedError("flow_from_dataframe: several classes a picture are not in cornu; there is "
                                      "class_mode='raw' with a column of 0 and 1 for each")
        if not all(isinstance(label, str) for label in labels):
            raise TypeError(f"flow_from_dataframe: y_col {y_col!r}: expected names of classes, all of them strings")
        names = list(dict.fromkeys(classes)) if classes else sorted({labels[i] for i in rows})
        if self.class_mode == "binary" and len(names) != 2:
            raise ValueError(f"flow_from_dataframe: class_mode='binary': found the classes {names}; expected two")
        self.class_indices = {name: number for number, name in enumerate(names)}
        return [i for i in rows if labels[i] in self.class_indices]

    def _keep(self, names, targets, weights, rows: np.ndarray, how: str) -> None:
        self.filenames = [names[i] for i in rows]
        self._filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        self.samples = len(rows)
        self.sample_weight = None if weights is None else weights[rows]
        self._raw = targets[rows] if self.class_mode == "raw" else None
        line = f"Found {self.samples} {how} image filenames"
        if self.class_mode in _BY_CLASS:
            self.classes = [self.class_indices[targets[i]] for i in rows]
            line += f" belonging to {len(self.class_indices)} classes"
        write_line(line + ".")

    @property
    def labels(self):
        return self._raw if self.class_mode == "raw" else self.classes

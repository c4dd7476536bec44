"""keras.utils.plot_model: a model as Graphviz draws it."""
import html
import json
import os
import shutil
import sys

from ._network import Network
from ._tensors import Graph
from ._tf2 import takes

_CELL = '<td bgcolor="white"><font point-size="14">{}: <b>{}</b></font></td>'
_HEAD = '<tr><td colspan="{}" bgcolor="black"><font point-size="16" color="white">{}</font></td></tr>'


class Dot:
    """A drawing in Graphviz's language; Graphviz itself is needed only for pictures of it."""

    def __init__(self, text: str):
        self._text = text

    def to_string(self) -> str:
        """The text, as a .dot file has it."""
        return self._text

    def create(self, prog: str = "dot", format: str = "png") -> bytes:
        """The picture, drawn by Graphviz."""
        import subprocess

        program = shutil.which(prog)
        if program is None:
            raise ImportError(f"found no program {prog}; expected Graphviz (Debian: apt-get install graphviz), "
                              f"or a file that ends in .dot, which needs none")
        done = subprocess.run([program, f"-T{format}"], input=self._text.encode(), capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{prog}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def create_svg(self) -> bytes:
        """An SVG picture."""
        return self.create(format="svg")

    def create_png(self) -> bytes:
        """A PNG picture."""
        return self.create(format="png")

    def write(self, path, prog: str = "dot", format: str = "raw") -> None:
        """The text into a file, or a picture."""
        content = self._text.encode() if format in ("raw", "dot") else self.create(prog, format)
        with open(path, "wb") as file:
            file.write(content)


def _calls(model) -> dict:
    """The calls of each layer in the model."""
    graph = Graph(model.name, model.inputs, model.outputs)
    return {layer: graph.calls_of(layer) for layer in graph.operations}


def _shape_of(tensors: list):
    shapes = [t.shape for t in tensors]
    return shapes[0] if len(shapes) == 1 else shapes


def _end_of(layer, index: int):
    """The layer whose output is that of a call: of a model that is expanded, one within it."""
    while isinstance(layer, Network):
        layer, _, index = layer.outputs[index]._keras_history
    return layer


def _begin_of(layer, index: int):
    """The layer that takes input number `index` of a call: of a Functional its InputLayer, of a Sequential its first."""
    while isinstance(layer, Network):
        layer = layer.layers[0] if layer._is_line else layer.inputs[index]._keras_history.operation
    return layer


def _edges(model, calls: dict, names: dict, expand_nested: bool) -> list[str]:
    """The second layer of each reads the output of the first."""
    found = []
    for layer in model._members():
        for node in calls[layer]:
            for number, tensor in enumerate(node.input_tensors):
                source, _, index = tensor._keras_history
                ends = (_end_of(source, index), _begin_of(layer, number)) if expand_nested else (source, layer)
                if ends[0] in names:  # a Sequential's input is not drawn
                    found.append(f"{names[ends[0]]} -> {names[ends[1]]};")
    return list(dict.fromkeys(found))


def _label(layer, shapes: tuple | None, show_dtype: bool, show_name: bool, show_activation: bool,
           show_trainable: bool) -> str:
    kind = html.escape(type(layer).__name__)
    cells = [_CELL.format(*pair) for pair in zip(("Input shape", "Output shape"), shapes or ())]
    if show_dtype:
        cells.append(_CELL.format("Output dtype", "float32"))
    if show_trainable and layer.weights:
        color, told = ("forestgreen", "Trainable") if layer.trainable else ("firebrick", "Non-trainable")
        cells.append(f'<td bgcolor="{color}"><font point-size="14" color="white"><b>{told}</b></font></td>')
    width = max(len(cells), 1)
    rows = [_HEAD.format(width, f"<b>{html.escape(layer.name)}</b> ({kind})" if show_name else f"<b>{kind}</b>")]
    activation = layer.__dict__.get("_config", {}).get("activation")
    if show_activation and activation is not None:
        name = getattr(activation, "__name__", None) or type(activation).__name__
        rows.append(_CELL.format("Activation", html.escape(name)).replace("<td", f'<td colspan="{width}"', 1).join(
            ("<tr>", "</tr>")))
    if cells:
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f'<<table border="0" cellborder="1" bgcolor="black" cellpadding="10">{"".join(rows)}</table>>'


def _level(model, prefix: str, names: dict, expand_nested: bool, show_shapes: bool, shown: tuple) -> list[str]:
    """The lines of a model's layers, and of models within it as clusters of theirs; names[layer] gets each one's name."""
    calls, lines = _calls(model), []
    for i, layer in enumerate(model._members()):
        number = f"{prefix}{i}"
        if expand_nested and isinstance(layer, Network):
            inner = _level(layer, f"{number}_", names, expand_nested, show_shapes, shown)
            lines += [f"subgraph cluster_{number} {{", f"label={json.dumps(layer.name)}; labeljust=l; style=dashed;", *inner, "}"]
            continue
        node = calls[layer][0]
        shapes = tuple(map(_shape_of, (node.input_tensors or node.output_tensors, node.output_tensors)))
        names[layer] = f"layer_{number}"
        lines.append(f"layer_{number} [label={_label(layer, shapes if show_shapes else None, *shown)}];")
    return lines + _edges(model, calls, names, expand_nested)


@takes(layer_range=(None,))
def model_to_dot(model, show_shapes=False, show_dtype=False, show_layer_names=True, rankdir="TB", expand_nested=False,
                 dpi=200, subgraph=False, show_layer_activations=False, show_trainable=False, splines="ortho") -> Dot:
    """The drawing of a built model."""
    if subgraph:
        raise NotImplementedError("model_to_dot: subgraph=True is not in cornu; a model is no part of another")
    if rankdir not in ("TB", "LR", "BT", "RL"):
        raise ValueError(f"model_to_dot: rankdir: found {rankdir!r}; expected 'TB', 'LR', 'BT' or 'RL'")
    if not model.built:
        raise ValueError(f"{model.name}: found a model that is not built; expected build() or fit before")
    lines = [f"digraph {json.dumps(model.name)} {{",
             f"graph [rankdir={rankdir}, concentrate=true, dpi={int(dpi)}, splines={json.dumps(str(splines))}];",
             'node [shape=plain, fontname="Helvetica"];']
    lines += _level(model, "", {}, expand_nested, show_shapes, (show_dtype, show_layer_names, show_layer_activations,
                                                                show_trainable))
    return Dot("\n".join(lines) + "\n}\n")


@takes(layer_range=(None,))
def plot_model(model, to_file="model.png", show_shapes=False, show_dtype=False, show_layer_names=False, rankdir="TB",
               expand_nested=False, dpi=200, show_layer_activations=False, show_trainable=False, splines="ortho"):
    """Draw a built model into a file: .dot as text, else as Graphviz draws it (.png, .svg, .pdf). In Jupyter, the
    picture."""
    path = os.fspath(to_file)
    format = os.path.splitext(path)[1].removeprefix(".") or "png"
    dot = model_to_dot(model, show_shapes, show_dtype, show_layer_names, rankdir, expand_nested, dpi, False,
                       show_layer_activations, show_trainable, splines)
    dot.write(path, format=format)
    if "ipykernel" in sys.modules and format in ("png", "jpg", "jpeg"):
        from IPython.display import Image

        return Image(filename=path)
    return None

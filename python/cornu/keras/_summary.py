"""What Sequential.summary adds to the library's table."""
import json

_EDGES = {"┓": "┳━━━━━━━┓", "┩": "╇━━━━━━━┩", "┤": "┼───────┤", "┘": "┴───────┘", "┃": "┃ Trai… ┃"}


def with_trainable(handle) -> str:
    """The table with Keras's column of show_trainable: is the layer trained, Y or N; - where it has no weights."""
    model = json.loads(handle.config())
    layers = [entry["config"] for entry in model["config"]["layers"]]
    having = {path.rsplit("/", 1)[0] for path, *_ in handle.weights()}
    told = [("Y" if layer["trainable"] else "N") if layer["name"] in having else "-" for layer in layers]
    rows = iter(told[model["class_name"] == "Sequential":])  # whose InputLayer the table leaves out
    lines, begins = [], False
    for line in handle.summary().rstrip("\n").split("\n"):
        end = line[-1:]
        if end in _EDGES:
            line, begins = line[:-1] + _EDGES[end], end in "┩┤"
        elif end == "│":
            line, begins = f"{line}   {next(rows) if begins else ' '}   │", False
        lines.append(line)
    return "\n".join(lines)

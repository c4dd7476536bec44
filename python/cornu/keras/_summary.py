"""The column that Model.summary adds to the library's table."""
import json

_EDGES = {"┓": "┳━━━━━━━┓", "┩": "╇━━━━━━━┩", "┤": "┼───────┤", "┘": "┴───────┘", "┃": "┃ Trai… ┃"}


def _told(model: dict, weights: list[str], begin: str, expand_nested: bool):
    """For each row: is the layer, or model, trained?"""
    for entry in model["config"]["layers"]:
        if entry["class_name"] == "InputLayer" and model["class_name"] == "Sequential":
            continue  # the table leaves it out
        path = f"{begin}{entry['config']['name']}/"
        has_weights = any(weight.startswith(path) for weight in weights)
        yield ("Y" if entry["config"]["trainable"] else "N") if has_weights else "-"
        if expand_nested and "layers" in entry["config"]:
            yield from _told(entry, weights, path, expand_nested)


def with_trainable(handle, expand_nested: bool) -> str:
    """The table with Keras's column of show_trainable: is the layer trained, Y or N; - where it has no weights."""
    rows = _told(json.loads(handle.config()), [path for path, *_ in handle.weights()], "", expand_nested)
    lines, begins = [], False
    for line in handle.summary(expand_nested).rstrip("\n").split("\n"):
        end = line[-1:]
        if end in _EDGES:
            line, begins = line[:-1] + _EDGES[end], end in "┩┤"
        elif end == "│":
            line, begins = f"{line}   {next(rows) if begins else ' '}   │", False
        lines.append(line)
    return "\n".join(lines)

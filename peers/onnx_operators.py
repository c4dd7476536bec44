"""Random graphs of ONNX's operators, with attributes drawn from all that their operators allow: for onnx_graphs.py."""
import numpy as np
import onnx

BATCH = 3
rng = np.random.default_rng(1)


def start(*seed: int) -> None:
    global rng
    rng = np.random.default_rng(seed)


def chance(p: float) -> bool:
    return bool(rng.random() < p)


def pick(*values):
    return values[rng.integers(len(values))]


class Graph:
    """A graph under construction: `shape` is that of the value at hand, without the batch, as ONNX has it."""

    def __init__(self, opset: int, shape: tuple[int, ...], bytes_in: bool = False) -> None:
        self.opset, self.shape, self.given = opset, shape, shape
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.value, self.bytes_in = "x", bytes_in
        self.batch: int | None = None  # of a file for one batch size
        self.first = "as x"  # how an image at hand lies: channels first as cornu takes x, or not, or the other way round
        self.unusual = 0.15

    def odd(self) -> bool:
        return chance(self.unusual)

    def constant(self, value, dtype=np.float32) -> str:
        name = f"c{len(self.constants)}"
        tensor = onnx.numpy_helper.from_array(np.asarray(value, dtype), name)
        self.constants.append(tensor)
        return name

    def drawn(self, *shape: int, low: float = -0.7) -> str:
        return self.constant(rng.uniform(low, 0.9, shape))

    def node(self, kind: str, *inputs: str, shape: tuple[int, ...] | None = None, **attributes) -> str:
        """Of the value at hand, and constants; None attributes are left out."""
        given = {k: v for k, v in attributes.items() if v is not None}
        name = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, [self.value, *inputs], [name], name=name, **given))
        self.value = name
        self.shape = self.shape if shape is None else shape
        return name

    def model(self) -> onnx.ModelProto:
        value = onnx.helper.make_tensor_value_info
        x = value("x", 2 if self.bytes_in else 1, [self.batch or "n", *self.given])
        y = onnx.ValueInfoProto(name=self.value)
        y.type.tensor_type.elem_type = 1
        nodes, constants, inputs = list(self.nodes), list(self.constants), [x]
        style = pick("initializer", "initializer", "node", "input")
        if style == "node":  # as exporters without constant folding have it
            nodes = [onnx.helper.make_node("Constant", [], [c.name], value=c) for c in constants] + nodes
            constants = []
        elif style == "input":  # as files before IR version 4 have it
            inputs += [value(c.name, c.data_type, list(c.dims)) for c in constants]
        graph = onnx.helper.make_graph(nodes, "graph", inputs, [y], constants)
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(pick("", "", "ai.onnx"), self.opset)],
                                      ir_version=8)
        if chance(0.2):
            leave_zeros_out(made)
        return made


def leave_zeros_out(model: onnx.ModelProto) -> None:
    """As writers with protobuf's third syntax leave out what is 0."""
    for node in model.graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.INT and a.i == 0:
                a.ClearField("i")
            if a.type == onnx.AttributeProto.FLOAT and a.f == 0:
                a.ClearField("f")


# ---- operators: each appends nodes, and may make a file that is not valid

def window(c: Graph, kernel: list[int], pads: bool = True) -> dict:
    given = {"strides": pick(None, [1, 1], [2, 2], [int(rng.integers(1, 4)), int(rng.integers(1, 4))])}
    padding = pick("none", "none", "half", "any", "SAME_UPPER", "NOTSET", "VALID", "SAME_LOWER" if c.odd() else "half")
    if padding == "half":
        given["pads"] = [k // 2 for k in kernel] * 2
    elif padding == "any":
        given["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    elif padding != "none":
        given["auto_pad"] = padding
        if c.odd():
            given["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    return given


def slid(c: Graph, kernel: list[int], given: dict, ceil: bool = False) -> tuple[int, int]:
    out = []
    for i in range(2):
        size, stride, dilation = c.shape[1 + i], (given.get("strides") or [1, 1])[i], (given.get("dilations") or [1, 1])[i]
        reach = (kernel[i] - 1) * dilation + 1
        if given.get("auto_pad", "").startswith("SAME"):
            out.append(-(-size // stride))
            continue
        pads = [0] * 4 if given.get("auto_pad") == "VALID" else given.get("pads") or [0] * 4
        room = size + pads[i] + pads[2 + i] - reach
        out.append((-(-room // stride) if ceil else room // stride) + 1 if room >= 0 else 0)
    return out[0], out[1]


def sizes(c: Graph) -> list[int]:
    return [int(rng.integers(1, min(5, s) + 1)) for s in c.shape[1:]]


def conv(c: Graph) -> None:
    kernel, channels = sizes(c), c.shape[0]
    groups = pick(1, 1, channels, 2) if channels % 2 == 0 else pick(1, 1, channels)
    filters = groups * int(rng.integers(1, 4))
    given = window(c, kernel)
    given["dilations"] = pick(None, None, [1, 1], [2, 1], [2, 2])
    given["group"] = None if groups == 1 and chance(0.5) else groups
    given["kernel_shape"] = pick(None, kernel, kernel[::-1] if c.odd() else kernel)
    weights = [c.drawn(filters, channels // groups, *kernel)]
    bias = pick("none", "input", "input", "add")
    if bias == "input":
        weights.append(c.drawn(filters))
    c.node("Conv", *weights, shape=(filters, *slid(c, kernel, given)), **given)
    if bias == "add":
        c.node("Add", c.drawn(*pick((filters, 1, 1), (1, filters, 1, 1), (1, 1, filters, 1, 1) if c.odd() else (filters, 1, 1))))


def pool(c: Graph) -> None:
    kind, kernel = pick("MaxPool", "AveragePool"), sizes(c)
    given = window(c, kernel)
    given["kernel_shape"] = kernel
    if c.opset >= 10 and c.odd():
        given["ceil_mode"] = pick(0, 1)
    if kind == "AveragePool":
        given["count_include_pad"] = pick(None, 0, 1)
    if c.odd() and c.opset >= (10 if kind == "MaxPool" else 19):
        given["dilations"] = pick([1, 1], [2, 2])
    c.node(kind, shape=(c.shape[0], *slid(c, kernel, given, bool(given.get("ceil_mode")))), **given)


def batch_norm(c: Graph) -> None:
    n = c.shape[0]
    given = {"epsilon": pick(None, 1e-3, 0.1), "momentum": pick(None, 0.5)}
    if c.opset < 9:
        given["spatial"] = pick(None, 1, 0 if c.odd() else 1)
    if c.opset >= 14:
        given["training_mode"] = pick(None, 0)
    c.node("BatchNormalization", c.drawn(n), c.drawn(n), c.drawn(n), c.drawn(n, low=0.3), **given)


def layer_norm(c: Graph) -> None:
    n = c.shape[-1]
    axis = int(rng.integers(-len(c.shape), len(c.shape) + 1)) if c.odd() else pick(None, -1, len(c.shape))
    if axis not in (None, -1, len(c.shape)):
        shape = tuple(([BATCH, *c.shape])[axis:])
    else:
        shape = pick((n,), (n,), (1, n), (1,)) if c.odd() else (n,)
    weights = [c.drawn(*shape)] + ([c.drawn(*shape)] if chance(0.7) else [])
    c.node("LayerNormalization", *weights, axis=axis, epsilon=pick(None, 1e-3, 1e-2))


def softmax(c: Graph) -> None:
    rank = len(c.shape) + 1
    channels = pick(None, 1, rank - 1, -1 if c.opset >= 11 else None) if rank < 4 else 1
    c.node("Softmax", axis=int(rng.integers(0, rank)) if c.odd() else channels)


def activation(c: Graph) -> None:
    kind = pick("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Silu", "Erf", "Gelu")
    x = c.value
    if kind in ("LeakyRelu", "Elu"):
        c.node(kind, alpha=pick(None, 0.0, 0.3, 2.0))
    elif kind == "Silu":
        c.node("Sigmoid")
        c.node("Mul", x)
        if chance(0.5):
            c.nodes[-1].input[:] = c.nodes[-1].input[::-1]
    elif kind == "Erf" and c.opset >= 9:
        erf_gelu(c, x)
    elif kind == "Gelu" and c.opset >= 20:
        c.node("Gelu", approximate=pick(None, "none", "tanh" if c.odd() else "none"))
    elif kind in ("Relu", "Sigmoid", "Tanh"):
        c.node(kind)
    else:
        c.node("Relu")


def erf_gelu(c: Graph, x: str) -> None:
    if chance(0.5):
        c.node("Div", c.constant(2 ** 0.5))
    else:
        c.node("Mul", c.constant(0.5 ** 0.5))
    c.node("Erf")
    c.node("Add", c.constant(1.001 if c.odd() else 1.0))
    half, early = c.constant(0.5), chance(0.5)
    c.node("Mul", half if early else x)
    c.node("Mul", x if early else half)


def arithmetic(c: Graph) -> None:
    kind, rank = pick("Add", "Sub", "Mul", "Div"), len(c.shape) + 1
    channels = c.shape[0] if rank == 4 else c.shape[-1]
    several = (channels, 1, 1) if rank == 4 else (channels,)
    shape = pick(several, (1,) * (rank + 1), (BATCH, *[1] * (rank - 1))) if c.odd() else pick((), (1,), (1,) * rank)
    value = c.constant(rng.uniform(0.5, 2, shape) * pick(-1, 1))
    c.node(kind, value, shape=(BATCH, *c.shape) if len(shape) > rank else c.shape)
    if kind in ("Add", "Mul") and chance(0.3) or c.odd():
        c.nodes[-1].input[:] = c.nodes[-1].input[::-1]


def flatten(c: Graph) -> None:
    rank = len(c.shape) + 1
    axis = int(rng.integers(0, rank)) if c.odd() else pick(None, 1, 1 - rank if c.opset >= 11 else 1)
    c.node("Flatten", axis=axis, shape=(int(np.prod(c.shape)),))


def reshape(c: Graph) -> None:
    n = int(np.prod(c.shape))
    if not c.odd():
        rows, shape = pick([-1, n], [0, -1], [0, n]), (n,)
    else:
        divisor = pick(*[d for d in range(1, n + 1) if n % d == 0])
        rows, shape = pick(([1, -1], (n,)), ([-1, divisor], (n,)), ([0, divisor, -1], (divisor, n // divisor)),
                           ([0, 1, divisor, n // divisor], (1, divisor, n // divisor)), ([BATCH, -1], (n,)),
                           ([0, 0, -1], (c.shape[0], n // c.shape[0])), ([-1, 0, n // c.shape[0]], (c.shape[0], n // c.shape[0])),
                           ([-1, *c.shape], c.shape), ([0] * (len(c.shape) + 1), c.shape))
    if len(shape) == 3:
        c.first = "last"
    c.node("Reshape", c.constant(rows, np.int64), shape=shape,
           allowzero=pick(None, 0, 1) if c.opset >= 14 and c.odd() else None)


def transpose(c: Graph) -> None:
    if c.odd():
        perm = [0, *(1 + rng.permutation(len(c.shape)))]
    elif len(c.shape) == 3:
        perm = pick([0, 2, 3, 1], [0, 3, 1, 2])
    else:
        return
    goes_first = list(perm) == [0, 3, 1, 2]  # another order is a layer's, of the file's axes
    c.first = {"as x": "not x", "last": "first"}.get(c.first, "last") if goes_first else "last"
    c.node("Transpose", perm=[int(i) for i in perm], shape=tuple(c.shape[i - 1] for i in perm[1:]))


def pad(c: Graph) -> None:
    before, after = ([0, 0, *[int(rng.integers(0, 3)) for _ in range(2)]] for _ in range(2))
    if c.odd():
        before[int(rng.integers(0, 4))] += pick(1, -1)
    if chance(0.1):
        before, after = np.roll(before, -1).tolist(), np.roll(after, -1).tolist()
    axes = [0, 1, 2, 3]
    if c.opset >= 18 and chance(0.6):
        axes = [int(i) for i in pick([2, 3], [3, 2], rng.permutation(4), [1, 2], [2])]
    pads = [before[i] for i in axes] + [after[i] for i in axes]
    shape = tuple(c.shape[i - 1] + (before[i] + after[i] if i in axes else 0) for i in (1, 2, 3))
    mode = pick("reflect", "edge") if c.odd() else pick(None, "constant")
    value = pick(1.0, -3.0) if c.odd() else pick(None, 0.0)
    if c.opset < 11:
        c.node("Pad", pads=pads, mode=mode, value=value, shape=shape)
        return
    inputs = [c.constant(pads, np.int64), c.constant(value) if value is not None else ""]
    if c.opset >= 18 and (axes != [0, 1, 2, 3] or chance(0.2)):
        inputs.append(c.constant([a - 4 if chance(0.3) else a for a in axes], np.int64))
    while inputs[-1] == "":
        inputs.pop()
    c.node("Pad", *inputs, mode=mode, shape=shape)


def gemm(c: Graph) -> None:
    n, units = c.shape[0], pick(1, BATCH, int(rng.integers(2, 7)))
    transposed = chance(0.5)
    weights = [c.drawn(*((units, n) if transposed else (n, units)))]
    if c.opset < 11 or chance(0.8):
        odd = pick((BATCH, 1), (1, 1), (1,), (), (BATCH, units), (units, 1))
        weights.append(c.drawn(*(odd if c.odd() else pick((units,), (1, units)))))
    c.node("Gemm", *weights, transB=1 if transposed else pick(None, 0), transA=1 if c.odd() and chance(0.3) else None,
           alpha=0.5 if c.odd() else pick(None, 1.0), beta=pick(0.5, 0.0) if c.odd() else pick(None, 1.0), shape=(units,))


def matmul(c: Graph) -> None:
    n, units = c.shape[-1], int(rng.integers(1, 7))
    matrix = pick((1, n, units), (n,)) if c.odd() and chance(0.3) else (n, units)
    c.node("MatMul", c.drawn(*matrix), shape=(*c.shape[:-1], units))
    if chance(0.6):
        c.node("Add", c.drawn(*(pick((1, 1, 1, 1, units), (units, 1), (1,)) if c.odd() else pick((units,), (1, units)))))
        if chance(0.3):
            c.nodes[-1].input[:] = c.nodes[-1].input[::-1]


def reduce_mean(c: Graph) -> None:
    axes = pick([2, 3], [1, 2], [-2, -1], [3, 2], [1], [1, 2, 3]) if c.odd() else [1, 2] if c.first == "last" else [2, 3]
    keep = pick(None, 0, 1)
    shape = [1 if i + 1 in [a % 4 for a in axes] else s for i, s in enumerate(c.shape)]
    if keep == 0:
        shape = [s for i, s in enumerate(c.shape) if i + 1 not in [a % 4 for a in axes]]
    if c.opset >= 18:
        c.node("ReduceMean", c.constant(axes, np.int64), keepdims=keep, shape=tuple(shape))
    else:
        c.node("ReduceMean", axes=axes, keepdims=keep, shape=tuple(shape))


def global_pool(c: Graph) -> None:
    c.node("GlobalAveragePool", shape=(c.shape[0], 1, 1))


def squeeze(c: Graph) -> None:
    axes = [i + 1 for i, s in enumerate(c.shape) if s == 1]
    axes = axes if not c.odd() else pick([2, 3], [1, 2], [-1, -2], [2])
    shape = tuple(s for i, s in enumerate(c.shape) if i + 1 not in [a % (len(c.shape) + 1) for a in axes])
    if c.opset >= 13:
        c.node("Squeeze", c.constant(axes, np.int64), shape=shape)
    else:
        c.node("Squeeze", axes=axes, shape=shape)


def nothing(c: Graph) -> None:
    kind = pick("Identity", "Cast", "Dropout")
    if kind == "Cast":
        c.node("Cast", to=1)
    elif kind == "Identity":
        c.node("Identity")
    elif c.opset < 12:
        c.node("Dropout", ratio=pick(None, 0.3))
    else:
        inputs = pick([], [c.constant(0.3)], [c.constant(0.3), c.constant(c.odd(), np.bool_)], ["", c.constant(False, np.bool_)])
        c.node("Dropout", *inputs)


def kept(c: Graph) -> None:
    """An operator that keeps the shape, as branches have them that come together again."""
    kinds = [activation, activation, softmax, arithmetic, nothing]
    if len(c.shape) == 3 and c.first != "last":
        kinds += [same_conv] * 3 + [batch_norm]
    if len(c.shape) == 1:
        kinds += [square_gemm, batch_norm]
    pick(*kinds)(c)


def same_conv(c: Graph) -> None:
    c.node("Conv", c.drawn(c.shape[0], c.shape[0], 3, 3), pads=[1, 1, 1, 1])
    if chance(0.5):
        c.node("Add", c.drawn(c.shape[0], 1, 1))


def square_gemm(c: Graph) -> None:
    c.node("Gemm", c.drawn(c.shape[0], c.shape[0]), c.drawn(c.shape[0]))


def branch(c: Graph) -> None:
    """Several readers of one value, and an operator that reads what became of it."""
    x, shape, first, ends = c.value, c.shape, c.first, []
    for _ in range(pick(2, 2, 2, 3)):
        c.value, c.shape, c.first = x, shape, first
        for _ in range(pick(0, 1, 1, 2)):
            pick(*([pool, transpose, flatten] if c.odd() and len(c.shape) == 3 else [kept]))(c)
        ends.append(c.value)
    if chance(0.1):
        ends[-1] = ends[0]  # one value twice
    kind = pick("Add", "Add", "Sum", "Concat", "Concat", "Mul", "Sub", "Max", "Min", "Mean")
    ends = ends[:2] if kind in ("Add", "Mul", "Sub") else ends[:1] if c.odd() and kind != "Concat" else ends
    c.value = ends[0]
    if kind == "Concat":
        axis = int(rng.integers(0, len(shape) + 1)) if c.odd() else 1 if c.first != "last" else len(shape)
        grown = tuple(s * len(ends) if i + 1 == axis else s for i, s in enumerate(shape))
        c.node(kind, *ends[1:], axis=axis - len(shape) - 1 if chance(0.3) and c.opset >= 11 else axis, shape=grown)
    else:
        c.node(kind, *ends[1:], shape=shape)


ANY = [softmax, activation, activation, arithmetic, flatten, reshape, nothing, branch, branch]
IMAGES = [conv, conv, conv, conv, conv, pool, pool, batch_norm, batch_norm, pad, transpose, reduce_mean, global_pool, *ANY]
ROWS = [gemm, gemm, matmul, batch_norm, *ANY]

ENDS = [[flatten, gemm], [flatten, flatten, gemm], [flatten, activation, reshape, matmul], [flatten, batch_norm, gemm],
        [reshape, softmax, nothing, flatten, gemm]]


def choices(c: Graph) -> list:
    rank = len(c.shape)
    norm = [layer_norm] if c.opset >= 17 else []
    if rank == 1:
        return ROWS + norm
    if rank != 3:
        return [matmul, matmul, transpose, *ANY, *norm]
    one_pixel = [squeeze] * 6 if c.shape[1:] == (1, 1) else [squeeze] if c.odd() and 1 in c.shape else []
    return [*IMAGES, *one_pixel, *([*norm, matmul] if c.first == "last" or c.odd() else [])]


def draw() -> Graph:
    opset = int(rng.integers(7, 22))
    # No two alike: the order of an image is seen by its shape.
    image = tuple(int(i) for i in rng.permutation([2, 3, 4, 5, 6, 7, 8])[:3])
    c = Graph(opset, pick(image, image, image, image, (1, *image[1:]), (image[0], 1, 1), image[:1], image[:2]), chance(0.05))
    c.batch = pick(BATCH, 1) if chance(0.1) else None
    c.unusual = pick(0, 0.1, 0.4)
    if c.bytes_in:
        c.node("Cast", to=1)
        c.node("Mul", c.constant(1 / 255))
    for _ in range(int(rng.integers(1, 8))):
        pick(*choices(c))(c)
        if min(c.shape, default=0) < 1 or np.prod(c.shape) > 5000:
            return c
    if len(c.shape) == 3 and chance(0.6):  # or most images would end as such
        for step in pick(*ENDS):
            if min(c.shape, default=0) > 0:
                step(c)
    elif len(c.shape) == 1 and chance(0.5):
        gemm(c)
    return c

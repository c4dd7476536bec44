"""The published networks as plain rows, and ResNet-20, for every peer framework alike."""


def conv(filters, kernel=3, strides=1):
    """A convolution of a residual network; batch normalization follows it."""
    return ("conv", filters, kernel, "same", None, strides)


def block(filters, strides):
    """A residual block of ResNet version 1; a 1x1 convolution is its shortcut where the shape changes."""
    shortcut = [("from", "x"), conv(filters, 1, strides)] if strides > 1 else [("from", "x")]
    return [("mark", "x"), conv(filters, 3, strides), ("norm",), ("relu",), conv(filters), ("norm",), ("mark", "y"),
            *shortcut, ("add", "y"), ("relu",)]


def resnet(blocks):
    layers = [conv(16), ("norm",), ("relu",)]
    for stage, filters in enumerate((16, 32, 64)):
        for i in range(blocks):
            layers += block(filters, 2 if stage > 0 and i == 0 else 1)
    return [*layers, ("mean",), ("dense", 10, "softmax")]


# name: input (height, width, channels), classes, batch, optimizer, layers; recipe: that of cornu where it is not
# a published workload. `mark` names the output so far, `from` goes on from a marked one, `add` adds it.
NETWORKS = {
    "cifar10-mlp": dict(
        input=(32, 32, 3), classes=10, batch=32, optimizer="sgd",
        layers=[("flatten",), ("dense", 3000, "relu"), ("dense", 1000, "relu"), ("dense", 10, "sigmoid")]),
    "cifar100-mlp": dict(
        input=(32, 32, 3), classes=100, batch=32, optimizer="adam",
        layers=[("flatten",), ("dense", 512, "relu"), ("dense", 256, "relu"), ("dense", 100, "softmax")]),
    "mnist-cnn-2": dict(
        input=(28, 28, 1), classes=10, batch=50, optimizer="adam",
        layers=[("conv", 32, 5, "same", "relu"), ("pool",), ("conv", 64, 5, "same", "relu"), ("pool",),
                ("flatten",), ("dense", 1024, "relu"), ("dropout", 0.5), ("dense", 10, "softmax")]),
    "mnist-cnn-4": dict(
        input=(28, 28, 1), classes=10, batch=50, optimizer="adam",
        layers=[("conv", 32, 3, "same", "relu"), ("conv", 32, 3, "same", "relu"), ("pool",),
                ("conv", 64, 3, "same", "relu"), ("conv", 64, 3, "same", "relu"), ("pool",),
                ("flatten",), ("dense", 1024, "relu"), ("dropout", 0.5), ("dense", 10, "softmax")]),
    "photos-cnn-ready": dict(
        input=(150, 150, 3), classes=8, batch=32, optimizer="adam",
        layers=[("conv", 32, 3, "valid", "relu"), ("pool",), ("conv", 64, 3, "valid", "relu"), ("pool",),
                ("flatten",), ("dense", 512, "relu"), ("dropout", 0.2), ("dense", 64, "relu"),
                ("dropout", 0.2), ("dense", 8, "softmax")]),
    "cifar10-cnn": dict(
        input=(32, 32, 3), classes=10, batch=100, optimizer="adam",
        layers=[("conv", 32, 3, "same", None), ("conv", 32, 3, "same", None), ("pool",),
                ("conv", 64, 3, "same", None), ("conv", 64, 3, "same", None), ("pool",),
                ("conv", 128, 3, "same", None), ("conv", 128, 3, "same", None), ("flatten",),
                ("dropout", 0.3), ("dense", 128, "relu"), ("dense", 10, "softmax")]),
    "resnet20": dict(
        input=(32, 32, 3), classes=10, batch=32, optimizer="adam", layers=resnet(3), recipe="examples/resnet20.yaml"),
}


def shapes(network):
    """Each layer with its input: (kind, arguments, (height, width, channels) or (features,))."""
    at, marked = network["input"], {}
    for kind, *arguments in network["layers"]:
        yield kind, arguments, at
        if kind == "conv":
            lost = 0 if arguments[2] == "same" else arguments[1] - 1
            strides = arguments[4] if len(arguments) > 4 else 1
            at = (-(-(at[0] - lost) // strides), -(-(at[1] - lost) // strides), arguments[0])
        elif kind == "mark":
            marked[arguments[0]] = at
        elif kind == "from":
            at = marked[arguments[0]]
        elif kind == "mean":
            at = (at[2],)
        elif kind == "pool":
            at = (at[0] // 2, at[1] // 2, at[2])
        elif kind == "flatten":
            size = 1
            for side in at:
                size *= side
            at = (size,)
        elif kind == "dense":
            at = (arguments[0],)

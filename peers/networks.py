"""The published networks as plain rows, for every peer framework alike."""

# name: input (height, width, channels), classes, batch, optimizer, layers
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
}


def shapes(network):
    """Each layer with its input: (kind, arguments, (height, width, channels) or (features,))."""
    at = network["input"]
    for kind, *arguments in network["layers"]:
        yield kind, arguments, at
        if kind == "conv":
            lost = 0 if arguments[2] == "same" else arguments[1] - 1
            at = (at[0] - lost, at[1] - lost, arguments[0])
        elif kind == "pool":
            at = (at[0] // 2, at[1] // 2, at[2])
        elif kind == "flatten":
            size = 1
            for side in at:
                size *= side
            at = (size,)
        elif kind == "dense":
            at = (arguments[0],)

#!/usr/bin/env python3
"""Write files of real Keras, and files that nobody should open, into tests/fixtures/keras_files.npz.

usage: make_keras_files.py [--output FILE] [--latest] [--nested]

tests/exchange/keras_files_test.c reads it. Besides requirements.txt it needs tf.keras 2: pip install --no-deps
tf_keras==2.21.0. With --latest only latest... is made anew, from the other files that FILE has, with --nested only the cases
of models within models. Members:

    file/NAME                      a file's bytes
    CASE/x, CASE/y                 samples, of a case whose files are CASE.keras, CASE.h5 and CASE.weights.h5
    CASE/predicted                 what Keras's predict gives for x after loading
    CASE/losses                    two more epochs' losses: batches of 8, in order
"""
import argparse
import io
import json
import os
import struct
import tempfile
import zipfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers as L  # noqa: E402

BATCH, SAMPLES = 8, 16


def convolutions():
    return [L.Conv2D(2, 3, activation="relu", name="first"), L.BatchNormalization(), L.MaxPooling2D(), L.Flatten(),
            L.Dropout(0.0), L.Dense(3, activation="tanh"), L.Dense(3, activation="softmax", name="dense_7")]


CASES = {
    "conv": (convolutions, (6, 6, 1), lambda: keras.optimizers.Adam(0.01), False, True),
    "chain": (lambda: [L.Dense(4, activation="relu"), L.Dense(3, activation="softmax")], (5,),
              lambda: keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True), True, True),
    "schedule": (lambda: [L.Dense(3, activation="softmax")], (5,),
                 lambda: keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.9), momentum=0.9),
                 False, True),
    "new": (lambda: [L.Dense(3, activation="softmax")], (5,), lambda: keras.optimizers.Adam(0.01), False, False),
    "nadam": (lambda: [L.Dense(3, activation="softmax")], (5,), lambda: keras.optimizers.Nadam(0.01, epsilon=1e-4), False,
              True),
    "averages": (lambda: [L.Dense(3, activation="softmax")], (5,),
                 lambda: keras.optimizers.SGD(0.1, momentum=0.5, use_ema=True, ema_momentum=0.6, gradient_accumulation_steps=3),
                 False, True),
}


def nested():
    """A Functional and a Sequential in a Sequential. In the older files a model's weights that are trained come first."""
    x = L.Input((5,), name="seen")
    encoder = keras.Model(x, L.Dense(4, activation="tanh", name="inner")(L.BatchNormalization(name="norm")(x)), name="encoder")
    encoder.get_layer("inner").trainable = False
    head = keras.Sequential([L.Input((4,)), L.Dense(4, activation="relu"), L.BatchNormalization(), L.Dense(3)], name="head")
    return keras.Sequential([L.Input((5,)), encoder, L.Dropout(0.0), head, L.Softmax()])


def towers():
    """A model of two outputs that is called twice, with a model in it."""
    x = L.Input((5,), name="seen")
    y = keras.Sequential([L.Input((5,)), L.Dense(4, activation="tanh"), L.BatchNormalization(momentum=0.6)], name="stem")(x)
    tower = keras.Model(x, [L.Dense(2, name="left")(y), L.Dense(3, name="right")(y)], name="tower")
    seen = L.Input((5,), name="samples")
    outputs = [*tower(seen), *tower(L.Dense(5, activation="relu")(seen))]
    return keras.Model(seen, L.Dense(3, activation="softmax")(L.Concatenate()(outputs)))


NESTED = {
    "nested": (nested, (5,), lambda: keras.optimizers.Adam(0.01, epsilon=1e-3)),
    "towers": (towers, (5,), lambda: keras.optimizers.Adam(0.01, amsgrad=True, epsilon=1e-3)),
}


def fit(model, x, y):
    return model.fit(x, y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0).history["loss"]


def real_files(folder, members):
    for name, (layers, shape, optimizer, functional, trained) in CASES.items():
        keras.backend.clear_session()
        keras.utils.set_random_seed(5)
        model = keras.Sequential([L.Input(shape), *layers()])
        if functional:
            model = keras.Model(model.inputs, model.outputs)
        write_case(name, model, shape, optimizer(), trained, folder, members)


def write_case(name, model, shape, optimizer, trained, folder, members):
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    generator = np.random.default_rng(1)
    x = generator.random((SAMPLES, *shape), "float32")
    y = generator.integers(0, 3, SAMPLES).astype("int64")
    if trained:
        fit(model, x, y)
    for ending in (".keras", ".h5"):
        model.save(os.path.join(folder, name + ending))
    model.save_weights(os.path.join(folder, name + ".weights.h5"))
    members.update({f"{name}/x": x, f"{name}/y": y, f"{name}/predicted": model.predict(x, verbose=0),
                    f"{name}/losses": np.array(fit(model, x, y), "float32")})


def nested_files(folder, members):
    for name, (build, shape, optimizer) in NESTED.items():
        keras.backend.clear_session()
        keras.utils.set_random_seed(5)
        write_case(name, build(), shape, optimizer(), True, folder, members)


def files_of_tf_keras_2(folder, members):
    """Of the package tf_keras: its optimizer, and that from before 2.11."""
    import tf_keras
    for name, optimizer in (("tf2", tf_keras.optimizers.Adam), ("tf2-old", tf_keras.optimizers.legacy.Adam)):
        tf_keras.backend.clear_session()
        tf_keras.utils.set_random_seed(5)
        model = tf_keras.Sequential([tf_keras.layers.Conv2D(2, 3, activation="relu", input_shape=(6, 6, 1)),
                                     tf_keras.layers.BatchNormalization(), tf_keras.layers.Flatten(),
                                     tf_keras.layers.Dense(3, activation="softmax")])
        # a step of the sign of a rounding otherwise
        model.compile(optimizer(0.01, epsilon=1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
        x, y = members["conv/x"], members["conv/y"]
        fit(model, x, y)
        for ending in (".h5",) if name == "tf2-old" else (".h5", ".keras"):
            model.save(os.path.join(folder, name + ending))
        members.update({f"{name}/x": x, f"{name}/y": y, f"{name}/predicted": model.predict(x, verbose=0),
                        f"{name}/losses": np.array(fit(model, x, y), "float32")})


def archive(path, config, weights, extra=()):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("metadata.json", "{}")
        z.writestr("config.json", json.dumps(config))
        z.writestr("model.weights.h5", weights)
        for name, data in extra:
            z.writestr(name, data)


def hostile_hdf5(at):
    """`at` gives a new file's path by its name."""
    with h5py.File(at("external-link.weights.h5"), "w") as f:
        f["layers"] = h5py.ExternalLink("/etc/passwd", "/layers")
    with h5py.File(at("soft-link.weights.h5"), "w") as f:
        f["layers/dense/vars/0"] = np.zeros((5, 3), "float32")
        f["layers/dense/vars/1"] = h5py.SoftLink("/layers/dense/vars/0")
    with h5py.File(at("virtual.weights.h5"), "w", libver=("earliest", "v110")) as f:
        layout = h5py.VirtualLayout((5, 3), "float32")
        layout[:] = h5py.VirtualSource("/etc/passwd", "data", (5, 3))
        f.create_virtual_dataset("layers/dense/vars/0", layout)
    with h5py.File(at("unlimited-virtual.weights.h5"), "w", libver=("earliest", "v110")) as f:
        layout = h5py.VirtualLayout((5, 3), "float32", maxshape=(None, 3))
        source = h5py.VirtualSource("/etc/passwd", "data", (5, 3), maxshape=(None, 3))
        layout[:h5py.h5s.UNLIMITED, :] = source[:h5py.h5s.UNLIMITED, :]
        f.create_virtual_dataset("layers/dense/vars/0", layout)
    with h5py.File(at("external-data.weights.h5"), "w") as f:
        f.create_dataset("layers/dense/vars/0", (5, 3), "float32", external=[("/etc/passwd", 0, 60)])
    with h5py.File(at("chunked.weights.h5"), "w") as f:
        f.create_dataset("layers/dense/vars/0", (1 << 40, 1 << 20), "float32", chunks=(1, 1 << 10), compression="gzip")
    with h5py.File(at("huge.weights.h5"), "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)
        h5py.h5d.create(f.create_group("layers/dense/vars").id, b"0", h5py.h5t.IEEE_F32LE,
                        h5py.h5s.create_simple((1 << 40, 1 << 10)), plist)
    with h5py.File(at("outside.weights.h5"), "w") as f:
        f["layers/dense/vars/0"] = np.zeros((5, 3), "float32")
        offset = f["layers/dense/vars/0"].id.get_offset()
    with open(at("outside.weights.h5"), "rb") as f:
        data = f.read()
    with open(at("outside.weights.h5"), "wb") as f:  # the data begin in the file and end behind it
        f.write(data.replace(struct.pack("<QQ", offset, 60), struct.pack("<QQ", len(data) - 8, 60)))
    with h5py.File(at("cycle.weights.h5"), "w") as f:
        group = f.create_group("layers")
        group["again"], group["once more"] = group, group
    with h5py.File(at("texts.weights.h5"), "w") as f:
        f["layers/dense/vars/0"] = np.zeros((5, 3), "float32")
        f["layers"].attrs["odd"] = np.void(b"opaque")
        f["layers/dense/vars/0"].attrs["strings"] = ["a", "b"]
        f["layers/dense/words"] = np.array([b"no", b"numbers"])
    with h5py.File(at("pickled.weights.h5"), "w") as f:
        f["layers/dense/vars/0"] = np.void(b"\x80\x04\x95")
    with h5py.File(at("list-bomb.h5"), "w") as f:
        f.attrs["model_config"] = "x" * 60000
        f.create_group("model_weights").attrs["layer_names"] = ["y"] * 4000
        f["model_weights"].attrs["long"] = "z" * 300000
    with open(at("list-bomb.h5"), "rb") as f:  # each of the 4000 is the long one then
        data = f.read()
    long = data.index(struct.pack("<I", 300000))
    one = struct.pack("<I", 1)
    first = next(i for i in range(data.index(b"layer_names"), len(data)) if data[i:i + 64:16] == data[i + 64:i + 128:16]
                 and all(data[j:j + 4] == one for j in range(i, i + 128, 16)))
    with open(at("list-bomb.h5"), "wb") as f:
        f.write(data[:first] + data[long:long + 16] * 4000 + data[first + 64000:])


def hostile_files(folder, members):
    def at(name):
        return os.path.join(folder, name)
    hostile_hdf5(at)
    with zipfile.ZipFile(at("new.keras")) as z:
        config, weights = json.loads(z.read("config.json")), z.read("model.weights.h5")
    keras.backend.clear_session()
    double = keras.Sequential([L.Input((5,)), L.Lambda(lambda x: x * 2, name="double"), L.Dense(3)])
    double.save(at("lambda.keras"))
    double.save(at("lambda.h5"))

    @keras.saving.register_keras_serializable("Theirs")
    class Dense(L.Dense):
        pass
    keras.Sequential([L.Input((5,)), Dense(3)]).save(at("custom.keras"))
    archive(at("pickled.keras"), config, weights, [("model.weights.npz", b"")])
    archive(at("absolute.keras"), config, weights, [("/etc/passwd", b"")])
    archive(at("upwards.keras"), config, weights, [("../outside", b"")])
    archive(at("assets.keras"), config, weights, [("assets/layers/x/vocabulary.txt", b"a")])
    archive(at("twice.keras"), config, weights, [("config.json", b"{}")])
    archive(at("no-hdf5.keras"), config, b"nothing")
    with zipfile.ZipFile(at("bomb.keras"), "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("config.json", "{}")
        z.writestr("metadata.json", "{}")
        z.writestr("model.weights.h5", bytes(100_000_000))
    with zipfile.ZipFile(at("no-weights.keras"), "w") as z:
        z.writestr("config.json", json.dumps(config))
        z.writestr("metadata.json", "{}")


def copy_group(source, target):
    """Groups, tensors and attributes of an HDF5 file."""
    for name, value in source.attrs.items():
        target.attrs[name] = value
    for name, member in source.items():
        if isinstance(member, h5py.Group):
            copy_group(member, target.create_group(name))
        else:
            target[name] = member[()]
            for key, value in member.attrs.items():
                target[name].attrs[key] = value


def copy_file(source, target):
    with h5py.File(source) as a, h5py.File(target, "w", libver="latest") as b:
        copy_group(a, b)


def latest_files(folder):
    """What h5py writes for libver="latest": Keras's files once more, and groups of many links and attributes."""
    def at(name):
        return os.path.join(folder, name)
    copy_file(at("chain.h5"), at("latest.h5"))
    with zipfile.ZipFile(at("conv.keras")) as z:
        config, weights = json.loads(z.read("config.json")), z.read("model.weights.h5")
    new = io.BytesIO()
    copy_file(io.BytesIO(weights), new)
    archive(at("latest.keras"), config, new.getvalue())
    # an index of three levels, objects in blocks of an indirect block
    with h5py.File(at("latest-links.weights.h5"), "w", libver="latest") as f:
        for i in range(3):
            f[f"value/{i}"] = np.full(2, i, "float32")
        many = f.create_group("many")
        for i in range(1300):
            many[f"{i:04}"] = f[f"value/{i % 3}"]
        for i in range(12):
            many.attrs[f"text {i}"] = f"{i} " * 40
        for name, count in (("few", 3), ("ordered", 12)):  # headers, links and indexes with an order of creation
            group = f.create_group(name, track_order=True)
            for i in range(count):
                group[f"{i}"] = f["value/1"]
                group.attrs[f"text {i}"] = f"{i} " * 40
    with h5py.File(at("latest-large-attribute.weights.h5"), "w", libver="latest") as f:
        f["x"] = np.zeros(2, "float32")
        for i in range(12):
            f.attrs[f"text {i}"] = np.bytes_(str(i) * 5000)


def unpack(output, folder):
    members = dict(np.load(output))
    for name, value in members.items():
        if name.startswith("file/"):
            with open(os.path.join(folder, os.path.basename(name)), "wb") as f:
                f.write(value.tobytes())
    return members


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default=os.path.join(os.path.dirname(__file__), "../tests/fixtures/keras_files.npz"))
    parser.add_argument("--latest", action="store_true", help="make only the files of libver=\"latest\" anew")
    parser.add_argument("--nested", action="store_true", help="make only the models within models anew")
    options, members = parser.parse_args(), {}
    output = options.output
    with tempfile.TemporaryDirectory() as folder:
        if options.latest or options.nested:
            members = unpack(output, folder)
        else:
            real_files(folder, members)
            files_of_tf_keras_2(folder, members)
            hostile_files(folder, members)
        if not options.latest:
            nested_files(folder, members)
        if not options.nested:
            latest_files(folder)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                members[f"file/{name}"] = np.frombuffer(f.read(), np.uint8)
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as z:
        for name, value in members.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(value), version=(1, 0))
            z.writestr(zipfile.ZipInfo(name + ".npy"), data.getvalue(), zipfile.ZIP_DEFLATED)


main()

"""A network of calls: branches that are merged, parts of it as models of their own, and layers that two models share."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(41)
x, y = rng.random((24, 8, 8, 3), np.float32), rng.integers(0, 4, 24)


def block(inputs, filters, strides, name):
    a = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False, name=name + "_a")(inputs)
    a = layers.BatchNormalization(name=name + "_norm_a")(a)
    a = layers.Activation("relu", name=name + "_relu_a")(a)
    a = layers.Conv2D(filters, 3, padding="same", name=name + "_b")(a)
    shortcut = inputs
    if strides != 1:
        shortcut = layers.Conv2D(filters, 1, strides=strides, name=name + "_shortcut")(inputs)
    return layers.Activation("relu", name=name)(layers.Add(name=name + "_add")([a, shortcut]))


image = keras.Input(shape=(8, 8, 3), name="image")
first = layers.Conv2D(4, 3, padding="same", activation="relu", name="first")(image)
deep = block(block(first, 4, 1, "one"), 6, 2, "two")
mean = layers.GlobalAveragePooling2D(name="mean")(deep)
left, right = layers.Dense(5, activation="tanh", name="left")(mean), layers.Dense(5, activation="relu", name="right")(mean)
merged = layers.Average(name="both")([left, right, layers.Dense(5, name="middle")(mean)])
outputs = layers.Dense(4, activation="softmax", name="classes")(merged)
model = keras.Model(inputs=image, outputs=outputs, name="branches")
model.set_weights([np.abs(rng.normal(0, 0.3, w.shape)) for w in model.get_weights()])

results = {
    "name": model.name, "layers": [layer.name for layer in model.layers], "parameters": model.count_params(),
    "weights": [list(w.shape) for w in model.weights], "input": model.input.shape, "output": model.output.shape,
    "shapes": [layer.output.shape for layer in model.layers], "read": [str(layer.input.shape) for layer in model.layers[2:4]],
    "tensors": [image.shape, image.dtype, image.name, len(model.inputs), len(model.outputs)],
    "inbound": [[[t["config"]["keras_history"] for t in (node["args"] if isinstance(node["args"][0], dict) else node["args"][0])]
                 for node in layer["inbound_nodes"]] for layer in model.get_config()["layers"]],
    "before": model.predict(x, verbose=0),
}
features = keras.Model(model.input, model.get_layer("two").output, name="features")
head = keras.Model(model.get_layer("two").output, model.output)
results["features"] = features.predict(x, verbose=0)
results["head"] = head.predict(results["features"], verbose=0)
results["of features"] = [features.name, [layer.name for layer in features.layers], [layer.name for layer in head.layers[1:]]]

model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
results["history"] = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
results["after"] = model.predict(x, verbose=0)
results["features after"] = features.predict(x, verbose=0)  # trained with the model
other = keras.Model(image, layers.Dense(2, name="other", kernel_initializer="ones")(mean))
other.compile(optimizer="sgd", loss="mse")
other.fit(x, np.stack([y, -y], 1), batch_size=8, shuffle=False, verbose=0)
results["by the other"] = model.predict(x, verbose=0)
results["trained weights"] = model.get_weights()

for name, copy in (("json", keras.models.model_from_json(model.to_json())), ("clone", keras.models.clone_model(model)),
                   ("config", keras.Model.from_config(model.get_config()))):
    copy.set_weights(model.get_weights())
    results[name] = [copy.predict(x, verbose=0), [layer.name for layer in copy.layers], copy.name]
model.save("model.keras")
model.save_weights("model.weights.h5")
loaded = keras.models.load_model("model.keras")
results["loaded"] = [loaded.predict(x, verbose=0), [layer.name for layer in loaded.layers], type(loaded).__name__]
other = keras.models.clone_model(model)
other.load_weights("model.weights.h5")
results["weights loaded"] = other.predict(x, verbose=0)

chain = keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="relu", name="a"), layers.Dense(3, name="b")])
chain.set_weights([rng.normal(0, 0.5, w.shape) for w in chain.get_weights()])
rows = rng.random((4, 6), np.float32)
part = keras.Model(chain.inputs, chain.layers[0].output)
results["sequential"] = [part.predict(rows, verbose=0), chain.outputs[0].shape, chain.layers[1].input.shape,
                         chain.inputs[0].shape]


class Own(keras.Model):
    def __init__(self, units):
        begin = keras.Input((6,))
        super().__init__(inputs=begin, outputs=layers.Dense(units, kernel_initializer="ones")(begin))
        self.units = units


own = Own(2)
results["subclass"] = [own.predict(rows, verbose=0), own.units, own.count_params(), np.asarray(own(rows))]

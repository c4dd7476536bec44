"""Layers that are called more than once, models that are called as layers, and weights that several models have."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(43)
x, y = rng.normal(0, 1, (12, 6)).astype("float32"), rng.normal(0, 1, 12).astype("float32")


def draw(model):
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])


def outputs(model):
    return model.predict(x, verbose=0)


results = {}
begin = keras.Input((6,), name="begin")
dense, norm = layers.Dense(6, activation="tanh", name="dense"), layers.LayerNormalization(name="norm")
twice = keras.Model(begin, layers.Add(name="sum")([dense(begin), dense(norm(dense(begin)))]), name="twice")
draw(twice)
results["twice"] = [outputs(twice), [layer.name for layer in twice.layers], twice.count_params(), len(twice.weights)]
twice.compile("sgd", "mse")
results["twice trained"] = [twice.fit(x, x, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"], twice.get_weights()]
again = keras.models.model_from_json(twice.to_json())
again.set_weights(twice.get_weights())
copy = keras.models.clone_model(twice)
copy.set_weights(twice.get_weights())
results["twice again"] = [outputs(again), outputs(copy)]

encoder = keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="relu", name="hidden"), layers.Dense(3, name="code")],
                           name="encoder")
draw(encoder)
left, right = encoder(begin), encoder(layers.Rescaling(-0.5, name="half")(begin))
tower = keras.Model(begin, layers.Dense(1, name="score")(layers.Multiply(name="product")([left, right])), name="tower")
tower.layers[-1].set_weights([np.ones((3, 1)), np.zeros(1)])
results["tower"] = [outputs(tower), [layer.name for layer in tower.layers], tower.count_params(), tower.get_layer("encoder").name,
                    [list(w.shape) for w in tower.weights], encoder.inputs[0].shape]
tower.compile("sgd", "mse")
results["tower trained"] = [tower.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"],
                            tower.get_weights(), encoder.get_weights(), outputs(encoder)]
copy = keras.models.clone_model(tower)
copy.set_weights(tower.get_weights())
results["tower again"] = [outputs(copy), [layer.name for layer in copy.layers]]

last = keras.Model(again_begin := keras.Input((6,)), tower(layers.Dense(6, name="before")(again_begin)), name="last")
config = last.get_config()
results["nested config"] = [config["output_layers"], config["input_layers"][1:], [[n["args"][0]["config"]["keras_history"]
                            for n in layer["inbound_nodes"]] for layer in config["layers"]][2],
                            [[layer["module"], layer["class_name"], layer["name"]] for layer in config["layers"][1:]],
                            [layer["class_name"] for layer in config["layers"][2]["config"]["layers"]]]
copy = keras.Model.from_config(config)
copy.set_weights(last.get_weights())
results["nested outputs"] = bool(np.array_equal(outputs(copy), outputs(last)))

head = keras.Sequential([encoder, layers.Dense(2, activation="softmax", name="head")], name="classifier")
head.layers[-1].set_weights([np.eye(3, 2), np.zeros(2)])
results["head"] = [outputs(head), [layer.name for layer in head.layers], head.count_params(), np.asarray(head(x))]
head.compile("sgd", "sparse_categorical_crossentropy")
results["head trained"] = [head.fit(x, np.arange(12) % 2, batch_size=4, shuffle=False, verbose=0).history["loss"],
                           outputs(encoder), outputs(tower)]
inner = keras.Model(encoder.inputs, encoder.get_layer("hidden").output)
results["inner"] = outputs(inner)
deep = keras.Sequential([keras.Sequential([keras.Sequential([keras.Input((6,)), layers.Dense(4, name="a")], name="one"),
                                           layers.Dense(3, name="b")], name="two"), layers.Dense(2, name="c")], name="three")
draw(deep)
results["deep"] = [outputs(deep), [layer.name for layer in deep.layers], [list(w.shape) for w in deep.weights]]

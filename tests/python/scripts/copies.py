"""A model by its configuration: to_json, model_from_json, get_config, from_config, clone_model."""
import json

import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(34)
x = rng.random((5, 9, 9, 2), np.float32)

model = keras.Sequential([
    layers.Conv2D(3, 3, strides=2, padding="same", activation="relu", input_shape=(9, 9, 2), name="conv"),
    layers.BatchNormalization(name="norm"), layers.LeakyReLU(negative_slope=0.1, name="leaky"),
    layers.GlobalAveragePooling2D(name="mean"), layers.Dropout(0.2, name="dropout"),
    layers.Dense(4, activation="softmax", name="classes"),
], name="small")
model.set_weights([np.abs(rng.normal(0, 0.3, w.shape)) for w in model.get_weights()])

text = model.to_json()
config = json.loads(text)
made = {"json": keras.models.model_from_json(text), "config": keras.Sequential.from_config(model.get_config()),
        "clone": keras.models.clone_model(model)}
results = {"class": config["class_name"], "name": config["config"]["name"], "outputs": model.predict(x, verbose=0),
           "layers": [layer["class_name"] for layer in config["config"]["layers"]]}
for name, copy in made.items():
    copy.set_weights(model.get_weights())
    results[name] = {"outputs": copy.predict(x, verbose=0), "names": [layer.name for layer in copy.layers],
                     "parameters": copy.count_params(),
                     "own weights": copy.layers[0].kernel is not model.layers[0].kernel}
layer = model.get_layer("conv")
same = layers.Conv2D.from_config(layer.get_config())
results["layer"] = [same.filters, same.kernel_size, same.strides, same.padding, layer.kernel.shape,
                    layer.count_params()]

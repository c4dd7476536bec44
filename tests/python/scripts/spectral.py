"""Spectral normalization: kernels that training divides by their largest singular value."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(89)
wrap = layers.SpectralNormalization
x, pictures = rng.normal(0, 1, (26, 5)).astype("float32"), rng.normal(0, 1, (26, 5, 5, 2)).astype("float32")
numbers, y = rng.integers(0, 6, (26, 3)).astype("float32"), rng.normal(0, 1, (26, 2)).astype("float32")
stacks = {
    "dense": (x, [wrap(layers.Dense(50, "tanh")), layers.Dense(3), wrap(layers.Dense(3, use_bias=False), power_iterations=3)], {}),
    "convolution": (pictures, [wrap(layers.Conv2D(3, 2, activation="tanh"), 2), wrap(layers.DepthwiseConv2D(2)), wrap(layers.Conv2DTranspose(2, 2)), layers.Flatten()],
                    {"momentum": 0.9, "clipnorm": 0.5}),
    "table": (numbers, [wrap(layers.Embedding(6, 4)), layers.Flatten()], {"gradient_accumulation_steps": 2}),
    "frozen": (x, [wrap(layers.Dense(3, kernel_regularizer="l2")), layers.Dense(3, kernel_regularizer="l2")], {}),
    "zero": (x, [layers.Dense(4), wrap(layers.Dense(3, "tanh", kernel_initializer="zeros")), layers.BatchNormalization()], {}),
}
results = {}
for name, (inputs, stack, options) in stacks.items():
    model = keras.Sequential([keras.Input(inputs.shape[1:]), *stack, layers.Dense(2)])
    model.set_weights([w.numpy() * 0 if name == "zero" and i == 2 else np.abs(values) + 0.1 if "gamma" in w.path or "moving" in w.path else values
                       for i, w in enumerate(model.weights) for values in [rng.normal(0, 0.3, w.shape)]])
    model.layers[0].trainable = name != "frozen"
    model.compile(keras.optimizers.SGD(0.05, **options), keras.losses.MeanSquaredError())
    history = model.fit(inputs, y, batch_size=8, epochs=2, shuffle=False, validation_split=0.2, verbose=0).history
    for path in (f"{name}.keras", f"{name}.h5"):
        model.save(path)
    model.save_weights(f"{name}.weights.h5")
    results[name] = {"history": history, "weights": model.get_weights(), "shapes": [w.shape for w in model.get_weights()],
                     "evaluate": model.evaluate(inputs, y, batch_size=9, verbose=0), "predict": model.predict(inputs, verbose=0),
                     "again": [keras.models.load_model(path).evaluate(inputs, y, verbose=0) for path in (f"{name}.keras", f"{name}.h5")],
                     "counts": [len(model.trainable_weights), len(model.non_trainable_weights), model.count_params()]}
    model.load_weights(f"{name}.weights.h5")
    results[name]["continued"] = [model.train_on_batch(inputs[:5], y[:5]), model.get_weights()]
config = stacks["convolution"][1][0].get_config()
results["configuration"] = [config["power_iterations"], config["layer"]["class_name"], config["layer"]["config"]["filters"]]

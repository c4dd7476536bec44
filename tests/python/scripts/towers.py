"""Two inputs and two outputs: a loss, a weight and metrics for each; arrays by position and by name, batches, and weights of
the samples for each output."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(7)
samples = {"deep": rng.normal(size=(24, 4, 4, 1)), "wide": rng.normal(size=(24, 3))}
kinds, prices = rng.integers(0, 5, 24), rng.normal(size=(24, 1))

wide, deep = keras.Input((3,), name="wide"), keras.Input((4, 4, 1), name="deep")
right = layers.Dense(3, activation="tanh", name="right")(layers.Flatten(name="flat")(deep))
both = layers.Add(name="sum")([wide, right])
price = layers.Dense(1, name="price")(both)
kind = layers.Dense(5, activation="softmax", name="kind")(both)
model = keras.Model([wide, deep], [kind, price])
model.set_weights([rng.normal(size=w.shape) * 0.5 for w in model.get_weights()])
model.compile(keras.optimizers.SGD(0.1), loss={"kind": "sparse_categorical_crossentropy", "price": "mse"},
              loss_weights={"kind": 1.0, "price": 0.25}, metrics={"kind": ["accuracy"], "price": ["mae"]})
history = model.fit(samples, [kinds, prices], batch_size=8, epochs=2, shuffle=False, verbose=0, validation_split=1 / 3)

results = {"layers": [layer.name for layer in model.layers], "outputs": model.output_names,
           "history": dict(sorted(history.history.items()))}
results["evaluate"] = model.evaluate([samples["wide"], samples["deep"]], {"price": prices, "kind": kinds}, verbose=0)
results["weighted"] = model.evaluate(samples, [kinds, prices], sample_weight=np.linspace(0, 2, 24), verbose=0, return_dict=True)
results["predict"] = {name: array for name, array in zip(model.output_names, model.predict(samples, verbose=0))}
results["on batch"] = model.train_on_batch(samples, [kinds, prices])


def batches():
    while True:
        yield (samples["wide"][:6], samples["deep"][:6]), (kinds[:6], prices[:6])


results["generator"] = dict(sorted(model.fit(batches(), steps_per_epoch=3, verbose=0).history.items()))
same = keras.models.model_from_json(model.to_json())
same.set_weights(model.get_weights())
results["json"] = [array for array in same.predict([samples["wide"], samples["deep"]], verbose=0)]
plain = keras.Model.from_config(model.get_config())
plain.set_weights(model.get_weights())
plain.compile("sgd", loss="mse")
results["one loss"] = plain.evaluate(samples, [np.eye(5)[kinds], prices], verbose=0, return_dict=True)
results["weights"] = model.get_weights()

targets, each = [kinds, prices], [np.linspace(0, 2, 24), np.linspace(1, -0.5, 24)]
results["each/evaluate"] = model.evaluate(samples, targets, sample_weight=each, verbose=0)
results["each/fit"] = dict(sorted(model.fit(samples, targets, sample_weight=each, batch_size=8, epochs=2, shuffle=False,
                                            validation_data=(samples, targets, each[::-1]), verbose=0).history.items()))
results["each/split"] = dict(sorted(model.fit(samples, targets, sample_weight=each, batch_size=6, shuffle=False,
                                              validation_split=0.25, verbose=0).history.items()))
results["each/one of them"] = model.train_on_batch(samples, targets, sample_weight=[each[0], None])
results["each/test"] = model.test_on_batch(samples, targets, sample_weight=each)
model.fit((((samples["wide"], samples["deep"]), tuple(targets), tuple(each)) for _ in range(3)), verbose=0)
results["each/weights"] = model.get_weights()
named = keras.Model([wide, deep], {"kind": kind, "price": price})
named.compile(keras.optimizers.SGD(0.1), loss={"kind": "sparse_categorical_crossentropy", "price": "mse"})
results["each/by name"] = named.evaluate(samples, {"kind": kinds, "price": prices}, verbose=0, return_dict=True,
                                         sample_weight={"kind": each[0], "price": each[1]})

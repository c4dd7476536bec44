"""A backbone for pictures of any size, called on those of two, alone, and again from files."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(3)
large, small = rng.random((8, 32, 32, 3), np.float32), rng.random((8, 16, 16, 3), np.float32)
y = rng.random((8, 2), np.float32)

picture = keras.Input((None, None, 3), name="picture")
x = layers.Conv2D(4, 3, strides=2, padding="same", activation="relu", name="conv_1")(picture)
x = layers.Add(name="add")([x, layers.Conv2D(4, 3, padding="same", name="conv_2")(x)])
x = layers.Concatenate(name="both")([layers.BatchNormalization(name="norm")(x), x])
backbone = keras.Model(picture, [layers.GlobalAveragePooling2D(name="mean")(x), x], name="backbone")
a, b = keras.Input((32, 32, 3), name="large"), keras.Input((16, 16, 3), name="small")
both = layers.Add(name="sum")([backbone(a)[0], backbone(b)[0]])
model = keras.Model([a, b], layers.Dense(2, name="head")(both), name="two")
model.set_weights([0.1 * np.abs(rng.normal(size=w.shape)) for w in model.get_weights()])
model.compile(keras.optimizers.SGD(0.001), "mse")
chain = keras.Sequential([keras.Input((None, None, 3)), layers.Conv2D(2, 3, kernel_initializer="ones"),
                          layers.GlobalAveragePooling2D()])


def shapes_of(tensors):
    return [["any" if n is None else n for n in t.shape[1:]] for t in tensors]


results = {"shapes": shapes_of(backbone.outputs), "called": shapes_of(backbone(a)), "chain": shapes_of([chain.outputs[0], chain(b)]),
           "parameters": backbone.count_params(),
           "history": model.fit([large, small], y, batch_size=4, epochs=2, shuffle=False, verbose=0).history,
           "predict": model.predict([large, small], verbose=0), "weights": model.get_weights(),
           "alone": [backbone.predict(pictures, verbose=0)[0] for pictures in (small, large, small)],
           "alone in a chain": [chain.predict(pictures, verbose=0) for pictures in (small, large)]}
model.save("m.keras")
again = keras.models.load_model("m.keras")
results["again"] = again.predict([large, small], verbose=0)
results["its backbone"] = again.get_layer("backbone").predict(small, verbose=0)[0]
results["kept open"] = shapes_of(again.get_layer("backbone").inputs)

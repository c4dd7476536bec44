"""What leaves the weights of layers as they are, what draws them anew, and what is refused."""
import copy

import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(44)
x, y = rng.normal(0, 1, (12, 6)).astype("float32"), rng.integers(0, 3, 12)


def chain(name, last=3):
    return keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="relu", name=name + "_a"),
                             layers.BatchNormalization(name=name + "_n"), layers.Dense(last, name=name + "_b")], name=name)


def branches(name):
    begin = keras.Input((6,))
    a = layers.Dense(5, name=name + "_a")(begin)
    b = layers.Dense(5, name=name + "_b")(begin)
    return keras.Model(begin, layers.Dense(3, name=name + "_c")(layers.Add(name=name + "_sum")([a, b])), name=name)


def draw(model):
    model.set_weights([np.abs(rng.normal(0, 0.4, w.shape)) for w in model.get_weights()])
    return model


def same(a, b):
    return len(a) == len(b) and all(v.shape == w.shape and np.array_equal(v, w) for v, w in zip(a, b))


def refused(work):
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return "taken"


results = {}
for kind in (chain, branches):
    kept = {}
    model = draw(kind(kind.__name__))
    before, first, told = model.get_weights(), model.layers[1].get_weights(), model.predict(x, verbose=0)

    def check(name, made=None, count=None):
        kept[name] = [same(model.get_weights(), before)]
        if made is not None:
            own = made.get_weights()
            kept[name] += [same(own[:count], before[:count]), len(own)]

    check("compile", model.compile("adam", "mse"))
    check("compile again", model.compile("sgd", "sparse_categorical_crossentropy"))
    check("summary", model.summary(print_fn=lambda *args, **kwargs: None))
    check("clone", keras.models.clone_model(model))
    check("config", type(model).from_config(model.get_config()))
    check("json", keras.models.model_from_json(model.to_json()))
    check("deep copy", copy.deepcopy(model))
    model.save(kind.__name__ + ".keras")
    check("file", keras.models.load_model(kind.__name__ + ".keras"))
    model.save_weights(kind.__name__ + ".weights.h5")
    check("part", keras.Model(model.inputs, model.layers[-2].output), 2)
    check("longer", keras.Model(model.inputs, layers.Dense(2)(model.outputs[0])), len(before))
    check("called", keras.Model(begin := keras.Input((6,)), model(begin)))
    check("nested", keras.Sequential([model, layers.Softmax()]))
    kept["nested outputs"] = keras.Sequential([model, layers.Softmax()]).predict(x, verbose=0)
    check("evaluate", None, model.evaluate(x, y, verbose=0))
    check("no epochs", None, model.fit(x, y, epochs=1, initial_epoch=1, verbose=0))
    check("build", None, model.build((None, 6)))
    kept["set fewer"] = refused(lambda: model.set_weights(before[:-1]))
    kept["set other shapes"] = refused(lambda: model.set_weights([w.T for w in before]))
    check("refused")
    other = draw(kind("other"))
    kept["load other names"] = [refused(lambda: other.load_weights(kind.__name__ + ".weights.h5")), other.predict(x, verbose=0)]
    more = draw(keras.Model(other.inputs, layers.Dense(2)(other.outputs[0])))
    kept["load into more"] = refused(lambda: more.load_weights(kind.__name__ + ".weights.h5"))
    wide = draw(keras.Sequential([keras.Input((6,)), layers.Dense(4), layers.BatchNormalization(), layers.Dense(3)]))
    kept["load other shapes"] = refused(lambda: wide.load_weights(kind.__name__ + ".weights.h5"))
    check("at last")
    kept["outputs"] = [told, model.predict(x, verbose=0)]
    results[kind.__name__] = kept

model = draw(chain("growing"))
before = model.get_weights()
model.compile("sgd", "mse")
model.add(layers.Dense(4, name="added"))
results["add"] = [same(model.get_weights()[:len(before)], before), len(model.get_weights())]
added = model.layers[-1].get_weights()
model.pop()
model.pop()
results["pop"] = [same(model.get_weights(), before[:6]), len(model.layers)]
results["layers alone"] = [same(keras.Sequential(model.layers[:2]).get_weights(), before[:6]),
                           same(keras.Sequential([keras.Input((6,)), *model.layers[:1]]).get_weights(), before[:2])]
results["twice in one"] = refused(lambda: keras.Sequential([keras.Input((5,)), model.layers[0], model.layers[0]]))
results["other inputs"] = refused(lambda: keras.Sequential([keras.Input((7,)), model.layers[0]]))
keras.backend.clear_session()
results["session"] = same(model.get_weights(), before[:6])
dense = layers.Dense(2)
first = dense(keras.Input((6,))).shape
values = dense.get_weights()
dense(keras.Input((6,)))
results["called twice"] = [same(dense.get_weights(), values), refused(lambda: dense(keras.Input((5,))))]
model.layers[0].set_weights([np.zeros((6, 5)), np.ones(5)])
results["zeroed"] = [model.predict(x, verbose=0), keras.Model(model.inputs, model.layers[0].output).predict(x, verbose=0)]

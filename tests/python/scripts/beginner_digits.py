"""A first network, as beginners meet it: scaled pixels, two dense layers, logits."""
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
x_train, y_train = rng.integers(0, 256, (160, 8, 8)).astype("uint8"), rng.integers(0, 10, 160).astype("uint8")
x_test, y_test = x_train[:50], y_train[:50]
x_train, x_test = x_train / 255.0, x_test / 255.0

model = tf.keras.models.Sequential([
    tf.keras.layers.Flatten(input_shape=(8, 8)),
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(10),
])
model.set_weights([rng.normal(0, 0.1, w.shape) for w in model.get_weights()])
before = model(x_train[:3].astype("float32"))

loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss_fn, metrics=["accuracy"])
history = model.fit(x_train, y_train, epochs=3, shuffle=False)
loss, accuracy = model.evaluate(x_test, y_test, verbose=2)
classes = np.argmax(model.predict(x_test), axis=1)

results = {"before": np.asarray(before), "history": history.history, "epoch": history.epoch, "loss": loss,
           "accuracy": accuracy, "classes": classes, "weights": model.get_weights()}

"""The fifth post: CIFAR-10 by linear convolutions, integer labels. Data and epochs are cut."""
import time

import numpy as np
import tensorflow as tf

(x_train, y_train), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()
x_train, y_train, x_test = x_train[:100] / 255.0, y_train[:100], x_test / 255.0
model = tf.keras.models.Sequential([
    tf.keras.layers.Conv2D(32, (3, 3), padding="same", input_shape=(32, 32, 3)),
    tf.keras.layers.Conv2D(32, (3, 3), padding="same"),
    tf.keras.layers.MaxPooling2D((2, 2), padding="same"),
    tf.keras.layers.Conv2D(64, (3, 3), padding="same"),
    tf.keras.layers.Conv2D(64, (3, 3), padding="same"),
    tf.keras.layers.MaxPooling2D((2, 2)),
    tf.keras.layers.Conv2D(128, (3, 3), padding="same"),
    tf.keras.layers.Conv2D(128, (3, 3), padding="same"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dropout(0.3),
    tf.keras.layers.Dense(128, activation=tf.nn.relu),
    tf.keras.layers.Dense(10, activation=tf.nn.softmax),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
assert model.count_params() == 1337002


class Times(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs={}):
        self.begin = time.time()

    def on_epoch_end(self, epoch, logs={}):
        print("an epoch takes", time.time() - self.begin, "at", tf.keras.backend.get_value(self.model.optimizer.lr))


history = model.fit(x_train, y_train, batch_size=100, epochs=2, validation_data=(x_test[:1000], y_test[:1000]),
                    callbacks=[Times(), tf.keras.callbacks.TensorBoard(log_dir="logs", histogram_freq=0, write_graph=True)])
assert 2.1 < history.history["loss"][0] < 2.6
print(model.evaluate(x_test, y_test, verbose=2))
print(np.argmax(model.predict(x_test[:20]), axis=1), y_test[:20].flatten())

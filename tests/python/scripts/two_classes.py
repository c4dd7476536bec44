"""One sigmoid for two classes, and a threshold."""
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D
from keras.models import Sequential

rng = np.random.default_rng(26)
x, y = rng.random((80, 10, 10, 1), np.float32), rng.integers(0, 2, 80).astype("float32")
x[y == 1, 2:6, 2:6] += 0.5

classifier = Sequential()
classifier.add(Conv2D(4, (3, 3), input_shape=(10, 10, 1), activation="relu"))
classifier.add(MaxPooling2D(pool_size=(2, 2)))
classifier.add(Flatten())
classifier.add(Dense(units=12, activation="relu"))
classifier.add(Dense(units=1, activation="sigmoid"))
classifier.set_weights([rng.normal(0, 0.2, w.shape) for w in classifier.get_weights()])
classifier.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = classifier.fit(x, y, batch_size=16, epochs=4, validation_split=0.2, shuffle=False)
probabilities = classifier.predict(x)

results = {"history": history.history, "probabilities": probabilities,
           "right": np.mean((probabilities[:, 0] > 0.5) == y)}

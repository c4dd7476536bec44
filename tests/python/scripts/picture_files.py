"""Single pictures: saved, loaded, resized, made grey; utilities of arrays."""
import numpy as np
from tensorflow import keras
from tensorflow.keras.preprocessing import image

rng = np.random.default_rng(30)
pixels = rng.integers(0, 256, (9, 7, 3)).astype("float32")
keras.utils.save_img("picture.png", pixels, scale=False)

loaded = image.load_img("picture.png")
small = image.load_img("picture.png", target_size=(4, 5))
grey = keras.utils.load_img("picture.png", color_mode="grayscale")
array = image.img_to_array(loaded)
batch = np.expand_dims(array, axis=0)

results = {"loaded": array, "size": loaded.size, "small": image.img_to_array(small),
           "grey": keras.utils.img_to_array(grey),
           "scaled": np.asarray(keras.utils.array_to_img(array / 7 - 3)), "batch": batch.shape,
           "rows": keras.utils.to_categorical([0, 2, 1, 2]), "more rows": keras.utils.to_categorical([[1], [3]], 5),
           "normalized": keras.utils.normalize(pixels[:, :, 0], axis=1, order=2)}

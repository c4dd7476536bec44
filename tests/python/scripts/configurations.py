"""get_config of every layer and optimizer, as Keras writes it."""
import keras
from keras import layers, optimizers

made = [
    layers.Activation("relu"), layers.AveragePooling2D(2), layers.AveragePooling2D((2, 3), strides=1, padding="same"),
    layers.BatchNormalization(), layers.BatchNormalization(momentum=0.9, epsilon=1e-5, center=False),
    layers.Conv2D(8, 3), layers.Conv2D(8, (3, 5), strides=2, padding="same", activation="tanh", use_bias=False),
    layers.Dense(10), layers.Dense(10, activation="softmax", kernel_initializer="he_normal"),
    layers.Dropout(0.3), layers.ELU(0.5),
    layers.Flatten(), layers.GlobalAveragePooling2D(), layers.GlobalAveragePooling2D(keepdims=True),
    layers.LayerNormalization(epsilon=1e-6), layers.LeakyReLU(0.2),
    layers.MaxPooling2D(), layers.MaxPooling2D(3, 2, "same"),
    layers.ReLU(), layers.Rescaling(1 / 255, 0.5),
    layers.Reshape((4, -1)), layers.Softmax(), layers.ZeroPadding2D((1, 2)),
]
options = ("activation", "alpha", "axis", "center", "dilation_rate", "epsilon", "filters", "groups", "keepdims",
           "kernel_size", "momentum", "negative_slope", "offset", "padding", "pool_size", "rate", "scale", "strides",
           "target_shape", "units", "use_bias")

results = {}
for number, layer in enumerate(made):
    config = layer.get_config()
    results[f"{number} {type(layer).__name__}"] = {key: config[key] for key in options if key in config}
    again = type(layer).from_config(config)
    results[f"{number} again"] = [again.name == layer.name, again.get_config() == config]
for optimizer in (optimizers.SGD(0.5, 0.9), optimizers.Adam(), optimizers.AdamW(), optimizers.RMSprop(),
                  optimizers.Adagrad()):
    results[type(optimizer).__name__] = {key: value for key, value in sorted(optimizer.get_config().items())
                                         if key not in ("ema_momentum", "name")}
results["input"] = keras.layers.InputLayer(shape=(5, 6)).get_config()["batch_shape"][1:]

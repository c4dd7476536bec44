"""Convolutions of signals, depthwise, separable and transposed ones, and what stands around them."""
import numpy as np
from keras import Input, Sequential, layers

rng = np.random.default_rng(5)
images, signals, y = rng.random((24, 9, 8, 4), np.float32), rng.random((24, 14, 3), np.float32), rng.random((24, 3), np.float32)
stacks = {
    "depthwise": [layers.DepthwiseConv2D(3, strides=2, padding="same", activation="relu", depth_multiplier=2)],
    "depthwise, dilated": [layers.DepthwiseConv2D((3, 2), dilation_rate=2, use_bias=False)],
    "separable": [layers.SeparableConv2D(6, 3, activation="tanh"), layers.SeparableConv2D(5, 3, padding="same", depth_multiplier=2)],
    "mobile": [layers.Conv2D(8, 1, use_bias=False), layers.BatchNormalization(), layers.ReLU(), layers.DepthwiseConv2D(3, padding="same"),
               layers.BatchNormalization(), layers.ReLU(), layers.Conv2D(6, 1), layers.GlobalMaxPooling2D(keepdims=True)],
    "transposed": [layers.Conv2DTranspose(5, 3, strides=2, padding="same", activation="relu"), layers.Conv2DTranspose(2, (2, 3))],
    "transposed, with output_padding": [layers.Conv2DTranspose(3, 3, strides=(3, 2), output_padding=(1, 0))],
    "cropped": [layers.Cropping2D(((1, 2), (0, 1))), layers.UpSampling2D((1, 2)), layers.Conv2D(3, 3)],
    "permuted": [layers.Permute((3, 1, 2)), layers.Conv2D(4, 3), layers.Identity()],
    "normalized": [layers.Conv2D(6, 3), layers.GroupNormalization(3), layers.RMSNormalization(), layers.UnitNormalization(axis=[1, 2])],
    "signal": [layers.Conv1D(6, 3, activation="relu"), layers.MaxPooling1D(2), layers.Conv1D(5, kernel_size=3, padding="causal", dilation_rate=2),
               layers.GlobalAveragePooling1D(keepdims=True)],
    "signal, strided": [layers.Conv1D(4, 5, strides=2, padding="same", groups=1), layers.AveragePooling1D(3, strides=1, padding="same")],
    "signal, depthwise": [layers.DepthwiseConv1D(3, depth_multiplier=2), layers.SeparableConv1D(4, 3, padding="same")],
    "signal, transposed": [layers.Conv1DTranspose(4, 3, strides=2), layers.Cropping1D((0, 1)), layers.UpSampling1D(2), layers.ZeroPadding1D(2)],
    "signal, adapted": [layers.AdaptiveMaxPooling1D(5), layers.AdaptiveAveragePooling1D((7,))],
    "adapted": [layers.AdaptiveAveragePooling2D(4), layers.AdaptiveMaxPooling2D((3, 2)), layers.Conv2D(3, 2)],
    "repeated": [layers.GlobalMaxPooling1D(), layers.RepeatVector(4), layers.Conv1D(3, 2)],
}

results = {}
for name, stack in stacks.items():
    x = signals if "signal" in name or name == "repeated" else images
    model = Sequential([Input(shape=x.shape[1:]), *stack, layers.Flatten(), layers.Dense(3)])
    model.set_weights([np.abs(rng.normal(0, 0.2, w.shape)) + 0.1 if len(w.shape) == 1 else rng.normal(0, 0.2, w.shape)
                       for w in model.get_weights()])
    model.compile(optimizer="sgd", loss="mse")
    losses = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    model.save(f"{name.replace(', ', '-').replace(' ', '-')}.keras")
    results[name] = {"loss": losses, "outputs": np.asarray(model(x)), "weights": model.get_weights()[0],
                     "shapes": [w.shape for w in model.get_weights()], "parameters": model.count_params(),
                     "configuration": [{k: v for k, v in sorted(layer.get_config().items()) if k in ("kernel_size", "strides", "pool_size", "padding",
                                        "output_padding", "output_size", "dims", "n", "size", "cropping", "groups", "depth_multiplier")} for layer in stack]}

"""Every optimizer, as a string and with its options."""
import numpy as np
import keras
from keras import layers, optimizers

rng = np.random.default_rng(10)
x = rng.normal(0, 1, (64, 8)).astype("float32")
y = (x @ rng.normal(0, 1, (8, 2)) + 0.5).astype("float32")
chosen = [
    "sgd", "adam", "adamw", "rmsprop", "adagrad",
    optimizers.SGD(learning_rate=0.02, momentum=0.9), optimizers.SGD(0.02, 0.9, nesterov=True),
    optimizers.Adam(0.01, beta_1=0.8, beta_2=0.99, epsilon=1e-5, amsgrad=True),
    optimizers.AdamW(learning_rate=0.01, weight_decay=0.1),
    optimizers.RMSprop(0.01, rho=0.8, momentum=0.5, centered=True),
    optimizers.Adagrad(0.1, initial_accumulator_value=0.2, epsilon=1e-5),
    optimizers.Adam(0.01, clipnorm=0.3), optimizers.RMSprop(0.01, global_clipnorm=0.5),
    optimizers.Adagrad(0.05, weight_decay=0.02, clipvalue=0.4),
    "adadelta", "adamax", "nadam", "lion", "ftrl",
    optimizers.Adadelta(0.5, rho=0.8, epsilon=1e-4), optimizers.Adadelta(learning_rate=1.0, weight_decay=0.01),
    optimizers.Adamax(0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-4), optimizers.Adamax(0.01, global_clipnorm=0.5),
    optimizers.Nadam(0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-4), optimizers.Nadam(0.01, weight_decay=0.1),
    optimizers.Lion(0.01, beta_1=0.8, beta_2=0.95), optimizers.Lion(0.003, weight_decay=0.1, clipnorm=0.5),
    optimizers.Ftrl(0.05, initial_accumulator_value=0.2, l1_regularization_strength=0.02, l2_regularization_strength=0.1,
                    l2_shrinkage_regularization_strength=0.05, beta=0.3),
    optimizers.Ftrl(learning_rate=0.05, learning_rate_power=-0.3, l1_regularization_strength=0.1, weight_decay=0.1),
    optimizers.Adam(0.01, clipnorm=0.3, loss_scale_factor=1024.0),
    optimizers.Lamb(), optimizers.Lamb(0.02, beta_1=0.8, epsilon=1e-4, weight_decay=0.1), optimizers.Lamb(0.01, global_clipnorm=0.5),
    "adafactor", optimizers.Adafactor(0.2, beta_2_decay=-0.6, epsilon_1=1e-4, epsilon_2=0.1, clip_threshold=0.7, weight_decay=0.1),
    optimizers.Adafactor(0.1, relative_step=False, global_clipnorm=0.5),
    "muon", optimizers.Muon(0.02, adam_weight_decay=0.1, epsilon=1e-4, weight_decay=0.2, momentum=0.8, ns_steps=3, nesterov=False),
    optimizers.Muon(0.02, exclude_layers=["dense"], adam_lr_ratio=0.5, clipnorm=0.5), optimizers.Muon(0.01, rms_rate=None),
    optimizers.ScheduleFreeAdamW(), optimizers.ScheduleFreeAdamW(0.02, beta_1=0.8, epsilon=1e-4, warmup_steps=5, weight_decay=0.1),
]
first = [rng.normal(0, 0.4, shape) for shape in ((8, 2), (2,))]

results = {}
for number, optimizer in enumerate(chosen):
    model = keras.Sequential([keras.Input((8,)), layers.Dense(2)])
    model.set_weights(first)
    model.compile(optimizer=optimizer, loss="mse")
    history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0)
    results[f"case {number}"] = {"loss": history.history["loss"], "weights": model.get_weights()}
    config = model.optimizer.get_config()
    for key in ("learning_rate", "weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "loss_scale_factor"):
        results[f"case {number}"][key] = config[key]

"""Learning rates that change from step to step."""
import numpy as np
import keras
from keras.optimizers import SGD, Adam, schedules

rng = np.random.default_rng(11)
x, y = rng.random((64, 6), np.float32), rng.random((64, 2), np.float32)
rates = {
    "exponential": schedules.ExponentialDecay(0.2, decay_steps=3, decay_rate=0.8),
    "staircase": schedules.ExponentialDecay(initial_learning_rate=0.2, decay_steps=4, decay_rate=0.5, staircase=True),
    "inverse time": schedules.InverseTimeDecay(0.2, decay_steps=3, decay_rate=0.8),
    "inverse time, staircase": schedules.InverseTimeDecay(0.2, 4, 0.5, True),
    "polynomial": schedules.PolynomialDecay(0.2, decay_steps=7, end_learning_rate=0.02, power=2.0),
    "polynomial, again and again": schedules.PolynomialDecay(0.2, 4, cycle=True),
    "restarts": schedules.CosineDecayRestarts(0.2, first_decay_steps=2, m_mul=0.8, alpha=0.1),
    "restarts, as long": schedules.CosineDecayRestarts(initial_learning_rate=0.2, first_decay_steps=5, t_mul=1.0),
    "piecewise": schedules.PiecewiseConstantDecay([3, 7], [0.2, 0.05, 0.01]),
    "cosine": schedules.CosineDecay(0.2, decay_steps=10, alpha=0.1),
    "warm-up": schedules.CosineDecay(0.0, 8, warmup_target=0.3, warmup_steps=4),
}

results = {}
for name, rate in rates.items():
    for optimizer in (SGD(learning_rate=rate, momentum=0.5), Adam(rate)):
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2, kernel_initializer="ones")])
        model.compile(optimizer, loss="mse")
        history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0)
        results[f"{name}, {type(optimizer).__name__}"] = {
            **history.history, "weights": model.get_weights(), "steps": int(optimizer.iterations.numpy()),
            "rate": float(model.optimizer.learning_rate)}
    results[f"{name}'s rates"] = [float(rate(step)) for step in range(30)]
    config = schedules.serialize(rate)["config"]
    results[f"{name}'s configuration"] = {key: value for key, value in config.items() if key != "name"}

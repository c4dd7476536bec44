"""A backup from which an interrupted fit goes on, a server that gets the logs of epochs, and steps_per_execution."""
import http.server
import json
import os
import tempfile
import threading
import urllib.parse

import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(56)
x, y = rng.normal(0, 1, (32, 5)).astype("float32"), rng.normal(0, 1, (32, 1)).astype("float32")
start = [rng.normal(0, 0.5, (5, 1)).astype("float32"), np.zeros(1, "float32")]
got = []


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        is_form = "form" in self.headers["Content-Type"]
        told = json.loads(urllib.parse.parse_qs(body)["logs"][0] if is_form else body)
        got.append([self.path, is_form, self.headers.get("X-Key") or "", told["epoch"], round(told["loss"], 4)])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Interrupts(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            raise RuntimeError("the power fails")


def model_of():
    model = keras.Sequential([keras.Input((5,)), layers.Dense(1)])
    model.set_weights(start)
    model.compile(keras.optimizers.Adam(0.01), "mse", steps_per_execution=1)
    return model


results = {}
with tempfile.TemporaryDirectory() as folder:
    where = os.path.join(folder, "backup")
    model = model_of()
    try:
        model.fit(x, y, batch_size=8, epochs=5, shuffle=False, verbose=0,
                  callbacks=[keras.callbacks.BackupAndRestore(where), Interrupts()])
    except RuntimeError as error:
        results["interrupted"] = str(error)
    again = model_of()
    history = again.fit(x, y, batch_size=8, epochs=5, shuffle=False, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(where)])
    results["went on"] = [history.epoch, history.history, again.get_weights()]
    kept = keras.callbacks.BackupAndRestore(where, save_freq=3, delete_checkpoint=False)
    model_of().fit(x, y, batch_size=8, epochs=1, shuffle=False, verbose=0, callbacks=[kept])
    results["left"] = len(os.listdir(where)) > 0

server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
root = f"http://127.0.0.1:{server.server_port}"
monitors = [keras.callbacks.RemoteMonitor(root, field="logs", headers={"X-Key": "7"}),
            keras.callbacks.RemoteMonitor(root, path="/json", send_as_json=True)]
model_of().fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=monitors)
server.shutdown()
results["sent"] = "; ".join(map(str, got))

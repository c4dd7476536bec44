"""cornu's event files in real TensorBoard, beside those of real Keras.

    PYTHONPATH=build/release/python .venv/bin/python peers/tensorboard_files.py [--cornu PROGRAM]

Both train the same network with the same callback: TensorBoard's reader must find the same tags at the same steps, of the same
plugins, and tensors of the same types and shapes; TensorBoard itself, asked over HTTP as its pages do, shows scalars, histograms,
the network, pictures, hyperparameters and the profile of operations of cornu's run. A run that is killed leaves a file whose values are those of a whole run."""
import argparse
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import keras as real  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402
from tensorboard import program  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

from cornu import keras as ours  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
bad: list[str] = []


def check(right, what: str) -> None:
    if not right:
        bad.append(what)


def train(keras, folder: str, **options) -> None:
    x = np.linspace(-1, 1, 160).reshape(40, 4).astype(np.float32)
    y = np.eye(2, dtype=np.float32)[(x.sum(1) > 0).astype(int)]
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu", name="a"),
                              keras.layers.Dense(2, activation="softmax", name="b")], name="net")
    model.compile(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.9)), "categorical_crossentropy",
                  metrics=["accuracy"])
    model.fit(x, y, epochs=3, batch_size=8, validation_split=0.2, verbose=0,
              callbacks=[keras.callbacks.TensorBoard(folder, **options)])


def values(folder: str) -> dict:
    """{(run, tag): [(step, value)]}"""
    found = {}
    for run in sorted(os.listdir(folder)):
        reader = EventAccumulator(f"{folder}/{run}", size_guidance={"tensors": 0})
        reader.Reload()
        for tag in reader.Tags()["tensors"]:
            found[run, tag] = [(e.step, tensor_util.make_ndarray(e.tensor_proto)) for e in reader.Tensors(tag)]
            found[run, tag].append(reader.SummaryMetadata(tag).plugin_data.plugin_name)
    return found


def compare(folder: str, name: str, **options) -> None:
    train(real, f"{folder}/real", **options)
    train(ours, f"{folder}/ours", **options)
    theirs, mine = values(f"{folder}/real"), values(f"{folder}/ours")
    check(theirs.keys() == mine.keys(), f"{name}: tags {sorted(theirs.keys() ^ mine.keys())} of one alone")
    for key in theirs.keys() & mine.keys():
        a, b = theirs[key], mine[key]
        if options.get("update_freq", "epoch") != "epoch" and not key[1].startswith("batch_"):
            continue  # Keras leaves values of epochs out where their last batch is none of every update_freq; cornu does not
        check(a[-1] == b[-1], f"{name}: {key}: of {b[-1]}; Keras's {a[-1]}")
        check([s for s, _ in a[:-1]] == [s for s, _ in b[:-1]], f"{name}: {key}: other steps than Keras's")
        for (step, x), (_, y) in zip(a[:-1], b[:-1]):
            check(x.dtype == y.dtype and x.shape == y.shape, f"{name}: {key}: {y.dtype} {y.shape}; Keras's {x.dtype} {x.shape}")
            if "learning_rate" in key[1]:
                check(np.isclose(x, y), f"{name}: {key}: step {step}: {y}; Keras's {x}")
            if "histogram" in key[1]:
                check(x[:, 2].sum() == y[:, 2].sum(), f"{name}: {key}: {y[:, 2].sum()} weights")


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def serve(folder: str, names: list[str]) -> str:
    """The address of a TensorBoard that has read these runs."""
    board = program.TensorBoard()
    board.configure(argv=[None, "--logdir", folder, "--port", "0", "--load_fast", "false"])
    url = board.launch()
    runs = []
    for _ in range(100):
        runs = json.loads(get(f"{url}data/runs"))
        if len(runs) == len(names):
            break
        time.sleep(0.2)
    check(sorted(runs) == names, f"runs: {runs}")
    return url


def ask_server(folder: str) -> None:
    """What TensorBoard's pages ask of it."""
    url = serve(folder, ["train", "validation"])
    scalars = json.loads(get(f"{url}data/plugin/scalars/tags"))
    check({"epoch_loss", "epoch_accuracy", "epoch_learning_rate"} <= scalars["train"].keys(), f"scalars: {scalars}")
    losses = json.loads(get(f"{url}data/plugin/scalars/scalars?run=train&tag=epoch_loss"))
    check([step for _, step, _ in losses] == [0, 1, 2], f"epoch_loss: {losses}")
    histograms = json.loads(get(f"{url}data/plugin/histograms/tags"))
    check("net/a/kernel/histogram" in histograms["train"], f"histograms: {histograms}")
    shown = json.loads(get(f"{url}data/plugin/histograms/histograms?run=train&tag=net/a/kernel/histogram"))
    check(len(shown) == 3 and sum(row[2] for row in shown[0][2]) == 12, f"histogram: {shown}")
    graph = get(f"{url}data/plugin/graphs/graph?run=train&tag=keras&conceptual=true").decode()
    check('name: "net/a"' in graph and "Dense" in graph, f"graph: {graph[:200]}")


def session_groups(url: str, names: list[str]) -> list:
    """The rows of the page of hyperparameters."""
    query = {"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "sliceSize": 10, "startIndex": 0,
             "colParams": [{"hparam": name} for name in names]}
    ask = urllib.request.Request(f"{url}data/plugin/hparams/session_groups", json.dumps(query).encode(),
                                 {"Content-Type": "application/json"})
    with urllib.request.urlopen(ask, timeout=60) as answer:
        return json.loads(answer.read())["sessionGroups"]


def check_profile(url: str, run: str, layer: str) -> None:
    """The graph page's profile: each time belongs to a node of the graph, in microseconds one behind the other."""
    from google.protobuf import text_format
    from tensorboard.compat.proto import config_pb2, graph_pb2

    info = json.loads(get(f"{url}data/plugin/graphs/info"))[run]["tags"]["operations"]
    check(info["op_graph"] and info["profile"] and not info["conceptual_graph"], f"operations: {info}")
    where = f"run={run}&tag=operations"
    graph = text_format.Parse(get(f"{url}data/plugin/graphs/graph?{where}&conceptual=false").decode(), graph_pb2.GraphDef())
    profile = text_format.Parse(get(f"{url}data/plugin/graphs/run_metadata?{where}").decode(), config_pb2.RunMetadata())
    names = {node.name for node in graph.node}
    stats = profile.step_stats.dev_stats[0]
    check(stats.device == graph.node[0].device, f"{run}: device {stats.device}; nodes have {graph.node[0].device}")
    check(f"{layer}/dense_forward" in names and f"{layer}/kernel_update" in names, f"{run}: operations {sorted(names)}")
    check({s.node_name for s in stats.node_stats} == names, f"{run}: times of other nodes than the graph's")
    check(all(i.split(":")[0] in names for node in graph.node for i in node.input), f"{run}: inputs that are no nodes")
    at = 1
    for s in stats.node_stats:
        if s.all_end_rel_micros:
            check(s.all_start_micros == at, f"{run}: {s.node_name} from {s.all_start_micros}; expected {at}")
        at += s.all_end_rel_micros
    check(at > 1, f"{run}: no times")


def show_profile(folder: str) -> None:
    train(ours, folder, profile_batch=(2, 5))
    check_profile(serve(folder, ["train", "validation"]), "train", "a")


def show_pictures(folder: str) -> None:
    """Samples, confusion matrix and hyperparameters, which Keras's callback has not."""
    x = np.random.default_rng(1).integers(0, 256, (40, 6, 5, 3)).astype(np.uint8)
    y = np.arange(40) % 4
    model = ours.Sequential([ours.Input((6, 5, 3)), ours.layers.Flatten(), ours.layers.Dense(4, activation="softmax")])
    model.compile(ours.optimizers.SGD(ours.optimizers.schedules.ExponentialDecay(0.1, 5, 0.9)), "sparse_categorical_crossentropy")
    model.fit(x, y, epochs=2, batch_size=8, validation_split=0.2, verbose=0, callbacks=[
        ours.callbacks.TensorBoard(folder, samples=4, confusion_matrix=True, hyperparameters=True)])
    url = serve(folder, [".", "train", "validation"])
    tags = json.loads(get(f"{url}data/plugin/images/tags"))
    check((tags["train"]["samples"]["samples"], tags["validation"]["confusion_matrix"]["samples"]) == (4, 1), f"images: {tags}")
    for sample in range(4):
        shown = json.loads(get(f"{url}data/plugin/images/images?run=train&tag=samples&sample={sample}"))
        check([s["step"] for s in shown] == [0], f"sample: {shown}")
        pixels = np.asarray(Image.open(io.BytesIO(get(f"{url}data/plugin/images/individualImage?{shown[0]['query']}"))))
        check(np.array_equal(pixels, x[32 * sample // 4]), f"sample {sample}: other pixels")
    matrices = json.loads(get(f"{url}data/plugin/images/images?run=validation&tag=confusion_matrix&sample=0"))
    check([m["step"] for m in matrices] == [0, 1], f"confusion_matrix: {matrices}")
    groups = session_groups(url, ["optimizer", "batch_size", "learning_rate.decay_rate"])
    values = groups[0]["hparams"] if groups else {}
    check((values.get("optimizer"), values.get("batch_size"), values.get("learning_rate.decay_rate")) == ("SGD", 8, 0.9),
          f"session groups: {groups}")


def kill(cornu: str, folder: str) -> None:
    recipe = f"{folder}/r.yaml"
    np.savez(f"{folder}/d.npz", x_train=np.zeros((4000, 8), np.float32), y_train=np.arange(4000) % 2)
    with open(recipe, "w") as file:
        file.write("data: {file: d.npz}\nmodel: {input: [8], layers: [{Dense: {units: 2, activation: softmax}}]}\n"
                   "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}\n"
                   "fit: {batch_size: 4, epochs: 1000000, callbacks: [{tensorboard: {log_dir: killed, update_freq: batch}}]}\n")
    run = subprocess.Popen([cornu, "train", recipe, "--quiet", "--output", folder])
    time.sleep(3)
    run.send_signal(signal.SIGKILL)
    run.wait()
    found = values(f"{folder}/killed")
    steps = [step for step, _ in found["train", "batch_loss"][:-1]]
    check(len(steps) > 100 and steps == list(range(1, len(steps) + 1)), f"killed: {len(steps)} steps")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cornu", default=f"{ROOT}/build/release/cornu")
    cornu = parser.parse_args().cornu
    with tempfile.TemporaryDirectory() as folder:
        compare(f"{folder}/a", "epochs", histogram_freq=1, write_steps_per_second=True)
        compare(f"{folder}/b", "every third step", update_freq=3, write_steps_per_second=True, write_graph=False)
        compare(f"{folder}/c", "every step", update_freq="batch")
        ask_server(f"{folder}/a/ours")
        show_pictures(f"{folder}/d")
        show_profile(f"{folder}/e")
        kill(cornu, folder)
    for line in bad:
        print(line)
    print(f"TensorBoard: {len(bad)} differences")
    sys.stdout.flush()
    os._exit(1 if bad else 0)  # the server's threads would go on


main()

#!/usr/bin/env bash
# Install the wheel of wheel.sh on an empty Debian 12 that has Python and NumPy alone, and run the first published
# workload's script there: bare_wheel.sh FOLDER_OF_WHEEL. As root, with debootstrap; exit status 77 without.
set -euo pipefail
wheel=$(cd "$1" && echo "$PWD"/cornu-*.whl)
cd "$(dirname "$0")/.."
# shellcheck source=scripts/bare_debian.sh
. scripts/bare_debian.sh

bare_debian python3 python3-venv python3-numpy
mkdir "$root/wheel"
cp "$wheel" examples/python/cifar10_mlp.py "$root/wheel/"
inside 'if dpkg-query -W "libarchive*" "libjansson*" 2>/dev/null | grep .; then
    echo "the system is not empty"; exit 1; fi
python3 -m venv --system-site-packages /root/venv
/root/venv/bin/pip install --quiet --no-index --disable-pip-version-check /wheel/cornu-*.whl'
# At once bound, so that nothing that a library lacks is found only when it is called.
# shellcheck disable=SC2016 # the inner shell's
inside 'export LD_BIND_NOW=1; cornu=/root/venv/bin/cornu; $cornu --version; $cornu devices; $cornu explain mnist-cnn-2 >/dev/null'

# CIFAR-10 in its binary form, of few pictures, in which a class is a brightness.
inside 'mkdir -p /data/cifar-10-batches-bin; cd /data/cifar-10-batches-bin
python3 -c "
import numpy
draw = numpy.random.default_rng(1)
for name in [f\"data_batch_{i}\" for i in range(1, 6)] + [\"test_batch\"]:
    labels = draw.integers(0, 10, (200, 1))
    numpy.hstack([labels, labels * 20 + draw.integers(0, 40, (200, 3072))]).astype(numpy.uint8).tofile(name + \".bin\")
"'
said=$(inside 'CORNU_DATA=/data /root/venv/bin/python -W error::UserWarning /wheel/cifar10_mlp.py --epochs 2 --samples 960')
echo "$said"
for line in 'images (960, 32, 32, 3) classes (960, 1)' 'Epoch 2/2' '30/30 .* - accuracy: 0\.[0-9]* - loss: [0-9.]*' \
    "^predicted \['.*'\]" "^in truth  \['.*'\]"; do
    grep -q -- "$line" <<<"$said" || {
        echo "the script did not print: $line" >&2
        exit 1
    }
done
# What writes and reads files by libraries that the wheel carries: zip, HDF5, PNG.
inside 'cd /tmp; CORNU_DATA=/data /root/venv/bin/python -c "
import numpy
from cornu import keras
(x, y), _ = keras.datasets.cifar10.load_data()
model = keras.Sequential([keras.layers.Input((32, 32, 3)), keras.layers.Conv2D(4, 7, padding=\"same\"), keras.layers.Flatten(),
                          keras.layers.Dense(10, activation=\"softmax\")])
model.compile(\"adam\", \"sparse_categorical_crossentropy\", metrics=[\"accuracy\"])
model.fit(x[:64] / 255, y[:64], epochs=1, verbose=2)
for name in \"a.keras\", \"a.h5\", \"a.safetensors\":
    model.save(name)
    again = keras.models.load_model(name)
    assert numpy.array_equal(again.predict(x[:8], verbose=0), model.predict(x[:8], verbose=0)), name
model.export(\"a.onnx\")
keras.utils.save_img(\"a.png\", x[0], scale=False)
assert numpy.array_equal(numpy.asarray(keras.utils.load_img(\"a.png\")), x[0])
"'
echo "$(basename "$wheel"): installed and used"

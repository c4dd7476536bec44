#!/usr/bin/env bash
# Install Debian's packages on a bare Debian 12 and use each there: bare_install.sh FOLDER_OF_PACKAGES
# As root, with debootstrap; the bare system is a temporary folder. Proxies and apt's sources are those of here.
set -euo pipefail
packages=$(cd "$1" && pwd)
# shellcheck source=scripts/bare_debian.sh
. "$(dirname "$0")/bare_debian.sh"

bare_debian gcc libc6-dev pkg-config man-db
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
inside 'apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends /packages/*.deb >/dev/null'

inside 'cornu --version; cornu train mnist-cnn-2 --help >/dev/null; cornu explain mnist-cnn-2 >/dev/null'
# shellcheck disable=SC2016 # the inner shell's
inside 'cat >/tmp/a.c <<END
#include <cornu/cornu.h>
#include <stdio.h>
int main(void) { return printf("library %s\n", cornu_version()) < 0; }
END
gcc /tmp/a.c $(pkg-config --cflags --libs cornu) -o /tmp/a; /tmp/a'
inside 'python3 -c "
import cornu, numpy
from cornu import keras
model = keras.Sequential([keras.layers.Input(shape=(4,)), keras.layers.Dense(2, activation=\"softmax\")])
model.compile(optimizer=\"adam\", loss=\"sparse_categorical_crossentropy\", metrics=[\"accuracy\"])
model.fit(numpy.ones((64, 4), \"float32\"), numpy.zeros(64, \"int32\"), epochs=2, verbose=2)
print(\"python\", cornu.__version__)"'
# shellcheck disable=SC2016 # the inner shell's
inside 'apt-get -qq purge -y cornu libcornu0.2 libcornu-dev python3-cornu >/dev/null
for left in /usr/bin/cornu /usr/lib/python3/dist-packages/cornu; do ! [ -e $left ] || { echo "left behind: $left"; exit 1; }; done'
echo "installed, used and removed"

#!/usr/bin/env bash
# Debian's packages hold what they should, need what they use, and lintian finds no error: deb_test.sh FOLDER
# (scripts/bare_install.sh installs them on a bare system.)
set -euo pipefail
cd "$1"
failures=0

complain() {
    echo "$*"
    failures=$((failures + 1))
}

# holds PACKAGE PATH…: the one file of this package has these, as names or patterns of a shell.
holds() {
    local package=$1 path files
    shift
    files=$(dpkg-deb -c "$package"_*.deb | awk '{print $6}')
    for path in "$@" "./usr/share/doc/$package/copyright" "./usr/share/doc/$package/changelog.Debian.gz"; do
        # shellcheck disable=SC2053 # a pattern
        while read -r file; do
            [[ $file != $path ]] || continue 2
        done <<<"$files"
        complain "$package has no $path"
    done
}
# needs PACKAGE DEPENDENCY…
needs() {
    local depends dependency
    depends=$(dpkg-deb -f "$1"_*.deb Depends)
    for dependency in "${@:2}"; do
        [[ ", $depends," == *", $dependency"[\ ,]* ]] || complain "$1 does not depend on $dependency, but on $depends"
    done
}

holds cornu ./usr/bin/cornu ./usr/share/man/man1/cornu.1.gz ./usr/share/man/man1/cornu-train.1.gz \
    ./usr/share/bash-completion/completions/cornu ./usr/share/zsh/site-functions/_cornu \
    ./usr/share/fish/vendor_completions.d/cornu.fish
holds libcornu0.2 './usr/lib/*/libcornu.so.0.2' './usr/lib/*/libcornu.so.0.2.*'
holds libcornu-dev ./usr/include/cornu/cornu.h ./usr/include/cornu/report.h './usr/lib/*/libcornu.so' './usr/lib/*/pkgconfig/cornu.pc' \
    './usr/lib/*/cmake/cornu/cornuConfig.cmake'
holds python3-cornu ./usr/lib/python3/dist-packages/cornu/__init__.py \
    ./usr/lib/python3/dist-packages/cornu/_cornu.abi3.so ./usr/lib/python3/dist-packages/cornu/py.typed
needs cornu libjansson4 libc6
needs libcornu0.2 libjansson4 libc6
needs libcornu-dev libcornu0.2
needs python3-cornu libcornu0.2 python3 python3-numpy

if command -v lintian >/dev/null; then
    found=$(lintian --fail-on error --allow-root ./*.deb 2>&1) || complain "$found"
else
    echo "lintian is not installed: what it would find is left out"
fi
[ "$failures" = 0 ]

# shellcheck shell=bash
# Shared by ./quickstart and ./check: install the Debian packages that are missing, and build a preset.

# What the program is built with and from. libjpeg-dev and the others are real packages on both Debian
# and Ubuntu. Read by the scripts that source this file.
# shellcheck disable=SC2034
BUILD_PACKAGES=(build-essential cmake pkg-config libjansson-dev libyaml-dev libzip-dev
    libcurl4-openssl-dev libssl-dev libarchive-dev libjpeg-dev libpng-dev libgif-dev libwebp-dev
    libtiff-dev libfreetype-dev libfontconfig-dev libhdf5-dev zlib1g-dev libprotobuf-c-dev protobuf-c-compiler opencl-headers)
# shellcheck disable=SC2034
DATA_PACKAGES=(dataset-fashion-mnist)
# shellcheck disable=SC2034
CHECK_PACKAGES=(libcmocka-dev python3 python3-dev python3-numpy python3-pytest groff-base zsh fish tidy
    strace ccache)
# What ./check --all needs besides.
# shellcheck disable=SC2034
ALL_PACKAGES=(valgrind dpkg-dev lintian pocl-opencl-icd openmpi-bin libopenmpi-dev mpich libmpich-dev python3-venv)
[ "$(uname -m)" != x86_64 ] || ALL_PACKAGES+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
# What ./check --slow needs besides.
# shellcheck disable=SC2034
SLOW_PACKAGES=(debootstrap)

say() { printf '%s\n' "$*"; }

# One line to standard error, and the end.
stop() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

package_is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages NAME…: only what is missing, so that nothing is asked of the network when all is there.
install_packages() {
    local missing=() package log as_root=()
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        stop "this is no Debian or Ubuntu (no apt-get); install the counterparts of: $*"
    fi
    for package in "$@"; do
        package_is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            stop "neither root nor sudo; install first: ${missing[*]}"
        as_root=(sudo)
        [ -t 0 ] || sudo -n true 2>/dev/null ||
            stop "sudo wants a password and there is no terminal; install first: ${missing[*]}"
    fi
    say "Installing with apt-get: ${missing[*]}"
    log=$(mktemp)
    # Proxies are passed on by name: sudo drops them otherwise.
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
        sh -c 'apt-get -qq update && apt-get -qq -y --no-install-recommends install "$@"' \
        sh "${missing[@]}" >"$log" 2>&1 </dev/null; then
        grep -E '^(E|W|Err)' "$log" | tail -n 3 >&2 || true
        stop "apt-get could not install ${missing[*]} (is there a network?); all it said: $log"
    fi
    rm -f "$log"
}

# build_preset NAME [TARGET…]
build_preset() {
    local preset=$1 targets=()
    shift
    [ $# -eq 0 ] || targets=(--target "$@")
    cmake --preset "$preset" && cmake --build "build/$preset" --parallel "$(nproc)" "${targets[@]}"
}

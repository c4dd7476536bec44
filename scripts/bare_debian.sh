# shellcheck shell=bash
# For the scripts that try what is made here on an empty Debian 12: a system in a temporary folder, whose apt has the
# sources of here. As root, with debootstrap.

# bare_debian PACKAGE…: makes it in $root, which goes with the script. Exit status 77 where none can be made.
bare_debian() {
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
        echo "skipped: an empty Debian needs root and debootstrap"
        exit 77
    fi
    root=$(mktemp -d)
    chmod 755 "$root" # apt reads as another user
    trap 'rm -rf "$root"' EXIT
    debootstrap --variant=minbase bookworm "$root" >/dev/null
    rm "$root/etc/apt/sources.list"
    cp -r /etc/apt/. "$root/etc/apt/"
    cp /etc/resolv.conf "$root/etc/"
    inside "apt-get -qq update"
    [ $# -eq 0 ] || inside "apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends $* >/dev/null"
}

# inside COMMAND: with nothing of this machine's environment but its proxies. /proc, by which a program finds its
# libraries beside itself, is mounted for this command alone.
inside() {
    # shellcheck disable=SC2016 # the inner shell's
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
        unshare --mount sh -ec 'mount --bind /proc "$1/proc"; exec chroot "$1" sh -ec "$2"' sh "$root" "$1"
}

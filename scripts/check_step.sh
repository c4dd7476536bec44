#!/usr/bin/env bash
# One step of ./check, which calls it by scripts/check.mk: scripts/check_step.sh NAME
# Its output goes to build/check/logs/NAME.log; a failure prints the log's end. One line a step goes to
# build/check/logs/steps: its result, seconds by the clock and of processors, and name.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

# ccache, where it is, compiles once what packages and the wheel compile again.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    export CCACHE_DEPEND=1 # the compiler's own list of headers: no preprocessing beside it
fi

name=$1
logs=build/check/logs
log=$logs/$name.log
cores=$(nproc)
# How many tests at a time: with --all two or more steps run side by side.
tests_at_once=${CHECK_TESTS_AT_ONCE:-$cores}

# ---- tools --------------------------------------------------------------------------------------

# The reason goes to the report; the step's status becomes 77.
skip() {
    printf '%s\n' "$1" >"$logs/$name.reason"
    return 77
}

need() {
    command -v "$1" >/dev/null || skip "$1 is not installed"
}

# configure_and_build PRESET [CMAKE-OPTION...] [--target NAME...]: with make, whose job slots the steps share.
configure_and_build() {
    local preset=$1 options=()
    shift
    while [ $# -gt 0 ] && [ "$1" != --target ]; do
        options+=("$1")
        shift
    done
    cmake --preset "$preset" "${options[@]}" && cmake --build "build/$preset" "$@"
}

# run_tests BUILD-FOLDER CTEST-OPTION...: how long each test took is kept in the logs.
run_tests() {
    local folder=$1
    shift
    ctest --test-dir "$folder" --output-on-failure --no-tests=error --parallel "$tests_at_once" \
        --output-junit "$PWD/$logs/$name.xml" "$@"
}

python_is_new_enough() {
    /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}

# The package is built for Debian's Python, which has NumPy and pytest.
python_options() {
    if python_is_new_enough; then
        printf '%s\n' -DCORNU_PYTHON=ON -DPython3_EXECUTABLE=/usr/bin/python3
    fi
}

need_python() {
    python_is_new_enough || skip "/usr/bin/python3 is older than 3.11"
}

# PRESET, and options of pytest.
run_python_tests() {
    PYTHONPATH=build/$1/python /usr/bin/python3 -m pytest -q -p no:cacheprovider --junitxml="$logs/$name.xml" \
        tests/python "${@:2}"
}

# ---- every commit ---------------------------------------------------------------------------------

step_build() {
    local options
    mapfile -t options < <(python_options)
    configure_and_build check "${options[@]}"
}

step_quiet() { run_tests build/check -L quiet; }

step_tests() { run_tests build/check -LE '^(all|slow|quiet)$'; }

step_python() {
    need_python || return
    run_python_tests check
}

step_format() {
    need clang-format || return
    clang-format --version | grep -q ' 14\.' || skip "clang-format is not version 14, whose form the code has" || return
    find src include tests examples \( -name '*.c' -o -name '*.h' \) -print0 |
        xargs -0 clang-format --dry-run -Werror
}

step_scripts() {
    need shellcheck || return
    shellcheck -x quickstart check .ci/run scripts/*.sh tests/house_test.sh tests/packaging/*.sh tests/cuda/*.sh
}

# ---- --all: other builds, packages, accelerators ---------------------------------------------------

step_plugins() { run_tests build/check -L '^all$'; }

# One training run with all that it may write. valgrind has instructions up to AVX2.
step_valgrind() {
    need valgrind || return
    local folder=$logs/valgrind
    rm -rf "$folder"
    mkdir -p "$folder"
    valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
        build/check/cornu train tests/fixtures/tiny.yaml --epochs 2 --save "$folder/tiny.safetensors" \
        --log "$folder/tiny.csv" &&
        [ -s "$folder/tiny.safetensors" ] && [ -s "$folder/tiny.csv" ]
}

# Building and testing is one step, which begins early: make starts what waits for a step after all that does not.
step_asan() {
    local options
    mapfile -t options < <(python_options)
    configure_and_build asan "${options[@]}" && run_tests build/asan -LE '^(slow|quiet)$'
}

# The interpreter knows nothing of ASan and leaves memory at its end; growth is a test of the release build, and so are
# launchers of MPI, which do not start with it, and forks: the allocator of GCC 12's ASan keeps a lock in the child that a
# thread of its parent held, so that one child in a hundred waits for ever in free(). What scripts train has tests in C.
step_asan-python() {
    need_python || return
    LD_PRELOAD=$("${CC:-cc}" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
        run_python_tests asan --ignore tests/python/test_scripts.py -k 'not leave_no_memory and not two_processes and not fork'
}

step_tsan() {
    configure_and_build tsan --target threaded_tests && run_tests build/tsan -L threads
}

# Debian's packages, of a build of their own (CONTRIBUTING.md, "Packages").
step_packages() {
    need_python || return
    configure_and_build package --target package && tests/packaging/deb_test.sh build/package
}

step_arm64() {
    need aarch64-linux-gnu-gcc || return
    scripts/compile_arm64.sh build/check
}

# The archive for a machine with a GPU: made, and faults planted into the simulated GPU are found by it.
step_bundle() {
    need nvcc || return
    CORNU_CUDA_FATBIN=$PWD/build/check/cuda/kernels.fatbin tests/cuda/bundle_test.sh
}

# ---- --all: beside real Keras, in an environment that is kept between runs --------------------------

peers=${XDG_CACHE_HOME:-$HOME/.cache}/cornu/peers-$(sha256sum peers/requirements.txt | cut -c1-12)

step_peers-environment() {
    [ -e "$peers/complete" ] && return
    rm -rf "$peers"
    python3 -m venv "$peers" &&
        "$peers/bin/pip" install --quiet --disable-pip-version-check -r peers/requirements.txt &&
        touch "$peers/complete"
}

# Other numbers than those of tests/fixtures, which are of seed 1.
step_peers-fixtures() {
    local folder=$logs/fixtures
    rm -rf "$folder"
    "$peers/bin/python" peers/make_fixtures.py --seed 2 --output "$folder" &&
        "$peers/bin/python" peers/make_image_fixtures.py --seed 2 --output "$folder" &&
        CORNU_FIXTURES=$PWD/$folder run_tests build/check -R '^(parity.fixtures_test|data.pillow_test)$'
}

# PoCL takes minutes to compile all kernels: those of the step plugins are taken, where it has compiled them.
step_peers-training() {
    local cache=$PWD/build/check/tests/cache
    OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd XDG_CACHE_HOME=$cache POCL_CACHE_DIR=$cache/pocl \
        "$peers/bin/python" peers/parity.py --cornu build/check/cornu --device cpu,opencl:0
}

# The package as pip makes it, beside real Keras; without CUDA's plug-in, whose compiler takes minutes. Its folder and
# compiler are named so that the compiler cache has most of it from the other builds.
step_peers-python() {
    CC="${CC:-cc}" "$peers/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall \
        --config-settings=build-dir=build/pip --config-settings=cmake.define.CORNU_CUDA=OFF . &&
        ! "$peers/bin/python" -m cornu devices | grep 'no OpenCL plug-in' &&
        (cd peers && "$peers/bin/python" python_face.py && "$peers/bin/python" python_images.py &&
            "$peers/bin/python" keras_files.py && "$peers/bin/python" random_graphs.py --graphs 12 --files 4 &&
            "$peers/bin/python" applications.py --fast)
}

step_peers-tensorboard() { "$peers/bin/python" -P peers/tensorboard_files.py --cornu build/check/cornu; }

step_peers-onnx() {
    "$peers/bin/python" -P peers/onnx_files.py --cornu build/check/cornu && "$peers/bin/python" peers/onnx_graphs.py
}

# Debian's package, 100 MB with what it needs: PyPI's cannot be imported without 2 GB of CUDA's libraries.
step_peers-torch() {
    /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "there is no python3-torch" || return
    PYTHONPATH=build/check/python /usr/bin/python3 -P peers/torch_names.py --cornu build/check/cornu
}

step_peers-guides() { "$peers/bin/python" peers/guides.py --quick --cornu build/check/cornu; }

# ---- --slow: what is worth an hour a week -----------------------------------------------------------

# The tests that train/ has once more on the simulated GPU and on PoCL, where its kernels and its queue are tested already.
step_slow-tests() { run_tests build/check -L '^slow$'; }

# Every script of tests/python/scripts with real Keras once more; peers-python takes a part of them.
step_peers-scripts() {
    (cd peers && PYTHONPATH=../build/check/python "$peers/bin/python" python_face.py --all)
}

# Faults put into the code, one at a time: does a test notice? First the test of how they are placed.
step_mutations() { python3 scripts/mutate_test.py && scripts/mutate.py --check && scripts/mutate.py; }

# Ctrl-C at 200 random moments of a run with a large model file.
step_interrupts() {
    CORNU_TEST_MOMENTS=200 CORNU_TEST_MEGABYTES=510 CORNU_TEST_SEED=$RANDOM run_tests build/check -R '^cli.interrupt_test$'
}

step_drivers() { scripts/opencl_drivers.sh --build build/check; }

# Ten minutes for each of the readers of other programs' files.
step_fuzzing() {
    need clang || return
    local target seeds=build/fuzz/seeds
    CC=clang cmake --preset asan -B build/fuzz -DCMAKE_C_FLAGS= -DCORNU_FUZZ=ON &&
        cmake --build build/fuzz --target fuzz.image fuzz.keras fuzz.model &&
        python3 tests/fuzz/seeds.py $seeds || return
    for target in image keras model; do
        [ "$target" = image ] || seeds=build/fuzz/seeds/keras
        "build/fuzz/tests/fuzz/fuzz.$target" -max_total_time=600 "$seeds" || return
    done
}

# quickstart in a fresh clone, and then README's section on C from there.
step_quickstart() {
    local clone=build/check/quickstart
    rm -rf $clone
    git clone -q . $clone && git diff HEAD --binary | git -C $clone apply --allow-empty &&
        $clone/quickstart && tests/packaging/readme_test.sh cmake "$PWD/$clone/build/release" "$PWD/$clone"
}

# The wheel that carries its libraries, built and then used in an empty Debian 12.
step_wheel() {
    local status=0
    scripts/wheel.sh && scripts/bare_wheel.sh build/wheel/dist || status=$?
    [ $status != 77 ] || skip "$(grep -m 1 '^skipped: ' "$log" | cut -d ' ' -f 2-)"
    return $status
}

# The CUDA plug-in for all architectures that the toolkit knows, and the size of an installation with it.
step_all-architectures() {
    need nvcc || return
    cmake --preset release && cmake --build build/release && run_tests build/release -R '^packaging$'
}

# ---- one step -----------------------------------------------------------------------------------

# What the step builds on has failed, or was left out.
unmet() {
    local needed
    for needed in ${CHECK_NEEDS:-}; do
        grep -qE "^passed [0-9]+ [0-9]+ $needed\$" "$logs/steps" || { printf '%s\n' "$needed"; return; }
    done
}

begin=$SECONDS
broken=$(unmet)
if [ -n "$broken" ]; then
    result=skipped
    echo "$broken did not pass" >"$logs/$name.reason"
else
    "step_$name" >"$log" 2>&1 </dev/null
    case $? in
    0) result=passed ;;
    77) result=skipped ;;
    *) result=FAILED ;;
    esac
fi
seconds=$((SECONDS - begin))
times >"$logs/$name.times" # not in a pipe, whose shell has no children
processor=$(awk 'NR == 2 { split($0, t, /[ms ]+/); printf "%d", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$logs/$name.times")
echo "$result $seconds $processor $name" >>"$logs/steps"
case $result in
skipped) say "skipped  $name: $(cat "$logs/$name.reason")" ;;
FAILED)
    say "FAILED   $name ($seconds s); assertions in $log, and its end without the tests that passed:"
    grep -aE '^(\[  (ERROR |FAILED)|.*\[   LINE   \]|E  )' "$log" | cut -c 1-300 | head -n 30
    grep -vE '^ *Start +[0-9]+: | Passed +[0-9.]+ sec$' "$log" | tail -n 60
    ;;
*) say "passed   $name ($seconds s)" ;;
esac

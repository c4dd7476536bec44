# shellcheck shell=bash disable=SC2154,SC2034
# Part of gpu_run.sh: the steps, most telling first. A tool that is not there is skipped, and said; a plug-in or a device
# that is not there fails.

steps_1=(machine operations kernels steps against-cpu memcheck explain)
steps_2=(machine tests bench rest peers ncu racecheck)

device_is_there=false
simulated=false
cores=$(nproc 2>/dev/null || echo 1)
python=${PYTHON:-python3}
with_libraries=(env) # before each of cornu's processes, and only those: where NVIDIA's libraries are

cornu() {
    "${with_libraries[@]}" "$here/bin/cornu" "$@"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# ---- the machine, the libraries, the device -----------------------------------------------------

# The folder of the CUDA toolkit, or of a package of NVIDIA's in Python, that holds this file.
folder_of_library() {
    local folder
    for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 /usr/local/cuda-*/lib64 \
        /usr/local/cuda*/targets/*/lib /opt/cuda/lib64; do
        [ ! -e "$folder/$1" ] || { echo "$folder"; return; }
    done
    have "$python" || return 1
    "$python" - "$1" <<'PYTHON' 2>/dev/null
import glob, importlib.util, os, sys
spec = importlib.util.find_spec("nvidia")
found = [path for root in (spec.submodule_search_locations if spec else [])
         for path in sorted(glob.glob(os.path.join(root, "*", "lib*", sys.argv[1])))]
if not found:
    sys.exit(1)
print(os.path.dirname(found[0]))
PYTHON
}

# What cornu does not find by itself is looked for elsewhere. What it finds stays: no folder is put before it.
find_libraries() {
    local library folder added=''
    while read -r library; do
        grep -q "$library not found" <<<"$(cornu devices 2>&1)" || continue
        if folder=$(folder_of_library "$library"); then
            fact "$library: found in $folder, used for cornu alone"
            added=$folder${added:+:$added}
        else
            fact "$library: NOT FOUND, neither by the loader nor in the toolkit's folder nor in $python's nvidia packages"
            continue
        fi
        # cuDNN compiles some kernels itself.
        if [[ $library == libcudnn* ]] && ! grep -q libnvrtc <<<"$(ldconfig -p 2>/dev/null)" &&
            folder=$(folder_of_library libnvrtc.so.13 || folder_of_library libnvrtc.so.12); then
            added=$added:$folder
        fi
        with_libraries=(env "LD_LIBRARY_PATH=$added${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    done <"$here/needs.txt"
}

facts_of_the_machine() {
    local line
    while read -r line; do
        fact "$line"
    done <"$here/about.txt"
    fact "$(uname -sr), glibc $(ldd --version 2>/dev/null | sed -n '1s/.* //p'), $cores cores of $(
        sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
    if have nvidia-smi; then
        fact "nvidia-smi: $(nvidia-smi --format=csv,noheader --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu 2>&1 | head -n 1)"
    else
        fact "nvidia-smi: not there"
    fi
}

step_machine() {
    local begin devices line
    begin=$(now)
    facts_of_the_machine
    if ! [ -e "$CORNU_CUDA_PLUGIN" ]; then
        record machine plug-in failed 0 "$CORNU_CUDA_PLUGIN: no such file: the CUDA plug-in is missing"
        return
    fi
    find_libraries
    devices=$(cornu devices 2>&1)
    printf '%s\n' "$devices" >"$work/machine.devices.out"
    line=$(sed -n '/^cuda:0 /,/^[a-z]/{/^[a-z]/!p;/^cuda:0 /p}' <<<"$devices" | tr -s ' ' | tr '\n' ';')
    if [ -z "$line" ] || [[ $line == *"; not available: "* ]]; then
        line=$(grep -m 1 '^cuda' <<<"$devices" || tail -n 1 <<<"$devices")
        record machine "cuda:0" failed $(($(now) - begin)) "no usable device: $(tr -s ' ' <<<"$line")"
        return
    fi
    device_is_there=true
    [[ $line != *Simulated* ]] || simulated=true
    fact "${line%;}"
    record machine "cuda:0" passed $(($(now) - begin))
    if [[ $line != *", cuDNN"* ]]; then
        line=$(sed -n 's/^ *\(convolutions by own kernels: .*\)/\1/p' <<<"$devices" | head -n 1)
        fact "NO cuDNN: every convolution below is one of cornu's own kernels"
        record machine cuDNN failed 0 "${line:-cuDNN cannot be used}"
    fi
}

# ---- tests --------------------------------------------------------------------------------------

# The names of tests, by a regular expression.
tests_like() {
    sed 's/ .*//' "$here/tests.txt" | grep -E "$1"
}

# command_of NAME [alone]: the test's program and arguments, into `command`. What it prints stays in order by stdbuf,
# whose library is not put beside that of a tool that watches the program.
command_of() {
    read -ra command < <(awk -v wanted="$1" '$1 == wanted { $1 = ""; print }' "$here/tests.txt")
    command[0]=$here/${command[0]}
    [ "${2:-}" = alone ] || ! have stdbuf || command=(stdbuf -oL "${command[@]}")
    command=("${with_libraries[@]}" "${command[@]}")
}

# run_tests STEP SECONDS AT_MOST REGULAR_EXPRESSION: several at a time.
run_tests() {
    local step=$1 limit=$2 many=$3 name names command
    mapfile -t names < <(tests_like "$4")
    [ ${#names[@]} -gt 0 ] || record "$step" "$4" failed 0 "tests.txt names no such test"
    for name in "${names[@]}"; do
        at_most "$many"
        command_of "$name"
        task "$step" "$name" "$limit" judge_test "${command[@]}" &
    done
    wait
}

# As many programs as a GPU and the reference's threads serve well.
several() {
    echo $((cores < 4 ? 2 : cores > 16 ? 8 : cores / 2))
}

step_operations() {
    run_tests operations 90 1 '^device\.operations_on_device'
}

step_kernels() {
    run_tests kernels 60 "$(several)" '^device\.(cuda_products|cuda_split|gather|host|steps_on_device|training_on_device)|^step\.(update|plan)'
}

step_tests() {
    run_tests tests 90 "$(several)" '^parity\.fixtures|^step\.gradient|^train\.(resume|shards)'
}

# All others. Those that are about the simulation alone skip everything on a real GPU.
step_rest() {
    local done='operations_on|cuda_|gather|host|_on_device|step\.|fixtures|train\.(resume|shards)'
    local name names
    mapfile -t names < <(tests_like . | grep -vE "$done")
    [ "$simulated" = false ] || names+=("$(tests_like '^device\.cuda_bench')")
    run_tests rest 60 "$(several)" "^($(IFS='|'; echo "${names[*]}"))\$"
}

# ---- the published workloads --------------------------------------------------------------------

# Those of photographs last, and of them photos-cnn: their steps are the longest.
workloads() {
    "$here/bin/cornu" bench --help | awk '
        /^workloads:/ { on = 1; next }
        on && /^  photos/ { last = ($1 == "photos-cnn" ? last $1 : $1 "\n" last); next }
        on && /^  / { print $1; next }
        { on = 0 }
        END { if (last != "") print last }'
}

# workloads_command alone|beside VARIABLE=VALUE...: the test of workloads, into `command`. A simulated GPU gets batches of 2.
workloads_command() {
    command_of "$(tests_like '^device\.workloads_on_device' | head -n 1)" "$1"
    shift
    [ "$simulated" = false ] || command=(env CORNU_TEST_BATCH=2 "${command[@]}")
    command=(env "$@" "${command[@]}")
}

step_steps() {
    local name command
    for name in $(workloads); do
        at_most "$(several)"
        workloads_command beside CORNU_TEST_STEPS=5 "CORNU_TEST_WORKLOADS=$name"
        task steps "$name" 40 judge_test "${command[@]}" &
    done
    wait
}

step_against_cpu() {
    local name command
    for name in $(workloads); do
        at_most 2
        workloads_command beside "CORNU_TEST_WORKLOADS=$name"
        task against-cpu "$name" 90 judge_test "${command[@]}" &
    done
    wait
}

# sanitize STEP TOOL SECONDS: one workload's first step, launched operation by operation, and one from a graph.
sanitize() {
    local command
    if ! have compute-sanitizer; then
        record "$1" mnist-cnn-2 skipped 0 "compute-sanitizer is not installed"
        return
    fi
    workloads_command alone CORNU_TEST_STEPS=2 CORNU_TEST_WORKLOADS=mnist-cnn-2
    task "$1" mnist-cnn-2 "$3" judge_sanitizer compute-sanitizer --tool "$2" --error-exitcode 9 --target-processes all \
        "${command[@]}"
}

step_memcheck() {
    sanitize memcheck memcheck 90
}

step_racecheck() {
    sanitize racecheck racecheck 60
}

# "step: 1.2 ms · bound by FMA: 0.3 ms is this machine's limit (27 %)" and the like.
step_explain() {
    local name ms share
    for name in mnist-cnn-2 mnist-cnn-4 cifar10-mlp cifar10-cnn photos-cnn-ready; do
        task explain "$name" 20 judge_plain "${with_libraries[@]}" "$here/bin/cornu" explain "$name" --run --device cuda:0 ||
            continue
        ms=$(sed -n 's/^step: \([0-9.e+-]*\) ms .*/\1/p' "$work/explain.$name.out")
        share=$(sed -n 's/^step: .* ms .*(\([0-9.]*\) %).*/\1/p' "$work/explain.$name.out")
        [ -z "$ms" ] || value "$name" "explain --run cuda:0" fp32 "$ms" "$share"
    done
}

# ---- how fast it is -----------------------------------------------------------------------------

# A table of bench: "failed" with what a device's row says, or its times.
judge_bench() {
    judge_plain "$@"
    [ "$verdict" = passed ] || return 0
    message=$(awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["ms_per_step_median"]) == "" { print $(at["device"]) ": " $0; exit }' "$bench_csv")
    [ -z "$message" ] || verdict=failed
    [ -s "$bench_csv" ] || verdict=failed message="it wrote no table"
}

bench_values() {
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["ms_per_step_median"]) != "" {
            print $(at["workload"]), $(at["device"]), $(at["precision"]), $(at["ms_per_step_median"]), $(at["percent_of_limit"])
        }' "$1"
}

step_bench() {
    local name workload device precision ms share bench_csv
    for name in $(workloads); do
        bench_csv=$work/bench.$name.csv
        task bench "$name" 25 judge_bench "${with_libraries[@]}" "$here/bin/cornu" bench "$name" --device cpu,cuda:0 \
            --quick --csv "$bench_csv" --json "$work/bench.$name.json"
        [ -s "$bench_csv" ] || continue
        cp "$work/bench.$name.json" "$work/bench.$name.json.out"
        while read -r workload device precision ms share; do
            value "$workload" "cornu $device" "$precision" "$ms" "$share"
        done < <(bench_values "$bench_csv")
    done
}

step_peers() {
    local missing mark workload what precision ms
    if ! have "$python"; then
        record peers peers skipped 0 "there is no $python"
        return
    fi
    missing=$("$python" -c '
import importlib.util
print(*(m for m in ("torch", "jax") if importlib.util.find_spec(m) is None))' 2>&1)
    if [ "$missing" = "torch jax" ]; then
        record peers peers skipped 0 "$python has neither PyTorch nor JAX"
        return
    fi
    [ -z "$missing" ] || record peers "$missing" skipped 0 "$python has no $missing"
    printf '#!/bin/sh\nexec env "LD_LIBRARY_PATH=%s" "%s" "$@"\n' "$(libraries_for_cornu)" "$here/bin/cornu" >"$work/cornu"
    chmod +x "$work/cornu"
    task peers gpu_step_time 110 judge_plain "$python" -u "$here/peers/gpu_step_time.py" --cornu "$work/cornu"
    while IFS=$'\t' read -r mark workload what precision ms; do
        [ "$mark" != value ] || value "$workload" "$what" "$precision" "$ms"
    done <"$work/peers.gpu_step_time.out"
}

libraries_for_cornu() {
    local set=${with_libraries[1]:-}
    printf '%s' "${set:+${set#*=}}"
    [ -n "$set" ] || printf '%s' "${LD_LIBRARY_PATH:-}"
}

# ---- ncu ----------------------------------------------------------------------------------------

judge_ncu() {
    local refused
    judge_test "$@"
    refused=$(grep -m 1 -hE '^==ERROR== ' "$2" "$ncu_csv" 2>/dev/null)
    if [[ $refused == *ERR_NVGPUCTRPERM* || $refused == *"nitialize the profiler"* || $refused == *LibraryNot* ]]; then
        verdict=skipped message="ncu does not work here: $refused"
    elif [ "$verdict" = passed ] && ! grep -q '^"[0-9]' "$ncu_csv" 2>/dev/null; then
        verdict=failed message="ncu measured no kernel: ${refused:-$(tail -n 1 "$2")}"
    fi
}

# The five kernels of the most time in a table of ncu: time, how often, share of the memory's and the processors' peak.
slowest_kernels() {
    awk -v workload="$2" '
    function number(text) { gsub(",", "", text); return text + 0 }
    !/^"/ { next }
    { sub(/^"/, ""); sub(/"\r?$/, ""); n = split($0, f, /","/) }
    f[1] == "ID" { for (i = 1; i <= n; i++) at[f[i]] = i; next }
    {
        name = f[at["Kernel Name"]]; sub(/\(.*/, "", name)
        metric = f[at["Metric Name"]]; x = number(f[at["Metric Value"]])
        if (metric ~ /time_duration/) { time[name] += x; count[name]++; all += x; last = x }
        else if (metric ~ /^dram/) dram[name] = x
        else if (metric ~ /^sm__/) sm[name] = x
    }
    END {
        for (row = 0; row < 5; row++) {
            best = ""
            for (name in time) if (!(name in shown) && (best == "" || time[name] > time[best])) best = name
            if (best == "") break
            shown[best] = 1
            printf "  %-17s %9.2f us %3d x, %3.0f %% of the time, memory %3.0f %%, processors %3.0f %%  %s\n", workload,
                time[best] / 1e3, count[best], 100 * time[best] / all, dram[best], sm[best], substr(best, 1, 70)
        }
    }' "$1"
}

step_ncu() {
    local name command ncu_csv metrics=gpu__time_duration.sum
    metrics+=,dram__throughput.avg.pct_of_peak_sustained_elapsed,sm__throughput.avg.pct_of_peak_sustained_elapsed
    if ! have ncu; then
        record ncu ncu skipped 0 "ncu is not installed"
        return
    fi
    for name in $(workloads); do
        ncu_csv=$work/ncu.$name.csv
        workloads_command alone CORNU_TEST_STEPS=1 "CORNU_TEST_WORKLOADS=$name"
        # The clocks stay as they are.
        task ncu "$name" 40 judge_ncu ncu --clock-control none --csv --print-units base --metrics "$metrics" \
            --log-file "$ncu_csv" "${command[@]}"
        [ -s "$ncu_csv" ] || continue
        slowest_kernels "$ncu_csv" "$name" >>"$work/kernels"
        while read -r line; do
            printf '{"kernel":"%s"}\n' "$(json_text "$line")" >>"$results"
        done < <(slowest_kernels "$ncu_csv" "$name")
    done
}

#!/usr/bin/env bash
# Several processes by a real launcher: mpi_test.sh NAME MPIRUN PROGRAM. Same bits for any number of them, one that speaks,
# and an end with one line where one of them fails or hangs.
set -euo pipefail
mpi=$1 mpirun=$2 program=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
folder=$(mktemp -d)
cd "$folder"
trap 'rm -rf "$folder"' EXIT
launch=("$mpirun")
[ "$mpi" != openmpi ] || launch+=(--oversubscribe)

failed() {
    printf '%s: %s\n' "$mpi" "$1"
    [ ! -f "${2-}" ] || sed 's/^/    /' "$2"
    exit 1
}

# The launcher itself must be able to start processes here.
"${launch[@]}" -n 2 true >launcher.log 2>&1 || {
    cat launcher.log
    exit 77
}

cat >net.yaml <<'Y'
model:
  input: [32, 32, 3]
  layers:
    - Conv2D: {filters: 8, kernel_size: 3, activation: relu}
    - BatchNormalization
    - MaxPooling2D
    - Flatten
    - Dropout: {rate: 0.5}
    - Dense: {units: 10, activation: softmax}
compile: {optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}
fit: {batch_size: 32, epochs: 2, shards: 8, validation: none}
Y
# 330 pictures of noise, whose classes are the pixels' brightness.
mkdir cifar-10-batches-bin
for i in 1 2 3 4 5; do
    for n in $(seq 66); do
        label=$(((n + i) % 10))
        # shellcheck disable=SC2059
        printf "\\x0$label"
        head -c 3072 /dev/zero | tr '\0' "\\$((100 + 10 * label))"
    done >cifar-10-batches-bin/data_batch_$i.bin
done
cp cifar-10-batches-bin/data_batch_1.bin cifar-10-batches-bin/test_batch.bin
seq 10 >cifar-10-batches-bin/batches.meta.txt
train=("$program" train net.yaml --data cifar-10-batches-bin --threads 1)

# ---- same bits ----
"${train[@]}" --save 1.safetensors >1.log || failed "alone" 1.log
for ranks in 2 4 8; do
    timeout 120 "${launch[@]}" -n "$ranks" "${train[@]}" --save "$ranks.safetensors" >log 2>&1 || failed "$ranks ranks" log
    cmp 1.safetensors "$ranks.safetensors" || failed "$ranks ranks have other bits" log
    [ "$(grep -c '^saved ' log)" = 1 ] || failed "$ranks ranks: expected one that speaks" log
    if grep -q ' 1/11 ' log; then failed "$ranks ranks draw a progress line where no terminal is" log; fi
done
timeout 120 "${launch[@]}" -n 4 "${train[@]}" --epochs 1 --save part.safetensors >log 2>&1 || failed "4 ranks, one epoch" log
timeout 120 "${launch[@]}" -n 2 "$program" train --resume part.safetensors --epochs 2 --data cifar-10-batches-bin >log 2>&1 ||
    failed "2 ranks go on" log
cmp part.safetensors 1.safetensors || failed "4 ranks and then 2 have another file" log

# ---- measured ----
timeout 120 "${launch[@]}" -n 2 "$program" bench --ranks mnist-cnn-2 --quick --batch 8 --steps 1 --threads 1 \
    --forecast IB,1Gbit@200us --json ranks.json >log 2>&1 || failed "bench --ranks" log
for word in 'messages take' 'waiting' 'efficiency' 'by the model' '1Gbit@200us'; do
    [ "$(grep -c "$word" log)" -ge 1 ] || failed "bench --ranks: expected \"$word\"" log
done
[ "$(grep -c 'messages take' log)" = 1 ] || failed "bench --ranks: expected one rank that speaks" log
python3 - <<'P' || failed "bench --ranks: its JSON" ranks.json
import json

result = json.load(open("ranks.json"))["results"][0]
times = [result[k + "_seconds"] for k in ("made", "waited", "applied", "alone", "sum", "model", "slowest")]
assert all(t > 0 for t in times), result
assert result["slowest_seconds"] >= 0.999 * result["made_seconds"], result
assert 0.5 * result["step_seconds"] < sum(times[:3]) < 1.5 * result["step_seconds"], result
assert [len(f["steps"]) for f in result["forecasts"]] == [11, 11], result
assert all(a["seconds"] <= b["seconds"] for f in result["forecasts"] for a, b in zip(f["steps"], f["steps"][1:])), result
P

# ---- a folder of pictures: each rank decodes its share ----
cat >pictures.yaml <<'Y'
data: {image_size: 8, channels: 1, validation_split: 0.2}
model: {input: [8, 8, 1], layers: [Flatten, {Dense: {units: 8, activation: relu}}, {Dense: {units: 2, activation: softmax}}]}
compile: {optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}
fit: {batch_size: 16, epochs: 1, shards: 8, validation: test, validation_batch_size: 8}
Y
mkdir -p pictures/a pictures/b
for n in $(seq 100 299); do
    class=a
    [ $((n % 2)) = 0 ] || class=b
    # shellcheck disable=SC2059
    printf 'P5 8 8 255 %064d' "$n" >pictures/$class/$n.pgm
done
printf 'P5 8 8 255 ' >pictures/a/150.pgm # cut off
train_pictures=("$program" train pictures.yaml --threads 1 --workers 1)
"${train_pictures[@]}" --data pictures --save p1.safetensors >log 2>&1 || failed "pictures, alone" log
for ranks in 2 4; do
    timeout 120 "${launch[@]}" -n "$ranks" "${train_pictures[@]}" --data pictures --save p.safetensors >log 2>&1 ||
        failed "pictures, $ranks ranks" log
    cmp p1.safetensors p.safetensors || failed "pictures: $ranks ranks have other bits" log
    [ "$(grep -c '150.pgm: .*skipped' log)" = 1 ] || failed "the damaged picture is told once" log
    decoded=$(sed -n 's/^images: \([0-9]*\) decoded.*/\1/p' log)
    if [ "$decoded" -lt $((160 / ranks)) ] || [ "$decoded" -gt $((240 / ranks)) ]; then
        failed "rank 0 of $ranks decoded $decoded of 200 pictures" log
    fi
done

# ---- a sweep: each rank has runs of its own, one has the table ----
timeout 120 "${launch[@]}" -n 4 "${train[@]}" --sweep seed=1..3 --sweep epochs=1,2 --save w.safetensors >log 2>&1 ||
    failed "a sweep" log
for seed in 1 2 3; do
    for epochs in 1 2; do
        "${train[@]}" --seed "$seed" --epochs "$epochs" --quiet --save s.safetensors
        cmp s.safetensors "w-seed=$seed-epochs=$epochs.safetensors" || failed "a run of the sweep has other bits" log
    done
done
# MPICH's launcher may put a line of one rank into the middle of another's.
[ "$(grep -o ' of 6: ' log | wc -l)" = 6 ] || failed "a sweep: expected a line for each run" log
[ "$(grep -c '^ *[1-3]  *[12]  ' log)" = 6 ] || failed "a sweep: expected one table" log
written=$(stat -c '%n %i %y' w-*.safetensors)
timeout 120 "${launch[@]}" -n 2 "${train[@]}" --sweep seed=1..3 --sweep epochs=1,2 --resume w.safetensors >log 2>&1 ||
    failed "a sweep that goes on" log
[ "$(stat -c '%n %i %y' w-*.safetensors)" = "$written" ] || failed "a sweep: expected no run again" log

# ---- what ranks do not divide ----
timeout 60 "${launch[@]}" -n 2 "$program" evaluate 1.safetensors --data cifar-10-batches-bin >log 2>&1 || failed "evaluate" log
[ "$(grep -c 'the first of 2 ranks does this alone' log)" = 1 ] || failed "evaluate: expected a line" log
[ "$(grep -c 'loss' log)" = 1 ] || failed "evaluate: expected one result" log

# ---- failures: the line, and how long it takes ----
# expect_line SECONDS LINE COMMAND…
expect_line() {
    local limit=$1 line=$2 began=$SECONDS
    shift 2
    if timeout 60 "$@" >log 2>&1; then failed "expected a failure: $line" log; fi
    grep -q "^cornu: .*$line" log || failed "expected: $line" log
    [ "$(grep -c '^cornu: ' log)" = 1 ] || failed "expected one line" log
    [ $((SECONDS - began)) -le "$limit" ] || failed "expected an end within $limit s, took $((SECONDS - began))" log
}
expect_line 10 'ranks: found 3 processes; expected a power of two' "${launch[@]}" -n 3 "${train[@]}"
expect_line 10 'seed: found 4 on rank 1 (.*); expected 3, as on rank 0 (' \
    "${launch[@]}" -n 1 "${train[@]}" --seed 3 : -n 1 "${train[@]}" --seed 4
expect_line 10 'rank 1 (.*): .*nowhere' "${launch[@]}" -n 1 "${train[@]}" : -n 1 "${train[@]}" --data nowhere
cp -r pictures others
printf 'P5 8 8 255 %065d' 1 >others/b/201.pgm
expect_line 10 'files of the pictures: found 200 .* on rank 1 (' "${launch[@]}" -n 1 "${train_pictures[@]}" \
    --data pictures : -n 1 "${train_pictures[@]}" --data others
expect_line 10 'sweep: found another version, recipe or --sweep on rank 1' \
    "${launch[@]}" -n 1 "${train[@]}" --sweep seed=1,2 : -n 1 "${train[@]}" --sweep seed=1,3
expect_line 10 'shards: found 2, and 4 ranks' "${launch[@]}" -n 4 "${train[@]}" --shards 2

# One that hangs: rank 1 is stopped in the middle of a long run.
forever=("${train[@]}" --epochs 1000000 --save k.safetensors)
timeout 60 "${launch[@]}" -n 2 "${forever[@]}" >log 2>&1 &
launcher=$!
hung=
for _ in $(seq 200); do
    sleep 0.1
    [ -s k.safetensors ] || continue
    for pid in $(pgrep -f "$program train net.yaml.*1000000" || true); do
        if tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qE '^(OMPI_COMM_WORLD_RANK|PMI_RANK)=1$' &&
            [ "$(cat "/proc/$pid/comm")" = cornu ] && grep -q "^PWD=$folder$" <(tr '\0' '\n' <"/proc/$pid/environ"); then
            hung=$pid
        fi
    done
    [ -z "$hung" ] || break
done
[ -n "$hung" ] || failed "did not find rank 1" log
kill -STOP "$hung"
began=$SECONDS
wait "$launcher" && failed "a rank that hangs: expected a failure" log
kill -KILL "$hung" 2>/dev/null || true
[ $((SECONDS - began)) -le 12 ] || failed "a rank that hangs: expected an end within 10 s" log
grep -q '^cornu: rank 1 (.*) has not answered rank 0 (.*) for 5 s' log || failed "a rank that hangs is named" log
"$program" summary k.safetensors >/dev/null || failed "the model file is whole" log

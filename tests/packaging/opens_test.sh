#!/usr/bin/env bash
# Opening a file opens nothing else, whatever the file names: strace sees each path that the program asks the system
# for, also those that are not there. opens_test.sh SOURCE_FOLDER PROGRAM
set -euo pipefail
source=$(readlink -f "$1")
program=$(readlink -f "$2")
for tool in strace python3; do
    command -v "$tool" >/dev/null || {
        echo "skipped: $tool is not installed"
        exit 77
    }
done
strace -o /dev/null true 2>/dev/null || {
    echo "skipped: strace may not trace here (ptrace is not permitted)"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # which ptrace is for, too
build=$(dirname "$program")

# Where a program and its libraries look by themselves, whatever its file: besides what `cornu version` looks at (libzip: the
# time zone).
system="/lib/|/lib64/|/usr/lib/|/usr/local/lib/|/proc/|/sys/|/dev/(null|urandom|tty)$|/etc/localtime$|$build(/|$)"

# paths: in the file `trace`, each once, but for the program's own.
paths() {
    sed 1d trace | grep -vE '^([0-9]+ +)?(execve|socket|connect|bind|readlink)\(' | grep -oE '"([^"\\]|\\.)*"' |
        tr -d '"' | sort -u
}

# others IN OUT: paths that are neither the system's, nor IN, nor beside OUT; and whatever reaches the network or starts
# a program.
others() {
    sed 1d trace | grep -E '^([0-9]+ +)?(execve|socket|connect|bind)\(' || true
    paths | grep -vE "^($system)" | grep -vxF -f usual -e "$1" -e "$2" -e . -e ./ -e "" -e "$PWD" |
        grep -vE "^(\./)?\.?$2\." || true
}

strace -f -qq -s 4096 -e trace=%file -o trace "$program" version >output
paths >usual

runs=0
# opens_only IN OUT ARGUMENT...: the program with these arguments, whether it succeeds or refuses.
opens_only() {
    local in=$1 out=$2 status=0 found
    shift 2
    strace -f -qq -s 4096 -e trace=%file,%network -o trace "$program" "$@" >output 2>&1 || status=$?
    [ "$status" -lt 126 ] || {
        echo "cornu $* ended with status $status: $(cat output)"
        exit 1
    }
    grep -qF "\"$in\"" trace || {
        echo "cornu $* did not open $in, or strace did not see it: $(cat output)"
        exit 1
    }
    found=$(others "$in" "$out")
    [ -z "$found" ] || {
        printf 'cornu %s opened something else:\n%s\n' "$*" "$found"
        return 1
    }
    runs=$((runs + 1))
}

# Keras's files, real and hostile ones, which name /etc/passwd; seeds.py adds a byte to each.
python3 "$source/tests/fuzz/seeds.py" seeds
for file in seeds/keras/*; do
    head -c -1 "$file" >"$(basename "$file")"
done

# Model files of cornu's own, with a recipe that names paths of this machine.
mkdir -p theirs/train/a theirs/train/b mine/test/a mine/test/b
for folder in theirs/train mine/test; do
    for class in a b; do
        printf 'P2 2 2 255 0 9 99 255\n' >"$folder/$class/1.pgm"
    done
done
cat >recipe.yaml <<'END'
data: {folder: theirs, image_size: [2, 2]}
model: {input: [2, 2, 3], layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}
compile: {optimizer: sgd, loss: categorical_crossentropy}
fit: {batch_size: 2, epochs: 1, callbacks: [{csv_logger: {filename: theirs.csv}}]}
END
"$program" train recipe.yaml --quiet --save own.safetensors >/dev/null
"$program" convert own.safetensors own.onnx >/dev/null

# ONNX: a constant of a file named by "location", merged into the graph as its second piece.
{
    cat own.onnx
    printf '\x3a\x20\x2a\x1e\x42\x01e\x6a\x17\x0a\x08location\x12\x0b/etc/passwd\x70\x01'
} >external.onnx
# Safetensors: another file's name as metadata and as a tensor's.
python3 - <<'END'
header = (b'{"__metadata__":{"weights":"/etc/passwd","format":"pt"},"/etc/passwd":{"dtype":"F32","shape":[1],'
          b'"data_offsets":[0,4]}}')
with open("names.safetensors", "wb") as f:
    f.write(len(header).to_bytes(8, "little") + header + bytes(4))
END

for file in *.h5 *.keras *.onnx *.safetensors; do
    opens_only "$file" none summary "$file"
done
for file in external-link.weights.h5 soft-link.weights.h5 virtual.weights.h5 unlimited-virtual.weights.h5 \
    external-data.weights.h5 latest.h5 conv.h5 absolute.keras upwards.keras assets.keras pickled.keras lambda.keras \
    latest.keras conv.keras external.onnx own.onnx names.safetensors own.safetensors; do
    rm -f out.safetensors
    opens_only "$file" out.safetensors convert "$file" out.safetensors
    # Besides, the pictures that the caller names.
    system="$system|mine(/|$)" opens_only "$file" none evaluate "$file" --device cpu --data mine
done
cp own.safetensors m.safetensors
for weights in external-link.weights.h5 virtual.weights.h5 external-data.weights.h5 absolute.keras external.onnx \
    names.safetensors; do
    system="$system|recipe\.yaml$|theirs(/|$)" opens_only "$weights" none train recipe.yaml --device cpu --init "$weights"
done

# What opens something else is seen: the same program behind one that looks into a link's target.
cat >looks <<END
#!/bin/sh
[ ! -r theirs/secret ]
read -r line <mine/test/a/1.pgm
exec "$program" "\$@"
END
chmod +x looks
program=$PWD/looks
opens_only conv.h5 none summary conv.h5 >seen && {
    echo "a program that opens another file passed"
    exit 1
}
for name in theirs/secret mine/test/a/1.pgm execve; do
    grep -qF "$name" seen || {
        echo "a program that opens $name was not seen: $(cat seen)"
        exit 1
    }
done
echo "$runs runs opened nothing but their files"

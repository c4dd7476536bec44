#!/usr/bin/env bash
# The pages that cornu writes are valid HTML, as tidy reads it, and small: html_test.sh PROGRAM
set -euo pipefail
program=$(readlink -f "$1")
command -v tidy >/dev/null || {
    echo "skipped: tidy is not installed"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p 'photos/train/<b>"cats" & dogs' photos/train/birds
for class in photos/train/*; do
    for value in 10 120 240; do
        printf 'P2 2 2 255 %d %d %d %d\n' 0 "$value" 9 "$value" >"$class/$value.pgm"
    done
done
cat >recipe.yaml <<'EOF'
name: "<i>a & b"
data: {folder: photos, image_size: [4, 4]}
model: {input: [4, 4, 3], layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}
compile: {optimizer: sgd, loss: categorical_crossentropy, metrics: [accuracy]}
fit: {batch_size: 3, epochs: 3}
EOF
"$program" train recipe.yaml --quiet --html train.html >/dev/null
"$program" bench mnist-cnn-2 cifar10-mlp --steps 1 --html bench.html >/dev/null
"$program" bench mnist-cnn-2 --steps 1 --sweep batch=1,2 --html sweep.html >/dev/null
"$program" advise mnist-cnn-2 --seconds 1 --device cpu --sweep batch=1,2 --html advise.html >/dev/null

for page in train bench sweep advise; do
    # 1: warnings, 2: errors; bars are elements without content
    tidy -quiet -errors --drop-empty-elements no "$page.html" || {
        echo "$page.html is no valid HTML, as above"
        exit 1
    }
    size=$(stat -c %s "$page.html")
    [ "$size" -lt 300000 ] || {
        echo "$page.html has $size bytes; expected less than 300000"
        exit 1
    }
    # Of itself alone: nothing is loaded, and nothing runs.
    ! grep -nE '<(script|link|iframe|object|embed|img)\b|url\(|@import|src=' "$page.html" || {
        echo "$page.html is not self-contained, as above"
        exit 1
    }
done

# A sweep has a row for each batch.
grep -q 'scope="row">2</th><td>cpu</td>' sweep.html || {
    echo "sweep.html has no row of batch 2 on cpu"
    exit 1
}

# The page and the terminal say the same time, and the summary how good the model is.
took=$("$program" train recipe.yaml --html train.html | sed -n 's/^trained 3 epochs in //p')
grep -q "class=\"answer\">3 epochs in $took: accuracy " train.html || {
    echo "the terminal says \"$took\"; the page: $(grep 'class="answer"' train.html)"
    exit 1
}

# What is not valid is seen.
sed '0,/<\/table>/s///; s/<main>/<main><p id="twice"><\/p><p id="twice"><\/p>/' train.html >broken.html
! tidy -quiet -errors broken.html 2>/dev/null || {
    echo "tidy does not see a table without an end"
    exit 1
}

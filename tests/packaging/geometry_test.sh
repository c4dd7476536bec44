#!/usr/bin/env bash
# Where the pages' boxes are, as headless Chromium renders them on a telephone, on A4, on a screen and on a wide one:
# nothing is cut off, no line is filled, no text lies on another. geometry_test.sh PROGRAM [PAGE.html...]
set -euo pipefail
program=$(readlink -f "$1") here=$(cd "$(dirname "$0")" && pwd)
shift
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || {
    echo "skipped: no Chromium is installed"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages=()
for page in "$@"; do pages+=("$(readlink -f "$page")"); done
cd "$work"

# $1: the page that holds PAGE in frames of four widths, and measures them
in_frames() {
    local out=$1 page width
    shift
    {
        echo '<!DOCTYPE html><html><head><meta charset="utf-8"></head><body><pre id="found"></pre>'
        for page in "$@"; do
            for width in 360 680 1280 2560; do
                printf '<iframe title="%s" width="%s" height="900" style="border:0" srcdoc="' "$(basename "$page")" "$width"
                sed 's/&/\&amp;/g; s/"/\&quot;/g' "$page"
                echo '"></iframe>'
            done
        done
        echo '<script>'
        cat "$here/geometry.js"
        echo '</script></body></html>'
    } >"$out"
}

# What Chromium finds in the page $1, between the lines of its DOM.
measure() {
    timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --hide-scrollbars --window-size=2700,1000 \
        --virtual-time-budget=60000 --dump-dom "file://$work/$1" 2>/dev/null |
        sed -n '/<pre id="found">/,/<\/pre>/p' | sed 's/.*<pre id="found">//; s/<\/pre>.*//'
}

make_pages() {
    local class value
    for class in 'photos/train/<b>"cats" & dogs' photos/train/birds-whose-name-is-so-long-that-it-does-not-fit-a-line; do
        mkdir -p "$class"
        for value in 10 120 240; do
            printf 'P2 2 2 255 %d %d %d %d\n' 0 "$value" 9 "$value" >"$class/$value.pgm"
        done
    done
    cat >recipe.yaml <<'EOF'
name: "<i>a & b"
data: {folder: photos, image_size: [4, 4]}
model: {input: [4, 4, 3], layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}
compile: {optimizer: sgd, loss: categorical_crossentropy, metrics: [accuracy]}
fit: {batch_size: 3, epochs: 3, validation_split: 0.34}
EOF
    "$program" train recipe.yaml --quiet --html train.html >/dev/null
    "$program" bench mnist-cnn-2 cifar10-mlp --steps 1 --html bench.html >/dev/null
    "$program" bench mnist-cnn-2 --steps 1 --sweep batch=1,2 --html sweep.html >/dev/null
    "$program" advise cifar10-mlp --seconds 1 --device cpu --sweep batch=1,2 --html advise.html >/dev/null
    pages=("$work/train.html" "$work/bench.html" "$work/sweep.html" "$work/advise.html")
}

[ ${#pages[@]} -gt 0 ] || make_pages
in_frames frames.html "${pages[@]}"
found=$(measure frames.html)
[[ $found == done:* ]] || {
    echo "expected nothing before the line done; found:"
    echo "${found:-nothing}"
    exit 1
}

# What is wrong is seen.
cat >wrong.html <<'EOF'
<!DOCTYPE html><html><head><title>wrong</title><style>.s0{fill:red}</style></head><body><main>
<p style="width:3000px">wide</p><p style="position:absolute;left:0;top:100px">one</p>
<p style="position:absolute;left:5px;top:102px">two</p><svg><path class="line s0" d="M0 0L9 9"/></svg></main></body></html>
EOF
in_frames frames.html wrong.html
found=$(measure frames.html)
for expected in "the page is" 'overlaps' 'a line is filled'; do
    grep -q "$expected" <<<"$found" || {
        echo "expected \"$expected\" of a page that is wrong; found: $found"
        exit 1
    }
done

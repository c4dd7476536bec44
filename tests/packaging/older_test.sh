#!/usr/bin/env bash
# Programs of an older and of a later version run with this library: older_test.sh SOURCE_FOLDER LIBRARY
# The older one was compiled when some structs lacked their last fields, the later one when they had one more.
set -euo pipefail
source=$1 library=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# headers NAME SED_SCRIPT: the interface of another version
headers() {
    mkdir "$work/$1"
    cp -r "$source/include/cornu" "$work/$1/cornu"
    sed -i -E "$2" "$work/$1/cornu/cornu.h"
    ! cmp -s "$work/$1/cornu/cornu.h" "$source/include/cornu/cornu.h"
}
headers older '/^ *bool recompute;/{N;d}; /^ *int all_count;/,/^ *double all_value\[/d'
headers later 's/^\} (cornu_fit_options|cornu_scores);$/int64_t added;\n&/'

cat >"$work/program.c" <<'PROGRAM'
#include <cornu/cornu.h>
#include <cornu/data.h>
#include <stdio.h>
#include <string.h>

static const char recipe[] = "model: {input: [4], layers: [{Dense: {units: 2, activation: softmax}}]}\n"
                             "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}\n";

int main(void)
{
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    struct {
        cornu_scores scores;
        unsigned char after[64];
    } place;
    memset(&place, 0x5a, sizeof place);
    memset(&place.scores, 0, sizeof place.scores);
    place.scores.size = sizeof place.scores;
    cornu_fit_options options = {.size = sizeof options, .where.threads = 1, .epochs = 2};
#ifdef ADDED
    options.added = ADDED;
    place.scores.added = 7;
#endif
    int failed = cornu_model_parse(recipe, "small.yaml", &model) ||
                 cornu_data_generate((const int64_t[]){4}, 1, 2, 64, 1, &data) ||
                 cornu_fit(model, data, &options, NULL) ||
                 cornu_evaluate(model, data, NULL, &place.scores);
    if (failed)
        printf("%s\n", cornu_last_error());
    for (size_t i = 0; i < sizeof place.after; i++)
        failed |= place.after[i] != 0x5a;
    failed |= place.scores.count < 1 || strcmp(place.scores.name[0], "loss") != 0;
#ifdef ADDED
    failed |= place.scores.added != 0;
#endif
    printf("%zu %zu\n", sizeof options, sizeof place.scores);
    cornu_data_close(data);
    cornu_model_close(model);
    return failed;
}
PROGRAM

# compile NAME HEADERS [OPTION ...]
compile() {
    local out=$1 version=$2
    shift 2
    ln -sf "$library" "$work/libcornu.so"
    "${CC:-cc}" -std=c17 -Wall -Werror "$@" -I"$work/$version" "$work/program.c" -o "$work/run-$out" \
        -L"$work" -lcornu -Wl,-rpath,"$(dirname "$library")"
}
compile older older
compile later later -DADDED=0
compile refused later -DADDED=1

"$work/run-older" >"$work/sizes.older"
"$work/run-later" >"$work/sizes.later"
! cmp -s "$work/sizes.older" "$work/sizes.later" || {
    echo "both programs have structs of the same size: $(cat "$work/sizes.older")"
    exit 1
}
if "$work/run-refused" >"$work/said" ||
    ! grep -q '^cornu_fit_options.size: found [0-9]*, with a field set' "$work/said"; then
    echo "a field that this library does not know was set; it said: $(cat "$work/said")"
    exit 1
fi

# Programs are bound to the version of the interface that they were linked with.
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[libcornu\.so\.\(.*\)\]/\1/p')
needed=$(readelf -V "$work/run-older" | grep -o "CORNU_[0-9.]*" | sort -u)
[ "$needed" = "CORNU_$soname" ] || {
    echo "the program needs \"$needed\"; expected CORNU_$soname, the SONAME's"
    exit 1
}

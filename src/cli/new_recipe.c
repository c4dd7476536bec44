/* The recipe that `cornu new` writes. Its numbers are those of Keras's tutorials for a few
   hundred to some thousand photographs, smaller for small pictures; a comment gives the reason
   for each. */
#include "cli/new.h"
#include <cornu/data.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- choosing --------------------------------------------------------------------------- */

enum { SIDE_MOST = 128, SIDE_KEPT = 48 }; /* pixels; small pictures keep their size */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The shorter side of the input for pictures with this shorter side. */
static int64_t choose_side(int64_t shorter)
{
    return shorter <= SIDE_KEPT ? shorter : smaller(shorter, SIDE_MOST) / 16 * 16;
}

static void choose_size(const new_data *d, new_recipe *r)
{
    int64_t shorter = smaller(d->height, d->width), longer = d->height + d->width - shorter;
    int64_t side = choose_side(shorter);
    r->height = r->width = side;
    if (!d->one_shape || longer > 2 * shorter)
        return; /* the middle of each picture */
    int64_t other = side <= SIDE_KEPT ? (side * longer + shorter / 2) / shorter
                                      : (side * longer / shorter + 4) / 8 * 8;
    if (d->height < d->width)
        r->width = other;
    else
        r->height = other;
}

/* About twenty steps per epoch if there are enough pictures, and batches of at most 32. */
static int64_t choose_batch(int64_t samples)
{
    return samples >= 640 ? 32 : samples >= 160 ? 16 : 8;
}

void new_choose(const new_data *d, new_recipe *r)
{
    if (d->pictures) {
        choose_size(d, r);
    } else {
        r->height = d->height;
        r->width = d->width;
    }
    r->channels = d->grey ? 1 : 3;
    r->batch = choose_batch(d->info.count[CORNU_TRAIN]);
    r->tests = d->info.count[CORNU_TEST] > 0;
    int64_t side = smaller(r->height, r->width);
    while (r->blocks < 4 && side >= 8) { /* until about 4x4 to 8x8 positions are left */
        side /= 2;
        r->blocks++;
    }
}

/* ---- writing ---------------------------------------------------------------------------- */

static void write_heading(const new_data *d, const new_recipe *r, FILE *f)
{
    char what[600];
    cornu_printable(d->what, what, sizeof what);
    print_to(
        f,
        "# Made by `cornu new %s` for %s:\n# %lld %s to train with, %lld to test, %d classes%s:\n",
        r->name, what, (long long)d->info.count[CORNU_TRAIN], d->pictures ? "pictures" : "samples",
        (long long)d->info.count[CORNU_TEST], d->info.class_count, d->grey ? ", in grey" : "");
    for (int i = 0; i < d->info.class_count && i < 100; i++) {
        const char *name = cornu_data_class_name(d->data, i);
        cornu_printable(name ? name : "", what, sizeof what);
        print_to(f, "#   %d %s\n", i, what);
    }
    print_to(f, "# What each key means: docs/recipes.md. Change what you like.\n");
}

/* NAME: "a string", as YAML and JSON write it. False where it is no UTF-8. */
static bool write_string(const char *key, const char *value, FILE *f)
{
    json_t *string = json_string(value);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (text)
        print_to(f, "%s: %s\n", key, text);
    else
        fail(STATUS_FAILURE,
             "%s: found a name that is no UTF-8; expected one that can stand in a "
             "recipe",
             value);
    free(text);
    json_decref(string);
    return text != NULL;
}

/* A recipe's paths are relative to it. */
static bool write_path(const new_data *d, const new_recipe *r, const char *key, FILE *f)
{
    bool elsewhere = strchr(r->file, '/') && *d->what != '/';
    char *full = elsewhere ? realpath(d->what, NULL) : NULL;
    bool written = write_string(key, full ? full : d->what, f);
    free(full);
    return written;
}

static bool write_source(const new_data *d, const new_recipe *r, FILE *f)
{
    cornu_dataset_info set;
    for (int i = 0; cornu_dataset_info_get(i, &set); i++)
        if (strcmp(set.name, d->what) == 0)
            return write_string("  name", d->what, f);
    size_t length = strlen(d->what);
    bool file = length > 4 && strcmp(d->what + length - 4, ".npz") == 0;
    return write_path(d, r, file ? "  file" : "  folder", f);
}

static void write_augment(const new_recipe *r, FILE *f)
{
    bool small = smaller(r->height, r->width) <= SIDE_KEPT;
    print_to(f, "  augment: # random changes of the training pictures, drawn anew in each epoch\n"
                "    rotation_range: 10\n"
                "    width_shift_range: 0.1\n"
                "    height_shift_range: 0.1\n"
                "    zoom_range: 0.1\n");
    if (r->channels == 3)
        print_to(f, "    horizontal_flip: true # not where left and right matter\n");
    else if (small)
        print_to(f, "    horizontal_flip: false # letters and digits have a left and a right\n");
}

static bool write_data(const new_data *d, const new_recipe *r, FILE *f)
{
    print_to(f, "\ndata:\n");
    if (!write_source(d, r, f))
        return false;
    if (d->pictures) {
        print_to(f, "  image_size: [%lld, %lld] # height, width\n  channels: %d\n",
                 (long long)r->height, (long long)r->width, r->channels);
        print_to(f, "  interpolation: box # looks at every pixel when it shrinks a picture\n");
        if (!d->one_shape)
            print_to(f, "  keep_aspect_ratio: true # takes the middle of each picture\n");
        if (d->split > 0)
            print_to(
                f, "  validation_split: %.1f # of each class's files, as there is no test folder\n",
                d->split);
    }
    write_augment(r, f);
    return true;
}

static void write_model(const new_data *d, const new_recipe *r, FILE *f)
{
    static const int filters[] = {32, 64, 128, 128};
    print_to(f, "\nmodel:\n  input: [%lld, %lld, %d]\n  layers:\n", (long long)r->height,
             (long long)r->width, r->channels);
    for (int i = 0; i < r->blocks; i++)
        print_to(f,
                 "    - Conv2D: {filters: %d, kernel_size: 3, padding: same, activation: relu}\n"
                 "    - MaxPooling2D: {pool_size: 2}\n",
                 filters[i]);
    print_to(f,
             "    - Flatten\n"
             "    - Dropout: {rate: 0.3}\n"
             "    - Dense: {units: 128, activation: relu}\n"
             "    - Dense: {units: %d, activation: softmax} # a unit a class\n",
             d->info.class_count);
}

/* Early stopping waits longer where an epoch is short. */
static void write_fit(const new_data *d, const new_recipe *r, FILE *f)
{
    int64_t samples = d->info.count[CORNU_TRAIN];
    int epochs = samples < 10000 ? 40 : 20, patience = samples < 10000 ? 8 : 4;
    print_to(f, "\ncompile:\n  optimizer: {adam: {learning_rate: 0.001}}\n"
                "  loss: sparse_categorical_crossentropy\n  metrics: [accuracy]\n");
    print_to(f, "\nfit:\n  batch_size: %lld\n  epochs: %d # at most\n", (long long)r->batch,
             epochs);
    if (r->tests)
        print_to(f, "  validation: test\n");
    else
        print_to(f, "  validation: 0.2\n");
    print_to(f,
             "  callbacks:\n"
             "    - early_stopping: {monitor: val_loss, patience: %d, restore_best_weights: "
             "true}\n",
             patience);
    print_to(f, "    - checkpoint: {filepath: best.safetensors, monitor: val_loss, save_best_only: "
                "true}\n");
}

bool new_write(const new_data *d, const new_recipe *r, FILE *f)
{
    write_heading(d, r, f);
    print_to(f, "\n");
    if (!write_string("name", r->name, f) || !write_data(d, r, f))
        return false;
    write_model(d, r, f);
    write_fit(d, r, f);
    return !ferror(f);
}

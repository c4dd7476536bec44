/* cornu new: looks at a data set, and writes a recipe for it. */
#include "base/files.h"
#include "cli/cli.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/model.h>
#include <cornu/tables.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The facts of the data that decide how its recipe looks. */
typedef struct new_data {
    const char *what; /* as in --data */
    cornu_data *data;
    double split; /* share for validation if there is no test split; or 0 */
    cornu_data_info info;
    bool pictures;         /* a folder of them; else arrays of one shape */
    int64_t height, width; /* medians of the inspected pictures */
    bool grey;             /* all that were looked at */
    bool one_shape;        /* all of the same proportions */
} new_data;

/* The names of the recipe, and its chosen settings. */
typedef struct new_recipe {
    const char *name;      /* "flowers" */
    const char *file;      /* "flowers.yaml" */
    int64_t height, width; /* size of the network's input */
    int channels, blocks;  /* blocks: convolution and pooling */
    int64_t batch;
    bool tests; /* the data has a test split */
} new_recipe;

/* ---- the recipe ----------------------------------------------------------------------------- */

/* The recipe that `cornu new` writes. Its numbers are those of Keras's tutorials for a few
   hundred to some thousand photographs, smaller for small pictures; a comment gives the reason
   for each. */

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

/* Choose the recipe's settings for the data. */
static void choose_recipe(const new_data *d, new_recipe *r)
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
    cornu_dataset_info set = {.size = sizeof set};
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

/* Write the recipe. False if writing fails, or if the data's name is not possible in a recipe. */
static bool print_recipe(const new_data *d, const new_recipe *r, FILE *f)
{
    write_heading(d, r, f);
    print_to(f, "\n");
    if (!write_string("name", r->name, f) || !write_data(d, r, f))
        return false;
    write_model(d, r, f);
    write_fit(d, r, f);
    return !ferror(f);
}

/* ---- the command ------------------------------------------------------------------------ */

/* ---- looking ---------------------------------------------------------------------------- */

enum { LOOKED_AT = 24 }; /* pictures, spread over the training samples: a second or two */

typedef struct sizes {
    int64_t height[LOOKED_AT], width[LOOKED_AT];
    int count;
    bool grey;
} sizes;

static bool is_grey(const uint8_t *pixels, const int64_t shape[3])
{
    for (int64_t i = 0; shape[2] == 3 && i < shape[0] * shape[1]; i++)
        if (pixels[3 * i] != pixels[3 * i + 1] || pixels[3 * i] != pixels[3 * i + 2])
            return false;
    return true;
}

static void look_at(const char *path, sizes *s)
{
    uint8_t *pixels = NULL;
    int64_t shape[3];
    const cornu_image_options as_they_are = {.size = sizeof as_they_are, .height = 0};
    if (cornu_image_load(path, NULL, 0, &as_they_are, &pixels, shape) != CORNU_OK)
        return; /* training leaves it out, too, and says so */
    s->height[s->count] = shape[0];
    s->width[s->count++] = shape[1];
    s->grey &= is_grey(pixels, shape);
    cornu_free(pixels);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(const int64_t *values, int count)
{
    int64_t sorted[LOOKED_AT];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return sorted[count / 2];
}

/* True if all are within a twentieth of the aspect ratio of the medians. */
static bool have_one_shape(const sizes *s, const new_data *d)
{
    for (int i = 0; i < s->count; i++) {
        double ratio = (double)(s->height[i] * d->width) / (double)(s->width[i] * d->height);
        if (ratio < 0.95 || ratio > 1.05)
            return false;
    }
    return true;
}

static int look_at_pictures(new_data *d)
{
    sizes s = {.grey = true};
    int64_t count = d->info.count[CORNU_TRAIN],
            step = count / LOOKED_AT > 0 ? count / LOOKED_AT : 1;
    for (int64_t i = 0; i < count && s.count < LOOKED_AT; i += step)
        look_at(cornu_data_sample_file(d->data, CORNU_TRAIN, i), &s);
    if (s.count == 0)
        return fail(STATUS_FAILURE, "%s: found no picture that can be read; expected some",
                    d->what);
    d->height = median(s.height, s.count);
    d->width = median(s.width, s.count);
    d->grey = s.grey;
    d->one_shape = have_one_shape(&s, d);
    return STATUS_OK;
}

static int look_at_data(new_data *d)
{
    int64_t shape[3];
    cornu_data_loading loading = {.size = sizeof loading};
    int status = exit_status(cornu_data_loading_get(d->data, &loading));
    if (status != STATUS_OK)
        return status;
    if (d->info.class_count < 2)
        return fail(STATUS_FAILURE, "%s: found %d class%s; expected two or more, a folder each",
                    d->what, d->info.class_count, d->info.class_count == 1 ? "" : "es");
    d->pictures = loading.files > 0;
    if (d->pictures)
        return look_at_pictures(d);
    status = exit_status(cornu_data_picture_shape(d->data, shape));
    d->height = shape[0];
    d->width = shape[1];
    d->grey = shape[2] == 1;
    d->one_shape = true;
    return status;
}

/* ---- the file --------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcasecmp(text + length - tail, ending) == 0;
}

/* "flowers" and "flowers.yaml" of both. */
static int name_recipe(const char *given, char *file, char *name, size_t size)
{
    const char *slash = strrchr(given, '/'), *base = slash ? slash + 1 : given;
    bool whole = ends_with(given, ".yaml") || ends_with(given, ".yml");
    const char *dot = whole ? strrchr(base, '.') : base + strlen(base);
    if (dot == base || strlen(given) + 6 > size)
        return fail_usage(&command_new, "NAME: found \"%s\"; expected a name such as flowers",
                          given);
    snprintf(file, size, "%s%s", given, whole ? "" : ".yaml");
    snprintf(name, size, "%.*s", (int)(dot - base), base);
    return STATUS_OK;
}

static int write_recipe(const new_data *d, const new_recipe *r)
{
    int fd;
    FILE *f = file_stream_open(r->file, O_EXCL, &fd);
    if (!f && errno == EEXIST)
        return fail(STATUS_FAILURE, "%s: found this file; expected a name that is free", r->file);
    if (!f)
        return fail(STATUS_FAILURE, "%s: cannot be written: %s", r->file, strerror(errno));
    bool written = print_recipe(d, r, f);
    int error = errno;
    written &= fclose(f) == 0;
    if (written)
        return STATUS_OK;
    remove(r->file);
    return fail(STATUS_FAILURE, "%s: cannot be written: %s", r->file, strerror(error));
}

static int say_what_follows(const new_data *d, const new_recipe *r)
{
    cornu_model *model = NULL;
    int status = exit_status(cornu_model_open(r->file, &model));
    if (status == STATUS_OK) {
        print("wrote %s: %d classes, pictures as %lldx%lldx%d, %lld parameters\ntrain it with:"
              " cornu train",
              r->file, d->info.class_count, (long long)r->height, (long long)r->width, r->channels,
              (long long)cornu_model_parameter_count(model));
        print_word(stdout, r->file);
        print(" --save");
        char save[4200];
        snprintf(save, sizeof save, "%s.safetensors", r->name);
        print_word(stdout, save);
        print("\n");
    }
    cornu_model_close(model);
    return status;
}

/* ---- the data --------------------------------------------------------------------------- */

/* Open the data with this share of a folder's files for validation; the first call prints what
   the folder contains. */
static int open_as(new_data *d, double split, progress *p)
{
    cornu_data_options options = {.size = sizeof options,
                                  .brief = true,
                                  .should_stop = interrupt_asked,
                                  .on_notice = split > 0 ? NULL : progress_notice,
                                  .user = p,
                                  .images =
                                      &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                              .background = true,
                                                              .cache = "off",
                                                              .validation_split = split}};
    cornu_data_close(d->data);
    d->data = NULL;
    d->split = split;
    int status = exit_status(cornu_data_open(d->what, &options, &d->data));
    return status == STATUS_OK ? exit_status(cornu_data_info_get(d->data, &d->info)) : status;
}

/* The file names decide the split, so a fifth of few files may be no file. */
static int set_some_apart(new_data *d, progress *p)
{
    int status = STATUS_OK;
    for (int tenths = 2; tenths <= 5 && status == STATUS_OK; tenths++) {
        status = open_as(d, tenths / 10.0, p);
        if (d->info.count[CORNU_TEST] > 0)
            return status;
    }
    return status != STATUS_OK
               ? status
               : fail(STATUS_FAILURE, "%s: found %lld pictures; expected more, some dozens a class",
                      d->what, (long long)d->info.count[CORNU_TRAIN]);
}

static int open_and_look(new_data *d, progress *p)
{
    int status = open_as(d, 0, p);
    if (status == STATUS_OK)
        status = look_at_data(d);
    return status == STATUS_OK && d->pictures && d->info.count[CORNU_TEST] == 0
               ? set_some_apart(d, p)
               : status;
}

static int make(const char *given, const char *what)
{
    char file[4096], name[4096];
    progress p;
    new_data d = {.what = what, .info.size = sizeof d.info};
    new_recipe r = {.name = name, .file = file};
    progress_open(&p, false);
    interrupt_watch(&p);
    int status = name_recipe(given, file, name, sizeof file);
    if (status == STATUS_OK)
        status = open_and_look(&d, &p);
    if (status == STATUS_OK) {
        choose_recipe(&d, &r);
        status = write_recipe(&d, &r);
    }
    if (status == STATUS_OK)
        status = say_what_follows(&d, &r);
    cornu_data_close(d.data);
    return status;
}

static int run(int argc, char **argv)
{
    const char *what = NULL;
    const option options[] = {DATA_OPTION(what), {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_new, options, argc, argv, 1, 1, "one NAME", &found, &status))
        return status;
    if (!what)
        return fail_usage(&command_new, "found no --data; expected the folder of your pictures");
    return make(found.item[0], what);
}

const command command_new = {
    "new",
    "write a recipe for pictures of your own",
    "NAME --data FOLDER|FILE|SET",
    "Looks at FOLDER, one folder of pictures a class (docs/images.md), and writes NAME.yaml: a\n"
    "network whose input, channels and outputs fit, with batch, random changes, early stopping\n"
    "and a checkpoint that suit so many pictures. Where FOLDER has no test folder a fifth of the\n"
    "pictures is set apart. The recipe is yours to change (docs/recipes.md); cornu train\n"
    "NAME.yaml trains it. No file is replaced.\n",
    run,
    .alone = true};

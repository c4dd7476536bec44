#include "cli/new.h"
#include "bench/show.h"
#include <cornu/images.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    const cornu_image_options as_they_are = {.height = 0};
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
    cornu_data_loading loading;
    int status = report(cornu_data_loading_get(d->data, &loading));
    if (status != STATUS_OK)
        return status;
    if (d->info.class_count < 2)
        return fail(STATUS_FAILURE, "%s: found %d class%s; expected two or more, a folder each",
                    d->what, d->info.class_count, d->info.class_count == 1 ? "" : "es");
    d->pictures = loading.files > 0;
    if (d->pictures)
        return look_at_pictures(d);
    status = report(cornu_data_picture_shape(d->data, shape));
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
    FILE *f = bench_stream_open(r->file, O_EXCL, &fd);
    if (!f && errno == EEXIST)
        return fail(STATUS_FAILURE, "%s: found this file; expected a name that is free", r->file);
    if (!f)
        return fail(STATUS_FAILURE, "%s: cannot be written: %s", r->file, strerror(errno));
    bool written = new_write(d, r, f);
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
    int status = report(cornu_model_open(r->file, &model));
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
    cornu_data_options options = {.background = true,
                                  .brief = true,
                                  .cache = "off",
                                  .validation_split = split,
                                  .should_stop = interrupt_asked,
                                  .on_notice = split > 0 ? NULL : progress_notice,
                                  .user = p};
    cornu_data_close(d->data);
    d->data = NULL;
    d->split = split;
    int status = report(cornu_data_open(d->what, &options, &d->data));
    return status == STATUS_OK ? report(cornu_data_info_get(d->data, &d->info)) : status;
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
    new_data d = {.what = what};
    new_recipe r = {.name = name, .file = file};
    progress_open(&p, false);
    interrupt_watch(&p);
    int status = name_recipe(given, file, name, sizeof file);
    if (status == STATUS_OK)
        status = open_and_look(&d, &p);
    if (status == STATUS_OK) {
        new_choose(&d, &r);
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

/* cornu data: sets, their samples as pictures, and sheets of augmented ones. In a terminal a
   picture is half blocks in colour, or letters where it has neither. */
#include "base/memory.h"
#include "cli/cli.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/trainer.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a picture in the terminal -------------------------------------------------------------- */

enum { COLUMNS_MOST = 64 };

typedef struct picture {
    const float *values; /* [height][width][channels] in 0..1 */
    int64_t height, width, channels;
    int64_t rows, columns; /* as drawn */
} picture;

static int to_byte(float value)
{
    return value <= 0 ? 0 : value >= 1 ? 255 : (int)(value * 255 + 0.5f);
}

/* Colour of a drawn pixel, by the nearest one of the picture. */
static void pixel(const picture *p, int64_t row, int64_t column, int rgb[3])
{
    int64_t y = row * p->height / p->rows, x = column * p->width / p->columns;
    const float *at = p->values + (y * p->width + x) * p->channels;
    for (int c = 0; c < 3; c++)
        rgb[c] = to_byte(at[p->channels >= 3 ? c : 0]);
}

static void draw_blocks(const picture *p)
{
    for (int64_t row = 0; row < p->rows; row += 2) {
        for (int64_t column = 0; column < p->columns; column++) {
            int top[3], bottom[3] = {0, 0, 0};
            pixel(p, row, column, top);
            if (row + 1 < p->rows)
                pixel(p, row + 1, column, bottom);
            print("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm▀", top[0], top[1], top[2], bottom[0],
                  bottom[1], bottom[2]);
        }
        print("\033[0m\n");
    }
}

static void draw_letters(const picture *p)
{
    static const char ramp[] = " .:-=+*#%@";
    for (int64_t row = 0; row < p->rows; row += 2) { /* letters are twice as high as wide */
        for (int64_t column = 0; column < p->columns; column++) {
            int rgb[3];
            pixel(p, row, column, rgb);
            int grey = (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000;
            print("%c", ramp[grey * 9 / 255]);
        }
        print("\n");
    }
}

/* Draw floats [height][width][channels] in 0..1 on stdout, at most 64 columns. */
static void draw_picture(int64_t height, int64_t width, int64_t channels, const float *values)
{
    picture p = {values, height, width, channels, height, width};
    if (width > COLUMNS_MOST) {
        p.columns = COLUMNS_MOST;
        p.rows = height * COLUMNS_MOST / width > 0 ? height * COLUMNS_MOST / width : 1;
    }
    if (terminal_is(stdout) && terminal_has_utf8())
        draw_blocks(&p);
    else
        draw_letters(&p);
}

/* The numbers, as a network sees them, that are drawn black and white. */
typedef struct picture_range {
    double black, white;
} picture_range;

/* The range as in cornu_data_values. Returns the exit status. */
static int find_range(const cornu_data *data, cornu_split split, picture_range *range)
{
    cornu_data_values v = {.size = sizeof v};
    int status = exit_status(cornu_data_values_get(data, split, &v));
    if (status != STATUS_OK)
        return status;
    range->black = v.black;
    range->white = v.white;
    return STATUS_OK;
}

/* Scale the numbers to 0..1. */
static void make_picture(const picture_range *range, float *values, int64_t count)
{
    double width = range->white - range->black;
    for (int64_t i = 0; i < count; i++)
        values[i] = width > 0 ? (float)(((double)values[i] - range->black) / width) : 0;
}

/* ---- a sheet of pictures -------------------------------------------------------------------- */

/* cornu data show --augment: samples before and after augmentation, in one picture. */

enum { ROWS = 8, EPOCHS = 5, GAP = 2 };
static const int64_t VALUES_MOST = INT64_C(1) << 28;

/* A row a sample: as it is, then augmented as in epochs 0 to EPOCHS - 1. */
typedef struct sheet {
    const cornu_model *model;
    const cornu_data *data;
    cornu_split split;
    int64_t samples, height, width, channels; /* of images */
    int64_t rows, sheet_height, sheet_width;
    uint64_t seed;
    picture_range range;
    float *sample; /* [height][width][channels] */
    float *values; /* [sheet_height][sheet_width][channels] */
} sheet;

static int measure(sheet *s, bool tests, const char *name)
{
    cornu_data_info info = {.size = sizeof info};
    int64_t shape[3];
    int status = exit_status(cornu_data_info_get(s->data, &info));
    if (status == STATUS_OK)
        status = exit_status(cornu_data_picture_shape(s->data, shape));
    if (status != STATUS_OK)
        return status;
    s->split = tests || info.count[CORNU_TRAIN] == 0 ? CORNU_TEST : CORNU_TRAIN;
    s->samples = info.count[s->split];
    s->height = shape[0];
    s->width = shape[1];
    s->channels = shape[2];
    if (s->samples == 0)
        return fail(STATUS_FAILURE, "%s: has no test samples", name);
    return find_range(s->data, s->split, &s->range);
}

/* Fail (and print) if a sheet of `rows` rows of images [height, width, channels] would be too
   large, or would not fit into memory. */
static int sheet_check(const char *name, int64_t rows, const int64_t shape[3])
{
    double height = (double)rows * (double)(shape[0] + GAP);
    double width = (EPOCHS + 1) * (double)(shape[1] + GAP);
    double count = height * width * (double)shape[2];
    if (count > (double)VALUES_MOST)
        return fail(STATUS_FAILURE,
                    "%s: a sheet of %lldx%lld images would be too large; expected at most %lld "
                    "values",
                    name, (long long)shape[1], (long long)shape[0], (long long)VALUES_MOST);
    return exit_status(cornu_memory_check("a sheet of images", (int64_t)(count * sizeof(float))));
}

static int make_room(sheet *s, const char *name)
{
    s->sheet_height = s->rows * (s->height + GAP) - GAP;
    s->sheet_width = (EPOCHS + 1) * (s->width + GAP) - GAP;
    int64_t count = s->sheet_height * s->sheet_width * s->channels;
    int status = sheet_check(name, s->rows, (int64_t[3]){s->height, s->width, s->channels});
    if (status != STATUS_OK)
        return status;
    s->sample = malloc((size_t)(s->height * s->width * s->channels) * sizeof *s->sample);
    s->values = malloc((size_t)count * sizeof *s->values);
    if (!s->sample || !s->values)
        return fail(STATUS_FAILURE, "%s: not enough memory", name);
    for (int64_t i = 0; i < count; i++)
        s->values[i] = 1; /* white between the images */
    return STATUS_OK;
}

/* Into row and column of the sheet. */
static void paste(const sheet *s, int64_t row, int64_t column)
{
    int64_t line = s->width * s->channels;
    make_picture(&s->range, s->sample, s->height * line);
    for (int64_t y = 0; y < s->height; y++) {
        int64_t left = column * (s->width + GAP) * s->channels;
        float *to = s->values + (row * (s->height + GAP) + y) * s->sheet_width * s->channels + left;
        for (int64_t i = 0; i < line; i++)
            to[i] = s->sample[y * line + i];
    }
}

static int draw_row(const sheet *s, int64_t row, int64_t index)
{
    int64_t count = s->height * s->width * s->channels;
    int status = exit_status(cornu_data_sample(s->data, s->split, index, s->sample, count, NULL));
    if (status == STATUS_OK)
        paste(s, row, 0);
    for (int64_t epoch = 0; status == STATUS_OK && epoch < EPOCHS; epoch++) {
        status = exit_status(cornu_data_changed_sample(s->data, s->split, index, s->model, s->seed,
                                                       epoch, s->sample, count));
        if (status == STATUS_OK)
            paste(s, row, epoch + 1);
    }
    return status;
}

/* Write a PNG of samples of `data` (called `name`) before and after augmentation by the model's
   recipe: only sample `index`, or several spread over the data (-1); from the training samples,
   unless there are none or `tests` is set. Returns the exit status. */
static int draw_sheet(const cornu_model *model, const cornu_data *data, const char *name,
                      bool tests, int64_t index, uint64_t seed, const char *png)
{
    sheet s = {.model = model, .data = data, .seed = seed};
    int status = measure(&s, tests, name);
    if (status == STATUS_OK && index >= s.samples)
        return fail(STATUS_FAILURE, "%s: found index %lld; expected 0 to %lld", name,
                    (long long)index, (long long)s.samples - 1);
    s.rows = index >= 0 ? 1 : s.samples < ROWS ? s.samples : ROWS;
    if (status == STATUS_OK)
        status = make_room(&s, name);
    for (int64_t row = 0; status == STATUS_OK && row < s.rows; row++)
        status = draw_row(&s, row, index >= 0 ? index : row * s.samples / s.rows);
    if (status == STATUS_OK)
        status = exit_status(
            cornu_image_write_png(png, s.sheet_height, s.sheet_width, s.channels, s.values));
    if (status == STATUS_OK)
        print("wrote %s: %lld %s of %s, each as it is and changed %d times\n", png,
              (long long)s.rows, s.rows == 1 ? "sample" : "samples", name, EPOCHS);
    free(s.sample);
    free(s.values);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

typedef struct data_options {
    const char *png, *augment, *split;
    bool tests;   /* the test split */
    int64_t seed; /* -1: not given */
} data_options;

static int list(void)
{
    cornu_dataset_info info = {.size = sizeof info};
    char size[16];
    for (int i = 0; cornu_dataset_info_get(i, &info); i++) {
        print("%-14s %s\n%-14s ", info.name, info.title, "");
        if (*info.folder)
            print("in %s\n", info.folder);
        else
            print("not on this machine: cornu data get %s (%s)\n", info.name,
                  memory_human((double)info.bytes, size));
    }
    return STATUS_OK;
}

/* The name of a set, a folder or a file; anything else is suggested a name. */
static int check_name(const char *name)
{
    const char *names[64];
    cornu_dataset_info info = {.size = sizeof info};
    struct stat s;
    int count = 0;
    for (; count < 63 && cornu_dataset_info_get(count, &info); count++) {
        names[count] = info.name;
        if (strcmp(name, info.name) == 0)
            return STATUS_OK;
    }
    names[count] = NULL;
    if (stat(name, &s) == 0)
        return STATUS_OK;
    const char *nearest = nearest_name(name, names);
    return fail(STATUS_FAILURE, "%s: unknown data set%s%s%s (see cornu data list)", name,
                nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int print_summary(const cornu_data *data)
{
    char *summary = NULL;
    int status = exit_status(cornu_data_summary(data, &summary));
    if (status == STATUS_OK)
        print_lines(summary);
    cornu_free(summary);
    return status;
}

static int get(const char *name)
{
    progress p;
    cornu_data *data = NULL;
    cornu_data_options options = {.size = sizeof options,
                                  .allow_download = true,
                                  .on_progress = progress_download,
                                  .should_stop = interrupt_asked,
                                  .on_notice = progress_notice,
                                  .user = &p};
    progress_open(&p, false);
    interrupt_watch(&p);
    int status = check_name(name);
    if (status == STATUS_OK) {
        cornu_status opened = cornu_data_open(name, &options, &data);
        progress_break(&p);
        status = exit_status(opened);
    }
    if (status == STATUS_OK)
        status = print_summary(data);
    cornu_data_close(data);
    return status;
}

static int give_picture(const int64_t shape[3], const float *values, const char *png)
{
    if (!png) {
        draw_picture(shape[0], shape[1], shape[2], values);
        return STATUS_OK;
    }
    int status = exit_status(cornu_image_write_png(png, shape[0], shape[1], shape[2], values));
    if (status == STATUS_OK)
        print("wrote %s: ", png);
    return status;
}

/* ", class 3 (cat)"; a name equal to the number is not repeated. */
static void print_class(const cornu_data *data, int label)
{
    char number[16];
    const char *name = cornu_data_class_name(data, label);
    if (label < 0)
        return;
    snprintf(number, sizeof number, "%d", label);
    print(", class %d", label);
    if (name && strcmp(name, number) != 0)
        print(" (%s)", name);
}

/* The split asked for, and whether it has the sample. */
static int choose_sample(const cornu_data_info *info, int64_t index, bool tests, cornu_split *split)
{
    *split = tests || info->count[CORNU_TRAIN] == 0 ? CORNU_TEST : CORNU_TRAIN;
    const char *name = *split == CORNU_TEST ? "test" : "training";
    if (info->count[*split] == 0)
        return fail(STATUS_FAILURE, "%s: found no %s samples; expected some", info->name, name);
    if (index >= info->count[*split])
        return fail(STATUS_FAILURE, "%s: found index %lld; expected 0 to %lld of its %s samples",
                    info->name, (long long)index, (long long)info->count[*split] - 1, name);
    return STATUS_OK;
}

static int show_picture(const cornu_data *data, cornu_split split, int64_t index,
                        const int64_t shape[3], float *values, const char *png)
{
    cornu_data_info info = {.size = sizeof info};
    picture_range range;
    int label;
    int64_t count = shape[0] * shape[1] * shape[2];
    int status = exit_status(cornu_data_sample(data, split, index, values, count, &label));
    if (status == STATUS_OK)
        status = find_range(data, split, &range);
    if (status == STATUS_OK)
        status = exit_status(cornu_data_info_get(data, &info));
    if (status != STATUS_OK)
        return status;
    make_picture(&range, values, count);
    status = give_picture(shape, values, png);
    if (status != STATUS_OK)
        return status;
    print("%s %ssample %lld, %lldx%lld", info.name, split == CORNU_TEST ? "test " : "",
          (long long)index, (long long)shape[1], (long long)shape[0]);
    print_class(data, label);
    print("\n");
    return STATUS_OK;
}

static int show_sample(const cornu_data *data, int64_t index, const data_options *o)
{
    cornu_data_info info = {.size = sizeof info};
    cornu_split split = CORNU_TRAIN;
    int64_t shape[3], bytes = 0;
    int status = exit_status(cornu_data_info_get(data, &info));
    if (status == STATUS_OK)
        status = exit_status(cornu_data_picture_shape(data, shape));
    if (status == STATUS_OK)
        status = choose_sample(&info, index, o->tests, &split);
    if (status == STATUS_OK) {
        bytes = shape[0] * shape[1] * shape[2] * (int64_t)sizeof(float);
        status = exit_status(cornu_memory_check(info.name, bytes));
    }
    float *values = status == STATUS_OK ? malloc((size_t)bytes) : NULL;
    if (!values && status == STATUS_OK)
        status = fail(STATUS_FAILURE, "%s: not enough memory", info.name);
    if (status == STATUS_OK)
        status = show_picture(data, split, index, shape, values, o->png);
    free(values);
    return status == STATUS_OK ? print_summary(data) : status;
}

/* Images of a folder get the size that the recipe's network takes. */
static int open_for_sheet(const cornu_model *model, const char *name, progress *p,
                          cornu_data **data)
{
    int64_t shape[3];
    int status = exit_status(cornu_model_picture_shape(model, shape));
    if (status == STATUS_OK)
        status = sheet_check(name, 1, shape);
    if (status != STATUS_OK)
        return status;
    cornu_data_options options = {.size = sizeof options,
                                  .should_stop = interrupt_asked,
                                  .on_notice = progress_notice,
                                  .user = p,
                                  .images =
                                      &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                              .height = shape[0],
                                                              .width = shape[1],
                                                              .channels = shape[2],
                                                              .cache = "off"}};
    return exit_status(cornu_data_open(name, &options, data));
}

static int show_sheet(const char *name, int64_t index, const data_options *o)
{
    progress p;
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    progress_open(&p, false);
    interrupt_watch(&p);
    int status = check_name(name);
    if (status == STATUS_OK)
        status = exit_status(cornu_model_open(o->augment, &model));
    if (status == STATUS_OK)
        status = open_for_sheet(model, name, &p, &data);
    if (status == STATUS_OK)
        status = draw_sheet(model, data, name, o->tests, index, (uint64_t)o->seed, o->png);
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

static int show_one(const char *name, int64_t index, const data_options *o)
{
    progress p;
    cornu_data *data = NULL;
    cornu_data_options options = {
        .size = sizeof options,
        .should_stop = interrupt_asked,
        .on_notice = progress_notice,
        .user = &p,
        .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .cache = "off"}};
    progress_open(&p, false);
    interrupt_watch(&p);
    int status = check_name(name);
    if (status == STATUS_OK)
        status = exit_status(cornu_data_open(name, &options, &data));
    if (status == STATUS_OK)
        status = show_sample(data, index, o);
    cornu_data_close(data);
    return status;
}

static int show(const char *name, const char *index_text, const data_options *o)
{
    char *end = NULL;
    errno = 0;
    int64_t index = index_text ? strtoll(index_text, &end, 10) : -1;
    if (index_text && (*end || errno || index < 0 || end == index_text))
        return fail_usage(&command_data, "INDEX: found \"%s\"; expected a whole number from 0 on",
                          index_text);
    return o->augment ? show_sheet(name, index, o) : show_one(name, index < 0 ? 0 : index, o);
}

/* Check that options are used only with show, and in valid combinations. */
static int check_options(const data_options *o, bool shows, const char *word)
{
    if (!shows && (o->png || o->augment || o->split || o->seed >= 0))
        return fail_usage(&command_data, "%s goes with show; found %s",
                          o->png       ? "--png"
                          : o->augment ? "--augment"
                          : o->split   ? "--split"
                                       : "--seed",
                          word);
    if (o->split && !o->tests && strcmp(o->split, "train") != 0)
        return fail_usage(&command_data, "--split: found \"%s\"; expected train or test", o->split);
    if (o->augment && !o->png)
        return fail_usage(&command_data, "--augment: found no --png; expected a FILE to write");
    if (o->seed >= 0 && !o->augment)
        return fail_usage(&command_data, "--seed: found no --augment; expected a RECIPE");
    return STATUS_OK;
}

static int run(int argc, char **argv)
{
    static const char *const actions[] = {"list", "get", "show", NULL};
    static const int least[] = {1, 2, 2}, most[] = {1, 2, 3};
    data_options o = {.seed = -1};
    const option options[] = {
        {"split", "S", "show: of the train (default) or test samples", OPTION_TEXT, &o.split, 0, 0},
        {"png", "FILE", "show: write the picture to this file", OPTION_TEXT, &o.png, 0, 0},
        {"augment", "RECIPE", "show: samples before and after its random changes", OPTION_TEXT,
         &o.augment, 0, 0},
        {"seed", "N", "show --augment: of the changes (1)", OPTION_INT, &o.seed, 0, INT64_MAX},
        {.name = NULL}};
    operands found;
    int status, action = 0;
    if (!options_parse(&command_data, options, argc, argv, 0, 3, "list, get NAME or show NAME",
                       &found, &status))
        return status;
    const char *word = found.count ? found.item[0] : "list";
    while (actions[action] && strcmp(actions[action], word) != 0)
        action++;
    if (!actions[action]) {
        const char *nearest = nearest_name(word, actions);
        return fail_usage(&command_data, "found \"%s\"; expected list, get or show%s%s%s", word,
                          nearest ? "; did you mean " : "", nearest ? nearest : "",
                          nearest ? "?" : "");
    }
    if (found.count && found.count < least[action])
        return fail_usage(&command_data, "%s: found no NAME; expected one (cornu data list)", word);
    if (found.count > most[action])
        return fail_usage(&command_data, "%s: found \"%s\" too many", word,
                          found.item[most[action]]);
    o.tests = o.split && strcmp(o.split, "test") == 0;
    status = check_options(&o, action == 2, word);
    if (status != STATUS_OK)
        return status;
    if (o.seed < 0)
        o.seed = 1;
    if (!can_write(o.png, &status))
        return status;
    return action == 0   ? list()
           : action == 1 ? get(found.item[1])
                         : show(found.item[1], found.count > 2 ? found.item[2] : NULL, &o);
}

const command command_data = {
    "data",
    "list, download or look at data sets",
    "[list]\nget NAME\nshow NAME [INDEX] [--split S] [--png FILE] [--augment RECIPE [--seed N]]",
    "NAME is one of the list, a folder or an .npz file. show draws a sample in the terminal and\n"
    "says, as get does, what the set holds. With --augment it writes a sheet: 8 samples (or the\n"
    "one of INDEX), each as it is and as the recipe's augment section changes it in the first 5\n"
    "epochs.\n",
    run,
    .alone = true};

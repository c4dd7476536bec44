/* cornu data show --augment: samples before and after augmentation, in one picture. */
#include "cli/cli.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/trainer.h>
#include <stdlib.h>

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
    cornu_data_info info;
    int64_t shape[3];
    int status = report(cornu_data_info_get(s->data, &info));
    if (status == STATUS_OK)
        status = report(cornu_data_picture_shape(s->data, shape));
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

int sheet_check(const char *name, int64_t rows, const int64_t shape[3])
{
    double height = (double)rows * (double)(shape[0] + GAP);
    double width = (EPOCHS + 1) * (double)(shape[1] + GAP);
    double count = height * width * (double)shape[2];
    if (count > (double)VALUES_MOST)
        return fail(STATUS_FAILURE,
                    "%s: a sheet of %lldx%lld images would be too large; expected at most %lld "
                    "values",
                    name, (long long)shape[1], (long long)shape[0], (long long)VALUES_MOST);
    return report(cornu_memory_check("a sheet of images", (int64_t)(count * sizeof(float))));
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
    int status = report(cornu_data_sample(s->data, s->split, index, s->sample, count, NULL));
    if (status == STATUS_OK)
        paste(s, row, 0);
    for (int64_t epoch = 0; status == STATUS_OK && epoch < EPOCHS; epoch++) {
        status = report(cornu_data_changed_sample(s->data, s->split, index, s->model, s->seed,
                                                  epoch, s->sample, count));
        if (status == STATUS_OK)
            paste(s, row, epoch + 1);
    }
    return status;
}

int draw_sheet(const cornu_model *model, const cornu_data *data, const char *name, bool tests,
               int64_t index, uint64_t seed, const char *png)
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
        status =
            report(cornu_image_write_png(png, s.sheet_height, s.sheet_width, s.channels, s.values));
    if (status == STATUS_OK)
        print("wrote %s: %lld %s of %s, each as it is and changed %d times\n", png,
              (long long)s.rows, s.rows == 1 ? "sample" : "samples", name, EPOCHS);
    free(s.sample);
    free(s.values);
    return status;
}

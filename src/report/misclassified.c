/* Misclassified samples as a sheet of pictures. */
#include "base/memory.h"
#include "report/report.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILES = 64,
    TILES_MOST = REPORT_ERRORS_MOST,
    GAP = 8,
    SIDE_LEAST = 84,
    TILE_LEAST = 120,
    SIDE_MOST = 256
};

static const color white = {255, 255, 255}, black = {0, 0, 0}, red = {178, 24, 43};

typedef struct sheet {
    const cornu_report *report;
    const cornu_data *data;
    int64_t shape[3]; /* shape of a sample: height, width, channels */
    cornu_data_values range;
    float *values;         /* [shape] */
    box tile;              /* its size; y and x are 0 */
    int64_t height, width; /* size of a picture in the sheet */
    int64_t count, columns;
    bool named; /* samples have files */
    lettering label;
} sheet;

/* Small pictures grow by whole pixels, large ones shrink. */
static void size_tiles(sheet *s)
{
    int64_t larger = s->shape[0] > s->shape[1] ? s->shape[0] : s->shape[1];
    int64_t grow = larger < SIDE_LEAST ? (SIDE_LEAST + larger - 1) / larger : 1;
    int64_t shrink = larger > SIDE_MOST ? (larger + SIDE_MOST - 1) / SIDE_MOST : 1;
    s->height = (s->shape[0] * grow + shrink - 1) / shrink;
    s->width = (s->shape[1] * grow + shrink - 1) / shrink;
    s->tile.width = s->width > TILE_LEAST ? s->width : TILE_LEAST;
    s->label = (lettering){.scale = 1, .ink = black, .most = s->tile.width / LETTER_WIDTH};
    s->named = s->report->error_count > 0 && s->report->errors[0].file;
    s->tile.height = s->height + (s->named ? 3 : 2) * LETTER_HEIGHT + 4;
    int64_t columns =
        (int64_t)ceil(sqrt((double)s->count * (double)s->tile.height / (double)s->tile.width));
    s->columns = columns > s->count ? s->count : columns < 1 ? 1 : columns;
}

/* "cat 0.98": the name is cut, the number is not. */
static void label_text(const sheet *s, const char *lead, int64_t index, double value,
                       char line[160])
{
    char name[100], digits[24], number[24] = "";
    const char *whole = "none";
    snprintf(digits, sizeof digits, "%jd", (intmax_t)index);
    if (index >= 0)
        whole = s->report->names ? s->report->names[index] : digits;
    if (!isnan(value))
        snprintf(number, sizeof number, " %.2f", value);
    canvas_text_cut(whole, s->label.most - (int64_t)(strlen(lead) + strlen(number)), name,
                    sizeof name);
    snprintf(line, 160, "%s%s%s", lead, name, number);
}

/* Label with the end of a file's name, which says most. */
static void label_file(const sheet *s, const char *file, char line[160])
{
    const char *slash = strrchr(file, '/');
    char name[150];
    cornu_printable(slash ? slash + 1 : file, name, sizeof name);
    size_t length = strlen(name), room = (size_t)s->label.most;
    bool whole = length <= room;
    snprintf(line, 160, "%s%s", whole ? "" : "..", whole ? name : name + length - (room - 2));
}

cornu_status sample_picture(const cornu_data *data, cornu_split split, int64_t index,
                            const cornu_data_values *range, float *values, int64_t count)
{
    const double width = range->white - range->black;
    TRY(cornu_data_batch(data, split, &index, 1, NULL, values, count));
    for (int64_t i = 0; i < count; i++)
        values[i] = width > 0 ? (float)(((double)values[i] - range->black) / width) : 0;
    return CORNU_OK;
}

static cornu_status draw_tile(sheet *s, canvas *c, int64_t number)
{
    const report_error *e = &s->report->errors[number];
    const int64_t count = s->shape[0] * s->shape[1] * s->shape[2];
    TRY(sample_picture(s->data, s->report->split, e->sample, &s->range, s->values, count));
    int64_t y = GAP + number / s->columns * (s->tile.height + GAP);
    int64_t x = GAP + number % s->columns * (s->tile.width + GAP);
    canvas_picture(c, (box){y, x, s->height, s->width}, s->shape[0], s->shape[1], s->shape[2],
                   s->values);
    char line[160];
    lettering l = s->label;
    label_text(s, "", e->truth, NAN, line);
    canvas_text(c, y + s->height + 4, x, line, &l);
    l.ink = red;
    label_text(s, "as ", e->predicted, (double)e->value, line);
    canvas_text(c, y + s->height + 4 + LETTER_HEIGHT, x, line, &l);
    if (s->named && e->file) {
        l.ink = black;
        label_file(s, e->file, line);
        canvas_text(c, y + s->height + 4 + 2 * LETTER_HEIGHT, x, line, &l);
    }
    return CORNU_OK;
}

static cornu_status draw(sheet *s, const char *path)
{
    canvas c;
    cornu_status status = CORNU_OK;
    const int64_t rows = (s->count + s->columns - 1) / s->columns;
    TRY(canvas_open(rows * (s->tile.height + GAP) + GAP, s->columns * (s->tile.width + GAP) + GAP,
                    white, &c));
    for (int64_t i = 0; status == CORNU_OK && i < s->count; i++)
        status = draw_tile(s, &c, i);
    if (status == CORNU_OK && s->count == 0)
        canvas_text(&c, GAP, GAP, "none", &s->label);
    if (status == CORNU_OK)
        status = canvas_write_png(&c, path);
    canvas_close(&c);
    return status;
}

cornu_status cornu_report_write_misclassified(const cornu_report *r, const cornu_data *data,
                                              int64_t most, const char *path)
{
    if (!r || !data || !path)
        return status_fail(CORNU_INVALID, "cornu_report_write_misclassified: found NULL; expected "
                                          "a report, its data and a path");
    if (most < 0 || most > TILES_MOST)
        return status_fail(CORNU_INVALID, "most: found %jd; expected 0 to %d", (intmax_t)most,
                           TILES_MOST);
    sheet s = {.report = r, .data = data, .count = most ? most : TILES};
    if (s.count > (int64_t)r->error_count)
        s.count = (int64_t)r->error_count;
    TRY(cornu_data_values_get(data, r->split, &s.range));
    TRY(cornu_data_picture_shape(data, s.shape));
    size_tiles(&s);
    TRY(memory_new((size_t)(s.shape[0] * s.shape[1] * s.shape[2]), sizeof *s.values, "picture",
                   &s.values));
    cornu_status status = draw(&s, path);
    free(s.values);
    return status;
}

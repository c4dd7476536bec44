/* A report as files: JSON, the confusion matrix as a picture, a sheet of misclassified samples.
   Pictures are PNG, as a notebook or a README shows them; the canvas that draws letters is
   data/images/canvas.h. */
#include "base/files.h"
#include "base/memory.h"
#include "format/html/html.h"
#include "report/report.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the confusion matrix ------------------------------------------------------------------- */

static const color white = {255, 255, 255}, black = {0, 0, 0}, ink = {40, 40, 40},
                   grid = {222, 226, 232};
/* Colours of a cell that contains its complete row. */
static const color right = {8, 64, 129}, wrong = {178, 24, 43};

enum { MATRIX_GAP = 10, CELLS_SIDE_MOST = 2400, NAME_MOST = 20, NAMED_CLASSES_MOST = 240 };

typedef struct layout {
    const cornu_report *report;
    int64_t cell; /* pixels of a side */
    bool counts;  /* cells have room for their numbers */
    bool names;   /* rows and columns have room for theirs */
    lettering label, number, title;
    int64_t left, top; /* position of the first cell */
    int64_t height, width;
} layout;

static char *class_text(const cornu_report *r, int64_t index, char line[160])
{
    if (r->names)
        canvas_text_cut(r->names[index], NAME_MOST, line, 160);
    else
        snprintf(line, 160, "%jd", (intmax_t)index);
    return line;
}

static int64_t digits_most(const cornu_report *r)
{
    int64_t most = 0;
    char line[32];
    for (int64_t i = 0; i < r->classes * (r->classes + 1); i++)
        most = r->matrix[i] > most ? r->matrix[i] : most;
    return snprintf(line, sizeof line, "%jd", (intmax_t)most);
}

/* A few cells are large enough for their numbers; more cells have the height of a name's line;
   still more share the available pixels. */
static void size_cells(layout *l)
{
    const int64_t n = l->report->classes;
    const int64_t numbers = digits_most(l->report) * LETTER_WIDTH;
    int scale = n <= 20 ? 2 : 1;
    l->counts = n <= 40;
    l->names = n <= NAMED_CLASSES_MOST;
    l->cell = LETTER_HEIGHT + 1;
    if (l->counts)
        l->cell = numbers * scale + 12 > 24 * scale ? numbers * scale + 12 : 24 * scale;
    if (!l->names)
        l->cell = CELLS_SIDE_MOST / n > 1 ? CELLS_SIDE_MOST / n : 1;
    l->number = (lettering){.scale = scale, .ink = ink, .most = 20};
    l->label = (lettering){.scale = scale, .ink = ink, .most = NAME_MOST};
    l->title = (lettering){.scale = 2, .ink = black, .most = 100};
}

static const char *const axes = "rows: true class   columns: predicted class";

static void title_text(const cornu_report *r, char line[160])
{
    cornu_report_info info = {.size = sizeof info};
    (void)cornu_report_info_get(r, &info);
    snprintf(line, 160, "accuracy %.4f (%jd of %jd %s)", info.accuracy, (intmax_t)info.correct,
             (intmax_t)info.samples, PLURAL(info.samples, "sample", "samples"));
}

static void arrange(layout *l, const cornu_report *r)
{
    char line[160];
    int64_t names = 0;
    *l = (layout){.report = r};
    size_cells(l);
    for (int64_t i = 0; l->names && i < r->classes; i++) {
        int64_t width = canvas_text_width(class_text(r, i, line), &l->label);
        names = width > names ? width : names;
    }
    const int64_t head = 2 * (LETTER_HEIGHT * l->title.scale + MATRIX_GAP);
    l->left = names + 2 * MATRIX_GAP;
    l->top = head + names + 2 * MATRIX_GAP;
    l->height = l->top + r->classes * l->cell + 2 * MATRIX_GAP;
    l->width = l->left + r->classes * l->cell + 2 * MATRIX_GAP;
    title_text(r, line);
    int64_t wide = canvas_text_width(line, &l->title), axis = canvas_text_width(axes, &l->title);
    wide = (wide > axis ? wide : axis) + 2 * MATRIX_GAP;
    l->width = wide > l->width ? wide : l->width;
}

/* White to `full`; the root lets small shares be seen. */
static color shade(double share, color full)
{
    double s = sqrt(share);
    return (color){(uint8_t)(255 - s * (255 - full.red)), (uint8_t)(255 - s * (255 - full.green)),
                   (uint8_t)(255 - s * (255 - full.blue))};
}

static void draw_cell(const layout *l, canvas *c, int64_t truth, int64_t predicted, int64_t support)
{
    const int64_t count = cornu_report_count(l->report, truth, predicted);
    const int64_t rule = l->cell > 6; /* between cells */
    const double share = support > 0 ? (double)count / (double)support : 0;
    const color fill = shade(share, truth == predicted ? right : wrong);
    box b = {l->top + truth * l->cell, l->left + predicted * l->cell, l->cell, l->cell};
    if (rule)
        canvas_fill(c, b, grid);
    canvas_fill(c, (box){b.y, b.x, b.height - rule, b.width - rule}, fill);
    if (!l->counts || count == 0)
        return;
    char line[32];
    lettering number = l->number;
    snprintf(line, sizeof line, "%jd", (intmax_t)count);
    if (share > 0.3)
        number.ink = white;
    int64_t x = b.x + (b.width - canvas_text_width(line, &number)) / 2;
    canvas_text(c, b.y + (b.height - (LETTER_HEIGHT - 3) * number.scale) / 2, x, line, &number);
}

/* A row's name before it, a column's above it, upwards. */
static void draw_names(const layout *l, canvas *c, int64_t i)
{
    char line[160];
    lettering up = l->label;
    up.upwards = true;
    const int64_t middle = (l->cell - (LETTER_HEIGHT - 3) * l->label.scale) / 2;
    class_text(l->report, i, line);
    canvas_text(c, l->top + i * l->cell + middle,
                l->left - MATRIX_GAP / 2 - canvas_text_width(line, &l->label), line, &l->label);
    canvas_text(c, l->top - MATRIX_GAP / 2, l->left + i * l->cell + middle, line, &up);
}

cornu_status report_draw(const cornu_report *r, canvas *out)
{
    layout l;
    char line[160];
    arrange(&l, r);
    TRY(canvas_open(l.height, l.width, white, out));
    title_text(r, line);
    canvas_text(out, MATRIX_GAP, MATRIX_GAP, line, &l.title);
    l.title.ink = ink;
    canvas_text(out, 2 * MATRIX_GAP + LETTER_HEIGHT * l.title.scale, MATRIX_GAP, axes, &l.title);
    for (int64_t truth = 0; truth < r->classes; truth++) {
        int64_t support = 0;
        for (int64_t i = 0; i <= r->classes; i++)
            support += r->matrix[truth * (r->classes + 1) + i];
        for (int64_t predicted = 0; predicted < r->classes; predicted++)
            draw_cell(&l, out, truth, predicted, support);
        if (l.names)
            draw_names(&l, out, truth);
    }
    return CORNU_OK;
}

/* ---- misclassified samples ------------------------------------------------------------------ */

/* Misclassified samples as a sheet of pictures. */

enum {
    TILES = 64,
    TILES_MOST = REPORT_ERRORS_MOST,
    GAP = 8,
    SIDE_LEAST = 84,
    TILE_LEAST = 120,
    SIDE_MOST = 256
};

static const color red = {178, 24, 43};

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
    sheet s = {
        .range.size = sizeof s.range, .report = r, .data = data, .count = most ? most : TILES};
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

/* ---- files ------------------------------------------------------------------------------- */

static cornu_status write_json(const cornu_report *r, const char *path)
{
    text t = {0};
    char *json;
    TRY(cornu_report_json(r, &json));
    text_add(&t, "%s\n", json);
    cornu_free(json);
    return html_write(&t, path);
}

static cornu_status write_picture(const cornu_report *r, const char *path)
{
    canvas c;
    TRY(report_draw(r, &c));
    cornu_status status = canvas_write_png(&c, path);
    canvas_close(&c);
    return status;
}

cornu_status cornu_report_write(const cornu_report *r, const char *path)
{
    if (!r || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_report_write: found NULL; expected a report and a path");
    if (path_has_ending(path, ".json"))
        return write_json(r, path);
    if (path_has_ending(path, ".png"))
        return write_picture(r, path);
    return status_fail(CORNU_INVALID,
                       "%s: found another name; expected one that ends in .json or "
                       ".png",
                       path);
}

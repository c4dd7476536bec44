/* The confusion matrix as a picture. */
#include "base/memory.h"
#include "report/report.h"
#include <cornu/report.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const color white = {255, 255, 255}, black = {0, 0, 0}, ink = {40, 40, 40},
                   grid = {222, 226, 232};
/* Colours of a cell that contains its complete row. */
static const color right = {8, 64, 129}, wrong = {178, 24, 43};

enum { GAP = 10, CELLS_SIDE_MOST = 2400, NAME_MOST = 20, NAMED_CLASSES_MOST = 240 };

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
    cornu_report_info info;
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
    const int64_t head = 2 * (LETTER_HEIGHT * l->title.scale + GAP);
    l->left = names + 2 * GAP;
    l->top = head + names + 2 * GAP;
    l->height = l->top + r->classes * l->cell + 2 * GAP;
    l->width = l->left + r->classes * l->cell + 2 * GAP;
    title_text(r, line);
    int64_t wide = canvas_text_width(line, &l->title), axis = canvas_text_width(axes, &l->title);
    wide = (wide > axis ? wide : axis) + 2 * GAP;
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
                l->left - GAP / 2 - canvas_text_width(line, &l->label), line, &l->label);
    canvas_text(c, l->top - GAP / 2, l->left + i * l->cell + middle, line, &up);
}

cornu_status report_draw(const cornu_report *r, canvas *out)
{
    layout l;
    char line[160];
    arrange(&l, r);
    TRY(canvas_open(l.height, l.width, white, out));
    title_text(r, line);
    canvas_text(out, GAP, GAP, line, &l.title);
    l.title.ink = ink;
    canvas_text(out, 2 * GAP + LETTER_HEIGHT * l.title.scale, GAP, axes, &l.title);
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

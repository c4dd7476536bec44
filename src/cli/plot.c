/* Curves in the terminal: see plot.h. */
#include "cli/plot.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the raster ------------------------------------------------------------------------- */

static void set_dot(raster *r, int x, int y)
{
    /* U+2800 and these bits; the fourth row of dots came later than the others. */
    static const unsigned char braille[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int across = r->braille ? 2 : 1, down = r->braille ? 4 : 2;
    unsigned char bit = r->braille ? braille[y % 4][x % 2] : (unsigned char)(y % 2 ? 2 : 1);
    r->cells[y / down * r->columns + x / across] |= bit;
}

/* From (x0, y0) to (x1, y1), without the first dot; *drawn counts the curve's dots. */
static void draw_line(raster *r, int x0, int y0, int x1, int y1, bool dotted, int *drawn)
{
    int dx = x1 - x0, dy = y1 - y0;
    int steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    for (int i = 1; i <= steps; i++)
        if (!dotted || ++*drawn % 2 == 0)
            set_dot(r, x0 + (int)lround((double)dx * i / steps),
                    y0 + (int)lround((double)dy * i / steps));
}

void raster_curve(raster *r, const double *values, int count, double low, double high, bool dotted)
{
    int width = r->columns * (r->braille ? 2 : 1), height = r->rows * (r->braille ? 4 : 2);
    int x0 = -1, y0 = 0, drawn = 0;
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            x0 = -1;
            continue;
        }
        double up = (values[i] - low) / (high - low);
        int x = count > 1 ? (int)lround((double)i * (width - 1) / (count - 1)) : 0;
        int y = (int)lround((1 - (up < 0 ? 0 : up > 1 ? 1 : up)) * (height - 1));
        if (x0 < 0)
            set_dot(r, x, y);
        else
            draw_line(r, x0, y0, x, y, dotted, &drawn);
        x0 = x;
        y0 = y;
    }
}

int raster_character(const raster *r, int column, int row, char *text)
{
    unsigned char cell = r->cells[row * r->columns + column];
    if (r->braille && cell) {
        text[0] = (char)0xe2;
        text[1] = (char)(0xa0 | cell >> 6);
        text[2] = (char)(0x80 | (cell & 0x3f));
        return 3;
    }
    text[0] = r->braille ? ' ' : " '.:"[cell & 3];
    return 1;
}

/* ---- what is kept ----------------------------------------------------------------------- */

bool plot_open(plot *p)
{
    *p = (plot){.stride = 1};
    p->values = malloc(PLOT_KEPT * sizeof *p->values);
    return p->values != NULL;
}

void plot_close(plot *p)
{
    free(p->values);
    p->values = NULL;
}

/* Each second of those that are kept. */
static void thin(plot *p)
{
    for (int i = 0; i < PLOT_KEPT / 2; i++)
        memcpy(p->values[i], p->values[2 * i], sizeof *p->values);
    p->kept = PLOT_KEPT / 2;
    p->stride *= 2;
}

static void take(double *to, const cornu_scores *from)
{
    for (int i = 0; i < PLOT_SCORES; i++)
        to[i] = from && i < from->count ? from->value[i] : (double)NAN;
}

void plot_add(plot *p, const cornu_progress *epoch)
{
    const cornu_scores *s = epoch->scores;
    if (!s || s->count < 1)
        return;
    if (p->scores == 0) {
        p->scores = s->count;
        p->first = epoch->epoch;
        for (int i = 0; i < s->count; i++)
            snprintf(p->names[i], sizeof p->names[i], "%s", s->name[i]);
    }
    take(p->last, s);
    take(p->last + PLOT_SCORES, epoch->validation);
    p->latest = epoch->epoch;
    if (p->kept == PLOT_KEPT)
        thin(p);
    if ((p->latest - p->first) % p->stride == 0)
        memcpy(p->values[p->kept++], p->last, sizeof p->last);
}

/* ---- drawing ---------------------------------------------------------------------------- */

enum { LABEL = 8, PANEL_LEAST = 30, PANEL_MOST = 76, GAP = 2, FRAME_ROWS = 2, RASTER_MOST = 10 };

typedef struct panel {
    char *text;
    size_t used, size;
    int width; /* of a panel */
} panel;

/* At most `columns` characters of `line`, and blanks up to so many. */
static void add_cell(panel *p, const char *line, int columns)
{
    int shown = 0;
    for (; *line && p->used + 8 < p->size; line++) {
        bool begins = ((unsigned char)*line & 0xc0) != 0x80;
        if (begins && shown == columns)
            break;
        shown += begins;
        p->text[p->used++] = *line;
    }
    for (; shown < columns && p->used + 8 < p->size; shown++)
        p->text[p->used++] = ' ';
}

static void end_line(panel *p)
{
    while (p->used > 0 && p->text[p->used - 1] == ' ')
        p->used--;
    p->text[p->used++] = '\n';
}

/* Lowest and highest of a score, apart. */
static void find_limits(const plot *p, int score, double *low, double *high)
{
    *low = DBL_MAX;
    *high = -DBL_MAX;
    for (int i = 0; i < p->kept; i++)
        for (int j = score; j < 2 * PLOT_SCORES; j += PLOT_SCORES) {
            double value = p->values[i][j];
            if (isfinite(value)) {
                *low = value < *low ? value : *low;
                *high = value > *high ? value : *high;
            }
        }
    if (*low > *high)
        *low = *high = 0;
    if (!(*high - *low > 1e-9 * fabs(*high))) {
        double room = fabs(*high) > 0 ? fabs(*high) / 10 : 1;
        *low -= room;
        *high += room;
    }
}

static void add_title(const plot *p, int score, panel *out)
{
    char title[160];
    double validation = p->last[PLOT_SCORES + score];
    int length = snprintf(title, sizeof title, "%s %.4g", p->names[score], p->last[score]);
    if (!isnan(validation))
        snprintf(title + length, sizeof title - (size_t)length, ", dotted val %.4g", validation);
    add_cell(out, title, out->width);
}

static void draw_score(const plot *p, int score, double low, double high, raster *r)
{
    double *column = malloc((size_t)p->kept * sizeof *column);
    for (int of = 1; of >= 0 && column; of--) {
        for (int i = 0; i < p->kept; i++)
            column[i] = p->values[i][of * PLOT_SCORES + score];
        raster_curve(r, column, p->kept, low, high, of == 1);
    }
    free(column);
}

static void add_row(const raster *r, int row, double low, double high, panel *out)
{
    char label[48] = "", line[4 * PANEL_MOST + 8] = "";
    int used = 0;
    if (row == 0 || row == r->rows - 1)
        snprintf(label, sizeof label, "%*.3g", LABEL, row == 0 ? high : low);
    add_cell(out, label, LABEL);
    add_cell(out, r->braille ? "│" : "|", 1);
    for (int c = 0; c < r->columns; c++)
        used += raster_character(r, c, row, line + used);
    line[used] = 0;
    add_cell(out, line, r->columns);
}

/* "epoch 1        12" */
static void add_axis(const plot *p, panel *out)
{
    char axis[160];
    int from = LABEL + 1,
        length = snprintf(axis, sizeof axis, "%*s%lld", from, "epoch ", (long long)p->first + 1);
    if (p->latest > p->first)
        snprintf(axis + length, sizeof axis - (size_t)length, "%*lld", out->width - length,
                 (long long)p->latest + 1);
    add_cell(out, axis, out->width);
}

static bool draw_panels(const plot *p, int panels, int rows, bool utf8, panel *out)
{
    raster r[PLOT_SCORES];
    double low[PLOT_SCORES], high[PLOT_SCORES];
    int columns = out->width - LABEL - 1;
    unsigned char *cells = calloc((size_t)panels * (size_t)(columns * rows), 1);
    for (int i = 0; i < panels && cells; i++) {
        r[i] = (raster){columns, rows, utf8, cells + i * columns * rows};
        find_limits(p, i, &low[i], &high[i]);
        draw_score(p, i, low[i], high[i], &r[i]);
    }
    for (int row = -1; row <= rows && cells; row++) {
        for (int i = 0; i < panels; i++) {
            add_cell(out, "", i > 0 ? GAP : 0);
            if (row < 0)
                add_title(p, i, out);
            else if (row < rows)
                add_row(&r[i], row, low[i], high[i], out);
            else
                add_axis(p, out);
        }
        end_line(out);
    }
    free(cells);
    return cells != NULL;
}

char *plot_draw(const plot *p, int width, int height, bool utf8, int *rows)
{
    int raster_rows = height - FRAME_ROWS < RASTER_MOST ? height - FRAME_ROWS : RASTER_MOST;
    int panels = (width + GAP) / (PANEL_LEAST + GAP);
    panels = panels > p->scores ? p->scores : panels;
    *rows = 0;
    if (panels < 1 || raster_rows < 2 || p->kept < 1)
        return NULL;
    panel out = {.width = (width + GAP) / panels - GAP};
    out.width = out.width > PANEL_MOST ? PANEL_MOST : out.width;
    out.size = (size_t)(raster_rows + FRAME_ROWS) * (size_t)(4 * (out.width + GAP) * panels + 64);
    out.text = malloc(out.size);
    if (!out.text || !draw_panels(p, panels, raster_rows, utf8, &out)) {
        free(out.text);
        return NULL;
    }
    out.text[out.used] = 0;
    *rows = raster_rows + FRAME_ROWS;
    return out.text;
}

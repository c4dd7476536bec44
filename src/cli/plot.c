/* Curves of a run in the terminal, a point an epoch: training as a line, validation as o. */
#include "cli/cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL = 9,
    CELLS_MOST = 60,
    CELLS_LEAST = 10,
    CELLS_BESIDE = 20,
    ROWS_MOST = 8,
    ROWS_LEAST = 3,
    DOTS = 4
};

/* ---- what is shown ---------------------------------------------------------------------- */

/* A long run drops every second point, repeatedly. */
static void thin(plot *p)
{
    p->count /= 2;
    for (int i = 0; i < p->count; i++) {
        p->epoch[i] = p->epoch[2 * i + 1];
        for (int k = 0; k < PLOT_CURVES; k++) {
            p->training[k][i] = p->training[k][2 * i + 1];
            p->validation[k][i] = p->validation[k][2 * i + 1];
        }
    }
}

void plot_add(plot *p, const cornu_progress *now)
{
    const cornu_scores *s = now->scores, *v = now->validation;
    if (p->count == PLOT_POINTS)
        thin(p);
    p->curves = s->all_count < PLOT_CURVES ? s->all_count : PLOT_CURVES;
    p->epoch[p->count] = (double)now->epoch + 1;
    for (int k = 0; k < p->curves; k++) {
        snprintf(p->name[k], sizeof p->name[k], "%.20s", s->all_name[k]);
        p->training[k][p->count] = s->all_value[k];
        p->validation[k][p->count] = v && k < v->all_count ? v->all_value[k] : NAN;
        p->validates |= isfinite(p->validation[k][p->count]);
    }
    p->count++;
}

/* ---- one curve -------------------------------------------------------------------------- */

typedef struct panel {
    const plot *plot;
    const double *training, *validation;
    const char *name;
    int cells, rows;
    double low, high;
    unsigned char dots[ROWS_MOST][CELLS_MOST]; /* a braille character's, of 2 by 4 */
    bool mark[ROWS_MOST][CELLS_MOST];
} panel;

static void see(panel *c, double value)
{
    if (!isfinite(value))
        return;
    c->low = isnan(c->low) ? value : fmin(c->low, value);
    c->high = isnan(c->high) ? value : fmax(c->high, value);
}

/* From the top, in 1 / `each` rows. */
static int place(const panel *c, double value, int each)
{
    const int last = c->rows * each - 1;
    if (c->high <= c->low)
        return last / 2;
    return (int)lround((c->high - value) / (c->high - c->low) * last);
}

static void dot(panel *c, int column, int y)
{
    static const unsigned char bits[2][DOTS] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    c->dots[y / DOTS][column / 2] |= bits[column % 2][y % DOTS];
}

/* The dots of a line between two points, at least one in each column. */
static void connect(panel *c, int x0, int y0, int x1, int y1)
{
    int steps = x1 - x0 > abs(y1 - y0) ? x1 - x0 : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        double share = steps ? (double)i / steps : 0;
        dot(c, x0 + (int)lround(share * (x1 - x0)), y0 + (int)lround(share * (y1 - y0)));
    }
}

/* In dots from the left. */
static int column_of(const panel *c, int point)
{
    const double *epoch = c->plot->epoch;
    double width = epoch[c->plot->count - 1] - epoch[0];
    return width > 0 ? (int)lround((epoch[point] - epoch[0]) / width * (2 * c->cells - 1)) : 0;
}

static void draw(panel *c)
{
    int before = -1;
    for (int i = 0; i < c->plot->count; i++) {
        int x = column_of(c, i);
        if (isfinite(c->validation[i]))
            c->mark[place(c, c->validation[i], 1)][x / 2] = true;
        if (!isfinite(c->training[i])) {
            before = -1;
            continue;
        }
        int from = before < 0 ? i : before;
        connect(c, column_of(c, from), place(c, c->training[from], DOTS), x,
                place(c, c->training[i], DOTS));
        before = i;
    }
}

static panel make_panel(const plot *p, int curve, int cells, int rows)
{
    panel c = {.plot = p,
               .training = p->training[curve],
               .validation = p->validation[curve],
               .name = p->name[curve],
               .cells = cells,
               .rows = rows,
               .low = NAN,
               .high = NAN};
    for (int i = 0; i < p->count; i++) {
        see(&c, c.training[i]);
        see(&c, c.validation[i]);
    }
    draw(&c);
    return c;
}

/* ---- lines ------------------------------------------------------------------------------ */

static void print_cell(const panel *c, int row, int cell, bool utf8, FILE *f)
{
    unsigned char dots = c->dots[row][cell];
    if (c->mark[row][cell])
        print_to(f, "o");
    else if (dots && utf8)
        print_to(f, "%c%c%c", 0xE2, 0xA0 | dots >> 6, 0x80 | (dots & 0x3F));
    else
        print_to(f, dots ? "*" : " ");
}

static void print_cells(const panel *c, int row, bool utf8, FILE *f)
{
    double value = row == 0 ? c->high : row == c->rows - 1 ? c->low : NAN;
    if (isnan(value))
        print_to(f, "%*s", LABEL, "");
    else
        print_to(f, "%*.4g", LABEL, value);
    print_to(f, utf8 ? "│" : "|");
    for (int i = 0; i < c->cells; i++)
        print_cell(c, row, i, utf8, f);
}

static void print_heading(const panel *c, FILE *f)
{
    char line[64];
    snprintf(line, sizeof line, "%s%s", c->name, c->plot->validates ? " (val: o)" : "");
    print_to(f, "%*s %-*.*s", LABEL, "", c->cells, c->cells, line);
}

static void print_epochs(const panel *c, FILE *f)
{
    char first[24], last[24];
    snprintf(first, sizeof first, "%.0f", c->plot->epoch[0]);
    snprintf(last, sizeof last, "%.0f", c->plot->epoch[c->plot->count - 1]);
    if (c->plot->count == 1)
        *last = 0;
    print_to(f, "%*s %s%*s", LABEL, "", first, c->cells - (int)strlen(first), last);
}

int plot_print(const plot *p, int width, int height, bool utf8, FILE *f)
{
    const int beside = 2, edge = LABEL + 1;
    int panels = p->curves > 1 && width >= 2 * (edge + CELLS_BESIDE) + beside ? 2 : 1;
    int cells = (width - beside * (panels - 1)) / panels - edge;
    int rows = height - 5 < ROWS_MOST ? height - 5 : ROWS_MOST; /* with the lines about it */
    panel drawn[2];
    if (p->count == 0 || cells < CELLS_LEAST || rows < ROWS_LEAST)
        return 0;
    for (int i = 0; i < panels; i++)
        drawn[i] = make_panel(p, i, cells < CELLS_MOST ? cells : CELLS_MOST, rows);
    for (int row = -1; row <= rows; row++) {
        for (int i = 0; i < panels; i++) {
            print_to(f, "%*s", i > 0 ? beside : 0, "");
            if (row < 0)
                print_heading(&drawn[i], f);
            else if (row < rows)
                print_cells(&drawn[i], row, utf8, f);
            else
                print_epochs(&drawn[i], f);
        }
        print_to(f, "\n");
    }
    return rows + 2;
}

/* Lines through points over two axes, with a legend below. */
#include "format/page/chart_draw.h"
#include <math.h>
#include <stdio.h>

enum {
    PLOT_HEIGHT = 190,
    MARKS_MOST = 40,   /* of a line; more would hide it */
    POINTS_MOST = 400, /* more are not seen at this width */
};

typedef struct plot {
    chart_axis x, y;
} plot;

static bool is_shown(const plot *p, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!p->x.logarithmic || x > 0) &&
           (!p->y.logarithmic || y > 0);
}

/* Every so many points of a long line, and the last. */
static int stride_of(const chart_line *l)
{
    return l->count > POINTS_MOST ? (l->count + POINTS_MOST - 1) / POINTS_MOST : 1;
}

static int next_point(const chart_line *l, int i)
{
    int next = i + stride_of(l);
    return next >= l->count && i < l->count - 1 ? l->count - 1 : next;
}

static plot layout(const chart *c, double top)
{
    plot p = {.x = {.low = 1, .high = 0, .logarithmic = c->log_x, .whole = true},
              .y = {.low = 1, .high = 0, .logarithmic = c->log_y}};
    for (int s = 0; s < c->line_count; s++)
        for (int i = 0; i < c->line[s].count; i++)
            if (is_shown(&p, c->line[s].x[i], c->line[s].y[i])) {
                chart_axis_see(&p.x, c->line[s].x[i]);
                p.x.whole = p.x.whole && fabs(remainder(c->line[s].x[i], 1)) <= 0;
                chart_axis_see(&p.y, c->line[s].y[i]);
            }
    chart_axis_fit(&p.x, 6, false, 0);
    chart_axis_fit(&p.y, 5, c->from_zero, c->most);
    double room = 0;
    for (int i = 0; i < p.y.ticks; i++) {
        char number[MARKUP_NUMBER];
        room = fmax(room, chart_text_width(chart_tick(p.y.tick[i], number)));
    }
    p.x.from = CHART_MARGIN + room + 6;
    p.x.to = CHART_WIDTH - 2 * CHART_MARGIN;
    p.y.from = top + PLOT_HEIGHT;
    p.y.to = top;
    return p;
}

static void draw_axes(text *t, const plot *p)
{
    double free_from = 0;
    for (int i = 0; i < p->y.ticks; i++) {
        char number[MARKUP_NUMBER];
        double y = chart_axis_place(&p->y, p->y.tick[i]);
        chart_segment(t, i ? "grid" : "base", p->x.from, y, p->x.to, y);
        chart_text(t, p->x.from - 5, y + 4, CHART_END, "soft", chart_tick(p->y.tick[i], number),
                   CHART_WIDTH);
    }
    for (int i = 0; i < p->x.ticks; i++) {
        char number[MARKUP_NUMBER];
        double x = chart_axis_place(&p->x, p->x.tick[i]);
        const char *shown = chart_tick(p->x.tick[i], number);
        double half = chart_text_width(shown) / 2;
        chart_segment(t, "base", x, p->y.from, x, p->y.from + 4);
        if (x - half < free_from)
            continue;
        chart_text(t, x, p->y.from + 17, CHART_MIDDLE, "soft", shown, CHART_WIDTH);
        free_from = x + half + 4;
    }
}

/* Circle, square, diamond, triangle, and again. */
static void draw_mark(text *t, int series, double x, double y)
{
    static const char *const shapes[] = {"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                         "m-3 -3h6v6h-6z", "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
                                         "m0 -4l4 7h-8z"};
    text_add(t, "<path class=\"s%d\" d=\"M", series % CHART_SERIES);
    markup_coordinate(t, x);
    text_add(t, " ");
    markup_coordinate(t, y);
    text_add(t, "%s\"/>\n", shapes[series % (int)(sizeof shapes / sizeof *shapes)]);
}

static void draw_path(text *t, const plot *p, const chart_line *l)
{
    bool pen_down = false;
    text_add(t, "<path class=\"line s%d\" d=\"", l->series % CHART_SERIES);
    for (int i = 0; i < l->count; i = next_point(l, i)) {
        bool shown = is_shown(p, l->x[i], l->y[i]);
        if (shown) {
            text_add(t, "%s", pen_down ? "L" : "M");
            markup_coordinate(t, chart_axis_place(&p->x, l->x[i]));
            text_add(t, " ");
            markup_coordinate(t, chart_axis_place(&p->y, l->y[i]));
        }
        pen_down = shown;
    }
    text_add(t, "\"/>\n");
}

/* Beside the point, to the side where there is room. */
static void draw_label(text *t, const plot *p, const char *label, double x, double y)
{
    bool left = x > (p->x.from + p->x.to) / 2;
    double room = left ? x - p->x.from - 7 : CHART_WIDTH - x - 7;
    chart_text(t, left ? x - 7 : x + 7, y - 5, left ? CHART_END : CHART_START, "soft", label, room);
}

static void draw_line(text *t, const plot *p, const chart_line *l)
{
    if (!l->dots)
        draw_path(t, p, l);
    for (int i = 0; i < l->count; i++) {
        bool marked = l->dots || l->count <= MARKS_MOST || (l->label && l->label[i]);
        if (!marked || !is_shown(p, l->x[i], l->y[i]))
            continue;
        double x = chart_axis_place(&p->x, l->x[i]), y = chart_axis_place(&p->y, l->y[i]);
        draw_mark(t, l->series, x, y);
        if (l->label && l->label[i])
            draw_label(t, p, l->label[i], x, y);
    }
}

/* Names with their marks, as many in a row as fit; returns where they end. */
static double draw_legend(text *t, const chart *c, double y)
{
    double x = CHART_MARGIN;
    for (int s = 0; s < c->line_count; s++) {
        const chart_line *l = &c->line[s];
        char style[16];
        double room = fmin(chart_text_width(l->name), CHART_WIDTH - 2 * CHART_MARGIN - 34);
        if (x > CHART_MARGIN && x + 34 + room > CHART_WIDTH - CHART_MARGIN) {
            x = CHART_MARGIN;
            y += CHART_ROW - 2;
        }
        snprintf(style, sizeof style, "line s%d", l->series % CHART_SERIES);
        if (!l->dots)
            chart_segment(t, style, x, y - 4, x + 26, y - 4);
        draw_mark(t, l->series, x + 13, y - 4);
        chart_text(t, x + 31, y, CHART_START, "", l->name, room + 1);
        x += 31 + room + 14;
    }
    return y;
}

double chart_draw_lines(text *t, const chart *c, double top)
{
    if (c->y_title) {
        chart_text(t, CHART_MARGIN, top + 8, CHART_START, "soft", c->y_title,
                   CHART_WIDTH - 2 * CHART_MARGIN);
        top += 20;
    }
    plot p = layout(c, top + 6);
    draw_axes(t, &p);
    for (int s = 0; s < c->line_count; s++)
        draw_line(t, &p, &c->line[s]);
    double y = p.y.from + 22;
    if (c->x_title) {
        y += 12;
        chart_text(t, p.x.to, y, CHART_END, "soft", c->x_title, CHART_WIDTH - 2 * CHART_MARGIN);
    }
    return draw_legend(t, c, y + 20) + 10;
}

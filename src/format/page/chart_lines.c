/* Lines through points over two axes, with a legend above. The area stretches with the page:
   positions are percentages, and paths are in their own drawing of 1000 by 1000, which is stretched
   while its stroke width is not. */
#include "format/page/chart_draw.h"
#include <math.h>
#include <stdio.h>

enum {
    AREA_LEAST = 250,  /* pixels, about */
    MARKS_MOST = 40,   /* per line; more would hide it */
    POINTS_MOST = 400, /* more cannot be seen */
};

typedef struct plot {
    chart_axis x, y; /* percent from the left, from the top */
} plot;

static bool is_shown(const plot *p, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!p->x.logarithmic || x > 0) &&
           (!p->y.logarithmic || y > 0);
}

/* A mark at every n-th point of a long line, and at the last. */
static int stride_of(const chart_line *l)
{
    return l->count > POINTS_MOST ? (l->count + POINTS_MOST - 1) / POINTS_MOST : 1;
}

static int next_point(const chart_line *l, int i)
{
    int next = i + stride_of(l);
    return next >= l->count && i < l->count - 1 ? l->count - 1 : next;
}

static plot layout(const chart *c)
{
    plot p = {.x = {.low = 1, .high = 0, .logarithmic = c->log_x, .whole = true, .to = 100},
              .y = {.low = 1, .high = 0, .logarithmic = c->log_y, .from = 100}};
    for (int s = 0; s < c->line_count; s++)
        for (int i = 0; i < c->line[s].count; i++)
            if (is_shown(&p, c->line[s].x[i], c->line[s].y[i])) {
                chart_axis_see(&p.x, c->line[s].x[i]);
                p.x.whole = p.x.whole && fabs(remainder(c->line[s].x[i], 1)) <= 0;
                chart_axis_see(&p.y, c->line[s].y[i]);
            }
    chart_axis_fit(&p.x, 6, false, 0);
    chart_axis_fit(&p.y, 5, c->from_zero, c->most);
    return p;
}

static void draw_rule(text *t, const char *style, double x1, double y1, double x2, double y2)
{
    const double at[] = {x1, y1, x2, y2};
    static const char *const names[] = {"x1", "y1", "x2", "y2"};
    text_add(t, "<line class=\"%s\"", style);
    for (int i = 0; i < 4; i++) {
        text_add(t, " %s=\"", names[i]);
        markup_coordinate(t, at[i]);
        text_add(t, "%%\"");
    }
    text_add(t, "/>\n");
}

/* A number beside a point of the area, moved by dx and dy (in letter heights). */
static void draw_number(text *t, double x, double y, const char *moved, const char *number)
{
    text_add(t, "<text x=\"");
    markup_coordinate(t, x);
    text_add(t, "%%\" y=\"");
    markup_coordinate(t, y);
    text_add(t, "%%\" %s>%s</text>\n", moved, number);
}

static void draw_axes(text *t, const plot *p)
{
    char number[MARKUP_NUMBER];
    double free_from = -CHART_TEXT;
    for (int i = 0; i < p->y.ticks; i++) {
        double y = chart_axis_place(&p->y, p->y.tick[i]);
        draw_rule(t, y < 100 ? "grid" : "base", 0, y, 100, y);
        draw_number(t, 0, y, "dx=\"-.5em\" dy=\".35em\" text-anchor=\"end\"",
                    chart_tick(p->y.tick[i], number));
    }
    for (int i = 0; i < p->x.ticks; i++) {
        double x = chart_axis_place(&p->x, p->x.tick[i]);
        draw_rule(t, "grid", x, 0, x, 100);
        if (chart_tick_has_room(&p->x, i, AREA_LEAST / 100.0, &free_from))
            draw_number(t, x, 100, "dy=\"1.4em\" text-anchor=\"middle\"",
                        chart_tick(p->x.tick[i], number));
    }
}

static void draw_path(text *t, const plot *p, const chart_line *l)
{
    bool pen_down = false;
    text_add(t, "<path class=\"line s%d\" vector-effect=\"non-scaling-stroke\" d=\"",
             l->series % CHART_SERIES);
    for (int i = 0; i < l->count; i = next_point(l, i)) {
        bool shown = is_shown(p, l->x[i], l->y[i]);
        if (shown) {
            text_add(t, "%s", pen_down ? "L" : "M");
            markup_coordinate(t, 10 * chart_axis_place(&p->x, l->x[i]));
            text_add(t, " ");
            markup_coordinate(t, 10 * chart_axis_place(&p->y, l->y[i]));
        }
        pen_down = shown;
    }
    text_add(t, "\"/>\n");
}

static void draw_marks(text *t, const plot *p, const chart_line *l)
{
    for (int i = 0; i < l->count && l->count <= MARKS_MOST; i++) {
        if (!is_shown(p, l->x[i], l->y[i]))
            continue;
        text_add(t, "<path class=\"mark s%d\" style=\"transform:translate(",
                 l->series % CHART_SERIES);
        markup_coordinate(t, chart_axis_place(&p->x, l->x[i]));
        text_add(t, "%%,");
        markup_coordinate(t, chart_axis_place(&p->y, l->y[i]));
        text_add(t, "%%)\" d=\"%s\"/>\n", chart_mark(l->series));
    }
}

static void draw_keys(text *t, const chart *c)
{
    if (!c->line[0].name)
        return;
    text_add(t, "<ul class=\"keys\">\n");
    for (int s = 0; s < c->line_count; s++) {
        const chart_line *l = &c->line[s];
        text sample = {0};
        const int series = l->series % CHART_SERIES;
        text_add(&sample,
                 "<svg viewBox=\"-13 -5 26 10\" aria-hidden=\"true\"><path class=\"line s%d\" "
                 "d=\"M-13 0H13\"/><path class=\"mark s%d\" d=\"%s\"/>",
                 series, series, chart_mark(series));
        text_add(&sample, "</svg>");
        t->failed |= sample.failed;
        chart_key(t, sample.data ? sample.data : "", l->name);
        text_free(&sample);
    }
    text_add(t, "</ul>\n");
}

static double number_room(const plot *p)
{
    double room = 0;
    for (int i = 0; i < p->y.ticks; i++) {
        char number[MARKUP_NUMBER];
        room = fmax(room, chart_text_width(chart_tick(p->y.tick[i], number)));
    }
    return room / CHART_TEXT;
}

void chart_plot(text *t, const chart *c)
{
    plot p = layout(c);
    draw_keys(t, c);
    text_add(t, "<div class=\"plot\" style=\"--l:");
    markup_coordinate(t, number_room(&p) + 0.4);
    text_add(t, "em\"><div class=\"area\">\n<svg role=\"img\" aria-label=\"");
    markup_text(t, c->title);
    text_add(t, "\">\n");
    draw_axes(t, &p);
    text_add(t, "</svg>\n<svg aria-hidden=\"true\" viewBox=\"0 0 1000 1000\" "
                "preserveAspectRatio=\"none\">\n");
    for (int s = 0; s < c->line_count; s++)
        draw_path(t, &p, &c->line[s]);
    text_add(t, "</svg>\n<svg aria-hidden=\"true\">\n");
    for (int s = 0; s < c->line_count; s++)
        draw_marks(t, &p, &c->line[s]);
    text_add(t, "</svg>\n</div></div>\n");
}

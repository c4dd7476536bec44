/* Bars to the right, one below another, each with its name before and its number after it: SVG, for
   a file of its own. */
#include "format/page/chart_draw.h"
#include <math.h>

/* The end of names and the start of numbers. Long names are above their bars. */
typedef struct bars_layout {
    chart_axis axis;
    double name_room, number_room;
    bool above;
    double row; /* height */
} bars_layout;

const char *chart_bar_number(const chart_bar *b, char *room)
{
    return b->text ? b->text : markup_number(b->value, 3, room);
}

bool chart_has_value(const chart *c, const chart_bar *b)
{
    return isfinite(b->value) && (!c->log_x || b->value > 0);
}

bool chart_has_range(const chart *c, const chart_bar *b)
{
    return chart_has_value(c, b) && isfinite(b->low) && isfinite(b->high) && b->low < b->high &&
           (!c->log_x || b->low > 0);
}

static void see(const chart *c, const chart_bar *b, bars_layout *l)
{
    char room[MARKUP_NUMBER];
    l->name_room = fmax(l->name_room, chart_text_width(b->name));
    if (!chart_has_value(c, b))
        return;
    l->number_room = fmax(l->number_room, chart_text_width(chart_bar_number(b, room)));
    chart_axis_see(&l->axis, b->value);
    if (chart_has_range(c, b)) {
        chart_axis_see(&l->axis, b->low);
        chart_axis_see(&l->axis, b->high);
    }
}

static bars_layout layout(const chart *c)
{
    bars_layout l = {.axis = {.low = 1, .high = 0, .logarithmic = c->log_x}};
    for (int g = 0; g < c->group_count; g++)
        for (int i = 0; i < c->group[g].count; i++)
            see(c, &c->group[g].bar[i], &l);
    l.above = l.name_room > 0.36 * CHART_WIDTH;
    l.row = l.above ? 1.7 * CHART_ROW : CHART_ROW;
    l.number_room = fmin(l.number_room, 0.36 * CHART_WIDTH);
    chart_axis_fit(&l.axis, 5, true, c->most);
    l.axis.from = CHART_MARGIN + (l.above ? 0 : l.name_room + 6);
    l.axis.to = CHART_WIDTH - CHART_MARGIN - l.number_room - 6;
    return l;
}

static void draw_rect(text *t, int series, double x, double y, double width, double height)
{
    text_add(t, "<rect class=\"mark s%d\" x=\"", series);
    markup_coordinate(t, x);
    text_add(t, "\" y=\"");
    markup_coordinate(t, y);
    text_add(t, "\" width=\"");
    markup_coordinate(t, width);
    text_add(t, "\" height=\"");
    markup_coordinate(t, height);
    text_add(t, "\"/>\n");
}

static void draw_dot(text *t, int series, double x, double y)
{
    text_add(t, "<circle class=\"mark s%d\" cx=\"", series);
    markup_coordinate(t, x);
    text_add(t, "\" cy=\"");
    markup_coordinate(t, y);
    text_add(t, "\" r=\"4\"/>\n");
}

/* Low to high, with end marks, across the middle of the bar. */
static double draw_range(text *t, const bars_layout *l, const chart_bar *b, double y)
{
    double low = chart_axis_place(&l->axis, b->low), high = chart_axis_place(&l->axis, b->high);
    chart_segment(t, "range", low, y, high, y);
    chart_segment(t, "range", low, y - 3, low, y + 3);
    chart_segment(t, "range", high, y - 3, high, y + 3);
    return high;
}

/* Grid lines, below everything that is drawn later. */
static void draw_grid(text *t, const bars_layout *l, double top, double bottom)
{
    for (int i = 0; i < l->axis.ticks; i++) {
        double x = chart_axis_place(&l->axis, l->axis.tick[i]);
        chart_segment(t, i ? "grid" : "base", x, top, x, bottom);
    }
}

/* The bar's row begins at `y`. */
static void draw_bar(text *t, const chart *c, const bars_layout *l, const chart_bar *b, double y)
{
    char room[MARKUP_NUMBER];
    double middle = y + l->row - CHART_ROW / 2.0, end = l->axis.from;
    chart_text(t, CHART_MARGIN, l->above ? middle - 11 : middle + 4, CHART_START, "", b->name,
               l->above ? CHART_WIDTH - 2 * CHART_MARGIN : l->name_room + 1);
    if (l->above)
        draw_grid(t, l, middle - 8, middle + 8);
    if (!chart_has_value(c, b)) {
        chart_text(t, end + 4, middle + 4, CHART_START, "soft", b->text ? b->text : "-",
                   CHART_WIDTH - CHART_MARGIN - end - 4);
        return;
    }
    end = chart_axis_place(&l->axis, b->value);
    if (c->log_x) {
        chart_segment(t, "grid", l->axis.from, middle, end, middle);
        draw_dot(t, b->series % CHART_SERIES, end, middle);
        end += 4;
    } else {
        draw_rect(t, b->series % CHART_SERIES, l->axis.from, middle - 6, end - l->axis.from, 12);
    }
    if (chart_has_range(c, b))
        end = fmax(end, draw_range(t, l, b, middle));
    chart_text(t, end + 5, middle + 4, CHART_START, "", chart_bar_number(b, room),
               l->number_room + 1);
}

/* Numbers that would touch the number before are left out. */
static void draw_ticks(text *t, const bars_layout *l, double y)
{
    double free_from = 0;
    for (int i = 0; i < l->axis.ticks; i++) {
        char room[MARKUP_NUMBER];
        double x = chart_axis_place(&l->axis, l->axis.tick[i]);
        const char *number = chart_tick(l->axis.tick[i], room);
        double half = chart_text_width(number) / 2;
        if (x - half < free_from)
            continue;
        chart_text(t, x, y, CHART_MIDDLE, "soft", number, CHART_WIDTH);
        free_from = x + half + 4;
    }
}

double chart_draw_bars(text *t, const chart *c, double top)
{
    bars_layout l = layout(c);
    double y = top;
    for (int g = 0; g < c->group_count; g++) {
        const chart_group *of = &c->group[g];
        if (of->name) {
            chart_text(t, CHART_MARGIN, y + 1.2 * CHART_ROW - 5, CHART_START, "head", of->name,
                       CHART_WIDTH - 2 * CHART_MARGIN);
            y += 1.2 * CHART_ROW;
        }
        if (!l.above)
            draw_grid(t, &l, y, y + of->count * l.row);
        for (int i = 0; i < of->count; i++, y += l.row)
            draw_bar(t, c, &l, &of->bar[i], y);
    }
    draw_ticks(t, &l, y + 14);
    if (!c->x_title)
        return y + 22;
    chart_text(t, CHART_WIDTH - CHART_MARGIN, y + 30, CHART_END, "soft", c->x_title,
               CHART_WIDTH - 2 * CHART_MARGIN);
    return y + 38;
}

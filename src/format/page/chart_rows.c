/* Bars as HTML: a row has a name and a track. Positions in a track are percentages, so that it is
   as wide as the page allows while letters keep their size. */
#include "format/page/chart_draw.h"
#include <math.h>
#include <stdio.h>

/* Minimum width of a track in pixels, approximately. */
enum { TRACK_LEAST = 230 };

typedef struct rows {
    const chart *chart;
    chart_axis axis;
    double room; /* width of the longest number, in letter heights */
} rows;

static void see(rows *r, const chart_bar *b)
{
    char number[MARKUP_NUMBER];
    if (!chart_has_value(r->chart, b))
        return;
    r->room = fmax(r->room, chart_text_width(chart_bar_number(b, number)) / CHART_TEXT);
    chart_axis_see(&r->axis, b->value);
    if (chart_has_range(r->chart, b)) {
        chart_axis_see(&r->axis, b->low);
        chart_axis_see(&r->axis, b->high);
    }
}

static rows layout(const chart *c)
{
    rows r = {.chart = c, .axis = {.low = 1, .high = 0, .logarithmic = c->log_x, .to = 100}};
    for (int g = 0; g < c->group_count; g++)
        for (int i = 0; i < c->group[g].count; i++)
            see(&r, &c->group[g].bar[i]);
    chart_axis_fit(&r.axis, 6, true, c->most);
    return r;
}

/* <i class="NAME" style="...">, from `left` (percent; NAN: the style sets it) */
static void draw(text *t, const char *name, int series, double left, double width)
{
    text_add(t, "<i class=\"%s", name);
    if (series >= 0)
        text_add(t, " s%d", series % CHART_SERIES);
    text_add(t, "\" style=\"");
    if (isfinite(left))
        chart_place(t, "left", left);
    if (isfinite(width))
        chart_place(t, "width", width);
    text_add(t, "\"></i>");
}

static void draw_number(text *t, const char *style, double left, const char *line)
{
    text_add(t, "<b class=\"%s\" style=\"", style);
    chart_place(t, "left", left);
    text_add(t, "\">");
    markup_text(t, line);
    text_add(t, "</b>");
}

static void draw_track(text *t, const rows *r, const chart_bar *b)
{
    char number[MARKUP_NUMBER];
    text_add(t, "<div class=\"track\">");
    for (int i = 0; i < r->axis.ticks; i++) {
        double place = chart_axis_place(&r->axis, r->axis.tick[i]);
        draw(t, place > 0 ? "g" : "g z", -1, place, NAN);
    }
    if (!chart_has_value(r->chart, b)) {
        draw_number(t, "v none", 0, b->text ? b->text : "-");
        text_add(t, "</div>\n");
        return;
    }
    double end = chart_axis_place(&r->axis, b->value);
    draw(t, r->chart->log_x ? "t" : "b", b->series, NAN, end);
    if (r->chart->log_x)
        draw(t, "d", b->series, end, NAN);
    if (chart_has_range(r->chart, b)) {
        double low = chart_axis_place(&r->axis, b->low), high = chart_axis_place(&r->axis, b->high);
        draw(t, "w", -1, low, high - low);
        end = fmax(end, high);
    }
    draw_number(t, "v", end, chart_bar_number(b, number));
    text_add(t, "</div>\n");
}

static void draw_ticks(text *t, const rows *r)
{
    double free_from = -CHART_TEXT;
    text_add(t, "<div class=\"of\"></div><div class=\"ticks\" aria-hidden=\"true\">");
    for (int i = 0; i < r->axis.ticks; i++) {
        char number[MARKUP_NUMBER];
        if (!chart_tick_has_room(&r->axis, i, TRACK_LEAST / 100.0, &free_from))
            continue;
        text_add(t, "<b style=\"");
        chart_place(t, "left", chart_axis_place(&r->axis, r->axis.tick[i]));
        text_add(t, "\">%s</b>", chart_tick(r->axis.tick[i], number));
    }
    text_add(t, "</div>\n");
}

static void draw_keys(text *t, const chart *c)
{
    char sample[64];
    bool any = c->value_name || c->range_name;
    for (int s = 0; s < CHART_SERIES; s++)
        any |= c->series_name[s] != NULL;
    if (!any)
        return;
    text_add(t, "<ul class=\"keys\">\n");
    for (int s = 0; s < CHART_SERIES; s++) {
        snprintf(sample, sizeof sample, "<i class=\"%s s%d\"></i>", c->log_x ? "d" : "b", s);
        if (c->series_name[s])
            chart_key(t, sample, c->series_name[s]);
    }
    snprintf(sample, sizeof sample, "<i class=\"%s s0\"></i>", c->log_x ? "d" : "b");
    if (c->value_name)
        chart_key(t, sample, c->value_name);
    if (c->range_name)
        chart_key(t, "<i class=\"w\"></i>", c->range_name);
    text_add(t, "</ul>\n");
}

void chart_rows(text *t, const chart *c)
{
    rows r = layout(c);
    draw_keys(t, c);
    text_add(t, "<div class=\"bars\" style=\"--r:");
    markup_coordinate(t, r.room + 0.8);
    text_add(t, "em\">\n");
    for (int g = 0; g < c->group_count; g++) {
        if (c->group[g].name)
            markup_element(t, "h4", "", c->group[g].name);
        for (int i = 0; i < c->group[g].count; i++) {
            markup_element(t, "div", "class=\"of\"", c->group[g].bar[i].name);
            draw_track(t, &r, &c->group[g].bar[i]);
        }
    }
    draw_ticks(t, &r);
    text_add(t, "</div>\n");
}

/* Pieces that charts share: text that fits, an axis, a legend. Not for other rooms. */
#ifndef FORMAT_PAGE_CHART_DRAW_H
#define FORMAT_PAGE_CHART_DRAW_H

#include "format/page/chart.h"
#include "format/page/markup.h"

/* In units of the drawing; text is 12 units high, a line of the title 14. */
enum { CHART_WIDTH = 400, CHART_MARGIN = 8, CHART_ROW = 20, CHART_TEXT = 12 };

/* The approximate width of a line of text in any usual font. */
double chart_text_width(const char *line);
typedef enum chart_anchor { CHART_START, CHART_MIDDLE, CHART_END } chart_anchor;
/* <text> within `room`: text that does not fit ends in an ellipsis, and its title is the whole
   text. */
void chart_text(text *t, double x, double y, chart_anchor anchor, const char *style,
                const char *line, double room);
/* A line from x1,y1 to x2,y2. */
void chart_segment(text *t, const char *style, double x1, double y1, double x2, double y2);

/* Maps values to positions. */
typedef struct chart_axis {
    double low, high; /* values at both ends */
    double from, to;  /* positions of the ends */
    bool logarithmic;
    double tick[16];
    int ticks;
    bool whole; /* values are whole numbers, and so are the ticks */
} chart_axis;
/* Include a value in the axis's range; begin with an axis of zeros and low > high. */
void chart_axis_see(chart_axis *a, double value);
/* Choose ends and round ticks (at most `most`) once all values are seen. `to_zero`: a linear axis
   includes 0. */
void chart_axis_fit(chart_axis *a, int most, bool to_zero, double at_least);
/* A tick's number without trailing zeros; `out` [MARKUP_NUMBER]. */
const char *chart_tick(double value, char *out);
double chart_axis_place(const chart_axis *a, double value);

/* style="PROPERTY:VALUE%", or two of them. */
void chart_place(text *t, const char *property, double percent);
/* A legend entry: a sample of the line with its mark, and its name. */
void chart_key(text *t, const char *sample, const char *name);
/* The shape of a series' mark around the origin, for a <path>: circle, square, diamond,
   triangle. */
const char *chart_mark(int series);
/* True where the tick's number does not touch the number before it; each of them is `unit` percent
   wide. */
bool chart_tick_has_room(const chart_axis *a, int tick, double unit, double *free_from);

bool chart_has_value(const chart *c, const chart_bar *b);
bool chart_has_range(const chart *c, const chart_bar *b);
/* The text after a bar; `room` [MARKUP_NUMBER]. */
const char *chart_bar_number(const chart_bar *b, char *room);

/* Draw the body as SVG below `top`; returns the height including it. */
double chart_draw_bars(text *t, const chart *c, double top);
/* The body as HTML. */
void chart_rows(text *t, const chart *c);
void chart_plot(text *t, const chart *c);

#endif

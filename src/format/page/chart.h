/* Charts for pages, readable without colours, a script or eyes: bars are boxes of HTML with their
   names and numbers as text, lines are SVG that stretches while its letters keep their size; so a
   chart is as wide as the page. Dark and light by the reader's choice. The numbers belong into a
   table beside the chart, too (page_table).

   There is no library for it: those in C that draw static charts (plplot, gnuplot, libplot, cairo)
   bring fonts, a windowing system or a process of their own, and what they write is paths where a
   reader of the page needs text, titles and styles. */
#ifndef FORMAT_PAGE_CHART_H
#define FORMAT_PAGE_CHART_H

#include "base/memory.h"

/* Colours and dashes, in order; more series begin again. Series 1 is for what is measured here,
   CHART_FOREIGN for what others published. */
enum { CHART_SERIES = 6, CHART_FOREIGN = 5 };

/* One bar, or on a logarithmic axis one dot. */
typedef struct chart_bar {
    const char *name;
    double value;     /* NAN: no bar, and `text` says why */
    double low, high; /* drawn as a range where low < high */
    const char *text; /* behind the bar; NULL: the value, three digits */
    int series;       /* colour, 0 to CHART_SERIES - 1 */
} chart_bar;

/* Bars under one heading; name NULL: no heading. */
typedef struct chart_group {
    const char *name;
    const chart_bar *bar;
    int count;
} chart_group;

/* A line through points in order of x. Not finite: a gap. */
typedef struct chart_line {
    const char *name;    /* for the legend; NULL: none */
    const double *x, *y; /* [count] */
    int count;
    int series;
} chart_line;

typedef struct chart {
    const char *id;          /* unique in a page: letters, digits, '-' */
    const char *title;       /* one line: what is shown, with the unit */
    const char *description; /* below the title: how to read it; NULL: none */
    const char *x_title;     /* NULL: none */
    double most;             /* bars: end of the axis at least; lines: of y; 0: the data's */
    bool log_x, log_y;       /* bars: log_x, dots then. Values that are not above 0 are left out */
    bool from_zero;          /* lines: y begins at 0 at the latest */
    /* Bars, one below another, and their legend: what a bar (or dot) is, what the thin line with
       two ends is, what the colours are; NULL: left out. */
    const chart_group *group;
    int group_count;
    const char *value_name, *range_name, *series_name[CHART_SERIES];
    const chart_line *line; /* or lines */
    int line_count;
} chart;

/* Append <figure>, to stand in a page that has chart_style. */
void chart_html(text *t, const chart *c);
/* Bars as SVG in a file of their own, with the style and a background; 400 units wide. */
void chart_svg_alone(text *t, const chart *c);
/* CSS of charts, for a page's <style>. */
extern const char chart_style[];

#endif

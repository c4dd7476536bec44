/* Charts for pages, readable without colours, a script or eyes: bars are boxes of HTML with their
   names and numbers as text, lines are SVG that stretches while its letters keep their size; so a
   chart is as wide as the page. Dark and light by the reader's choice. The numbers also belong in a
   table beside the chart (page_table).

   No library fits: the C libraries for static charts (plplot, gnuplot, libplot, cairo) bring fonts,
   a windowing system or a process of their own, and they write paths where a reader of the page
   needs text, titles and styles. */
#ifndef FORMAT_HTML_CHART_H
#define FORMAT_HTML_CHART_H

#include "base/memory.h"

/* Series have these colours and dashes, in order; further series begin again. Series 1 is for
   cornu's own measurements, CHART_FOREIGN for published figures. */
enum { CHART_SERIES = 6, CHART_FOREIGN = 5 };

/* One bar, or on a logarithmic axis one dot. */
typedef struct chart_bar {
    const char *name;
    double value;     /* NAN: no bar, and `text` gives the reason */
    double low, high; /* drawn as a range where low < high */
    const char *text; /* after the bar; NULL: the value, three digits */
    int series;       /* colour, 0 to CHART_SERIES - 1 */
} chart_bar;

/* Bars under one heading; name NULL: no heading. */
typedef struct chart_group {
    const char *name;
    const chart_bar *bar;
    int count;
} chart_group;

/* A line through points in order of x. A value that is not finite leaves a gap. */
typedef struct chart_line {
    const char *name;    /* for the legend; NULL: none */
    const double *x, *y; /* [count] */
    int count;
    int series;
} chart_line;

typedef struct chart {
    const char *title;       /* one line: the subject of the chart, with the unit */
    const char *description; /* below the title: how to read it; NULL: none */
    const char *x_title;     /* NULL: none */
    double most; /* minimum of the end of the bars' axis, or of the lines' y axis; 0: the data's
        maximum */
    bool log_x,
        log_y;      /* bars: log_x draws dots instead. Values that are not above 0 are left out */
    bool from_zero; /* lines: the y axis includes 0 */
    /* Bars, one below another, and their legend: the meaning of a bar (or dot), of the thin line
       with two ends, and of the colours. NULL: left out. */
    const chart_group *group;
    int group_count;
    const char *value_name, *range_name, *series_name[CHART_SERIES];
    const chart_line *line; /* or lines */
    int line_count;
} chart;

/* Append <figure>, for a page that has chart_style. */
void chart_html(text *t, const chart *c);
/* CSS of charts, for a page's <style>. */
extern const char chart_style[];

#endif

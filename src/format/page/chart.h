/* Charts as SVG, readable without colours, a script or eyes: bars with their numbers, lines with
   their marks, a title and a description for a screen reader; dark and light by the reader's
   choice. The numbers belong into a table beside the chart, too (page_table).

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

/* A line through points in order of x, or (`dots`) the points alone. Not finite: a gap. */
typedef struct chart_line {
    const char *name;
    const double *x, *y;      /* [count] */
    const char *const *label; /* [count], beside the points; may be NULL, and so may each */
    int count;
    int series;
    bool dots;
} chart_line;

typedef struct chart {
    const char *id;                /* unique in a page: letters, digits, '-' */
    const char *title;             /* one line: what is shown, with the unit */
    const char *description;       /* what a reader who does not see it should know; NULL: none */
    const char *x_title, *y_title; /* of lines; NULL: none */
    double most;                   /* bars: end of the axis at least; lines: of y; 0: the data's */
    bool log_x, log_y;        /* bars: log_x, dots then. Values that are not above 0 are left out */
    bool from_zero;           /* lines: y begins at 0 at the latest */
    const chart_group *group; /* bars, one below another */
    int group_count;
    const chart_line *line; /* or lines */
    int line_count;
} chart;

/* Append <svg>, to stand in a page that has chart_style. 400 units wide. */
void chart_svg(text *t, const chart *c);
/* The same as a file of its own, with the style and a background. */
void chart_svg_alone(text *t, const chart *c);
/* CSS of charts, for a page's <style>. */
extern const char chart_style[];

#endif

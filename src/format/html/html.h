/* Pages of HTML, and the charts and the escaped text in them. */
#ifndef FORMAT_HTML_HTML_H
#define FORMAT_HTML_HTML_H

#include "base/memory.h"

/* ---- text (markup.c) ---- */

/* Text for HTML and SVG: text from outside is escaped, and the decimal separator is a point in any
   locale. */

/* `line` as content or as an attribute between quotes: control characters as cornu_printable shows
   them, then & < > " ' as entities. */
void markup_text(text *t, const char *line);
/* <NAME ATTRIBUTES>LINE</NAME>: `line` is escaped, the rest is not; `attributes` "" for none. */
void markup_element(text *t, const char *name, const char *attributes, const char *line);
/* At most one decimal place and no exponent: a coordinate. */
void markup_coordinate(text *t, double value);

enum { MARKUP_NUMBER = 32 };
/* `significant` digits, without exponent where that is short ("0.0123", "1230", "4.5e-07"); "-" for
   a value that is not finite. Returns `out` [MARKUP_NUMBER]. */
const char *markup_number(double value, int significant, char *out);

/* ---- charts (chart.c) ---- */

/* Charts for pages, readable without colours, a script or eyes: bars are boxes of HTML with their
   names and numbers as text, lines are SVG that stretches while its letters keep their size; so a
   chart is as wide as the page. Dark and light by the reader's choice. The numbers also belong in a
   table beside the chart (html_table_begin).

   No library fits: the C libraries for static charts (plplot, gnuplot, libplot, cairo) bring fonts,
   a windowing system or a process of their own, and they write paths where a reader of the page
   needs text, titles and styles. */

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

/* ---- pages (html.c) ---- */

/* A self-contained HTML page: no network, no script, dark and light, suited to print and to screen
   readers. All text from the caller is escaped. */

/* The page's head, the title as h1, the answer in a sentence, and the line below it; NULL: none. */
void html_begin(text *t, const char *title, const char *answer, const char *line);
void html_end(text *t);
/* h2, h3. Sections end with the next heading. */
void html_heading(text *t, int level, const char *line);
void html_paragraph(text *t, const char *line);
/* A list of lines. */
void html_list_begin(text *t);
void html_list_item(text *t, const char *line);
void html_list_end(text *t);

/* A table: first its columns, then row by row its cells. Use few columns: an A4 page holds about
   seven. On a screen narrower than 40 letters the cells of a row are below one another. `caption`
   may be NULL. */
typedef struct html_column {
    const char *name;
    bool is_number; /* aligned to the right */
} html_column;
void html_table_begin(text *t, const char *caption, const html_column *columns, int count);
void html_row_begin(text *t, const char *head);                /* the cell of the first column */
void html_cell(text *t, const char *line);                     /* text */
void html_number_cell(text *t, double value, int significant); /* three digits: 3; NAN: "-" */
void html_count_cell(text *t, const char *digits);             /* a number as given */
void html_row_end(text *t);
void html_table_end(text *t);

/* Lines in columns, separated by two spaces ("zlib 1.2.13 1.2.13"), or a name with a colon ("train:
   (28, 28, 1)"), as a table of names and the texts after them. */
void html_facts(text *t, const char *caption, const char *lines);

/* A section that is hidden until the reader opens it. */
void html_details_begin(text *t, const char *summary);
void html_details_end(text *t);

/* Charts (chart_html) side by side where there is room. */
void html_figures_begin(text *t);
void html_figures_end(text *t);

/* Write the page, atomically, and free it. */
cornu_status html_write(text *t, const char *path);

#endif

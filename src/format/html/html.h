/* A self-contained HTML page: no network, no script, dark and light, suited to print and to screen
   readers. All text from the caller is escaped. */
#ifndef FORMAT_HTML_HTML_H
#define FORMAT_HTML_HTML_H

#include "format/html/chart.h"
#include "format/html/markup.h"

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

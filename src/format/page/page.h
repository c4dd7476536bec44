/* A self-contained HTML page: no network, no script, dark and light, suited to print and to screen
   readers. All text from the caller is escaped. */
#ifndef FORMAT_PAGE_PAGE_H
#define FORMAT_PAGE_PAGE_H

#include "format/page/chart.h"
#include "format/page/markup.h"

/* The page's head, the title as h1, the answer in a sentence, and the line below it; NULL: none. */
void page_begin(text *t, const char *title, const char *answer, const char *line);
void page_end(text *t);
/* h2, h3. Sections end with the next heading. */
void page_heading(text *t, int level, const char *line);
void page_paragraph(text *t, const char *line);
/* A list of lines. */
void page_list_begin(text *t);
void page_list_item(text *t, const char *line);
void page_list_end(text *t);

/* A table: first its columns, then row by row its cells. Use few columns: an A4 page holds about
   seven. On a screen narrower than 40 letters the cells of a row are below one another. `caption`
   may be NULL. */
typedef struct page_column {
    const char *name;
    bool is_number; /* aligned to the right */
} page_column;
void page_table_begin(text *t, const char *caption, const page_column *columns, int count);
void page_row_begin(text *t, const char *head);                /* the cell of the first column */
void page_cell(text *t, const char *line);                     /* text */
void page_number_cell(text *t, double value, int significant); /* three digits: 3; NAN: "-" */
void page_count_cell(text *t, const char *digits);             /* a number as given */
void page_row_end(text *t);
void page_table_end(text *t);

/* Lines in columns, separated by two spaces ("zlib 1.2.13 1.2.13"), or a name with a colon ("train:
   (28, 28, 1)"), as a table of names and the texts after them. */
void page_facts(text *t, const char *caption, const char *lines);

/* A section that is hidden until the reader opens it. */
void page_details_begin(text *t, const char *summary);
void page_details_end(text *t);

/* Charts (chart_html) side by side where there is room. */
void page_figures_begin(text *t);
void page_figures_end(text *t);

/* Write the page, atomically, and free it. */
cornu_status page_write(text *t, const char *path);

#endif

/* Rows of a table in CSV, as in RFC 4180 and spreadsheets: cells between commas (or, if the first
   line has none, semicolons or tabs), quoted if they contain a separator, a quote (doubled) or a
   line end. Own code: a library would add a package to every build for a page of code. */
#ifndef DATA_FOLDERS_CSV_ROWS_H
#define DATA_FOLDERS_CSV_ROWS_H

#include "base/status.h"

enum { CSV_COLUMNS_MOST = 1024 };

typedef struct csv_rows {
    const char *path; /* for messages */
    char *text;       /* owned; cells point into it */
    char *at;
    char separator;
    int64_t line, next_line; /* of the current row and of the next, from 1 */
    char *cell[CSV_COLUMNS_MOST];
    int count;
} csv_rows;

/* Read the file; the first row is the next. */
cornu_status csv_rows_open(const char *path, csv_rows *c);
/* The next row that is not empty, in cell[count]; *found is false after the last. */
cornu_status csv_rows_next(csv_rows *c, bool *found);
void csv_rows_close(csv_rows *c);

#endif

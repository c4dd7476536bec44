/* Declarations shared by the files of cornu predict. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/cli.h"
#include <cornu/report.h>

/* ---- predict_rows.c --------------------------------------------------------------------- */

typedef enum row_format { ROWS_TEXT, ROWS_CSV, ROWS_JSON } row_format;

/* The output of predictions, one row each. */
typedef struct rows {
    row_format format;
    const char *path; /* NULL or "-": standard output */
    FILE *to;
    int fd;                 /* file descriptor of `to` */
    bool labelled;          /* rows of a data set: with number and true class */
    bool named;             /* and with the file, if samples have files */
    cornu_output_info info; /* of the model */
    int64_t top;            /* classes of a row */
    int64_t count, failures;
    int problem; /* errno of the first write that failed, or 0 */
    bool over;   /* no more rows: writing failed, or the reader closed the pipe */
} rows;

typedef struct row {
    const char *file;              /* may be NULL if `labelled`: */
    int64_t number;                /* of the sample, */
    int label;                     /* its class (-1: none that the model knows) */
    const char *truth;             /* and that one's name, or NULL */
    const char *error;             /* error instead of a prediction; or NULL */
    const cornu_class_value *best; /* [count], the largest first */
    int64_t count;
} row;

/* Open the output file, if requested, and begin. Returns the exit status. */
int rows_open(rows *r);
void rows_write(rows *r, const row *one);
/* Write the buffered rows: STATUS_OK, or an error was printed. Sets `over` if writing fails or
   the reader closed the pipe; the latter is not a failure. */
int rows_flush(rows *r);
/* Always call at the end; returns `status` if everything was written. */
int rows_close(rows *r, int status);

#endif

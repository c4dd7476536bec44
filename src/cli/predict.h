/* Declarations shared by the files of cornu predict. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/cli.h"
#include <cornu/report.h>

/* ---- predict_files.c -------------------------------------------------------------------- */

/* Called with each file's path, in order; `problem` is what is wrong with it, or NULL. Another
   status than STATUS_OK ends the walk. */
typedef int visit_file(void *user, const char *path, const char *problem);

/* The files that operands stand for: a file is itself; a folder all files in it and below, sorted
   by the bytes of their names, but hidden ones and what links to folders lead to; a pattern (* ? [)
   that is no file what it matches; "-" the names on standard input, one a line, or each ended by a
   NUL. Only the names of the folders on the way are kept. */
int walk_files(const char *const *operands, int count, bool ended_by_nul, visit_file *visit,
               void *user);
/* The number of files, if it is obvious from the operands; else -1. */
int64_t count_files(const char *const *operands, int count);

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

/* What the files of cornu predict share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/cli.h"
#include <cornu/report.h>

/* ---- predict_files.c -------------------------------------------------------------------- */

/* Of each file's path, in order; `problem` is what is wrong with it, or NULL. Another status than
   STATUS_OK ends the walk. */
typedef int visit_file(void *user, const char *path, const char *problem);

/* The files that operands stand for: a file is itself; a folder all files in it and below, sorted
   by the bytes of their names, but hidden ones and what links to folders lead to; a pattern (* ? [)
   that is no file what it matches; "-" the names on standard input, one a line, or each ended by a
   NUL. Only the names of the folders on the way are kept. */
int walk_files(const char *const *operands, int count, bool ended_by_nul, visit_file *visit,
               void *user);
/* How many files they are where that is plain to see; else -1. */
int64_t count_files(const char *const *operands, int count);

/* ---- predict_rows.c --------------------------------------------------------------------- */

typedef enum row_format { ROWS_TEXT, ROWS_CSV, ROWS_JSON } row_format;

/* Where predictions go, a row each. */
typedef struct rows {
    row_format format;
    const char *path; /* NULL or "-": standard output */
    FILE *to;
    int fd;                 /* of `to` */
    bool labelled;          /* of a data set: a number and the true class, */
    bool named;             /* and a file, where its samples have some */
    cornu_output_info info; /* of the model */
    int64_t top;            /* classes of a row */
    int64_t count, failures;
    int problem; /* errno of the first write that failed, or 0 */
    bool over;   /* no more rows: they cannot be written, or nobody reads them */
} rows;

typedef struct row {
    const char *file;              /* where `labelled` it may be NULL: */
    int64_t number;                /* of the sample, */
    int label;                     /* its class (-1: none that the model knows) */
    const char *truth;             /* and that one's name, or NULL */
    const char *error;             /* in place of a prediction; or NULL */
    const cornu_class_value *best; /* [count], the largest first */
    int64_t count;
} row;

/* Open the file, if there is one, and begin. Returns the exit status. */
int rows_open(rows *r);
void rows_write(rows *r, const row *one);
/* Write what is waiting: STATUS_OK, or a line has been printed. A line, too, and `over`, where
   nobody reads it any more, which is no failure. */
int rows_flush(rows *r);
/* End, whatever came before; `status` is what is returned where all could be written. */
int rows_close(rows *r, int status);

#endif

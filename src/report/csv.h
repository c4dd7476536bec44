/* A table that grows row by row: each row is written before training continues, so that it
   survives a crash of the process; csv_sync (called before a model file records the row, and at
   the end of a run) makes it survive a crash of the machine. */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include "base/memory.h"

typedef struct csv csv;

/* The location of a table: `path` from the user, or (with `confined`) from a recipe: then it
   must be below `root`, without symbolic links, and may only replace an earlier table of epochs. */
typedef struct csv_location {
    const char *path, *root;
    bool confined;
} csv_location;

/* Check before training that the table can be written; creates no file. */
cornu_status csv_check(const csv_location *at);
/* Start a table with this header line; an earlier file is replaced. With `append` an earlier file
   must have the same header and keeps its complete rows whose first number is at most `last`: those
   after it were written by a run that was interrupted and will be written again. A truncated row is
   dropped, and so is such a header. */
cornu_status csv_open(const csv_location *at, const char *header, bool append, double last,
                      csv **out);
/* One row without its newline. */
cornu_status csv_add(csv *c, const char *row);
cornu_status csv_sync(csv *c);  /* NULL: nothing */
cornu_status csv_close(csv *c); /* syncs; NULL: nothing */

#endif

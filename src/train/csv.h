/* A table that grows line by line: each row is on its way to the file before training goes on. */
#ifndef TRAIN_CSV_H
#define TRAIN_CSV_H

#include "base/status.h"

typedef struct csv csv;

/* Can `path` be written? Asked before training starts; makes no file where there is none. */
cornu_status csv_check(const char *path);
/* Start a table with this header line; an earlier file is replaced. With `append` an earlier file
   must have the same header and keeps its complete rows whose first number is at most `last`: those
   after it were written by a run that was cut off and will be written again. */
cornu_status csv_open(const char *path, const char *header, bool append, double last, csv **out);
/* One row without its newline; written and flushed. */
cornu_status csv_add(csv *c, const char *row);
cornu_status csv_close(csv *c); /* NULL: nothing */

#endif

/* What the program, which sees no room before this one, asks of report/csv.h. */
#ifndef BENCH_CSV_CELL_H
#define BENCH_CSV_CELL_H

#include <stdbool.h>

/* Would a spreadsheet compute this text (csv_is_formula)? */
bool bench_csv_is_formula(const char *cell);

#endif

/* report/csv.h for the program, which sees no room before bench. */
#ifndef BENCH_CSV_CELL_H
#define BENCH_CSV_CELL_H

#include <stdbool.h>

/* Would a spreadsheet compute this text (csv_is_formula)? */
bool bench_csv_is_formula(const char *cell);

#endif

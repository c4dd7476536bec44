/* Lines of at most 80 columns. */
#ifndef BENCH_WRAP_H
#define BENCH_WRAP_H

#include <stdio.h>

enum { WRAP_WIDTH = 80 };

/* Columns that a UTF-8 text takes (no wide characters here). */
int wrap_text_width(const char *line);
/* Print words, as cornu_printable shows them, after the `at` columns in use, broken before column
   80; lines after the first begin with `indent` spaces. */
void wrap_print_from(const char *words, int at, int indent, FILE *out);

#endif

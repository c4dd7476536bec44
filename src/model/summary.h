/* The table of `cornu summary`. */
#ifndef MODEL_SUMMARY_H
#define MODEL_SUMMARY_H

#include "base/memory.h"
#include "model/model.h"

/* Append Keras 3's model.summary(): a title, a row a layer, and the parameter totals; at most 76
   columns. */
void model_summary_table(const cornu_model *m, text *out);
/* 12230010 as "12,230,010" into `digits` (at least 32 bytes). Returns it. */
char *summary_number(int64_t n, char *digits);
/* Bytes in Keras's form, "46.65 MB" (of 1024 kB), into `shown` (at least 32 bytes). Returns it. */
char *summary_bytes(double bytes, char *shown);

#endif

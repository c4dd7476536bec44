/* The table of `cornu summary`. */
#ifndef MODEL_SUMMARY_H
#define MODEL_SUMMARY_H

#include "base/memory.h"
#include "model/model.h"

/* Append Keras 3's model.summary(): a title, a row per layer, and the parameter totals; at most 76
   columns. A MB is 10^6 bytes, as everywhere in cornu, where Keras's is 2^20. */
void model_summary_table(const cornu_model *m, text *out);
/* The numbers of one layer's row. */
int64_t summary_parameters(const cornu_model *m, const layer *l);
/* 12230010 as "12,230,010" into `digits` (at least 32 bytes). Returns it. */
char *summary_number(int64_t n, char *digits);
/* Bytes with Keras's two decimals, "48.92 MB" (of 10^6), into `shown` (at least 32 bytes). Returns
   it. */
char *summary_bytes(double bytes, char *shown);

#endif

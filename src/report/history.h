/* One row an epoch. */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include "base/status.h"

/* Loss and metrics, the same of the validation, learning_rate, seconds. */
#define HISTORY_COLUMNS_MAX (2 * (CORNU_METRICS_MAX + 1) + 2)

/* Copies the names. */
cornu_status history_open(const char *const *names, int columns, cornu_history **out);
cornu_status history_add(cornu_history *h, const double *row);
/* The place of cornu_history_callbacks's text, which the history frees. */
char **history_callbacks(cornu_history *h);
/* Keep how long the run took in all. */
void history_took(cornu_history *h, double seconds);

#endif

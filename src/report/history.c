#include "report/history.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cornu_history {
    char *names[HISTORY_COLUMNS_MAX];
    int columns, epochs;
    double *values; /* [epochs][columns] */
    double seconds; /* in all */
    size_t capacity;
    char *callbacks;
};

cornu_status history_open(const char *const *names, int columns, cornu_history **out)
{
    *out = NULL;
    cornu_history *h;
    TRY(memory_new(1, sizeof *h, "history", &h));
    cornu_status status = CORNU_OK;
    for (; h->columns < columns && status == CORNU_OK; h->columns++)
        status = memory_copy_string(names[h->columns], &h->names[h->columns]);
    if (status != CORNU_OK) {
        cornu_history_close(h);
        return status;
    }
    *out = h;
    return CORNU_OK;
}

cornu_status history_add(cornu_history *h, const double *row)
{
    size_t used = (size_t)h->epochs * (size_t)h->columns, columns = (size_t)h->columns;
    TRY(memory_grow(&h->values, &h->capacity, used + columns, sizeof *h->values));
    memcpy(h->values + used, row, columns * sizeof *row);
    h->epochs++;
    return CORNU_OK;
}

char **history_callbacks(cornu_history *h)
{
    return &h->callbacks;
}

const char *cornu_history_callbacks(const cornu_history *h)
{
    return h ? h->callbacks : NULL;
}

void history_took(cornu_history *h, double seconds)
{
    h->seconds = seconds;
}

double cornu_history_seconds(const cornu_history *h)
{
    return h ? h->seconds : 0;
}

int cornu_history_epochs(const cornu_history *h)
{
    return h ? h->epochs : 0;
}

int cornu_history_columns(const cornu_history *h)
{
    return h ? h->columns : 0;
}

const char *cornu_history_name(const cornu_history *h, int column)
{
    return h && column >= 0 && column < h->columns ? h->names[column] : NULL;
}

double cornu_history_value(const cornu_history *h, int epoch, int column)
{
    if (!h || epoch < 0 || epoch >= h->epochs || column < 0 || column >= h->columns)
        return NAN;
    return h->values[(size_t)epoch * (size_t)h->columns + (size_t)column];
}

void cornu_history_close(cornu_history *h)
{
    if (!h)
        return;
    for (int i = 0; i < h->columns; i++)
        free(h->names[i]);
    free(h->values);
    free(h->callbacks);
    free(h);
}

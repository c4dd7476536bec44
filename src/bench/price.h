/* What an hour of a device costs, as the user says: "cpu=0.08/h,gpu=0.53 EUR/h". */
#ifndef BENCH_PRICE_H
#define BENCH_PRICE_H

#include "base/status.h"

enum { PRICES_MOST = 16, PRICE_UNIT = 16 };

typedef struct price {
    char device[64]; /* "cpu", "cuda:0", a kind ("opencl") or "gpu" */
    double per_hour;
} price;

typedef struct price_list {
    price price[PRICES_MOST];
    int count;
    char unit[PRICE_UNIT]; /* "EUR", "$"; "": none was given */
    bool unit_first;       /* "$0.53" */
} price_list;

/* NULL or "": none. CORNU_INVALID names what was found. */
cornu_status price_parse(const char *text, price_list *out);
/* Of `device`: by its name, else by its kind, else as any GPU; NAN: none was given. */
double price_of(const price_list *list, const char *device, bool gpu);
/* "0.053 EUR" into text[48]; "-" of NAN. */
const char *price_show(const price_list *list, double amount, char *text);

#endif

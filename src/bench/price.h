/* The price of an hour of a device, as the user writes it: "cpu=0.08/h,gpu=0.53 EUR/h". */
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
    char unit[PRICE_UNIT]; /* "EUR", "$"; "": none */
    bool unit_first;       /* "$0.53" */
} price_list;

/* NULL or "": no prices. CORNU_INVALID names the text that was found. */
cornu_status price_parse(const char *text, price_list *out);
/* The price of `device`: by its name, else by its kind, else as any GPU; NAN: none. */
double price_of(const price_list *list, const char *device, bool gpu);
/* "0.053 EUR" into text[48]; "-" for NAN. */
const char *price_show(const price_list *list, double amount, char *text);

#endif

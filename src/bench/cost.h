/* The costs of a training besides time: energy of the host, and money. */
#ifndef BENCH_COST_H
#define BENCH_COST_H

#include "base/status.h"

enum { ENERGY_ZONES_MOST = 16, ENERGY_PATH = 512 };

typedef struct energy {
    int count;                                 /* processor packages; 0: none can be read */
    char path[ENERGY_ZONES_MOST][ENERGY_PATH]; /* energy_uj */
    double last[ENERGY_ZONES_MOST];            /* microjoules */
    double range[ENERGY_ZONES_MOST]; /* value at which the counter wraps around; 0: unknown */
    char why[256];                   /* the reason why none can be read */
} energy;

/* `folder`: NULL is /sys/class/powercap. */
void energy_open(energy *e, const char *folder);
/* Joules since the last call, or since opening; NAN if unreadable. Call it more often than a
   counter wraps around, which takes minutes. */
double energy_since(energy *e);

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

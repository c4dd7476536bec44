/* What the host's processors have taken from the mains: the counters of Linux's powercap (Intel's
   and AMD's RAPL). They count all that runs on the machine, and are readable by root alone on many:
   what cannot be read is not guessed. */
#ifndef BENCH_ENERGY_H
#define BENCH_ENERGY_H

enum { ENERGY_ZONES_MOST = 16, ENERGY_PATH = 512 };

typedef struct energy {
    int count;                                 /* of processor packages; 0: nothing can be read */
    char path[ENERGY_ZONES_MOST][ENERGY_PATH]; /* energy_uj */
    double last[ENERGY_ZONES_MOST];            /* microjoules */
    double range[ENERGY_ZONES_MOST];           /* at which it begins anew; 0: not known */
    char why[256];                             /* why nothing can be read */
} energy;

/* `folder`: NULL is /sys/class/powercap. */
void energy_open(energy *e, const char *folder);
/* Joules since the last call, or the opening; NAN where they cannot be read. To be asked more often
   than a counter goes round, which takes minutes. */
double energy_since(energy *e);

#endif

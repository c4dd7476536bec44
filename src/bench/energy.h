/* Energy of the host's processors: the counters of Linux's powercap (Intel's and AMD's RAPL). They
   count everything that runs on the machine, and on many only root can read them: unreadable energy
   is never guessed. */
#ifndef BENCH_ENERGY_H
#define BENCH_ENERGY_H

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

#endif

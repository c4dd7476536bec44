/* How long it took. */
#include "bench/show.h"
#include "cli/cli.h"
#include <time.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void print_rate(int64_t samples, double seconds)
{
    char took[24];
    double rate = seconds > 0 ? (double)samples / seconds : 0;
    print("%lld %s in %s, %.*f samples/s\n", (long long)samples,
          samples == 1 ? "sample" : "samples", duration_clock(seconds, took), rate < 10 ? 2 : 0,
          rate);
}

void print_total(int64_t epochs, double seconds)
{
    char took[24];
    print("trained %lld %s in %s\n", (long long)epochs, epochs == 1 ? "epoch" : "epochs",
          duration_clock(seconds, took));
}

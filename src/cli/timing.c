/* How long it took. */
#include "cli/cli.h"
#include <time.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *show_seconds(double seconds, char *text)
{
    long long whole = (long long)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(text, 24, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else if (whole >= 60)
        snprintf(text, 24, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, 24, "%.3g s", seconds);
    return text;
}

void print_rate(int64_t samples, double seconds)
{
    char took[24];
    double rate = seconds > 0 ? (double)samples / seconds : 0;
    print("%lld %s in %s, %.*f samples/s\n", (long long)samples,
          samples == 1 ? "sample" : "samples", show_seconds(seconds, took), rate < 10 ? 2 : 0,
          rate);
}

void print_total(int64_t epochs, double seconds)
{
    char took[24];
    print("trained %lld %s in %s\n", (long long)epochs, epochs == 1 ? "epoch" : "epochs",
          show_seconds(seconds, took));
}

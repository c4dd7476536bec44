/* The comparison with a saved run in words and on a terminal. */
#include "base/status.h"
#include "bench/baseline.h"
#include "bench/wrap.h"
#include <math.h>
#include <string.h>

const char *baseline_show(const bench_change *c, char *line, size_t size)
{
    double percent = 100 * (c->ratio - 1);
    switch (c->verdict) {
    case BENCH_SLOWER:
        snprintf(line, size, "slower by %.1f %%", percent);
        break;
    case BENCH_FASTER:
        snprintf(line, size, "faster by %.1f %%", -percent);
        break;
    case BENCH_SAME:
        snprintf(line, size, "no change seen");
        break;
    case BENCH_NOT_COMPARED:
        snprintf(line, size, "not compared: %s", c->why);
        break;
    }
    return line;
}

static void print_change(const bench_change *c, FILE *out)
{
    char line[512], verdict[320];
    int at;
    baseline_show(c, verdict, sizeof verdict);
    at = fprintf(out, "%-16s %-10.10s ", c->workload, c->device);
    if (c->verdict == BENCH_NOT_COMPARED) {
        wrap_print_from(verdict, at, at, out);
        return;
    }
    snprintf(line, sizeof line, "%9.4g %9.4g  %+6.1f to %+6.1f %%  %s", c->before_ms, c->after_ms,
             100 * (c->low - 1), 100 * (c->high - 1),
             c->verdict == BENCH_SAME     ? verdict
             : c->verdict == BENCH_SLOWER ? "slower"
                                          : "faster");
    fprintf(out, "%s\n", line);
}

void baseline_print(const bench_report *report, FILE *out)
{
    const bench_comparison *b = &report->baseline;
    char line[512];
    if (!*b->file)
        return;
    snprintf(line, sizeof line, "\nAgainst %s (cornu %s%s%s):", b->file, b->version,
             *b->started ? ", " : "", b->started);
    fprintf(out, "\n");
    wrap_print_from(line + 1, 0, 2, out);
    for (int i = 0; i < b->difference_count; i++) {
        snprintf(line, sizeof line, "- %s", b->differences[i]);
        wrap_print_from(line, 0, 4, out);
    }
    fprintf(out, "%-16s %-10s %9s %9s  %s\n", "fastest steps", "device", "then, ms", "now, ms",
            "change, 99 % sure");
    for (int i = 0; i < b->count; i++)
        print_change(&b->changes[i], out);
}

/* Measures how fast the device's threads can currently read the variables from the caches or
   memory. */
#include "base/clock.h"
#include "device/host/prepared.h"
#include <math.h>

enum { READ_FLOATS_MOST = (32 << 20) / 4, BLOCK_FLOATS = 32768, PASSES = 3, LANES = 16 };

typedef struct read_work {
    const host_device *host;
    int64_t count; /* floats of the variables, one after the other */
    volatile float sink;
} read_work;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sums in lanes, so that it is vectorized without leave to reorder them. */
static float read_values(const float *x, int64_t count)
{
    float sums[LANES] = {0}, sum = 0;
    for (int64_t i = 0; i + LANES <= count; i += LANES)
        for (int j = 0; j < LANES; j++)
            sums[j] += x[i + j];
    for (int j = 0; j < LANES; j++)
        sum += sums[j];
    return sum;
}

/* One block, which may begin in one variable and end in another. */
static void read_task(void *context, int64_t task, int worker)
{
    read_work *w = context;
    const host_device *h = w->host;
    int64_t begin = task * BLOCK_FLOATS, end = least(begin + BLOCK_FLOATS, w->count);
    float sum = 0;
    (void)worker;
    for (int v = 0; v < h->variable_count && end > 0; v++) {
        int64_t count = h->model->variables[v].count;
        int64_t from = begin > 0 ? begin : 0, to = least(end, count);
        if (from < to)
            sum += read_values(h->variables[v] + from, to - from);
        begin -= count;
        end -= count;
    }
    if (task < 0) /* never: keeps the sum alive without a shared write */
        w->sink = sum;
}

double host_memory_probe(device *d)
{
    const host_device *h = host_of(d);
    read_work w = {.host = h};
    double best = INFINITY;
    for (int v = 0; v < h->variable_count; v++)
        w.count = least(w.count + h->model->variables[v].count, READ_FLOATS_MOST);
    if (w.count == 0)
        return NAN;
    int64_t tasks = (w.count + BLOCK_FLOATS - 1) / BLOCK_FLOATS;
    for (int pass = 0; pass < PASSES; pass++) {
        double begin = clock_seconds();
        threads_run(h->pool, tasks, read_task, &w);
        best = fmin(best, clock_seconds() - begin);
    }
    return (double)sizeof(float) * (double)w.count / fmax(best, 1e-9);
}

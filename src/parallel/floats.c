#include "parallel/floats.h"
#include "base/number.h"

enum { TASK = 1 << 15 }; /* floats that one task goes through */

typedef struct range_work {
    float *to;
    const float *from;
    int64_t count;
    float factor;
} range_work;

static int64_t end_of(const range_work *w, int64_t task)
{
    return (task + 1) * TASK < w->count ? (task + 1) * TASK : w->count;
}

static void scale_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = end_of(w, task);
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] *= w->factor;
}

static void add_scaled_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = end_of(w, task);
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] = (w->to[i] + w->from[i]) * w->factor;
}

static void add_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = end_of(w, task);
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] += w->from[i];
}

static void add_rounded_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = end_of(w, task);
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] = bf16_round(w->to[i]) + bf16_round(w->from[i]);
}

static void round_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = end_of(w, task);
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] = bf16_round(w->to[i]);
}

static void run(threads *pool, threads_work *work, range_work w)
{
    threads_run(pool, (w.count + TASK - 1) / TASK, work, &w);
}

void floats_scale(threads *pool, float *values, int64_t count, float factor)
{
    if (factor != 1)
        run(pool, scale_task, (range_work){.to = values, .count = count, .factor = factor});
}

void floats_add_scaled(threads *pool, float *to, const float *from, int64_t count, float factor)
{
    if (from)
        run(pool, add_scaled_task,
            (range_work){.to = to, .from = from, .count = count, .factor = factor});
    else
        floats_scale(pool, to, count, factor);
}

void floats_add(threads *pool, float *to, const float *from, int64_t count, bool rounds)
{
    run(pool, rounds ? add_rounded_task : add_task,
        (range_work){.to = to, .from = from, .count = count});
}

void floats_round(threads *pool, float *values, int64_t count)
{
    run(pool, round_task, (range_work){.to = values, .count = count});
}

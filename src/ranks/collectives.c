/* What all ranks do together. */
#include "ranks/engine.h"
#include <string.h>

/* ---- everybody's bytes ------------------------------------------------------------------ */

/* By doubling: after distance d each has what 2 d neighbours have. */
cornu_status engine_share(cornu_ranks *r, const void *own, void *all, size_t size)
{
    char *items = all;
    memmove(items + (size_t)r->rank * size, own, size);
    for (int distance = 1; distance < r->count; distance *= 2) {
        int with = r->rank ^ distance;
        size_t mine = (size_t)(r->rank & ~(distance - 1)),
               theirs = (size_t)(with & ~(distance - 1));
        size_t bytes = (size_t)distance * size;
        TRY(engine_exchange(r, with, items + mine * size, bytes, items + theirs * size, bytes));
    }
    return CORNU_OK;
}

typedef struct share_context {
    const void *own;
    void *all;
    size_t size;
} share_context;

static cornu_status run_share(cornu_ranks *r, void *context)
{
    const share_context *c = context;
    return engine_share(r, c->own, c->all, c->size);
}

cornu_status ranks_share(cornu_ranks *r, const void *own, void *all, size_t size)
{
    return engine_run(r, run_share, &(share_context){own, all, size});
}

cornu_status cornu_ranks_share(cornu_ranks *r, const void *own, void *all, size_t size)
{
    if (!own || !all)
        return status_fail(CORNU_INVALID, "cornu_ranks_share: found NULL; expected a place");
    if (r)
        return ranks_share(r, own, all, size);
    memmove(all, own, size);
    return CORNU_OK;
}

/* ---- sums ------------------------------------------------------------------------------- */

typedef struct sum_context {
    float *values;
    int64_t count;
} sum_context;

typedef struct addition {
    float *to;
    const float *from;
    int64_t count;
} addition;

static void add_task(void *context, int64_t task, int worker)
{
    const addition *a = context;
    (void)task;
    (void)worker;
    for (int64_t i = 0; i < a->count; i++)
        a->to[i] += a->from[i];
}

static cornu_status exchange_floats(cornu_ranks *r, int with, const float *out, int64_t outs,
                                    float *in, int64_t ins)
{
    return engine_exchange(r, with, out, (size_t)outs * sizeof *out, in, (size_t)ins * sizeof *in);
}

/* The lower half of a range is kept by the lower rank of two. */
typedef struct halving {
    int64_t begin, middle, end;
} halving;

static bool keeps_upper(const cornu_ranks *r, int distance)
{
    return (r->rank & distance) != 0;
}

static cornu_status halve(cornu_ranks *r, float *values, int distance, const halving *h)
{
    float *lower = values + h->begin, *upper = values + h->middle;
    int64_t below = h->middle - h->begin, above = h->end - h->middle;
    bool up = keeps_upper(r, distance);
    int64_t kept = up ? above : below;
    TRY(exchange_floats(r, r->rank ^ distance, up ? lower : upper, up ? below : above, r->scratch,
                        kept));
    addition a = {.to = up ? upper : lower, .from = r->scratch, .count = kept};
    threads_run(r->adder, 1, add_task, &a);
    return CORNU_OK;
}

static cornu_status gather(cornu_ranks *r, float *values, int distance, const halving *h)
{
    float *lower = values + h->begin, *upper = values + h->middle;
    int64_t below = h->middle - h->begin, above = h->end - h->middle;
    if (keeps_upper(r, distance))
        return exchange_floats(r, r->rank ^ distance, upper, above, lower, below);
    return exchange_floats(r, r->rank ^ distance, lower, below, upper, above);
}

static cornu_status sum_bucket(cornu_ranks *r, float *values, int64_t count)
{
    halving halvings[NEIGHBOURS_MOST];
    int64_t begin = 0, end = count;
    for (int k = 0; 1 << k < r->count; k++) {
        halvings[k] = (halving){.begin = begin, .middle = begin + (end - begin) / 2, .end = end};
        TRY(halve(r, values, 1 << k, &halvings[k]));
        begin = keeps_upper(r, 1 << k) ? halvings[k].middle : begin;
        end = keeps_upper(r, 1 << k) ? end : halvings[k].middle;
    }
    for (int k = r->neighbour_count - 1; k >= 0; k--)
        TRY(gather(r, values, 1 << k, &halvings[k]));
    return CORNU_OK;
}

static cornu_status run_sum(cornu_ranks *r, void *context)
{
    const sum_context *c = context;
    for (int64_t i = 0; i < c->count; i += BUCKET)
        TRY(sum_bucket(r, c->values + i, c->count - i < BUCKET ? c->count - i : BUCKET));
    return CORNU_OK;
}

cornu_status ranks_sum(cornu_ranks *r, float *values, int64_t count)
{
    return engine_run(r, run_sum, &(sum_context){values, count});
}

/* ---- what must be the same -------------------------------------------------------------- */

/* One after the other, as another version, which is the first of them, may have other claims. */
cornu_status ranks_agree(cornu_ranks *r, const ranks_claim *claims, int count)
{
    char all[RANKS_MOST * RANKS_VALUE];
    for (int i = 0; i < count; i++) {
        TRY(ranks_share(r, claims[i].value, all, RANKS_VALUE));
        for (int k = 1; k < r->count; k++) {
            const char *value = all + (size_t)k * RANKS_VALUE;
            if (strncmp(all, value, RANKS_VALUE) == 0)
                continue;
            r->agreed = true;
            return status_fail(r->rank == 0 ? CORNU_INVALID : CORNU_RANK,
                               "%s: found %.*s on %s; expected %.*s, as on %s", claims[i].name,
                               RANKS_VALUE, value, ranks_name(r, k), RANKS_VALUE, all,
                               ranks_name(r, 0));
        }
    }
    return CORNU_OK;
}

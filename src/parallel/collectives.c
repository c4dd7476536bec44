/* Collective operations. */
#include "base/clock.h"
#include "base/number.h"
#include "parallel/engine.h"
#include <cornu/parallel.h>
#include <string.h>

enum { BUCKETS_WANTED = 16, BUCKET_LEAST = 1 << 16 };

/* ---- all-gather of bytes ----------------------------------------------------------------- */

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

/* Additions run in a pool of one thread, so that they use the same kernels as in the other
   pools. */
typedef struct range_work {
    float *to;
    const void *from; /* floats or bfloat16 */
    int64_t count;
} range_work;

static void add_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    const float *from = w->from;
    (void)task;
    (void)worker;
    for (int64_t i = 0; i < w->count; i++)
        w->to[i] += from[i];
}

static void add_rounded_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    const uint16_t *from = w->from;
    (void)task;
    (void)worker;
    for (int64_t i = 0; i < w->count; i++)
        w->to[i] = bf16_round(w->to[i]) + bf16_to(from[i]);
}

static void pack(const float *from, uint16_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = bf16_of(from[i]);
}

static void unpack(const uint16_t *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = bf16_to(from[i]);
}

/* A bucket under way: in each of log2(ranks) steps a rank sends one half and adds the other
   (reduce-scatter); then the halves come back (all-gather). Of two ranks the lower one keeps the
   lower half. */
typedef struct range {
    int64_t begin, middle, end;
} range;
typedef struct flight {
    float *values;
    bool rounded;
    int step,
        end; /* of 2 log2(ranks) steps; half of them for a reduce-scatter or all-gather alone */
    range ranges[NEIGHBOURS_MOST];
} flight;

static bool keeps_upper(int rank, int distance)
{
    return (rank & distance) != 0;
}

/* The half of a range that the rank keeps. */
static range kept(int rank, int k, const range *of)
{
    bool up = keeps_upper(rank, 1 << k);
    int64_t begin = up ? of->middle : of->begin, end = up ? of->end : of->middle;
    return (range){begin, begin + (end - begin) / 2, end};
}

static range whole(int64_t count)
{
    return (range){0, count / 2, count};
}

/* The neighbour of a step, by the logarithm of its distance. */
static int neighbour_of(const cornu_ranks *r, int step)
{
    return step < r->neighbour_count ? step : 2 * r->neighbour_count - 1 - step;
}

/* The operands of a step. */
typedef struct leg {
    int with;
    bool halves;        /* reduce-scatter; else all-gather */
    float *own, *other; /* the half that this rank keeps or has, and the other */
    int64_t own_count, other_count;
    const float *read; /* the neighbour's memory to read instead of receiving; NULL: it is sent */
    float *scratch;    /* for the flight's slot */
    uint16_t *packed;
} leg;

static leg leg_of(const cornu_ranks *r, int slot, const flight *f)
{
    int k = neighbour_of(r, f->step);
    const range *g = &f->ranges[k];
    bool up = keeps_upper(r->rank, 1 << k);
    float *lower = f->values + g->begin, *upper = f->values + g->middle;
    int64_t below = g->middle - g->begin, above = g->end - g->middle;
    bool halves = f->step < r->neighbour_count;
    float *own = up ? upper : lower, *other = up ? lower : upper;
    return (leg){.with = r->rank ^ 1 << k,
                 .halves = halves,
                 .own = own,
                 .other = other,
                 .read = f->rounded ? NULL : engine_other(r, k, halves ? own : other),
                 .own_count = up ? above : below,
                 .other_count = up ? below : above,
                 .scratch = r->scratch + (size_t)slot * (BUCKET / 2),
                 .packed = r->packed + (size_t)slot * (BUCKET / 2)};
}

static cornu_status begin_step(cornu_ranks *r, int slot, const flight *f)
{
    const leg l = leg_of(r, slot, f);
    const void *out = l.halves ? l.other : l.own;
    void *in = l.halves || f->rounded ? l.scratch : l.other;
    int64_t outs = l.halves ? l.other_count : l.own_count,
            ins = l.halves ? l.own_count : l.other_count;
    size_t size = f->rounded ? sizeof *l.packed : sizeof *l.own;
    if (l.read) /* the message only says that the numbers are ready */
        return engine_begin_exchange(r, slot, l.with, l.packed, 1, l.scratch, 1);
    if (f->rounded) {
        pack(out, l.packed, outs);
        out = l.packed;
    }
    return engine_begin_exchange(r, slot, l.with, out, (size_t)outs * size, in, (size_t)ins * size);
}

/* Adds the received half to the kept half, or stores it. */
static void end_step(cornu_ranks *r, int slot, flight *f)
{
    const leg l = leg_of(r, slot, f);
    int k = neighbour_of(r, f->step++);
    bool last = k + 1 == r->neighbour_count;
    if (!l.halves) {
        if (f->rounded)
            unpack((const uint16_t *)(const void *)l.scratch, l.other, l.other_count);
        else if (l.read)
            memcpy(l.other, l.read, (size_t)l.other_count * sizeof *l.other);
        return;
    }
    range_work w = {l.own, l.read ? l.read : l.scratch, l.own_count};
    threads_run(r->adder, 1, f->rounded ? add_rounded_task : add_task, &w);
    for (int64_t i = 0; last && f->rounded && i < l.own_count; i++)
        l.own[i] = bf16_round(l.own[i]);
}

/* The last neighbour's memory: its numbers are the sum over the other half of the ranks. */
const float *ranks_rest(const cornu_ranks *r, const ranks_numbers *n, const float *values)
{
    int last = r->neighbour_count - 1;
    return n->divided > 0 && n->rounded == 0 && last >= 0 ? engine_other(r, last, values) : NULL;
}

/* *moved: a step of the flight has ended. *flies becomes false after its last step. */
static cornu_status advance(cornu_ranks *r, int slot, flight *f, bool *flies, bool *moved)
{
    bool done;
    TRY(engine_test_exchange(r, slot, &done));
    if (!done)
        return CORNU_OK;
    *moved = true;
    end_step(r, slot, f);
    *flies = f->step < f->end;
    return *flies ? begin_step(r, slot, f) : CORNU_OK;
}

/* *flies: the bucket needs at least one step. */
static cornu_status take_off(cornu_ranks *r, int slot, flight *f, const addition *a, int64_t begin,
                             int64_t end, bool *flies)
{
    int halves = r->neighbour_count;
    bool divided = begin < a->numbers.divided && !a->gathers;
    bool rests = divided && ranks_rest(r, &a->numbers, a->values);
    *f = (flight){.values = a->values + begin,
                  .rounded = !a->gathers && begin < a->numbers.rounded,
                  .step = a->gathers ? halves : 0,
                  .end = divided ? halves - rests : 2 * halves,
                  .ranges[0] = whole(end - begin)};
    for (int k = 0; k + 1 < r->neighbour_count; k++)
        f->ranges[k + 1] = kept(r->rank, k, &f->ranges[k]);
    *flies = f->step < f->end;
    return *flies ? begin_step(r, slot, f) : CORNU_OK;
}

/* Small enough that most buckets are under way while later numbers are computed. */
int64_t ranks_bucket(int64_t count)
{
    int64_t share = count / BUCKETS_WANTED;
    return share < BUCKET_LEAST ? BUCKET_LEAST : share < BUCKET ? share : BUCKET;
}

/* The end of the bucket that begins with number `begin`; all its numbers are of one kind. */
static int64_t bucket_end(const ranks_numbers *n, int64_t begin)
{
    int64_t first = n->rounded > n->divided ? n->rounded : n->divided;
    int64_t kind = begin < first ? first : n->count, end = begin + ranks_bucket(n->count);
    return end < kind ? end : kind;
}

int ranks_parts(int rank, int count, const ranks_numbers *n, ranks_part *parts)
{
    int found = 0;
    for (int64_t begin = 0, end; begin < n->divided; begin = end) {
        end = bucket_end(n, begin);
        range of = whole(end - begin);
        for (int k = 0; 1 << k < count; k++)
            of = kept(rank, k, &of);
        if (parts)
            parts[found] = (ranks_part){begin + of.begin, begin + of.end, end};
        found++;
    }
    return found;
}

static cornu_status all_join(cornu_ranks *r, bool joins, bool *all)
{
    char each[RANKS_MOST], own = joins;
    TRY(engine_share(r, &own, each, 1));
    *all = memchr(each, 0, (size_t)r->count) == NULL;
    return CORNU_OK;
}

/* Bucket i always follows bucket i - EXCHANGES in its slot, so that both ranks of a message mean
   the same bucket. */
static cornu_status send_buckets(cornu_ranks *r, addition *a)
{
    flight flights[EXCHANGES];
    bool flies[EXCHANGES] = {false};
    int64_t count = a->gathers ? a->numbers.divided : a->numbers.count, begun = 0;
    double moved_at = clock_seconds();
    for (int slot = 0, flying = 0; begun < count || flying > 0;) {
        bool moved = false;
        int64_t end = bucket_end(&a->numbers, begun);
        if (flying == 0)
            TRY(engine_await(r, &a->ready, end));
        if (begun < count && !flies[slot] && engine_reached(r, &a->ready, end)) {
            TRY(take_off(r, slot, &flights[slot], a, begun, end, &flies[slot]));
            moved = true;
            begun = end;
            slot = (slot + 1) % EXCHANGES;
        }
        flying = 0;
        for (int i = 0; i < EXCHANGES; i++) {
            if (flies[i])
                TRY(advance(r, i, &flights[i], &flies[i], &moved));
            flying += flies[i];
        }
        moved_at = moved ? clock_seconds() : moved_at;
        if (!moved && flying > 0)
            TRY(engine_pause(r, moved_at));
    }
    return CORNU_OK;
}

/* Wait for ranks that read in another rank's memory, and for ranks whose numbers will be read. */
static cornu_status exchange_buckets(cornu_ranks *r, addition *a)
{
    bool all;
    if (r->count == 1)
        return CORNU_OK;
    TRY(send_buckets(r, a));
    return engine_any_reads(r, a->values) ? all_join(r, true, &all) : CORNU_OK;
}

static cornu_status run_sum(cornu_ranks *r, void *context)
{
    addition *a = context;
    TRY(all_join(r, a->joins, &a->all));
    return a->all ? exchange_buckets(r, a) : CORNU_OK;
}

static cornu_status run_gather(cornu_ranks *r, void *context)
{
    addition *a = context;
    a->all = true;
    return exchange_buckets(r, a);
}

static void begin_addition(cornu_ranks *r, const addition *a, engine_work *work)
{
    r->adding = *a;
    r->adding.ready = 0;
    r->adding.job = (job){.work = work, .context = &r->adding};
    engine_begin(r, &r->adding.job);
}

void ranks_sum_begin(cornu_ranks *r, float *values, const ranks_numbers *n, bool joins)
{
    begin_addition(r, &(addition){.values = values, .numbers = *n, .joins = joins}, run_sum);
}

void ranks_gather_begin(cornu_ranks *r, float *values, const ranks_numbers *n)
{
    begin_addition(r, &(addition){.values = values, .numbers = *n, .gathers = true}, run_gather);
}

void ranks_sum_ready(cornu_ranks *r, int64_t count)
{
    pthread_mutex_lock(&r->lock);
    r->adding.ready = count;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

cornu_status ranks_sum_end(cornu_ranks *r, cornu_status status, bool *all)
{
    if (status != CORNU_OK) {
        status = cornu_ranks_end(r, status);
        (void)engine_fail(r, status, cornu_last_error()); /* unless it has already failed */
    }
    cornu_status ended = engine_end(r, &r->adding.job);
    *all = r->adding.all;
    return status == CORNU_OK ? ended : status;
}

/* ---- agreement --------------------------------------------------------------------------- */

/* Compare one claim after the other: the first is the version, and another version may have
   other claims. */
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

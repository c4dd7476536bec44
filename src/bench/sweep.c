#include "bench/sweep.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 1 << 20 };
/* A device beats another if it takes less than this fraction of the other's time. */
static const double CLEARLY = 0.95;

/* ---- the list --------------------------------------------------------------------------- */

static cornu_status fail_sweep(const char *found)
{
    return status_fail(CORNU_INVALID,
                       "sweep: found \"%.60s\"; expected batch, or batch= and at most %d ascending "
                       "numbers from 1 to %d, such as batch=1,8,64",
                       found, SWEEP_BATCHES_MOST, BATCH_MOST);
}

cornu_status sweep_parse(const char *asked, int64_t *batches)
{
    int count = 0;
    if (strcmp(asked, "batch") == 0) {
        for (int64_t batch = 1; batch <= 512; batch *= 2)
            batches[count++] = batch;
        batches[count] = 0;
        return CORNU_OK;
    }
    if (strncmp(asked, "batch=", 6) != 0)
        return fail_sweep(asked);
    for (const char *at = asked + 6; *at || count == 0;) {
        char *end;
        errno = 0;
        long long number = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
        if (number < 1 || number > BATCH_MOST || errno || count == SWEEP_BATCHES_MOST ||
            (*end && *end != ',') || (*end == ',' && !end[1]) ||
            (count > 0 && number <= batches[count - 1]))
            return fail_sweep(asked);
        batches[count++] = number;
        at = end + (*end == ',');
    }
    batches[count] = 0;
    return CORNU_OK;
}

static int count_of(const int64_t *batches)
{
    int count = 0;
    while (batches && batches[count])
        count++;
    return count;
}

void sweep_insert(int64_t *batches, int64_t batch)
{
    int count = count_of(batches), at = 0;
    while (at < count && batches[at] < batch)
        at++;
    if (at < count && batches[at] == batch)
        return;
    if (count == SWEEP_BATCHES_MOST)
        batches[--count] = 0;
    if (at > count)
        at = count;
    memmove(batches + at + 1, batches + at, (size_t)(count - at + 1) * sizeof *batches);
    batches[at] = batch;
}

int sweep_next(const int64_t *batches, const bool *done)
{
    int count = count_of(batches), best = -1, most = 0;
    if (count > 0 && !done[0])
        return 0;
    if (count > 0 && !done[count - 1])
        return count - 1;
    for (int i = count - 1; i >= 0; i--) {
        int before = i, behind = i;
        while (before > 0 && !done[before])
            before--;
        while (behind < count - 1 && !done[behind])
            behind++;
        int near = i - before < behind - i ? i - before : behind - i;
        if (!done[i] && near > most) {
            most = near;
            best = i;
        }
    }
    return best;
}

/* ---- results ---------------------------------------------------------------------------- */

static bool is_of(const bench_result *r, const char *workload, const char *on)
{
    return strcmp(r->workload, workload) == 0 && strcmp(r->device, on) == 0;
}

const bench_result *sweep_find(const bench_report *report, const char *workload, const char *on,
                               int64_t batch)
{
    for (int i = 0; i < report->count; i++)
        if (is_of(&report->results[i], workload, on) && report->results[i].batch == batch)
            return &report->results[i];
    return NULL;
}

double sweep_predict_ms(const bench_report *report, const char *workload, const char *on,
                        int64_t batch)
{
    const bench_result *below = NULL, *above = NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        if (!is_of(r, workload, on) || *r->failed || r->batch < 1)
            continue;
        if (r->batch <= batch && (!below || r->batch > below->batch))
            below = r;
        if (r->batch > batch && (!above || r->batch < above->batch))
            above = r;
    }
    double least = below ? below->step_ms.median * (double)batch / (double)below->batch : INFINITY;
    double most = above ? above->step_ms.median : INFINITY;
    return below || above ? fmin(least, most) : 0;
}

/* Where the result's workload, or its device, first appears. */
static int first_of(const bench_report *report, const bench_result *r, bool by_device)
{
    for (int i = 0; i < report->count; i++) {
        const bench_result *x = &report->results[i];
        if (by_device ? strcmp(x->device, r->device) == 0 : strcmp(x->workload, r->workload) == 0)
            return i;
    }
    return report->count;
}

typedef struct placed {
    int workload, device, index;
    bench_result result;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->workload != y->workload)
        return x->workload < y->workload ? -1 : 1;
    if (x->result.batch != y->result.batch)
        return x->result.batch < y->result.batch ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Without memory they stay unsorted. */
void sweep_sort(bench_report *report)
{
    placed *all = calloc((size_t)report->count + 1, sizeof *all);
    for (int i = 0; all && i < report->count; i++) {
        bench_result *r = &report->results[i];
        all[i] = (placed){first_of(report, r, false), first_of(report, r, true), i, *r};
    }
    if (all)
        qsort(all, (size_t)report->count, sizeof *all, compare_placed);
    for (int i = 0; all && i < report->count; i++)
        report->results[i] = all[i].result;
    free(all);
}

int64_t sweep_wins_from(const bench_report *report, const char *workload, const char *on,
                        const char *other, int64_t *most)
{
    int64_t from = 0, last_loss = 0;
    *most = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *mine = &report->results[i];
        if (!is_of(mine, workload, on) || *mine->failed)
            continue;
        const bench_result *theirs = sweep_find(report, workload, other, mine->batch);
        if (!theirs || *theirs->failed)
            continue;
        bool wins = mine->step_ms.median < CLEARLY * theirs->step_ms.median;
        *most = mine->batch > *most ? mine->batch : *most;
        if (!wins && mine->batch > last_loss)
            last_loss = mine->batch;
    }
    for (int i = 0; i < report->count; i++) {
        const bench_result *mine = &report->results[i];
        const bench_result *theirs = sweep_find(report, workload, other, mine->batch);
        bool both = is_of(mine, workload, on) && !*mine->failed && theirs && !*theirs->failed;
        if (both && mine->batch > last_loss && (from == 0 || mine->batch < from))
            from = mine->batch;
    }
    return from;
}

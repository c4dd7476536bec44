#include "parallel/input_share.h"
#include "base/memory.h"
#include <cornu/parallel.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- this rank's ------------------------------------------------------------------------- */

/* This rank's positions of a batch of the order, within from..to-1. */
static void own_places(const input_pass *f, int64_t number, int64_t batch, int64_t from, int64_t to,
                       int64_t *begin, int64_t *end)
{
    int64_t first = number * batch;
    f->share.own(f->share.context, number, least(batch, f->left - first), begin, end);
    *begin = first + *begin > from ? first + *begin : from;
    *end = least(first + *end, to);
}

static int64_t count_own(const input_pass *f, int64_t batch, int64_t from, int64_t to)
{
    int64_t count = 0, begin, end;
    for (int64_t number = from / batch; number * batch < to; number++) {
        own_places(f, number, batch, from, to, &begin, &end);
        count += end > begin ? end - begin : 0;
    }
    return count;
}

/* Let the workers continue at position `from`. */
static void list_own(input_pass *f, int64_t batch, int64_t from)
{
    int64_t begin, end;
    data_want(f->data, NULL, f->split, NULL, 0); /* they read the list */
    f->own_count = f->own_next = 0;
    f->listed = from;
    for (int64_t number = from / batch; number * batch < f->left; number++) {
        own_places(f, number, batch, from, f->left, &begin, &end);
        for (int64_t i = begin; i < end; i++)
            f->own[f->own_count++] = f->order[i];
    }
    data_want(f->data, f, f->split, f->own, f->own_count);
}

void input_leave_out(input_pass *f)
{
    int64_t left = f->kept;
    for (int64_t i = f->kept; i < f->left; i++)
        if (!data_is_lost(f->data, f->split, f->order[i]))
            f->order[left++] = f->order[i];
    f->left = left;
    f->listed = NOT_LISTED;
}

cornu_status input_divide(input_pass *f, const input_share *share)
{
    if (!f->data->loader || cornu_ranks_count(share->ranks) == 1)
        return CORNU_OK;
    TRY(data_divide(f->data));
    TRY(memory_new((size_t)f->left, sizeof *f->own, "order of the samples", &f->own));
    f->share = *share;
    input_leave_out(f);
    return CORNU_OK;
}

/* ---- exchange between ranks -------------------------------------------------------------- */

/* The findings of a rank among its samples. */
typedef struct report {
    int64_t lost;    /* number of unreadable samples: own[0..lost-1] */
    int32_t stopped; /* should_stop returned true meanwhile */
} report;

typedef struct loss {
    int64_t number; /* NO_SAMPLE: none */
    char problem[504];
} loss;
enum { NO_SAMPLE = -1 };

/* Wait until all of this rank's samples before position `to` are decoded or known to be
   unreadable. */
static cornu_status await_own(input_pass *f, int64_t batch, int64_t to, report *found)
{
    int64_t end = f->own_next + count_own(f, batch, f->listed, to);
    for (; f->own_next < end; f->own_next++) {
        bool usable;
        cornu_status status = data_next(f->data, !f->patient, &usable);
        found->stopped = status == CORNU_STOPPED;
        TRY(status);
        if (!usable) /* the workers do not read the list's beginning any more */
            f->own[found->lost++] = f->own[f->own_next];
    }
    f->listed = to;
    return CORNU_OK;
}

/* The maximum that a rank has lost; CORNU_STOPPED on all ranks if one was stopped. */
static cornu_status share_reports(const input_pass *f, const report *own, int64_t *most)
{
    int count = cornu_ranks_count(f->share.ranks), stopped = -1;
    report *all;
    *most = 0;
    TRY(memory_new((size_t)count, sizeof *all, "reports of ranks", &all));
    cornu_status status = ranks_share(f->share.ranks, own, all, sizeof *own);
    for (int i = 0; status == CORNU_OK && i < count; i++) {
        *most = all[i].lost > *most ? all[i].lost : *most;
        stopped = all[i].stopped ? i : stopped;
    }
    free(all);
    TRY(status);
    if (stopped < 0)
        return CORNU_OK;
    return status_fail(CORNU_STOPPED, "stopped while %s waited for samples",
                       ranks_name(f->share.ranks, stopped));
}

static void fill_losses(const input_pass *f, int64_t lost, int64_t most, loss *own)
{
    for (int64_t i = 0; i < most; i++) {
        own[i] = (loss){.number = i < lost ? f->own[i] : NO_SAMPLE};
        if (i < lost)
            snprintf(own[i].problem, sizeof own[i].problem, "%s",
                     data_problem(f->data, f->split, f->own[i]));
    }
}

static cornu_status share_losses(const input_pass *f, int64_t lost, int64_t most)
{
    int count = cornu_ranks_count(f->share.ranks);
    loss *all;
    TRY(memory_new((size_t)((count + 1) * most), sizeof *all, "losses of ranks", &all));
    loss *own = all + count * most;
    fill_losses(f, lost, most, own);
    cornu_status status = ranks_share(f->share.ranks, own, all, (size_t)most * sizeof *own);
    for (int64_t i = 0; status == CORNU_OK && i < count * most; i++)
        if (all[i].number != NO_SAMPLE)
            status = data_know(f->data, f->split, all[i].number, all[i].problem);
    free(all);
    return status;
}

/* All ranks have read their samples of the positions kept..to-1. *again: some were unreadable,
   and later samples move to their positions. */
static cornu_status tell(input_pass *f, const report *own, int64_t to, bool *again)
{
    int64_t most;
    TRY(share_reports(f, own, &most));
    if (most > 0)
        TRY(share_losses(f, own->lost, most));
    for (int64_t i = f->kept; i < to; i++)
        if (!data_is_known(f->data, f->split, f->order[i]))
            TRY(data_know(f->data, f->split, f->order[i], NULL));
    *again = most > 0;
    return CORNU_OK;
}

/* ---- batches ----------------------------------------------------------------------------- */

static bool is_known(const input_pass *f, int64_t place)
{
    return data_is_known(f->data, f->split, f->order[place]);
}

static bool are_known(const input_pass *f, int64_t from, int64_t to)
{
    while (from < to && is_known(f, from))
        from++;
    return from >= to;
}

/* The end of the round that contains `from`, and of the round after it unless all ranks know
   that it exists. */
static int64_t end_of_round(const input_pass *f, int64_t from, int64_t batch)
{
    int64_t round = batch * f->share.round, end = (from / round + 1) * round;
    if (end >= f->left)
        return f->left;
    return end + !is_known(f, end);
}

cornu_status input_take_own(input_pass *f, int64_t from, int64_t batch)
{
    bool again = true;
    while (f->kept < least(from, f->left) && is_known(f, f->kept))
        f->kept++; /* a resumed run begins here */
    while (again) {
        report own = {.lost = 0};
        int64_t to = end_of_round(f, from, batch);
        bool known = are_known(f, f->kept, to);
        if (f->listed == NOT_LISTED || f->listed < f->kept || !data_is_wanted_by(f->data, f))
            list_own(f, batch, f->kept);
        cornu_status status = await_own(f, batch, to, &own);
        again = false;
        if (status != CORNU_OK && (known || !own.stopped))
            return status;
        if (!known)
            TRY(tell(f, &own, to, &again));
        if (again)
            input_leave_out(f);
        else
            f->kept = to;
    }
    return CORNU_OK;
}

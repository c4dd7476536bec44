/* Which samples of a run are whose: of those that are decoded as they are needed, each rank has its
   share. */
#include "base/memory.h"
#include "train/fit_run.h"
#include <stdlib.h>

/* Where a pass ends must be known to a run that goes on. */
static cornu_status finish_files(const fit_run *run, const cornu_data *data)
{
    cornu_ranks *ranks = run->options->ranks;
    bool divided = cornu_ranks_count(ranks) > 1;
    if (!data)
        return CORNU_OK;
    if (divided)
        TRY(data_divide(data));
    if ((divided && data_must_be_whole(data)) || (data == run->data && run->options->resume))
        return feed_finish(data, ranks);
    return CORNU_OK;
}

cornu_status fit_open_files(fit_run *run)
{
    TRY(fit_check_files(run));
    TRY(finish_files(run, run->data));
    return finish_files(run, run->options->validation_data);
}

/* feed_share: of each batch the samples of this rank's shards. */
static void own_samples(const void *context, int64_t number, int64_t samples, int64_t *begin,
                        int64_t *end)
{
    (void)number;
    shards_own(context, samples, begin, end);
}

/* The workers go on with what this rank will evaluate, as far as is known which batches it has. */
static cornu_status want_validation(fit_run *run)
{
    const evaluation *v = &run->validation;
    int64_t count = 0, batches = v->steps > 0 ? v->steps : INT64_MAX;
    if (!run->validates || !v->data->loader)
        return CORNU_OK;
    TRY(memory_new((size_t)v->count, sizeof *run->later, "samples of a rank", &run->later));
    for (int64_t i = 0; i < v->count && i / v->batch < batches; i++)
        if (evaluation_is_own(v, i / v->batch))
            run->later[count++] = v->first + i;
    data_want_later(v->data, v->split, run->later, count);
    return CORNU_OK;
}

cornu_status fit_open_share(fit_run *run)
{
    cornu_ranks *ranks = run->options->ranks;
    if (cornu_ranks_count(ranks) == 1)
        return CORNU_OK;
    TRY(feed_divide(
        &run->feed,
        &(feed_share){.ranks = ranks, .own = own_samples, .context = run->shards, .round = 1}));
    return want_validation(run);
}

void fit_close_share(fit_run *run)
{
    if (run->later)
        data_want_later(run->validation.data, run->validation.split, NULL, 0);
    free(run->later);
}

/* Preparation of ranks before a run's first step: check that all have the same run, and divide
   the samples among them. */
#include "base/memory.h"
#include "parallel/agree.h"
#include "train/fit_run.h"
#include <cornu/parallel.h>
#include <stdlib.h>

/* ---- the same on all ranks --------------------------------------------------------------- */

static cornu_status check_files(const fit_run *run)
{
    claims c = {.count = 0};
    if (!run->options->ranks)
        return CORNU_OK;
    claim(&c, "version of cornu", "%s", cornu_version());
    claim(&c, "run", "%s", run->options->resume ? "resumed" : "new");
    claim_files(&c, "files of the pictures", run->state.data);
    claim_files(&c, "files of the validation pictures", run->options->validation_data);
    return ranks_agree(run->options->ranks, c.all, c.count);
}

static cornu_status claim_device(claims *c, const fit_run *run)
{
    const char *isa;
    device_tuning tuning;
    const cornu_fit_options *o = run->options;
    TRY(device_isa(&isa));
    TRY(session_tuning(run->state.session, &tuning));
    claim(c, "device", "%s", session_device(run->state.session)->ops->name);
    claim(c, "precision", "%s", o->precision ? o->precision : "fp32");
    claim(c, "convolutions", "%s", o->exact_convolution ? "exact" : "any");
    claim(c, "instruction set (CORNU_ISA)", "%s", isa);
    claim_text(c, "tuning", tuning.text);
    return CORNU_OK;
}

static void claim_option(void *user, const char *name, const char *value)
{
    claim(user, name, "%s", value ? value : "none");
}

cornu_status fit_check_ranks(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const evaluation *v = &run->validation;
    claims c = {.count = 0};
    if (!o->ranks)
        return CORNU_OK;
    claim(&c, "version of cornu", "%s", cornu_version());
    TRY(claim_network(&c, run->state.model));
    fit_spec_each(&run->spec, claim_option, &c);
    claim_number(&c, "steps an epoch", run->steps);
    claim_samples(&c, "training samples", run->state.data, &run->train);
    if (run->validates)
        claim_samples(&c, "validation samples", v->data, &v->data->block[v->split]);
    else
        claim(&c, "validation samples", "none");
    TRY(claim_device(&c, run));
    claim_weights(&c, run->state.model);
    return ranks_agree(o->ranks, c.all, c.count);
}

/* ---- the samples of each ----------------------------------------------------------------- */

/* A resumed run must know where a pass ends. */
static cornu_status finish_files(const fit_run *run, const cornu_data *data)
{
    cornu_ranks *ranks = run->options->ranks;
    bool divided = cornu_ranks_count(ranks) > 1;
    if (!data)
        return CORNU_OK;
    if (divided)
        TRY(data_divide(data));
    if ((divided && data_must_be_whole(data)) || (data == run->state.data && run->options->resume))
        return input_finish(data, ranks);
    return CORNU_OK;
}

cornu_status fit_open_files(fit_run *run)
{
    TRY(check_files(run));
    TRY(finish_files(run, run->state.data));
    return finish_files(run, run->options->validation_data);
}

/* input_share: of each batch the samples of this rank's shards. */
static void own_samples(const void *context, int64_t number, int64_t samples, int64_t *begin,
                        int64_t *end)
{
    (void)number;
    shards_own(context, samples, begin, end);
}

/* Let the workers continue with the samples that this rank will evaluate, as far as its batches
   are known. */
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
    TRY(input_divide(&run->input.pass, &(input_share){.ranks = ranks,
                                                      .own = own_samples,
                                                      .context = run->state.shards,
                                                      .round = 1}));
    return want_validation(run);
}

void fit_close_share(fit_run *run)
{
    if (run->later)
        data_want_later(run->validation.data, run->validation.split, NULL, 0);
    free(run->later);
}

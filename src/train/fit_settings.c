/* The settings that a resumed run keeps, and changes of the recipe's learning rate. */
#include "model/config.h"
#include "train/fit_run.h"
#include <cornu/parallel.h>
#include <math.h>

/* ---- the learning rate ------------------------------------------------------------------- */

/* A callback that sets the rate at each epoch would override the given rate. */
static cornu_status check_rate(const cornu_model *model, double rate)
{
    fit_spec spec;
    if (!(rate > 0 && isfinite(rate)))
        return status_fail(CORNU_INVALID, "learning_rate: found %g; expected a number above 0",
                           rate);
    TRY(fit_spec_read(model->fit, &spec));
    const char *found = callbacks_find(spec.callbacks, "learning_rate_schedule");
    if (!found)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "learning_rate: found the callback %s in the recipe, which sets it at each "
                       "epoch; expected none beside another rate: change the callback's "
                       "schedule, or take it out of the recipe",
                       found);
}

static cornu_status change_rate(json_t *compile, double rate)
{
    json_t *options = json_object_get(json_object_get(compile, "optimizer"), "config");
    if (!json_is_number(json_object_get(options, "learning_rate")))
        return status_fail(CORNU_INVALID,
                           "learning_rate: found a schedule in the recipe; expected a number "
                           "that another one replaces");
    return config_set(options, "learning_rate", json_real(rate));
}

cornu_status cornu_model_change_learning_rate(cornu_model *model, double rate)
{
    if (!model || !model->compiled)
        return status_fail(CORNU_INVALID,
                           "cornu_model_change_learning_rate: found no %s; expected one",
                           model ? "optimizer" : "model");
    TRY(check_rate(model, rate));
    char *section = NULL;
    json_t *compile = model_compile_to_json(model);
    cornu_status status =
        compile ? change_rate(compile, rate)
                : status_fail(CORNU_OUT_OF_MEMORY, "learning_rate: not enough memory");
    if (status == CORNU_OK)
        status = config_print(compile, &section);
    if (status == CORNU_OK)
        status = cornu_model_compile(model, section);
    cornu_free(section);
    json_decref(compile);
    return status;
}

/* ---- a resumed run ----------------------------------------------------------------------- */

/* The name of the gradient dtype has been checked. */
static cornu_status resolve_gradient_dtype(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->state.model->training.position;
    bool *bf16 = &run->gradients_bf16;
    const char *asked = o->gradient_dtype ? o->gradient_dtype
                        : o->resume       ? NULL
                                          : run->spec.gradient_dtype;
    TRY(gradient_dtype_find(asked, bf16));
    if (o->resume && asked && *bf16 != p->gradients_bf16)
        return status_fail(
            CORNU_INVALID,
            "resume: found gradient-dtype %s in the model file and %s asked for; expected "
            "the same, or the run would not go on as it began",
            gradient_dtype_name(p->gradients_bf16), asked);
    *bf16 = o->resume ? p->gradients_bf16 : *bf16;
    run->spec.gradient_dtype = gradient_dtype_name(*bf16);
    if (*bf16 && run->spec.shards == 1)
        return status_fail(CORNU_INVALID,
                           "gradient-dtype: found bf16 and one shard; expected several, whose "
                           "gradients are added");
    if (*bf16)
        fit_notice(&run->state, "gradients of shards are rounded to bf16 before they are added");
    return CORNU_OK;
}

cornu_status fit_fail_resume(const char *what, uint64_t saved, uint64_t asked)
{
    return status_fail(
        CORNU_INVALID,
        "resume: found %s %ju in the model file and %ju asked for; expected the same, "
        "or the run would not go on as it began",
        what, (uintmax_t)saved, (uintmax_t)asked);
}

/* A resumed run keeps its settings; only its end may change. */
static cornu_status resolve_resumed(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->state.model->training.position;
    fit_spec *s = &run->spec;
    if (p->batch == 0)
        return status_fail(CORNU_INVALID, "resume: found a model that was never trained; expected "
                                          "the model file of a run that was stopped");
    if (o->seed && o->seed != p->seed)
        return fit_fail_resume("seed", p->seed, o->seed);
    if (o->batch && o->batch != p->batch)
        return fit_fail_resume("batch", (uint64_t)p->batch, (uint64_t)o->batch);
    if (o->steps_per_epoch && o->steps_per_epoch != p->steps_per_epoch)
        return fit_fail_resume("steps per epoch", (uint64_t)p->steps_per_epoch,
                               (uint64_t)o->steps_per_epoch);
    s->shards = p->shards ? p->shards : 1;
    if (o->shards && o->shards != s->shards)
        return fit_fail_resume("shards:", (uint64_t)s->shards, (uint64_t)o->shards);
    s->seed = (int64_t)p->seed;
    s->batch = p->batch;
    s->steps_per_epoch = p->steps_per_epoch;
    s->epochs = o->epochs ? o->epochs : p->epochs;
    return CORNU_OK;
}

cornu_status fit_settle(fit_run *run)
{
    fit_spec *s = &run->spec;
    fit_spec_take(run->options, s);
    if (run->options->resume)
        TRY(resolve_resumed(run));
    if (!s->shards)
        s->shards = cornu_ranks_count(run->options->ranks);
    if (s->shard_optimizer && cornu_ranks_count(run->options->ranks) == 1)
        fit_notice(&run->state, "shard-optimizer: found one process, which updates all weights");
    return resolve_gradient_dtype(run);
}

cornu_status fit_restore_callbacks(fit_run *run)
{
    const callbacks *c = run->state.callbacks;
    const json_t *states = run->state.model->training.callback_state;
    size_t count = json_array_size(states);
    if (!states)
        return CORNU_OK;
    if (count == 0 || run->options->section || c->count > c->unsaved)
        return callbacks_restore(run->state.callbacks, run->state.model);
    fit_notice(
        &run->state,
        "resume: the recipe in the file lists no callbacks; the %zu with which it was saved %s",
        count, PLURAL(count, "does not run", "do not run"));
    return CORNU_OK;
}

/* The samples of a run: those that it trains on, those that validate, and how many batches and
   epochs they make. */
#include "base/memory.h"
#include "data/data.h"
#include "parallel/agree.h"
#include "train/fit_run.h"
#include <cornu/parallel.h>
#include <math.h>
#include <stdlib.h>

/* ---- validation -------------------------------------------------------------------------- */

/* Match by the names that the model has, or will get from the training data. */
static cornu_status check_validation_classes(const fit_run *run)
{
    const cornu_data *data = run->options->validation_data;
    const cornu_model *m = run->state.model;
    class_numbers numbers;
    cornu_status status;
    if (m->class_names || !run->state.data->class_names || !data->class_names)
        status = classes_match(m, data, CLASSES_TO_EVALUATE, &numbers);
    else
        status =
            classes_match_list(&(class_list){run->state.data->class_names,
                                             run->state.data->class_count, "the training data"},
                               data, true, CLASSES_TO_EVALUATE, &numbers);
    classes_free(&numbers);
    return status;
}

/* The last fraction of the training samples, as Keras: 0..floor(n (1 - fraction))-1 stay. */
static cornu_status split_training(fit_run *run)
{
    int64_t all = run->train.count;
    if (run->state.data->stream)
        return status_fail(CORNU_UNSUPPORTED, "validation_split: found a stream of batches; "
                                              "expected data that can be divided");
    int64_t kept = (int64_t)floor((double)all * (1.0 - run->spec.validation_split));
    if (kept <= 0 || kept >= all)
        return status_fail(
            CORNU_INVALID,
            "validation_split: found %g of %jd %s; expected a share that leaves at least one on "
            "each side",
            run->spec.validation_split, (intmax_t)all, PLURAL(all, "sample", "samples"));
    run->validation.split = CORNU_TRAIN;
    run->validation.first = kept;
    run->validation.count = all - kept;
    run->train.count = kept;
    run->validates = true;
    return CORNU_OK;
}

static cornu_status use_test_split(fit_run *run)
{
    const sample_block *test = &run->state.data->block[CORNU_TEST];
    if (test->count == 0) {
        fit_notice(&run->state, "there are no test samples: training goes without validation");
        return CORNU_OK;
    }
    TRY(data_check_samples(run->state.model, test, "test samples"));
    int64_t most = run->spec.validation_samples;
    run->validation.split = CORNU_TEST;
    run->validation.count = most > 0 && most < test->count ? most : test->count;
    run->validates = true;
    return CORNU_OK;
}

/* Validate on another data set, with all its samples. */
static cornu_status use_validation_data(fit_run *run)
{
    const cornu_data *data = run->options->validation_data;
    const sample_block *block = &data->block[CORNU_TRAIN];
    TRY(check_validation_classes(run));
    if (!data->stream)
        TRY(data_check_samples(run->state.model, block, "validation samples"));
    run->validation.data = data;
    run->validation.split = CORNU_TRAIN;
    run->validation.count = block->count;
    run->validates = true;
    return CORNU_OK;
}

/* Choose the validation samples: the caller's data, a part of the training samples, or the test
   split. */
static cornu_status choose_validation(fit_run *run)
{
    if (run->options->validation_data && !run->options->no_validation)
        return use_validation_data(run);
    if (run->spec.validation_split > 0)
        TRY(split_training(run));
    else if (run->spec.validate && !run->options->no_validation)
        TRY(use_test_split(run));
    if (run->options->no_validation)
        run->validates = false; /* a split stays apart: the training samples are the same */
    return CORNU_OK;
}

/* ---- the training samples ---------------------------------------------------------------- */

/* Notice for a layer that scales the pixels if the recipe does not give its input range. */
static cornu_status notice_pixels(fit_run *run)
{
    const layer *by = model_rescaling(run->state.model);
    data_spec spec;
    TRY(data_spec_read(run->state.model->data, &spec));
    if (!by || run->train.x_type != SAMPLE_U8 || run->state.data->scaled || spec.scale > 0)
        return CORNU_OK;
    if (run->train.x_scale >= 1)
        fit_notice(&run->state,
                   "pixels go in as they are, 0 to 255: the model scales them itself, in %s (%s)",
                   by->name, by->kind->name);
    else
        fit_notice(&run->state,
                   "pixels go into %s (%s) as 0 to %g, as in the training that the model file "
                   "keeps; a new run passes them as they are, 0 to 255",
                   by->name, by->kind->name, 255.0 * (double)run->train.x_scale);
    return CORNU_OK;
}

static cornu_status read_class_weights(fit_run *run)
{
    const cornu_model *m = run->state.model;
    const class_list classes =
        m->class_names
            ? (class_list){m->class_names, m->class_count, "the model"}
            : (class_list){run->state.data->class_names,
                           run->state.data->class_names ? run->state.data->class_count : 0,
                           "the data"};
    if (run->spec.class_weight && m->output_count > 1) /* as Keras */
        return status_fail(CORNU_INVALID,
                           "class_weight: found a model of %d outputs; expected one output, or "
                           "weights of the samples",
                           m->output_count);
    char shown[128];
    const shape *output = &m->output;
    if (run->spec.class_weight && output->rank > 0 &&
        shape_elements(output) != output->dim[output->rank - 1])
        return status_fail(CORNU_UNSUPPORTED,
                           "class_weight: found a model with the output %s, a class for each of "
                           "several places; expected one class a sample",
                           shape_show(output, true, shown));
    TRY(class_weights_read(run->spec.class_weight, &classes, &run->class_weights));
    if (run->class_weights.clash)
        fit_notice(&run->state,
                   "class_weight: %s is taken as the number of a class, not as the name of another",
                   run->class_weights.clash);
    return CORNU_OK;
}

static cornu_status open_data(fit_run *run)
{
    TRY(data_samples_for(run->state.data, CORNU_TRAIN, run->state.model, &run->train));
    run->validation.data = run->state.data;
    TRY(fit_open_files(run));
    if (run->state.data->stream && run->options->ranks)
        return status_fail(CORNU_UNSUPPORTED, "ranks: found a stream of batches, which may be "
                                              "another one on each; expected other data");
    if (run->state.data->stream && run->options->resume)
        return status_fail(CORNU_UNSUPPORTED, "resume: found a stream of batches, which cannot go "
                                              "on where it was; expected other data");
    TRY(classes_match(run->state.model, run->state.data, CLASSES_TO_TRAIN, &run->classes));
    TRY(classes_renumber(&run->classes, &run->train));
    if (!run->state.data->stream)
        TRY(data_check_samples(run->state.model, &run->train, "training samples"));
    TRY(notice_pixels(run));
    shape_picture(&run->state.data->block[CORNU_TRAIN].x_shape,
                  &run->train.x_shape); /* to be augmented */
    TRY(choose_validation(run));
    TRY(read_class_weights(run));
    if (!run->state.data->stream)
        TRY(class_weights_weigh(&run->class_weights, &run->train));
    const position *p = &run->state.model->training.position;
    if (run->options->resume && p->train_samples != run->train.count)
        return fit_fail_resume("training samples:", (uint64_t)p->train_samples,
                               (uint64_t)run->train.count);
    return input_open(run->state.data, CORNU_TRAIN, &run->train, 0, run->train.count, &run->input);
}

/* ---- batches and epochs ------------------------------------------------------------------ */

/* A stream decides the size of its batches. */
static void plan_streamed(fit_run *run)
{
    int64_t batches = run->state.data->stream->source.batches;
    run->batch = run->train.count;
    run->per_pass = batches ? batches : STEPS_UNKNOWN;
    run->steps = run->spec.steps_per_epoch ? run->spec.steps_per_epoch : run->per_pass;
}

cornu_status fit_check_samples(const fit_run *run, int64_t samples)
{
    if (samples > 0)
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE, "%s: found no readable images in %jd %s",
                       run->state.data->folder, (intmax_t)run->input.count,
                       PLURAL(run->input.count, "file", "files"));
}

static cornu_status plan_batches(fit_run *run)
{
    int64_t n = input_samples(&run->input);
    TRY(fit_check_samples(run, n)); /* the workers may know already */
    run->batch = run->spec.batch;
    if (run->batch > n) {
        fit_notice(&run->state,
                   "batch %jd is larger than the %jd training %s: each step takes all of them",
                   (intmax_t)run->batch, (intmax_t)n, PLURAL(n, "sample", "samples"));
        run->batch = n;
    }
    run->per_pass = (n + run->batch - 1) / run->batch;
    run->steps = run->spec.steps_per_epoch ? run->spec.steps_per_epoch : run->per_pass;
    return CORNU_OK;
}

static cornu_status plan_epochs(fit_run *run)
{
    if (run->state.data->stream)
        plan_streamed(run);
    else
        TRY(plan_batches(run));
    TRY(shards_check(run->spec.shards, run->batch, run->options->ranks));
    run->epochs = run->spec.epochs;
    evaluation *v = &run->validation;
    int64_t batch =
        run->spec.validation_batch_size ? run->spec.validation_batch_size : run->spec.batch;
    v->batch = batch < v->count && !v->data->stream ? batch : v->count;
    v->steps = run->spec.validation_steps;
    v->on_step = run->options->on_validation_step;
    v->each_step = run->options->each_step;
    v->announced = true;
    v->ranks = run->options->ranks;
    v->should_stop = run->options->ranks ? NULL : run->options->should_stop; /* all, or none */
    v->user = run->options->user;
    return CORNU_OK;
}

cornu_status fit_open_data(fit_run *run)
{
    const position *p = &run->state.model->training.position;
    TRY(open_data(run));
    TRY(plan_epochs(run));
    if (!run->options->resume || p->step <= run->steps)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "resume: found step %jd in the model file; expected at most the %jd of an "
                       "epoch",
                       (intmax_t)p->step, (intmax_t)run->steps);
}

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
    claim(c, "precision", "%s", o->where.precision ? o->where.precision : "fp32");
    claim(c, "convolutions", "%s", o->where.exact_convolution ? "exact" : "any");
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

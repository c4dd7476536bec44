/* cornu_explain: the plan of one training step as a table. */
#include "base/memory.h"
#include "data/data.h"
#include "device/roofline.h"
#include "parallel/divided_updates.h"
#include "train/evaluate.h"
#include "train/fit_spec.h"
#include "train/op_times.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_LEAST = 5, CELL = OP_SHAPE_TEXT };
static const double REPEAT_SECONDS = 1.0;
enum { IDLE_LEAST = 8, IDLE_MOST = 256 }; /* steps */
static const double IDLE_SECONDS = 1.0;

typedef struct explained {
    const cornu_explain_options *options;
    cornu_model *model;
    int64_t batch;
    distribution how; /* with options->ranks */
    session *session;
    session_plan *plan;
    kernel_choice *choices; /* [op_count] */
    int64_t buffers;        /* bytes */
    double *seconds;        /* [op_count] medians, without launch gaps; with options->run */
    double gaps;            /* seconds of the step that are launch gaps */
    device_idle idle;       /* NAN: unknown */
    int64_t idle_steps;     /* over which it was measured */
    device_limits limits;
} explained;

/* ---- measuring -------------------------------------------------------------------------- */

static bool stopped(void *user)
{
    const explained *e = user;
    return e->options->should_stop && e->options->should_stop(e->options->user);
}

/* A machine that was busy when it was measured may do more now. */
static void probe(void *user)
{
    explained *e = user;
    device *d = session_device(e->session);
    if (d->ops->probe)
        roofline_raise(&e->limits, &(device_limits){.fma = d->ops->probe(d)});
}

/* Steps that follow each other as in training: how long does the device wait for the next? */
static cornu_status measure_idle(explained *e, const step_input *first)
{
    device *d = session_device(e->session);
    step_input input = *first;
    step_results unused;
    double seconds = 1e-6 + e->gaps;
    e->idle = (device_idle){NAN, NAN};
    if (!d->ops->idle)
        return CORNU_OK;
    for (int i = 0; i < e->plan->plan->op_count; i++)
        seconds += e->seconds[i];
    e->idle_steps = (int64_t)fmin(fmax(IDLE_SECONDS / seconds, IDLE_LEAST), IDLE_MOST);
    if (d->ops->upload)
        TRY(d->ops->upload(d, first->samples));
    TRY(d->ops->idle(d, NULL));
    for (int64_t i = 0; i < e->idle_steps; i++, input.iteration++)
        TRY(d->ops->run(d, e->plan->prepared, &input, 1));
    TRY(d->ops->idle(d, &e->idle));
    return d->ops->results(d, &unused, true);
}

static cornu_status time_plan(explained *e)
{
    cornu_status status;
    generated_batch batch;
    const op_times_options how = {.seconds = REPEAT_SECONDS,
                                  .repeats_least = REPEATS_LEAST,
                                  .between = probe,
                                  .should_stop = stopped,
                                  .user = e};
    size_t count = (size_t)e->plan->plan->op_count;
    TRY_GOTO(generated_batch_open(e->model, e->batch, &batch));
    TRY_GOTO(memory_new(count + 1, sizeof *e->seconds, "times", &e->seconds));
    const step_input input = generated_batch_input(e->model, &batch);
    TRY_GOTO(op_times_measure(e->session, e->plan, &input, &how, e->seconds, &e->gaps));
    status = measure_idle(e, &input);
done:
    generated_batch_close(&batch);
    return status;
}

/* Other work may use the device, so the limits are measured before and after, and the higher
   ones are used. */
static cornu_status measure(explained *e)
{
    device *d = session_device(e->session);
    device_limits again;
    TRY(roofline_measure(d, e->options->where.precision, e->options->where.threads, &e->limits));
    TRY(time_plan(e));
    if (d->ops->limits && !d->ops->probe)
        return CORNU_OK;
    TRY(roofline_measure(d, e->options->where.precision, e->options->where.threads, &again));
    roofline_raise(&e->limits, &again);
    return CORNU_OK;
}

/* ---- the table -------------------------------------------------------------------------- */

/* "74 % fma" */
static void show_share(const device_limits *l, const kernel_choice *c, double seconds, char *cell)
{
    double least = roofline_seconds(l, c->flops, c->bytes, c->bytes);
    bool fma = strcmp(roofline_bound(l, c->flops, c->bytes, c->bytes), "FMA") == 0;
    if (seconds > 0)
        snprintf(cell, CELL, "%.0f %% %s", 100 * least / seconds, fma ? "fma" : "mem");
    else
        snprintf(cell, CELL, "-");
}

static int longer(int width, const char *cell)
{
    int length = (int)strlen(cell);
    return length > width ? length : width;
}

/* FLOPs of the operations that run in the kernel of operation i, as they are defined. */
static double group_flops(const explained *e, int i)
{
    const plan *p = e->plan->plan;
    double flops = p->ops[i].flops;
    char with[CELL];
    snprintf(with, sizeof with, "with %d", i + 1);
    for (int k = 0; k < p->op_count; k++)
        if (strcmp(e->choices[k].kernel, with) == 0)
            flops += p->ops[k].flops;
    return flops;
}

/* In 10^9 per second; 0 for an operation without its own time. */
static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds / 1e9 : 0;
}

/* Adds the measurements of operation i; the time of a fused operation is included in its
   group's. */
static void add_times(const explained *e, int i, text *t)
{
    const kernel_choice *c = &e->choices[i];
    double s = e->seconds[i];
    char share[CELL];
    if (op_is_fused(c)) {
        text_add(t, " %9s", c->kernel);
        return;
    }
    show_share(&e->limits, c, s, share);
    text_add(t, " %9.3f %8.1f %8.1f %6.1f %9s", s * 1e3, rate(group_flops(e, i), s),
             rate(c->flops, s), rate(c->bytes, s), share);
}

/* "conv2d_forward again" where it is recomputed. */
static char *show_operation(const op *o, char *cell)
{
    snprintf(cell, CELL, "%s%s", op_infos[o->kind].name, o->recomputed ? " again" : "");
    return cell;
}

/* The widths of the table's first columns. */
typedef struct widths {
    int operation, name, dimensions, kernel;
} widths;

static widths widths_of(const explained *e)
{
    const plan *p = e->plan->plan;
    widths w = {9, 5, 5, 6};
    char cell[CELL];
    for (int i = 0; i < p->op_count; i++) {
        w.operation = longer(w.operation, show_operation(&p->ops[i], cell));
        w.name = longer(w.name, p->ops[i].name ? p->ops[i].name : "");
        op_shape_show(p, &p->ops[i], cell);
        w.dimensions = longer(w.dimensions, cell);
        w.kernel = longer(w.kernel, e->choices[i].kernel);
    }
    for (int i = 0; i < p->collective_count; i++) {
        w.operation = longer(w.operation, collective_names[p->collectives[i].kind]);
        w.name = longer(w.name, p->collectives[i].name);
    }
    return w;
}

static double bytes_of(const collective *c)
{
    return (double)c->count * (c->bf16 ? sizeof(uint16_t) : sizeof(float));
}

/* The collectives that begin after `operations`. */
static void add_collectives(const explained *e, int operations, const widths *w, text *t)
{
    const plan *p = e->plan->plan;
    char numbers[CELL];
    for (int i = 0; i < p->collective_count; i++) {
        const collective *c = &p->collectives[i];
        if (c->after != operations)
            continue;
        snprintf(numbers, sizeof numbers, "%jd", (intmax_t)c->count);
        text_add(t, "%3s  %-*s  %-*s  %-*s  %-*s %9s %8.3f\n", "", w->operation,
                 collective_names[c->kind], w->name, c->name, w->dimensions, numbers, w->kernel,
                 c->bf16 ? "bf16" : "fp32", "-", bytes_of(c) / 1e6);
    }
}

static void add_table(const explained *e, text *t)
{
    const plan *p = e->plan->plan;
    const widths w = widths_of(e);
    char cell[CELL], operation[CELL];
    text_add(t, "%3s  %-*s  %-*s  %-*s  %-*s %9s %8s", "#", w.operation, "operation", w.name,
             "layer", w.dimensions, "shape", w.kernel, "kernel", "MFLOP", "MB");
    if (e->seconds)
        text_add(t, " %9s %8s %8s %6s %9s", "ms", "GFLOP/s", "real", "GB/s", "of limit");
    text_add(t, "\n");
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        op_shape_show(p, o, cell);
        text_add(t, "%3d  %-*s  %-*s  %-*s  %-*s %9.3f %8.3f", i + 1, w.operation,
                 show_operation(o, operation), w.name, o->name ? o->name : "", w.dimensions, cell,
                 w.kernel, e->choices[i].kernel, o->flops / 1e6, o->bytes / 1e6);
        if (e->seconds)
            add_times(e, i, t);
        text_add(t, "\n");
        if (e->choices[i].group)
            text_add(t, "     group: %s\n", e->choices[i].group);
        if (e->choices[i].refused[0])
            text_add(t, "     refused: %s\n", e->choices[i].refused);
        add_collectives(e, i + 1, &w, t);
    }
}

/* Over a network: an all-reduce is a reduce-scatter and an all-gather, of each of which a rank
   sends all numbers but its own. */
static void add_ranks(const explained *e, text *t)
{
    const plan *p = e->plan->plan;
    double bytes = 0;
    char sent[16];
    for (int i = 0; i < p->collective_count; i++)
        bytes +=
            bytes_of(&p->collectives[i]) * (1 + (p->collectives[i].kind == COLLECTIVE_ALL_REDUCE));
    if (e->how.ranks > 1)
        text_add(t, "ranks: %d, this one with %jd of %jd samples · each sends %s in a step\n",
                 e->how.ranks, (intmax_t)p->batch, (intmax_t)e->batch,
                 memory_human(bytes * (e->how.ranks - 1) / e->how.ranks, sent));
}

static void add_memory(const explained *e, text *t)
{
    const plan *p = e->plan->plan;
    char variables[16], buffers[16], shown[16];
    double scratch = 0;
    for (int i = 0; i < p->op_count; i++)
        scratch = fmax(scratch, (double)e->choices[i].scratch_bytes);
    text_add(t, "memory: %s of weights and optimizer state, %s of buffers, %s of scratch",
             memory_human((double)p->variable_bytes, variables),
             memory_human((double)e->buffers, buffers), memory_human(scratch, shown));
    text_add(t, " · batch %lld\n", (long long)e->batch);
}

/* Bytes of the buffers of the same step without recomputation. */
static cornu_status plain_buffers(explained *e, int64_t *bytes)
{
    const plan *p = e->plan->plan;
    device *d = session_device(e->session);
    plan *plain;
    TRY(plan_build(e->model,
                   &(plan_options){.mode = PLAN_TRAIN,
                                   .batch = p->batch,
                                   .exact_convolution = p->exact_convolution},
                   &plain));
    cornu_status status = e->how.ranks > 1 ? distribute(&e->how, plain) : CORNU_OK;
    if (status == CORNU_OK)
        status = d->ops->buffer_bytes(d, plain, bytes);
    plan_free(plain);
    return status;
}

/* Adds what recomputation costs and saves. */
static cornu_status add_recomputation(explained *e, text *t)
{
    const plan *p = e->plan->plan;
    double flops = 0;
    int64_t plain;
    int count = 0;
    char with[16], without[16];
    if (!p->recompute)
        return CORNU_OK;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].recomputed) {
            count++;
            flops += p->ops[i].flops;
        }
    TRY(plain_buffers(e, &plain));
    text_add(t, "recomputation: %d %s (\"again\"), %.3g GFLOP · buffers %s, without it %s\n", count,
             PLURAL(count, "operation", "operations"), flops / 1e9,
             memory_human((double)e->buffers, with), memory_human((double)plain, without));
    return CORNU_OK;
}

/* Adds the blocking of its kernels, and where it comes from. */
static cornu_status add_tuning(const explained *e, text *t)
{
    device_tuning tuning;
    char source[sizeof tuning.source];
    TRY(session_tuning(e->session, &tuning));
    cornu_printable(tuning.source, source, sizeof source);
    if (*tuning.text)
        text_add(t, "tuning: %s (%s)\n", tuning.text, source);
    return CORNU_OK;
}

/* Adds the totals of the operations as defined and, in brackets, as the kernels compute them. */
static void add_total(const explained *e, text *t)
{
    const plan *p = e->plan->plan;
    const device *d = session_device(e->session);
    char moved[16], run[16];
    double working_set = (double)p->variable_bytes + (double)e->buffers;
    double seconds = e->gaps, flops = 0, bytes = 0;
    int launches = 0;
    for (int i = 0; i < p->op_count; i++) {
        launches += e->choices[i].launches;
        seconds += e->seconds ? e->seconds[i] : 0;
        flops += e->choices[i].flops;
        bytes += e->choices[i].bytes;
    }
    text_add(t, "step: %.3g GFLOP (%.3g as run) · %s read and written (%s as run)\n",
             p->flops / 1e9, flops / 1e9, memory_human(p->bytes, moved), memory_human(bytes, run));
    if (!e->seconds)
        return;
    double least = roofline_seconds(&e->limits, flops, bytes, working_set);
    text_add(t, "step: %.3g ms · bound by %s: %.3g ms is this machine's limit (%.0f %%)\n",
             seconds * 1e3, roofline_bound(&e->limits, flops, bytes, working_set), least * 1e3,
             seconds > 0 ? 100 * least / seconds : 0);
    if (e->gaps > 0)
        text_add(t,
                 "launches: %.3g ms of the step, in no operation's time: what %d empty kernels "
                 "would take\n",
                 e->gaps * 1e3, launches);
    double host = d->ops->host_seconds ? d->ops->host_seconds(d) : 0;
    if (host > 0)
        text_add(
            t,
            "host: %.3g ms to enqueue the operations one by one, the libraries' calls in it and "
            "in no operation's time; a recorded step is one call\n",
            host * 1e3);
    if (!isnan(e->idle.empty))
        text_add(
            t,
            "queue: empty %.1f %% of the time, from one kernel to the next queued one %.1f %%, "
            "over %lld %s in a row\n",
            100 * e->idle.empty, 100 * e->idle.between, (long long)e->idle_steps,
            PLURAL(e->idle_steps, "step", "steps"));
    text_add(t, "machine: %.0f GFLOP/s FMA (%s), %.1f GB/s read, %.1f GB/s update, %d %s\n",
             e->limits.fma / 1e9, e->limits.isa, e->limits.read / 1e9, e->limits.update / 1e9,
             e->limits.threads, PLURAL(e->limits.threads, "thread", "threads"));
    text_add(t, "MFLOP, MB, GFLOP/s: as the operations are defined; real, GB/s, of limit: as the "
                "kernel runs them, fused ones (\"with 2\") in it\n");
}

/* For an untrained model any statistics of samples will do: times do not depend on them.
 * */
static cornu_status open_session(explained *e, const session_options *options)
{
    cornu_model *m = e->model;
    feature_statistics known = m->training.features;
    int64_t channels = m->input.rank == 3 ? m->input.dim[2] : 0;
    if (known.channels == 0 && channels <= AUGMENT_CHANNELS_MOST)
        m->training.features = (feature_statistics){.channels = (int)channels, .std = {1, 1, 1, 1}};
    cornu_status status = session_open(m, options, &e->session);
    m->training.features = known;
    return status;
}

/* One shard for each rank, as without --shards. */
static cornu_status divide_among_ranks(explained *e)
{
    const cornu_explain_options *o = e->options;
    int ranks = o->ranks;
    e->how = (distribution){.ranks = 1};
    TRY(gradient_dtype_find(o->gradient_dtype, &e->how.bf16));
    if (ranks <= 1 && (o->shard_optimizer || e->how.bf16))
        return status_fail(CORNU_INVALID,
                           "explain: found %s for one rank; expected ranks, 2 or more",
                           o->shard_optimizer ? "shard-optimizer" : "gradient_dtype");
    if (ranks < 0 || ranks > CORNU_SHARDS_MAX || (ranks & (ranks - 1)) != 0 || ranks > e->batch)
        return status_fail(CORNU_INVALID,
                           "ranks: found %d, and batches of %jd; expected a power of two, 1 to %d, "
                           "and at least a sample for each",
                           ranks, (intmax_t)e->batch, CORNU_SHARDS_MAX);
    if (ranks <= 1)
        return CORNU_OK;
    e->how.shards = e->how.ranks = ranks;
    e->how.divides = o->shard_optimizer;
    if (e->how.divides)
        TRY(divided_updates_accept(session_device(e->session)));
    session_distribute(e->session, &e->how);
    return CORNU_OK;
}

cornu_status cornu_explain(cornu_model *model, const cornu_explain_options *options, char **out)
{
    cornu_explain_options own;
    cornu_status status;
    text t = {0};
    if (!model || !out)
        return status_fail(CORNU_INVALID, "cornu_explain: found NULL; expected a model and a "
                                          "place for the text");
    *out = NULL;
    TRY(STRUCT_READ("cornu_explain_options", options, &own));
    explained e = {.options = &own, .model = model};
    if (!model->compiled)
        return status_fail(CORNU_INVALID, "%s: found no compile section; a training step needs one",
                           model->name ? model->name : "model");
    if (own.batch < 0 || own.where.threads < 0)
        return status_fail(CORNU_INVALID, "explain: found a negative batch or number of threads");
    e.batch = e.options->batch > 0 ? e.options->batch : model->batch > 0 ? model->batch : 32;
    data_spec spec = {0};
    if (model->data)
        TRY(data_spec_read(model->data, &spec));
    session_options open = {.where = own.where};
    open.augment = spec.augment;
    TRY(model_recomputes(model, own.recompute, &open.recompute));
    TRY_GOTO(open_session(&e, &open));
    TRY_GOTO(divide_among_ranks(&e));
    int64_t samples = (e.batch - 1) / e.how.ranks + 1; /* of the largest shard */
    TRY_GOTO(session_plan_for(e.session, PLAN_TRAIN, samples, WEIGHTS_NONE, &e.plan));
    device *d = session_device(e.session);
    TRY_GOTO(
        memory_new((size_t)e.plan->plan->op_count + 1, sizeof *e.choices, "kernels", &e.choices));
    TRY_GOTO(d->ops->choices(d, e.plan->prepared, e.choices));
    TRY_GOTO(d->ops->buffer_bytes(d, e.plan->plan, &e.buffers));
    if (e.options->run)
        TRY_GOTO(measure(&e));
    add_table(&e, &t);
    add_ranks(&e, &t);
    add_memory(&e, &t);
    TRY_GOTO(add_recomputation(&e, &t));
    TRY_GOTO(add_tuning(&e, &t));
    add_total(&e, &t);
    status = text_take(&t, out);
done:
    text_free(&t);
    free(e.choices);
    free(e.seconds);
    session_close(e.session);
    distribution_free(&e.how);
    return status;
}

/* A report's details of a candidate, in addition to its statistics. */
#include "base/memory.h"
#include "bench/contender.h"
#include "train/op_times.h"
#include <cornu/tables.h>
#include <stdlib.h>
#include <string.h>

static const double OPERATIONS_STEP_MS = 500; /* a slower step's operations are not timed */
static const double OPERATIONS_SECONDS = 0.3;

static cornu_status copy(const void *from, size_t count, size_t size, void *out)
{
    void *made;
    TRY(memory_new(count + 1, size, "rounds", &made));
    memcpy(made, from, count * size);
    memcpy(out, &made, sizeof made);
    return CORNU_OK;
}

static cornu_status keep_rounds(const contender *c, bench_result *out)
{
    int64_t steps = 0;
    TRY(copy(c->ms, (size_t)c->rounds, sizeof *c->ms, &out->ms));
    TRY(copy(c->fastest, (size_t)c->rounds, sizeof *c->fastest, &out->fastest));
    TRY(copy(c->probe, (size_t)c->rounds, sizeof *c->probe, &out->probe));
    TRY(copy(c->memory, (size_t)c->rounds, sizeof *c->memory, &out->memory));
    TRY(copy(c->loss, (size_t)c->losses, sizeof *c->loss, &out->loss));
    TRY(copy(c->loss_steps, (size_t)c->losses, sizeof *c->loss_steps, &out->loss_step));
    for (int i = 0; i < c->losses; i++)
        out->loss_step[i] = steps += c->loss_steps[i];
    out->losses = c->losses;
    return CORNU_OK;
}

static void add_operation(const plan *p, const op *o, const kernel_choice *k, double seconds,
                          bench_result *out)
{
    bench_operation *to = &out->operations[out->operation_count++];
    *to = (bench_operation){
        .name = op_infos[o->kind].name, .ms = seconds * 1e3, .flops = k->flops, .bytes = k->bytes};
    op_shape_show(p, o, to->shape);
    cornu_printable(o->name ? o->name : "", to->layer, sizeof to->layer);
    cornu_printable(k->kernel, to->kernel, sizeof to->kernel);
}

static bool should_stop(void *user)
{
    const bench_options *o = user;
    return o->should_stop && o->should_stop(o->user);
}

static cornu_status time_operations(contender *c, const bench_options *options,
                                    kernel_choice *choices, double *seconds)
{
    const int64_t *index;
    double gaps;
    device *d = session_device(c->session);
    bench_options asked = *options;
    const op_times_options how = {.seconds = OPERATIONS_SECONDS,
                                  .repeats_least = 3,
                                  .should_stop = should_stop,
                                  .user = &asked};
    TRY(contender_batch(c, &index));
    const position *at = &c->model->training.position;
    const step_input input = {.samples = &c->samples,
                              .index = index,
                              .seed = at->seed,
                              .iteration = at->iterations,
                              .epoch = at->epoch,
                              .learning_rate = (float)session_learning_rate(c->model)};
    TRY(d->ops->choices(d, c->plan->prepared, choices));
    return op_times_measure(c->session, c->plan, &input, &how, seconds, &gaps);
}

static cornu_status keep_operations(contender *c, const bench_options *options, bench_result *out)
{
    const plan *p = c->plan->plan;
    size_t count = (size_t)p->op_count;
    kernel_choice *choices = NULL;
    double *seconds = NULL;
    cornu_status status;
    TRY_GOTO(memory_new(count + 1, sizeof *choices, "kernels", &choices));
    TRY_GOTO(memory_new(count + 1, sizeof *seconds, "times", &seconds));
    TRY_GOTO(memory_new(count + 1, sizeof *out->operations, "operations", &out->operations));
    TRY_GOTO(time_operations(c, options, choices, seconds));
    for (size_t i = 0; i < count; i++)
        if (!op_is_fused(&choices[i]) && seconds[i] > 0)
            add_operation(p, &p->ops[i], &choices[i], seconds[i], out);
done:
    free(choices);
    free(seconds);
    return status;
}

cornu_status contender_details(contender *c, const bench_options *options, bench_result *out)
{
    if (c->failed)
        return CORNU_OK;
    TRY(keep_rounds(c, out));
    if (!options->operations || !(out->step_ms.median < OPERATIONS_STEP_MS))
        return CORNU_OK;
    return keep_operations(c, options, out);
}

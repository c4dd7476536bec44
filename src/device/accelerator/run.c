/* Running steps. gpu_run puts a step's inputs into the queue's ring and returns. Steps are launched
   at once if the device is idle, else in bursts: the host stays ahead and only waits for a full
   ring. */
#include "device/accelerator/core.h"
#include "device/gather_sample.h"
#include "device/optimizer_step.h"
#include <string.h>

/* ---- one step ---------------------------------------------------------------------------- */

static cornu_status check_step(gpu *g, prepared *p, const step_input *input)
{
    if (p->needs_model && g->state->model != p->plan->model)
        return status_fail(CORNU_INTERNAL, "device %s: the plan's model is not bound", g->name);
    return p->gathers ? gather_check(p->plan, input) : CORNU_OK;
}

/* Wait until fewer than `depth` steps are on their way. */
static cornu_status make_room(gpu *g, int depth)
{
    gpu_queue *q = &g->state->queue;
    if (q->queued - q->launched >= depth)
        TRY(gpu_flush(g));
    return gpu_queue_wait_for(g, q->queued - depth + 1);
}

/* *depth: how many may be on their way. */
static cornu_status queue_step(gpu *g, prepared *p, const step_input *input, int *depth)
{
    gpu_queue *q = &g->state->queue;
    *depth = GPU_QUEUE;
    if (p->gathers) {
        TRY(gpu_samples_depth(g, p, input->samples, depth));
        *depth = *depth < q->depth ? *depth : q->depth;
    }
    TRY(make_room(g, *depth));
    int64_t n = q->queued, first = n % q->depth * q->capacity;
    gpu_step *step = &q->steps[n % GPU_QUEUE];
    *step = (gpu_step){.seed = input->seed,
                       .iteration = input->iteration,
                       .epoch = input->epoch,
                       .first = input->first,
                       .learning_rate = input->learning_rate};
    if (p->optimizer)
        step->factors = optimizer_factors_at(p->optimizer, input->learning_rate, input->iteration);
    if (p->gathers) {
        step->sample = q->numbers.at + (size_t)first * sizeof(int64_t);
        memcpy(q->host_numbers + first, input->index, (size_t)p->plan->batch * sizeof(int64_t));
        TRY(gpu_samples_fill(g, p, input, n, step));
    }
    q->queued++;
    return CORNU_OK;
}

/* Only steps of one plan wait together. */
static cornu_status begin(gpu *g, prepared *p, const step_input *input, int *depth)
{
    gpu_queue *q = &g->state->queue;
    TRY(check_step(g, p, input));
    if (q->plan != p)
        TRY(gpu_flush(g));
    q->plan = p;
    TRY(gpu_queue_reserve(g, p->plan->batch)); /* also where a later plan did not fit */
    TRY(gpu_resolve(g, p));
    return queue_step(g, p, input, depth);
}

cornu_status gpu_run(gpu *g, prepared *p, const step_input *inputs, int steps)
{
    gpu_queue *q = &g->state->queue;
    for (int i = 0; i < steps; i++) {
        int depth, most;
        bool idle = false;
        TRY(begin(g, p, &inputs[i], &depth));
        most = depth / 2 < GPU_BURST ? depth / 2 : GPU_BURST;
        int64_t waiting = q->queued - q->launched;
        if (waiting < most && i + 1 == steps)
            TRY(gpu_queue_is_idle(g, &idle));
        if (waiting >= most || idle)
            TRY(gpu_flush(g));
    }
    return CORNU_OK;
}

/* ---- a step by itself --------------------------------------------------------------------- */

cornu_status gpu_time_operations(gpu *g, prepared *p, const step_input *input, double *seconds)
{
    gpu_queue *q = &g->state->queue;
    int depth;
    memset(seconds, 0, (size_t)p->plan->op_count * sizeof *seconds);
    TRY(gpu_drain(g));
    TRY(begin(g, p, input, &depth));
    cornu_status status = gpu_queue_copy_inputs(g);
    if (status == CORNU_OK)
        status = g->driver->time_step(g, p, q->launched, seconds);
    if (status != CORNU_OK)
        return gpu_lose(g, status);
    q->finished = q->launched = q->queued;
    return CORNU_OK;
}

/* ---- launches ---------------------------------------------------------------------------- */

cornu_status gpu_count_launches(gpu *g, prepared *p)
{
    int count = p->plan->op_count;
    TRY(gpu_flush(g));
    TRY(gpu_resolve(g, p));
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i))
        if (p->chosen.choices[i].launches == 0)
            TRY(g->driver->count_launches(g, p, i, &p->chosen.choices[i].launches));
    return CORNU_OK;
}

cornu_status gpu_choices(gpu *g, prepared *p, kernel_choice *out)
{
    TRY(gpu_count_launches(g, p));
    memcpy(out, p->chosen.choices, (size_t)p->plan->op_count * sizeof *out);
    return CORNU_OK;
}

cornu_status gpu_launch_gaps(gpu *g, prepared *p, double *seconds)
{
    double first = 0, further = 0;
    TRY(gpu_drain(g));
    TRY(gpu_count_launches(g, p));
    if (g->driver->launch_gap)
        TRY(g->driver->launch_gap(g, &first, &further));
    for (int i = 0; i < p->plan->op_count; i++) {
        int launches = p->chosen.choices[i].launches;
        seconds[i] = launches > 0 ? first + (launches - 1) * further : 0;
    }
    return CORNU_OK;
}

/* A step on the stream: operation by operation, or as a graph that was captured from that. */
#include "base/log.h"
#include "device/cuda/plugin/core.h"
#include <stdlib.h>
#include <string.h>

/* ---- operations -------------------------------------------------------------------------- */

int gpu_next_op(const prepared *p, int i)
{
    int count = p->plan->op_count;
    if (i >= 0 && i == p->first_update)
        return count; /* the updates are last, wherever the plan has them */
    int next = i < 0 ? 0 : gpu_behind(p, i);
    while (next < count && !p->kernels[next])
        next++;
    return next < count || p->first_update < 0 ? next : p->first_update;
}

cornu_status gpu_enqueue_op(gpu *g, const prepared *p, int i)
{
    const gpu_state *s = g->state;
    const op *o = &p->plan->ops[i];
    if (i == p->first_update)
        return gpu_updates_enqueue(g, p->updates, &s->queue.clock);
    gpu_op r = {.g = g,
                .plan = p->plan,
                .op = o,
                .group = p->groups[i],
                .tensors = p->tensors,
                .state = p->states[i],
                .scratch = s->scratch.at,
                .clock = s->queue.clock,
                .results = s->queue.results};
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        r.in[k] = o->in[k] == NO_TENSOR ? 0 : p->tensors[o->in[k]];
    for (int k = 0; k < OP_OUTPUTS_MAX; k++)
        r.out[k] = o->out[k] == NO_TENSOR ? 0 : p->tensors[o->out[k]];
    cornu_status status = p->kernels[i]->enqueue(&r);
    return status == CORNU_OK ? CORNU_OK
                              : status_prefix(status, "%s of %s", op_infos[o->kind].name, o->name);
}

static cornu_status enqueue_step(gpu *g, const prepared *p)
{
    const gpu_queue *q = &g->state->queue;
    int count = p->plan->op_count;
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i))
        TRY(gpu_enqueue_op(g, p, i));
    return gpu_end_step_enqueue(g, p->plan, q->position, q->results);
}

/* ---- graphs ------------------------------------------------------------------------------ */

/* What `enqueue` puts onto the stream becomes a graph instead. Relaxed: a library may load its
   kernels meanwhile. */
static cornu_status begin_capture(gpu *g)
{
    return CU(g, cuStreamBeginCapture(g->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

/* `status`: of what was enqueued; it wins over what the end of the capture says. */
static cornu_status end_capture(gpu *g, cornu_status status, CUgraph *graph)
{
    *graph = NULL;
    CUresult result = g->lib->cuStreamEndCapture(g->stream, graph);
    return status != CORNU_OK ? status : gpu_check(g, result, "cuStreamEndCapture");
}

static cornu_status capture_steps(gpu *g, const prepared *p, int count, CUgraphExec *out)
{
    CUgraph graph;
    cornu_status status = CORNU_OK;
    TRY(begin_capture(g));
    for (int i = 0; i < count && status == CORNU_OK; i++)
        status = enqueue_step(g, p);
    status = end_capture(g, status, &graph);
    if (status == CORNU_OK)
        status = CU(g, cuGraphInstantiate(out, graph, 0));
    if (status != CORNU_OK)
        *out = NULL;
    if (graph)
        (void)CU(g, cuGraphDestroy(graph));
    return status;
}

/* The graph of `count` steps; NULL in *graph where it cannot be had, and then the plan runs without
   for good. */
static cornu_status graph_of(gpu *g, prepared *p, int count, CUgraphExec *graph)
{
    CUgraphExec *kept = count == GPU_BURST ? &p->burst : &p->one;
    *graph = NULL;
    if (!*kept && !p->uncaptured) {
        cornu_status status = capture_steps(g, p, count, kept);
        if (status != CORNU_OK && g->state->lost[0])
            return status;
        p->uncaptured = status != CORNU_OK;
        if (p->uncaptured)
            log_line("device %s: steps are launched one operation at a time: %s", g->name,
                     cornu_last_error());
    }
    *graph = *kept;
    return CORNU_OK;
}

cornu_status gpu_launch_steps(gpu *g, prepared *p, int64_t count)
{
    while (count > 0) {
        int steps = count >= GPU_BURST && p->has_run ? GPU_BURST : 1;
        CUgraphExec graph = NULL;
        if (p->has_run)
            TRY(graph_of(g, p, steps, &graph));
        if (graph)
            TRY(CU(g, cuGraphLaunch(graph, g->stream)));
        for (int i = 0; !graph && i < steps; i++)
            TRY(enqueue_step(g, p));
        /* The first step is no graph: libraries load kernels at their first use. */
        p->has_run = true;
        count -= steps;
    }
    return CORNU_OK;
}

/* ---- what a step consists of -------------------------------------------------------------- */

/* Kernels that operation `i` launches: the nodes of its own graph. */
static cornu_status count_launches(gpu *g, const prepared *p, int i, int *launches)
{
    CUgraph graph;
    size_t nodes = 0;
    int before = g->launches;
    TRY(begin_capture(g));
    cornu_status status = end_capture(g, gpu_enqueue_op(g, p, i), &graph);
    *launches = g->launches - before;
    if (status == CORNU_OK)
        status = CU(g, cuGraphGetNodes(graph, NULL, &nodes));
    if (status == CORNU_OK)
        *launches = (int)nodes;
    if (graph)
        (void)CU(g, cuGraphDestroy(graph));
    return g->state->lost[0] ? status : CORNU_OK;
}

cornu_status gpu_choices(gpu *g, prepared *p, kernel_choice *out)
{
    int count = p->plan->op_count;
    TRY(gpu_flush(g));
    TRY(gpu_resolve(g, p));
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i))
        if (p->choices[i].launches == 0)
            TRY(count_launches(g, p, i, &p->choices[i].launches));
    memcpy(out, p->choices, (size_t)count * sizeof *out);
    return CORNU_OK;
}

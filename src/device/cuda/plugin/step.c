/* A step on the stream: operation by operation, or as a graph captured from that; and the queue
   of steps in device memory, from which kernels read the values that change. */
#include "base/env.h"
#include "device/cuda/plugin/core.h"
#include <stdlib.h>
#include <string.h>

enum { POSITION_AT = 1024, STEPS_AT = 1280 }; /* offsets in .fixed, after the results */
_Static_assert(sizeof(cuda_results) <= POSITION_AT, "the results end before the position");
_Static_assert(sizeof(((cuda_results *)0)->metrics) >= sizeof(((step_results *)0)->metrics),
               "the device has room for all metrics");
_Static_assert((int)CUDA_QUEUE == (int)GPU_QUEUE, "the rings are of one length");

/* ---- the queue in device memory ----------------------------------------------------------- */

cornu_status cuda_steps_open(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    const char *what = "queue of steps";
    const size_t steps = CUDA_QUEUE * sizeof *c->steps;
    gpu_memory fixed;
    TRY(gpu_memory_new(g, STEPS_AT + steps, what, &fixed));
    c->fixed = fixed.at;
    TRY(g->driver->clear(g, fixed.at, fixed.bytes));
    TRY(g->driver->synchronize(g));
    TRY(gpu_pinned_new(g, steps, what, (void *)&c->steps));
    TRY(gpu_pinned_new(g, sizeof *c->host_results, what, (void *)&c->host_results));
    c->results = (cuda_results *)fixed.at;
    c->position = (int64_t *)(fixed.at + POSITION_AT);
    c->clock.position = c->position;
    c->clock.steps = (const cuda_step *)(fixed.at + STEPS_AT);
    return CORNU_OK;
}

void cuda_steps_close(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    gpu_pinned_free(g, c->steps);
    gpu_pinned_free(g, c->host_results);
    gpu_memory_free(g, &(gpu_memory){.at = c->fixed});
}

static cuda_step step_of(const gpu_step *s)
{
    return (cuda_step){.x = (const void *)s->x,
                       .y = (const void *)s->y,
                       .weight = (const float *)s->weight,
                       .index = (const int64_t *)s->index,
                       .sample = (const int64_t *)s->sample,
                       .seed = s->seed,
                       .iteration = s->iteration,
                       .epoch = s->epoch,
                       .first = s->first,
                       .learning_rate = s->learning_rate,
                       .factors = s->factors,
                       .x_scale = s->x_scale,
                       .x_bytes = s->x_bytes,
                       .y_labels = s->y_labels,
                       .height = s->height,
                       .width = s->width,
                       .channels = s->channels};
}

cornu_status cuda_steps_copy(gpu *g, int64_t first, int64_t count)
{
    cuda_gpu *c = cuda_of(g);
    for (int64_t i = first; i < first + count; i++)
        c->steps[i % CUDA_QUEUE] = step_of(&g->state->queue.steps[i % GPU_QUEUE]);
    TRY(gpu_copy_ring(g, c->fixed + STEPS_AT, c->steps, sizeof *c->steps, CUDA_QUEUE, first,
                      first + count));
    return g->driver->join(g);
}

cornu_status cuda_get_results(gpu *g, step_results *out, bool reset)
{
    cuda_gpu *c = cuda_of(g);
    const cuda_results *r = c->host_results;
    TRY(gpu_download(g, c->host_results, c->fixed, sizeof *r));
    *out = (step_results){.samples = r->samples,
                          .loss = r->loss,
                          .last_loss = r->last_loss,
                          .not_finite = r->not_finite != 0};
    memcpy(out->metrics, r->metrics, sizeof out->metrics);
    return reset ? g->driver->clear(g, c->fixed, sizeof *r) : CORNU_OK;
}

/* ---- what a plan needs besides ------------------------------------------------------------ */

typedef struct resolved {
    cuda_updates *updates;
    bool has_run;    /* libraries have loaded what they load at their first use */
    bool uncaptured; /* capture failed once: steps are launched operation by operation */
    CUgraphExec one, burst;
} resolved;

cornu_status cuda_resolve(gpu *g, prepared *p)
{
    resolved *r;
    TRY(memory_new(1, sizeof *r, "prepared plan", &r));
    p->resolved = r;
    return p->first_update < 0 ? CORNU_OK
                               : cuda_updates_prepare(g, p->plan, p->tensors, &r->updates);
}

void cuda_forget(gpu *g, prepared *p)
{
    resolved *r = p->resolved;
    if (r->one)
        (void)CU(g, cuGraphExecDestroy(r->one));
    if (r->burst)
        (void)CU(g, cuGraphExecDestroy(r->burst));
    cuda_updates_release(g, r->updates);
    free(r);
    p->resolved = NULL;
}

/* ---- operations -------------------------------------------------------------------------- */

cornu_status cuda_enqueue_op(gpu *g, const prepared *p, int i)
{
    const resolved *r = p->resolved;
    return i == p->first_update ? cuda_updates_enqueue(g, r->updates) : gpu_enqueue_op(g, p, i);
}

static cornu_status enqueue_step(gpu *g, const prepared *p)
{
    int count = p->plan->op_count;
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i))
        TRY(cuda_enqueue_op(g, p, i));
    return cuda_end_step_enqueue(g, p->plan);
}

/* ---- graphs ------------------------------------------------------------------------------ */

/* Begin to capture the work that `enqueue` puts on the stream. Relaxed mode: a library may load
   its kernels meanwhile. */
static cornu_status begin_capture(gpu *g)
{
    return CU(g, cuStreamBeginCapture(cuda_of(g)->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

/* `status`: of what was enqueued; it wins over what the end of the capture says. */
static cornu_status end_capture(gpu *g, cornu_status status, CUgraph *graph)
{
    cuda_gpu *c = cuda_of(g);
    *graph = NULL;
    CUresult result = c->lib->cuStreamEndCapture(c->stream, graph);
    return status != CORNU_OK ? status : cuda_check_on(g, result, "cuStreamEndCapture");
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
static cornu_status graph_of(gpu *g, const prepared *p, int count, CUgraphExec *graph)
{
    resolved *r = p->resolved;
    CUgraphExec *kept = count == GPU_BURST ? &r->burst : &r->one;
    *graph = NULL;
    if (!*kept && !r->uncaptured) {
        cornu_status status = capture_steps(g, p, count, kept);
        if (status != CORNU_OK && g->state->lost[0])
            return status;
        r->uncaptured = status != CORNU_OK;
        if (r->uncaptured)
            log_line("device %s: steps are launched one operation at a time: %s", g->name,
                     cornu_last_error());
    }
    *graph = *kept;
    return CORNU_OK;
}

cornu_status cuda_launch_steps(gpu *g, prepared *p, int64_t first, int64_t count)
{
    resolved *r = p->resolved;
    TRY(cuda_steps_copy(g, first, count));
    while (count > 0) {
        int steps = count >= GPU_BURST && r->has_run ? GPU_BURST : 1;
        CUgraphExec graph = NULL;
        if (r->has_run)
            TRY(graph_of(g, p, steps, &graph));
        if (graph)
            TRY(CU(g, cuGraphLaunch(graph, cuda_of(g)->stream)));
        for (int i = 0; !graph && i < steps; i++)
            TRY(enqueue_step(g, p));
        /* The first step is no graph: libraries load kernels at their first use. */
        r->has_run = true;
        count -= steps;
    }
    return CORNU_OK;
}

/* The nodes of the operation's own graph. */
cornu_status cuda_count_launches(gpu *g, prepared *p, int i, int *launches)
{
    CUgraph graph;
    size_t nodes = 0;
    int before = g->launches;
    TRY(begin_capture(g));
    cornu_status status = end_capture(g, cuda_enqueue_op(g, p, i), &graph);
    *launches = g->launches - before;
    if (status == CORNU_OK)
        status = CU(g, cuGraphGetNodes(graph, NULL, &nodes));
    if (status == CORNU_OK)
        *launches = (int)nodes;
    if (graph)
        (void)CU(g, cuGraphDestroy(graph));
    return g->state->lost[0] ? status : CORNU_OK;
}

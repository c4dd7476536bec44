/* The device's own clock: events on its stream. */
#include "base/clock.h"
#include "base/env.h"
#include "device/cuda/plugin/core.h"
#include "device/cuda/plugin/kernels/kernels.h"
#include <math.h>
#include <stdlib.h>

/* One warp is kept busy while the host enqueues the operations after it: they then run back to
   back, as in a graph, and not at the pace of the host's calls. The delay is at least about half
   a millisecond, and at least twice the host's last time, which is long for cuDNN's calls. */
enum { DELAY_ROUNDS = 10000 };
static const double HOST_TIMES = 2, DELAY_MOST = 0.2; /* seconds */
static const double HOST_OF_OPERATION = 1e-4;         /* seconds, before the first is timed */

static cornu_status elapsed(gpu *g, CUevent from, CUevent to, double *seconds)
{
    float milliseconds = 0;
    TRY(CU(g, cuEventSynchronize(to)));
    TRY(CU(g, cuEventElapsedTime(&milliseconds, from, to)));
    *seconds = (double)milliseconds * 1e-3;
    return CORNU_OK;
}

cornu_status cuda_timer(gpu *g, double *seconds)
{
    cuda_gpu *c = cuda_of(g);
    TRY(CU(g, cuEventRecord(c->timer[seconds ? 1 : 0], c->stream)));
    return seconds ? elapsed(g, c->timer[0], c->timer[1], seconds) : CORNU_OK;
}

static cornu_status delay(gpu *g, int64_t rounds)
{
    probe_fma_params p = {.rounds = rounds, .scale = 1, .never = NAN};
    return cuda_launch(g, CUDA_probe_fma, (cuda_grid){.x = 1, .threads = 32}, &p);
}

/* Once for a device: the second time, as the first is cold. */
static cornu_status measure_delay(gpu *g, const CUevent *events)
{
    cuda_gpu *c = cuda_of(g);
    double seconds = 0;
    for (int i = 0; i < 2 && c->delay_seconds == 0; i++) {
        TRY(CU(g, cuEventRecord(events[0], c->stream)));
        TRY(delay(g, DELAY_ROUNDS));
        TRY(CU(g, cuEventRecord(events[1], c->stream)));
        TRY(elapsed(g, events[0], events[1], &seconds));
    }
    if (c->delay_seconds == 0)
        c->delay_seconds = fmax(seconds / DELAY_ROUNDS, 1e-12);
    return CORNU_OK;
}

static int64_t rounds_for(const gpu *g, int operations)
{
    double host = g->host_seconds > 0 ? g->host_seconds : operations * HOST_OF_OPERATION;
    double seconds = fmin(HOST_TIMES * host, DELAY_MOST);
    return (int64_t)fmax(seconds / cuda_of(g)->delay_seconds, DELAY_ROUNDS);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Event 0 is before the first operation, event i + 1 after operation i. */
static cornu_status enqueue_timed(gpu *g, const prepared *p, const CUevent *events)
{
    CUstream stream = cuda_of(g)->stream;
    int count = p->plan->op_count;
    TRY(delay(g, rounds_for(g, count)));
    TRY(CU(g, cuEventRecord(events[0], stream)));
    double begin = clock_seconds();
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i)) {
        TRY(cuda_enqueue_op(g, p, i));
        TRY(CU(g, cuEventRecord(events[i + 1], stream)));
    }
    g->host_seconds = clock_seconds() - begin;
    CUresult reached = cuda_of(g)->lib->cuEventQuery(events[0]);
    if (reached == CUDA_SUCCESS)
        log_line(
            "device %s: the step ran at the host's pace (%.3g ms), which its operations' times "
            "may hold",
            g->name, g->host_seconds * 1e3);
    else if (reached != CUDA_ERROR_NOT_READY)
        TRY(cuda_check_on(g, reached, "cuEventQuery"));
    return cuda_end_step_enqueue(g, p->plan);
}

static cornu_status read_times(gpu *g, const prepared *p, const CUevent *events, double *seconds)
{
    int count = p->plan->op_count, before = -1;
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i)) {
        TRY(elapsed(g, events[before + 1], events[i + 1], &seconds[i]));
        before = i;
    }
    return CORNU_OK;
}

cornu_status cuda_time_step(gpu *g, prepared *p, int64_t step, double *seconds)
{
    int count = p->plan->op_count;
    CUevent *events;
    TRY(memory_new((size_t)count + 1, sizeof *events, "events", &events));
    cornu_status status = CORNU_OK;
    for (int i = 0; i <= count; i++)
        TRY_GOTO(CU(g, cuEventCreate(&events[i], CU_EVENT_DEFAULT)));
    TRY_GOTO(measure_delay(g, events)); /* one operation at least: two events */
    TRY_GOTO(cuda_steps_copy(g, step, 1));
    TRY_GOTO(enqueue_timed(g, p, events));
    TRY_GOTO(g->driver->synchronize(g));
    status = read_times(g, p, events, seconds);
done:
    for (int i = 0; i <= count; i++)
        if (events[i])
            (void)CU(g, cuEventDestroy(events[i]));
    free(events);
    return status;
}

/* ---- empty kernels in their place --------------------------------------------------------------
 */

enum { EMPTY_KERNELS = 32, GAP_REPEATS = 5 };

/* Enqueue event `from`, then empty kernels, each followed by an event, or only the last one:
   `to`. */
static cornu_status enqueue_empties(gpu *g, CUevent from, CUevent to, bool each)
{
    CUstream stream = cuda_of(g)->stream;
    const empty_params p = {0};
    TRY(delay(g, DELAY_ROUNDS));
    TRY(CU(g, cuEventRecord(from, stream)));
    for (int i = 0; i < EMPTY_KERNELS; i++) {
        TRY(cuda_launch(g, CUDA_empty, (cuda_grid){.x = 1, .threads = 32}, &p));
        if (each || i == EMPTY_KERNELS - 1)
            TRY(CU(g, cuEventRecord(to, stream)));
    }
    return CORNU_OK;
}

/* Seconds per empty kernel; the minimum, as the first run is cold. */
static cornu_status time_empties(gpu *g, const CUevent events[2], bool each, double *seconds)
{
    *seconds = INFINITY;
    for (int r = 0; r < GAP_REPEATS; r++) {
        double all;
        TRY(enqueue_empties(g, events[0], events[1], each));
        TRY(elapsed(g, events[0], events[1], &all));
        *seconds = fmin(*seconds, all / EMPTY_KERNELS);
    }
    return CORNU_OK;
}

/* An event's own time is in the first, as it is in an operation's. */
cornu_status cuda_launch_gap(gpu *g, double *first, double *further)
{
    CUevent events[2] = {NULL, NULL};
    cornu_status status;
    for (int i = 0; i < 2; i++)
        TRY_GOTO(CU(g, cuEventCreate(&events[i], CU_EVENT_DEFAULT)));
    TRY_GOTO(time_empties(g, events, true, first));
    status = time_empties(g, events, false, further);
done:
    for (int i = 0; i < 2; i++)
        if (events[i])
            (void)CU(g, cuEventDestroy(events[i]));
    return status;
}

/* How long operations take, and how long the device waits for them: by its profiling events, of a
   queue made for it. Of a device that has none (Mesa's llvmpipe) by the host's clock. */
#include "base/clock.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/libraries.h"
#include <math.h>
#include <stdlib.h>

static cornu_status times_of(const opencl *d, cl_event event, cl_ulong *start, cl_ulong *end)
{
    TRY(CL(d,
           clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof *start, start, NULL)));
    return CL(d, clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof *end, end, NULL));
}

static cornu_status seconds_of(const opencl *d, cl_event event, double *seconds)
{
    cl_ulong start = 0, end = 0;
    TRY(times_of(d, event, &start, &end));
    *seconds = end > start ? (double)(end - start) * 1e-9 : 0;
    return CORNU_OK;
}

static cornu_status profiling_queue(const opencl *d, cl_command_queue *out)
{
    cl_int error;
    *out = d->lib->clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &error);
    return opencl_check_on(d, error, "clCreateCommandQueue");
}

static bool has_clock(const opencl *d)
{
    size_t nanoseconds = 0;
    return d->lib->clGetDeviceInfo(d->id, CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof nanoseconds,
                                   &nanoseconds, NULL) == CL_SUCCESS &&
           nanoseconds > 0;
}

/* Each command separately. */
static cornu_status run_by_host_clock(opencl *d, const opencl_recording *r, int64_t step,
                                      double *seconds)
{
    for (size_t i = 0; i < r->count; i++) {
        double start = clock_seconds();
        TRY(opencl_enqueue(d, d->queue, &r->commands[i], step, NULL));
        TRY(opencl_finish(d, d->queue));
        seconds[r->commands[i].op] += clock_seconds() - start;
    }
    return CORNU_OK;
}

static cornu_status run_on(opencl *d, cl_command_queue queue, const opencl_recording *r,
                           int64_t step, cl_event *events, double *seconds)
{
    for (size_t i = 0; i < r->count; i++)
        TRY(opencl_enqueue(d, queue, &r->commands[i], step, &events[i]));
    TRY(opencl_finish(d, queue));
    for (size_t i = 0; i < r->count; i++) {
        double time;
        TRY(seconds_of(d, events[i], &time));
        seconds[r->commands[i].op] += time;
    }
    return CORNU_OK;
}

static cornu_status run_by_events(opencl *d, const opencl_recording *r, int64_t step,
                                  double *seconds)
{
    cl_event *events = NULL;
    cl_command_queue queue;
    TRY(memory_new(r->count + 1, sizeof *events, "events", &events));
    cornu_status status = profiling_queue(d, &queue);
    if (status == CORNU_OK) {
        status = run_on(d, queue, r, step, events, seconds);
        (void)d->lib->clReleaseCommandQueue(queue);
    }
    for (size_t i = 0; i < r->count; i++)
        if (events[i])
            (void)d->lib->clReleaseEvent(events[i]);
    free(events);
    return status;
}

cornu_status opencl_time_step(gpu *g, prepared *p, int64_t number, double *seconds)
{
    opencl *d = opencl_of(g);
    const opencl_recording *r = p->resolved;
    opencl_signals signals;
    TRY(opencl_finish(d, d->queue)); /* wait for the step's copies */
    opencl_signals_keep(&signals);
    cornu_status status = has_clock(d) ? run_by_events(d, r, number, seconds)
                                       : run_by_host_clock(d, r, number, seconds);
    opencl_signals_restore(&signals);
    if (status == CORNU_OK)
        d->core->sums.samples += p->plan->batch;
    return status;
}

/* Measures with the host's clock, around all of the device's work. */
cornu_status opencl_timer(gpu *g, double *seconds)
{
    opencl *d = opencl_of(g);
    TRY(opencl_finish(d, d->queue));
    if (seconds)
        *seconds = clock_seconds() - d->core->timer;
    else
        d->core->timer = clock_seconds();
    return CORNU_OK;
}

/* ---- the watched queue ------------------------------------------------------------------------
 */

void opencl_watch_end(opencl *d)
{
    opencl_watch *w = &d->core->watch;
    for (size_t i = 0; i < w->count; i++)
        if (w->events[i])
            (void)d->lib->clReleaseEvent(w->events[i]);
    free(w->events);
    if (w->before) {
        (void)d->lib->clReleaseCommandQueue(d->queue);
        d->queue = w->before;
    }
    *w = (opencl_watch){0};
}

/* Nanoseconds in which no kernel runs, of a timeline of kernels. */
typedef struct gaps {
    cl_ulong first, last; /* start of the first, end of the last so far */
    cl_ulong empty, between;
} gaps;

static void add_gap(gaps *g, cl_ulong queued, cl_ulong start)
{
    if (start <= g->last)
        return;
    cl_ulong late = queued > g->last ? queued - g->last : 0;
    late = late < start - g->last ? late : start - g->last;
    g->empty += late;
    g->between += start - g->last - late;
}

static cornu_status idle_shares(const opencl *d, device_idle *out)
{
    const opencl_watch *w = &d->core->watch;
    gaps g = {0};
    *out = (device_idle){NAN, NAN};
    for (size_t i = 0; has_clock(d) && i < w->count; i++) {
        cl_ulong queued = 0, start = 0, end = 0;
        TRY(times_of(d, w->events[i], &start, &end));
        TRY(CL(d, clGetEventProfilingInfo(w->events[i], CL_PROFILING_COMMAND_QUEUED, sizeof queued,
                                          &queued, NULL)));
        if (i)
            add_gap(&g, queued, start);
        else
            g.first = start;
        g.last = end > g.last ? end : g.last;
    }
    double all = (double)(g.last - g.first);
    if (all > 0)
        *out = (device_idle){(double)g.empty / all, (double)g.between / all};
    return CORNU_OK;
}

cornu_status opencl_idle(gpu *g, device_idle *out)
{
    opencl *d = opencl_of(g);
    opencl_watch *w = &d->core->watch;
    cornu_status status = CORNU_OK;
    if (out) {
        status = idle_shares(d, out);
        opencl_watch_end(d);
        return status;
    }
    cl_command_queue queue;
    opencl_watch_end(d);
    TRY(profiling_queue(d, &queue));
    w->before = d->queue;
    d->queue = queue;
    return CORNU_OK;
}

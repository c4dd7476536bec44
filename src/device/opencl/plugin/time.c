/* How long operations take, and how long the device waits for them: by its profiling events, of a
   queue made for it. */
#include "base/clock.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/signals.h"
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

static cornu_status run_timed(opencl *d, cl_command_queue queue, const opencl_recording *r,
                              int64_t step, cl_event *events, double *seconds)
{
    for (size_t i = 0; i < r->count; i++)
        TRY(opencl_enqueue(d, queue, &r->commands[i], step, &events[i]));
    TRY(CL(d, clFinish(queue)));
    for (size_t i = 0; i < r->count; i++) {
        double time;
        TRY(seconds_of(d, events[i], &time));
        seconds[r->commands[i].op] += time;
    }
    return CORNU_OK;
}

cornu_status opencl_time_step(gpu *g, prepared *p, int64_t number, double *seconds)
{
    opencl *d = opencl_of(g);
    const opencl_recording *r = p->resolved;
    cl_event *events = NULL;
    cl_command_queue queue;
    TRY(CL(d, clFinish(d->queue))); /* what was copied for the step */
    TRY(memory_new(r->count + 1, sizeof *events, "events", &events));
    cornu_status status = profiling_queue(d, &queue);
    if (status == CORNU_OK) {
        opencl_signals signals;
        opencl_signals_keep(&signals);
        status = run_timed(d, queue, r, number, events, seconds);
        opencl_signals_restore(&signals);
        (void)d->lib->clReleaseCommandQueue(queue);
        d->core->sums.samples += p->plan->batch;
    }
    for (size_t i = 0; i < r->count; i++)
        if (events[i])
            (void)d->lib->clReleaseEvent(events[i]);
    free(events);
    return status;
}

/* By the host's clock, around all of the device's work. */
cornu_status opencl_timer(gpu *g, double *seconds)
{
    opencl *d = opencl_of(g);
    TRY(CL(d, clFinish(d->queue)));
    if (seconds)
        *seconds = clock_seconds() - d->core->timer;
    else
        d->core->timer = clock_seconds();
    return CORNU_OK;
}

/* ---- the watched queue ------------------------------------------------------------------------
 */

cornu_status opencl_watch_next(opencl *d, cl_event **out)
{
    opencl_watch *w = &d->core->watch;
    *out = NULL;
    if (!w->before)
        return CORNU_OK;
    TRY(memory_grow(&w->events, &w->capacity, w->count + 1, sizeof *w->events));
    *out = &w->events[w->count++];
    **out = NULL;
    return CORNU_OK;
}

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

/* From the end of what was running to the next kernel's start, of the time from the first's start
   to the last's end. */
static cornu_status idle_share(const opencl *d, double *share)
{
    const opencl_watch *w = &d->core->watch;
    cl_ulong first = 0, last = 0, gaps = 0, start, end;
    for (size_t i = 0; i < w->count; i++) {
        TRY(times_of(d, w->events[i], &start, &end));
        first = i ? first : start;
        gaps += i && start > last ? start - last : 0;
        last = end > last ? end : last;
    }
    *share = last > first ? (double)gaps / (double)(last - first) : 0;
    return CORNU_OK;
}

cornu_status opencl_idle(gpu *g, double *share)
{
    opencl *d = opencl_of(g);
    opencl_watch *w = &d->core->watch;
    cornu_status status = CORNU_OK;
    if (share) {
        status = idle_share(d, share);
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

/* How long operations take: by the device's profiling events, of a queue made for it. */
#include "base/clock.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/signals.h"
#include <stdlib.h>

static cornu_status seconds_of(const opencl *d, cl_event event, double *seconds)
{
    cl_ulong start = 0, end = 0;
    TRY(CL(d,
           clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL)));
    TRY(CL(d, clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL)));
    *seconds = end > start ? (double)(end - start) * 1e-9 : 0;
    return CORNU_OK;
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
    cl_int error;
    TRY(memory_new(r->count + 1, sizeof *events, "events", &events));
    TRY(CL(d, clFinish(d->queue))); /* what was copied for the step */
    cl_command_queue queue =
        d->lib->clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &error);
    cornu_status status = opencl_check_on(d, error, "clCreateCommandQueue");
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

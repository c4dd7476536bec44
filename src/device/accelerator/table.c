/* One device: opened, closed, lost, and its table of functions, each of which the driver may want
   to enter and leave. */
#include "device/accelerator/core.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static gpu *gpu_of(const device *d)
{
    return (gpu *)(void *)d;
}

/* ---- a lost device ------------------------------------------------------------------------ */

/* Also on a lost device: functions that release resources always do so. */
static bool enter_any(gpu *g)
{
    return !g->driver->enter || g->driver->enter(g) == CORNU_OK;
}

static cornu_status enter(gpu *g)
{
    if (g->state->lost[0])
        return status_fail(CORNU_DEVICE, "%s", g->state->lost);
    return g->driver->enter ? g->driver->enter(g) : CORNU_OK;
}

static cornu_status leave(gpu *g, cornu_status status)
{
    return g->driver->leave ? g->driver->leave(g, status) : status;
}

/* ---- opening ----------------------------------------------------------------------------- */

cornu_status gpu_open_shared(gpu *g, const gpu_driver *driver, int number,
                             const device_options *options)
{
    g->device.ops = &gpu_ops;
    g->driver = driver;
    g->number = number;
    g->precision = options ? options->precision : PRECISION_FP32;
    snprintf(g->name, sizeof g->name, "%s:%d", driver->name, number);
    TRY(memory_new(1, sizeof *g->state, "device", &g->state));
    g->state->forced = options ? options->kernel : NULL;
    g->state->threads = options ? options->threads : 0;
    return CORNU_OK;
}

static void close_shared(gpu *g)
{
    gpu_state *s = g->state;
    if (s->queue.finished < s->queue.queued)
        (void)gpu_drain(g);
    gpu_samples_free(g);
    gpu_queue_close(g);
    gpu_variables_free(g);
    gpu_memory_free(g, &s->arena);
    gpu_memory_free(g, &s->scratch);
    gpu_memory_free(g, &s->tables);
    free(s->shown_tables);
    free(s);
    g->state = NULL;
}

void gpu_close_all(gpu *g)
{
    char why[PRINTABLE_MOST];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    bool entered = enter_any(g);
    if (g->state)
        close_shared(g);
    if (entered)
        (void)leave(g, CORNU_OK);
    g->driver->close(g);
    (void)status_fail(CORNU_OK, "%s", why);
}

static void close_device(device *d)
{
    if (d)
        gpu_close_all(gpu_of(d));
}

/* ---- the table --------------------------------------------------------------------------- */

/* return what `call` does between `enter` and `leave` */
#define WITHIN(d, call) \
    gpu *g = gpu_of(d); \
    TRY(enter(g));      \
    return leave(g, call)

static cornu_status bind_model(device *d, const cornu_model *model)
{
    WITHIN(d, gpu_bind(g, model));
}

static cornu_status prepare(device *d, const plan *p, prepared **out)
{
    *out = NULL;
    WITHIN(d, gpu_prepare(g, p, out));
}

static void release(device *d, prepared *p)
{
    gpu *g = gpu_of(d);
    bool entered = enter_any(g);
    gpu_release(g, p);
    if (entered)
        (void)leave(g, CORNU_OK);
}

static cornu_status upload(device *d, const sample_block *samples)
{
    WITHIN(d, gpu_upload_samples(g, samples));
}

static cornu_status run(device *d, prepared *p, const step_input *inputs, int steps)
{
    WITHIN(d, gpu_run(g, p, inputs, steps));
}

static cornu_status results(device *d, step_results *out, bool reset)
{
    WITHIN(d, gpu_get_results(g, out, reset));
}

static cornu_status synchronize(device *d)
{
    WITHIN(d, gpu_drain(g));
}

static cornu_status read_tensor(device *d, prepared *p, tensor_ref t, float *values, int64_t count)
{
    WITHIN(d, gpu_read(g, p, t, values, count));
}

static cornu_status write_tensor(device *d, prepared *p, tensor_ref t, const float *values,
                                 int64_t count)
{
    WITHIN(d, gpu_write(g, p, t, values, count));
}

static cornu_status read_variable(device *d, int number, float *values, int64_t count)
{
    WITHIN(d, gpu_read_variable(g, number, values, count));
}

static cornu_status write_variable(device *d, int number, const float *values, int64_t count)
{
    WITHIN(d, gpu_write_variable(g, number, values, count));
}

/* Launches are counted at the first call, so a plan's data may change. */
static cornu_status choices(device *d, const prepared *p, kernel_choice *out)
{
    WITHIN(d, gpu_choices(g, (prepared *)(uintptr_t)p, out));
}

static cornu_status time_operations(device *d, prepared *p, const step_input *input,
                                    double *seconds)
{
    WITHIN(d, gpu_time_operations(g, p, input, seconds));
}

static double host_seconds(const device *d)
{
    return ((const gpu *)(const void *)d)->host_seconds;
}

static cornu_status launch_gaps(device *d, prepared *p, double *seconds)
{
    WITHIN(d, gpu_launch_gaps(g, p, seconds));
}

static cornu_status left(gpu *g, double *bytes)
{
    TRY(enter(g));
    return leave(g, gpu_memory_left(g, bytes));
}

static int64_t memory_free(const device *d)
{
    double bytes = 0;
    return left(gpu_of(d), &bytes) == CORNU_OK ? (int64_t)bytes : 0;
}

static cornu_status drained_limits(gpu *g, device_limits *out)
{
    TRY(gpu_drain(g));
    return g->driver->limits(g, out);
}

static cornu_status limits(device *d, device_limits *out)
{
    *out = (device_limits){0};
    WITHIN(d, drained_limits(g, out));
}

static cornu_status flushed_timer(gpu *g, double *seconds)
{
    TRY(gpu_flush(g));
    return g->driver->timer(g, seconds);
}

static cornu_status timer(device *d, double *seconds)
{
    WITHIN(d, flushed_timer(g, seconds));
}

static cornu_status sensors(device *d, device_sensors *out)
{
    *out = (device_sensors){NAN, NAN, NAN, NAN, NAN, false};
    WITHIN(d, g->driver->sensors ? g->driver->sensors(g, out) : CORNU_OK);
}

static cornu_status drained_idle(gpu *g, device_idle *out)
{
    TRY(gpu_drain(g));
    if (g->driver->idle)
        return g->driver->idle(g, out);
    if (out)
        *out = (device_idle){NAN, NAN};
    return CORNU_OK;
}

static cornu_status idle(device *d, device_idle *out)
{
    WITHIN(d, drained_idle(g, out));
}

static const char *notice(const device *d)
{
    const gpu *g = gpu_of(d);
    return g->driver->notice ? g->driver->notice(g) : "";
}

/* ---- tuning ------------------------------------------------------------------------------ */

static cornu_status tuning(device *d, device_tuning *out)
{
    gpu *g = gpu_of(d);
    *out = (device_tuning){.text = ""};
    return g->driver->tuning ? g->driver->tuning(g, out) : CORNU_OK;
}

static bool tuning_candidate(device *d, const char *from, int stage, int index,
                             char found[TUNING_TEXT])
{
    gpu *g = gpu_of(d);
    return g->driver->tuning_candidate && g->driver->tuning_candidate(g, from, stage, index, found);
}

static cornu_status tuning_keep(device *d, const char *fields, device_tuning *kept)
{
    gpu *g = gpu_of(d);
    if (g->driver->tuning_keep)
        return g->driver->tuning_keep(g, fields, kept);
    return status_fail(CORNU_UNSUPPORTED, "device %s: has nothing to tune", g->name);
}

/* ---- what is asked of a plan ------------------------------------------------------------- */

static const op *lacks(const device *d, const plan *p)
{
    return gpu_lacks(gpu_of(d), p);
}

static cornu_status buffer_bytes(device *d, const plan *p, int64_t *bytes)
{
    size_t arena;
    TRY(gpu_buffer_offsets(gpu_of(d), p, NULL, &arena));
    *bytes = (int64_t)arena;
    return CORNU_OK;
}

const device_ops gpu_ops = {
    .close = close_device,
    .bind = bind_model,
    .lacks = lacks,
    .buffer_bytes = buffer_bytes,
    .prepare = prepare,
    .release = release,
    .upload = upload,
    .run = run,
    .results = results,
    .synchronize = synchronize,
    .read = read_tensor,
    .write = write_tensor,
    .read_variable = read_variable,
    .write_variable = write_variable,
    .choices = choices,
    .time_operations = time_operations,
    .launch_gaps = launch_gaps,
    .host_seconds = host_seconds,
    .memory_free = memory_free,
    .limits = limits,
    .timer = timer,
    .sensors = sensors,
    .idle = idle,
    .tuning = tuning,
    .tuning_candidate = tuning_candidate,
    .tuning_keep = tuning_keep,
    .notice = notice,
};

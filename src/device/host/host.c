/* A device whose memory is the host's: opening, the model's variables and how fast they can be
   read. */
#include "base/clock.h"
#include "base/memory.h"
#include "device/host/prepared.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

cornu_status host_open(const device_ops *ops, const kernel_list *kernels,
                       const device_options *options, device **out)
{
    *out = NULL;
    if (options && options->precision != PRECISION_FP32)
        return status_fail(CORNU_UNSUPPORTED, "device %s: found precision %s; it computes in fp32",
                           ops->name, device_precision_name(options->precision));
    host_device *h = NULL;
    TRY(memory_new(1, sizeof *h, "device", &h));
    h->device.ops = ops;
    h->kernels = kernels;
    h->forced = options ? options->kernel : NULL;
    cornu_status status = threads_open(options ? options->threads : 0, &h->pool);
    if (status != CORNU_OK) {
        host_close(&h->device);
        return status;
    }
    *out = &h->device;
    return CORNU_OK;
}

/* ---- deferred work ------------------------------------------------------------------------ */

void host_flush(host_device *h)
{
    const prepared *p = h->pending;
    h->pending = NULL;
    if (p)
        prepared_kernel(p, p->deferred)->flush(p->chosen.states[p->deferred], h->pool);
}

/* ---- closing -------------------------------------------------------------------------------- */

static bool lies_in_block(const host_device *h, int number)
{
    return h->in_block && h->in_block[number];
}

static void free_variables(host_device *h)
{
    for (int i = 0; h->variables && i < h->variable_count; i++)
        if (!lies_in_block(h, i))
            memory_free_aligned(h->variables[i]);
    while (h->block_count > 0)
        memory_free_aligned(h->blocks[--h->block_count]);
    free(h->in_block);
    free(h->variables);
    free(h->forms);
    h->variables = NULL;
    h->in_block = NULL;
    h->forms = NULL;
    h->variable_count = 0;
}

void host_close(device *d)
{
    if (!d)
        return;
    host_device *h = host_of(d);
    free_variables(h);
    memory_free_aligned(h->arena);
    memory_free_aligned(h->scratch);
    free(h->results.tables);
    free(h->shown_tables);
    threads_close(h->pool);
    free(h);
}

int64_t host_memory_free(const device *d)
{
    (void)d;
    return memory_available();
}

/* ---- variables --------------------------------------------------------------------------- */

static cornu_status check_variables_fit(const host_device *h, const cornu_model *model)
{
    double needed = 0;
    for (int i = 0; i < model->variable_count; i++)
        needed += (double)model->variables[i].count * sizeof(float);
    int64_t available = memory_available();
    char need[32], have[32];
    if (needed > (double)available)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "device %s: the model's weights and optimizer slots need %s of memory; "
                           "%s is free",
                           h->device.ops->name, memory_human(needed, need),
                           memory_human((double)available, have));
    return CORNU_OK;
}

static bool variable_in_panels(const host_device *h, int number)
{
    return h->panels && h->forms[number] == FORM_DENSE_KERNEL;
}

bool host_in_panels(const host_device *h, const tensor *t)
{
    return h->panels && t->form == FORM_DENSE_KERNEL;
}

/* From the plain layout into the device's, and back. */
static void take_values(float *to, const float *from, const shape *s, bool panels)
{
    if (panels)
        panels_pack(from, s->dim[0], s->dim[1], to);
    else
        memcpy(to, from, (size_t)shape_elements(s) * sizeof *to);
}

void host_give_values(const float *from, float *to, const shape *s, bool panels)
{
    if (panels)
        panels_unpack(from, s->dim[0], s->dim[1], to);
    else
        memcpy(to, from, (size_t)shape_elements(s) * sizeof *to);
}

cornu_status host_bind(device *d, const cornu_model *model)
{
    host_device *h = host_of(d);
    host_flush(h);
    free_variables(h);
    TRY(check_variables_fit(h, model));
    TRY(plan_variable_forms(model, &h->forms));
    TRY(memory_new((size_t)model->variable_count, sizeof(float *), "variables", &h->variables));
    h->variable_count = model->variable_count;
    h->model = model;
    for (int i = 0; i < model->variable_count; i++) {
        const variable *v = &model->variables[i];
        size_t bytes = (size_t)v->count * sizeof(float);
        TRY(memory_new_aligned(bytes, v->name, &h->variables[i]));
        if (v->value)
            take_values(h->variables[i], v->value, &v->plan_shape, variable_in_panels(h, i));
    }
    return CORNU_OK;
}

static cornu_status check_variable(const host_device *h, int number, int64_t count)
{
    if (number < 0 || number >= h->variable_count)
        return status_fail(CORNU_INTERNAL, "variable: found number %d; expected 0 to %d", number,
                           h->variable_count - 1);
    if (count != h->model->variables[number].count)
        return status_fail(CORNU_INVALID, "%s: found %lld values; expected %lld",
                           h->model->variables[number].name, (long long)count,
                           (long long)h->model->variables[number].count);
    return CORNU_OK;
}

cornu_status host_read_variable(device *d, int number, float *values, int64_t count)
{
    host_device *h = host_of(d);
    TRY(check_variable(h, number, count));
    host_flush(h);
    host_give_values(h->variables[number], values, &h->model->variables[number].plan_shape,
                     variable_in_panels(h, number));
    return CORNU_OK;
}

cornu_status host_write_variable(device *d, int number, const float *values, int64_t count)
{
    host_device *h = host_of(d);
    TRY(check_variable(h, number, count));
    host_flush(h);
    take_values(h->variables[number], values, &h->model->variables[number].plan_shape,
                variable_in_panels(h, number));
    return CORNU_OK;
}

/* Moves a variable with its contents; zeros need not be written, as a new block contains them. */
static void move(host_device *h, int number, float *to)
{
    int64_t count = h->model->variables[number].count;
    float *from = h->variables[number];
    bool zeros = true;
    for (int64_t i = 0; i < count && zeros; i++)
        zeros = from[i] == 0 && !signbit(from[i]);
    if (!zeros)
        memcpy(to, from, (size_t)count * sizeof *to);
    memory_free_aligned(from);
    h->variables[number] = to;
    h->in_block[number] = true;
}

cornu_status host_join(device *d, const int *variables, const int64_t *at, int count,
                       int64_t values, float **block)
{
    host_device *h = host_of(d);
    float *made;
    host_flush(h);
    if (h->block_count == HOST_BLOCKS_MOST)
        return status_fail(CORNU_INTERNAL, "device %s: found %d blocks of variables; expected less",
                           d->ops->name, h->block_count);
    if (!h->in_block)
        TRY(memory_new((size_t)h->variable_count, sizeof *h->in_block, "variables", &h->in_block));
    TRY(memory_new_aligned((size_t)values * sizeof(float), "variables in one block", &made));
    for (int i = 0; i < count; i++)
        if (!h->in_block[variables[i]])
            move(h, variables[i], made + at[i]);
    h->moves++;
    *block = h->blocks[h->block_count++] = made;
    return CORNU_OK;
}

/* ---- panels --------------------------------------------------------------------------------- */

static int64_t width_at(int64_t column, int64_t units)
{
    return units - column < PANEL_COLUMNS ? units - column : PANEL_COLUMNS;
}

void panels_pack(const float *plain, int64_t in, int64_t units, float *panels)
{
    for (int64_t n = 0; n < units; n += PANEL_COLUMNS) {
        int64_t width = width_at(n, units);
        for (int64_t k = 0; k < in; k++, panels += width)
            memcpy(panels, plain + k * units + n, (size_t)width * sizeof *panels);
    }
}

void panels_unpack(const float *panels, int64_t in, int64_t units, float *plain)
{
    for (int64_t n = 0; n < units; n += PANEL_COLUMNS) {
        int64_t width = width_at(n, units);
        for (int64_t k = 0; k < in; k++, panels += width)
            memcpy(plain + k * units + n, panels, (size_t)width * sizeof *panels);
    }
}

/* ---- memory probe --------------------------------------------------------------------------- */

/* Measures how fast the device's threads can currently read the variables from the caches or
   memory. */

enum { READ_FLOATS_MOST = (32 << 20) / 4, BLOCK_FLOATS = 32768, PASSES = 3, LANES = 16 };

typedef struct read_work {
    const host_device *host;
    int64_t count; /* floats of the variables, one after the other */
    volatile float sink;
} read_work;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sums in lanes, so that it is vectorized without leave to reorder them. */
static float read_values(const float *x, int64_t count)
{
    float sums[LANES] = {0}, sum = 0;
    for (int64_t i = 0; i + LANES <= count; i += LANES)
        for (int j = 0; j < LANES; j++)
            sums[j] += x[i + j];
    for (int j = 0; j < LANES; j++)
        sum += sums[j];
    return sum;
}

/* One block, which may begin in one variable and end in another. */
static void read_task(void *context, int64_t task, int worker)
{
    read_work *w = context;
    const host_device *h = w->host;
    int64_t begin = task * BLOCK_FLOATS, end = least(begin + BLOCK_FLOATS, w->count);
    float sum = 0;
    (void)worker;
    for (int v = 0; v < h->variable_count && end > 0; v++) {
        int64_t count = h->model->variables[v].count;
        int64_t from = begin > 0 ? begin : 0, to = least(end, count);
        if (from < to)
            sum += read_values(h->variables[v] + from, to - from);
        begin -= count;
        end -= count;
    }
    if (task < 0) /* never: keeps the sum alive without a shared write */
        w->sink = sum;
}

double host_memory_probe(device *d)
{
    const host_device *h = host_of(d);
    read_work w = {.host = h};
    double best = INFINITY;
    for (int v = 0; v < h->variable_count; v++)
        w.count = least(w.count + h->model->variables[v].count, READ_FLOATS_MOST);
    if (w.count == 0)
        return NAN;
    int64_t tasks = (w.count + BLOCK_FLOATS - 1) / BLOCK_FLOATS;
    for (int pass = 0; pass < PASSES; pass++) {
        double begin = clock_seconds();
        threads_run(h->pool, tasks, read_task, &w);
        best = fmin(best, clock_seconds() - begin);
    }
    return (double)sizeof(float) * (double)w.count / fmax(best, 1e-9);
}

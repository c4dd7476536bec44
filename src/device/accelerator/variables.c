/* Weights and optimizer slots on the device, each in a separate allocation. The kernel of a
   convolution, which is [kh][kw][in / groups][out] on the host, may be [out][kh][kw][in /
   groups] on the device (gpu_driver.conv_kernels_by_output), and so are its slots and gradient. */
#include "device/accelerator/core.h"
#include <stdlib.h>

/* to[column][row] = from[row][column], in squares that stay in the first cache. */
static void transpose(const float *from, float *to, int64_t rows, int64_t columns)
{
    enum { SIDE = 32 };
    for (int64_t r = 0; r < rows; r += SIDE)
        for (int64_t c = 0; c < columns; c += SIDE)
            for (int64_t i = r; i < r + SIDE && i < rows; i++)
                for (int64_t k = c; k < c + SIDE && k < columns; k++)
                    to[k * rows + i] = from[i * columns + k];
}

/* Output channels of a kernel in the host's layout: its last dimension. */
static int64_t columns_of(const shape *s)
{
    return s->rank > 0 && s->dim[s->rank - 1] > 0 ? s->dim[s->rank - 1] : 1;
}

static bool is_transposed(const gpu *g, tensor_form form)
{
    return form == FORM_CONV_KERNEL && g->driver->conv_kernels_by_output;
}

cornu_status gpu_read_values(gpu *g, gpu_address from, const shape *s, tensor_form form,
                             float *values, int64_t count)
{
    size_t bytes = (size_t)count * sizeof *values;
    if (!is_transposed(g, form))
        return gpu_download(g, values, from, bytes);
    float *other;
    int64_t columns = columns_of(s);
    TRY(memory_new((size_t)count, sizeof *other, "values of a kernel", &other));
    cornu_status status = gpu_download(g, other, from, bytes);
    if (status == CORNU_OK)
        transpose(other, values, columns, count / columns);
    free(other);
    return status;
}

cornu_status gpu_write_values(gpu *g, gpu_address to, const shape *s, tensor_form form,
                              const float *values, int64_t count)
{
    size_t bytes = (size_t)count * sizeof *values;
    if (!is_transposed(g, form))
        return gpu_upload(g, to, values, bytes);
    float *other;
    int64_t columns = columns_of(s);
    TRY(memory_new((size_t)count, sizeof *other, "values of a kernel", &other));
    transpose(values, other, count / columns, columns);
    cornu_status status = gpu_upload(g, to, other, bytes);
    free(other);
    return status;
}

/* ---- the model's ------------------------------------------------------------------------- */

void gpu_variables_free(gpu *g)
{
    gpu_state *s = g->state;
    for (int i = 0; i < s->variable_count; i++)
        gpu_memory_free(g, &s->variable_memory[i]);
    free(s->variable_memory);
    free(s->variable_forms);
    s->variable_memory = NULL;
    s->variable_forms = NULL;
    s->variable_count = 0;
    s->model = NULL;
}

static size_t bytes_of(const variable *v)
{
    return (size_t)v->count * sizeof(float);
}

static cornu_status check_largest(const gpu *g, const variable *v, double largest)
{
    double bytes = (double)bytes_of(v);
    char need[32], have[32];
    if (bytes <= largest)
        return CORNU_OK;
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "device %s: %s needs %s of memory in one piece; expected at most %s",
                       g->name, v->name, memory_human(bytes, need), memory_human(largest, have));
}

static cornu_status check_fits(gpu *g, const cornu_model *model)
{
    double left, largest, needed = 0;
    char need[32], have[32];
    TRY(g->driver->memory_info(g, &left, &largest));
    for (int i = 0; i < model->variable_count; i++) {
        TRY(check_largest(g, &model->variables[i], largest));
        needed += (double)gpu_aligned(bytes_of(&model->variables[i]));
    }
    TRY(gpu_memory_left(g, &left));
    if (needed <= left)
        return gpu_memory_make_room(g, needed);
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "device %s: the model's weights and optimizer slots need %s of memory; %s "
                       "is free",
                       g->name, memory_human(needed, need), memory_human(left, have));
}

static cornu_status new_variable(gpu *g, int number)
{
    gpu_state *s = g->state;
    const variable *v = &s->model->variables[number];
    gpu_memory *m = &s->variable_memory[number];
    TRY(gpu_memory_new(g, bytes_of(v), "weights and optimizer slots", m));
    if (v->value)
        return gpu_write_values(g, m->at, &v->plan_shape, s->variable_forms[number], v->value,
                                v->count);
    return m->bytes ? g->driver->clear(g, m->at, m->bytes) : CORNU_OK;
}

cornu_status gpu_bind(gpu *g, const cornu_model *model)
{
    gpu_state *s = g->state;
    TRY(gpu_drain(g));
    gpu_variables_free(g);
    TRY(check_fits(g, model));
    TRY(memory_new((size_t)model->variable_count, sizeof *s->variable_memory, "variables",
                   &s->variable_memory));
    s->variable_count = model->variable_count;
    TRY(plan_variable_forms(model, &s->variable_forms));
    s->model = model;
    s->moves++;
    cornu_status status = CORNU_OK;
    for (int i = 0; i < s->variable_count && status == CORNU_OK; i++)
        status = new_variable(g, i);
    if (status != CORNU_OK)
        gpu_variables_free(g);
    return status;
}

static cornu_status check_variable(const gpu *g, int number, int64_t count)
{
    const gpu_state *s = g->state;
    if (number < 0 || number >= s->variable_count)
        return status_fail(CORNU_INTERNAL, "variable: found number %d; expected 0 to %d", number,
                           s->variable_count - 1);
    const variable *v = &s->model->variables[number];
    if (count != v->count)
        return status_fail(CORNU_INVALID, "%s: found %lld values; expected %lld", v->name,
                           (long long)count, (long long)v->count);
    return CORNU_OK;
}

cornu_status gpu_read_variable(gpu *g, int number, float *values, int64_t count)
{
    const gpu_state *s = g->state;
    TRY(check_variable(g, number, count));
    TRY(gpu_drain(g));
    return gpu_read_values(g, s->variable_memory[number].at,
                           &s->model->variables[number].plan_shape, s->variable_forms[number],
                           values, count);
}

cornu_status gpu_write_variable(gpu *g, int number, const float *values, int64_t count)
{
    const gpu_state *s = g->state;
    TRY(check_variable(g, number, count));
    TRY(gpu_drain(g));
    return gpu_write_values(g, s->variable_memory[number].at,
                            &s->model->variables[number].plan_shape, s->variable_forms[number],
                            values, count);
}

/* Weights and optimizer slots on the device: one allocation. The kernel of a convolution, which the
   host has as [kh][kw][in / groups][out], lies as [out][kh][kw][in / groups] there, and so do its
   slots and gradient. */
#include "device/cuda/plugin/core.h"
#include <stdlib.h>
#include <string.h>

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

cornu_status gpu_read_values(gpu *g, CUdeviceptr from, const shape *s, tensor_form form,
                             float *values, int64_t count)
{
    size_t bytes = (size_t)count * sizeof *values;
    if (form != FORM_CONV_KERNEL)
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

cornu_status gpu_write_values(gpu *g, CUdeviceptr to, const shape *s, tensor_form form,
                              const float *values, int64_t count)
{
    size_t bytes = (size_t)count * sizeof *values;
    if (form != FORM_CONV_KERNEL)
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
    gpu_memory_free(g, &s->variable_memory);
    free(s->variables);
    free(s->variable_forms);
    s->variables = NULL;
    s->variable_forms = NULL;
    s->variable_count = 0;
    s->model = NULL;
}

static cornu_status check_fits(gpu *g, double needed)
{
    double left;
    char need[32], have[32];
    TRY(gpu_memory_left(g, &left));
    if (needed <= left)
        return gpu_memory_make_room(g, needed);
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "device %s: the model's weights and optimizer slots need %s of memory; %s "
                       "is free",
                       g->name, memory_human(needed, need), memory_human(left, have));
}

static cornu_status write_initial(gpu *g, int number)
{
    const variable *v = &g->state->model->variables[number];
    CUdeviceptr to = g->state->variables[number];
    if (v->value)
        return gpu_write_values(g, to, &v->shape, g->state->variable_forms[number], v->value,
                                v->count);
    return v->count ? CU(g, cuMemsetD8Async(to, 0, (size_t)v->count * sizeof(float), g->stream))
                    : CORNU_OK;
}

cornu_status gpu_bind(gpu *g, const cornu_model *model)
{
    gpu_state *s = g->state;
    size_t count = (size_t)model->variable_count, bytes = 0;
    TRY(gpu_drain(g));
    gpu_variables_free(g);
    for (size_t i = 0; i < count; i++)
        bytes += gpu_aligned((size_t)model->variables[i].count * sizeof(float));
    TRY(check_fits(g, (double)bytes));
    TRY(memory_new(count, sizeof *s->variables, "variables", &s->variables));
    TRY(plan_variable_forms(model, &s->variable_forms));
    TRY(gpu_memory_new(g, bytes, "weights and optimizer slots", &s->variable_memory));
    s->model = model;
    s->variable_count = model->variable_count;
    s->moves++;
    bytes = 0;
    for (int i = 0; i < s->variable_count; i++) {
        s->variables[i] = s->variable_memory.at + bytes;
        bytes += gpu_aligned((size_t)model->variables[i].count * sizeof(float));
        TRY(write_initial(g, i));
    }
    return CORNU_OK;
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
    return gpu_read_values(g, s->variables[number], &s->model->variables[number].shape,
                           s->variable_forms[number], values, count);
}

cornu_status gpu_write_variable(gpu *g, int number, const float *values, int64_t count)
{
    const gpu_state *s = g->state;
    TRY(check_variable(g, number, count));
    TRY(gpu_drain(g));
    return gpu_write_values(g, s->variables[number], &s->model->variables[number].shape,
                            s->variable_forms[number], values, count);
}

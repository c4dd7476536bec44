/* The tensors and operations of a plan under construction. */
#include "step/builder.h"
#include "base/memory.h"
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

op op_new(op_kind kind)
{
    op o;
    memset(&o, 0, sizeof o);
    o.kind = kind;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        o.in[i] = NO_TENSOR;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        o.out[i] = NO_TENSOR;
    return o;
}

cornu_status builder_add(step_builder *b, const op *o, const char *name)
{
    plan *p = b->plan;
    char *copy;
    TRY(memory_grow(&p->ops, &b->op_capacity, (size_t)p->op_count + 1, sizeof *p->ops));
    TRY(memory_copy_string(name, &copy));
    p->ops[p->op_count] = *o;
    p->ops[p->op_count++].name = copy;
    return CORNU_OK;
}

/* ---- names ------------------------------------------------------------------------------- */

/* Names are unique, for messages and for ONNX: "add/add", "add/add (2)". A tree finds them, as a
   layer of many inputs has many tensors of one name. */
typedef struct tensor_name {
    const char *name; /* the tensor's */
    int numbers;      /* those up to this one are taken behind it */
} tensor_name;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tensor_name *)a)->name, ((const tensor_name *)b)->name);
}

static tensor_name *find_name(const step_builder *b, const char *name)
{
    void *const *found = tfind(&(tensor_name){.name = name}, &b->names, by_name);
    return found ? *found : NULL;
}

/* `name` belongs to a tensor that keeps it. */
static cornu_status take_name(step_builder *b, const char *name)
{
    tensor_name *n;
    TRY(memory_new(1, sizeof *n, "plan", &n));
    *n = (tensor_name){.name = name, .numbers = 1};
    void *const *found = tsearch(n, &b->names, by_name);
    if (found && *found == n)
        return CORNU_OK;
    free(n);
    return found ? status_fail(CORNU_INTERNAL, "%s: found this tensor twice", name)
                 : status_fail(CORNU_OUT_OF_MEMORY, "plan: not enough memory");
}

static void forget_name(step_builder *b, const char *name)
{
    tensor_name *n = find_name(b, name);
    if (n)
        tdelete(n, &b->names, by_name);
    free(n);
}

static void number_name(const step_builder *b, char *name, size_t size)
{
    const size_t length = strlen(name);
    tensor_name *first = find_name(b, name);
    while (first && find_name(b, name))
        snprintf(name + length, size - length, " (%d)", ++first->numbers);
}

void builder_free(step_builder *b)
{
    tdestroy(b->names, free);
    free(b->notes);
    free(b->sums);
    free(b->constants);
}

/* ---- tensors ----------------------------------------------------------------------------- */

/* Append a tensor; takes `name`. */
static cornu_status add_tensor(step_builder *b, const tensor *t, char *name, tensor_ref *out)
{
    plan *p = b->plan;
    size_t needed = (size_t)p->tensor_count + 1;
    cornu_status status = memory_grow(&p->tensors, &b->tensor_capacity, needed, sizeof *p->tensors);
    if (status == CORNU_OK)
        status = memory_grow(&b->notes, &b->notes_capacity, needed, sizeof *b->notes);
    if (status == CORNU_OK)
        status = take_name(b, name);
    if (status != CORNU_OK) {
        free(name);
        return status;
    }
    *out = p->tensor_count;
    b->notes[p->tensor_count] = (tensor_notes){.gradient = NO_TENSOR, .first_reader = -1};
    p->tensors[p->tensor_count] = *t;
    p->tensors[p->tensor_count++].name = name;
    return CORNU_OK;
}

cornu_status builder_rename(step_builder *b, tensor_ref t, char *name)
{
    char **old = &b->plan->tensors[t].name;
    cornu_status status = take_name(b, name);
    if (status != CORNU_OK) {
        free(name);
        return status;
    }
    forget_name(b, *old);
    free(*old);
    *old = name;
    return CORNU_OK;
}

static cornu_status add_buffer(step_builder *b, const shape *s, tensor_ref alias, tensor_ref *out,
                               const char *format, va_list arguments)
{
    char name[512], shown[128];
    vsnprintf(name, sizeof name - 16, format, arguments);
    number_name(b, name, sizeof name);
    tensor t = {.role = TENSOR_BUFFER,
                .variable = -1,
                .shape = *s,
                .count = shape_elements(s),
                .first = -1,
                .last = -1,
                .alias = alias};
    if (t.count < 0)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "%s: shape %s holds more than 2^40 numbers; choose a smaller batch or "
                           "layer",
                           name, shape_show(s, false, shown));
    char *copy;
    TRY(memory_copy_string(name, &copy));
    return add_tensor(b, &t, copy, out);
}

cornu_status builder_buffer(step_builder *b, const shape *s, tensor_ref *out, const char *format,
                            ...)
{
    va_list arguments;
    va_start(arguments, format);
    cornu_status status = add_buffer(b, s, NO_TENSOR, out, format, arguments);
    va_end(arguments);
    return status;
}

cornu_status builder_alias(step_builder *b, tensor_ref of, const shape *s, tensor_ref *out,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cornu_status status = add_buffer(b, s, of, out, format, arguments);
    va_end(arguments);
    return status;
}

static bool find_constant(const step_builder *b, const shape *s, const float *values,
                          tensor_ref *out)
{
    for (size_t i = 0; i < b->constant_count; i++) {
        const tensor *t = &b->plan->tensors[b->constants[i]];
        *out = b->constants[i];
        if (shape_equal(&t->shape, s) &&
            memcmp(t->values, values, (size_t)t->count * sizeof *values) == 0)
            return true;
    }
    return false;
}

cornu_status builder_constant(step_builder *b, const shape *s, const float *values, tensor_ref *out)
{
    char needed[32], most[32];
    if (find_constant(b, s, values, out))
        return CORNU_OK;
    const size_t bytes = (size_t)shape_elements(s) * sizeof *values;
    if (bytes > STEP_CONSTANTS_MOST - b->constant_bytes)
        return status_fail(CORNU_UNSUPPORTED,
                           "found arrays of %s in this layer and those before it; expected at most "
                           "%s",
                           memory_human((double)(bytes + b->constant_bytes), needed),
                           memory_human((double)STEP_CONSTANTS_MOST, most));
    TRY(memory_grow(&b->constants, &b->constant_capacity, b->constant_count + 1,
                    sizeof *b->constants));
    TRY(builder_buffer(b, s, out, "%s/constant", b->node->name));
    tensor *t = &b->plan->tensors[*out];
    TRY(memory_new_aligned(bytes, t->name, &t->values));
    t->role = TENSOR_CONSTANT;
    memcpy(t->values, values, bytes);
    b->constants[b->constant_count++] = *out;
    b->constant_bytes += bytes;
    return CORNU_OK;
}

cornu_status builder_batched(const step_builder *b, const shape *s, shape *out)
{
    char shown[128];
    if (s->rank >= SHAPE_MAX)
        return status_fail(CORNU_UNSUPPORTED, "found shape %s; expected at most %d dimensions",
                           shape_show(s, false, shown), SHAPE_MAX - 1);
    out->rank = s->rank + 1;
    out->dim[0] = b->as_one ? 1 : b->plan->batch;
    for (const emit_frame *f = b->frame; f; f = f->around)
        out->dim[0] *= f->times > 0 ? f->times : 1; /* no more than the elements of its input */
    memcpy(out->dim + 1, s->dim, (size_t)s->rank * sizeof *s->dim);
    return CORNU_OK;
}

cornu_status builder_add_variables(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->variable_count; i++) {
        const variable *v = &m->variables[i];
        tensor t = {.role = TENSOR_VARIABLE,
                    .variable = i,
                    .shape = v->plan_shape,
                    .count = v->count,
                    .first = -1,
                    .last = -1,
                    .alias = NO_TENSOR};
        char *name;
        tensor_ref ref;
        TRY(memory_copy_string(v->name, &name));
        TRY(add_tensor(b, &t, name, &ref));
        b->plan->variable_bytes += (size_t)v->count * sizeof(float);
    }
    return CORNU_OK;
}

penalty builder_penalty(const step_builder *b, int weight)
{
    const variable *v = &b->plan->model->variables[weight];
    if (!v->trained)
        return (penalty){0, 0};
    return (penalty){(float)v->regularizer.l1, (float)v->regularizer.l2};
}

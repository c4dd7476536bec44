#include "step/plan.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const op_info op_infos[OP_COUNT] = {
#define OP(id, name_, inputs_, outputs_, flops, tolerance_) \
    [OP_##id] = {.name = #name_, .inputs = inputs_, .outputs = outputs_, .tolerance = tolerance_},
#include "step/ops.def"
};

bool op_word_at(const char *words, int i, op_word *out)
{
    for (; i > 0; i--) {
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
    size_t name = strcspn(words, " :?"), end = strcspn(words, " ?");
    const char *of = words + name + (words[name] == ':');
    snprintf(out->name, sizeof out->name, "%.*s", (int)name, words);
    snprintf(out->shape, sizeof out->shape, "%.*s", (int)(words + end - of), of);
    out->optional = words[end] == '?';
    return *words != 0;
}

const char *const group_names[GROUP_COUNT] = {
#define GROUP(id, name) [GROUP_##id] = name,
#include "step/groups.def"
#undef GROUP
};

const char *const collective_names[COLLECTIVE_COUNT] = {
#define COLLECTIVE(id, name) [COLLECTIVE_##id] = name,
#include "step/collectives.def"
#undef COLLECTIVE
};

cornu_status plan_add_op(plan *p, const op *o)
{
    char *name;
    size_t capacity = (size_t)p->op_count;
    TRY(memory_grow(&p->ops, &capacity, capacity + 1, sizeof *p->ops));
    TRY(memory_copy_string(o->name, &name));
    p->ops[p->op_count] = *o;
    p->ops[p->op_count++].name = name;
    return CORNU_OK;
}

cornu_status plan_add_collective(plan *p, const collective *c, const char *name)
{
    char *copy;
    size_t capacity = (size_t)p->collective_count;
    TRY(memory_grow(&p->collectives, &capacity, capacity + 1, sizeof *p->collectives));
    TRY(memory_copy_string(name, &copy));
    p->collectives[p->collective_count] = *c;
    p->collectives[p->collective_count++].name = copy;
    return CORNU_OK;
}

int64_t plan_ready(const plan *p, int operations)
{
    int64_t ready = 0;
    for (int i = 0; i < p->collective_count && p->collectives[i].after <= operations; i++)
        ready = p->collectives[i].at + p->collectives[i].count;
    return ready;
}

const op_group *plan_group(const plan *p, const op *o, group_kind kind)
{
    for (int i = 0; i < p->group_count; i++)
        if (p->groups[i].first == o - p->ops && p->groups[i].kind == kind)
            return &p->groups[i];
    return NULL;
}

int plan_operations_to(const plan *p, tensor_ref t)
{
    tensor_ref wanted = plan_root(p, t);
    for (int i = p->op_count; i > 0; i--)
        for (int k = 0; k < OP_OUTPUTS_MAX && !op_is_of_step(p->ops[i - 1].kind); k++) {
            tensor_ref out = p->ops[i - 1].out[k];
            if (out != NO_TENSOR && plan_root(p, out) == wanted)
                return i;
        }
    return p->op_count;
}

void tensor_matrix(const tensor *t, int64_t *rows, int64_t *columns)
{
    *columns = t->shape.rank > 0 ? t->shape.dim[t->shape.rank - 1] : 1;
    *rows = *columns > 0 ? t->count / *columns : 0;
}

void plan_free(plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->tensor_count; i++) {
        free(p->tensors[i].name);
        memory_free_aligned(p->tensors[i].values);
    }
    for (int i = 0; i < p->op_count; i++)
        free(p->ops[i].name);
    for (int i = 0; i < p->collective_count; i++)
        free(p->collectives[i].name);
    free(p->tensors);
    free(p->ops);
    free(p->collectives);
    free(p->groups);
    free(p->gradients);
    free(p);
}

/* ---- sizes as text ----------------------------------------------------------------------- */

static void add(char *shown, const char *before, int64_t value)
{
    size_t length = strlen(shown);
    snprintf(shown + length, OP_SHAPE_TEXT - length, "%s%lld", before, (long long)value);
}

static void add_dimensions(char *shown, const tensor *t)
{
    for (int i = 0; i < t->shape.rank; i++)
        add(shown, i ? "x" : "", t->shape.dim[i]);
    if (t->shape.rank == 0)
        add(shown, "", 1);
}

char *op_shape_show(const plan *p, const op *o, char *shown)
{
    const tensor *in = o->in[0] == NO_TENSOR ? NULL : &p->tensors[o->in[0]];
    const tensor *out = o->out[0] == NO_TENSOR ? NULL : &p->tensors[o->out[0]];
    shown[0] = 0;
    if (in)
        add_dimensions(shown, in);
    if (!out || (in && shape_equal(&in->shape, &out->shape)))
        return shown;
    size_t length = strlen(shown);
    snprintf(shown + length, OP_SHAPE_TEXT - length, "%s", in ? " -> " : "");
    add_dimensions(shown, out);
    return shown;
}

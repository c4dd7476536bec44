#include "step/plan.h"
#include <stdlib.h>

const op_info op_infos[OP_COUNT] = {
#define OP(id, name_, inputs_, outputs_, flops, tolerance_) \
    [OP_##id] = {.name = name_, .inputs = inputs_, .outputs = outputs_, .tolerance = tolerance_},
#include "step/ops.def"
#undef OP
};

const char *const group_names[GROUP_COUNT] = {
#define GROUP(id, name) [GROUP_##id] = name,
#include "step/groups.def"
#undef GROUP
};

const op_group *plan_group(const plan *p, const op *o, group_kind kind)
{
    for (int i = 0; i < p->group_count; i++)
        if (p->groups[i].first == o - p->ops && p->groups[i].kind == kind)
            return &p->groups[i];
    return NULL;
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
    for (int i = 0; i < p->tensor_count; i++)
        free(p->tensors[i].name);
    for (int i = 0; i < p->op_count; i++)
        free(p->ops[i].name);
    free(p->tensors);
    free(p->ops);
    free(p->groups);
    free(p->gradients);
    free(p);
}

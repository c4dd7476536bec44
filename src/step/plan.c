#include "step/plan.h"
#include <stdlib.h>

const op_info op_infos[OP_COUNT] = {
#define OP(id, name_, inputs_, outputs_, flops, tolerance_) \
    [OP_##id] = {.name = name_, .inputs = inputs_, .outputs = outputs_, .tolerance = tolerance_},
#include "step/ops.def"
#undef OP
};

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
    free(p->gradients);
    free(p);
}

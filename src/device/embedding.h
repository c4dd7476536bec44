/* EMBEDDING_FORWARD and EMBEDDING_BACKWARD: numbers that name rows of a table. */
#ifndef DEVICE_EMBEDDING_H
#define DEVICE_EMBEDDING_H

#include "step/plan.h"

#define RULE static inline
#include "device/rules/embedding.h"
#undef RULE

/* x [count], the table and its gradient [rows][columns], y and its gradient [count][columns] */
typedef struct embedding_sizes {
    int64_t count, rows, columns;
} embedding_sizes;

static inline embedding_sizes embedding_sizes_of(const plan *p, const op *o)
{
    const bool back = o->kind == OP_EMBEDDING_BACKWARD;
    const tensor *table = &p->tensors[back ? o->out[0] : o->in[1]];
    return (embedding_sizes){.count = p->tensors[o->in[0]].count,
                             .rows = table->shape.dim[0],
                             .columns = table->shape.dim[1]};
}

/* Fail where a number names no row. */
static inline cornu_status embedding_check(const op *o, const embedding_sizes *s, const float *x)
{
    for (int64_t i = 0; i < s->count; i++)
        if (embedding_row(x[i], s->rows) < 0)
            return status_fail(CORNU_INVALID,
                               "%s: found the number %g in its input; expected 0 to %lld, one of "
                               "its input_dim rows (-1 is the last)",
                               o->name, (double)x[i], (long long)s->rows - 1);
    return CORNU_OK;
}

#endif

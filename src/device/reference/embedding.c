/* Rows of a table by their numbers, and the table's gradient. */
#include "device/embedding.h"
#include "base/memory.h"
#include "device/reference/reference.h"
#include <stdlib.h>
#include <string.h>

cornu_status reference_embedding_forward(const op_run *r)
{
    const embedding_sizes s = embedding_sizes_of(r->plan, r->op);
    TRY(embedding_check(r->op, &s, r->in[0]));
    for (int64_t i = 0; i < s.count; i++)
        memcpy(r->out[0] + i * s.columns, r->in[1] + embedding_row(r->in[0][i], s.rows) * s.columns,
               (size_t)s.columns * sizeof(float));
    return CORNU_OK;
}

cornu_status reference_embedding_backward(const op_run *r)
{
    const embedding_sizes s = embedding_sizes_of(r->plan, r->op);
    double *sums;
    TRY(memory_new((size_t)(s.rows * s.columns), sizeof *sums, "embedding", &sums));
    for (int64_t i = 0; i < s.count; i++) {
        const int64_t row = embedding_row(r->in[0][i], s.rows);
        for (int64_t c = 0; row >= 0 && c < s.columns; c++)
            sums[row * s.columns + c] += (double)r->in[1][i * s.columns + c];
    }
    for (int64_t i = 0; i < s.rows * s.columns; i++)
        r->out[0][i] = (float)sums[i];
    free(sums);
    return CORNU_OK;
}

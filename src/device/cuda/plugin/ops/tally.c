/* TALLY: a launch over the rows and buckets, and another for the sum of several slices. */
#include "device/cuda/plugin/kernels/tally.h"
#include "device/cuda/plugin/ops/ops.h"
#include <string.h>

static cornu_status enqueue(const gpu_op *r)
{
    const tally_spec *what = &r->op->a.tally.what;
    const gpu_tally t = gpu_tally_of(r->plan, r->op, TALLY_THREADS);
    tally_params p = {.output = (const float *)r->in[0],
                      .target = (const float *)r->in[1],
                      .weight = (const float *)r->in[2],
                      .limits = (const float *)r->in[3],
                      .n = t.n,
                      .targets = t.targets,
                      .rows_per_sample = t.rows_per_sample,
                      .limit_count = t.limits,
                      .per_row = t.per_row,
                      .count = t.count,
                      .slice = t.slice,
                      .slices = t.slices,
                      .buckets = what->buckets,
                      .k = what->k,
                      .column = what->column,
                      .kind = (int32_t)what->kind,
                      .planes = t.planes,
                      .by_column = what->by_column,
                      .whole_weights = what->whole_weights,
                      .table = (sum2 *)r->tables + r->op->a.tally.table,
                      .partials = t.slices > 1 ? (sum2 *)r->scratch : NULL};
    memcpy(p.reals, what->reals, sizeof p.reals);
    TRY(cuda_launch(r->g, CUDA_tally, cuda_line(t.slices * t.blocks, TALLY_THREADS), &p));
    if (t.slices == 1)
        return CORNU_OK;
    const tally_reduce_params f = {
        .partials = p.partials, .table = p.table, .slices = t.slices, .numbers = t.numbers};
    return cuda_launch(r->g, CUDA_tally_reduce,
                       cuda_line(gpu_element_blocks(t.numbers, TALLY_THREADS), TALLY_THREADS), &f);
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    const gpu_tally t = gpu_tally_of(p, o, TALLY_THREADS);
    *scratch_bytes += gpu_tally_scratch(&t);
    return CORNU_OK;
}

static const gpu_kernel tables = {.name = "tables", .prepare = prepare, .enqueue = enqueue};
const gpu_kernel *const cuda_tally[] = {&tables, NULL};

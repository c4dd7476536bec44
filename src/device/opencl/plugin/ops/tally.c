/* TALLY: a launch over the rows and buckets, and another for the sum of several slices. */
#include "device/opencl/plugin/ops/ops.h"

/* Bytes of a number in the tables: two floats. */
enum { SUM2_BYTES = 2 * (int)sizeof(float) };

static cornu_status enqueue(const gpu_op *r)
{
    const tally_spec *what = &r->op->a.tally.what;
    const gpu_tally t = gpu_tally_of(r->plan, r->op, WORK_ITEMS);
    const gpu_address table = r->tables + (gpu_address)r->op->a.tally.table * SUM2_BYTES,
                      partials = t.slices > 1 ? r->scratch : 0;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_tally, opencl_line(t.slices * t.blocks), A_ADDRESS(r->in[0]),
                      A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]), A_ADDRESS(r->in[3]), A_LONG(t.n),
                      A_LONG(t.targets), A_LONG(t.rows_per_sample), A_LONG(t.limits),
                      A_LONG(t.per_row), A_LONG(t.count), A_LONG(t.slice), A_LONG(t.slices),
                      A_LONG(what->buckets), A_LONG(what->k), A_LONG(what->column),
                      A_INT(what->kind), A_INT(t.planes), A_INT(what->by_column),
                      A_INT(what->whole_weights), A_FLOAT(what->reals[0]), A_FLOAT(what->reals[1]),
                      A_FLOAT(what->reals[2]), A_ADDRESS(table), A_ADDRESS(partials)));
    if (!partials)
        return CORNU_OK;
    return OPENCL_LAUNCH(r->g, OPENCL_tally_reduce, opencl_element_grid(t.numbers),
                         A_ADDRESS(partials), A_ADDRESS(table), A_LONG(t.slices),
                         A_LONG(t.numbers));
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    const gpu_tally t = gpu_tally_of(p, o, WORK_ITEMS);
    *scratch_bytes += gpu_tally_scratch(&t);
    return CORNU_OK;
}

static const gpu_kernel tables = {.name = "tables", .prepare = prepare, .enqueue = enqueue};
const gpu_kernel *const opencl_tally[] = {&tables, NULL};

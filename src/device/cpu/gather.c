/* GATHER: every row of the batch is its own sample, read by the shared gather_sample. */
#include "device/cpu/cpu.h"
#include "device/gather_sample.h"

typedef struct gather_run {
    const op_run *r;
    int64_t x_count, t_count; /* floats of a row */
    int64_t rows, rows_per_chunk;
} gather_run;

static void gather_rows(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const gather_run *g = context;
    const op_run *r = g->r;
    int64_t begin, end;
    cpu_part(g->rows, g->rows_per_chunk, chunk, &begin, &end);
    for (int64_t row = begin; row < end; row++)
        gather_sample(r->plan, r->op, r->input, row, r->out[0] + row * g->x_count,
                      r->out[1] ? r->out[1] + row * g->t_count : NULL);
}

static cornu_status run(const op_run *r)
{
    const tensor *x = OP_OUT(r->plan, r->op, 0);
    gather_run g = {.r = r, .rows = x->shape.dim[0]};
    g.x_count = x->count / g.rows;
    if (r->out[1])
        g.t_count = OP_OUT(r->plan, r->op, 1)->count / g.rows;
    g.rows_per_chunk = cpu_rows_per_chunk(g.x_count);
    threads_run(r->pool, cpu_divide_up(g.rows, g.rows_per_chunk), gather_rows, &g);
    return CORNU_OK;
}

const kernel cpu_gather = {.name = "rows", .run = run};

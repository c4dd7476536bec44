/* GATHER: every row of the batch is its own sample. Bytes are converted, and changed images
   interpolated, by the kernels of kernels/gather.c; all else is read by the shared gather_sample.
 */
#include "device/cpu/kernels/gather.h"
#include "device/cpu/cpu.h"
#include "device/gather_sample.h"

CPU_ISA_TABLE(gather_kernels, cpu_gather_kernels);
CPU_ISA_PREPARE(prepare, cpu_gather_kernels)

typedef struct gather_run {
    const op_run *r;
    const gather_kernels *kernels;
    int64_t x_count, t_count; /* floats of a row */
    int64_t rows, rows_per_chunk;
    bool changes;
} gather_run;

/* Sample `index` changed at random, row by row of the result. */
static void change_image(const gather_run *g, int64_t index, float *x)
{
    const sample_block *s = g->r->input->samples;
    int64_t height = s->x_shape.dim[0], width = s->x_shape.dim[1];
    image_change change = gather_draw(&g->r->op->a.gather.augment, g->r->input, index);
    image_transform t = gather_transform(&change);
    double middle_row = (double)height / 2 - 0.5, middle_column = (double)width / 2 - 0.5;
    double way = change.flip_horizontal ? -1 : 1, first = -way * middle_column;
    for (int64_t row = 0; row < height; row++) {
        double from = (double)(change.flip_vertical ? height - 1 - row : row) - middle_row;
        gather_row image = {.image = (const uint8_t *)s->x + index * g->x_count,
                            .room = (s->count - index) * g->x_count,
                            .height = height,
                            .width = width,
                            .channels = s->x_shape.dim[2],
                            .row = t.m[0][0] * from + t.m[0][1] * first + t.offset[0] + middle_row,
                            .column =
                                t.m[1][0] * from + t.m[1][1] * first + t.offset[1] + middle_column,
                            .row_step = t.m[0][1] * way,
                            .column_step = t.m[1][1] * way,
                            .scale = s->x_scale,
                            .x = x + row * width * s->x_shape.dim[2]};
        g->kernels->interpolate(&image);
    }
}

/* May interpolate() read these? Its places are 32-bit numbers. */
static bool is_small_image(const sample_block *s)
{
    return s->x_shape.rank == 3 && s->x_shape.dim[2] <= GATHER_CHANNELS_MOST &&
           shape_elements(&s->x_shape) <= INT32_MAX;
}

static void gather_rows(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const gather_run *g = context;
    const op_run *r = g->r;
    const sample_block *s = r->input->samples;
    bool bytes = s->x_type == SAMPLE_U8 && (!g->changes || is_small_image(s));
    int64_t begin, end;
    cpu_part(g->rows, g->rows_per_chunk, chunk, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        float *x = r->out[0] + row * g->x_count;
        float *t = r->out[1] ? r->out[1] + row * g->t_count : NULL;
        int64_t index = r->input->index[row];
        if (!bytes) {
            gather_sample(r->plan, r->op, r->input, row, x, t);
            continue;
        }
        if (g->changes)
            change_image(g, index, x);
        else
            g->kernels->convert((const uint8_t *)s->x + index * g->x_count, x, g->x_count,
                                s->x_scale);
        if (t)
            gather_target(r->plan, s, index, t);
    }
}

static cornu_status run(const op_run *r)
{
    const tensor *x = OP_OUT(r->plan, r->op, 0);
    gather_run g = {.r = r,
                    .kernels = r->state,
                    .rows = x->shape.dim[0],
                    .changes = augmentation_any(&r->op->a.gather.augment)};
    g.x_count = x->count / g.rows;
    if (r->out[1])
        g.t_count = OP_OUT(r->plan, r->op, 1)->count / g.rows;
    g.rows_per_chunk = cpu_rows_per_chunk(g.x_count);
    threads_run(r->pool, cpu_divide_up(g.rows, g.rows_per_chunk), gather_rows, &g);
    return CORNU_OK;
}

const kernel cpu_gather = {.name = "rows", .prepare = prepare, .run = run};

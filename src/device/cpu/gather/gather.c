/* GATHER: every row of the batch is its own sample. Bytes are converted, and changed images
   interpolated, by the kernels of gather/gather_kernels.c; all else is read by the shared
   gather_sample.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense.h"
#include "device/cpu/gather/gather_kernels.h"
#include "device/gather_sample.h"

CPU_ISA_TABLE(gather_kernels, cpu_gather_kernels);
CPU_ISA_PREPARE(prepare, cpu_gather_kernels)

typedef struct gather_run {
    const op_run *r;
    const gather_kernels *kernels;
    int64_t x_count, t_count; /* floats of a row */
    int64_t rows, rows_per_chunk;
    bool changes, unread; /* x: its readers take the samples */
    gather_finish finish; /* where samplewise standardization comes before: without the scale */
} gather_run;

/* Row by row of the result; `whole`: further passes over the image follow. */
static void move_image(const gather_run *g, int64_t index, const random_transform *change,
                       bool whole, float *x)
{
    static const gather_finish none = {.channels = 1, .factor = {1}};
    const sample_block *s = g->r->input->samples;
    int64_t height = s->x_shape.dim[0], width = s->x_shape.dim[1], channels = s->x_shape.dim[2];
    image_transform t = image_transform_of(change, height, width);
    gather_row row = {.image = (const uint8_t *)s->x + index * g->x_count,
                      .height = height,
                      .width = width,
                      .channels = channels,
                      .row_step = t.m[0][1],
                      .column_step = t.m[1][1],
                      .first = change->flip_horizontal ? (double)(width - 1) : 0,
                      .way = change->flip_horizontal ? -1 : 1,
                      .fill = change->fill,
                      .cval = change->cval,
                      .brightens = change->brightens && !whole,
                      .brightness = change->brightness,
                      .finish = whole ? &none : &g->finish};
    for (int64_t i = 0; i < height; i++) {
        double from = (double)(change->flip_vertical ? height - 1 - i : i);
        row.row = t.offset[0] + t.m[0][0] * from;
        row.column = t.offset[1] + t.m[1][0] * from;
        row.x = x + i * width * channels;
        g->kernels->interpolate(&row);
    }
}

/* Must a pixel's value be known before it can be computed what others become? */
static bool needs_whole(const standardization *st, const random_transform *change)
{
    return st->samplewise_center || change->channel_shift != 0 ||
           (change->brightens && change->fill == FILL_CONSTANT &&
            !(change->cval >= 0 && change->cval <= 255));
}

static void finish_whole(const gather_run *g, float *x)
{
    const standardization *st = &g->r->op->a.gather.standardize;
    if (st->samplewise_center)
        g->kernels->standardize(g->r->input->samples->x_scale, st->samplewise_std, x, g->x_count);
    if (st->featurewise_center || !st->samplewise_center)
        g->kernels->finish(&g->finish, x, g->x_count);
}

static void transform_image(const gather_run *g, int64_t index, float *x)
{
    random_transform change = gather_draw(&g->r->op->a.gather.augment, g->r->input, index);
    bool whole = needs_whole(&g->r->op->a.gather.standardize, &change);
    move_image(g, index, &change, whole, x);
    if (!whole)
        return;
    if (change.channel_shift != 0 || change.brightens)
        g->kernels->transform_values(&change, x, g->x_count);
    finish_whole(g, x);
}

static void convert_sample(const gather_run *g, int64_t index, float *x)
{
    static const gather_finish none = {.channels = 1, .factor = {1}};
    bool whole = g->r->op->a.gather.standardize.samplewise_center;
    const uint8_t *from = (const uint8_t *)g->r->input->samples->x + index * g->x_count;
    g->kernels->convert(from, x, g->x_count, whole ? &none : &g->finish);
    if (whole)
        finish_whole(g, x);
}

/* May interpolate() read these? Its places are 32-bit numbers. */
static bool is_small_image(const sample_block *s)
{
    return s->x_shape.rank == 3 && s->x_shape.dim[2] <= AUGMENT_CHANNELS_MOST &&
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
    cpu_task_range(g->rows, g->rows_per_chunk, chunk, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        float *x = r->out[0] + row * g->x_count;
        float *t = r->out[1] ? r->out[1] + row * g->t_count : NULL;
        int64_t index = r->input->index[row];
        if (g->unread) {
            if (t)
                gather_target(r->plan, s, index, t);
            continue;
        }
        if (!bytes) {
            gather_sample(r->plan, r->op, r->input, row, x, t);
            continue;
        }
        if (g->changes)
            transform_image(g, index, x);
        else
            convert_sample(g, index, x);
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
    const standardization *st = &r->op->a.gather.standardize;
    g.finish.channels = st->featurewise_center ? st->channels : 1;
    gather_factors(st, st->samplewise_center ? 1 : r->input->samples->x_scale, g.finish.factor,
                   g.finish.shift);
    if (r->out[1])
        g.t_count = OP_OUT(r->plan, r->op, 1)->count / g.rows;
    g.unread = dense_needs_no_x(r);
    g.rows_per_chunk = g.unread ? g.rows : cpu_rows_per_task(g.x_count);
    threads_run(r->pool, cpu_divide_up(g.rows, g.rows_per_chunk), gather_rows, &g);
    return CORNU_OK;
}

const kernel cpu_gather = {.name = "rows", .prepare = prepare, .run = run};

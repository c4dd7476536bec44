/* GATHER: every row of the batch is a different sample. uint8 inputs are converted, and transformed
   images interpolated, by the kernels of gather/gather_kernels.c; the shared gather_sample reads
   all others. */
#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense.h"
#include "device/cpu/gather/gather_kernels.h"
#include "device/gather_sample.h"
#include <math.h>

CPU_ISA_TABLE(gather_kernels, cpu_gather_kernels);
CPU_ISA_PREPARE(prepare, cpu_gather_kernels)

#define RULE static inline
typedef int64_t rule_index;
#include "device/rules/transforms.h"

typedef struct gather_run {
    const op_run *r;
    const gather_kernels *kernels;
    int64_t x_count, t_count; /* floats of a row */
    int64_t rows, rows_per_task;
    bool augments, unread; /* x is not written: its readers read the samples */
    channel_scales scales; /* after samplewise standardization: without the scale */
} gather_run;

/* The result, row by row; `whole`: further passes over the image follow. */
static void resample_image(const gather_run *g, int64_t index, const random_transform *transform,
                           bool whole, float *x)
{
    static const channel_scales none = {.channels = 1, .factor = {1}};
    const sample_block *s = g->r->input->samples;
    int64_t height = s->x_shape.dim[0], width = s->x_shape.dim[1], channels = s->x_shape.dim[2];
    affine_map map = affine_map_of(transform, height, width);
    gather_row row = {.image = (const uint8_t *)s->x + index * g->x_count,
                      .height = height,
                      .width = width,
                      .channels = channels,
                      .step = {map.m[0][1], map.m[1][1]},
                      .first = transform->flip_horizontal ? (double)(width - 1) : 0,
                      .direction = transform->flip_horizontal ? -1 : 1,
                      .fill = transform->fill,
                      .cval = transform->cval,
                      .brightens = transform->brightens && !whole,
                      .brightness = transform->brightness,
                      .scales = whole ? &none : &g->scales};
    for (int64_t i = 0; i < height; i++) {
        double from = (double)transform_flipped(transform->flip_vertical, i, height);
        for (int axis = 0; axis < 2; axis++)
            row.start[axis] = affine_start(&map, axis, from);
        row.x = x + i * width * channels;
        g->kernels->interpolate(&row);
    }
}

/* Do other pixels depend on a pixel's transformed value? */
static bool needs_whole(const standardization *st, const random_transform *transform)
{
    return st->samplewise_center || transform->channel_shift != 0 ||
           (transform->brightens && transform->fill == FILL_CONSTANT &&
            !(transform->cval >= 0 && transform->cval <= 255));
}

static void standardize_whole(const gather_run *g, float *x)
{
    const standardization *st = &g->r->op->a.gather.standardize;
    if (st->samplewise_center)
        g->kernels->standardize(g->r->input->samples->x_scale, st->samplewise_std, x, g->x_count);
    if (st->featurewise_center || !st->samplewise_center)
        g->kernels->scale(&g->scales, x, g->x_count);
}

static void transform_image(const gather_run *g, int64_t index, float *x)
{
    random_transform transform = gather_draw(&g->r->op->a.gather.augment, g->r->input, index);
    bool whole = needs_whole(&g->r->op->a.gather.standardize, &transform);
    resample_image(g, index, &transform, whole, x);
    if (!whole)
        return;
    if (transform_changes_values(&transform))
        g->kernels->transform_values(&transform, x, g->x_count);
    standardize_whole(g, x);
}

static void convert_sample(const gather_run *g, int64_t index, float *x)
{
    static const channel_scales none = {.channels = 1, .factor = {1}};
    bool whole = g->r->op->a.gather.standardize.samplewise_center;
    const uint8_t *from = (const uint8_t *)g->r->input->samples->x + index * g->x_count;
    g->kernels->convert(from, x, g->x_count, whole ? &none : &g->scales);
    if (whole)
        standardize_whole(g, x);
}

/* May interpolate() read these? It counts their bytes in 32 bits. */
static bool is_small_image(const sample_block *s)
{
    return s->x_shape.rank == 3 && s->x_shape.dim[2] <= AUGMENT_CHANNELS_MOST &&
           shape_elements(&s->x_shape) <= INT32_MAX;
}

static void gather_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const gather_run *g = context;
    const op_run *r = g->r;
    const sample_block *s = r->input->samples;
    bool bytes = s->x_type == SAMPLE_U8 && (!g->augments || is_small_image(s));
    int64_t begin, end;
    cpu_task_range(g->rows, g->rows_per_task, task, &begin, &end);
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
        if (g->augments)
            transform_image(g, index, x);
        else
            convert_sample(g, index, x);
        if (t)
            gather_target(r->plan, s, index, t);
    }
}

/* Do all readers of x read the samples themselves? */
static bool samples_suffice(const op_run *o)
{
    const plan *p = o->plan;
    if (!o->kernels || dense_u8_of(o).scale == 0 || !dense_reads_samples(p, o->op->out[0]))
        return false;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++) {
            const kernel_info *by = o->kernels[i];
            bool takes = by == &cpu_dense_forward_amx.info || by == &cpu_dense_backward_amx.info ||
                         by == &cpu_dense_backward_weights_amx.info;
            if (plan_root(p, p->ops[i].in[k]) == o->op->out[0] && (k > 0 || !takes))
                return false;
        }
    return true;
}

static cornu_status run(const op_run *r)
{
    const tensor *x = OP_OUT(r->plan, r->op, 0);
    gather_run g = {.r = r,
                    .kernels = r->state,
                    .rows = x->shape.dim[0],
                    .augments = augmentation_any(&r->op->a.gather.augment)};
    g.x_count = x->count / g.rows;
    const standardization *st = &r->op->a.gather.standardize;
    g.scales.channels = st->featurewise_center ? st->channels : 1;
    gather_channel_scales(st, st->samplewise_center ? 1 : r->input->samples->x_scale,
                          g.scales.factor, g.scales.shift);
    if (r->out[1])
        g.t_count = OP_OUT(r->plan, r->op, 1)->count / g.rows;
    for (int64_t i = 0; r->out[2] && i < g.rows; i++)
        r->out[2][i] = gather_weight(r->input->samples, r->input->index[i]);
    g.unread = samples_suffice(r);
    g.rows_per_task = g.unread ? g.rows : cpu_rows_per_task(g.x_count);
    threads_run(r->pool, cpu_divide_up(g.rows, g.rows_per_task), gather_task, &g);
    return CORNU_OK;
}

const kernel cpu_gather = {.name = "rows", .prepare = prepare, .run = run};

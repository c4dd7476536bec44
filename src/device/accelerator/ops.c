#include "device/accelerator/ops.h"
#include <string.h>

/* ---- launches ------------------------------------------------------------------------------ */

gpu_strips gpu_strips_of(int64_t rows, int64_t columns, int block, int64_t blocks)
{
    enum {
        WIDTH_MOST = 32,
        ROWS_LEAST = 8 /* minimum rows per thread, before there are more ranges */
    };
    gpu_strips t = {.rows = rows, .columns = columns, .width = gpu_lanes(columns, WIDTH_MOST)};
    int64_t strips = (columns + t.width - 1) / t.width, step = block / t.width;
    int64_t most = blocks / strips, useful = rows / (ROWS_LEAST * step);
    int64_t count = most < useful ? most : useful;
    count = count < 1 ? 1 : count;
    t.block_rows = (rows + count - 1) / count;
    t.block_rows = (t.block_rows + step - 1) / step * step;
    t.count = (rows + t.block_rows - 1) / t.block_rows;
    return t;
}

/* ---- rows ---------------------------------------------------------------------------------- */

bool gpu_accepts_rows(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g, (void)p;
    *why = "needs no whole rows";
    return activation_is_of_rows(o->a.act.kind);
}

bool gpu_accepts_elements(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g, (void)p;
    *why = "needs whole rows";
    return !activation_is_of_rows(o->a.act.kind);
}

gpu_head gpu_head_of(const plan *p, const op *o, const op_group *g)
{
    gpu_head h = {.activation = group_op(p, g, ROLE_ACTIVATION),
                  .loss = o->kind == OP_LOSS ? o : group_op(p, g, ROLE_LOSS),
                  .metrics = o->kind == OP_METRIC ? o : group_op(p, g, ROLE_METRICS),
                  .metric_count = o->kind == OP_METRIC};
    if (g && h.metrics)
        h.metric_count = (int)(&p->ops[g->first + g->count] - h.metrics);
    return h;
}

bool gpu_accepts_head(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    gpu_head h = gpu_head_of(p, o, plan_group(p, o, GROUP_HEAD));
    *why = "no loss reads its logits";
    return !h.activation || h.activation->a.act.kind == ACTIVATION_SIGMOID ||
           (h.activation->a.act.kind == ACTIVATION_SOFTMAX &&
            loss_kind_of(h.loss->a.loss.id)->of_logits == ACTIVATION_SOFTMAX);
}

int gpu_head_lanes(const plan *p, const op *o, int block)
{
    enum { COLUMNS_MOST = 16 /* columns per thread, before a row gets more threads */ };
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    int lanes = gpu_lanes(n, GPU_ROW_LANES_MOST);
    while (lanes > 1 && rows > block / lanes && n <= COLUMNS_MOST * (lanes / 2))
        lanes /= 2;
    return lanes;
}

/* ---- tables of metrics ---------------------------------------------------------------------- */

gpu_tally gpu_tally_of(const plan *p, const op *o, int items)
{
    enum { SLICES_MOST = 32 };
    const tally_spec *what = &o->a.tally.what;
    gpu_tally t = {.planes = what->planes};
    tensor_matrix(&p->tensors[o->in[0]], &t.rows, &t.n);
    t.targets = p->tensors[o->in[1]].count / t.rows;
    t.rows_per_sample = t.rows / p->batch;
    t.limits = o->in[3] == NO_TENSOR ? 0 : p->tensors[o->in[3]].count;
    t.per_row = what->of_rows ? 1 : t.n;
    t.count = t.rows * t.per_row;
    const int64_t tiles = (t.count + items - 1) / items;
    t.slice = (tiles + SLICES_MOST - 1) / SLICES_MOST * items;
    t.slices = (t.count + t.slice - 1) / t.slice;
    t.blocks = (what->buckets + items - 1) / items;
    t.numbers = t.planes * what->buckets;
    return t;
}

size_t gpu_tally_scratch(const gpu_tally *t)
{
    return t->slices > 1 ? (size_t)(t->slices * t->numbers) * 2 * sizeof(float) : 0;
}

/* ---- dense layers and convolutions --------------------------------------------------------- */

gpu_dense_size gpu_dense_size_of(const plan *p, const op *o)
{
    bool weights = o->kind == OP_DENSE_BACKWARD_WEIGHTS;
    const tensor *w = &p->tensors[weights ? o->out[0] : o->in[1]], *first = &p->tensors[o->in[0]];
    gpu_dense_size s = {.in = w->shape.dim[0], .units = w->shape.dim[1]};
    s.rows = first->count / (o->kind == OP_DENSE_BACKWARD_DATA ? s.units : s.in);
    return s;
}

gpu_conv_roles gpu_conv_roles_of(const plan *p, const op *o)
{
    const tensor *t = p->tensors;
    switch (o->kind) {
    case OP_CONV2D_FORWARD:
        return (gpu_conv_roles){&t[o->in[0]], &t[o->in[1]],
                                o->in[2] == NO_TENSOR ? NULL : &t[o->in[2]], &t[o->out[0]]};
    case OP_CONV2D_BACKWARD_DATA:
        return (gpu_conv_roles){&t[o->out[0]], &t[o->in[1]], NULL, &t[o->in[0]]};
    default:
        return (gpu_conv_roles){&t[o->in[0]], &t[o->out[0]],
                                o->out[1] == NO_TENSOR ? NULL : &t[o->out[1]], &t[o->in[1]]};
    }
}

cornu_status gpu_conv_check_sides(const gpu_conv_roles *r, const window2d *w)
{
    for (int i = 0; i < 2; i++) {
        int64_t size = r->x->shape.dim[1 + i] + w->before[i] + w->after[i];
        if (size > GPU_SIDE_MOST)
            return status_fail(CORNU_UNSUPPORTED,
                               "found images of %lld rows or columns; expected at most %d",
                               (long long)size, GPU_SIDE_MOST);
    }
    return CORNU_OK;
}

/* ---- pooling ------------------------------------------------------------------------------- */

bool gpu_accepts_pool(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    const window2d *w = &o->a.window;
    *why = "a side is longer than 2^28";
    for (int i = 0; i < 2; i++) {
        int64_t in = p->tensors[o->in[0]].shape.dim[1 + i];
        int64_t out = p->tensors[o->out[0]].shape.dim[1 + i];
        if (in > GPU_SIDE_MOST || out > GPU_SIDE_MOST || w->stride[i] > GPU_SIDE_MOST ||
            w->dilation[i] * w->kernel[i] > GPU_SIDE_MOST)
            return false;
    }
    return p->tensors[o->in[0]].shape.dim[3] <= GPU_SIDE_MOST;
}

bool gpu_accepts_pool_apart(const gpu *g, const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.window;
    if (!gpu_accepts_pool(g, p, o, why))
        return false;
    *why = "windows overlap";
    for (int i = 0; i < 2; i++)
        if (w->kernel[i] > w->stride[i] || (w->kernel[i] > 1 && w->dilation[i] > 1))
            return false;
    return true;
}

gpu_pool gpu_pool_of(const gpu_op *r)
{
    const tensor *in = GPU_IN(r, 0), *out = GPU_OUT(r, 0);
    if (r->op->kind == OP_MAX_POOL_BACKWARD)
        out = GPU_IN(r, 1);
    if (r->op->kind == OP_AVERAGE_POOL_BACKWARD) {
        in = GPU_OUT(r, 0);
        out = GPU_IN(r, 0);
    }
    return (gpu_pool){.in = &in->shape,
                      .out = &out->shape,
                      .w = &r->op->a.window,
                      .pack = gpu_pack(in->shape.dim[3])};
}

int64_t gpu_pool_tile_packs(const gpu_pool *p)
{
    int64_t packs = p->in->dim[0] * (p->in->dim[3] / p->pack);
    for (int i = 0; i < 2; i++)
        packs *= (p->in->dim[1 + i] + p->w->before[i] + p->w->stride[i] - 1) / p->w->stride[i];
    return packs;
}

/* ---- others -------------------------------------------------------------------------------- */

gpu_slope gpu_slope_of(const gpu_op *r)
{
    const op *slope = group_op(r->plan, r->group, ROLE_ACTIVATION);
    if (!slope)
        return (gpu_slope){.act = {.kind = ACTIVATION_LINEAR}, .out = r->out[0]};
    return (gpu_slope){
        .act = slope->a.act, .x_or_y = r->tensors[slope->in[0]], .out = r->tensors[slope->out[0]]};
}

gpu_gather_size gpu_gather_size_of(const gpu_op *r)
{
    int64_t batch = r->plan->batch;
    gpu_gather_size s = {.count = GPU_OUT(r, 0)->count / batch, .columns = 1};
    if (r->out[1]) {
        const tensor *t = GPU_OUT(r, 1);
        s.target_count = t->count / batch;
        s.columns = t->shape.dim[t->shape.rank - 1];
    }
    return s;
}

gpu_resample gpu_resample_of(const gpu_op *r)
{
    const bool back = r->op->kind == OP_RESAMPLE_BACKWARD;
    const tensor *map = GPU_IN(r, back ? 0 : 1), *y = back ? GPU_IN(r, 1) : GPU_OUT(r, 0);
    const shape *x = back ? &GPU_OUT(r, 0)->shape : &GPU_IN(r, 0)->shape;
    return (gpu_resample){.back = back,
                          .x = r->in[back ? 1 : 0],
                          .map = r->in[back ? 0 : 1],
                          .in = x,
                          .out = &y->shape,
                          .map_step = map->shape.dim[0] == 1 ? 0 : MAP_NUMBERS,
                          .items = back ? x->dim[0] * x->dim[1] * x->dim[3] : y->count};
}

gpu_recolor gpu_recolor_of(const gpu_op *r)
{
    const shape *x = &GPU_IN(r, 0)->shape;
    return (gpu_recolor){.back = r->op->kind == OP_RECOLOR_BACKWARD,
                         .pixels = x->dim[0] * x->dim[1] * x->dim[2],
                         .channels = x->dim[3],
                         .pixels_of_sample = x->dim[1] * x->dim[2],
                         .numbers = GPU_IN(r, 1)->shape.dim[1]};
}

int64_t gpu_draw_blocks(const tensor *y)
{
    const int64_t batch = y->shape.dim[0];
    return batch * ((y->count / batch + DRAW_TOGETHER - 1) / DRAW_TOGETHER);
}

int64_t gpu_matmul_tiles(const matmul_shape *s, int64_t side)
{
    return s->count * ((s->rows + side - 1) / side) * ((s->columns + side - 1) / side);
}

static gpu_binary binary_forward_of(const gpu_op *r)
{
    const tensor *y = GPU_OUT(r, 0);
    return (gpu_binary){.s = broadcast_of(&GPU_IN(r, 0)->shape, &GPU_IN(r, 1)->shape, &y->shape),
                        .a = r->in[0],
                        .b = r->in[1],
                        .kind = r->op->a.binary.kind,
                        .count = y->count,
                        .terms = 1};
}

static gpu_binary transpose_of(const gpu_op *r)
{
    const tensor *y = GPU_OUT(r, 0);
    return (gpu_binary){.s = broadcast_transposed(&GPU_IN(r, 0)->shape, r->op->a.order, &y->shape),
                        .a = r->in[0],
                        .b = r->in[0],
                        .kind = BINARY_MAXIMUM,
                        .count = y->count,
                        .terms = 1};
}

gpu_binary gpu_binary_of(const gpu_op *r)
{
    enum { TERMS_LEAST = 256 /* of an element, before a block sums them */ };
    if (r->op->kind == OP_BINARY_FORWARD)
        return binary_forward_of(r);
    if (r->op->kind == OP_TRANSPOSE)
        return transpose_of(r);
    const tensor *dx = GPU_OUT(r, 0), *dy = GPU_IN(r, 2);
    const shape *shapes[2];
    const int of = r->op->a.binary.of;
    for (int i = 0; i < 2; i++)
        shapes[i] = i == of ? &dx->shape : r->in[i] ? &GPU_IN(r, i)->shape : &dy->shape;
    gpu_binary g = {.s = broadcast_of(shapes[0], shapes[1], &dy->shape),
                    .a = r->in[0],
                    .b = r->in[1],
                    .kind = r->op->a.binary.kind,
                    .count = dx->count,
                    .terms = dy->count / dx->count};
    g.kept = broadcast_kept(&g.s, of);
    g.repeated = broadcast_repeated(&g.s, of);
    g.wide = g.terms >= TERMS_LEAST;
    for (int i = 0; i < 2; i++) {
        if (r->in[i])
            continue;
        *(i == 0 ? &g.a : &g.b) = r->in[2];
        memcpy(g.s.step[i], g.s.step[BROADCAST_Y], sizeof g.s.step[i]);
    }
    return g;
}

gpu_slice gpu_slice_of(const gpu_op *r)
{
    gpu_slice g = {.s = slice_runs_of(r->plan, r->op)};
    slice_runs *s = &g.s;
    g.spreads = insert_spreads(r->op);
    g.pack = (s->floats | s->outer | s->first | s->step) % 4 == 0 ? 4 : 1;
    s->floats /= g.pack;
    s->outer /= g.pack;
    s->first /= g.pack;
    s->step /= g.pack;
    g.packs = g.spreads ? s->count / s->runs * s->outer : s->count * s->floats;
    return g;
}

gpu_pad gpu_pad_of(const gpu_op *r)
{
    const tensor *in = GPU_IN(r, 0), *out = GPU_OUT(r, 0);
    bool pads = r->op->kind == OP_PAD;
    gpu_pad p = {.outer = pads ? &out->shape : &in->shape,
                 .inner = pads ? &in->shape : &out->shape,
                 .before = r->op->a.pad.before};
    p.pack = gpu_pack(p.outer->dim[3]);
    p.packs = out->count / p.pack;
    return p;
}

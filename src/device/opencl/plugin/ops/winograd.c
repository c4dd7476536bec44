/* 3x3 convolutions of stride 1 by Winograd's F(4x4, 3x3) (kernels/winograd.cl): the transforms
   and, between them, one batch of products, block by block of tiles, so that the intermediate
   data stays small. Also the inputs' gradient. */
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/ops/product.h"
#include <stdlib.h>

/* Bytes of the transforms and products of a block. */
#define BLOCK_BYTES ((int64_t)16 << 20)

typedef struct winograd_state {
    const tensor *from, *to; /* x, y; or dy, dx */
    bool rotated;
    int64_t before[2], tiles[2];   /* tiles: rows and columns of them in an image */
    int64_t all, block;            /* tiles of the batch, of a block */
    product full, last;            /* products of a block, and of the last block */
    int64_t v_at, z_at, slices_at; /* floats from the scratch memory's start; u is first */
} winograd_state;

/* The image that is read, and the one that is written. */
static void images_of(const plan *p, const op *o, const tensor **from, const tensor **to)
{
    gpu_conv_roles r = gpu_conv_roles_of(p, o);
    bool forward = o->kind == OP_CONV2D_FORWARD;
    *from = forward ? r.x : r.y;
    *to = forward ? r.y : r.x;
}

static int64_t tiles_of(const tensor *to)
{
    const int64_t *dim = to->shape.dim;
    return dim[0] * product_divide_up(dim[1], WINOGRAD_STEP) *
           product_divide_up(dim[2], WINOGRAD_STEP);
}

/* True if it is faster than a direct convolution. A tile has 36 products, its 16 pixels have
   144; but it moves 36 numbers of each channel twice, which costs as much as 32 products of each
   on a device with 25 FLOPs per byte: winograd_channels. */
static bool pays(const gpu *g, const tensor *from, const tensor *to)
{
    const int64_t *dim = to->shape.dim, least = opencl_of(g)->blocking.winograd_channels;
    int64_t in = from->shape.dim[3], out = dim[3];
    return in * out >= least * (in + out) && 10 * dim[0] * dim[1] * dim[2] >= 64 * tiles_of(to);
}

static bool accepts(const gpu *g, const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.conv.w;
    const tensor *from, *to;
    images_of(p, o, &from, &to);
    if (opencl_of(g)->no_winograd)
        *why = "the driver's compiler refuses it";
    else if (p->exact_convolution)
        *why = "exact convolution is asked for";
    else if (w->kernel[0] != 3 || w->kernel[1] != 3)
        *why = "not 3x3";
    else if (w->stride[0] != 1 || w->stride[1] != 1 || w->dilation[0] != 1 || w->dilation[1] != 1)
        *why = "strided or dilated";
    else if (w->groups != 1)
        *why = "in groups";
    else if (w->before[0] > 2 || w->before[1] > 2)
        *why = "padded by more than the kernel reaches";
    else if (!pays(g, from, to))
        *why = "too few channels or pixels";
    else
        return true;
    return false;
}

/* ---- prepare ------------------------------------------------------------------------------ */

static cornu_status choose(const gpu *g, const winograd_state *s, int64_t tiles, product *q)
{
    int64_t in = s->from->shape.dim[3], out = s->to->shape.dim[3];
    return product_choose(g,
                          &(product_size){.m = tiles,
                                          .n = out,
                                          .k = in,
                                          .batch = WINOGRAD_POSITIONS,
                                          .k_groups = 1,
                                          .c_stride = out,
                                          .a_step = tiles * in,
                                          .b_step = in * out,
                                          .c_step = tiles * out,
                                          .count = WINOGRAD_POSITIONS * tiles * out},
                          q);
}

/* Blocks of about one size. */
static void choose_block(winograd_state *s)
{
    int64_t numbers = s->from->shape.dim[3] + s->to->shape.dim[3];
    int64_t most = BLOCK_BYTES / (WINOGRAD_POSITIONS * 4 * numbers);
    s->all = tiles_of(s->to);
    s->block = product_divide_up(s->all, product_divide_up(s->all, most > 64 ? most : 64));
}

static int64_t rounded(int64_t floats)
{
    return product_divide_up(floats, 64) * 64;
}

static void place(winograd_state *s, size_t *scratch_bytes)
{
    int64_t in = s->from->shape.dim[3], out = s->to->shape.dim[3];
    size_t slices = s->full.scratch_bytes > s->last.scratch_bytes ? s->full.scratch_bytes
                                                                  : s->last.scratch_bytes;
    s->v_at = rounded(WINOGRAD_POSITIONS * in * out);
    s->z_at = s->v_at + rounded(WINOGRAD_POSITIONS * s->block * in);
    s->slices_at = s->z_at + rounded(WINOGRAD_POSITIONS * s->block * out);
    *scratch_bytes = (size_t)s->slices_at * sizeof(float) + slices;
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    const window2d *w = &o->a.conv.w;
    winograd_state *s;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    images_of(p, o, &s->from, &s->to);
    s->rotated = o->kind == OP_CONV2D_BACKWARD_DATA;
    for (int i = 0; i < 2; i++) {
        s->before[i] = s->rotated ? 2 - w->before[i] : w->before[i];
        s->tiles[i] = product_divide_up(s->to->shape.dim[1 + i], WINOGRAD_STEP);
    }
    choose_block(s);
    cornu_status status = choose(g, s, s->block, &s->full);
    if (status == CORNU_OK)
        status = choose(g, s, (s->all - 1) % s->block + 1, &s->last);
    if (status != CORNU_OK) {
        free(s);
        return status;
    }
    place(s, scratch_bytes);
    *state = s;
    return CORNU_OK;
}

static void release(gpu *g, void *state)
{
    (void)g;
    free(state);
}

/* ---- run ---------------------------------------------------------------------------------- */

static gpu_address scratch_at(const gpu_op *r, int64_t floats)
{
    return r->scratch + (uint64_t)floats * sizeof(float);
}

static opencl_grid grid_of(const gpu *g, int64_t channels, int64_t rows)
{
    const int n = opencl_of(g)->blocking.item_n, items = WINOGRAD_ITEMS(n);
    return (opencl_grid){.groups = {(size_t)product_divide_up(channels, items * WINOGRAD_VECTOR(n)),
                                    (size_t)product_divide_up(rows, WINOGRAD_TILES), 1},
                         .items = {(size_t)items, WINOGRAD_TILES, 1}};
}

#define A_IMAGE(t)                                                                \
    A_INT((t)->shape.dim[1]), A_INT((t)->shape.dim[2]), A_INT((t)->shape.dim[3]), \
        A_INT(s->tiles[0]), A_INT(s->tiles[1])

static cornu_status run_block(const gpu_op *r, const product_result *y, int64_t first,
                              const product *q)
{
    const winograd_state *s = r->state;
    int64_t in = s->from->shape.dim[3], out = s->to->shape.dim[3], count = q->size.m;
    gpu_address v = scratch_at(r, s->v_at), z = scratch_at(r, s->z_at);
    TRY(OPENCL_LAUNCH(r->g, OPENCL_winograd_input, grid_of(r->g, in, count), A_ADDRESS(r->in[0]),
                      A_ADDRESS(v), A_IMAGE(s->from), A_INT(first), A_INT(count),
                      A_INT(s->before[0]), A_INT(s->before[1])));
    TRY(product_plain(
        r->g, OPENCL_product_nn_square, q, &(product_matrices){v, r->scratch, in, out},
        &(product_result){.c = z, .act = PRODUCT_LINEAR}, scratch_at(r, s->slices_at)));
    return OPENCL_LAUNCH(r->g, OPENCL_winograd_output, grid_of(r->g, out, count), A_ADDRESS(z),
                         A_ADDRESS(y->bias), A_ADDRESS(y->c), A_IMAGE(s->to), A_INT(first),
                         A_INT(count), A_INT(y->act.kind), A_FLOAT(y->act.alpha));
}

static cornu_status run(const gpu_op *r, const product_result *y)
{
    const winograd_state *s = r->state;
    int64_t in = s->from->shape.dim[3], out = s->to->shape.dim[3];
    TRY(OPENCL_LAUNCH(r->g, OPENCL_winograd_weights, grid_of(r->g, out, in), A_ADDRESS(r->in[1]),
                      A_ADDRESS(r->scratch), A_INT(in), A_INT(out), A_INT(s->rotated)));
    for (int64_t first = 0; first < s->all; first += s->block)
        TRY(run_block(r, y, first, first + s->block < s->all ? &s->full : &s->last));
    return CORNU_OK;
}

static cornu_status forward(const gpu_op *r)
{
    return run(r, &(product_result){.c = r->out[0], .bias = r->in[2], .act = r->op->a.conv.act});
}

static cornu_status backward_data(const gpu_op *r)
{
    return run(r, &(product_result){.c = r->out[0], .act = PRODUCT_LINEAR});
}

const gpu_kernel opencl_winograd_forward = {.name = "winograd",
                                            .accepts = accepts,
                                            .prepare = prepare,
                                            .release = release,
                                            .enqueue = forward};
const gpu_kernel opencl_winograd_backward_data = {.name = "winograd",
                                                  .accepts = accepts,
                                                  .prepare = prepare,
                                                  .release = release,
                                                  .enqueue = backward_data};

/* Convolutions by oneDNN on the plan's own NHWC activations, so nothing but weights is ever
   reordered.

   The batch is cut into parts of equally many samples (the last may have fewer, and then has its
   own primitive); each part runs on one thread. Weights are brought into oneDNN's format once a
   step, for all parts. Gradients of weights come as one partial sum per part, added in the order of
   the parts. 2 Cascade Lake cores, 32->32 @32x32, batch 100: forward 250, backward 200-230 GFLOP/s.
 */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Most parts of a batch: enough for 16 threads; partial sums cost memory, so fewer of them. */
enum { PARTS_MOST = 16, PARTIAL_SUMS_MOST = 10 };
#define PARTIAL_SUMS_BYTES ((size_t)64 << 20)

/* One convolution over `samples` samples. Roles: x (or dx), w (or dw), b (or db), y (or dy). */
typedef struct part_kind {
    int64_t samples;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t x, w, b, y, scratch;
    size_t w_bytes, scratch_bytes;
    /* Weights in oneDNN's format, where that differs from the plan's: */
    int64_t packed_at; /* in the scratch memory, in floats; -1: it does not */
    dnnl_memory_t packed_memory;
    dnnl_primitive_t pack; /* forward, data: plain to packed; weights: packed to plain */
} part_kind;

/* What one worker hands to a primitive; the pointers are set for each part. */
typedef struct worker_arguments {
    dnnl_stream_t stream;
    dnnl_memory_t x[2], w[2], b[2], y[2], scratch_memory[2];
} worker_arguments;

typedef struct conv_state {
    op_kind kind;
    bool has_bias;
    activation act; /* forward; applied here: oneDNN's relu would turn NaN into 0 */
    int64_t batch, parts;
    int64_t x_sample, y_sample; /* floats of one sample */
    int kinds;                  /* 1, or 2 with a smaller last part */
    part_kind part[2];
    dnnl_engine_t engine;
    dnnl_memory_desc_t plain; /* weights as the plan has them */
    dnnl_memory_t plain_memory;
    int workers;
    worker_arguments *worker;
    dnnl_memory_t converted_memory;
    dnnl_primitive_t convert;
    int64_t w_count, w_stride, b_count, b_stride;
    /* Scratch memory, in floats: for backward weights the sums, [parts][w_stride], then
       [parts][b_stride], and one more in a second format, where there are two; else packed weights.
       Then what oneDNN wants for a worker. */
    int64_t converted_at, workers_at, worker_floats;
} conv_state;

static const char *dnnl_error(dnnl_status_t code)
{
    static const char *const names[] = {[dnnl_success] = "success",
                                        [dnnl_out_of_memory] = "out of memory",
                                        [dnnl_invalid_arguments] = "invalid arguments",
                                        [dnnl_unimplemented] = "unimplemented",
                                        [dnnl_iterator_ends] = "iterator ends",
                                        [dnnl_runtime_error] = "runtime error",
                                        [dnnl_not_required] = "not required"};
    return (size_t)code < sizeof names / sizeof *names ? names[code] : "unknown error";
}

static cornu_status dnnl_fail(const char *what, dnnl_status_t code)
{
    return status_fail(code == dnnl_out_of_memory ? CORNU_OUT_OF_MEMORY : CORNU_DEVICE,
                       "oneDNN failed to %s: %s; expected success", what, dnnl_error(code));
}

#define DNNL_TRY(what, call)               \
    do {                                   \
        dnnl_status_t code_ = (call);      \
        if (code_ != dnnl_success)         \
            return dnnl_fail(what, code_); \
    } while (0)

/* The tensors of an operation by role; absent ones are NULL. */
typedef struct roles {
    const tensor *x, *w, *b, *y;
} roles;

static roles roles_of(const plan *p, const op *o)
{
    const tensor *second = OP_IN(p, o, 1);
    switch (o->kind) {
    case OP_CONV2D_FORWARD:
        return (roles){OP_IN(p, o, 0), second, o->in[2] < 0 ? NULL : OP_IN(p, o, 2),
                       OP_OUT(p, o, 0)};
    case OP_CONV2D_BACKWARD_DATA:
        return (roles){OP_OUT(p, o, 0), second, NULL, OP_IN(p, o, 0)};
    default:
        return (roles){OP_IN(p, o, 0), OP_OUT(p, o, 0), o->out[1] < 0 ? NULL : OP_OUT(p, o, 1),
                       second};
    }
}

static dnnl_status_t activations_desc(const tensor *t, int64_t samples, dnnl_memory_desc_t *md)
{
    const dnnl_dims_t dims = {samples, t->shape.dim[3], t->shape.dim[1], t->shape.dim[2]};
    return dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, dnnl_nhwc);
}

/* The plan's [kh][kw][in/groups][out], and the same dimensions in whatever format oneDNN likes.
   With groups, out is [groups][out/groups]. */
static dnnl_status_t weights_desc(const roles *r, int64_t groups, dnnl_memory_desc_t *plain,
                                  dnnl_memory_desc_t *any)
{
    int64_t h = r->w->shape.dim[0], w = r->w->shape.dim[1], in = r->w->shape.dim[2],
            out = r->w->shape.dim[3];
    const dnnl_dims_t dims = {groups, out / groups, in, h, w};
    const dnnl_dims_t strides = {out / groups, 1, out, w * in * out, in * out};
    int skip = groups == 1;
    dnnl_status_t status =
        dnnl_memory_desc_init_by_strides(plain, 5 - skip, dims + skip, dnnl_f32, strides + skip);
    if (status != dnnl_success)
        return status;
    return dnnl_memory_desc_init_by_tag(any, 5 - skip, dims + skip, dnnl_f32, dnnl_format_tag_any);
}

typedef struct geometry {
    dnnl_dims_t strides, dilates, before, after;
} geometry;

static geometry geometry_of(const window2d *w)
{
    geometry g = {{w->stride[0], w->stride[1]},
                  {w->dilation[0] - 1, w->dilation[1] - 1},
                  {w->before[0], w->before[1]},
                  {w->after[0], w->after[1]}};
    return g;
}

static dnnl_status_t describe_forward(dnnl_engine_t engine, const geometry *g,
                                      const dnnl_memory_desc_t md[4],
                                      const_dnnl_primitive_attr_t attributes,
                                      dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_training, dnnl_convolution_direct, &md[0], &md[1],
        md[2].ndims ? &md[2] : NULL, &md[3], g->strides, g->dilates, g->before, g->after);
    return status ? status : dnnl_primitive_desc_create(out, &d, attributes, engine, NULL);
}

/* The primitive descriptor of `o` over `samples` samples. */
static dnnl_status_t describe(dnnl_engine_t engine, const plan *p, const op *o, int64_t samples,
                              dnnl_primitive_desc_t *out)
{
    roles r = roles_of(p, o);
    geometry g = geometry_of(&o->a.conv.w);
    dnnl_memory_desc_t md[4] = {0}, plain; /* x, w, b, y */
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t forward = NULL;
    dnnl_convolution_desc_t d;
    dnnl_status_t status = activations_desc(r.x, samples, &md[0]);
    if (!status)
        status = weights_desc(&r, o->a.conv.w.groups, &plain, &md[1]);
    if (!status && r.b)
        status =
            dnnl_memory_desc_init_by_tag(&md[2], 1, (dnnl_dims_t){r.b->count}, dnnl_f32, dnnl_a);
    if (!status)
        status = activations_desc(r.y, samples, &md[3]);
    if (!status)
        status = dnnl_primitive_attr_create(&attributes);
    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (!status)
        status = describe_forward(engine, &g, md, attributes,
                                  o->kind == OP_CONV2D_FORWARD ? out : &forward);
    if (status || o->kind == OP_CONV2D_FORWARD)
        goto done;
    if (o->kind == OP_CONV2D_BACKWARD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct,
                                                                  &md[0], &md[1], &md[3], g.strides,
                                                                  g.dilates, g.before, g.after);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &d, dnnl_convolution_direct, &md[0], &md[1], r.b ? &md[2] : NULL, &md[3], g.strides,
            g.dilates, g.before, g.after);
    if (!status)
        status = dnnl_primitive_desc_create(out, &d, attributes, engine, forward);
done:
    dnnl_primitive_desc_destroy(forward);
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

/* Samples of a part, from the batch alone: of all cuts into most/2..most parts the one that keeps
   2, 4 and 8 threads busiest; of equals the one with the fewest parts. */
static int64_t samples_per_part(int64_t batch, int64_t most)
{
    int64_t best = batch, best_score = INT64_MAX;
    for (int64_t parts = most / 2 > 0 ? most / 2 : 1; parts <= most; parts++) {
        int64_t samples = cpu_divide_up(batch, parts), score = 0;
        for (int64_t workers = 2; workers <= 8; workers *= 2)
            score += cpu_divide_up(cpu_divide_up(batch, samples), workers) * samples * workers;
        if (score < best_score) {
            best_score = score;
            best = samples;
        }
    }
    return best;
}

/* ---- prepare ---------------------------------------------------------------------------- */

static void release(void *state)
{
    conv_state *s = state;
    if (!s)
        return;
    for (int i = 0; s->worker && i < s->workers; i++) {
        worker_arguments *a = &s->worker[i];
        for (int k = 0; k < 2; k++) {
            dnnl_memory_destroy(a->x[k]);
            dnnl_memory_destroy(a->w[k]);
            dnnl_memory_destroy(a->b[k]);
            dnnl_memory_destroy(a->y[k]);
            dnnl_memory_destroy(a->scratch_memory[k]);
        }
        dnnl_stream_destroy(a->stream);
    }
    free(s->worker);
    for (int k = 0; k < 2; k++) {
        part_kind *part = &s->part[k];
        dnnl_primitive_destroy(part->primitive);
        dnnl_primitive_destroy(part->pack);
        dnnl_memory_destroy(part->packed_memory);
    }
    dnnl_primitive_destroy(s->convert);
    dnnl_memory_destroy(s->converted_memory);
    dnnl_memory_destroy(s->plain_memory);
    dnnl_engine_destroy(s->engine);
    free(s);
}

static dnnl_status_t make_reorder(dnnl_engine_t engine, const dnnl_memory_desc_t *from,
                                  const dnnl_memory_desc_t *to, dnnl_primitive_t *out)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, NULL);
    if (!status)
        status = dnnl_primitive_create(out, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static cornu_status make_part(conv_state *s, const plan *p, const op *o, int64_t samples,
                              part_kind *part)
{
    dnnl_primitive_desc_t pd = NULL;
    part->samples = samples;
    DNNL_TRY("describe the convolution", describe(s->engine, p, o, samples, &pd));
    bool forward = o->kind == OP_CONV2D_FORWARD, data = o->kind == OP_CONV2D_BACKWARD_DATA;
    const dnnl_memory_desc_t *x =
        dnnl_primitive_desc_query_md(pd, data ? dnnl_query_diff_src_md : dnnl_query_src_md, 0);
    const dnnl_memory_desc_t *w = dnnl_primitive_desc_query_md(
        pd, forward || data ? dnnl_query_weights_md : dnnl_query_diff_weights_md, 0);
    const dnnl_memory_desc_t *b = dnnl_primitive_desc_query_md(
        pd, forward ? dnnl_query_weights_md : dnnl_query_diff_weights_md, 1);
    const dnnl_memory_desc_t *y =
        dnnl_primitive_desc_query_md(pd, forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md, 0);
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    part->x = *x;
    part->w = *w;
    part->y = *y;
    if (s->has_bias)
        part->b = *b;
    part->scratch = *scratch;
    part->w_bytes = dnnl_memory_desc_get_size(w);
    part->scratch_bytes = dnnl_memory_desc_get_size(scratch);
    dnnl_status_t code = dnnl_primitive_create(&part->primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    DNNL_TRY("make the convolution", code);
    return CORNU_OK;
}

static int64_t padded_floats(size_t bytes)
{
    return (int64_t)((bytes + 63) / 64 * 16);
}

/* Forward and data: room for the weights in this part's format, shared between the parts if it can
 * be. */
static cornu_status make_packed(conv_state *s, int k)
{
    part_kind *part = &s->part[k];
    part->packed_at = -1;
    if (dnnl_memory_desc_equal(&part->w, &s->plain))
        return CORNU_OK;
    if (k == 1 && s->part[0].packed_at >= 0 && dnnl_memory_desc_equal(&part->w, &s->part[0].w)) {
        part->packed_at = s->part[0].packed_at;
        return CORNU_OK;
    }
    part->packed_at = s->workers_at;
    s->workers_at += padded_floats(part->w_bytes);
    DNNL_TRY("wrap the weights",
             dnnl_memory_create(&part->packed_memory, &part->w, s->engine, DNNL_MEMORY_NONE));
    DNNL_TRY("reorder the weights", make_reorder(s->engine, &s->plain, &part->w, &part->pack));
    return CORNU_OK;
}

/* Backward weights: the partial sums, and the ways from their format to the plan's. */
static cornu_status make_sums(conv_state *s)
{
    part_kind *first = &s->part[0], *last = &s->part[s->kinds - 1];
    size_t w_bytes = first->w_bytes > last->w_bytes ? first->w_bytes : last->w_bytes;
    s->w_count = (int64_t)(first->w_bytes / sizeof(float));
    s->w_stride = padded_floats(w_bytes);
    s->b_stride = padded_floats((size_t)s->b_count * sizeof(float));
    s->converted_at = s->parts * (s->w_stride + s->b_stride);
    s->workers_at = s->converted_at + padded_floats(first->w_bytes);
    bool same = dnnl_memory_desc_equal(&first->w, &last->w);
    if (!same || !dnnl_memory_desc_equal(&first->w, &s->plain))
        DNNL_TRY("wrap the gradient",
                 dnnl_memory_create(&s->converted_memory, &first->w, s->engine, DNNL_MEMORY_NONE));
    if (!same)
        DNNL_TRY("reorder the gradient", make_reorder(s->engine, &last->w, &first->w, &s->convert));
    if (!dnnl_memory_desc_equal(&first->w, &s->plain))
        DNNL_TRY("reorder the gradient",
                 make_reorder(s->engine, &first->w, &s->plain, &first->pack));
    return CORNU_OK;
}

static cornu_status make_worker(conv_state *s, worker_arguments *a)
{
    DNNL_TRY("make a stream", dnnl_stream_create(&a->stream, s->engine, dnnl_stream_default_flags));
    for (int k = 0; k < s->kinds; k++) {
        part_kind *part = &s->part[k];
        DNNL_TRY("wrap a tensor",
                 dnnl_memory_create(&a->x[k], &part->x, s->engine, DNNL_MEMORY_NONE));
        DNNL_TRY("wrap a tensor",
                 dnnl_memory_create(&a->w[k], &part->w, s->engine, DNNL_MEMORY_NONE));
        DNNL_TRY("wrap a tensor",
                 dnnl_memory_create(&a->y[k], &part->y, s->engine, DNNL_MEMORY_NONE));
        if (s->has_bias)
            DNNL_TRY("wrap a tensor",
                     dnnl_memory_create(&a->b[k], &part->b, s->engine, DNNL_MEMORY_NONE));
        DNNL_TRY("wrap scratch memory", dnnl_memory_create(&a->scratch_memory[k], &part->scratch,
                                                           s->engine, DNNL_MEMORY_NONE));
    }
    return CORNU_OK;
}

static int64_t most_parts(const op *o, const tensor *w)
{
    if (o->kind != OP_CONV2D_BACKWARD_WEIGHTS)
        return PARTS_MOST;
    int64_t fit = (int64_t)(PARTIAL_SUMS_BYTES / sizeof(float)) / w->count;
    return fit < 2 ? 2 : cpu_least(fit, PARTIAL_SUMS_MOST);
}

static cornu_status prepare_parts(conv_state *s, const plan *p, const op *o, size_t *scratch_bytes)
{
    roles r = roles_of(p, o);
    dnnl_memory_desc_t any;
    DNNL_TRY("make an engine", dnnl_engine_create(&s->engine, dnnl_cpu, 0));
    DNNL_TRY("describe the weights", weights_desc(&r, o->a.conv.w.groups, &s->plain, &any));
    DNNL_TRY("wrap the weights",
             dnnl_memory_create(&s->plain_memory, &s->plain, s->engine, DNNL_MEMORY_NONE));
    s->batch = r.x->shape.dim[0];
    s->x_sample = r.x->count / s->batch;
    s->y_sample = r.y->count / s->batch;
    s->b_count = r.b ? r.b->count : 0;
    int64_t samples = samples_per_part(s->batch, most_parts(o, r.w));
    s->parts = cpu_divide_up(s->batch, samples);
    int64_t rest = s->batch - (s->parts - 1) * samples;
    s->kinds = rest == samples ? 1 : 2;
    for (int k = 0; k < s->kinds; k++) {
        TRY(make_part(s, p, o, k == 0 ? samples : rest, &s->part[k]));
        if (o->kind != OP_CONV2D_BACKWARD_WEIGHTS)
            TRY(make_packed(s, k));
        s->worker_floats = cpu_most(s->worker_floats, padded_floats(s->part[k].scratch_bytes));
    }
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS)
        TRY(make_sums(s));
    for (int i = 0; i < s->workers; i++)
        TRY(make_worker(s, &s->worker[i]));
    cpu_need_scratch(scratch_bytes, s->workers_at + s->workers * s->worker_floats);
    return CORNU_OK;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    conv_state *s = NULL;
    cornu_status status = memory_new(1, sizeof *s, "convolution", &s);
    if (status != CORNU_OK)
        return status;
    onednn_scope before = cpu_onednn_begin();
    s->kind = o->kind;
    s->has_bias = o->kind == OP_CONV2D_FORWARD            ? o->in[2] >= 0
                  : o->kind == OP_CONV2D_BACKWARD_WEIGHTS ? o->out[1] >= 0
                                                          : false;
    if (o->kind == OP_CONV2D_FORWARD)
        s->act = o->a.conv.act;
    s->workers = threads_count(pool);
    TRY_GOTO(memory_new((size_t)s->workers, sizeof *s->worker, "convolution workers", &s->worker));
    TRY_GOTO(prepare_parts(s, p, o, scratch_bytes));
    *state = s;
done:
    cpu_onednn_end(&before);
    if (status != CORNU_OK)
        release(s);
    return status;
}

static bool accepts(const plan *p, const op *o, const char **why)
{
    dnnl_engine_t engine = NULL;
    dnnl_primitive_desc_t pd = NULL;
    onednn_scope before = cpu_onednn_begin();
    dnnl_status_t status = dnnl_engine_create(&engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = describe(engine, p, o, 1, &pd);
    dnnl_primitive_desc_destroy(pd);
    dnnl_engine_destroy(engine);
    cpu_onednn_end(&before);
    if (status != dnnl_success)
        *why = "oneDNN cannot do this convolution";
    return status == dnnl_success;
}

/* ---- run -------------------------------------------------------------------------------- */

typedef struct conv_run {
    conv_state *s;
    float *scratch;
    float *x, *w, *b, *y; /* roles; the primitive writes only to its output */
    _Atomic int error;    /* first dnnl_status_t that was not success */
} conv_run;

static void note(conv_run *r, dnnl_status_t status)
{
    int none = dnnl_success;
    if (status != dnnl_success)
        atomic_compare_exchange_strong(&r->error, &none, (int)status);
}

static dnnl_status_t execute(const conv_state *s, int k, worker_arguments *a)
{
    bool forward = s->kind == OP_CONV2D_FORWARD, data = s->kind == OP_CONV2D_BACKWARD_DATA;
    dnnl_exec_arg_t arguments[5] = {
        {data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, a->x[k]},
        {forward || data ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, a->w[k]},
        {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, a->y[k]},
        {DNNL_ARG_SCRATCHPAD, a->scratch_memory[k]},
        {forward ? DNNL_ARG_BIAS : DNNL_ARG_DIFF_BIAS, a->b[k]}};
    return dnnl_primitive_execute(s->part[k].primitive, a->stream, s->has_bias ? 5 : 4, arguments);
}

static void run_part(void *context, int64_t chunk, int worker)
{
    conv_run *r = context;
    conv_state *s = r->s;
    int k = s->kinds == 2 && chunk == s->parts - 1;
    worker_arguments *a = &s->worker[worker];
    int64_t first = chunk * s->part[0].samples;
    float *w = r->w, *b = r->b, *y = r->y + first * s->y_sample;
    if (s->kind == OP_CONV2D_BACKWARD_WEIGHTS) {
        w = r->scratch + chunk * s->w_stride;
        b = r->scratch + s->parts * s->w_stride + chunk * s->b_stride;
    } else if (s->part[k].packed_at >= 0) {
        w = r->scratch + s->part[k].packed_at;
    }
    onednn_scope before = cpu_onednn_begin();
    dnnl_status_t status = dnnl_memory_set_data_handle(a->x[k], r->x + first * s->x_sample);
    if (!status)
        status = dnnl_memory_set_data_handle(a->w[k], w);
    if (!status)
        status = dnnl_memory_set_data_handle(a->y[k], y);
    if (!status && s->has_bias)
        status = dnnl_memory_set_data_handle(a->b[k], b);
    if (!status && s->worker_floats > 0)
        status = dnnl_memory_set_data_handle(a->scratch_memory[k], r->scratch + s->workers_at +
                                                                       worker * s->worker_floats);
    if (!status)
        status = execute(s, k, a);
    cpu_onednn_end(&before);
    note(r, status);
    if (s->act.kind != ACTIVATION_LINEAR)
        cpu_activate(cpu_isa_or_base(), s->act, y, y, s->part[k].samples * s->y_sample);
}

static dnnl_status_t reorder(const conv_state *s, dnnl_primitive_t reorder_, dnnl_memory_t from,
                             dnnl_memory_t to)
{
    dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(reorder_, s->worker[0].stream, 2, arguments);
}

/* Bring the weights into the parts' formats. */
static dnnl_status_t pack_weights(const conv_state *s, float *w, float *scratch)
{
    dnnl_status_t status = dnnl_success;
    for (int k = 0; k < s->kinds && !status; k++) {
        const part_kind *part = &s->part[k];
        if (!part->pack)
            continue;
        status = dnnl_memory_set_data_handle(s->plain_memory, w);
        if (!status)
            status = dnnl_memory_set_data_handle(part->packed_memory, scratch + part->packed_at);
        if (!status)
            status = reorder(s, part->pack, s->plain_memory, part->packed_memory);
    }
    return status;
}

/* Add the parts and bring the sum into the plan's format. */
static dnnl_status_t finish_weights(const conv_run *r, threads *pool)
{
    const conv_state *s = r->s;
    const worker_arguments *a = &s->worker[0];
    float *sums = r->scratch, *converted = sums + s->converted_at;
    dnnl_status_t status = dnnl_success;
    if (s->converted_memory)
        status = dnnl_memory_set_data_handle(s->converted_memory, converted);
    if (status)
        return status;
    if (s->convert) {
        float *last = sums + (s->parts - 1) * s->w_stride;
        status = dnnl_memory_set_data_handle(a->w[1], last);
        if (!status)
            status = reorder(s, s->convert, a->w[1], s->converted_memory);
        if (status)
            return status;
        memcpy(last, converted, s->part[0].w_bytes);
    }
    const part_kind *first = &s->part[0];
    cpu_sum_partials(pool, sums, s->w_count, s->parts, s->w_stride, first->pack ? converted : r->w);
    if (s->has_bias)
        cpu_sum_partials(pool, sums + s->parts * s->w_stride, s->b_count, s->parts, s->b_stride,
                         r->b);
    if (!first->pack)
        return status;
    status = dnnl_memory_set_data_handle(s->plain_memory, r->w);
    return status ? status : reorder(s, first->pack, s->converted_memory, s->plain_memory);
}

/* oneDNN takes plain pointers, also for what it only reads. */
static float *readable(const float *p)
{
    union {
        const float *in;
        float *out;
    } u = {p};
    return u.out;
}

static cornu_status run(const op_run *r)
{
    conv_state *s = r->state;
    conv_run c = {.s = s, .scratch = r->scratch};
    switch (s->kind) {
    case OP_CONV2D_FORWARD:
        c.x = readable(r->in[0]), c.w = readable(r->in[1]), c.b = readable(r->in[2]);
        c.y = r->out[0];
        break;
    case OP_CONV2D_BACKWARD_DATA:
        c.x = r->out[0], c.w = readable(r->in[1]), c.y = readable(r->in[0]);
        break;
    default:
        c.x = readable(r->in[0]), c.y = readable(r->in[1]), c.w = r->out[0], c.b = r->out[1];
        break;
    }
    onednn_scope before = cpu_onednn_begin();
    dnnl_status_t status = dnnl_success;
    if (s->kind != OP_CONV2D_BACKWARD_WEIGHTS)
        status = pack_weights(s, c.w, c.scratch);
    if (!status) {
        threads_run(r->pool, s->parts, run_part, &c);
        status = (dnnl_status_t)atomic_load(&c.error);
    }
    if (!status && s->kind == OP_CONV2D_BACKWARD_WEIGHTS)
        status = finish_weights(&c, r->pool);
    cpu_onednn_end(&before);
    if (status)
        return dnnl_fail("run", status);
    return CORNU_OK;
}

const kernel cpu_conv_forward = {
    .name = "onednn_conv", .accepts = accepts, .prepare = prepare, .release = release, .run = run};
const kernel cpu_conv_backward_data = {
    .name = "onednn_conv", .accepts = accepts, .prepare = prepare, .release = release, .run = run};
const kernel cpu_conv_backward_weights = {
    .name = "onednn_conv", .accepts = accepts, .prepare = prepare, .release = release, .run = run};

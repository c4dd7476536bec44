/* Convolutions by oneDNN on the plan's own NHWC activations, so that only weights are ever
   reordered.

   The batch is divided into blocks of equally many samples (the last may have fewer, and then has
   its own primitive); each is a task. Weights are packed into oneDNN's format once per step, for
   all blocks. Gradients of weights are one partial sum per block, added in the order of the blocks.
   2 Cascade Lake cores, 32->32 @32x32, batch 100: forward 250, backward 200-230 GFLOP/s.
 */
#include "base/memory.h"
#include "device/cpu/conv/onednn_api.h"
#include "device/cpu/cpu.h"
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls of oneDNN -------------------------------------------------------------------- */

/* Set around every call that creates or runs a oneDNN object, on the calling thread:
   - oneDNN runs on one thread: its own threading would split sums by the number of threads;
   - signals are blocked: its matrix product for small sizes (oneDNN 2.6) moves the stack pointer
     into a buffer on the heap, and the kernel would write a handler's frame over the memory below.
   Both settings are restored afterwards. */
typedef struct onednn_scope {
    int threads;
    sigset_t signals;
} onednn_scope;

static onednn_scope onednn_begin(void)
{
    onednn_scope before = {.threads = omp_get_max_threads()};
    sigset_t waiting;
    sigfillset(&waiting);
    /* Faults of the thread itself cannot be delayed. */
    sigdelset(&waiting, SIGSEGV);
    sigdelset(&waiting, SIGBUS);
    sigdelset(&waiting, SIGILL);
    sigdelset(&waiting, SIGFPE);
    pthread_sigmask(SIG_BLOCK, &waiting, &before.signals);
    if (before.threads != 1)
        omp_set_num_threads(1);
    return before;
}

static void onednn_end(const onednn_scope *before)
{
    if (before->threads != 1)
        omp_set_num_threads(before->threads);
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
}

/* ---- descriptors of the plan's convolutions --------------------------------------------- */

static const char *dnnl_error(dnnl_status_t code)
{
    static const char *const names[] = {[dnnl_success] = "success",
                                        [dnnl_out_of_memory] = "out of memory",
                                        [dnnl_invalid_arguments] = "invalid arguments",
                                        [dnnl_unimplemented] = "unimplemented",
                                        [dnnl_runtime_error] = "runtime error",
                                        [dnnl_not_required] = "not required"};
    const char *name = (size_t)code < sizeof names / sizeof *names ? names[code] : NULL;
    return name ? name : "unknown error";
}

/* CORNU_OUT_OF_MEMORY or CORNU_DEVICE; the message says what oneDNN failed to do. */
static cornu_status onednn_fail(const char *what, dnnl_status_t code)
{
    return status_fail(code == dnnl_out_of_memory ? CORNU_OUT_OF_MEMORY : CORNU_DEVICE,
                       "oneDNN failed to %s: %s; expected success", what, dnnl_error(code));
}

#define ONEDNN_TRY(what, call)               \
    do {                                     \
        dnnl_status_t code_ = (call);        \
        if (code_ != dnnl_success)           \
            return onednn_fail(what, code_); \
    } while (0)

/* The tensors of an operation by role; absent ones are NULL. */
typedef struct onednn_roles {
    const tensor *x, *w, *b, *y;
} onednn_roles;

static onednn_roles onednn_roles_of(const plan *p, const op *o)
{
    const tensor *second = OP_IN(p, o, 1);
    switch (o->kind) {
    case OP_CONV2D_FORWARD:
        return (onednn_roles){OP_IN(p, o, 0), second, o->in[2] < 0 ? NULL : OP_IN(p, o, 2),
                              OP_OUT(p, o, 0)};
    case OP_CONV2D_BACKWARD_DATA:
        return (onednn_roles){OP_OUT(p, o, 0), second, NULL, OP_IN(p, o, 0)};
    default:
        return (onednn_roles){OP_IN(p, o, 0), OP_OUT(p, o, 0),
                              o->out[1] < 0 ? NULL : OP_OUT(p, o, 1), second};
    }
}

static dnnl_status_t activations_desc(const tensor *t, int64_t samples, onednn_desc *out)
{
    const dnnl_dims_t dims = {samples, t->shape.dim[3], t->shape.dim[1], t->shape.dim[2]};
    return onednn_desc_by_tag(out, 4, dims, dnnl_nhwc);
}

/* The plan's own [kh][kw][in/groups][out], or the same dimensions in a format of oneDNN's choice.
   With groups, out is [groups][out/groups]. The caller destroys *out. */
static dnnl_status_t onednn_weights_desc(const onednn_roles *r, int64_t groups, bool plain,
                                         onednn_desc *out)
{
    int64_t h = r->w->shape.dim[0], w = r->w->shape.dim[1], in = r->w->shape.dim[2],
            filters = r->w->shape.dim[3];
    const dnnl_dims_t dims = {groups, filters / groups, in, h, w};
    const dnnl_dims_t strides = {filters / groups, 1, filters, w * in * filters, in * filters};
    int skip = groups == 1;
    if (plain)
        return onednn_desc_by_strides(out, 5 - skip, dims + skip, strides + skip);
    return onednn_desc_by_tag(out, 5 - skip, dims + skip, dnnl_format_tag_any);
}

/* The caller destroys the tensors' descriptors, also on failure. */
static dnnl_status_t describe_tensors(const plan *p, const op *o, int64_t samples,
                                      onednn_convolution *c)
{
    onednn_roles r = onednn_roles_of(p, o);
    dnnl_status_t status = activations_desc(r.x, samples, &c->x);
    if (!status)
        status = onednn_weights_desc(&r, o->a.conv.w.groups, false, &c->w);
    if (!status && r.b)
        status = onednn_desc_by_tag(&c->b, 1, (dnnl_dims_t){r.b->count}, dnnl_a);
    if (!status)
        status = activations_desc(r.y, samples, &c->y);
    return status;
}

/* The primitive descriptor of `o` over `samples` samples. */
static dnnl_status_t onednn_describe(dnnl_engine_t engine, const plan *p, const op *o,
                                     int64_t samples, dnnl_primitive_desc_t *out)
{
    const window2d *w = &o->a.conv.w;
    onednn_convolution c = {.strides = {w->stride[0], w->stride[1]},
                            .dilates = {w->dilation[0] - 1, w->dilation[1] - 1},
                            .before = {w->before[0], w->before[1]},
                            .after = {w->after[0], w->after[1]}};
    dnnl_primitive_attr_t how = NULL;
    dnnl_primitive_desc_t forward = NULL;
    dnnl_status_t status = describe_tensors(p, o, samples, &c);
    if (!status)
        status = dnnl_primitive_attr_create(&how);
    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(how, dnnl_scratchpad_mode_user);
    if (!status)
        status =
            onednn_describe_forward(o->kind == OP_CONV2D_FORWARD ? out : &forward, engine, &c, how);
    if (!status && o->kind == OP_CONV2D_BACKWARD_DATA)
        status = onednn_describe_data(out, engine, &c, forward, how);
    else if (!status && o->kind == OP_CONV2D_BACKWARD_WEIGHTS)
        status = onednn_describe_weights(out, engine, &c, forward, how);
    dnnl_primitive_desc_destroy(forward);
    dnnl_primitive_attr_destroy(how);
    onednn_desc_destroy(c.x);
    onednn_desc_destroy(c.w);
    onednn_desc_destroy(c.b);
    onednn_desc_destroy(c.y);
    return status;
}

/* ---- blocks of a batch ------------------------------------------------------------------- */

/* Maximum number of blocks of a batch: enough for 16 threads. Partial sums cost memory, so there
   are fewer of them. */
enum { BLOCKS_MOST = 16, PARTIAL_SUMS_MOST = 10 };
#define PARTIAL_SUMS_BYTES ((size_t)64 << 20)

/* One convolution over `samples` samples. Roles: x (or dx), w (or dw), b (or db), y (or dy). */
typedef struct block_kind {
    int64_t samples;
    dnnl_primitive_desc_t described; /* owns the memory descriptors: */
    const_onednn_desc x, w, b, y, scratch;
    dnnl_primitive_t primitive;
    size_t w_bytes, scratch_bytes;
    /* Weights in oneDNN's format, where that differs from the plan's: */
    int64_t packed_at; /* offset in the scratch memory, in floats; -1: the formats are equal */
    dnnl_memory_t packed_memory;
    dnnl_primitive_t pack; /* forward, data: plain to packed; weights: packed to plain */
} block_kind;

/* One worker's arguments of a primitive; the pointers are set for each block. */
typedef struct worker_arguments {
    dnnl_stream_t stream;
    dnnl_memory_t x[2], w[2], b[2], y[2], scratch_memory[2];
} worker_arguments;

typedef struct conv_state {
    cpu_isa isa;
    op_kind kind;
    bool has_bias;
    activation act; /* forward; applied here: oneDNN's relu would turn NaN into 0 */
    int64_t batch, blocks;
    int64_t x_sample, y_sample; /* floats of one sample */
    int kinds;                  /* 1, or 2 with a smaller last block */
    block_kind block[2];
    dnnl_engine_t engine;
    onednn_desc plain; /* weights in the plan's format */
    dnnl_memory_t plain_memory;
    int workers;
    worker_arguments *worker;
    dnnl_memory_t converted_memory;
    dnnl_primitive_t convert;
    int64_t w_count, w_stride, b_count, b_stride;
    /* Scratch memory, in floats: for backward weights the sums, [blocks][w_stride], then
       [blocks][b_stride], and one more in a second format, where there are two; else packed
       weights. Then oneDNN's own scratch memory for each worker. */
    int64_t converted_at, workers_at, worker_floats;
} conv_state;

/* Samples per block, from the batch alone: of all blockings into most/2..most blocks, the one that
   keeps 2, 4 and 8 threads busiest; among equals the one with the fewest blocks. */
static int64_t samples_per_block(int64_t batch, int64_t most)
{
    int64_t best = batch, best_score = INT64_MAX;
    for (int64_t blocks = most / 2 > 0 ? most / 2 : 1; blocks <= most; blocks++) {
        int64_t samples = cpu_divide_up(batch, blocks), score = 0;
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
        block_kind *block = &s->block[k];
        dnnl_primitive_destroy(block->primitive);
        dnnl_primitive_destroy(block->pack);
        dnnl_memory_destroy(block->packed_memory);
        dnnl_primitive_desc_destroy(block->described);
    }
    dnnl_primitive_destroy(s->convert);
    dnnl_memory_destroy(s->converted_memory);
    dnnl_memory_destroy(s->plain_memory);
    onednn_desc_destroy(s->plain);
    dnnl_engine_destroy(s->engine);
    free(s);
}

static dnnl_status_t make_reorder(dnnl_engine_t engine, const_onednn_desc from,
                                  const_onednn_desc to, dnnl_primitive_t *out)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, NULL);
    if (!status)
        status = dnnl_primitive_create(out, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static cornu_status make_block(conv_state *s, const plan *p, const op *o, int64_t samples,
                               block_kind *block)
{
    bool forward = o->kind == OP_CONV2D_FORWARD, data = o->kind == OP_CONV2D_BACKWARD_DATA;
    block->samples = samples;
    ONEDNN_TRY("describe the convolution",
               onednn_describe(s->engine, p, o, samples, &block->described));
    const_dnnl_primitive_desc_t pd = block->described;
    block->x =
        dnnl_primitive_desc_query_md(pd, data ? dnnl_query_diff_src_md : dnnl_query_src_md, 0);
    block->w = dnnl_primitive_desc_query_md(
        pd, forward || data ? dnnl_query_weights_md : dnnl_query_diff_weights_md, 0);
    block->b = dnnl_primitive_desc_query_md(
        pd, forward ? dnnl_query_weights_md : dnnl_query_diff_weights_md, 1);
    block->y =
        dnnl_primitive_desc_query_md(pd, forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md, 0);
    block->scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    block->w_bytes = dnnl_memory_desc_get_size(block->w);
    block->scratch_bytes = dnnl_memory_desc_get_size(block->scratch);
    ONEDNN_TRY("make the convolution", dnnl_primitive_create(&block->primitive, pd));
    return CORNU_OK;
}

static int64_t padded_floats(size_t bytes)
{
    return (int64_t)((bytes + 63) / 64 * 16);
}

/* Forward and data: memory for the weights in this block's format, shared by all blocks where
   possible. */
static cornu_status make_packed(conv_state *s, int k)
{
    block_kind *block = &s->block[k];
    block->packed_at = -1;
    if (dnnl_memory_desc_equal(block->w, s->plain))
        return CORNU_OK;
    if (k == 1 && s->block[0].packed_at >= 0 && dnnl_memory_desc_equal(block->w, s->block[0].w)) {
        block->packed_at = s->block[0].packed_at;
        return CORNU_OK;
    }
    block->packed_at = s->workers_at;
    s->workers_at += padded_floats(block->w_bytes);
    ONEDNN_TRY("wrap the weights",
               dnnl_memory_create(&block->packed_memory, block->w, s->engine, DNNL_MEMORY_NONE));
    ONEDNN_TRY("reorder the weights", make_reorder(s->engine, s->plain, block->w, &block->pack));
    return CORNU_OK;
}

/* Backward weights: the partial sums, and the reorders from their format to the plan's. */
static cornu_status make_sums(conv_state *s)
{
    block_kind *first = &s->block[0], *last = &s->block[s->kinds - 1];
    size_t w_bytes = first->w_bytes > last->w_bytes ? first->w_bytes : last->w_bytes;
    s->w_count = (int64_t)(first->w_bytes / sizeof(float));
    s->w_stride = padded_floats(w_bytes);
    s->b_stride = padded_floats((size_t)s->b_count * sizeof(float));
    s->converted_at = s->blocks * (s->w_stride + s->b_stride);
    s->workers_at = s->converted_at + padded_floats(first->w_bytes);
    bool same = dnnl_memory_desc_equal(first->w, last->w);
    if (!same || !dnnl_memory_desc_equal(first->w, s->plain))
        ONEDNN_TRY("wrap the gradient",
                   dnnl_memory_create(&s->converted_memory, first->w, s->engine, DNNL_MEMORY_NONE));
    if (!same)
        ONEDNN_TRY("reorder the gradient", make_reorder(s->engine, last->w, first->w, &s->convert));
    if (!dnnl_memory_desc_equal(first->w, s->plain))
        ONEDNN_TRY("reorder the gradient",
                   make_reorder(s->engine, first->w, s->plain, &first->pack));
    return CORNU_OK;
}

static cornu_status make_worker(conv_state *s, worker_arguments *a)
{
    ONEDNN_TRY("make a stream",
               dnnl_stream_create(&a->stream, s->engine, dnnl_stream_default_flags));
    for (int k = 0; k < s->kinds; k++) {
        block_kind *block = &s->block[k];
        ONEDNN_TRY("wrap a tensor",
                   dnnl_memory_create(&a->x[k], block->x, s->engine, DNNL_MEMORY_NONE));
        ONEDNN_TRY("wrap a tensor",
                   dnnl_memory_create(&a->w[k], block->w, s->engine, DNNL_MEMORY_NONE));
        ONEDNN_TRY("wrap a tensor",
                   dnnl_memory_create(&a->y[k], block->y, s->engine, DNNL_MEMORY_NONE));
        if (s->has_bias)
            ONEDNN_TRY("wrap a tensor",
                       dnnl_memory_create(&a->b[k], block->b, s->engine, DNNL_MEMORY_NONE));
        ONEDNN_TRY("wrap scratch memory", dnnl_memory_create(&a->scratch_memory[k], block->scratch,
                                                             s->engine, DNNL_MEMORY_NONE));
    }
    return CORNU_OK;
}

static int64_t most_blocks(const op *o, const tensor *w)
{
    if (o->kind != OP_CONV2D_BACKWARD_WEIGHTS)
        return BLOCKS_MOST;
    int64_t fit = (int64_t)(PARTIAL_SUMS_BYTES / sizeof(float)) / w->count;
    return fit < 2 ? 2 : cpu_least(fit, PARTIAL_SUMS_MOST);
}

static cornu_status prepare_blocks(conv_state *s, const plan *p, const op *o, size_t *scratch_bytes)
{
    onednn_roles r = onednn_roles_of(p, o);
    ONEDNN_TRY("make an engine", dnnl_engine_create(&s->engine, dnnl_cpu, 0));
    ONEDNN_TRY("describe the weights",
               onednn_weights_desc(&r, o->a.conv.w.groups, true, &s->plain));
    ONEDNN_TRY("wrap the weights",
               dnnl_memory_create(&s->plain_memory, s->plain, s->engine, DNNL_MEMORY_NONE));
    s->batch = r.x->shape.dim[0];
    s->x_sample = r.x->count / s->batch;
    s->y_sample = r.y->count / s->batch;
    s->b_count = r.b ? r.b->count : 0;
    int64_t samples = samples_per_block(s->batch, most_blocks(o, r.w));
    s->blocks = cpu_divide_up(s->batch, samples);
    int64_t rest = s->batch - (s->blocks - 1) * samples;
    s->kinds = rest == samples ? 1 : 2;
    for (int k = 0; k < s->kinds; k++) {
        TRY(make_block(s, p, o, k == 0 ? samples : rest, &s->block[k]));
        if (o->kind != OP_CONV2D_BACKWARD_WEIGHTS)
            TRY(make_packed(s, k));
        s->worker_floats = cpu_most(s->worker_floats, padded_floats(s->block[k].scratch_bytes));
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
    cpu_isa isa;
    cornu_status status = CORNU_OK;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    onednn_scope before = onednn_begin();
    s->isa = isa;
    s->kind = o->kind;
    s->has_bias = o->kind == OP_CONV2D_FORWARD            ? o->in[2] >= 0
                  : o->kind == OP_CONV2D_BACKWARD_WEIGHTS ? o->out[1] >= 0
                                                          : false;
    if (o->kind == OP_CONV2D_FORWARD)
        s->act = o->a.conv.act;
    s->workers = threads_count(pool);
    TRY_GOTO(memory_new((size_t)s->workers, sizeof *s->worker, "convolution workers", &s->worker));
    TRY_GOTO(prepare_blocks(s, p, o, scratch_bytes));
    *state = s;
done:
    onednn_end(&before);
    if (status != CORNU_OK)
        release(s);
    return status;
}

static bool accepts(const plan *p, const op *o, const char **why)
{
    dnnl_engine_t engine = NULL;
    dnnl_primitive_desc_t pd = NULL;
    onednn_scope before = onednn_begin();
    dnnl_status_t status = dnnl_engine_create(&engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = onednn_describe(engine, p, o, 1, &pd);
    dnnl_primitive_desc_destroy(pd);
    dnnl_engine_destroy(engine);
    onednn_end(&before);
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
    return dnnl_primitive_execute(s->block[k].primitive, a->stream, s->has_bias ? 5 : 4, arguments);
}

static void run_task(void *context, int64_t task, int worker)
{
    conv_run *r = context;
    conv_state *s = r->s;
    int k = s->kinds == 2 && task == s->blocks - 1;
    worker_arguments *a = &s->worker[worker];
    int64_t first = task * s->block[0].samples;
    float *w = r->w, *b = r->b, *y = r->y + first * s->y_sample;
    if (s->kind == OP_CONV2D_BACKWARD_WEIGHTS) {
        w = r->scratch + task * s->w_stride;
        b = r->scratch + s->blocks * s->w_stride + task * s->b_stride;
    } else if (s->block[k].packed_at >= 0) {
        w = r->scratch + s->block[k].packed_at;
    }
    onednn_scope before = onednn_begin();
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
    onednn_end(&before);
    note(r, status);
    if (s->act.kind != ACTIVATION_LINEAR)
        cpu_activate(s->isa, s->act, y, y, s->block[k].samples * s->y_sample);
}

static dnnl_status_t reorder(const conv_state *s, dnnl_primitive_t reorder_, dnnl_memory_t from,
                             dnnl_memory_t to)
{
    dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(reorder_, s->worker[0].stream, 2, arguments);
}

/* Pack the weights into the blocks' formats. */
static dnnl_status_t pack_weights(const conv_state *s, float *w, float *scratch)
{
    dnnl_status_t status = dnnl_success;
    for (int k = 0; k < s->kinds && !status; k++) {
        const block_kind *block = &s->block[k];
        if (!block->pack)
            continue;
        status = dnnl_memory_set_data_handle(s->plain_memory, w);
        if (!status)
            status = dnnl_memory_set_data_handle(block->packed_memory, scratch + block->packed_at);
        if (!status)
            status = reorder(s, block->pack, s->plain_memory, block->packed_memory);
    }
    return status;
}

/* Add the partial sums and convert the sum into the plan's format. */
static dnnl_status_t reduce_weights(const conv_run *r, threads *pool)
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
        float *last = sums + (s->blocks - 1) * s->w_stride;
        status = dnnl_memory_set_data_handle(a->w[1], last);
        if (!status)
            status = reorder(s, s->convert, a->w[1], s->converted_memory);
        if (status)
            return status;
        memcpy(last, converted, s->block[0].w_bytes);
    }
    const block_kind *first = &s->block[0];
    cpu_sum_partials(pool, s->isa, sums, s->w_count, s->blocks, s->w_stride,
                     first->pack ? converted : r->w);
    if (s->has_bias)
        cpu_sum_partials(pool, s->isa, sums + s->blocks * s->w_stride, s->b_count, s->blocks,
                         s->b_stride, r->b);
    if (!first->pack)
        return status;
    status = dnnl_memory_set_data_handle(s->plain_memory, r->w);
    return status ? status : reorder(s, first->pack, s->converted_memory, s->plain_memory);
}

/* oneDNN takes non-const pointers, also for its inputs. */
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
    onednn_scope before = onednn_begin();
    dnnl_status_t status = dnnl_success;
    if (s->kind != OP_CONV2D_BACKWARD_WEIGHTS)
        status = pack_weights(s, c.w, c.scratch);
    if (!status) {
        threads_run(r->pool, s->blocks, run_task, &c);
        status = (dnnl_status_t)atomic_load(&c.error);
    }
    if (!status && s->kind == OP_CONV2D_BACKWARD_WEIGHTS)
        status = reduce_weights(&c, r->pool);
    onednn_end(&before);
    if (status)
        return onednn_fail("run", status);
    return CORNU_OK;
}

/* On AVX2 hundreds of products are added one after the other. After tanh that rounding error is
   relative to 1, and no longer to the largest sum. */
const kernel cpu_conv_forward = {.name = "onednn_conv",
                                 .accepts = accepts,
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run,
                                 .tolerance = 1e-5};
const kernel cpu_conv_backward_data = {
    .name = "onednn_conv", .accepts = accepts, .prepare = prepare, .release = release, .run = run};
const kernel cpu_conv_backward_weights = {
    .name = "onednn_conv", .accepts = accepts, .prepare = prepare, .release = release, .run = run};

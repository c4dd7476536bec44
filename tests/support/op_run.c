/* Running one op_case: a plan of a single operation, its tensors filled by name and kind. */
#include "base/memory.h"
#include "base/philox.h"
#include "device/host/host.h"
#include "step/builder.h"
#include "support/op_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const op_kind nan_kinds[NAN_KINDS] = {OP_DENSE_FORWARD,
                                      OP_CONV2D_FORWARD,
                                      OP_MAX_POOL_FORWARD,
                                      OP_AVERAGE_POOL_FORWARD,
                                      OP_ACTIVATION_FORWARD,
                                      OP_SCALE,
                                      OP_ADD,
                                      OP_BINARY_FORWARD,
                                      OP_PAD,
                                      OP_DENSE_BACKWARD_DATA,
                                      OP_SQUARE_SUM,
                                      OP_BATCH_NORM_FORWARD,
                                      OP_BATCH_NORM_INFERENCE};

enum { SAMPLES = 40 };

typedef struct bench {
    plan plan;
    op op;
    tensor tensors[OP_INPUTS_MAX + OP_OUTPUTS_MAX];
    float *memory[OP_INPUTS_MAX + OP_OUTPUTS_MAX];
    char names[OP_INPUTS_MAX + OP_OUTPUTS_MAX][24];
    step_input input;
    sample_block samples;
    uint8_t *pixels;
    int32_t labels[SAMPLES];
    int64_t index[64];
} bench;

static tensor_ref add_tensor(bench *b, const shape *s, const char *name)
{
    int i = b->plan.tensor_count++;
    tensor *t = &b->tensors[i];
    snprintf(b->names[i], sizeof b->names[i], "%s", name);
    *t = (tensor){.name = b->names[i],
                  .role = TENSOR_BUFFER,
                  .variable = -1,
                  .shape = *s,
                  .count = shape_elements(s),
                  .alias = NO_TENSOR};
    return i;
}

/* An output with an input's name is the same tensor. */
static void lay_out(bench *b, const op_case *c)
{
    const op_info *info = &op_infos[c->kind];
    op_word name, other;
    b->op = (op){.kind = c->kind, .name = b->names[0], .a = c->a};
    b->plan.tensors = b->tensors;
    b->plan.ops = &b->op;
    b->plan.op_count = 1;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        (void)op_word_at(info->inputs, i, &name);
        b->op.in[i] = c->in[i].rank ? add_tensor(b, &c->in[i], name.name) : NO_TENSOR;
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        (void)op_word_at(info->outputs, i, &name);
        b->op.out[i] = NO_TENSOR;
        for (int k = 0; c->out[i].rank && k < OP_INPUTS_MAX; k++) {
            (void)op_word_at(info->inputs, k, &other);
            if (*name.name && strcmp(name.name, other.name) == 0)
                b->op.out[i] = b->op.in[k];
        }
        if (c->out[i].rank && b->op.out[i] == NO_TENSOR)
            b->op.out[i] = add_tensor(b, &c->out[i], name.name);
    }
    b->plan.batch = c->in[0].rank ? c->in[0].dim[0] : c->out[0].dim[0];
    b->plan.input = b->plan.target = b->plan.output = NO_TENSOR;
    pass_forms(&b->plan);
    if (c->kind == OP_GATHER) {
        b->plan.input = b->op.out[0];
        b->plan.target = b->op.out[1];
    }
}

double op_case_flops(const op_case *c)
{
    bench b = {0};
    lay_out(&b, c);
    plan_cost(&b.plan);
    return b.plan.flops;
}

bool op_case_is_small(const op_case *c)
{
    const char *most = getenv("CORNU_TEST_MFLOP");
    return !most || op_case_flops(c) <= 1e6 * atof(most);
}

static void fill_uniform(float *x, int64_t count, random_stream *r, float low, float high,
                         float step)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] = low + (high - low) * random_uniform(r);
        if (step > 0)
            x[i] = roundf(x[i] / step) * step;
    }
}

/* Targets: class numbers, one-hot rows, or numbers, as the row function expects. */
static void fill_target(const tensor *t, float *x, int64_t outputs, bool sparse, bool binary,
                        random_stream *r)
{
    int64_t rows, n;
    tensor_matrix(t, &rows, &n);
    for (int64_t i = 0; i < rows; i++) {
        uint32_t label = random_below(r, (uint32_t)outputs);
        for (int64_t k = 0; k < n; k++)
            x[i * n + k] = sparse   ? (float)label
                           : binary ? (float)random_below(r, 2)
                                    : (float)(k == (int64_t)label);
    }
}

/* Rows of positive numbers that add up to 1. */
static void fill_probabilities(const tensor *t, float *x, random_stream *r)
{
    int64_t rows, n;
    tensor_matrix(t, &rows, &n);
    fill_uniform(x, t->count, r, 0.01f, 1, 0);
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += x[i * n + k];
        for (int64_t k = 0; k < n; k++)
            x[i * n + k] /= sum;
    }
}

static void fill_rows(bench *b, const op_case *c, random_stream *r)
{
    const tensor *output = &b->tensors[b->op.in[0]], *target = &b->tensors[b->op.in[1]];
    int64_t n = output->shape.dim[output->shape.rank - 1];
    bool is_loss = c->kind == OP_LOSS, is_tally = c->kind == OP_TALLY;
    const loss_kind *loss = is_loss               ? loss_kind_of(c->a.loss.id)
                            : is_tally            ? NULL
                            : c->a.metric.of_loss ? loss_kind_of(c->a.metric.loss)
                                                  : NULL;
    bool sparse = loss       ? loss->sparse
                  : is_tally ? c->a.tally.what.kind == TALLY_SPARSE_BEST
                             : c->a.metric.sum == SUM_SPARSE_CATEGORICAL_ACCURACY ||
                                   c->a.metric.sum == SUM_SPARSE_TOP_K_CATEGORICAL_ACCURACY;
    bool binary = loss       ? loss->of_logits == ACTIVATION_SIGMOID
                  : is_tally ? c->a.tally.what.kind != TALLY_BEST
                             : c->a.metric.sum == SUM_BINARY_ACCURACY || c->a.metric.whole;
    if (is_loss && c->a.loss.logits)
        fill_uniform(b->memory[b->op.in[0]], output->count, r, -3, 3, 0);
    else
        fill_probabilities(output, b->memory[b->op.in[0]], r);
    fill_target(target, b->memory[b->op.in[1]], n, sparse, binary, r);
    if (is_tally && c->a.tally.what.kind == TALLY_CLASSES)
        for (int i = 0; i < 2; i++) /* some are no classes */
            fill_uniform(b->memory[b->op.in[i]], output->count, r, -2, 7, 0);
    for (int i = 0; b->op.kind == OP_TALLY && b->op.in[3] != NO_TENSOR && i < 5; i++)
        b->memory[b->op.in[3]][i] = 0.01f * (float)(i * i);
}

static bool is_named(const bench *b, int tensor, const char *name)
{
    return strcmp(b->names[tensor], name) == 0;
}

static cornu_status fill(bench *b, const op_case *c)
{
    random_stream r = random_open(17, RANDOM_GENERATE, 1);
    for (int i = 0; i < b->plan.tensor_count; i++) {
        tensor *t = &b->tensors[i];
        float *x = b->memory[i];
        bool positive = is_named(b, i, "moving_variance") || is_named(b, i, "inverse_deviation") ||
                        is_named(b, i, "s") || is_named(b, i, "slot0") || is_named(b, i, "slot1") ||
                        is_named(b, i, "slot2");
        fill_uniform(x, t->count, &r, positive ? 0.1f : -1, 1, c->step);
        for (int64_t k = 0; c->absolute && k < t->count; k++)
            x[k] = fabsf(x[k]);
        if (c->separable && is_named(b, i, "map"))
            for (int64_t k = 0; k < t->count; k += MAP_NUMBERS)
                x[k + 1] = x[k + 3] = 0;
        if (is_named(b, i, "slot2") &&
            c->kind == OP_UPDATE) /* RMSprop: its square is below slot 0 */
            fill_uniform(x, t->count, &r, 0.01f, 0.1f, 0);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (b->op.out[k] == i && is_named(b, i, "d"))
                memset(x, 0xff, (size_t)t->count * sizeof *x);
    }
    if (c->kind == OP_LOSS || c->kind == OP_METRIC || c->kind == OP_TALLY)
        fill_rows(b, c, &r);
    if (c->kind == OP_EMBEDDING_FORWARD || c->kind == OP_EMBEDDING_BACKWARD) {
        const shape *table = c->kind == OP_EMBEDDING_FORWARD ? &c->in[1] : &c->out[0];
        const float rows = (float)table->dim[0];
        fill_uniform(b->memory[b->op.in[0]], shape_elements(&c->in[0]), &r, -rows, rows, 0);
    }
    return CORNU_OK;
}

/* max_pool_backward's y is the maximum of its x. */
static cornu_status fill_maximum(bench *b)
{
    op forward = {.kind = OP_MAX_POOL_FORWARD, .name = b->op.name, .a = b->op.a};
    forward.in[0] = b->op.in[0];
    forward.out[0] = b->op.in[1];
    op_run r = {.op = &forward, .plan = &b->plan};
    r.in[0] = b->memory[b->op.in[0]];
    r.out[0] = b->memory[b->op.in[1]];
    return reference_kernels[OP_MAX_POOL_FORWARD].run(&r);
}

static cornu_status fill_samples(bench *b, const op_case *c)
{
    const shape *x = &c->out[0];
    random_stream r = random_open(17, RANDOM_GENERATE, 2);
    b->samples = (sample_block){.count = SAMPLES,
                                .x_shape = {.rank = x->rank - 1},
                                .x_type = SAMPLE_U8,
                                .x_scale = 1.0f / 255,
                                .y_type = SAMPLE_I32,
                                .y = b->labels};
    memcpy(b->samples.x_shape.dim, x->dim + 1, (size_t)(x->rank - 1) * sizeof *x->dim);
    size_t size = (size_t)shape_elements(&b->samples.x_shape) * SAMPLES;
    TRY(memory_new(size, 1, "pixels", &b->pixels));
    for (size_t i = 0; i < size; i++)
        b->pixels[i] = (uint8_t)random_u32(&r);
    for (int i = 0; i < SAMPLES; i++)
        b->labels[i] = (int32_t)random_below(&r, 10);
    for (int i = 0; i < 64; i++)
        b->index[i] = i ? (int64_t)random_below(&r, SAMPLES) : SAMPLES - 1; /* the memory's end */
    b->samples.x = b->pixels;
    return CORNU_OK;
}

static void bench_free(bench *b)
{
    for (int i = 0; i < b->plan.tensor_count; i++)
        memory_free_aligned(b->memory[i]);
    free(b->pixels);
}

static cornu_status copy_outputs(const bench *b, op_outputs *out)
{
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (b->op.out[i] == NO_TENSOR)
            continue;
        const tensor *t = &b->tensors[b->op.out[i]];
        const float *from = b->memory[b->op.out[i]];
        if (b->op.kind == OP_SQUARE_SUM) { /* only its own slot is defined */
            out->count[i] = 1;
            from += b->op.a.norm.slot;
        } else {
            out->count[i] = t->count;
        }
        TRY(memory_new((size_t)out->count[i], sizeof(float), "output", &out->values[i]));
        memcpy(out->values[i], from, (size_t)out->count[i] * sizeof(float));
    }
    return CORNU_OK;
}

/* The tensors of the case that ran last: a case runs with many kernels, most of which take less
   time than drawing its numbers. */
static struct {
    op_case c;
    int count;
    float *memory[OP_INPUTS_MAX + OP_OUTPUTS_MAX];
} drawn;

static void keep_drawn(const bench *b, const op_case *c)
{
    for (int i = 0; i < drawn.count; i++)
        memory_free_aligned(drawn.memory[i]);
    drawn.count = 0;
    for (int i = 0; i < b->plan.tensor_count; i++) {
        const size_t bytes = (size_t)b->tensors[i].count * sizeof(float);
        if (memory_new_aligned(bytes, "tensor", &drawn.memory[i]) != CORNU_OK)
            return;
        memcpy(drawn.memory[i], b->memory[i], bytes);
        drawn.count = i + 1;
    }
    drawn.c = *c;
}

static cornu_status draw(bench *b, const op_case *c)
{
    const int count = b->plan.tensor_count;
    if (drawn.count == count && memcmp(&drawn.c, c, sizeof *c) == 0) {
        for (int i = 0; i < count; i++)
            memcpy(b->memory[i], drawn.memory[i], (size_t)b->tensors[i].count * sizeof(float));
        return CORNU_OK;
    }
    TRY(fill(b, c));
    if (c->kind == OP_MAX_POOL_BACKWARD)
        TRY(fill_maximum(b));
    keep_drawn(b, c);
    return CORNU_OK;
}

static cornu_status fill_bench(bench *b, const op_case *c, bool nan)
{
    for (int i = 0; i < b->plan.tensor_count; i++)
        TRY(memory_new_aligned((size_t)b->tensors[i].count * sizeof(float), "tensor",
                               &b->memory[i]));
    TRY(draw(b, c));
    if (c->kind == OP_GATHER)
        TRY(fill_samples(b, c));
    if (nan)
        b->memory[b->op.in[0]][b->tensors[b->op.in[0]].count / 2] = NAN;
    b->input = (step_input){.samples = &b->samples,
                            .index = b->index,
                            .seed = 5,
                            .iteration = 3,
                            .epoch = 1,
                            .learning_rate = 0.01f};
    return CORNU_OK;
}

/* Rewrite in place the weights of a dense operation or their gradient, before it runs or
   (`output`) after it. */
static cornu_status relayout(bench *b, void (*layout)(const float *, int64_t, int64_t, float *),
                             bool output)
{
    tensor_ref w = output ? b->op.out[0] : b->op.in[1];
    if (output != (b->op.kind == OP_DENSE_BACKWARD_WEIGHTS) || w == NO_TENSOR)
        return CORNU_OK;
    const tensor *t = &b->tensors[w];
    float *laid_out;
    TRY(memory_new_aligned((size_t)t->count * sizeof *laid_out, "tensor", &laid_out));
    layout(b->memory[w], t->shape.dim[0], t->shape.dim[1], laid_out);
    memory_free_aligned(b->memory[w]);
    b->memory[w] = laid_out;
    return CORNU_OK;
}

cornu_status op_scratch_new(size_t bytes, void **out)
{
    TRY(memory_new_aligned(bytes, "scratch memory", out));
    memset(*out, 0xff, bytes);
    return CORNU_OK;
}

/* inputs: NULL, or in place of those that depend on the case */
static cornu_status run_case(const op_case *c, const kernel *k, threads *pool, bool nan,
                             const float *const *inputs, op_outputs *out)
{
    bench b = {0};
    void *state = NULL, *scratch = NULL;
    size_t scratch_bytes = 0;
    cornu_status status;
    memset(out, 0, sizeof *out);
    lay_out(&b, c);
    TRY_GOTO(fill_bench(&b, c, nan));
    for (int i = 0; inputs && i < OP_INPUTS_MAX; i++)
        if (b.op.in[i] != NO_TENSOR)
            memcpy(b.memory[b.op.in[i]], inputs[i],
                   (size_t)b.tensors[b.op.in[i]].count * sizeof(float));
    if (k->panels)
        TRY_GOTO(relayout(&b, panels_pack, false));
    if (k->prepare)
        TRY_GOTO(k->prepare(&b.plan, &b.op, pool, &state, &scratch_bytes));
    TRY_GOTO(op_scratch_new(scratch_bytes, &scratch));
    op_run r = {.op = &b.op,
                .plan = &b.plan,
                .tensors = b.memory,
                .state = state,
                .scratch = scratch,
                .pool = pool,
                .input = &b.input,
                .results = &out->results};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        r.in[i] = b.op.in[i] == NO_TENSOR ? NULL : b.memory[b.op.in[i]];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        r.out[i] = b.op.out[i] == NO_TENSOR ? NULL : b.memory[b.op.out[i]];
    out->results.tables = out->table;
    TRY_GOTO(k->run(&r));
    out->results.tables = NULL; /* they are in out->table */
    if (k->panels)
        TRY_GOTO(relayout(&b, panels_unpack, true));
    TRY_GOTO(copy_outputs(&b, out));
done:
    if (state && k->release)
        k->release(state);
    memory_free_aligned(scratch);
    bench_free(&b);
    return status;
}

cornu_status op_case_run(const op_case *c, const kernel *k, threads *pool, bool nan,
                         op_outputs *out)
{
    return run_case(c, k, pool, nan, NULL, out);
}

cornu_status op_case_run_with(const op_case *c, const kernel *k, threads *pool,
                              const float *const inputs[OP_INPUTS_MAX], op_outputs *out)
{
    return run_case(c, k, pool, false, inputs, out);
}

void op_outputs_free(op_outputs *o)
{
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        free(o->values[i]);
    memset(o, 0, sizeof *o);
}

bool op_case_accepted(const op_case *c, const kernel *k, const char **why)
{
    bench b = {0};
    lay_out(&b, c);
    *why = "runs groups of operations";
    if (k->group)
        return false;
    return !k->accepts || k->accepts(&b.plan, &b.op, why);
}

/* ---- on a device ------------------------------------------------------------------------- */

/* All tensors side by side, alive to the end: the device reads this from a plan's buffers. */
static void place_tensors(bench *b)
{
    for (int i = 0; i < b->plan.tensor_count; i++) {
        tensor *t = &b->tensors[i];
        t->offset = b->plan.arena_bytes;
        b->plan.arena_bytes += ((size_t)t->count * sizeof(float) + 255) / 256 * 256;
    }
    const tally_spec *what = &b->op.a.tally.what;
    b->plan.table_count = b->op.kind == OP_TALLY ? 1 + what->planes * (int)what->buckets : 0;
}

/* "cuda/tiled" to "tiled" */
static void keep_name(const char *choice, char *name, size_t size)
{
    const char *slash = strrchr(choice, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : choice);
}

cornu_status op_case_run_on(const op_case *c, device *d, bool nan, char kernel_name[64],
                            op_outputs *out)
{
    static const cornu_model one_hot = {
        .output_count = 1, .outputs = {{.loss = {.id = LOSS_CATEGORICAL_CROSSENTROPY}}}};
    bench b = {0};
    prepared *p = NULL;
    kernel_choice choice;
    cornu_status status;
    memset(out, 0, sizeof *out);
    lay_out(&b, c);
    place_tensors(&b);
    b.plan.model = &one_hot; /* gather_check reads the targets' form */
    b.plan.output = b.plan.target;
    TRY_GOTO(fill_bench(&b, c, nan));
    TRY_GOTO(d->ops->prepare(d, &b.plan, &p));
    for (int i = 0; i < b.plan.tensor_count; i++)
        TRY_GOTO(d->ops->write(d, p, i, b.memory[i], b.tensors[i].count));
    TRY_GOTO(d->ops->choices(d, p, &choice));
    keep_name(choice.kernel, kernel_name, 64);
    TRY_GOTO(d->ops->run(d, p, &b.input, 1));
    TRY_GOTO(d->ops->results(d, &out->results, true));
    if (b.plan.table_count > 0)
        memcpy(out->table, out->results.tables, (size_t)b.plan.table_count * sizeof *out->table);
    for (int i = 0; i < b.plan.tensor_count; i++)
        TRY_GOTO(d->ops->read(d, p, i, b.memory[i], b.tensors[i].count));
    TRY_GOTO(copy_outputs(&b, out));
done:
    if (p)
        d->ops->release(d, p);
    bench_free(&b);
    return status;
}

/* ---- comparison --------------------------------------------------------------------------- */

/* Largest |difference| over the reference's largest magnitude; INFINITY where one is a NaN and the
   other is not. *worst: its index. */
static double difference(const float *found, const float *expected, int64_t count, int64_t *worst)
{
    double largest = 0, magnitude = 0;
    *worst = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = fabs((double)found[i] - (double)expected[i]);
        if (isnan(found[i]) != isnan(expected[i]))
            d = INFINITY;
        else if (isnan(expected[i]) || found[i] == expected[i])
            continue;
        magnitude = fmax(magnitude, fabs((double)expected[i]));
        if (d > largest) {
            largest = d;
            *worst = i;
        }
    }
    for (int64_t i = 0; i < count; i++)
        if (isfinite(expected[i]))
            magnitude = fmax(magnitude, fabs((double)expected[i]));
    return largest == 0 ? 0 : largest / (magnitude > 0 ? magnitude : 1);
}

int op_outputs_compare(const op_case *c, const char *kernel, double tolerance,
                       const op_outputs *found, const op_outputs *expected)
{
    int failures = 0;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        int64_t at = 0;
        double d = difference(found->values[i], expected->values[i], expected->count[i], &at);
        if (d <= tolerance)
            continue;
        printf("%s: %s: output %d element %lld: found %.9g; expected %.9g (differ by %.3g of "
               "the largest, may by %.3g)\n",
               c->label, kernel, i, (long long)at, (double)found->values[i][at],
               (double)expected->values[i][at], d, tolerance);
        failures++;
    }
    const double *f = found->results.metrics, *e = expected->results.metrics;
    double loss = fabs(found->results.loss - expected->results.loss);
    /* a device without doubles keeps a sum as two floats; a loss's or a correlation's terms are
       floats on GPUs */
    bool is_loss = c->kind == OP_METRIC &&
                   (c->a.metric.of_loss || c->a.metric.sum == SUM_CONCORDANCE_CORRELATION ||
                    c->a.metric.sum == SUM_PEARSON_CORRELATION);
    double most = is_loss ? tolerance : 0x1p-40;
    if (loss > tolerance * fabs(expected->results.loss) ||
        !(fabs(f[1] - e[1]) <= most * fabs(e[1]))) {
        printf("%s: %s: found loss %.9g, metric %.9g; expected %.9g, %.9g\n", c->label, kernel,
               found->results.loss, f[1], expected->results.loss, e[1]);
        failures++;
    }
    for (int i = 0; c->kind == OP_TALLY && i < OP_TABLE_MOST; i++)
        if (!(fabs(found->table[i] - expected->table[i]) <= tolerance * fabs(expected->table[i]))) {
            printf("%s: %s: number %d of the table: found %.9g; expected %.9g\n", c->label, kernel,
                   i, found->table[i], expected->table[i]);
            failures++;
        }
    return failures;
}

/* Partial sums of products with practically random signs stay near the square root of their number.
   So rounding them to 24 bits adds an error whose standard deviation is below 2^-24 of the sum of
   magnitudes: 8 of them. If all products had one sign, this would hold only for sums that are added
   in blocks; the cases' products have both signs. */
static const double DEVIATIONS = 8 * 0x1p-24;

static int count_misses(const op_case *c, const char *kernel, int output, const double *bounds,
                        const op_outputs *found, const op_outputs *expected)
{
    int64_t misses = 0, worst = 0;
    double excess = 0;
    const float *f = found->values[output], *e = expected->values[output];
    for (int64_t i = 0; i < expected->count[output]; i++) {
        if (isnan(f[i]) && isnan(e[i]))
            continue;
        double off = fabs((double)f[i] - (double)e[i]);
        if (off <= bounds[i])
            continue;
        misses++;
        if (isnan(off) || off / bounds[i] > excess) {
            excess = isnan(off) ? INFINITY : off / bounds[i];
            worst = i;
        }
    }
    if (misses == 0)
        return 0;
    printf(
        "%s: %s: output %d: %lld of %lld elements are off by more than sums in 32 bits may be; the "
        "worst is element %lld: found %.9g; expected %.9g within %.3g\n",
        c->label, kernel, output, (long long)misses, (long long)expected->count[output],
        (long long)worst, (double)f[worst], (double)e[worst], bounds[worst]);
    return 1;
}

int op_outputs_compare_sums(const op_case *c, const char *kernel, double activated,
                            const op_outputs *found, const op_outputs *expected)
{
    op_case sums = *c;
    op_outputs magnitudes;
    int failures = 0;
    sums.absolute = true;
    if (c->kind == OP_DENSE_FORWARD)
        sums.a.dense.act = (activation){ACTIVATION_LINEAR, 0};
    if (c->kind == OP_CONV2D_FORWARD)
        sums.a.conv.act = (activation){ACTIVATION_LINEAR, 0};
    if (op_case_run(&sums, &reference_kernels[c->kind], NULL, false, &magnitudes) != CORNU_OK) {
        printf("%s: %s\n", c->label, cornu_last_error());
        return 1;
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        double largest = 0, *bounds = calloc((size_t)expected->count[i] + 1, sizeof *bounds);
        if (!bounds)
            abort();
        for (int64_t k = 0; k < expected->count[i]; k++)
            if (isfinite(expected->values[i][k]))
                largest = fmax(largest, fabs((double)expected->values[i][k]));
        for (int64_t k = 0; k < expected->count[i]; k++)
            bounds[k] = DEVIATIONS * (double)magnitudes.values[i][k] + activated * largest;
        failures += count_misses(c, kernel, i, bounds, found, expected);
        free(bounds);
    }
    op_outputs_free(&magnitudes);
    return failures;
}

int op_case_check_twice(const op_case *c, device *d)
{
    op_outputs found[2];
    char kernel[64] = "";
    int failures = 0;
    for (int i = 0; i < 2; i++)
        if (op_case_run_on(c, d, false, kernel, &found[i]) != CORNU_OK) {
            printf("%s: %s\n", c->label, cornu_last_error());
            failures++;
        }
    for (int i = 0; i < OP_OUTPUTS_MAX && !failures; i++)
        if (found[0].values[i] && memcmp(found[0].values[i], found[1].values[i],
                                         (size_t)found[0].count[i] * sizeof(float)) != 0) {
            printf("%s: %s: output %d has other bits the second time\n", c->label, kernel, i);
            failures++;
        }
    if (!failures && memcmp(found[0].table, found[1].table, sizeof found[0].table) != 0) {
        printf("%s: %s: its table has other bits the second time\n", c->label, kernel);
        failures++;
    }
    op_outputs_free(&found[0]);
    op_outputs_free(&found[1]);
    return failures;
}

void op_outputs_forgive_nan(op_outputs *found, const op_outputs *expected)
{
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        for (int64_t k = 0; k < found->count[i]; k++)
            if (isnan(found->values[i][k]))
                found->values[i][k] = expected->values[i][k];
}

int op_case_check(const op_case *c, host_device *h, const char *note, bool nan,
                  const op_outputs *expected, int *tried)
{
    int failures = 0;
    const kernel_list list = h->kernels[c->kind];
    for (int i = 0; list && list[i]; i++) {
        const char *why = "";
        op_outputs found;
        char name[96];
        if (!op_case_accepted(c, list[i], &why))
            continue;
        snprintf(name, sizeof name, "%s/%s%s", h->device.ops->name, list[i]->name, note);
        if (op_case_run(c, list[i], h->pool, nan, &found) != CORNU_OK) {
            printf("%s: %s: %s\n", c->label, name, cornu_last_error());
            failures++;
        } else if (expected) {
            double own = list[i]->tolerance;
            if (own > 0 && nan)
                op_outputs_forgive_nan(&found, expected);
            failures += op_outputs_compare(c, name, own > 0 ? own : op_infos[c->kind].tolerance,
                                           &found, expected);
        }
        (*tried)++;
        op_outputs_free(&found);
    }
    return failures;
}

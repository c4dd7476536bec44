/* GCC 12's vectorizer fails with an internal error here. */
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif
#include "base/memory.h"
#include "base/philox.h"
#include "device/reference/reference.h"
#include "step/builder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the cases ---------------------------------------------------------------------------- */

/* An operation and its tensors' shapes, in the order of ops.def; rank 0: the tensor is absent. */
typedef struct test_row {
    op_kind kind;
    shape in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    op_attributes a;
    double tolerance; /* 0: the operation's own */
} test_row;

#define S1(a) \
    {         \
        1,    \
        {     \
            a \
        }     \
    }
#define S2(a, b) \
    {            \
        2,       \
        {        \
            a, b \
        }        \
    }
#define S4(a, b, c, d) \
    {                  \
        4,             \
        {              \
            a, b, c, d \
        }              \
    }
#define RELU               \
    {                      \
        ACTIVATION_RELU, 0 \
    }
#define WINDOW(stride_, pad)                                                             \
    {                                                                                    \
        .kernel = {3, 3}, .stride = {stride_, stride_}, .dilation = {1, 1}, .groups = 1, \
        .before = {pad, pad}, .after = {                                                 \
            pad,                                                                         \
            pad                                                                          \
        }                                                                                \
    }
/* Winograd's sums differ from the definition's. */
#define WINOGRAD_SHAPES 1e-4

static const test_row rows[] = {
    {.kind = OP_DENSE_FORWARD,
     .in = {S2(19, 37), S2(37, 23), S1(23)},
     .out = {S2(19, 23)},
     .a.dense.act = RELU},
    {.kind = OP_DENSE_FORWARD, .in = {S2(3, 1537), S2(1537, 9)}, .out = {S2(3, 9)}},
    {.kind = OP_DENSE_BACKWARD_DATA, .in = {S2(19, 23), S2(37, 23)}, .out = {S2(19, 37)}},
    {.kind = OP_DENSE_BACKWARD_WEIGHTS,
     .in = {S2(19, 37), S2(19, 23)},
     .out = {S2(37, 23), S1(23)}},
    {.kind = OP_CONV2D_FORWARD,
     .in = {S4(3, 9, 7, 5), S4(3, 3, 5, 6), S1(6)},
     .out = {S4(3, 9, 7, 6)},
     .a.conv = {.w = WINDOW(1, 1), .act = RELU}},
    {.kind = OP_CONV2D_BACKWARD_DATA,
     .in = {S4(3, 9, 7, 6), S4(3, 3, 5, 6)},
     .out = {S4(3, 9, 7, 5)},
     .a.conv.w = WINDOW(1, 1)},
    {.kind = OP_CONV2D_BACKWARD_WEIGHTS,
     .in = {S4(3, 9, 7, 5), S4(3, 9, 7, 6)},
     .out = {S4(3, 3, 5, 6), S1(6)},
     .a.conv.w = WINDOW(1, 1)},
    {.kind = OP_CONV2D_FORWARD,
     .in = {S4(2, 11, 8, 3), S4(3, 3, 3, 17)},
     .out = {S4(2, 5, 3, 17)},
     .a.conv.w = WINDOW(2, 0)},
    {.kind = OP_CONV2D_FORWARD,
     .in = {S4(2, 7, 6, 67), S4(3, 3, 67, 66), S1(66)},
     .out = {S4(2, 7, 6, 66)},
     .a.conv = {.w = WINDOW(1, 1), .act = RELU},
     .tolerance = WINOGRAD_SHAPES},
    {.kind = OP_CONV2D_BACKWARD_DATA,
     .in = {S4(2, 7, 6, 66), S4(3, 3, 67, 66)},
     .out = {S4(2, 7, 6, 67)},
     .a.conv.w = WINDOW(1, 1),
     .tolerance = WINOGRAD_SHAPES},
    {.kind = OP_ACTIVATION_FORWARD,
     .in = {S2(13, 10)},
     .out = {S2(13, 10)},
     .a.act = {ACTIVATION_SOFTMAX, 0}},
    {.kind = OP_BATCH_NORM_FORWARD,
     .in = {S2(29, 17), S1(17), S1(17), S1(17), S1(17)},
     .out = {S2(29, 17), S1(17), S1(17), S1(17), S1(17)},
     .a.batch_norm = {0.9f, 1e-3f}},
    {.kind = OP_SQUARE_SUM, .in = {S1(4099)}, .out = {S1(1)}},
    {.kind = OP_LOSS,
     .in = {S2(13, 10), S2(13, 1)},
     .out = {S2(13, 10)},
     .a.loss = {LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, true}},
    {.kind = OP_UPDATE,
     .in = {S1(1031), S1(1031), S1(1031), S1(1031)},
     .out = {S1(1031), S1(1031), S1(1031)},
     .a.update =
         {.optimizer = {.id = OPTIMIZER_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
          .norm_slot = -1}},
};
enum { ROWS = sizeof rows / sizeof *rows, TENSORS = OP_INPUTS_MAX + OP_OUTPUTS_MAX };

/* ---- a plan of one operation -------------------------------------------------------------- */

typedef struct bench {
    const test_row *row;
    plan plan;
    op op;
    tensor tensors[TENSORS];
    op_word names[TENSORS];
    float *values[TENSORS]; /* inputs; then the reference's results */
    float *found[TENSORS];  /* inputs; then the device's results */
    step_input input;
    step_results expected, seen;
    char ran[64]; /* name of the kernel */
} bench;

static tensor_ref add_tensor(bench *b, const shape *s, const op_word *name)
{
    int i = b->plan.tensor_count++;
    b->names[i] = *name;
    b->tensors[i] = (tensor){.name = b->names[i].name,
                             .role = TENSOR_BUFFER,
                             .variable = -1,
                             .shape = *s,
                             .count = shape_elements(s),
                             .alias = NO_TENSOR,
                             .last = 1,
                             .offset = b->plan.arena_bytes};
    b->plan.arena_bytes += ((size_t)shape_elements(s) * sizeof(float) + 63) / 64 * 64;
    return i;
}

/* The input that has this name, which an output changes in place. */
static tensor_ref input_named(const bench *b, const char *name)
{
    op_word word;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (op_word_at(op_infos[b->row->kind].inputs, i, &word) && strcmp(word.name, name) == 0)
            return b->op.in[i];
    return NO_TENSOR;
}

static void build(bench *b, const test_row *row)
{
    const op_info *info = &op_infos[row->kind];
    op_word word;
    *b = (bench){.row = row, .op = {.kind = row->kind, .a = row->a}};
    b->op.name = (char *)(uintptr_t)info->name;
    b->plan = (plan){.mode = PLAN_TRAIN,
                     .batch = row->in[0].dim[0],
                     .tensors = b->tensors,
                     .ops = &b->op,
                     .op_count = 1,
                     .input = NO_TENSOR,
                     .target = NO_TENSOR,
                     .output = NO_TENSOR,
                     .input_gradient = NO_TENSOR};
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        (void)op_word_at(info->inputs, i, &word);
        b->op.in[i] = row->in[i].rank ? add_tensor(b, &row->in[i], &word) : NO_TENSOR;
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        (void)op_word_at(info->outputs, i, &word);
        b->op.out[i] = row->out[i].rank ? input_named(b, word.name) : NO_TENSOR;
        if (row->out[i].rank && b->op.out[i] == NO_TENSOR)
            b->op.out[i] = add_tensor(b, &row->out[i], &word);
    }
    pass_forms(&b->plan);
    b->input = (step_input){.seed = 5, .iteration = 3, .epoch = 1, .learning_rate = 0.01f};
}

static bool is_input(const bench *b, tensor_ref t)
{
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (b->op.in[i] == t)
            return true;
    return false;
}

/* Numbers in -1..1; variances and the like are above 0; class numbers. */
static float number_for(const char *name, random_stream *r)
{
    bool positive = strstr(name, "variance") || strncmp(name, "slot", 4) == 0;
    if (strcmp(name, "target") == 0)
        return (float)random_below(r, 10);
    return positive ? 0.1f + 0.9f * random_uniform(r) : 2 * random_uniform(r) - 1;
}

/* Outputs are NaN before the run, so that an element that a kernel does not write is noticed. */
static cornu_status fill(bench *b)
{
    random_stream r = random_open(17, RANDOM_GENERATE, 1);
    for (int i = 0; i < b->plan.tensor_count; i++) {
        const size_t count = (size_t)b->tensors[i].count;
        TRY(memory_new_aligned(count * sizeof(float), "self-test", &b->values[i]));
        TRY(memory_new_aligned(count * sizeof(float), "self-test", &b->found[i]));
        for (size_t k = 0; k < count; k++)
            b->values[i][k] = is_input(b, i) ? number_for(b->names[i].name, &r) : NAN;
        memcpy(b->found[i], b->values[i], count * sizeof(float));
    }
    return CORNU_OK;
}

static void free_values(bench *b)
{
    for (int i = 0; i < b->plan.tensor_count; i++) {
        memory_free_aligned(b->values[i]);
        memory_free_aligned(b->found[i]);
    }
}

/* ---- running both ------------------------------------------------------------------------- */

static cornu_status run_reference(bench *b)
{
    op_run r = {.op = &b->op,
                .plan = &b->plan,
                .tensors = b->values,
                .input = &b->input,
                .results = &b->expected};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        r.in[i] = b->op.in[i] == NO_TENSOR ? NULL : b->values[b->op.in[i]];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        r.out[i] = b->op.out[i] == NO_TENSOR ? NULL : b->values[b->op.out[i]];
    return reference_kernels[b->op.kind].run(&r);
}

static cornu_status run_device(bench *b, device *d)
{
    prepared *p = NULL;
    kernel_choice choice;
    cornu_status status = d->ops->prepare(d, &b->plan, &p);
    if (status != CORNU_OK)
        return status;
    for (int i = 0; i < b->plan.tensor_count; i++)
        TRY_GOTO(d->ops->write(d, p, i, b->found[i], b->tensors[i].count));
    TRY_GOTO(d->ops->choices(d, p, &choice));
    snprintf(b->ran, sizeof b->ran, "%s", choice.kernel);
    TRY_GOTO(d->ops->run(d, p, &b->input, 1));
    TRY_GOTO(d->ops->results(d, &b->seen, true));
    for (int i = 0; i < b->plan.tensor_count; i++)
        TRY_GOTO(d->ops->read(d, p, i, b->found[i], b->tensors[i].count));
done:
    d->ops->release(d, p);
    return status;
}

/* ---- comparison --------------------------------------------------------------------------- */

static cornu_status fail_wrong(const bench *b, const char *name, const char *place, double found,
                               double expected)
{
    return status_fail(CORNU_DEVICE,
                       "device %s: is refused, as it computes wrong results: %s (%s), %s: found "
                       "%.9g; expected %.9g",
                       name, op_infos[b->op.kind].name, b->ran, place, found, expected);
}

static cornu_status compare_tensor(const bench *b, tensor_ref t, const char *name)
{
    const float *found = b->found[t], *expected = b->values[t];
    double tolerance = b->row->tolerance > 0 ? b->row->tolerance : op_infos[b->op.kind].tolerance;
    double largest = 0;
    char place[64];
    for (int64_t i = 0; i < b->tensors[t].count; i++)
        largest = fmax(largest, fabs((double)expected[i]));
    for (int64_t i = 0; i < b->tensors[t].count; i++) {
        if (fabs((double)found[i] - (double)expected[i]) <= tolerance * largest)
            continue; /* the comparison is false for NaN */
        snprintf(place, sizeof place, "element %jd of %s", (intmax_t)i, b->names[t].name);
        return fail_wrong(b, name, place, (double)found[i], (double)expected[i]);
    }
    return CORNU_OK;
}

static cornu_status compare(const bench *b, const char *name)
{
    double tolerance = op_infos[b->op.kind].tolerance;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (b->op.out[i] != NO_TENSOR)
            TRY(compare_tensor(b, b->op.out[i], name));
    double found = b->seen.loss, expected = b->expected.loss;
    if (fabs(found - expected) <= tolerance * fabs(expected))
        return CORNU_OK;
    return fail_wrong(b, name, "the loss", found, expected);
}

static cornu_status try_row(device *d, const char *name, const test_row *row)
{
    bench b;
    build(&b, row);
    if (d->ops->lacks && d->ops->lacks(d, &b.plan))
        return CORNU_OK;
    cornu_status status = fill(&b);
    if (status == CORNU_OK)
        status = run_reference(&b);
    if (status == CORNU_OK)
        status = run_device(&b, d);
    if (status == CORNU_OK)
        status = compare(&b, name);
    free_values(&b);
    return status;
}

cornu_status self_test(device *d, const char *name)
{
    for (int i = 0; i < ROWS; i++)
        TRY(try_row(d, name, &rows[i]));
    return CORNU_OK;
}

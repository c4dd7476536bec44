/* Tensors internal to a group that the cpu device runs as one have no memory, and a kernel does not
   touch a shortened tensor beyond its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/isa.h"
#include "device/host/prepared.h"
#include "support/net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2, GUARD = 4096 };
static const unsigned char NANS = 0xff; /* four of these bytes are a NaN */

#define CONV(filters, size, padding, activation)                                  \
    "{Conv2D: {filters: " #filters ", kernel_size: " #size ", padding: " #padding \
    ", activation: " #activation "}}"
#define POOL "{MaxPooling2D: {pool_size: 2}}"
#define FLAT "Flatten, {Dense: {units: 3, activation: softmax}}"
#define SAME(filters) "{Conv2D: {filters: " #filters ", kernel_size: 3, padding: same}}, "
#define NORM(name, trainable) "{BatchNormalization: {name: " name ", trainable: " trainable "}}, "
#define SUM(name, inputs) "{Add: {name: " name ", inputs: [" inputs "]}}, "
#define DENSE(units, activation) "{Dense: {units: " #units ", activation: " #activation "}}"

/* Together these use all kernels of groups, with and without the optional members. */
static const struct {
    const char *input, *layers;
    int64_t batch;
} nets[] = {
    {"12, 14, 1", CONV(32, 5, same, relu) ", " POOL ", " FLAT, 5},
    {"11, 9, 3", CONV(33, 3, valid, linear) ", " POOL ", " FLAT, 3},
    {"9, 9, 3", CONV(8, 3, same, tanh) ", " POOL ", " FLAT, 3},
    {"13, 13, 3",
     "{Conv2D: {filters: 32, kernel_size: 3, strides: 2, activation: relu}}, " POOL ", " FLAT, 3},
    {"9, 8, 1", CONV(32, 3, same, relu) ", " CONV(4, 3, same, linear) ", " FLAT, 3},
    {"14, 14, 32", CONV(64, 3, same, relu) ", " POOL ", " FLAT, 3},
    {"15, 13, 3", CONV(32, 3, same, relu) ", " CONV(17, 3, same, relu) ", " POOL ", " FLAT, 3},
    {"20, 18, 3",
     CONV(20, 3, same, relu) ", " CONV(17, 3, same, linear) ", " CONV(16, 3, same,
                                                                      linear) ", " FLAT,
     2},
    {"10, 10, 2",
     "{Activation: {activation: relu}}, " POOL
     ", " CONV(3, 3, same, relu) ", " POOL ", {Dropout: {rate: 0.3}}, " FLAT,
     3},
    {"6, 6, 2", "Flatten, " DENSE(60, relu) ", " DENSE(50, tanh) ", " DENSE(3, softmax), 5},
    {"512", DENSE(400, relu) ", {Dropout: {rate: 0.3}}, " DENSE(390, linear) ", " DENSE(3, softmax),
     26}, /* enough for "tiles" */
    {"9, 7, 3",
     SAME(19) NORM("n0", "true") "{ReLU: {name: a0}}, " SAME(19) NORM("n1", "true")
         SUM("s1", "a0, n1") "{ReLU: {name: a1}}, " SAME(19) NORM("n2", "true") SUM("s2", "n2, a1")
             SAME(19) "{Add: {inputs: [s2, conv2d_3]}}, {Activation: {name: a3, activation: "
                      "tanh}}, " SAME(19) "{Add: {inputs: [a3, conv2d_4]}}, " FLAT,
     3},
    {"9, 7, 3",
     SAME(33) NORM("n0", "false") "{ReLU: {name: a0}}, " SAME(33) NORM("n1", "false")
         SUM("s1", "a0, n1") "ReLU, " FLAT,
     3},
    {"7, 12",
     DENSE(10,
           linear) ", {MultiHeadAttention: {num_heads: 2, key_dim: 9, inputs: [dense, dense]}}, "
                   "{Attention: {inputs: [multi_head_attention, dense]}}, " FLAT,
     3},
    {"130, 6",
     DENSE(5, linear) ", {MultiHeadAttention: {num_heads: 2, key_dim: 20, inputs: [dense, "
                      "dense]}}, " FLAT,
     2}, /* more rows than a block's */
};
enum { NETS = sizeof nets / sizeof *nets };
static const char *const optimizers[] = {"adam", "{sgd: {clipnorm: 0.1}}"};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

static cornu_model *model_of(int number, const char *optimizer)
{
    char yaml[2048];
    snprintf(yaml, sizeof yaml,
             "model: {input: [%s], layers: [%s]}\n"
             "compile: {optimizer: %s, loss: sparse_categorical_crossentropy, metrics: [accuracy]}",
             nets[number].input, nets[number].layers, optimizer);
    return net_model(yaml);
}

static host_device *host_device_of(const net *n)
{
    return host_of(n->device);
}

/* Separate memory for every buffer, of exactly the required size, GUARD bytes from the next. */
static void spread(prepared *r)
{
    const plan *p = r->plan;
    r->arena_bytes = GUARD;
    for (int i = 0; i < p->tensor_count; i++) {
        r->offsets[i] = r->arena_bytes;
        r->arena_bytes += r->bytes[i] ? (r->bytes[i] + 63) / 64 * 64 + GUARD : 0;
    }
    for (int i = 0; i < p->tensor_count; i++)
        r->offsets[i] = r->offsets[plan_root(p, i)];
    r->arena = NULL;
}

/* The memory between the buffers is unchanged. */
static void check_guards(const net *n)
{
    const prepared *r = n->prepared;
    const unsigned char *arena = host_device_of(n)->arena;
    size_t end = 0;
    for (int i = 0; i < r->plan->tensor_count; i++) {
        if (r->bytes[i] == 0)
            continue;
        for (; end < r->offsets[i]; end++)
            if (arena[end] != NANS)
                fail_msg("%s: something wrote %zu bytes before it", r->plan->tensors[i].name,
                         r->offsets[i] - end);
        end += r->bytes[i];
    }
}

/* A few steps; the model's variables afterwards, one after the other. With `apart` all other memory
   is NaN before each step. */
static float *trained(net *n, bool apart, int64_t *count)
{
    host_device *h = host_device_of(n);
    *count = 0;
    if (apart)
        spread(n->prepared);
    for (int i = 0; i < STEPS; i++) {
        n->input.iteration = i;
        n->input.learning_rate = 0.01f;
        assert_int_equal(host_ensure_memory(h, n->prepared), CORNU_OK);
        memset(h->arena, apart ? NANS : 0, h->arena_bytes);
        if (h->scratch_bytes)
            memset(h->scratch, apart ? NANS : 0, h->scratch_bytes);
        net_run(n);
        if (apart)
            check_guards(n);
    }
    for (int i = 0; i < n->model->variable_count; i++)
        *count += n->model->variables[i].count;
    float *values = calloc((size_t)*count, sizeof *values), *to = values;
    assert_non_null(values);
    for (int i = 0; i < n->model->variable_count; i++) {
        const variable *v = &n->model->variables[i];
        assert_int_equal(n->device->ops->read_variable(n->device, i, to, v->count), CORNU_OK);
        to += v->count;
    }
    return values;
}

static void must_train_alike(int number, const char *optimizer, const device_options *options)
{
    plan_options train = {.mode = PLAN_TRAIN, .batch = nets[number].batch};
    cornu_model *model = model_of(number, optimizer);
    int64_t count;
    net *shared = net_open_with(model, "cpu", &train, options);
    net *apart = net_open_with(model, "cpu", &train, options);
    float *a = trained(shared, false, &count), *b = trained(apart, true, &count);
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
    free(a);
    free(b);
    net_close(shared);
    net_close(apart);
    cornu_model_close(model);
}

static void for_each_isa(void (*check)(void))
{
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++)
        if (cpu_isa_runs((cpu_isa)isa)) {
            setenv("CORNU_ISA", cpu_isa_name(isa), 1);
            check();
            unsetenv("CORNU_ISA");
        }
}

static void train_all(void)
{
    for (int i = 0; i < NETS * OPTIMIZERS; i++)
        must_train_alike(i / OPTIMIZERS, optimizers[i % OPTIMIZERS],
                         &(device_options){.threads = 2});
}

static void nothing_reads_or_writes_what_has_no_memory(void **state)
{
    (void)state;
    for_each_isa(train_all);
}

/* One of a pair that would agree on a shorter form is missing. */
static void nor_where_another_kernel_is_preferred(void **state)
{
    (void)state;
    static const char *const forced[] = {"2x2",      "first_conv", "first_conv_pool", "indirect",
                                         "winograd", "vector",     "winograd_pool",   "plain"};
    for (size_t k = 0; k < sizeof forced / sizeof *forced; k++)
        for (int i = 0; i < NETS; i++)
            must_train_alike(i, "sgd", &(device_options){.threads = 1, .kernel = forced[k]});
}

/* ---- the kernels of these nets -------------------------------------------------------------- */

enum { KERNELS_MOST = 32 };
static const kernel *seen[KERNELS_MOST];
static int seen_count;

static bool is_seen(const kernel *k)
{
    for (int i = 0; i < seen_count; i++)
        if (seen[i] == k)
            return true;
    return false;
}

/* Every tensor internal to a group has no memory, or less than its elements would take. */
static void check_internal(const prepared *r, const op_group *g)
{
    const plan *p = r->plan;
    for (int i = g->first; i < g->first + g->count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            tensor_ref t = p->ops[i].out[k];
            if (!plan_group_internal(p, g, t))
                continue;
            const size_t whole = (size_t)p->tensors[t].count * sizeof(float);
            if (prepared_kernel(r, g->first)->needs)
                assert_true(r->bytes[t] < whole);
            else
                assert_int_equal(r->bytes[t], 0);
            if (r->bytes[t] == 0)
                assert_null(r->tensors[t]);
        }
}

static void look_at_all(void)
{
    for (int i = 0; i < NETS; i++) {
        plan_options train = {.mode = PLAN_TRAIN, .batch = nets[i].batch};
        cornu_model *model = model_of(i, "sgd");
        net *n = net_open(model, "cpu", &train);
        net_run(n);
        const prepared *r = n->prepared;
        for (int k = 0; k < n->plan->op_count; k++) {
            if (!r->chosen.groups[k])
                continue;
            check_internal(r, r->chosen.groups[k]);
            if (!is_seen(prepared_kernel(r, k)) && seen_count < KERNELS_MOST)
                seen[seen_count++] = prepared_kernel(r, k);
        }
        net_close(n);
        cornu_model_close(model);
    }
}

static void every_kernel_of_groups_is_tried(void **state)
{
    (void)state;
    for_each_isa(look_at_all);
    host_device *h = host_of(net_device_open("cpu", &(device_options){.threads = 1}));
    for (int kind = 0; kind < OP_COUNT; kind++)
        for (kernel_list list = h->kernels[kind]; list && *list; list++) {
            bool here = strcmp((*list)->name, "tiles") != 0 || cpu_isa_runs(CPU_ISA_WITH_AMX);
            if ((*list)->group && here && !is_seen(*list))
                fail_msg("%s of %s: no net has it", (*list)->name, op_infos[kind].name);
        }
    host_close(&h->device);
}

/* ---- memory saved --------------------------------------------------------------------------- */

static void a_dense_layer_that_updates_itself_has_no_gradient_in_memory(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [3072], layers: [{Dense: {units: 3000, activation: relu}}, {Dense: {units: "
        "10, activation: softmax}}]}\n"
        "compile: {optimizer: sgd, loss: categorical_crossentropy}");
    const double gradient = 3072.0 * 3000 * sizeof(float);
    const int64_t batch = 32, floats = batch * (3072 + 2 * 3000 + 4 * 10);
    net *n = net_open(model, "cpu", &(plan_options){.mode = PLAN_TRAIN, .batch = batch});
    int64_t bytes = 0;
    assert_int_equal(n->device->ops->buffer_bytes(n->device, n->plan, &bytes), CORNU_OK);
    assert_true((double)n->plan->arena_bytes > gradient);
    assert_true(bytes <= (int64_t)sizeof(float) * floats);
    assert_int_equal(bytes, host_device_of(n)->arena_bytes);
    net_close(n);
    cornu_model_close(model);
}

static void what_no_kernel_writes_cannot_be_read(void **state)
{
    (void)state;
    cornu_model *model = model_of(0, "sgd");
    net *n = net_open(model, "cpu", &(plan_options){.mode = PLAN_TRAIN, .batch = nets[0].batch});
    net_run(n);
    const plan *p = n->plan;
    int refused = 0;
    float *values = calloc((size_t)(12 * 14 * 32 * nets[0].batch), sizeof *values);
    assert_non_null(values);
    for (int i = 0; i < p->tensor_count; i++) {
        int64_t count = p->tensors[i].count;
        cornu_status status = n->device->ops->read(n->device, n->prepared, i, values, count);
        if (p->tensors[i].role == TENSOR_VARIABLE || i == p->output)
            assert_int_equal(status, CORNU_OK);
        if (n->prepared->bytes[plan_root(p, i)] < (size_t)count * sizeof *values &&
            p->tensors[i].role == TENSOR_BUFFER) {
            assert_int_equal(status, CORNU_INVALID);
            refused++;
        }
    }
    assert_true(refused >=
                3); /* the memory of the codes, of the gradients of the pool and of relu */
    free(values);
    net_close(n);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_reads_or_writes_what_has_no_memory),
        cmocka_unit_test(nor_where_another_kernel_is_preferred),
        cmocka_unit_test(every_kernel_of_groups_is_tried),
        cmocka_unit_test(a_dense_layer_that_updates_itself_has_no_gradient_in_memory),
        cmocka_unit_test(what_no_kernel_writes_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

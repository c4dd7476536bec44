/* Offsets in the arena: no live tensor is overwritten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/host/prepared.h"
#include "model/model.h"
#include "support/net.h"
#include <stdlib.h>
#include <string.h>

static const char small[] =
    "model:\n"
    "  input: [8, 8, 2]\n"
    "  layers:\n"
    "    - Conv2D: {filters: 3, kernel_size: 3, padding: same, activation: relu}\n"
    "    - MaxPooling2D: {pool_size: 2}\n"
    "    - BatchNormalization\n"
    "    - Conv2D: {filters: 4, kernel_size: 3}\n"
    "    - Activation: {activation: gelu}\n"
    "    - Flatten\n"
    "    - Dropout: {rate: 0.3}\n"
    "    - Dense: {units: 6, activation: tanh}\n"
    "    - Reshape: {target_shape: [3, 2]}\n"
    "    - Flatten\n"
    "    - Dense: {units: 4, activation: softmax}\n"
    "compile: {optimizer: {class_name: Adam, config: {clipnorm: 0.1}},\n"
    "          loss: categorical_crossentropy, metrics: [accuracy]}\n";

static tensor_ref root(const plan *p, tensor_ref t)
{
    while (p->tensors[t].alias != NO_TENSOR)
        t = p->tensors[t].alias;
    return t;
}

/* The test's own computation of lives, from the operations alone. */
typedef struct life {
    int first, last;
} life;

static void touch(const plan *p, life *lives, tensor_ref t, int at)
{
    if (t == NO_TENSOR)
        return;
    life *l = &lives[root(p, t)];
    l->first = l->first < at ? l->first : at;
    l->last = l->last > at ? l->last : at;
}

static life *lives_of(const plan *p, const plan_options *options)
{
    life *lives = malloc((size_t)p->tensor_count * sizeof *lives);
    for (int i = 0; i < p->tensor_count; i++)
        lives[i] = (life){.first = INT32_MAX, .last = -1};
    for (int i = 0; i < p->op_count; i++) {
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            touch(p, lives, p->ops[i].in[k], i);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            touch(p, lives, p->ops[i].out[k], i);
    }
    touch(p, lives, p->output, p->op_count);
    touch(p, lives, p->input_gradient, p->op_count);
    for (int i = 0; options->scope == SCOPE_GRADIENTS && i < p->model->weight_count; i++)
        touch(p, lives, p->gradients[i], p->op_count);
    return lives;
}

/* Is the last use of `a` before the first use of `b`? A kernel may run all operations of a group at
   once: one of them must not overwrite the input of another. */
static bool is_over(const plan *p, life a, life b)
{
    for (int i = 0; i < p->group_count; i++) {
        const op_group *g = &p->groups[i];
        int end = g->first + g->count - 1;
        if (a.last >= g->first && a.last <= end && b.first >= g->first && b.first <= end)
            return false;
    }
    return a.last < b.first;
}

/* The offsets of a plan's buffers: the plan's own, or those of a device. */
typedef struct places {
    size_t *bytes, *offsets; /* [tensor_count]; bytes 0: no memory */
    size_t arena_bytes;
} places;

static void check_pair(const plan *p, const life *lives, const places *at, tensor_ref a,
                       tensor_ref b)
{
    if (is_over(p, lives[a], lives[b]) || is_over(p, lives[b], lives[a]))
        return;
    size_t a_end = at->offsets[a] + at->bytes[a], b_end = at->offsets[b] + at->bytes[b];
    if (at->offsets[a] < b_end && at->offsets[b] < a_end)
        fail_msg("%s (operations %d to %d) and %s (%d to %d) overlap", p->tensors[a].name,
                 lives[a].first, lives[a].last, p->tensors[b].name, lives[b].first, lives[b].last);
}

static bool is_buffer(const plan *p, const life *lives, tensor_ref t)
{
    return p->tensors[t].role == TENSOR_BUFFER && p->tensors[t].alias == NO_TENSOR &&
           lives[t].last >= 0;
}

/* Returns the bytes that buffers without sharing would take. */
static size_t check_places(const plan *p, const plan_options *options, const places *at)
{
    life *lives = lives_of(p, options);
    size_t apart = 0;
    for (int a = 0; a < p->tensor_count; a++) {
        assert_int_equal(at->offsets[a] % 64, 0);
        assert_int_equal(at->offsets[a], at->offsets[root(p, a)]);
        if (!is_buffer(p, lives, a)) {
            assert_int_equal(at->bytes[a], 0);
            continue;
        }
        apart += (at->bytes[a] + 63) / 64 * 64;
        assert_true(at->bytes[a] <= (size_t)p->tensors[a].count * sizeof(float));
        assert_true(at->offsets[a] + at->bytes[a] <= at->arena_bytes);
        for (int b = a + 1; b < p->tensor_count && at->bytes[a] > 0; b++)
            if (at->bytes[b] > 0)
                check_pair(p, lives, at, a, b);
    }
    free(lives);
    assert_true(at->arena_bytes <= apart);
    return apart;
}

static size_t check_plan(const plan *p, const plan_options *options)
{
    places own = {.arena_bytes = p->arena_bytes};
    own.bytes = calloc((size_t)p->tensor_count, sizeof *own.bytes);
    own.offsets = calloc((size_t)p->tensor_count, sizeof *own.offsets);
    plan_buffer_bytes(p, own.bytes);
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        own.offsets[i] = t->offset;
        assert_true(t->role == TENSOR_VARIABLE || t->alias != NO_TENSOR || t->first < 0 ||
                    own.bytes[i] == (size_t)t->count * sizeof(float));
    }
    size_t apart = check_places(p, options, &own);
    free(own.bytes);
    free(own.offsets);
    return apart;
}

/* The offsets of the cpu device, whose groups of operations leave tensors out. */
static void check_device(const plan *p, const plan_options *options)
{
    device_options one = {.threads = 1};
    prepared *r = NULL;
    device *d = net_device_open("cpu", &one);
    assert_int_equal(d->ops->prepare(d, p, &r), CORNU_OK);
    places at = {r->bytes, r->offsets, r->arena_bytes};
    check_places(p, options, &at);
    assert_true(r->arena_bytes <= p->arena_bytes);
    d->ops->release(d, r);
    d->ops->close(d);
}

static const plan_options every_options[] = {
    {.mode = PLAN_TRAIN, .batch = 5},
    {.mode = PLAN_TRAIN, .batch = 32},
    {.mode = PLAN_TRAIN, .batch = 3, .scope = SCOPE_GRADIENTS, .keep_input_gradient = true},
    {.mode = PLAN_TRAIN, .batch = 4, .no_fusion = true},
    {.mode = PLAN_EVALUATE, .batch = 7},
    {.mode = PLAN_PREDICT, .batch = 1},
};
enum { OPTIONS = sizeof every_options / sizeof *every_options };

static void check_model(const char *yaml)
{
    cornu_model *model = NULL;
    doc *recipe = NULL;
    assert_int_equal(doc_parse(yaml, strlen(yaml), "recipe", &recipe), CORNU_OK);
    assert_int_equal(model_from_recipe(recipe, &model), CORNU_OK);
    for (int i = 0; i < OPTIONS; i++) {
        plan *p;
        assert_int_equal(plan_build(model, &every_options[i], &p), CORNU_OK);
        size_t apart = check_plan(p, &every_options[i]);
        if (i == 1)
            assert_true(p->arena_bytes < apart);
        check_device(p, &every_options[i]);
        plan_free(p);
    }
    cornu_model_close(model);
}

static void no_two_live_buffers_overlap(void **state)
{
    (void)state;
    check_model(small);
}

static void no_two_live_buffers_of_the_built_in_recipes_overlap(void **state)
{
    (void)state;
    assert_non_null(embedded_recipes[0].name);
    for (int i = 0; embedded_recipes[i].name; i++)
        check_model(embedded_recipes[i].text);
}

/* Give every buffer its own memory. */
static void spread(prepared *r)
{
    const plan *p = r->plan;
    r->arena_bytes = 0;
    for (int i = 0; i < p->tensor_count; i++) {
        r->offsets[i] = r->arena_bytes;
        r->arena_bytes += (r->bytes[i] + 63) / 64 * 64;
    }
    for (int i = 0; i < p->tensor_count; i++)
        r->offsets[i] = r->offsets[root(p, i)];
}

/* Train three steps; returns the weights. */
static float *trained(cornu_model *model, bool apart)
{
    plan_options options = {.mode = PLAN_TRAIN, .batch = 6};
    net *n = net_open(model, "reference", &options);
    if (apart)
        spread(n->prepared);
    for (int i = 0; i < 3; i++) {
        n->input.iteration = i;
        net_run(n);
    }
    float *kernel = net_read_variable(n, "conv2d/kernel");
    net_close(n);
    return kernel;
}

static void sharing_memory_changes_no_bit(void **state)
{
    (void)state;
    cornu_model *model = net_model(small);
    float *shared = trained(model, false), *apart = trained(model, true);
    assert_memory_equal(shared, apart, 3 * 3 * 2 * 3 * sizeof *shared);
    assert_memory_not_equal(shared, model_variable(model, "conv2d/kernel")->value,
                            3 * 3 * 2 * 3 * sizeof *shared);
    free(shared);
    free(apart);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_live_buffers_overlap),
        cmocka_unit_test(no_two_live_buffers_of_the_built_in_recipes_overlap),
        cmocka_unit_test(sharing_memory_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

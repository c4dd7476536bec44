/* See random_net.h. Layers are appended with options drawn without regard to the shapes: what does
   not fit is refused, and the next one is drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "support/random_net.h"
#include "support/runs.h"
#include <cornu/cornu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 3, ELEMENTS_MOST = 1500 };

typedef struct drawn {
    random_stream r;
    cornu_model *m;
} drawn;

static int below(drawn *d, int n)
{
    return (int)random_below(&d->r, (uint32_t)n);
}

static int between(drawn *d, int least, int most)
{
    return least + below(d, most - least + 1);
}

static bool chance(drawn *d, int percent)
{
    return below(d, 100) < percent;
}

static const char *one_of(drawn *d, const char *const *names)
{
    int count = 0;
    while (names[count])
        count++;
    return names[below(d, count)];
}

/* ---- appending ---------------------------------------------------------------------------- */

static bool append(drawn *d, const char *kind, const int *inputs, int count, const char *options)
{
    doc *at;
    expect_ok(doc_parse(options, strlen(options), "random", &at));
    cornu_status status = model_append_on(d->m, kind, at, at, inputs, count);
    if (status == CORNU_OK)
        d->m->layers[d->m->layer_count - 1]->where = NULL;
    doc_free(at);
    return status == CORNU_OK;
}

__attribute__((format(printf, 4, 5))) static bool add(drawn *d, int input, const char *kind,
                                                      const char *format, ...)
{
    char options[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(options, sizeof options, format, arguments);
    va_end(arguments);
    return append(d, kind, &input, 1, options);
}

static int last(const drawn *d)
{
    return d->m->node_count - 1;
}

/* A node, rather a late one. */
static int pick_node(drawn *d)
{
    const double u = (double)random_uniform(&d->r);
    const int back = (int)(u * u * d->m->node_count);
    return d->m->node_count - 1 - (back < d->m->node_count ? back : 0);
}

static const shape *shape_of(const drawn *d, int node)
{
    return &d->m->nodes[node].out;
}

/* ---- layers ------------------------------------------------------------------------------- */

static const char *const paddings[] = {"same", "valid", NULL};

static const char *activation_of(drawn *d)
{
    return activation_name((activation_kind)below(d, ACTIVATION_COUNT));
}

static bool add_conv(drawn *d, int x)
{
    const int groups = chance(d, 30) ? (int)shape_of(d, x)->dim[2] : 1;
    return add(d, x, "Conv2D",
               "{filters: %d, kernel_size: [%d, %d], strides: %d, padding: %s, groups: %d, "
               "activation: %s, use_bias: %s}",
               groups * between(d, 1, chance(d, 20) ? 20 : 4), between(d, 1, 3), between(d, 1, 3),
               chance(d, 70) ? 1 : 2, one_of(d, paddings), groups, activation_of(d),
               chance(d, 70) ? "true" : "false");
}

static bool add_square_conv(drawn *d, int x)
{
    return add(d, x, "Conv2D", "{filters: %d, kernel_size: %d, padding: same, activation: %s}",
               between(d, 1, 8), chance(d, 60) ? 3 : 5, chance(d, 50) ? "relu" : "linear");
}

static bool add_pool(drawn *d, int x)
{
    return add(d, x, chance(d, 60) ? "MaxPooling2D" : "AveragePooling2D",
               "{pool_size: %d, strides: %d, padding: %s}", between(d, 2, 3), between(d, 1, 3),
               one_of(d, paddings));
}

static bool add_padding(drawn *d, int x)
{
    return add(d, x, "ZeroPadding2D", "{padding: [[%d, %d], [%d, %d]]}", below(d, 3), below(d, 2),
               below(d, 2), below(d, 3));
}

static bool add_global_pool(drawn *d, int x)
{
    return add(d, x, "GlobalAveragePooling2D", "{keepdims: %s}", chance(d, 60) ? "true" : "false");
}

static bool add_dense(drawn *d, int x)
{
    return add(d, x, "Dense", "{units: %d, activation: %s, use_bias: %s}",
               between(d, 1, chance(d, 20) ? 60 : 6), activation_of(d),
               chance(d, 80) ? "true" : "false");
}

static bool add_norm(drawn *d, int x)
{
    return add(d, x, chance(d, 70) ? "BatchNormalization" : "LayerNormalization",
               "{epsilon: 0.1, center: %s, scale: %s}", chance(d, 80) ? "true" : "false",
               chance(d, 80) ? "true" : "false");
}

static bool add_plain(drawn *d, int x)
{
    static const char *const kinds[] = {"Flatten", "LeakyReLU", "ReLU",      "ELU",
                                        "Softmax", "Dropout",   "Rescaling", NULL};
    const char *kind = one_of(d, kinds);
    const char *options = strcmp(kind, "Dropout") == 0     ? "{rate: 0.3}"
                          : strcmp(kind, "Rescaling") == 0 ? "{scale: 0.7, offset: 0.1}"
                                                           : "{}";
    return append(d, kind, &x, 1, options);
}

static bool add_activation(drawn *d, int x)
{
    return add(d, x, "Activation", "{activation: %s}", activation_of(d));
}

static bool add_reshape(drawn *d, int x)
{
    const int n = (int)shape_elements(shape_of(d, x)), first = between(d, 1, n);
    return chance(d, 50)
               ? add(d, x, "Reshape", "{target_shape: [%d, -1]}", first)
               : add(d, x, "Reshape", "{target_shape: [%d, %d, -1]}", between(d, 1, 4), first);
}

/* ---- merging layers ----------------------------------------------------------------------- */

static const layer_kind *pick_merge(drawn *d)
{
    const layer_kind *found = NULL;
    int count = 0;
    for (const layer_kind *const *k = layer_kinds; *k; k++)
        if ((*k)->merges && below(d, ++count) == 0)
            found = *k;
    return found;
}

/* One of the same shape, perhaps x itself; sometimes any: then the layer may refuse it. */
static int pick_other(drawn *d, int x)
{
    for (int tries = 0; tries < 20; tries++) {
        const int node = pick_node(d);
        if (chance(d, 5) || shape_equal(shape_of(d, node), shape_of(d, x)))
            return node;
    }
    return x;
}

static bool add_merge(drawn *d, int x)
{
    const layer_kind *kind = pick_merge(d);
    char options[64] = "{}";
    int inputs[INPUTS_MOST] = {x}, count = chance(d, 70) ? 2 : INPUTS_MOST;
    for (int i = 1; i < count; i++)
        inputs[i] = pick_other(d, x);
    if (chance(d, 50)) {
        inputs[0] = inputs[count - 1];
        inputs[count - 1] = x;
    }
    if (strcmp(kind->name, "Concatenate") == 0)
        snprintf(options, sizeof options, "{axis: %d}", chance(d, 60) ? -1 : between(d, 1, 3));
    if (strcmp(kind->name, "Dot") == 0)
        snprintf(options, sizeof options, "{axes: %d}", chance(d, 60) ? -1 : between(d, 1, 2));
    return append(d, kind->name, inputs, count, options);
}

/* A layer on one input is called again, with its weights, if they fit. */
static bool call_again(drawn *d, int x)
{
    layer *l = d->m->layers[below(d, d->m->layer_count)];
    const bool one = !l->kind->merges && l->kind->emit;
    return one && model_call_again(d->m, l, NULL, NULL, &x, 1) == CORNU_OK;
}

/* ---- a network ---------------------------------------------------------------------------- */

typedef bool add_function(drawn *d, int x);

static void add_one(drawn *d)
{
    static add_function *const of_images[] = {add_conv,  add_conv,    add_square_conv, add_pool,
                                              add_pool,  add_padding, add_global_pool, add_norm,
                                              add_merge, add_dense,   add_merge};
    static add_function *const of_any[] = {add_dense, add_norm,  add_plain,  add_activation,
                                           add_merge, add_merge, add_reshape};
    const int x = pick_node(d);
    const bool image = shape_of(d, x)->rank == 3 && chance(d, 75);
    add_function *f = image ? of_images[below(d, sizeof of_images / sizeof *of_images)]
                            : of_any[below(d, sizeof of_any / sizeof *of_any)];
    if (shape_elements(shape_of(d, x)) > ELEMENTS_MOST || (chance(d, 15) && call_again(d, x)))
        return;
    f(d, x);
}

static bool is_read(const cornu_model *m, int node)
{
    for (int i = node + 1; i < m->node_count; i++)
        for (int k = 0; k < m->nodes[i].input_count; k++)
            if (m->nodes[i].inputs[k] == node)
                return true;
    return false;
}

/* What no layer reads becomes rows, and their sum or mean is what the last layer reads. */
static void finish(drawn *d)
{
    int ends[100], count = 0;
    const int before = d->m->node_count;
    for (int i = 0; i < before; i++) {
        int x = i;
        if (is_read(d->m, i))
            continue;
        if (shape_of(d, i)->rank == 3 && chance(d, 40) &&
            add(d, i, "GlobalAveragePooling2D", "{keepdims: false}"))
            x = last(d);
        else if (shape_of(d, i)->rank > 1 && add(d, i, "Flatten", "{}"))
            x = last(d);
        if (!add(d, x, "Dense", "{units: 4, activation: %s}", chance(d, 50) ? "tanh" : "linear"))
            fail_msg("%s", cornu_last_error());
        ends[count++] = last(d);
    }
    if (count > 1 && !append(d, chance(d, 50) ? "Add" : "Average", ends, count, "{}"))
        fail_msg("%s", cornu_last_error());
    add(d, last(d), "Dense", "{units: 3, activation: %s}", chance(d, 50) ? "softmax" : "linear");
}

static void draw_weights(cornu_model *m, uint64_t seed)
{
    random_stream r = random_open(seed, RANDOM_INITIALIZE, 1);
    expect_ok(model_initialize(m, seed + 1));
    for (int i = 0; i < m->weight_count; i++) {
        const variable *v = &m->variables[i];
        const char *name = strrchr(v->name, '/');
        const bool factor = strcmp(name, "/gamma") == 0 || strcmp(name, "/moving_variance") == 0;
        for (int64_t k = 0; v->shape.rank == 1 && k < v->count; k++)
            v->value[k] = random_uniform(&r) + (factor ? 0.5F : -0.4F);
    }
}

cornu_model *random_net(uint64_t seed)
{
    drawn d = {.r = random_open(seed, RANDOM_GENERATE, 2)};
    shape input = {.rank = 3, .dim = {between(&d, 3, 8), between(&d, 3, 8), between(&d, 1, 4)}};
    if (chance(&d, 20))
        input = (shape){.rank = 1, .dim = {between(&d, 2, 12)}};
    expect_ok(model_new("random", "random", &d.m));
    expect_ok(model_add_input(d.m, NULL, &input));
    for (int i = between(&d, 4, 24); i > 0; i--)
        add_one(&d);
    finish(&d);
    expect_ok(model_check_graph(d.m));
    expect_ok(model_settle(d.m));
    expect_ok(cornu_model_compile(d.m, "{optimizer: sgd, loss: mean_squared_error}"));
    draw_weights(d.m, seed);
    return d.m;
}

/* ---- for tests ---------------------------------------------------------------------------- */

char *random_net_show(const cornu_model *m)
{
    json_t *config = model_to_keras(m);
    char *shown = json_dumps(config, JSON_COMPACT);
    json_decref(config);
    return shown;
}

int random_net_count(int fallback)
{
    const char *given = getenv("CORNU_TEST_GRAPHS");
    return given ? atoi(given) : fallback;
}

uint64_t random_net_first(void)
{
    const char *given = getenv("CORNU_TEST_SEED");
    return given ? strtoull(given, NULL, 10) : 1;
}

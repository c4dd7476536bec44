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

enum { INPUTS_MOST = 3, OUTPUTS_MOST = 3, ENDS_MOST = 200, ELEMENTS_MOST = 1500 };

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

/* Dot, whose options depend on shapes, and Where have functions of their own. Of two tensors, which
   may be equal but for roundings, no comparison is drawn. */
static bool is_left_out(const layer_kind *k)
{
    static const char *const names[] = {"Dot",  "Equal",     "Greater",  "GreaterEqual",
                                        "Less", "LessEqual", "NotEqual", "Where"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(k->name, names[i]) == 0)
            return true;
    return false;
}

static const layer_kind *pick_merge(drawn *d)
{
    const layer_kind *found = NULL;
    int count = 0;
    for (const layer_kind *const *k = layer_kinds; *k; k++)
        if ((*k)->merges && !is_left_out(*k) && below(d, ++count) == 0)
            found = *k;
    return found;
}

static bool broadcasts(const shape *a, const shape *b)
{
    for (int i = 1; i <= a->rank && i <= b->rank; i++) {
        const int64_t m = a->dim[a->rank - i], n = b->dim[b->rank - i];
        if (m != n && m != 1 && n != 1)
            return false;
    }
    return true;
}

/* One of the same shape, perhaps x itself, or of one that can be broadcast; sometimes any: then the
   layer may refuse it. */
static int pick_other(drawn *d, int x)
{
    const bool equal = chance(d, 70);
    for (int tries = 0; tries < 20; tries++) {
        const int node = pick_node(d);
        const shape *a = shape_of(d, node), *b = shape_of(d, x);
        if (chance(d, 5) || (equal ? shape_equal(a, b) : broadcasts(a, b)))
            return node;
    }
    return x;
}

/* x becomes a number between 0.5 and 1.5. */
static bool add_positive(drawn *d, int *x)
{
    if (!add(d, *x, "Activation", "{activation: sigmoid}") ||
        !add(d, last(d), "Rescaling", "{scale: 1, offset: 0.5}"))
        return false;
    *x = last(d);
    return true;
}

/* A function that is no activation, of numbers of which all have one. */
static bool add_element_function(drawn *d, int x)
{
    static const char *const kinds[] = {"Absolute", "Exp",  "Log",    "Reciprocal",
                                        "Rsqrt",    "Sqrt", "Square", NULL};
    return add_positive(d, &x) && append(d, one_of(d, kinds), &x, 1, "{}");
}

static bool divides(const layer_kind *k)
{
    return strcmp(k->name, "Divide") == 0 || strcmp(k->name, "TrueDivide") == 0;
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
    if (divides(kind) && !add_positive(d, &inputs[1]))
        return false;
    if (strcmp(kind->name, "Concatenate") == 0)
        snprintf(options, sizeof options, "{axis: %d}", chance(d, 60) ? -1 : between(d, 1, 3));
    return append(d, kind->name, inputs, count, options);
}

/* An array beside x, some of whose dimensions are 1, as text; numbers of both signs, none near 0.
 */
static void draw_array(drawn *d, int x, char *array, size_t size)
{
    const shape *s = shape_of(d, x);
    int64_t dim[SHAPE_MAX];
    size_t used = 0;
    int64_t count = 1;
    for (int i = 0; i < s->rank; i++) {
        dim[i] = chance(d, 50) || count * s->dim[i] > 24 ? 1 : s->dim[i];
        count *= dim[i];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t inner = 1;
        for (int axis = s->rank - 1; axis >= 0; axis--) {
            inner *= dim[axis];
            if (i % inner == 0)
                used += (size_t)snprintf(array + used, size - used, "[");
        }
        used += (size_t)snprintf(array + used, size - used, "%s%d.%d3", chance(d, 50) ? "-" : "",
                                 below(d, 2), between(d, 5, 9));
        inner = 1;
        for (int axis = s->rank - 1; axis >= 0; axis--) {
            inner *= dim[axis];
            if ((i + 1) % inner == 0)
                used += (size_t)snprintf(array + used, size - used, "]");
        }
        used += (size_t)snprintf(array + used, size - used, i + 1 < count ? "," : "");
    }
}

enum { ARRAY_TEXT = 512 };

/* An array in the place of one of two inputs. */
static bool add_beside_array(drawn *d, int x)
{
    static const char *const kinds[] = {"Add",     "Subtract", "Multiply",  "Divide", "Maximum",
                                        "Minimum", "Greater",  "LessEqual", NULL};
    char array[ARRAY_TEXT], options[ARRAY_TEXT + 8];
    draw_array(d, x, array, sizeof array);
    const char *kind = one_of(d, kinds);
    snprintf(options, sizeof options, "{%s: %s}",
             chance(d, 50) && strcmp(kind, "Divide") != 0 ? "x1" : "x2", array);
    return append(d, kind, &x, 1, options);
}

/* A condition and two operands, of which at least one is a tensor, and others are arrays. */
static bool add_where(drawn *d, int x)
{
    static const char *const keys[] = {"condition", "x1", "x2"};
    char array[ARRAY_TEXT], options[3 * ARRAY_TEXT] = "";
    int inputs[3], count = 0;
    const int tensor = below(d, 3);
    for (int i = 0; i < 3; i++) {
        const bool is_tensor = i == tensor || chance(d, 30);
        draw_array(d, x, array, sizeof array);
        if (is_tensor)
            inputs[count++] = i == tensor ? x : pick_other(d, x);
        if (is_tensor && i == 0) { /* a part of its numbers is 0 */
            if (!add(d, inputs[0], "Activation", "{activation: relu}"))
                return false;
            inputs[0] = last(d);
        }
        if (!is_tensor)
            snprintf(options + strlen(options), sizeof options - strlen(options), "%s%s: %s",
                     *options ? ", " : "{", keys[i], i > 0 && chance(d, 30) ? "0" : array);
    }
    strncat(options, *options ? "}" : "{}", sizeof options - strlen(options) - 1);
    return append(d, "Where", inputs, count, options);
}

/* x is repeated along its dimensions of 1, or repeats another. */
static bool add_broadcast(drawn *d, int x)
{
    static const char *const kinds[] = {"Add",     "Average", "Subtract", "Multiply",
                                        "Maximum", "Minimum", NULL};
    const shape *s = shape_of(d, x);
    char target[64] = "";
    int64_t units = 1;
    for (int i = below(d, s->rank); i < s->rank; i++) {
        const int64_t n = chance(d, 50) ? 1 : s->dim[i];
        snprintf(target + strlen(target), sizeof target - strlen(target), "%lld, ", (long long)n);
        units *= n;
    }
    if (units > ELEMENTS_MOST || !add(d, x, "Flatten", "{}") ||
        !add(d, last(d), "Dense", "{units: %d}", (int)units) ||
        !add(d, last(d), "Reshape", "{target_shape: [%s]}", target))
        return false;
    const int made = last(d), order[2][2] = {{x, made}, {made, x}};
    return append(d, one_of(d, kinds), order[below(d, 2)], 2, "{}");
}

/* A vector of one number is not normalized: its sign may be that of a rounding. */
static bool add_dot(drawn *d, int x)
{
    const int other = pick_node(d), inputs[] = {x, other};
    const int axis = between(d, 1, shape_of(d, x)->rank);
    char options[64];
    snprintf(options, sizeof options, "{axes: [%d, %d], normalize: %s}", axis,
             between(d, 1, shape_of(d, other)->rank),
             chance(d, 30) && shape_of(d, x)->dim[axis - 1] > 1 ? "true" : "false");
    return append(d, "Dot", inputs, 2, options);
}

/* A layer on one input is called again, with its weights, if they fit. */
static bool call_again(drawn *d, int x)
{
    layer *l = d->m->layers[below(d, d->m->layer_count)];
    const bool one = !l->kind->merges && l->kind->emit; /* not an input */
    return one && model_call_again(d->m, l, NULL, NULL, &x, 1) == CORNU_OK;
}

/* ---- a network ---------------------------------------------------------------------------- */

typedef bool add_function(drawn *d, int x);

static void add_one(drawn *d)
{
    static add_function *const of_images[] = {add_conv,  add_conv,    add_square_conv, add_pool,
                                              add_pool,  add_padding, add_global_pool, add_norm,
                                              add_merge, add_dense,   add_merge};
    static add_function *const of_any[] = {
        add_dense,   add_norm, add_plain,     add_activation,       add_merge,        add_merge,
        add_reshape, add_dot,  add_broadcast, add_element_function, add_beside_array, add_where};
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

/* Rows of any node. */
static int add_rows(drawn *d, int x)
{
    if (shape_of(d, x)->rank == 3 && chance(d, 40) &&
        add(d, x, "GlobalAveragePooling2D", "{keepdims: false}"))
        x = last(d);
    else if (shape_of(d, x)->rank > 1 && add(d, x, "Flatten", "{}"))
        x = last(d);
    if (!add(d, x, "Dense", "{units: 4, activation: %s}", chance(d, 50) ? "tanh" : "linear"))
        fail_msg("%s", cornu_last_error());
    return last(d);
}

/* An output: the sum or mean of rows of these nodes, and a layer on it; of one node sometimes a
   layer on all its dimensions. */
static int add_output(drawn *d, const int *ends, int count)
{
    int rows[ENDS_MOST], x;
    if (count == 1 && chance(d, 30) && add(d, ends[0], "Dense", "{units: 2, activation: softmax}"))
        return last(d);
    for (int i = 0; i < count; i++)
        rows[i] = add_rows(d, ends[i]);
    x = rows[0];
    if (count > 1) {
        if (!append(d, chance(d, 50) ? "Add" : "Average", rows, count, "{}"))
            fail_msg("%s", cornu_last_error());
        x = last(d);
    }
    add(d, x, "Dense", "{units: 3, activation: %s}", chance(d, 50) ? "softmax" : "linear");
    return last(d);
}

/* What no layer reads leads to one of the outputs; one for which nothing is left is another layer's
   output, or a layer on that. */
static void finish(drawn *d, int outputs)
{
    int ends[OUTPUTS_MOST][ENDS_MOST], counts[OUTPUTS_MOST] = {0}, nodes[OUTPUTS_MOST];
    const int before = d->m->node_count;
    int turn = 0;
    for (int i = 0; i < before; i++)
        if (!is_read(d->m, i)) {
            const int k = turn < outputs ? turn : below(d, outputs);
            ends[k][counts[k]++] = i;
            turn++;
        }
    for (int k = 0; k < outputs; k++) {
        const int inner = before - 1 - k; /* of several outputs each another one */
        if (counts[k] == 0 && inner >= d->m->input_count && chance(d, 50)) {
            nodes[k] = inner;
            continue;
        }
        if (counts[k] == 0)
            ends[k][counts[k]++] = pick_node(d);
        nodes[k] = add_output(d, ends[k], counts[k]);
    }
    expect_ok(model_choose_outputs(d->m, NULL, nodes, outputs));
}

/* Some layers are frozen, but never all. */
static void freeze(drawn *d)
{
    const int percent = chance(d, 40) ? between(d, 5, 60) : 0;
    const layer *last_one = d->m->nodes[d->m->outputs[0].node].layer;
    for (int i = 0; i < d->m->layer_count; i++)
        if (d->m->layers[i] != last_one && chance(d, percent))
            expect_ok(cornu_model_set_trainable(d->m, d->m->layers[i]->name, false));
}

/* A loss for each output, of class numbers only under a softmax, and a weight. */
static void compile(drawn *d)
{
    static const char *const values[] = {"mean_squared_error", "mean_absolute_error", NULL};
    static const char *const classes[] = {"sparse_categorical_crossentropy", "mean_squared_error",
                                          NULL};
    char losses[256] = "", weights[64] = "", section[512];
    for (int i = 0; i < d->m->output_count; i++) {
        const bool softmax = i == 0 && model_output_activation(d->m) == ACTIVATION_SOFTMAX;
        snprintf(losses + strlen(losses), sizeof losses - strlen(losses), "%s, ",
                 one_of(d, softmax ? classes : values));
        snprintf(weights + strlen(weights), sizeof weights - strlen(weights), "%d.5, ",
                 below(d, 2));
    }
    snprintf(section, sizeof section, "{optimizer: sgd, loss: [%s], loss_weights: [%s]}", losses,
             weights);
    expect_ok(cornu_model_compile(d->m, section));
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

static void add_input(drawn *d)
{
    shape s = {.rank = 3, .dim = {between(d, 3, 8), between(d, 3, 8), between(d, 1, 4)}};
    if (chance(d, 20))
        s = (shape){.rank = 1, .dim = {between(d, 2, 12)}};
    expect_ok(model_add_input(d->m, NULL, NULL, &s));
}

cornu_model *random_net(uint64_t seed)
{
    drawn d = {.r = random_open(seed, RANDOM_GENERATE, 2)};
    expect_ok(model_new("random", "random", &d.m));
    for (int i = chance(&d, 60) ? 1 : between(&d, 2, 3); i > 0; i--)
        add_input(&d);
    for (int i = between(&d, 4, 24); i > 0; i--)
        add_one(&d);
    finish(&d, chance(&d, 60) ? 1 : between(&d, 2, OUTPUTS_MOST));
    expect_ok(model_check_graph(d.m));
    expect_ok(model_settle(d.m));
    freeze(&d);
    compile(&d);
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

/* Gradients against central differences of the loss: every layer row with each of its samples,
   every loss row in each of its forms, on every device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "support/net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Differences of 32-bit losses: a step of 1/500 leaves about 1e-4 of noise and of curvature. */
static const double STEP = 2e-3, TOLERANCE = 0.01, SINGLE_TOLERANCE = 0.02;
enum { SINGLES = 6, BATCH = 3 };

/* The tensor that is varied: the input's or one weight's values. */
typedef struct moved {
    net *net;
    const char *name;
    int variable; /* -1: the input */
    int64_t count;
    float *values;         /* the original values */
    const float *gradient; /* computed by the plan */
} moved;

/* The loss with values + step * direction. */
static double loss_at(moved *m, const float *direction, double step)
{
    float *at = m->variable < 0 ? m->net->x : malloc((size_t)m->count * sizeof *at);
    for (int64_t i = 0; i < m->count; i++)
        at[i] = (float)(m->values[i] + step * direction[i]);
    if (m->variable >= 0) {
        net_write_variable(m->net, m->variable, at);
        free(at);
    }
    return net_run(m->net);
}

static void put_back(moved *m)
{
    if (m->variable < 0)
        memcpy(m->net->x, m->values, (size_t)m->count * sizeof *m->values);
    else
        net_write_variable(m->net, m->variable, m->values);
}

/* Slope of the loss along `direction`. */
static double slope(moved *m, const float *direction)
{
    double up = loss_at(m, direction, STEP), down = loss_at(m, direction, -STEP);
    put_back(m);
    return (up - down) / (2 * STEP);
}

static bool agree(double found, double expected, double scale, double tolerance)
{
    return fabs(found - expected) <= tolerance * scale + 2e-5;
}

/* All elements at once: signs of `direction` random, so that errors do not cancel. */
static int check_direction(moved *m, const char *what, float *direction)
{
    random_stream r = random_open(11, RANDOM_GENERATE, 1);
    double expected = 0, norm = 0;
    for (int64_t i = 0; i < m->count; i++) {
        direction[i] = random_u32(&r) & 1 ? 1 : -1;
        expected += (double)direction[i] * (double)m->gradient[i];
        norm += (double)m->gradient[i] * (double)m->gradient[i];
    }
    double found = slope(m, direction);
    if (agree(found, expected, sqrt(norm), TOLERANCE))
        return 0;
    print_error("%s, d %s: found slope %.6g, gradient says %.6g\n", what, m->name, found, expected);
    return 1;
}

static int check_single(moved *m, const char *what, float *direction, int64_t i, double largest)
{
    memset(direction, 0, (size_t)m->count * sizeof *direction);
    direction[i] = 1;
    double found = slope(m, direction);
    if (agree(found, (double)m->gradient[i], largest, SINGLE_TOLERANCE))
        return 0;
    print_error("%s, d %s[%lld]: found slope %.6g, gradient says %.6g\n", what, m->name,
                (long long)i, found, (double)m->gradient[i]);
    return 1;
}

static int check_moved(moved *m, const char *what)
{
    float *direction = calloc((size_t)m->count, sizeof *direction);
    double largest = 0;
    for (int64_t i = 0; i < m->count; i++)
        largest = fmax(largest, fabs((double)m->gradient[i]));
    int failures = check_direction(m, what, direction);
    random_stream r = random_open(13, RANDOM_GENERATE, 2);
    for (int k = 0; k < SINGLES; k++)
        failures += check_single(m, what, direction, random_below(&r, (uint32_t)m->count), largest);
    free(direction);
    return failures;
}

static int check_input(net *n, const char *what)
{
    moved m = {.net = n, .name = "input", .variable = -1, .count = n->x_count};
    /* Comparisons have none: their outputs do not change. */
    const tensor_ref t = n->plan->input_gradient;
    float *gradient = t == NO_TENSOR
                          ? calloc(sizeof *gradient, (size_t)n->plan->tensors[n->plan->input].count)
                          : net_read(n, t);
    m.values = malloc((size_t)m.count * sizeof *m.values);
    memcpy(m.values, n->x, (size_t)m.count * sizeof *m.values);
    m.gradient = gradient;
    int failures = check_moved(&m, what);
    free(m.values);
    free(gradient);
    return failures;
}

static int check_weight(net *n, int number, const char *what)
{
    const variable *v = &n->model->variables[number];
    moved m = {.net = n, .name = v->name, .variable = number, .count = v->count};
    float *gradient = net_read(n, n->plan->gradients[number]);
    m.values = net_read_variable(n, v->name);
    m.gradient = gradient;
    int failures = check_moved(&m, what);
    free(m.values);
    free(gradient);
    return failures;
}

/* Biases and similar weights start at 0 or 1, which hides mistakes. */
static void draw_weights(net *n)
{
    for (int i = 0; i < n->model->weight_count; i++) {
        const variable *v = &n->model->variables[i];
        float *values = malloc((size_t)v->count * sizeof *values);
        net_fill(values, v->count, (uint64_t)(20 + i));
        for (int64_t k = 0; k < v->count; k++)
            values[k] = v->trainable ? values[k] * 0.8f + 0.05f : 1.5f + values[k] * 0.5f;
        net_write_variable(n, i, values);
        free(values);
    }
}

static int checked; /* number of models, on all devices */

static int check_model(cornu_model *model, const char *device_name, const char *what)
{
    plan_options options = {
        .mode = PLAN_TRAIN, .batch = BATCH, .keep_input_gradient = true, .scope = SCOPE_GRADIENTS};
    net *n = net_open(model, device_name, &options);
    int failures = 0;
    if (net_misses_kernel(n->device, n->prepared, n->plan)) {
        net_close(n);
        return 0;
    }
    checked++;
    draw_weights(n);
    net_run(n);
    failures += check_input(n, what);
    for (int i = 0; i < model->weight_count; i++) {
        assert_int_equal(n->plan->gradients[i] != NO_TENSOR, model->variables[i].trainable);
        net_run(n); /* the previous check has changed the gradients */
        if (model->variables[i].trainable)
            failures += check_weight(n, i, what);
    }
    net_close(n);
    return failures;
}

static int check_on_every_device(cornu_model *model, const char *what)
{
    int failures = 0;
    for (int i = 0; net_device(i); i++) {
        char label[512];
        device *d = net_device_open(net_device(i), NULL);
        bool lacks = net_lacks(d, model);
        d->ops->close(d);
        if (lacks)
            continue;
        snprintf(label, sizeof label, "%s on %s", what, net_device(i));
        failures += check_model(model, net_device(i), label);
    }
    return failures;
}

static void every_layer_row_has_the_gradients_that_differences_give(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; layer_kinds[i]; i++) {
        for (int k = 0; layer_kinds[i]->samples[k]; k++) {
            char what[400];
            if (layer_kinds[i]->changes_weights)
                break; /* the gradient, as Keras's, is that of the changed ones */
            snprintf(what, sizeof what, "%s %s", layer_kinds[i]->name, layer_kinds[i]->samples[k]);
            cornu_model *model = net_layer(layer_kinds[i], layer_kinds[i]->samples[k]);
            failures += check_on_every_device(model, what);
            cornu_model_close(model);
        }
    }
    assert_true(checked > (getenv("CORNU_TEST_KERNEL") ? 0 : 30));
    assert_int_equal(failures, 0);
}

/* Networks that branch: a tensor's gradient is the sum over its readers. */
static const struct {
    const char *name, *input, *layers;
} graphs[] = {
    {"residual block", "5, 6, 2",
     "[{Conv2D: {filters: 3, kernel_size: 3, padding: same, activation: tanh, name: stem}}, "
     "{Conv2D: {filters: 3, kernel_size: 3, padding: same, name: inner}}, "
     "{Add: {inputs: [stem, inner]}}, {Activation: {activation: tanh}}, Flatten, "
     "{Dense: {units: 2}}]"},
    {"block with a shortcut of its own", "6, 5, 2",
     "[{Conv2D: {filters: 3, kernel_size: 3, strides: 2, padding: same, use_bias: false}}, "
     "BatchNormalization, {Activation: {activation: elu}}, "
     "{Conv2D: {filters: 4, kernel_size: 3, padding: same, name: inner}}, "
     "{Conv2D: {filters: 4, kernel_size: 1, strides: 2, inputs: input_layer, name: shortcut}}, "
     "{Add: {inputs: [inner, shortcut]}}, GlobalAveragePooling2D, {Dense: {units: 2}}]"},
    {"parallel branches", "6, 6, 3",
     "[{Conv2D: {filters: 3, kernel_size: 1, activation: tanh, name: stem}}, "
     "{Conv2D: {filters: 3, kernel_size: 3, padding: same, name: a}}, "
     "{Conv2D: {filters: 3, kernel_size: 1, inputs: stem, name: b}}, "
     "{AveragePooling2D: {pool_size: 3, strides: 1, padding: same, inputs: stem, name: c}}, "
     "{Average: {inputs: [a, b, c, stem]}}, Flatten, {Dense: {units: 2, activation: tanh}}]"},
    {"penalties on pairs of rows and of columns", "5",
     "[{Dense: {units: 4, activation: tanh, kernel_regularizer: {orthogonal_regularizer: {factor: "
     "0.5}}}}, {Dense: {units: 2, kernel_regularizer: {orthogonal_regularizer: {factor: 0.3, mode: "
     "columns}}}}]"},
    {"one tensor twice", "4", "[{Dense: {units: 3, name: a}}, {Add: {inputs: [a, a]}}]"},
    {"ladder of sums", "4",
     "[{Dense: {units: 3, activation: tanh, name: a}}, {Dense: {units: 3, name: b}}, "
     "{Add: {inputs: [a, b], name: c}}, {Add: {inputs: [c, a], name: d}}, "
     "{Add: {inputs: [d, c, b]}}, {Dense: {units: 2}}]"},
    {"shapes of one tensor", "4, 3, 2",
     "[{Conv2D: {filters: 4, kernel_size: 1, activation: tanh, name: stem}}, Flatten, "
     "{Dense: {units: 5, name: a}}, {Reshape: {target_shape: [2, 24], inputs: stem}}, Flatten, "
     "{Dense: {units: 5, name: b}}, {GlobalAveragePooling2D: {inputs: stem}}, "
     "{Dense: {units: 5, name: c}}, {Add: {inputs: [a, b, c]}}]"},
    {"two norms of the input", "4, 3, 2",
     "[{BatchNormalization: {name: a}}, {BatchNormalization: {inputs: input_layer, name: b}}, "
     "{Add: {inputs: [a, b, input_layer]}}, Flatten, {Dense: {units: 2}}]"},
    {"frozen batch norm", "5",
     "[{Dense: {units: 4, activation: tanh}}, {BatchNormalization: {trainable: false}}, "
     "{Activation: {activation: tanh}}, {Dense: {units: 3}}]"},
    {"frozen batch norms of images", "5, 4, 2",
     "[{Conv2D: {filters: 3, kernel_size: 3}}, {BatchNormalization: {trainable: false, scale: "
     "false}}, {BatchNormalization: {trainable: false, center: false}}, "
     "{Activation: {activation: elu}}, Flatten, {Dense: {units: 2}}]"},
    {"frozen layers below, between and above", "6, 5, 2",
     "[{Conv2D: {filters: 3, kernel_size: 3, trainable: false, activation: tanh}}, "
     "BatchNormalization, {Conv2D: {filters: 4, kernel_size: 3, padding: same, trainable: false, "
     "name: a}}, {Conv2D: {filters: 4, kernel_size: 1, activation: tanh, name: b}}, "
     "{Add: {inputs: [a, b]}}, Flatten, {Dense: {units: 3}}, "
     "{Dense: {units: 2, trainable: false}}]"},
    {"repeated channels", "4, 3, 3",
     "[{GlobalAveragePooling2D: {}}, {Dense: {units: 3, activation: sigmoid, name: a}}, "
     "{Reshape: {target_shape: [1, 1, 3], name: b}}, {Multiply: {inputs: [input_layer, a], name: "
     "c}}, "
     "{Add: {inputs: [b, c]}}]"},
    {"three ranks", "4",
     "[{Dense: {units: 3, name: a}}, {Reshape: {target_shape: [3, 1], name: b}}, "
     "{Dense: {units: 2, inputs: input_layer}}, {Reshape: {target_shape: [2, 1, 1], name: c}}, "
     "{Multiply: {inputs: [a, b, c], name: d}}, {Subtract: {inputs: [d, b], name: e}}, "
     "{Average: {inputs: [e, c]}}, {Maximum: {inputs: [average, d]}}]"},
    {"branches beside each other", "5, 4, 2",
     "[{Conv2D: {filters: 3, kernel_size: 3, padding: same, activation: tanh, name: a}}, "
     "{MaxPooling2D: {pool_size: 3, strides: 1, padding: same, inputs: input_layer, name: b}}, "
     "{Concatenate: {inputs: [a, b, input_layer], name: c}}, "
     "{Concatenate: {axis: 1, inputs: [c, c]}}, Flatten, {Dense: {units: 2}}]"},
    {"a dense layer called three times", "6",
     "[{Dense: {units: 6, activation: tanh, name: a}}, {Call: {layer: a, name: b}}, "
     "{Call: {layer: a, inputs: input_layer}}, {Add: {inputs: [b, a/call_3, a]}}, "
     "{Dense: {units: 3}}]"},
    {"a layer that reads itself alone", "5",
     "[{Dense: {units: 5, activation: tanh, name: a}}, {Call: {layer: a}}, {Call: {layer: a}}]"},
    {"a convolution of two branches", "6, 5, 2",
     "[{Rescaling: {scale: -0.5, offset: 0.1, name: other}}, "
     "{Conv2D: {filters: 3, kernel_size: 3, activation: tanh, name: a}}, "
     "{MaxPooling2D: {pool_size: 2, name: b}}, "
     "{Call: {layer: a, inputs: input_layer}}, {Call: {layer: b, name: c}}, "
     "{Average: {inputs: [b, c]}}, Flatten, {Dense: {units: 2}}]"},
    {"a convolution on images of two sizes", "7, 6, 2",
     "[{Conv2D: {filters: 2, kernel_size: 3, padding: same, name: a}}, "
     "{AveragePooling2D: {pool_size: 2, name: half}}, {Call: {layer: a, name: b}}, "
     "{GlobalAveragePooling2D: {inputs: a, name: c}}, "
     "{GlobalAveragePooling2D: {inputs: b, name: d}}, {Add: {inputs: [c, d]}}]"},
    {"norms with shared weights", "4, 3, 2",
     "[{Conv2D: {filters: 3, kernel_size: 1, name: a}}, {BatchNormalization: {name: b}}, "
     "{Call: {layer: a, inputs: input_layer, name: c}}, {Activation: {activation: tanh, name: d}}, "
     "{Call: {layer: b, name: e}}, {LayerNormalization: {name: f}}, "
     "{Call: {layer: f, inputs: b, name: g}}, {Add: {inputs: [f, g]}}, Flatten, "
     "{Dense: {units: 2}}]"},
    {"shared layer with other dropouts", "7",
     "[{Dense: {units: 7, activation: tanh, name: a}}, {Dropout: {rate: 0.4, name: b}}, "
     "{Call: {layer: a, name: c}}, {Call: {layer: b, name: d}}, {Add: {inputs: [b, d]}}, "
     "{Dense: {units: 3}}]"},
    {"frozen layer called twice", "4",
     "[{Dense: {units: 4, activation: tanh, name: a, trainable: false}}, "
     "{Dense: {units: 4, activation: tanh, name: b}}, {Call: {layer: a}}, {Dense: {units: 2}}]"},
    {"rows of a table, called twice", "3,2",
     "[{Rescaling: {scale: 3.9, name: numbers}}, {Embedding: {input_dim: 5, output_dim: 3, name: "
     "a}}, {Rescaling: {scale: -2.3, inputs: input_layer, name: b}}, {Call: {layer: a, inputs: b, "
     "name: c}}, {Add: {inputs: [a, c]}}, Flatten, {Dense: {units: 2}}]"},
    {"dropout beside its input", "7",
     "[{Dense: {units: 6, activation: tanh, name: a}}, {Dropout: {rate: 0.4, name: b}}, "
     "{Add: {inputs: [b, a]}}, {Dense: {units: 3}}]"},
};

static void networks_that_branch_have_the_gradients_that_differences_give(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        char yaml[1024];
        snprintf(yaml, sizeof yaml,
                 "model: {input: [%s], layers: %s}\n"
                 "compile: {optimizer: sgd, loss: mean_squared_error}",
                 graphs[i].input, graphs[i].layers);
        cornu_model *model = net_model(yaml);
        failures += check_on_every_device(model, graphs[i].name);
        cornu_model_close(model);
    }
    assert_int_equal(failures, 0);
}

/* Several inputs, and several outputs whose losses have weights: the loss is their sum. */
static const struct {
    const char *name, *model, *compile;
} towers[] = {
    {"two inputs",
     "{inputs: {a: [4, 3, 2], b: [5]}, layers: ["
     "{Conv2D: {filters: 2, kernel_size: 2, activation: tanh, inputs: a}}, Flatten, "
     "{Dense: {units: 3, name: left}}, {Dense: {units: 3, inputs: b, name: right}}, "
     "{Add: {inputs: [left, right]}}, {Dense: {units: 2}}]}",
     "{optimizer: sgd, loss: mean_squared_error}"},
    {"two outputs",
     "{input: [5], layers: [{Dense: {units: 4, activation: tanh, name: stem}}, "
     "{Dense: {units: 3, name: value}}, "
     "{Dense: {units: 4, activation: softmax, inputs: stem, name: class}}], "
     "outputs: [value, class]}",
     "{optimizer: sgd, loss: {value: mse, class: sparse_categorical_crossentropy}, "
     "loss_weights: [0.25, 1.5], metrics: {class: [accuracy]}}"},
    {"an output within",
     "{inputs: {a: [4], b: [2, 2]}, layers: [{Flatten: {inputs: b}}, "
     "{Add: {inputs: [a, flatten]}}, {Dense: {units: 3, name: first}}, "
     "{Activation: {activation: sigmoid, name: shares}}, "
     "{Reshape: {target_shape: [3, 1], name: last}}], "
     "outputs: [last, first, shares]}",
     "{optimizer: sgd, loss: [mse, mse, binary_crossentropy], loss_weights: {first: 2}}"},
    {"one loss for all",
     "{input: [2, 3], layers: [{Dense: {units: 3, name: a}}, "
     "{Dense: {units: 2, inputs: input_layer, name: b}}], outputs: [a, b]}",
     "{optimizer: sgd, loss: mse}"},
    {"a weight of one loss", "{input: [4], layers: [{Dense: {units: 3, activation: softmax}}]}",
     "{optimizer: sgd, loss: sparse_categorical_crossentropy, loss_weights: 0.3}"},
};

static void several_inputs_and_outputs_have_the_gradients_that_differences_give(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++) {
        char yaml[2048];
        snprintf(yaml, sizeof yaml, "model: %s\ncompile: %s", towers[i].model, towers[i].compile);
        cornu_model *model = net_model(yaml);
        failures += check_on_every_device(model, towers[i].name);
        cornu_model_close(model);
    }
    assert_int_equal(failures, 0);
}

/* Outputs in 0..1 without a softmax or sigmoid; logits; and both activations. */
static const char *const heads[] = {
    "[{Dense: {units: 5, activation: tanh}}, {Rescaling: {scale: 0.4, offset: 0.5}}]",
    "[{Dense: {units: 5, activation: softmax}}]",
    "[{Dense: {units: 5, activation: sigmoid}}]",
};

/* Targets that are distributions, which every row accepts. */
static void normalise_targets(net *n, int64_t columns)
{
    for (int64_t row = 0; row < n->y_count / columns; row++) {
        double sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += n->y[row * columns + i] = fabsf(n->y[row * columns + i]) + 0.1f;
        for (int64_t i = 0; i < columns; i++)
            n->y[row * columns + i] = (float)(n->y[row * columns + i] / sum);
    }
}

static int check_loss(const char *loss, bool sparse, const char *head, const char *device_name)
{
    char yaml[2048], label[1024];
    snprintf(yaml, sizeof yaml,
             "model: {input: [4], layers: %s}\ncompile: {optimizer: sgd, loss: %s}", head, loss);
    snprintf(label, sizeof label, "%s after %s on %s", loss, head, device_name);
    cornu_model *model = net_model(yaml);
    plan_options options = {
        .mode = PLAN_TRAIN, .batch = BATCH, .keep_input_gradient = true, .scope = SCOPE_GRADIENTS};
    net *n = net_open(model, device_name, &options);
    draw_weights(n);
    if (!sparse)
        normalise_targets(n, 5);
    else if (strstr(loss, "circle"))
        n->y[1] = n->y[0]; /* a pair of one label beside two of two labels */
    net_run(n);
    int failures = check_input(n, label);
    net_run(n);
    failures += check_weight(n, 0, label);
    net_close(n);
    cornu_model_close(model);
    return failures;
}

static void every_loss_row_has_the_gradients_that_differences_give(void **state)
{
    (void)state;
    int failures = 0;
    for (int id = 0; id < LOSS_COUNT; id++) {
        const loss_kind *kind = loss_kind_of((loss_id)id);
        char logits[256];
        if (id == LOSS_VALUES)
            continue; /* has no name: see traced_losses */
        snprintf(logits, sizeof logits, "{class_name: %s, config: {from_logits: true}}",
                 kind->class_name);
        for (int d = 0; net_device(d); d++) {
            for (int h = 0; h < 3; h++)
                failures += kind->logits == LOSS_LOGITS_SIGMOID && h == 1
                                ? 0 /* is refused under a softmax */
                                : check_loss(kind->name, kind->sparse, heads[h], net_device(d));
            if (kind->logits != LOSS_LOGITS_NEVER)
                failures += check_loss(logits, kind->sparse, heads[0], net_device(d));
        }
    }
    assert_int_equal(failures, 0);
}

#define TRACED(layers)                                                                             \
    "{class_name: mine, config: {}, traced: {model: {inputs: {y_true: [5], y_pred: [5]}, layers: " \
    "[{Subtract: {inputs: [y_pred, y_true], name: d}}, " layers "]}}}"

/* Losses of the caller's own: of each number, of each sample, and of all samples together, which
   are the square root of a mean and a quotient of a sum and a largest number. */
static const char *const traced_losses[] = {
    TRACED("{Square: {}}"),
    TRACED("{Square: {}}, {Mean: {axis: 1, keepdims: true}}, {Sqrt: {}}"),
    TRACED("{Square: {}}, {Mean: {axis: null}}, {Sqrt: {}}"),
    TRACED("{Square: {name: s}}, {Sum: {axis: null, name: a}}, {Max: {inputs: [s], axis: null, "
           "name: b}}, "
           "{Divide: {inputs: [a, b]}}"),
};

static void traced_losses_have_the_gradients_that_differences_give(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof traced_losses / sizeof *traced_losses; i++)
        for (int d = 0; net_device(d); d++)
            failures += check_loss(traced_losses[i], false, heads[0], net_device(d));
    assert_int_equal(failures, 0);
}

/* Losses of operations of the plan. Circle's rows have products below 1, beyond which its pairs
   have no gradient. */
static void composed_losses_have_the_gradients_that_differences_give(void **state)
{
    static const char *const rows =
        "[{Dense: {units: 5, activation: tanh}}, {Rescaling: {scale: 0.4}}]";
    static const struct {
        const char *loss;
        bool sparse;
    } losses[] = {
        {"{circle: {gamma: 2}}", true},
        {"{circle: {gamma: 8, margin: 0.1, remove_diagonal: false}}", true},
        {"dice", false},
        {"{dice: {axis: 1}}", false},
        {"{tversky: {alpha: 0.3, beta: 0.6}}", false},
    };
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        for (int d = 0; net_device(d); d++)
            failures += check_loss(losses[i].loss, losses[i].sparse,
                                   losses[i].sparse ? rows : heads[0], net_device(d));
    assert_int_equal(failures, 0);
}

/* A layer that changes its weights before it reads them: the gradients of a step of training
   against differences of evaluation's loss by the changed weights. */
static int check_changed(cornu_model *model, const char *device_name, const char *what)
{
    const plan_options training = {
        .mode = PLAN_TRAIN, .batch = BATCH, .keep_input_gradient = true, .scope = SCOPE_GRADIENTS};
    const plan_options evaluation = {.mode = PLAN_EVALUATE, .batch = BATCH};
    net *n = net_open(model, device_name, &training);
    net *after = net_open(model, device_name, &evaluation);
    int failures = 0;
    draw_weights(n);
    float *before = net_read_variable(n, model->variables[0].name);
    net_run(n);
    for (int i = 0; i < model->weight_count; i++) {
        float *values = net_read_variable(n, model->variables[i].name);
        failures += i == 0 && net_difference(before, values, model->variables[i].count) < 1e-3;
        net_write_variable(after, i, values);
        free(values);
    }
    for (int i = -1; i < model->weight_count; i++) {
        if (i >= 0 && !model->variables[i].trainable)
            continue;
        float *gradient = net_read(n, i < 0 ? n->plan->input_gradient : n->plan->gradients[i]);
        moved m = {.net = after,
                   .name = i < 0 ? "input" : model->variables[i].name,
                   .variable = i,
                   .count = i < 0 ? after->x_count : model->variables[i].count,
                   .gradient = gradient};
        m.values =
            i < 0 ? malloc((size_t)m.count * sizeof *m.values) : net_read_variable(after, m.name);
        if (i < 0)
            memcpy(m.values, after->x, (size_t)m.count * sizeof *m.values);
        failures += check_moved(&m, what);
        free(m.values);
        free(gradient);
    }
    free(before);
    net_close(after);
    net_close(n);
    return failures;
}

static void layers_that_change_weights_have_the_gradients_that_differences_give(void **state)
{
    (void)state;
    int failures = 0, models = 0;
    for (int i = 0; layer_kinds[i]; i++)
        for (int k = 0; layer_kinds[i]->changes_weights && layer_kinds[i]->samples[k]; k++) {
            const char *sample = layer_kinds[i]->samples[k];
            cornu_model *model = net_layer(layer_kinds[i], sample);
            for (int d = 0; net_device(d); d++, models++) {
                char what[512];
                snprintf(what, sizeof what, "%s %s on %s", layer_kinds[i]->name, sample,
                         net_device(d));
                failures += check_changed(model, net_device(d), what);
            }
            cornu_model_close(model);
        }
    assert_true(models > 0);
    assert_int_equal(failures, 0);
}

/* The check itself must notice errors. */
static void a_wrong_factor_or_sign_is_seen(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [4], layers: [{Dense: {units: 3, activation: tanh}}]}\n"
                  "compile: {optimizer: sgd, loss: mean_squared_error}");
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH, .scope = SCOPE_GRADIENTS};
    net *n = net_open(model, "reference", &options);
    net_run(n);
    float *gradient = net_read(n, n->plan->gradients[0]);
    float *direction = calloc(12, sizeof *direction),
          *values = net_read_variable(n, "dense/kernel");
    moved m = {.net = n, .name = "kernel", .variable = 0, .count = 12, .values = values};
    m.gradient = gradient;
    assert_int_equal(check_direction(&m, "right", direction), 0);
    double expected = 0, norm = 0;
    for (int i = 0; i < 12; i++) {
        expected += (double)direction[i] * (double)gradient[i];
        norm += (double)gradient[i] * (double)gradient[i];
    }
    double found = slope(&m, direction);
    assert_false(agree(-found, expected, sqrt(norm), TOLERANCE));
    assert_false(agree(1.1 * found, expected, sqrt(norm), TOLERANCE));
    free(values);
    free(direction);
    free(gradient);
    net_close(n);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_factor_or_sign_is_seen),
        cmocka_unit_test(every_layer_row_has_the_gradients_that_differences_give),
        cmocka_unit_test(networks_that_branch_have_the_gradients_that_differences_give),
        cmocka_unit_test(several_inputs_and_outputs_have_the_gradients_that_differences_give),
        cmocka_unit_test(every_loss_row_has_the_gradients_that_differences_give),
        cmocka_unit_test(traced_losses_have_the_gradients_that_differences_give),
        cmocka_unit_test(composed_losses_have_the_gradients_that_differences_give),
        cmocka_unit_test(layers_that_change_weights_have_the_gradients_that_differences_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

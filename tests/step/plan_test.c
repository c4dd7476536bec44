/* The plans that plan_build makes: operations, their order, their costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPILE "\ncompile: {optimizer: sgd, loss: mean_squared_error}"

/* ---- costs ------------------------------------------------------------------------------- */

static void flops_and_bytes_of_a_dense_layer_are_those_by_hand(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [7], layers: [{Dense: {units: 5}}, {Dense: {units: 3}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 4);
    int at;
    assert_int_equal(net_count(p, OP_DENSE_FORWARD, &at), 2);
    assert_true(p->ops[at].flops == 2.0 * 4 * 7 * 5);
    assert_true(p->ops[at].bytes == 4.0 * (4 * 7 + 7 * 5 + 5 + 4 * 5));
    assert_int_equal(net_count(p, OP_DENSE_BACKWARD_WEIGHTS, &at), 2);
    assert_true(p->ops[at].flops == 2.0 * 4 * 5 * 3);
    assert_int_equal(net_count(p, OP_DENSE_BACKWARD_DATA, &at), 1);
    assert_true(p->ops[at].flops == 2.0 * 4 * 5 * 3);
    double flops = 0;
    for (int i = 0; i < p->op_count; i++)
        flops += p->ops[i].flops;
    assert_true(p->flops == flops);
    assert_int_equal(p->variable_bytes, 4 * (7 * 5 + 5 + 5 * 3 + 3));
    plan_free(p);
    cornu_model_close(model);
}

static void flops_of_a_convolution_are_those_by_hand(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [9, 8, 4], layers: [{Conv2D: {filters: 6, kernel_size: [3, 2], "
                  "groups: 2}}, "
                  "{Conv2D: {filters: 5, kernel_size: 3, strides: 2, padding: same}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 3);
    int at;
    net_count(p, OP_CONV2D_FORWARD, &at); /* 7 x 7 positions, 3 x 2 taps, 2 of 4 channels */
    assert_true(p->ops[at].flops == 2.0 * 3 * 7 * 7 * 6 * 3 * 2 * 2);
    net_count(p, OP_CONV2D_BACKWARD_WEIGHTS, &at); /* 4 x 4 positions, 3 x 3 taps, 6 channels */
    assert_true(p->ops[at].flops == 2.0 * 3 * 4 * 4 * 5 * 3 * 3 * 6);
    net_count(p, OP_CONV2D_BACKWARD_DATA, &at);
    assert_true(p->ops[at].flops == 2.0 * 3 * 4 * 4 * 5 * 3 * 3 * 6);
    plan_free(p);
    cornu_model_close(model);
}

static void operations_run_as_one_do_not_move_what_they_hand_on(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [7], layers: [{Dense: {units: 5}}, {Dense: {units: 3}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 4);
    int at = p->op_count - 3; /* of the first layer: dW and db, update of W, update of b */
    double flops, bytes;
    assert_int_equal(p->ops[at].kind, OP_DENSE_BACKWARD_WEIGHTS);
    assert_int_equal(p->ops[at + 2].kind, OP_UPDATE);
    const op_group *g = plan_group(p, &p->ops[at], GROUP_DENSE_BACKWARD);
    assert_non_null(g);
    assert_int_equal(g->count, 3);
    plan_group_cost(p, &p->ops[at], g, &flops, &bytes);
    assert_true(flops == p->ops[at].flops + p->ops[at + 1].flops + p->ops[at + 2].flops);
    assert_true(bytes == 4.0 * (4 * 7 + 4 * 5 + 2 * (7 * 5 + 5)));
    plan_group_cost(p, &p->ops[at], NULL, &flops, &bytes);
    assert_true(bytes == p->ops[at].bytes);
    plan_free(p);
    cornu_model_close(model);
}

/* The kernels of an operation write every output that its row requires. */
static void a_required_gradient_is_there_also_where_nobody_reads_it(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [6], layers: [BatchNormalization, {Dense: {units: 3}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 2);
    int at;
    assert_int_equal(net_count(p, OP_BATCH_NORM_BACKWARD, &at), 1);
    assert_int_not_equal(p->ops[at].out[0], NO_TENSOR);
    plan_free(p);
    cornu_model_close(model);
}

/* ---- omitted operations ------------------------------------------------------------------ */

static void the_gradient_of_the_first_layers_input_is_never_computed(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [8, 8, 1], layers: [{Rescaling: {scale: 0.5}}, {ZeroPadding2D: "
                  "{padding: 1}}, "
                  "{Conv2D: {filters: 2, kernel_size: 3}}, Flatten, {Dense: {units: 3}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 2);
    assert_int_equal(net_count(p, OP_CONV2D_BACKWARD_WEIGHTS, NULL), 1);
    assert_int_equal(net_count(p, OP_CONV2D_BACKWARD_DATA, NULL), 0);
    assert_int_equal(net_count(p, OP_DENSE_BACKWARD_DATA, NULL), 1);
    assert_int_equal(net_count(p, OP_CROP, NULL), 0);
    assert_int_equal(net_count(p, OP_SCALE, NULL), 1);
    assert_int_equal(p->input_gradient, NO_TENSOR);
    plan_free(p);
    cornu_model_close(model);
}

static void nothing_runs_backward_below_the_lowest_trainable_layer(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [12, 12, 1], layers: ["
                  "{Conv2D: {filters: 2, kernel_size: 3, trainable: false, activation: relu}}, "
                  "{MaxPooling2D: {pool_size: 2}}, {BatchNormalization: {trainable: false}}, "
                  "{Activation: {activation: elu}}, {Dropout: {rate: 0.5}}, Flatten, "
                  "{Dense: {units: 4, activation: relu, name: lowest}}, "
                  "{BatchNormalization: {trainable: false}}, {Dense: {units: 3, trainable: "
                  "false}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 2);
    int loss;
    assert_int_equal(net_count(p, OP_LOSS, &loss), 1);
    assert_int_equal(net_count(p, OP_UPDATE, NULL), 2);
    assert_int_equal(net_count(p, OP_DENSE_BACKWARD_DATA, NULL), 1);
    assert_int_equal(net_count(p, OP_DENSE_BACKWARD_WEIGHTS, NULL), 1);
    assert_int_equal(net_count(p, OP_BATCH_NORM_INFERENCE, NULL), 3);
    assert_int_equal(net_count(p, OP_BATCH_NORM_FORWARD, NULL), 0);
    assert_int_equal(net_count(p, OP_DROPOUT, NULL), 1);
    assert_int_equal(net_count(p, OP_ACTIVATION_BACKWARD, NULL), 1);
    assert_int_equal(net_count(p, OP_MAX_POOL_BACKWARD, NULL), 0);
    /* d of the norm's output, of the dense layer's, of its kernel and bias; then the updates */
    assert_int_equal(p->op_count - loss - 1, 6);
    for (int i = 0; i < model->weight_count; i++)
        assert_int_equal(p->gradients[i] != NO_TENSOR,
                         strncmp(model->variables[i].name, "lowest/", 7) == 0);
    for (int i = model->weight_count; i < model->variable_count; i++)
        assert_int_equal(strncmp(model->variables[model->variables[i].of].name, "lowest/", 7), 0);
    plan_free(p);
    cornu_model_close(model);
}

static void a_model_without_trainable_layers_trains_without_a_gradient(void **state)
{
    (void)state;
    cornu_model *model = net_model("model: {input: [6], layers: [{Dense: {units: 3, trainable: "
                                   "false, activation: relu}}]}" COMPILE);
    static const plan_scope scopes[] = {SCOPE_STEP, SCOPE_GRADIENTS, SCOPE_UPDATES};
    assert_int_equal(model->variable_count, model->weight_count);
    for (int i = 0; i < 3; i++) {
        plan *p;
        const plan_options options = {
            .mode = PLAN_TRAIN, .scope = scopes[i], .batch = scopes[i] == SCOPE_UPDATES ? 0 : 2};
        assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
        assert_int_equal(net_count(p, OP_LOSS, NULL), i < 2);
        assert_int_equal(net_count(p, OP_UPDATE, NULL), 0);
        plan_free(p);
    }
    cornu_model_close(model);
}

static void evaluation_has_no_dropout_and_takes_moving_statistics(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [6], layers: [BatchNormalization, {Dropout: {rate: 0.5}}, "
                  "{Dense: {units: 3}}]}" COMPILE);
    static const plan_mode modes[] = {PLAN_EVALUATE, PLAN_PREDICT};
    for (int i = 0; i < 2; i++) {
        plan *p = net_plan(model, modes[i], 2);
        assert_int_equal(net_count(p, OP_DROPOUT, NULL), 0);
        assert_int_equal(net_count(p, OP_BATCH_NORM_FORWARD, NULL), 0);
        assert_int_equal(net_count(p, OP_BATCH_NORM_INFERENCE, NULL), 1);
        assert_int_equal(net_count(p, OP_UPDATE, NULL), 0);
        assert_int_equal(net_count(p, OP_LOSS, NULL), modes[i] == PLAN_EVALUATE);
        assert_int_equal(p->target == NO_TENSOR, modes[i] == PLAN_PREDICT);
        plan_free(p);
    }
    plan *p = net_plan(model, PLAN_TRAIN, 2);
    assert_int_equal(net_count(p, OP_DROPOUT, NULL), 2);
    assert_int_equal(net_count(p, OP_BATCH_NORM_FORWARD, NULL), 1);
    assert_int_equal(net_count(p, OP_UPDATE, NULL), 4);
    plan_free(p);
    cornu_model_close(model);
}

static void each_dropout_layer_has_a_mask_of_its_own(void **state)
{
    (void)state;
    cornu_model *model = net_model("model: {input: [6], layers: [{Dropout: {rate: 0.5}}, {Dense: "
                                   "{units: 6}}, {Dropout: {rate: 0.5}}, {Dense: {units: 2}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    plan *p;
    int first;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 4}, &p),
                     CORNU_OK);
    assert_int_equal(net_count(p, OP_DROPOUT, &first), 3); /* nothing trains before the first */
    uint32_t streams[3];
    int found = 0;
    for (int i = first; i < p->op_count; i++)
        if (p->ops[i].kind == OP_DROPOUT)
            streams[found++] = p->ops[i].a.dropout.stream;
    assert_int_not_equal(streams[0], streams[1]);
    assert_int_equal(streams[1], streams[2]); /* its backward pass */
    plan_free(p);
    cornu_model_close(model);
}

static void layers_within_a_layer_have_masks_of_their_own(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [3, 2], layers: [{Bidirectional: {layer: {RNN: {cell: "
                  "{StackedRNNCells: {cells: [{GRUCell: {units: 2, dropout: 0.5}}, {LSTMCell: "
                  "{units: 2, dropout: 0.5}}]}}}}}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 4);
    uint32_t streams[8];
    int count = 0;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_DROPOUT && count < 8)
            streams[count++] = p->ops[i].a.dropout.stream;
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(streams[i], streams[k]);
    plan_free(p);
    cornu_model_close(model);
}

/* All elements of a sample's channel are 0, or all are 1 / (1 - rate) times the input's. */
static void spatial_dropout_drops_whole_channels(void **state)
{
    (void)state;
    enum { BATCH = 40, STEPS = 3, CHANNELS = 50 };
    cornu_model *model = net_model("model: {input: [3, 50], layers: [{Rescaling: {scale: 0, "
                                   "offset: 2}}, {SpatialDropout1D: {rate: "
                                   "0.4}}]}\ncompile: {optimizer: sgd, loss: mean_squared_error}");
    net *n = net_open(model, "reference", &(plan_options){.mode = PLAN_TRAIN, .batch = BATCH});
    net_run(n);
    float *y = net_read(n, n->plan->output); /* of twos */
    int dropped = 0;
    for (int i = 0; i < BATCH; i++)
        for (int c = 0; c < CHANNELS; c++) {
            const int at = i * STEPS * CHANNELS + c;
            const float value = y[at] == 0 ? 0 : 2 / 0.6f;
            dropped += y[at] == 0;
            for (int k = 0; k < STEPS; k++)
                assert_float_equal(y[at + k * CHANNELS], value, 1e-5);
        }
    assert_in_range(dropped, 800 - 90, 800 + 90); /* four deviations of 2000 draws */
    free(y);
    net_close(n);
    cornu_model_close(model);
}

/* Klambauer et al. 2017: the dropped are -a alpha' + b; mean and variance stay. */
static void alpha_dropout_keeps_mean_and_variance(void **state)
{
    (void)state;
    enum { COUNT = 40 * 500 };
    cornu_model *model = net_model("model: {input: [500], layers: [{Rescaling: {scale: 0, offset: "
                                   "2}}, {AlphaDropout: {rate: 0.3}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    net *n = net_open(model, "reference", &(plan_options){.mode = PLAN_TRAIN, .batch = 40});
    net_run(n);
    float *y = net_read(n, n->plan->output); /* of twos */
    const double end = -1.7580993408473766, a = 1 / sqrt(0.7 * (1 + 0.3 * end * end));
    int dropped = 0;
    for (int i = 0; i < COUNT; i++) {
        const double kept = a * 2 - a * end * 0.3, other = a * end * 0.7;
        const bool is_kept = fabs((double)y[i] - kept) < 1e-5;
        assert_true(is_kept || fabs((double)y[i] - other) < 1e-5);
        dropped += !is_kept;
    }
    assert_in_range(dropped, 6000 - 260, 6000 + 260);
    free(y);
    net_close(n);
    cornu_model_close(model);
}

/* ---- fusion ------------------------------------------------------------------------------ */

static const char folds[] =
    "model: {input: [6, 6, 2], layers: [{Conv2D: {filters: 3, kernel_size: 3, activation: relu}}, "
    "{Conv2D: {filters: 3, kernel_size: 2}}, {Activation: {activation: elu}}, Flatten, "
    "{Dense: {units: 8, activation: gelu}}, {Dense: {units: 8, activation: sigmoid}}, "
    "{Dense: {units: 5, activation: tanh}}, {Dense: {units: 4, activation: softmax}}]}" COMPILE;

static void activations_that_their_output_determines_are_folded(void **state)
{
    (void)state;
    cornu_model *model = net_model(folds);
    plan *p = net_plan(model, PLAN_TRAIN, 2);
    assert_int_equal(net_count(p, OP_ACTIVATION_FORWARD, NULL), 2); /* gelu, softmax */
    assert_int_equal(net_count(p, OP_ACTIVATION_BACKWARD, NULL), 6);
    int at;
    net_count(p, OP_CONV2D_FORWARD, &at);
    assert_int_equal(p->ops[at].a.conv.act.kind, ACTIVATION_RELU);
    assert_string_equal(p->tensors[p->ops[at].out[0]].name, "conv2d/output");
    plan_free(p);
    p = net_plan(model, PLAN_PREDICT, 2);
    assert_int_equal(net_count(p, OP_ACTIVATION_FORWARD, NULL), 2);
    plan_free(p);
    cornu_model_close(model);
}

/* Kernels of dense layers and convolutions know activations alone. */
static void functions_are_not_folded(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [6], layers: [{Dense: {units: 8}}, Exp]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 2);
    assert_int_equal(net_count(p, OP_ACTIVATION_FORWARD, NULL), 1);
    plan_free(p);
    cornu_model_close(model);
}

/* As in Keras: what is clipped is the number itself, or the limit. */
static void clipping_keeps_all_digits(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [6], layers: [{Clip: {x_min: -1.0e+9, x_max: 1.0e+6, name: a}}, {Maximum: "
        "{x2: 1.0e-7, inputs: a, name: b}}, {Minimum: {x2: 1, inputs: b}}]}");
    plan_options options = {.mode = PLAN_PREDICT, .batch = 1};
    static const float x[6] = {-3, 2e-7f, 1e-5f, 0.3f, 7, 2e9f},
                       expected[6] = {1e-7f, 2e-7f, 1e-5f, 0.3f, 1, 1};
    for (int d = 0; net_device(d); d++) {
        net *n = net_open(model, net_device(d), &options);
        memcpy(n->x, x, sizeof x);
        net_run(n);
        float *y = net_read(n, n->plan->output);
        assert_memory_equal(y, expected, sizeof expected);
        free(y);
        net_close(n);
    }
    cornu_model_close(model);
}

static void folding_changes_no_result(void **state)
{
    (void)state;
    cornu_model *model = net_model(folds);
    for (int d = 0; net_device(d); d++) {
        double loss[2];
        float *gradients[2];
        for (int i = 0; i < 2; i++) {
            plan_options options = {
                .mode = PLAN_TRAIN, .batch = 3, .scope = SCOPE_GRADIENTS, .no_fusion = i == 0};
            net *n = net_open(model, net_device(d), &options);
            loss[i] = net_run(n);
            gradients[i] = net_read(n, n->plan->gradients[0]);
            net_close(n);
        }
        assert_true(fabs(loss[0] - loss[1]) <= 1e-6 * fabs(loss[0]));
        assert_true(net_difference(gradients[0], gradients[1], 3 * 3 * 2 * 3) < 2e-5);
        free(gradients[0]);
        free(gradients[1]);
    }
    cornu_model_close(model);
}

/* ---- the loss ---------------------------------------------------------------------------- */

/* Does the loss of `layers` read the logits before the last activation? */
static bool reads_logits(const char *layers, const char *loss, plan_mode mode)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "model: {input: [4], layers: [%s]}\n"
             "compile: {optimizer: sgd, loss: %s, metrics: [accuracy]}",
             layers, loss);
    cornu_model *model = net_model(yaml);
    plan *p = net_plan(model, mode, 2);
    int loss_at, metric_at;
    assert_int_equal(net_count(p, OP_LOSS, &loss_at), 1);
    assert_int_equal(net_count(p, OP_METRIC, &metric_at), 1);
    const op *o = &p->ops[loss_at];
    assert_int_equal(p->ops[metric_at].in[0], p->output);
    bool back = o->in[0] != p->output;
    if (back) {
        assert_true(o->a.loss.logits);
        assert_int_equal(net_count(p, OP_ACTIVATION_FORWARD, NULL), 1);
        assert_int_equal(net_count(p, OP_ACTIVATION_BACKWARD, NULL), 0);
    }
    plan_free(p);
    cornu_model_close(model);
    return back;
}

static void cross_entropies_go_back_to_logits_under_softmax_and_sigmoid(void **state)
{
    (void)state;
    static const char *const losses[] = {"categorical_crossentropy",
                                         "sparse_categorical_crossentropy", "binary_crossentropy"};
    for (int i = 0; i < 3; i++) {
        assert_true(
            reads_logits("{Dense: {units: 3, activation: softmax}}", losses[i], PLAN_TRAIN));
        assert_true(
            reads_logits("{Dense: {units: 3, activation: sigmoid}}", losses[i], PLAN_TRAIN));
        assert_true(reads_logits("{Dense: {units: 3}}, Softmax", losses[i], PLAN_TRAIN));
        assert_true(reads_logits("{Dense: {units: 3}}, {Activation: {activation: sigmoid}}",
                                 losses[i], PLAN_EVALUATE));
    }
}

static void nothing_goes_back_where_something_follows_or_no_form_exists(void **state)
{
    (void)state;
    const char *loss = "categorical_crossentropy";
    assert_false(reads_logits("{Dense: {units: 3, activation: tanh}}", loss, PLAN_TRAIN));
    assert_false(reads_logits("{Dense: {units: 6, activation: softmax}}, "
                              "{Reshape: {target_shape: [2, 3]}}",
                              loss, PLAN_TRAIN));
    const char *dropped = "{Dense: {units: 3, activation: softmax}}, {Dropout: {rate: 0.5}}";
    assert_false(reads_logits(dropped, loss, PLAN_TRAIN));
    assert_true(reads_logits(dropped, loss, PLAN_EVALUATE));
    assert_false(
        reads_logits("{Dense: {units: 3, activation: softmax}}", "mean_squared_error", PLAN_TRAIN));
}

/* One sample whose logits are (2, 1, -1) in front of `activation`; class 1. */
static double loss_of_logits(const char *activation, const char *loss)
{
    static const float logits[] = {2, 1, -1}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "model: {input: [3], layers: [{Dense: {units: 3, use_bias: false, activation: %s}}]}\n"
             "compile: {optimizer: sgd, loss: %s}",
             activation, loss);
    cornu_model *model = net_model(yaml);
    plan_options options = {.mode = PLAN_EVALUATE, .batch = 1};
    net *n = net_open(model, "reference", &options);
    net_write_variable(n, 0, identity);
    memcpy(n->x, logits, sizeof logits);
    memset(n->y, 0, (size_t)n->y_count * sizeof *n->y);
    n->y[n->y_count == 3 ? 1 : 0] = 1;
    double value = net_run(n);
    net_close(n);
    cornu_model_close(model);
    return value;
}

/* Values of Keras 3 on TensorFlow. */
static void losses_on_logits_have_kerass_values(void **state)
{
    (void)state;
    assert_true(fabs(loss_of_logits("sigmoid", "categorical_crossentropy") - 1.349012) < 1e-5);
    assert_true(fabs(loss_of_logits("softmax", "categorical_crossentropy") - 1.349012) < 1e-5);
    assert_true(fabs(loss_of_logits("sigmoid", "sparse_categorical_crossentropy") - 1.349012) <
                1e-5);
    /* mean over softplus(2), softplus(-1), softplus(-1) */
    assert_true(fabs(loss_of_logits("sigmoid", "binary_crossentropy") - 0.917817) < 1e-5);
}

/* ---- rows -------------------------------------------------------------------------------- */

static void metrics_count_samples_where_a_sample_has_several_rows(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [6], layers: [{Reshape: {target_shape: [2, 3]}}, {Rescaling: {scale: "
        "1}}]}\n"
        "compile: {optimizer: sgd, loss: mean_squared_error, metrics: [categorical_accuracy]}");
    for (int d = 0; net_device(d); d++) {
        plan_options options = {.mode = PLAN_EVALUATE, .batch = 2};
        net *n = net_open(model, net_device(d), &options);
        static const float x[] = {1, 0, 0, 0, 1, 0, /**/ 0, 0, 1, 0, 0, 1};
        static const float y[] = {1, 0, 0, 0, 1, 0, /**/ 0, 0, 1, 1, 0, 0}; /* 3 of 4 rows right */
        memcpy(n->x, x, sizeof x);
        memcpy(n->y, y, sizeof y);
        step_results r;
        assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_OK);
        assert_int_equal(n->device->ops->results(n->device, &r, true), CORNU_OK);
        assert_int_equal(r.samples, 2);
        assert_true(fabs(r.metrics[0] - 1.5) < 1e-6);
        assert_true(fabs(r.loss - 2 * (2.0 / 12)) < 1e-6);
        net_close(n);
    }
    cornu_model_close(model);
}

/* ---- errors ------------------------------------------------------------------------------ */

/* Of the second of two outputs, whose targets stand behind the first's; a prediction has nothing of
   it. */
static void a_traced_loss_reads_the_target_of_its_output(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [4], layers: [{Dense: {units: 2, name: a}}, "
                  "{Dense: {units: 3, name: b}}], outputs: "
                  "[a, b]}\ncompile: {optimizer: sgd, loss: {a: mse, b: "
                  "{class_name: f, traced: {model: {name: f, "
                  "inputs: {t: [3], p: [3]}, layers: [{Subtract: {inputs: [t, p]}}, Square]}}}}}");
    plan *p = net_plan(model, PLAN_TRAIN, 4);
    int square, at = -1;
    assert_int_equal(net_count(p, OP_LOSS, &square), 2);
    for (int i = 0; i < square; i++)
        if (p->ops[i].kind == OP_SLICE && p->ops[i].in[0] == p->target && at < 0)
            at = i;
    assert_true(at >= 0);
    assert_int_equal(p->ops[at].a.slice.begin, 2);
    assert_int_equal(p->tensors[p->ops[at].out[0]].shape.dim[1], 3);
    plan_free(p);
    p = net_plan(model, PLAN_PREDICT, 4);
    assert_int_equal(net_count(p, OP_BINARY_FORWARD, &at), 0);
    plan_free(p);
    cornu_model_close(model);
}

static void only_losses_reduce_over_samples(void **state)
{
    (void)state;
    cornu_model *model = net_model("model: {input: [4], layers: [{Mean: {axis: null}}]}" COMPILE);
    plan *p = NULL;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_PREDICT, .batch = 2}, &p),
                     CORNU_UNSUPPORTED);
    assert_non_null(strstr(cornu_last_error(), "mean: found axis null, over all samples together"));
    cornu_model_close(model);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [1000], layers: [{Dense: {units: 1000}}]}" COMPILE);
    static const int64_t batches[] = {INT64_MAX, INT64_MAX / 1000, (int64_t)1 << 32, 0, -3};
    for (int i = 0; i < 5; i++) {
        plan_options options = {.mode = PLAN_TRAIN, .batch = batches[i]};
        plan *p = NULL;
        assert_int_not_equal(plan_build(model, &options, &p), CORNU_OK);
        assert_null(p);
        assert_non_null(strstr(cornu_last_error(), "batch"));
    }
    cornu_model_close(model);
}

static void a_model_without_a_loss_predicts_but_does_not_train(void **state)
{
    (void)state;
    cornu_model *model = net_model("model: {input: [3], layers: [{Dense: {units: 2}}]}");
    plan_options options = {.mode = PLAN_TRAIN, .batch = 1};
    plan *p = NULL;
    assert_int_equal(plan_build(model, &options, &p), CORNU_INVALID);
    assert_non_null(strstr(cornu_last_error(), "compile"));
    plan_free(net_plan(model, PLAN_PREDICT, 1));
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traced_loss_reads_the_target_of_its_output),
        cmocka_unit_test(only_losses_reduce_over_samples),
        cmocka_unit_test(flops_and_bytes_of_a_dense_layer_are_those_by_hand),
        cmocka_unit_test(flops_of_a_convolution_are_those_by_hand),
        cmocka_unit_test(operations_run_as_one_do_not_move_what_they_hand_on),
        cmocka_unit_test(a_required_gradient_is_there_also_where_nobody_reads_it),
        cmocka_unit_test(the_gradient_of_the_first_layers_input_is_never_computed),
        cmocka_unit_test(nothing_runs_backward_below_the_lowest_trainable_layer),
        cmocka_unit_test(a_model_without_trainable_layers_trains_without_a_gradient),
        cmocka_unit_test(evaluation_has_no_dropout_and_takes_moving_statistics),
        cmocka_unit_test(each_dropout_layer_has_a_mask_of_its_own),
        cmocka_unit_test(layers_within_a_layer_have_masks_of_their_own),
        cmocka_unit_test(spatial_dropout_drops_whole_channels),
        cmocka_unit_test(alpha_dropout_keeps_mean_and_variance),
        cmocka_unit_test(activations_that_their_output_determines_are_folded),
        cmocka_unit_test(functions_are_not_folded),
        cmocka_unit_test(clipping_keeps_all_digits),
        cmocka_unit_test(folding_changes_no_result),
        cmocka_unit_test(cross_entropies_go_back_to_logits_under_softmax_and_sigmoid),
        cmocka_unit_test(nothing_goes_back_where_something_follows_or_no_form_exists),
        cmocka_unit_test(losses_on_logits_have_kerass_values),
        cmocka_unit_test(metrics_count_samples_where_a_sample_has_several_rows),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(a_model_without_a_loss_predicts_but_does_not_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

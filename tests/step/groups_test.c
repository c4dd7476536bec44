/* Groups of operations that a device may run as one: those that are found, and those that must not
   be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <stdio.h>
#include <string.h>

#define COMPILE "\ncompile: {optimizer: sgd, loss: categorical_crossentropy, metrics: [accuracy]}"
#define CLIPPED                                                                              \
    "\ncompile: {optimizer: {sgd: {clipnorm: 1}}, loss: categorical_crossentropy, metrics: " \
    "[accuracy]}"
#define IMAGE "model: {input: [12, 12, 2], layers: ["
#define ROWS "model: {input: [6, 4], layers: [{Dense: {units: 5}}, "
#define CONV(more) "{Conv2D: {filters: 4, kernel_size: 3" more "}}, "
#define POOL "{MaxPooling2D: {pool_size: 2}}, "
#define FLAT "Flatten, "
#define DENSE "{Dense: {units: 5, activation: relu}}, "
#define SAME "{Conv2D: {filters: 4, kernel_size: 3, padding: same}}, "
#define BRANCH CONV("") SAME
#define NORM "BatchNormalization, "
#define FROZEN "{BatchNormalization: {trainable: false}}, "
#define RELU "ReLU, "
#define LAST "{Dense: {units: 3, activation: softmax}}]}"

static plan *build(const char *recipe, plan_options options)
{
    static cornu_model *model;
    plan *p = NULL;
    cornu_model_close(model); /* the previous plan's */
    model = net_model(recipe);
    options.batch = 4;
    if (plan_build(model, &options, &p) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return p;
}

/* The operations of the first group of this kind, "conv2d_forward max_pool_forward"; "" where there
   is none. */
static const char *group_of(const plan *p, group_kind kind, const op_group **found)
{
    static char text[400];
    *text = 0;
    *found = NULL;
    for (int i = 0; i < p->group_count && !*found; i++)
        if (p->groups[i].kind == kind)
            *found = &p->groups[i];
    for (int i = 0; *found && i < (*found)->count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                 op_infos[p->ops[(*found)->first + i].kind].name);
    }
    return text;
}

static void groups_are_found_where_their_operations_stand(void **state)
{
    (void)state;
    static const struct {
        const char *recipe;
        group_kind kind;
        const char *operations;
    } cases[] = {
        {IMAGE CONV(", activation: relu") POOL FLAT LAST COMPILE, GROUP_CONV_POOL,
         "conv2d_forward max_pool_forward"},
        {IMAGE CONV("") "{Activation: {activation: tanh}}, " POOL FLAT LAST COMPILE,
         GROUP_CONV_POOL, "conv2d_forward max_pool_forward"}, /* tanh is fused before */
        {IMAGE CONV("") "{Dropout: {rate: 0.5}}, " POOL FLAT LAST COMPILE, GROUP_CONV_POOL, ""},
        {IMAGE FLAT LAST COMPILE, GROUP_HEAD, "activation_forward loss metric"},
        {IMAGE FLAT LAST "\ncompile: {optimizer: sgd, loss: mean_squared_error}", GROUP_HEAD, ""},
        {IMAGE CONV(", activation: relu") POOL FLAT LAST COMPILE, GROUP_CONV_BACKWARD,
         "max_pool_backward activation_backward conv2d_backward_weights"},
        {IMAGE CONV(", activation: relu") FLAT LAST COMPILE, GROUP_CONV_BACKWARD,
         "activation_backward conv2d_backward_weights"},
        {IMAGE CONV("") CONV("") FLAT LAST COMPILE, GROUP_CONV_BACKWARD,
         "conv2d_backward_weights conv2d_backward_data"},
        {IMAGE CONV("") CONV(", activation: relu") POOL FLAT LAST COMPILE, GROUP_CONV_BACKWARD,
         "max_pool_backward activation_backward conv2d_backward_weights conv2d_backward_data"},
        {IMAGE CONV("") FLAT LAST COMPILE, GROUP_CONV_BACKWARD, ""},
        /* the gradient of a sum is that of both convolutions */
        {IMAGE SAME "{Conv2D: {filters: 4, kernel_size: 3, padding: same, inputs: input_layer}}, "
                    "{Add: {inputs: [conv2d, conv2d_1]}}, " RELU FLAT LAST COMPILE,
         GROUP_CONV_BACKWARD, ""},
        /* the sum's other term reads the activation's gradient, too, which must be written */
        {IMAGE CONV("") SAME "{Add: {inputs: [conv2d, conv2d_1]}}, " RELU FLAT LAST COMPILE,
         GROUP_CONV_BACKWARD, "conv2d_backward_weights conv2d_backward_data"},
        {IMAGE FLAT DENSE LAST COMPILE, GROUP_DENSE_BACKWARD,
         "dense_backward_weights dense_backward_data update update activation_backward"},
        {IMAGE FLAT LAST COMPILE, GROUP_DENSE_BACKWARD, "dense_backward_weights update update"},
        {IMAGE FLAT LAST CLIPPED, GROUP_DENSE_BACKWARD, ""},
        {IMAGE CONV(", activation: relu") POOL FLAT LAST COMPILE, GROUP_ACTIVATION_BACKWARD,
         "max_pool_backward activation_backward"},
        {IMAGE FLAT DENSE "{Dropout: {rate: 0.5}}, " LAST COMPILE, GROUP_ACTIVATION_BACKWARD,
         "dropout activation_backward"},
        {IMAGE CONV("") NORM RELU FLAT LAST COMPILE, GROUP_RESIDUAL,
         "batch_norm_forward activation_forward"},
        {IMAGE BRANCH NORM
         "{Add: {inputs: [batch_normalization, conv2d]}}, " RELU FLAT LAST COMPILE,
         GROUP_RESIDUAL, "batch_norm_forward add activation_forward"},
        {IMAGE BRANCH FROZEN "{Add: {inputs: [conv2d, batch_normalization]}}, " FLAT LAST COMPILE,
         GROUP_RESIDUAL, "batch_norm_inference add"},
        {IMAGE BRANCH "{Add: {inputs: [conv2d, conv2d_1]}}, " RELU FLAT LAST COMPILE,
         GROUP_RESIDUAL, "add activation_forward"},
        /* other operations read the normalized tensor, too */
        {IMAGE CONV("") NORM RELU
         "{Add: {inputs: [batch_normalization, re_lu]}}, " FLAT LAST COMPILE,
         GROUP_RESIDUAL, ""},
        {IMAGE CONV("") NORM
         "{Reshape: {target_shape: [400]}}, {Reshape: {target_shape: [10, 10, "
         "4], name: again}}, {Add: {inputs: [batch_normalization, again]}}, " FLAT LAST COMPILE,
         GROUP_RESIDUAL, ""},
        {IMAGE CONV("") NORM "{Softmax: {}}, " FLAT LAST COMPILE, GROUP_RESIDUAL, ""},
        /* functions that are no activations */
        {IMAGE CONV("") NORM "Exp, " FLAT LAST COMPILE, GROUP_RESIDUAL, ""},
        {IMAGE FLAT DENSE "Exp, {Dropout: {rate: 0.5}}, " LAST COMPILE, GROUP_ACTIVATION_BACKWARD,
         ""},
        {IMAGE CONV("") NORM "{Activation: {activation: silu}}, " FLAT LAST COMPILE, GROUP_RESIDUAL,
         ""}, /* its gradient is of its input */
        {IMAGE CONV(", activation: relu") SAME
         "{Add: {inputs: [conv2d, conv2d_1]}}, " FLAT LAST COMPILE,
         GROUP_ACTIVATION_BACKWARD, "add activation_backward"},
        {ROWS "{MultiHeadAttention: {num_heads: 2, key_dim: 3, inputs: [dense, dense]}}, " FLAT LAST
             COMPILE,
         GROUP_ATTENTION, "scale matmul activation_forward matmul"},
        {ROWS "{MultiHeadAttention: {num_heads: 2, key_dim: 3, inputs: [dense, dense]}}, " FLAT LAST
             COMPILE,
         GROUP_ATTENTION_BACKWARD, "matmul matmul activation_backward matmul matmul scale"},
        {ROWS "{Attention: {inputs: [dense, dense]}}, " FLAT LAST COMPILE, GROUP_ATTENTION,
         "matmul activation_forward matmul"},
        {ROWS "{Attention: {inputs: [dense, dense]}}, " FLAT LAST COMPILE, GROUP_ATTENTION_BACKWARD,
         "matmul matmul activation_backward matmul matmul"},
        /* dropout between the softmax and the values */
        {ROWS "{Attention: {dropout: 0.5, inputs: [dense, dense]}}, " FLAT LAST COMPILE,
         GROUP_ATTENTION, ""},
        {ROWS "{Attention: {dropout: 0.5, inputs: [dense, dense]}}, " FLAT LAST COMPILE,
         GROUP_ATTENTION_BACKWARD, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const op_group *g;
        plan *p = build(cases[i].recipe, (plan_options){.mode = PLAN_TRAIN});
        const char *found = group_of(p, cases[i].kind, &g);
        if (strcmp(found, cases[i].operations) != 0)
            fail_msg("%s: %s: found \"%s\"; expected \"%s\"", cases[i].recipe,
                     group_names[cases[i].kind], found, cases[i].operations);
        plan_free(p);
    }
}

/* A tensor that is read after the step must be written. */
static void gradients_that_are_kept_are_not_fused_away(void **state)
{
    (void)state;
    const op_group *g;
    plan *p = build(IMAGE CONV("") CONV(", activation: relu") POOL FLAT DENSE LAST COMPILE,
                    (plan_options){.mode = PLAN_TRAIN, .scope = SCOPE_GRADIENTS});
    assert_string_equal(group_of(p, GROUP_DENSE_BACKWARD, &g), "");
    plan_free(p);
    p = build("model: {input: [6], layers: [" DENSE LAST COMPILE,
              (plan_options){.mode = PLAN_TRAIN, .keep_input_gradient = true});
    (void)group_of(p, GROUP_DENSE_BACKWARD, &g);
    for (int i = 0; i < p->group_count; i++)
        assert_true(p->groups[i].kind != GROUP_DENSE_BACKWARD || p->groups[i].absorber < 0);
    plan_free(p);
}

/* The number of absorbers, each the forward pass of the layer whose update it does. */
static int absorbers_of(const char *yaml)
{
    int absorbers = 0;
    plan *p = build(yaml, (plan_options){.mode = PLAN_TRAIN});
    for (int i = 0; i < p->group_count; i++) {
        const op_group *g = &p->groups[i];
        if (g->kind != GROUP_DENSE_BACKWARD || g->absorber < 0)
            continue;
        absorbers++;
        assert_null(group_op(p, g, ROLE_DGRAD));
        assert_int_equal(p->ops[g->absorber].kind, OP_DENSE_FORWARD);
        assert_int_equal(p->ops[g->absorber].in[1], group_op(p, g, ROLE_UPDATE_KERNEL)->out[0]);
    }
    plan_free(p);
    return absorbers;
}

static void the_first_layers_update_can_be_deferred_to_its_own_forward_pass(void **state)
{
    (void)state;
    assert_int_equal(absorbers_of(IMAGE FLAT DENSE LAST COMPILE), 1);
    /* The sum of its penalty reads the kernel after that. */
    assert_int_equal(
        absorbers_of(IMAGE FLAT "{Dense: {units: 5, kernel_regularizer: l2}}, " LAST COMPILE), 1);
}

static void forward_and_backward_of_a_pooled_convolution_are_partners(void **state)
{
    (void)state;
    const op_group *forward, *backward;
    plan *p = build(IMAGE CONV(", activation: relu") POOL FLAT LAST COMPILE,
                    (plan_options){.mode = PLAN_TRAIN});
    (void)group_of(p, GROUP_CONV_POOL, &forward);
    (void)group_of(p, GROUP_CONV_BACKWARD, &backward);
    assert_ptr_equal(&p->groups[forward->partner], backward);
    assert_ptr_equal(&p->groups[backward->partner], forward);
    plan_free(p);
    p = build(IMAGE CONV(", activation: relu") POOL FLAT LAST COMPILE,
              (plan_options){.mode = PLAN_PREDICT});
    (void)group_of(p, GROUP_CONV_POOL, &forward);
    assert_int_equal(forward->partner, -1);
    plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_found_where_their_operations_stand),
        cmocka_unit_test(gradients_that_are_kept_are_not_fused_away),
        cmocka_unit_test(the_first_layers_update_can_be_deferred_to_its_own_forward_pass),
        cmocka_unit_test(forward_and_backward_of_a_pooled_convolution_are_partners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

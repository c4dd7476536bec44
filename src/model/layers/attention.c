/* keras.layers.attention: products of queries with keys, whose softmax weighs values. */
#include "base/memory.h"
#include "model/layers/layers.h"
#include <math.h>
#include <stdlib.h>

/* The inputs of both: query (targets, features), value (sources, features), and key, which is the
   value where it is left out. */
enum { QUERY, VALUE, KEY };

static cornu_status check_inputs(const layer_call *call)
{
    char query[128], other[128];
    if (call->inputs != 2 && call->inputs != 3)
        return status_fail(CORNU_INVALID,
                           "found %d input%s; expected query, value and, if it is "
                           "not the value, key",
                           call->inputs, PLURAL(call->inputs, "", "s"));
    for (int i = 0; i < call->inputs; i++)
        if (call->in[i].rank != 2)
            return status_fail(CORNU_INVALID, "found input %s; expected (steps, features)",
                               shape_show(&call->in[i], false, other));
    if (call->inputs == 2 || call->in[KEY].dim[0] == call->in[VALUE].dim[0])
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found value %s and key %s; expected as many steps",
                       shape_show(&call->in[VALUE], false, query),
                       shape_show(&call->in[KEY], false, other));
}

/* Keras's large number: what lies so far below the others has no weight. */
#define MASKED (-1e9f)

/* Keep queries from the keys after them: scores (..., queries, keys). */
static cornu_status mask_later(step_builder *b, tensor_ref scores, tensor_ref *y)
{
    const shape in = emit_shape(b, scores);
    const int64_t rows = in.dim[in.rank - 2], columns = in.dim[in.rank - 1];
    shape s = {.rank = in.rank};
    float *mask;
    tensor_ref below;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < in.rank - 2 ? 1 : in.dim[i];
    TRY(memory_new((size_t)(rows * columns), sizeof *mask, "mask", &mask));
    for (int64_t i = 0; i < rows * columns; i++)
        mask[i] = i % columns > i / columns ? MASKED : 0;
    cornu_status status = emit_constant(b, &s, mask, &below);
    free(mask);
    return status == CORNU_OK ? emit_binary(b, BINARY_ADD, scores, below, y) : status;
}

/* The options of all layers here that their calls have in Keras. */
typedef struct attention_call {
    bool use_causal_mask, return_attention_scores;
} attention_call;

#define CALL_OPTIONS(config)                                                              \
    OPTION_AS("use_causal_mask", BOOL, config, call.use_causal_mask, .fallback = "false", \
              .flags = CONFIG_KEYWORD),                                                   \
        OPTION_AS("return_attention_scores", BOOL, config, call.return_attention_scores,  \
                  .fallback = "false", .flags = CONFIG_KEYWORD)

/* y = softmax(scores) v of the last two dimensions, with dropout of the softmax; *weights: the
   softmax before dropout, or after it. */
static cornu_status weigh(step_builder *b, tensor_ref scores, tensor_ref v, double dropout,
                          const attention_call *call, tensor_ref *y, tensor_ref weights[2])
{
    *y = scores;
    if (call->use_causal_mask)
        TRY(mask_later(b, scores, y));
    TRY(emit_activation(b, *y, (activation){.kind = ACTIVATION_SOFTMAX}, &weights[0]));
    TRY(emit_dropout(b, weights[0], dropout, &weights[1]));
    return emit_matmul(b, weights[1], false, v, false, y);
}

/* ---- MultiHeadAttention ------------------------------------------------------------------ */

typedef struct multi_head_attention_config {
    int64_t num_heads, key_dim, value_dim; /* value_dim 0: key_dim */
    double dropout;
    bool use_bias;
    attention_call call;
    int_list output_shape, attention_axes;
    initializer kernel_initializer, bias_initializer;
    regularizer kernel_regularizer, bias_regularizer;
    constraint kernel_constraint, bias_constraint;
} multi_head_attention_config;

static const config_field multi_head_attention_fields[] = {
    OPTION(INT, multi_head_attention_config, num_heads, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(INT, multi_head_attention_config, key_dim, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(INT, multi_head_attention_config, value_dim, LAYER_SIZES, .fallback = "null", .none = 0,
           .flags = CONFIG_NULLABLE),
    OPTION(REAL, multi_head_attention_config, dropout, .fallback = "0.0", .maximum = 1,
           .flags = CONFIG_BELOW),
    OPTION(BOOL, multi_head_attention_config, use_bias, .fallback = "true"),
    OPTION(INTS, multi_head_attention_config, output_shape, .fallback = "null",
           .flags = CONFIG_NULLABLE),
    OPTION(INTS, multi_head_attention_config, attention_axes, .fallback = "null",
           .flags = CONFIG_NULLABLE),
    OPTION_NEUTRAL("sliding_window", "null"),
    OPTION_NEUTRAL("flash_attention", "null|false"),
    OPTION(INITIALIZER, multi_head_attention_config, kernel_initializer,
           .fallback = "glorot_uniform"),
    OPTION(INITIALIZER, multi_head_attention_config, bias_initializer, .fallback = "zeros"),
    OPTION_REGULARIZER(multi_head_attention_config, kernel_regularizer),
    OPTION_REGULARIZER(multi_head_attention_config, bias_regularizer),
    OPTION_NEUTRAL("activity_regularizer", "null"),
    OPTION_CONSTRAINT(multi_head_attention_config, kernel_constraint),
    OPTION_CONSTRAINT(multi_head_attention_config, bias_constraint),
    OPTION_NEUTRAL("use_gate", "false"),
    OPTION_IGNORED("seed"),
    CALL_OPTIONS(multi_head_attention_config),
    OPTIONS_END,
};

/* Declare a kernel, which is a matrix in plans, and its bias. */
static void declare_projection(const multi_head_attention_config *c, layer_call *call,
                               const char *const names[3], shape kernel, int inputs)
{
    shape matrix = {2, {1, 1}}, bias = {.rank = 0};
    for (int i = 0; i < kernel.rank; i++)
        matrix.dim[i >= inputs] *= kernel.dim[i];
    for (int i = inputs; i < kernel.rank; i++)
        bias.dim[bias.rank++] = kernel.dim[i];
    const int first = call->weight_count;
    layer_weight_seen_as(call, names[0], kernel, matrix, c->kernel_initializer, true);
    if (c->use_bias)
        layer_weight_seen_as(call, names[1], bias, (shape){1, {matrix.dim[1]}}, c->bias_initializer,
                             true);
    for (int i = first; i < call->weight_count; i++) {
        call->weights[i].part = names[2];
        call->weights[i].options = i == first ? "kernel" : "bias";
    }
}

static int64_t value_dim_of(const multi_head_attention_config *c)
{
    return c->value_dim > 0 ? c->value_dim : c->key_dim;
}

static cornu_status multi_head_attention_declare(layer *l, layer_call *call)
{
    static const char *const query[] = {"query_kernel", "query_bias", "query_dense"},
                             *const key[] = {"key_kernel", "key_bias", "key_dense"},
                             *const value[] = {"value_kernel", "value_bias", "value_dense"},
                             *const output[] = {"attention_output_kernel", "attention_output_bias",
                                                "output_dense"};
    const multi_head_attention_config *c = l->config;
    const int64_t heads = c->num_heads, depth = value_dim_of(c);
    TRY(check_inputs(call));
    const shape *in = call->in, *keys = &in[call->inputs == 3 ? KEY : VALUE];
    const int64_t width = c->output_shape.count == 1 ? c->output_shape.value[0] : in->dim[1];
    if (c->output_shape.count > 1 || width < 1)
        return status_fail(CORNU_UNSUPPORTED,
                           "output_shape: found %d dimensions; expected one size, or null",
                           c->output_shape.count);
    if (c->attention_axes.count > 0 &&
        (c->attention_axes.count != 1 || c->attention_axes.value[0] != 1))
        return status_fail(CORNU_UNSUPPORTED, "attention_axes: found %lld; expected 1, or null",
                           (long long)c->attention_axes.value[0]);
    declare_projection(c, call, query, (shape){3, {in[QUERY].dim[1], heads, c->key_dim}}, 1);
    declare_projection(c, call, key, (shape){3, {keys->dim[1], heads, c->key_dim}}, 1);
    declare_projection(c, call, value, (shape){3, {in[VALUE].dim[1], heads, depth}}, 1);
    declare_projection(c, call, output, (shape){3, {heads, depth, width}}, 2);
    call->out = (shape){2, {in[QUERY].dim[0], width}};
    if (c->call.return_attention_scores)
        call->more[call->more_count++] = (shape){3, {heads, in[QUERY].dim[0], keys->dim[0]}};
    return CORNU_OK;
}

static const int heads_first[3] = {2, 1, 3};

/* x times projection `number`, (steps, heads x depth) */
static cornu_status project(const multi_head_attention_config *c, step_builder *b, tensor_ref x,
                            int number, tensor_ref *y)
{
    const int first = number * (c->use_bias ? 2 : 1);
    return emit_dense(b, x, emit_weight(b, first),
                      c->use_bias ? emit_weight(b, first + 1) : NO_TENSOR, y);
}

/* The same as (heads, steps, depth). */
static cornu_status project_heads(const multi_head_attention_config *c, step_builder *b,
                                  tensor_ref x, int number, tensor_ref *y)
{
    TRY(project(c, b, x, number, y));
    const shape s = emit_shape(b, *y);
    const shape parts = {3, {s.dim[0], c->num_heads, s.dim[1] / c->num_heads}};
    TRY(emit_reshape(b, *y, &parts, y));
    return emit_transpose(b, *y, heads_first, y);
}

static cornu_status multi_head_attention_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                              tensor_ref *y)
{
    const multi_head_attention_config *c = l->config;
    const tensor_ref key = x[emit_inputs(b) == 3 ? KEY : VALUE];
    tensor_ref q, k, v, weights[2];
    TRY(project_heads(c, b, x[QUERY], 0, &q));
    TRY(project_heads(c, b, key, 1, &k));
    TRY(project_heads(c, b, x[VALUE], 2, &v));
    TRY(emit_scale(b, q, 1 / sqrt((double)c->key_dim), 0, &q));
    TRY(emit_matmul(b, q, false, k, true, y));
    TRY(weigh(b, *y, v, c->dropout, &c->call, y, weights));
    if (c->call.return_attention_scores)
        y[1] = weights[0];
    TRY(emit_transpose(b, *y, heads_first, y));
    const shape s = emit_shape(b, *y), rows = {2, {s.dim[0], s.dim[1] * s.dim[2]}};
    TRY(emit_reshape(b, *y, &rows, y));
    return project(c, b, *y, 3, y);
}

static const char *const multi_head_attention_samples[] = {
    "4,6 | {num_heads: 2, key_dim: 3, inputs: [a, b]}",
    "3,5 | {num_heads: 3, key_dim: 2, value_dim: 4, use_bias: false, inputs: [a, b, input_layer]}",
    "2,4 | {num_heads: 1, key_dim: 4, output_shape: 7, bias_initializer: ones, inputs: [b, a]}",
    "4,3 | {num_heads: 2, key_dim: 2, use_causal_mask: true, inputs: [a, b]}",
    "2,3 | {MultiHeadAttention: {num_heads: 2, key_dim: 2, return_attention_scores: true, name: "
    "first, inputs: [a, b]}}, {Reshape: {target_shape: [4, 2], name: scores, inputs: "
    "first/output_2}}, | {num_heads: 1, key_dim: 2, inputs: [first, scores]}",
    NULL,
};

const layer_kind layer_MultiHeadAttention = {
    .name = "MultiHeadAttention",
    .base_name = "multi_head_attention",
    .config_size = sizeof(multi_head_attention_config),
    .fields = multi_head_attention_fields,
    .declare = multi_head_attention_declare,
    .emit = multi_head_attention_emit,
    .samples = multi_head_attention_samples,
    .merges = true,
    .unlisted = true,
};

/* ---- Attention --------------------------------------------------------------------------- */

typedef struct attention_config {
    double dropout;
    bool use_scale;
    attention_call call;
    int score_mode;
} attention_config;

enum { SCORES_DOT, SCORES_CONCAT };

static const config_field attention_fields[] = {
    OPTION(BOOL, attention_config, use_scale, .fallback = "false"),
    OPTION(CHOICE, attention_config, score_mode, .fallback = "dot", .choices = "dot|concat"),
    OPTION(REAL, attention_config, dropout, .fallback = "0.0", .maximum = 1, .flags = CONFIG_BELOW),
    OPTION_IGNORED("seed"),
    CALL_OPTIONS(attention_config),
    OPTIONS_END,
};

/* The outputs of a call: what the values give and, where they are wanted, each query's scores of
   the keys. */
static void declare_outputs(const attention_config *c, layer_call *call)
{
    const int64_t queries = call->in[QUERY].dim[0];
    call->out = (shape){2, {queries, call->in[VALUE].dim[1]}};
    if (c->call.return_attention_scores)
        call->more[call->more_count++] = (shape){2, {queries, call->in[VALUE].dim[0]}};
}

/* The outputs by the scores *y, which are those of the values with dropout, as in Keras. */
static cornu_status emit_outputs(const attention_config *c, step_builder *b, tensor_ref value,
                                 tensor_ref *y)
{
    tensor_ref weights[2];
    TRY(weigh(b, *y, value, c->dropout, &c->call, y, weights));
    if (c->call.return_attention_scores)
        y[1] = weights[1];
    return CORNU_OK;
}

static cornu_status check_features(const layer_call *call)
{
    char query[128], other[128];
    TRY(check_inputs(call));
    const shape *in = call->in, *keys = &in[call->inputs == 3 ? KEY : VALUE];
    if (in[QUERY].dim[1] == keys->dim[1])
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found query %s and key %s; expected as many features",
                       shape_show(&in[QUERY], false, query), shape_show(keys, false, other));
}

static cornu_status attention_declare(layer *l, layer_call *call)
{
    const attention_config *c = l->config;
    const initializer one = {.kind = INITIALIZER_ONES};
    const bool concat = c->score_mode == SCORES_CONCAT;
    TRY(check_features(call));
    if (c->use_scale)
        layer_weight_beside(call, "scale", (shape){.rank = 0}, concat ? 3 : 2, one);
    if (concat)
        layer_weight_beside(call, "concat_score_weight", (shape){.rank = 0}, 2, one);
    declare_outputs(c, call);
    return CORNU_OK;
}

/* y = query + key for each pair of them, (queries, keys, features) */
static cornu_status pair_sums(step_builder *b, tensor_ref query, tensor_ref key, tensor_ref *y)
{
    const shape q = emit_shape(b, query), k = emit_shape(b, key);
    const shape queries = {3, {q.dim[0], 1, q.dim[1]}}, keys = {3, {1, k.dim[0], k.dim[1]}};
    tensor_ref every_query, every_key;
    TRY(emit_reshape(b, query, &queries, &every_query));
    TRY(emit_reshape(b, key, &keys, &every_key));
    return emit_binary(b, BINARY_ADD, every_query, every_key, y);
}

/* y = the sum over the last dimension, which it leaves out */
static cornu_status sum_features(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const shape in = emit_shape(b, x), out = {2, {in.dim[0], in.dim[1]}};
    const int_list last = {.count = 1, .value = {3}};
    int64_t count;
    TRY(layer_reduce(b, x, &last, false, &count, y));
    TRY(emit_scale(b, *y, (double)count, 0, y));
    return emit_reshape(b, *y, &out, y);
}

static const activation tanh_activation = {.kind = ACTIVATION_TANH};

static cornu_status attention_scores(const attention_config *c, step_builder *b, tensor_ref query,
                                     tensor_ref key, tensor_ref *y)
{
    const tensor_ref scale = c->use_scale ? emit_weight(b, 0) : NO_TENSOR;
    const bool concat = c->score_mode == SCORES_CONCAT;
    TRY(concat ? pair_sums(b, query, key, y) : emit_matmul(b, query, false, key, true, y));
    if (c->use_scale)
        TRY(emit_binary(b, BINARY_MULTIPLY, *y, scale, y));
    if (!concat)
        return CORNU_OK;
    TRY(emit_activation(b, *y, tanh_activation, y));
    TRY(sum_features(b, *y, y));
    return emit_binary(b, BINARY_MULTIPLY, *y, emit_weight(b, c->use_scale ? 1 : 0), y);
}

static cornu_status attention_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const attention_config *c = l->config;
    TRY(attention_scores(c, b, x[QUERY], x[emit_inputs(b) == 3 ? KEY : VALUE], y));
    return emit_outputs(c, b, x[VALUE], y);
}

static const char *const attention_samples[] = {
    "4,6 | {inputs: [a, b]}",
    "3,5 | {inputs: [a, b, a]}",
    "3,4 | {use_scale: true, use_causal_mask: true, inputs: [a, b]}",
    "3,4 | {score_mode: concat, use_scale: true, inputs: [a, b]}",
    "3,2 | {score_mode: concat, inputs: [a, b, a]}",
    "3,3 | {Attention: {use_scale: true, return_attention_scores: true, inputs: [a, b], name: "
    "first}}, | {inputs: [first/output_2, first]}",
    NULL,
};

const layer_kind layer_Attention = {
    .name = "Attention",
    .base_name = "attention",
    .config_size = sizeof(attention_config),
    .fields = attention_fields,
    .declare = attention_declare,
    .emit = attention_emit,
    .samples = attention_samples,
    .merges = true,
};

/* ---- AdditiveAttention ------------------------------------------------------------------- */

static const config_field additive_attention_fields[] = {
    OPTION(BOOL, attention_config, use_scale, .fallback = "true"),
    OPTION(REAL, attention_config, dropout, .fallback = "0.0", .maximum = 1, .flags = CONFIG_BELOW),
    {.key = "seed", .type = CONFIG_IGNORED, .flags = CONFIG_ALIAS},
    CALL_OPTIONS(attention_config),
    OPTIONS_END,
};

/* The scale is a vector, which a product has as its kernel. */
static cornu_status additive_attention_declare(layer *l, layer_call *call)
{
    const attention_config *c = l->config;
    const int64_t features = call->in[QUERY].dim[1];
    TRY(check_features(call));
    if (c->use_scale)
        layer_weight_seen_as(call, "scale", (shape){1, {features}}, (shape){2, {features, 1}},
                             (initializer){.kind = INITIALIZER_GLOROT_UNIFORM}, true);
    declare_outputs(c, call);
    return CORNU_OK;
}

static cornu_status additive_attention_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                            tensor_ref *y)
{
    const attention_config *c = l->config;
    TRY(pair_sums(b, x[QUERY], x[emit_inputs(b) == 3 ? KEY : VALUE], y));
    const shape pairs = emit_shape(b, *y), scores = {2, {pairs.dim[0], pairs.dim[1]}};
    TRY(emit_activation(b, *y, tanh_activation, y));
    if (c->use_scale) {
        TRY(emit_dense(b, *y, emit_weight(b, 0), NO_TENSOR, y));
        TRY(emit_reshape(b, *y, &scores, y));
    } else {
        TRY(sum_features(b, *y, y));
    }
    return emit_outputs(c, b, x[VALUE], y);
}

static const char *const additive_attention_samples[] = {
    "4,3 | {inputs: [a, b]}",
    "3,4 | {use_scale: false, use_causal_mask: true, inputs: [a, b, a]}",
    "3,3 | {AdditiveAttention: {return_attention_scores: true, inputs: [a, b], name: first}}, | "
    "{inputs: [first/output_2, first]}",
    NULL,
};

const layer_kind layer_AdditiveAttention = {
    .name = "AdditiveAttention",
    .base_name = "additive_attention",
    .config_size = sizeof(attention_config),
    .fields = additive_attention_fields,
    .declare = additive_attention_declare,
    .emit = additive_attention_emit,
    .samples = additive_attention_samples,
    .merges = true,
};

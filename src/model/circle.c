/* The loss Circle (Sun et al., 2020): of all pairs of a batch's samples, which labels make positive
   or negative. With d = max(1 - x z, 0) of two rows, gamma g and margin m, a positive pair has the
   logit -g max(m + d, 0) (m - d), a negative one g max(1 + m - d, 0) (1 - m - d). The loss of a
   sample is the softplus of the sum of its two log-sum-exps; one without a positive or a negative
   pair has 0. */
#include "model/layers/layers.h"
#include "model/traced_loss.h"

/* So much is taken from the logit of what is no pair: above the largest logit, and no infinity. */
static const double NO_PAIR = 1e30;

/* gamma max(weight[0] x + weight[1], 0) (distance[0] x + distance[1]); 0 where the mask is 0. */
static cornu_status logits(step_builder *b, tensor_ref x, tensor_ref mask, const double weight[2],
                           const double distance[2], double gamma, tensor_ref *y)
{
    const activation at_least_0 = {.kind = ACTIVATION_AT_LEAST};
    tensor_ref apart;
    TRY(emit_scale(b, x, weight[0], weight[1], y));
    TRY(emit_binary(b, BINARY_KEEP, *y, mask, y));
    TRY(emit_activation(b, *y, at_least_0, y));
    TRY(emit_scale(b, x, distance[0], distance[1], &apart));
    TRY(emit_binary(b, BINARY_MULTIPLY, *y, apart, y));
    return emit_scale(b, *y, gamma, 0, y);
}

/* The logarithm of each row's sum of exp(x) where the mask is not 0; of none -NO_PAIR. */
static cornu_status log_sum_exp(step_builder *b, tensor_ref x, tensor_ref mask, tensor_ref *y)
{
    const int_list last = {.count = 1, .value = {-1}};
    const activation exponential = {.kind = ACTIVATION_EXP}, logarithm = {.kind = ACTIVATION_LOG};
    tensor_ref top, none;
    int64_t count;
    TRY(emit_scale(b, mask, NO_PAIR, -NO_PAIR, y));
    TRY(emit_binary(b, BINARY_ADD, x, *y, y));
    TRY(layer_reduce(b, *y, &last, true, &count, &top));
    emit_stop_gradient(b, top);
    TRY(emit_binary(b, BINARY_SUBTRACT, *y, top, y));
    TRY(emit_activation(b, *y, exponential, y));
    TRY(emit_binary(b, BINARY_KEEP, *y, mask, y));
    TRY(layer_reduce(b, *y, &last, false, &count, y));
    TRY(emit_scale(b, *y, (double)count, 0, y));
    TRY(layer_reduce(b, mask, &last, true, &count, &none));
    TRY(emit_scale(b, none, -1, 1, &none));
    TRY(emit_binary(b, BINARY_ADD, *y, none, y)); /* no logarithm of 0 */
    TRY(emit_activation(b, *y, logarithm, y));
    return emit_binary(b, BINARY_ADD, *y, top, y);
}

/* positive, negative: 1 for pairs of samples of one label, and of two. */
static cornu_status pairs(const loss *l, step_builder *b, tensor_ref labels, tensor_ref *positive,
                          tensor_ref *negative)
{
    const int64_t n = emit_shape(b, labels).dim[0];
    const shape along = {2, {1, n}};
    tensor_ref others, apart;
    TRY(emit_reshape(b, labels, &along, &others));
    TRY(emit_binary(b, BINARY_EQUAL, labels, others, positive));
    TRY(emit_scale(b, *positive, -1, 1, negative));
    if (!l->remove_diagonal)
        return CORNU_OK;
    TRY(layer_beside_diagonal(b, n, &apart));
    return emit_binary(b, BINARY_KEEP, *positive, apart, positive);
}

/* The loss of each sample, of all as one. */
static cornu_status losses(const loss *l, step_builder *b, tensor_ref labels, tensor_ref x,
                           tensor_ref *y)
{
    const double gamma = l->reals[0], m = l->reals[1];
    const activation at_least_0 = {.kind = ACTIVATION_AT_LEAST},
                     softplus = {.kind = ACTIVATION_SOFTPLUS};
    tensor_ref d, positive, negative, p, n;
    TRY(pairs(l, b, labels, &positive, &negative));
    TRY(emit_matmul(b, x, false, x, true, &d));
    TRY(emit_scale(b, d, -1, 1, &d));
    TRY(emit_activation(b, d, at_least_0, &d));
    TRY(logits(b, d, positive, (const double[]){1, m}, (const double[]){-1, m}, -gamma, &p));
    TRY(logits(b, d, negative, (const double[]){-1, 1 + m}, (const double[]){-1, 1 - m}, gamma,
               &n));
    TRY(log_sum_exp(b, p, positive, &p));
    TRY(log_sum_exp(b, n, negative, &n));
    TRY(emit_binary(b, BINARY_ADD, p, n, y));
    return emit_activation(b, *y, softplus, y);
}

/* As in Keras, the mean is that of the losses above 0. */
static cornu_status of_those_above_0(step_builder *b, tensor_ref x, tensor_ref *y)
{
    static const float zero[1];
    tensor_ref none, share, empty;
    int64_t count;
    TRY(emit_constant(b, &(shape){1, {1}}, zero, &none));
    TRY(emit_binary(b, BINARY_GREATER, x, none, &share));
    TRY(emit_reduce_batch(b, share, false, &count, &share));
    TRY(emit_binary(b, BINARY_EQUAL, share, none, &empty));
    TRY(emit_binary(b, BINARY_ADD, share, empty, &share));
    return emit_binary(b, BINARY_DIVIDE, x, share, y);
}

cornu_status circle_emit(const loss *l, step_builder *b, tensor_ref target, tensor_ref output,
                         tensor_ref *value)
{
    const shape one = {1, {1}};
    tensor_ref labels, x;
    TRY(emit_batch_as_one(b, target, &labels));
    TRY(emit_batch_as_one(b, output, &x));
    TRY(losses(l, b, labels, x, value));
    TRY(emit_batch_apart(b, *value, &one, value));
    return l->reduction == LOSS_REDUCTION_SUM ? CORNU_OK : of_those_above_0(b, *value, value);
}

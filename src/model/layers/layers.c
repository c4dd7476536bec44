/* Functions shared by the layers. */
#include "model/layers/layers.h"

cornu_status layer_wants_image(const layer_call *call)
{
    char found[128];
    if (call->in[0].rank == 3)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found input %s; expected (height, width, channels)",
                       shape_show(&call->in[0], false, found));
}

cornu_status layer_wants_last_axis(const layer_call *call, int64_t axis)
{
    /* Keras counts the batch as dimension 0, so the last one's number is the rank of a sample. */
    if (axis == -1 || axis == call->in[0].rank)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found axis %lld; expected -1 (the last dimension)",
                       (long long)axis);
}

cornu_status layer_window_shape(layer_call *call, const window2d *w, int64_t channels)
{
    shape *out = &call->out;
    *out = (shape){3, {0, 0, channels}};
    for (int i = 0; i < 2; i++) {
        out->dim[i] = window_output(w, i, call->in[0].dim[i]);
        if (out->dim[i] < 1) {
            char found[128];
            return status_fail(CORNU_INVALID,
                               "found a window of %lld x %lld over input %s; expected one that "
                               "fits (or padding: same)",
                               (long long)(w->dilation[0] * (w->kernel[0] - 1) + 1),
                               (long long)(w->dilation[1] * (w->kernel[1] - 1) + 1),
                               shape_show(&call->in[0], false, found));
        }
    }
    return CORNU_OK;
}

cornu_status layer_axis(const char *key, int64_t axis, const shape *s, int *out)
{
    char shown[128];
    const int64_t last = s->rank;
    if (axis == 0 || axis < -last || axis > last)
        return status_fail(CORNU_INVALID,
                           "found %s %lld for input %s; expected 1 to %d, or -%d to -1 (0 is the "
                           "batch)",
                           key, (long long)axis, shape_show(s, true, shown), s->rank, s->rank);
    *out = (int)(axis < 0 ? axis + last + 1 : axis);
    return CORNU_OK;
}

cornu_status layer_wants_two(const layer_call *call)
{
    if (call->inputs == 2)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found %d input%s; expected two", call->inputs,
                       PLURAL(call->inputs, "", "s"));
}

cornu_status layer_fail_operands(const layer_call *call, int count)
{
    return status_fail(CORNU_INVALID,
                       "found %d input%s beside its arrays; expected %d operands in all, at least "
                       "one of them an input",
                       call->inputs, PLURAL(call->inputs, "", "s"), count);
}

void layer_weight(layer_call *call, const char *name, shape s, initializer start, bool trainable)
{
    call->weights[call->weight_count++] =
        (weight_spec){.name = name, .shape = s, .initializer = start, .trainable = trainable};
}

cornu_status layer_emit_activation(step_builder *b, tensor_ref x, activation a, tensor_ref *y)
{
    if (a.kind != ACTIVATION_LINEAR)
        return emit_activation(b, x, a, y);
    *y = x;
    return CORNU_OK;
}

cornu_status layer_emit_at_least(step_builder *b, tensor_ref x, double number, tensor_ref *y)
{
    const bool is_relu = !(number < 0) && !(number > 0);
    const activation_kind kind = is_relu ? ACTIVATION_RELU : ACTIVATION_AT_LEAST;
    return emit_activation(b, x, (activation){.kind = kind, .alpha = (float)number}, y);
}

cornu_status layer_emit_at_most(step_builder *b, tensor_ref x, double number, tensor_ref *y)
{
    return emit_activation(b, x, (activation){ACTIVATION_AT_MOST, (float)number}, y);
}

cornu_status layer_emit_array(step_builder *b, const number_array *a, tensor_ref x, tensor_ref *y)
{
    const shape beside = emit_shape(b, x);
    shape s;
    TRY(number_array_beside(a, &beside, &s));
    return emit_constant(b, &s, a->values, y);
}

cornu_status layer_same_shape(layer *l, layer_call *call)
{
    (void)l;
    call->out = call->in[0];
    return CORNU_OK;
}

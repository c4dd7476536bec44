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

cornu_status layer_wants_last_axis(const layer_call *call, int64_t *axis)
{
    /* Keras counts the batch as dimension 0, so the last one's number is the rank of a sample. */
    if (*axis != -1 && *axis != call->in[0].rank)
        return status_fail(CORNU_INVALID, "found axis %lld; expected -1 (the last dimension)",
                           (long long)*axis);
    *axis = -1;
    return CORNU_OK;
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

cornu_status layer_same_shape(layer *l, layer_call *call)
{
    (void)l;
    call->out = call->in[0];
    return CORNU_OK;
}

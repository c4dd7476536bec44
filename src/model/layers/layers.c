/* Functions shared by the layers. */
#include "model/layers/layers.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

shape layer_image_of(const shape *in)
{
    return in->rank == 3 ? *in : (shape){3, {1, in->dim[0], in->dim[1]}};
}

shape layer_shaped_like(const shape *in, const shape *image)
{
    return in->rank == 3 ? *image : (shape){2, {image->dim[1], image->dim[2]}};
}

cornu_status layer_as_image(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const shape in = emit_shape(b, x), image = layer_image_of(&in);
    return emit_reshape(b, x, &image, y);
}

cornu_status layer_wants_last_axis(const layer_call *call, int64_t axis)
{
    /* Keras counts the batch as dimension 0, so the last one's number is the rank of a sample. */
    if (axis == -1 || axis == call->in[0].rank)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found axis %lld; expected -1 (the last dimension)",
                       (long long)axis);
}

cornu_status layer_window_shape(layer_call *call, const window2d *w, const shape *in,
                                int64_t channels)
{
    shape *out = &call->out;
    *out = (shape){3, {0, 0, channels}};
    for (int i = 0; i < 2; i++) {
        out->dim[i] = window_output(w, i, in->dim[i]);
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

cornu_status layer_check_rank(const layer_kind *kind, const layer_call *call)
{
    char found[128];
    if (kind->rank == 0 || call->in[0].rank == kind->rank)
        return CORNU_OK;
    return status_fail(
        CORNU_INVALID, "found input %s; expected %s", shape_show(&call->in[0], false, found),
        kind->rank == LAYER_SIGNAL ? "(steps, channels)" : "(height, width, channels)");
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

int64_t layer_enlarged(int64_t size, int64_t factor)
{
    return size > SHAPE_ELEMENTS_MAX / factor ? 0 : size * factor;
}

void layer_weight_seen_as(layer_call *call, const char *name, shape s, shape seen_as,
                          initializer start, bool trainable)
{
    call->weights[call->weight_count++] = (weight_spec){
        .name = name, .shape = s, .seen_as = seen_as, .initializer = start, .trainable = trainable};
}

void layer_weight_beside(layer_call *call, const char *name, shape s, int rank, initializer start)
{
    shape seen = {.rank = rank + 1};
    for (int i = 0, lacking = seen.rank - s.rank; i < seen.rank; i++)
        seen.dim[i] = i < lacking ? 1 : s.dim[i - lacking];
    layer_weight_seen_as(call, name, s, seen, start, true);
}

void layer_weight(layer_call *call, const char *name, shape s, initializer start, bool trainable)
{
    layer_weight_seen_as(call, name, s, s, start, trainable);
}

const regularizer *layer_activity(const layer *l)
{
    const regularizer *found = l->kind->penalizes ? l->config : NULL;
    for (const config_field *f = l->kind->fields; f->key; f++)
        if (f->type == CONFIG_REGULARIZER && strcmp(f->key, "activity_regularizer") == 0)
            found = (const void *)((const char *)l->config + f->offset);
    return found && (found->l1 > 0 || found->l2 > 0 || found->kind == REGULARIZER_ORTHOGONAL)
               ? found
               : NULL;
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

cornu_status layer_emit_compared(step_builder *b, binary_kind kind, tensor_ref x, double number,
                                 tensor_ref *y)
{
    const float value = (float)number;
    shape s = {.rank = emit_shape(b, x).rank};
    tensor_ref constant;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = 1;
    TRY(emit_constant(b, &s, &value, &constant));
    return emit_binary(b, kind, x, constant, y);
}

cornu_status layer_emit_above(step_builder *b, tensor_ref x, double number, tensor_ref *y)
{
    tensor_ref above;
    TRY(layer_emit_compared(b, BINARY_GREATER, x, number, &above));
    return emit_binary(b, BINARY_KEEP, x, above, y);
}

cornu_status layer_emit_array(step_builder *b, const number_array *a, tensor_ref x, tensor_ref *y)
{
    const shape beside = emit_shape(b, x);
    shape s;
    TRY(number_array_beside(a, &beside, &s));
    return emit_constant(b, &s, a->values, y);
}

/* A product with ones, which repeats the elements along an axis of 1. */
cornu_status layer_repeat(step_builder *b, tensor_ref x, int axis, int64_t times, tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    shape out = in, parts = {3, {1, 1, 1}}, ones = {3, {1, times, 1}};
    tensor_ref one;
    float *values;
    for (int i = 0; i < in.rank; i++)
        parts.dim[i < axis ? 0 : 2] *= in.dim[i];
    out.dim[axis - 1] *= times;
    TRY(memory_new((size_t)times, sizeof *values, "ones", &values));
    for (int64_t i = 0; i < times; i++)
        values[i] = 1;
    cornu_status status = emit_constant(b, &ones, values, &one);
    free(values);
    TRY(status);
    TRY(emit_reshape(b, x, &parts, y));
    TRY(emit_binary(b, BINARY_MULTIPLY, *y, one, y));
    return emit_reshape(b, *y, &out, y);
}

cornu_status layer_same_shape(layer *l, layer_call *call)
{
    (void)l;
    call->out = call->in[0];
    return CORNU_OK;
}

/* ---- reductions ---------------------------------------------------------------------------- */

cornu_status layer_reduced_axes(const int_list *axes, const shape *in, bool reduced[SHAPE_MAX])
{
    char shown[128];
    for (int i = 0; i < in->rank; i++)
        reduced[i] = false;
    for (int i = 0; i < axes->count; i++) {
        int axis = 0;
        TRY(layer_axis("axis", axes->value[i], in, &axis));
        if (reduced[axis - 1])
            return status_fail(CORNU_INVALID, "found axis %d of input %s twice; expected each once",
                               axis, shape_show(in, true, shown));
        reduced[axis - 1] = true;
    }
    if (axes->count > 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found no axis for input %s; expected at least one",
                       shape_show(in, true, shown));
}

/* Reduce dimensions begin to end - 1 of x, which keep their places, by pooling over one window. */
static cornu_status pooled(step_builder *b, tensor_ref x, int begin, int end, bool largest,
                           tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    const bool is_image = in.rank == 3 && begin == 0 && end == 2;
    shape out = in, runs = {3, {1, 1, 1}};
    for (int i = 0; i < in.rank; i++) {
        runs.dim[i < begin ? 0 : i < end ? 1 : 2] *= in.dim[i];
        out.dim[i] = i >= begin && i < end ? 1 : in.dim[i];
    }
    window2d w = {.kernel = {1, runs.dim[1]}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    if (is_image) { /* as GlobalAveragePooling2D */
        w.kernel[0] = in.dim[0];
        w.kernel[1] = in.dim[1];
    }
    TRY(emit_reshape(b, x, is_image ? &in : &runs, y));
    TRY((largest ? emit_max_pool : emit_average_pool)(b, *y, &w, y));
    return emit_reshape(b, *y, &out, y);
}

cornu_status layer_reduce(step_builder *b, tensor_ref x, const int_list *axes, bool largest,
                          int64_t *count, tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    bool reduced[SHAPE_MAX];
    TRY(layer_reduced_axes(axes, &in, reduced));
    *count = 1;
    *y = x;
    for (int end, begin = 0; begin < in.rank; begin = end + 1) {
        for (end = begin; end < in.rank && reduced[end]; end++)
            *count *= in.dim[end];
        if (end > begin)
            TRY(pooled(b, *y, begin, end, largest, y));
    }
    return CORNU_OK;
}

/* ---- layers within layers ------------------------------------------------------------------ */

/* What a layer within another one gives is penalized in Keras, too, except within TimeDistributed,
   which does not call it as a layer. */
static cornu_status check_inner_activity(const layer *inner)
{
    if (!layer_activity(inner) || strcmp(inner->around->kind->name, "TimeDistributed") == 0)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "activity_regularizer: found one of a layer within %s; expected null there",
                       inner->around->kind->name);
}

cornu_status layer_declare_inner(layer *inner, layer_call *call, const shape *in, shape *out)
{
    layer_call own = {.in = in, .inputs = 1};
    cornu_status status = layer_check_rank(inner->kind, &own);
    if (status == CORNU_OK)
        status = check_inner_activity(inner);
    if (status == CORNU_OK)
        status = inner->kind->declare(inner, &own);
    if (status != CORNU_OK)
        return status_prefix(status, "%s (%s)", inner->name, inner->kind->name);
    inner->first_variable = call->weight_count;
    inner->weight_count = own.weight_count;
    if (own.weight_count > LAYER_WEIGHTS_MAX - call->weight_count)
        return status_fail(CORNU_UNSUPPORTED,
                           "found more than %d weights; expected at most so many",
                           LAYER_WEIGHTS_MAX);
    for (int i = 0; i < own.weight_count; i++) {
        weight_spec *w = &call->weights[call->weight_count++];
        *w = own.weights[i];
        w->of = w->of ? w->of : inner;
    }
    *out = own.out;
    return CORNU_OK;
}

void layer_enter(step_builder *b, const layer *inner, emit_frame *f)
{
    f->first_weight = inner->first_variable;
    f->weight_count = inner->weight_count;
    emit_enter(b, f);
}

/* keras.layers.reshaping */
#include "model/layers/layers.h"

/* Flatten: all dimensions of a sample in one. */
static const config_field flatten_fields[] = {
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static cornu_status flatten_declare(layer *l, layer_call *call)
{
    (void)l;
    call->out = (shape){1, {shape_elements(&call->in[0])}};
    return CORNU_OK;
}

static cornu_status flatten_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    const shape out = emit_output(b);
    (void)l;
    return emit_reshape(b, x[0], &out, y);
}

static const char *const flatten_samples[] = {
    "3,4,2 | {}",
    "5 | {}",
    "1,1,7 | {}",
    NULL,
};

const layer_kind layer_Flatten = {
    .name = "Flatten",
    .base_name = "flatten",
    .fields = flatten_fields,
    .declare = flatten_declare,
    .emit = flatten_emit,
    .samples = flatten_samples,
    .range = LAYER_REARRANGES,
};

/* Reshape: the same numbers in another shape; one dimension may be -1, computed from the others. */
typedef struct reshape_config {
    shape target_shape;
} reshape_config;

static const config_field reshape_fields[] = {
    OPTION(SHAPE, reshape_config, target_shape, .minimum = -1, .maximum = LAYER_SIZE_MAX,
           .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status reshape_declare(layer *l, layer_call *call)
{
    const reshape_config *c = l->config;
    shape target = c->target_shape;
    int open = -1;
    char from[128], to[128];
    for (int i = 0; i < target.rank; i++) {
        if (target.dim[i] == 0 || (target.dim[i] < 0 && open >= 0))
            return status_fail(CORNU_INVALID,
                               "found target_shape %s; expected sizes of at least 1, one of them "
                               "perhaps -1",
                               shape_show(&target, false, to));
        if (target.dim[i] < 0)
            open = i;
    }
    call->out = target;
    if (open >= 0)
        call->out.dim[open] = 1;
    int64_t total = shape_elements(&call->in[0]), known = shape_elements(&call->out);
    if (open >= 0 && known > 0)
        call->out.dim[open] = total / known;
    if (target.rank == 0 || shape_elements(&call->out) != total)
        return status_fail(CORNU_INVALID,
                           "found target_shape %s for input %s; expected a shape of %lld elements",
                           shape_show(&target, false, to), shape_show(&call->in[0], false, from),
                           (long long)total);
    return CORNU_OK;
}

static cornu_status reshape_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    const shape out = emit_output(b);
    (void)l;
    return emit_reshape(b, x[0], &out, y);
}

static const char *const reshape_samples[] = {
    "12 | {target_shape: [2, 3, 2]}",
    "3,4,2 | {target_shape: [-1, 6]}",
    "5 | {target_shape: [5, 1, 1]}",
    NULL,
};

const layer_kind layer_Reshape = {
    .name = "Reshape",
    .base_name = "reshape",
    .config_size = sizeof(reshape_config),
    .fields = reshape_fields,
    .declare = reshape_declare,
    .emit = reshape_emit,
    .samples = reshape_samples,
    .range = LAYER_REARRANGES,
};

/* ZeroPadding2D: zeros around the image. */
typedef struct zero_padding2d_config {
    int64_t padding[4]; /* top, bottom, left, right */
} zero_padding2d_config;

static const config_field zero_padding2d_fields[] = {
    OPTION(PADDING, zero_padding2d_config, padding, .fallback = "1", .maximum = 1e6),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static cornu_status zero_padding2d_declare(layer *l, layer_call *call)
{
    const zero_padding2d_config *c = l->config;
    TRY(layer_wants_image(call));
    call->out = call->in[0];
    call->out.dim[0] += c->padding[0] + c->padding[1];
    call->out.dim[1] += c->padding[2] + c->padding[3];
    return CORNU_OK;
}

static cornu_status zero_padding2d_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                        tensor_ref *y)
{
    const zero_padding2d_config *c = l->config;
    const int64_t before[2] = {c->padding[0], c->padding[2]};
    const int64_t after[2] = {c->padding[1], c->padding[3]};
    return emit_pad(b, x[0], before, after, y);
}

static const char *const zero_padding2d_samples[] = {
    "3,4,2 | {}",
    "3,4,2 | {padding: [2, 1]}",
    "5,3,3 | {padding: [[1, 0], [2, 3]]}",
    NULL,
};

const layer_kind layer_ZeroPadding2D = {
    .name = "ZeroPadding2D",
    .base_name = "zero_padding2d",
    .config_size = sizeof(zero_padding2d_config),
    .fields = zero_padding2d_fields,
    .declare = zero_padding2d_declare,
    .emit = zero_padding2d_emit,
    .samples = zero_padding2d_samples,
    .range = LAYER_REARRANGES,
};

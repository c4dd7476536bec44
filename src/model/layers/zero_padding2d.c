#include "model/layers/layers.h"

/* ZeroPadding2D: zeros around the image. */
typedef struct zero_padding2d_config {
    int64_t padding[4]; /* top, bottom, left, right */
} zero_padding2d_config;

static const config_field fields[] = {
    OPTION(PADDING, zero_padding2d_config, padding, .fallback = "1", .maximum = 1e6),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static cornu_status zero_padding2d_declare(layer *l, weight_spec *weights, int *count)
{
    const zero_padding2d_config *c = l->config;
    (void)weights;
    (void)count;
    TRY(layer_wants_image(l));
    l->out = l->in;
    l->out.dim[0] += c->padding[0] + c->padding[1];
    l->out.dim[1] += c->padding[2] + c->padding[3];
    return CORNU_OK;
}

static cornu_status zero_padding2d_emit(const layer *l, step_builder *b, tensor_ref x,
                                        tensor_ref *y)
{
    const zero_padding2d_config *c = l->config;
    const int64_t before[2] = {c->padding[0], c->padding[2]};
    const int64_t after[2] = {c->padding[1], c->padding[3]};
    return emit_pad(b, x, before, after, y);
}

static const char *const samples[] = {
    "3,4,2 | {}",
    "3,4,2 | {padding: [2, 1]}",
    "5,3,3 | {padding: [[1, 0], [2, 3]]}",
    NULL,
};

const layer_kind layer_ZeroPadding2D = {
    .name = "ZeroPadding2D",
    .base_name = "zero_padding2d",
    .config_size = sizeof(zero_padding2d_config),
    .fields = fields,
    .declare = zero_padding2d_declare,
    .emit = zero_padding2d_emit,
    .samples = samples,
    .range = LAYER_REARRANGES,
};

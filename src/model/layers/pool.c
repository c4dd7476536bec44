#include "model/layers/layers.h"

#define SIZES .minimum = 1, .maximum = LAYER_SIZE_MAX

const char *const pool_samples[] = {
    "6,6,3 | {pool_size: 2}",
    "7,5,2 | {pool_size: 3, strides: 2, padding: same}",
    "7,7,1 | {pool_size: 2}",
    "7,9,2 | {pool_size: [2, 3], strides: [1, 2]}",
    "5,5,4 | {pool_size: 2, padding: same}",
    "4,6,17 | {pool_size: [1, 2], strides: [2, 1], padding: same}",
    "3,3,2 | {pool_size: 3, strides: 1, padding: same}",
    NULL,
};

const config_field pool_fields[] = {
    OPTION(PAIR, pool_config, pool_size, SIZES, .fallback = "2"),
    OPTION(PAIR, pool_config, strides, SIZES, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(CHOICE, pool_config, padding, .choices = LAYER_PADDINGS, .fallback = "valid"),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

window2d pool_window(const layer *l)
{
    const pool_config *c = l->config;
    window2d w = {.dilation = {1, 1}, .groups = 1};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = c->pool_size[i];
        w.stride[i] = c->strides[0] == 0 ? c->pool_size[i] : c->strides[i];
    }
    window_pad(&w, c->padding == LAYER_SAME, l->in.dim[0], l->in.dim[1]);
    return w;
}

cornu_status pool_declare(layer *l, weight_spec *weights, int *count)
{
    (void)weights;
    (void)count;
    TRY(layer_wants_image(l));
    window2d w = pool_window(l);
    return layer_window_shape(l, &w, l->in.dim[2], &l->out);
}

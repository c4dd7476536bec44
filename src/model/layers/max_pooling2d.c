#include "model/layers/layers.h"

/* MaxPooling2D: the largest value of each window; padding never wins. */
static cornu_status max_pooling2d_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    window2d w = pool_window(l);
    return emit_max_pool(b, x, &w, y);
}

static const char *const samples[] = {
    "6,6,3 | {pool_size: 2}",
    "7,5,2 | {pool_size: 3, strides: 2, padding: same}",
    "7,7,1 | {pool_size: 2}",
    "7,9,2 | {pool_size: [2, 3], strides: [1, 2]}",
    "5,5,4 | {pool_size: 2, padding: same}",
    "4,6,17 | {pool_size: [1, 2], strides: [2, 1], padding: same}",
    "3,3,2 | {pool_size: 3, strides: 1, padding: same}",
    NULL,
};

const layer_kind layer_MaxPooling2D = {
    .name = "MaxPooling2D",
    .base_name = "max_pooling2d",
    .config_size = sizeof(pool_config),
    .fields = pool_fields,
    .declare = pool_declare,
    .emit = max_pooling2d_emit,
    .samples = samples,
};

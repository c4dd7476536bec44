#include "model/layers/layers.h"

/* MaxPooling2D: the largest value of each window; padding is never the maximum. */
static cornu_status max_pooling2d_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    window2d w = pool_window(l);
    return emit_max_pool(b, x, &w, y);
}

const layer_kind layer_MaxPooling2D = {
    .name = "MaxPooling2D",
    .base_name = "max_pooling2d",
    .config_size = sizeof(pool_config),
    .fields = pool_fields,
    .declare = pool_declare,
    .emit = max_pooling2d_emit,
    .samples = pool_samples,
};

#include "model/layers/layers.h"

/* AveragePooling2D: the mean over the elements of each window that lie inside the image. */
static cornu_status average_pooling2d_emit(const layer *l, step_builder *b, tensor_ref x,
                                           tensor_ref *y)
{
    window2d w = pool_window(l);
    return emit_average_pool(b, x, &w, y);
}

const layer_kind layer_AveragePooling2D = {
    .name = "AveragePooling2D",
    .base_name = "average_pooling2d",
    .config_size = sizeof(pool_config),
    .fields = pool_fields,
    .declare = pool_declare,
    .emit = average_pooling2d_emit,
    .samples = pool_samples,
};

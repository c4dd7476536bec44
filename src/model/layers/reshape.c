#include "model/layers/layers.h"

/* Reshape: the same numbers in another shape; one dimension may be -1, computed from the others. */
typedef struct reshape_config {
    shape target_shape;
} reshape_config;

static const config_field fields[] = {
    OPTION(SHAPE, reshape_config, target_shape, .minimum = -1, .maximum = LAYER_SIZE_MAX,
           .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status reshape_declare(layer *l, weight_spec *weights, int *count)
{
    const reshape_config *c = l->config;
    shape target = c->target_shape;
    int open = -1;
    char from[128], to[128];
    (void)weights;
    (void)count;
    for (int i = 0; i < target.rank; i++) {
        if (target.dim[i] == 0 || (target.dim[i] < 0 && open >= 0))
            return status_fail(CORNU_INVALID,
                               "found target_shape %s; expected sizes of at least 1, one of them "
                               "perhaps -1",
                               shape_show(&target, false, to));
        if (target.dim[i] < 0)
            open = i;
    }
    l->out = target;
    if (open >= 0)
        l->out.dim[open] = 1;
    int64_t total = shape_elements(&l->in), known = shape_elements(&l->out);
    if (open >= 0 && known > 0)
        l->out.dim[open] = total / known;
    if (target.rank == 0 || shape_elements(&l->out) != total)
        return status_fail(
            CORNU_INVALID, "found target_shape %s for input %s; expected a shape of %lld elements",
            shape_show(&target, false, to), shape_show(&l->in, false, from), (long long)total);
    return CORNU_OK;
}

static cornu_status reshape_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    return emit_reshape(b, x, &l->out, y);
}

static const char *const samples[] = {
    "12 | {target_shape: [2, 3, 2]}",
    "3,4,2 | {target_shape: [-1, 6]}",
    "5 | {target_shape: [5, 1, 1]}",
    NULL,
};

const layer_kind layer_Reshape = {
    .name = "Reshape",
    .base_name = "reshape",
    .config_size = sizeof(reshape_config),
    .fields = fields,
    .declare = reshape_declare,
    .emit = reshape_emit,
    .samples = samples,
    .range = LAYER_REARRANGES,
};

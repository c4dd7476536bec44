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

/* ---- borders: one and two dimensions are the same, as a signal is an image of height 1 ----------
 */

/* ZeroPadding and Cropping: elements around the image, or its own outermost ones. */
typedef struct border_config {
    int64_t sides[4]; /* top, bottom, left, right; of a signal the last two */
} border_config;

/* The sides of a signal are an int or [before, after]. */
#define OPTION_SIDES1D(name) \
    OPTION_AS(name, PAIR, border_config, sides[2], .maximum = 1e6, .fallback = "1")
#define OPTION_SIDES2D(name, sides_else) \
    OPTION_AS(name, PADDING, border_config, sides, .maximum = 1e6, .fallback = (sides_else))

static const config_field zero_padding1d_fields[] = {
    OPTION_SIDES1D("padding"),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static const config_field zero_padding2d_fields[] = {
    OPTION_SIDES2D("padding", "1"),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static const config_field cropping1d_fields[] = {
    OPTION_SIDES1D("cropping"),
    OPTIONS_END,
};

static const config_field cropping2d_fields[] = {
    OPTION_SIDES2D("cropping", "[[0, 0], [0, 0]]"),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

/* Declare an output that is larger by the sides, or (sign -1) smaller. */
static cornu_status declare_border(const layer *l, layer_call *call, int sign)
{
    const border_config *c = l->config;
    shape image = layer_image_of(&call->in[0]);
    char shown[128];
    for (int i = 0; i < 2; i++) {
        image.dim[i] += sign * (c->sides[2 * i] + c->sides[2 * i + 1]);
        if (image.dim[i] < 1)
            return status_fail(CORNU_INVALID,
                               "found a cropping of %lld and %lld for input %s; expected less than "
                               "its size",
                               (long long)c->sides[2 * i], (long long)c->sides[2 * i + 1],
                               shape_show(&call->in[0], false, shown));
    }
    call->out = layer_shaped_like(&call->in[0], &image);
    return CORNU_OK;
}

static cornu_status zero_padding_declare(layer *l, layer_call *call)
{
    return declare_border(l, call, 1);
}

static cornu_status cropping_declare(layer *l, layer_call *call)
{
    return declare_border(l, call, -1);
}

static cornu_status zero_padding_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                      tensor_ref *y)
{
    const border_config *c = l->config;
    const shape out = emit_output(b);
    const int64_t before[2] = {c->sides[0], c->sides[2]};
    const int64_t after[2] = {c->sides[1], c->sides[3]};
    TRY(layer_as_image(b, x[0], y));
    TRY(emit_pad(b, *y, before, after, y));
    return emit_reshape(b, *y, &out, y);
}

static cornu_status cropping_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    const border_config *c = l->config;
    const shape out = emit_output(b);
    TRY(layer_as_image(b, x[0], y));
    const shape in = emit_shape(b, *y);
    for (int i = 0; i < 2; i++) {
        const int64_t *sides = c->sides + 2 * i, left = in.dim[i] - sides[0] - sides[1];
        if (left < in.dim[i])
            TRY(emit_slice(b, *y, i + 1, sides[0], 1, left, y));
    }
    return emit_reshape(b, *y, &out, y);
}

static const char *const zero_padding1d_samples[] = {
    "4,2 | {}",
    "5,3 | {padding: [0, 2]}",
    NULL,
};

static const char *const zero_padding2d_samples[] = {
    "3,4,2 | {}",
    "3,4,2 | {padding: [2, 1]}",
    "5,3,3 | {padding: [[1, 0], [2, 3]]}",
    NULL,
};

static const char *const cropping1d_samples[] = {
    "4,2 | {}",
    "5,3 | {cropping: [0, 2]}",
    NULL,
};

static const char *const cropping2d_samples[] = {
    "3,4,2 | {}",
    "5,4,2 | {cropping: [2, 1]}",
    "5,7,3 | {cropping: [[1, 0], [2, 3]]}",
    NULL,
};

#define BORDER(class_name, kind, dimensions, family) \
    const layer_kind layer_##class_name = {          \
        .name = #class_name,                         \
        .base_name = #kind,                          \
        .config_size = sizeof(border_config),        \
        .fields = kind##_fields,                     \
        .rank = (dimensions),                        \
        .declare = family##_declare,                 \
        .emit = family##_emit,                       \
        .samples = kind##_samples,                   \
        .range = LAYER_REARRANGES,                   \
    }

BORDER(ZeroPadding1D, zero_padding1d, LAYER_SIGNAL, zero_padding);
BORDER(ZeroPadding2D, zero_padding2d, LAYER_IMAGE, zero_padding);
BORDER(Cropping1D, cropping1d, LAYER_SIGNAL, cropping);
BORDER(Cropping2D, cropping2d, LAYER_IMAGE, cropping);

/* ---- orders and repetitions ---------------------------------------------------------------- */

/* Permute: axis i + 1 of y is axis dims[i] of x; the batch, axis 0, stays the first. */
typedef struct permute_config {
    int_list dims;
} permute_config;

static const config_field permute_fields[] = {
    OPTION(INTS, permute_config, dims, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status permute_declare(layer *l, layer_call *call)
{
    const permute_config *c = l->config;
    const shape *in = &call->in[0];
    char shown[128];
    bool seen[SHAPE_MAX] = {false}, fits = !c->dims.one && c->dims.count == in->rank;
    call->out = *in;
    for (int i = 0; fits && i < in->rank; i++) {
        const int64_t axis = c->dims.value[i];
        fits = axis >= 1 && axis <= in->rank && !seen[axis - 1];
        if (fits) {
            seen[axis - 1] = true;
            call->out.dim[i] = in->dim[axis - 1];
        }
    }
    if (fits)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found dims that do not fit input %s; expected each of 1 to %d once",
                       shape_show(in, true, shown), in->rank);
}

static cornu_status permute_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    const permute_config *c = l->config;
    int order[SHAPE_MAX];
    for (int i = 0; i < c->dims.count; i++)
        order[i] = (int)c->dims.value[i];
    return emit_transpose(b, x[0], order, y);
}

static const char *const permute_samples[] = {
    "3,4 | {dims: [2, 1]}",
    "3,4,2 | {dims: [3, 1, 2]}",
    "2,3,2 | {dims: [1, 2, 3]}",
    NULL,
};

const layer_kind layer_Permute = {
    .name = "Permute",
    .base_name = "permute",
    .config_size = sizeof(permute_config),
    .fields = permute_fields,
    .declare = permute_declare,
    .emit = permute_emit,
    .samples = permute_samples,
    .range = LAYER_REARRANGES,
};

/* RepeatVector: a vector n times. */
typedef struct repeat_vector_config {
    int64_t n;
} repeat_vector_config;

static const config_field repeat_vector_fields[] = {
    OPTION(INT, repeat_vector_config, n, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status repeat_vector_declare(layer *l, layer_call *call)
{
    const repeat_vector_config *c = l->config;
    char shown[128];
    if (call->in[0].rank != 1)
        return status_fail(CORNU_INVALID, "found input %s; expected (features)",
                           shape_show(&call->in[0], false, shown));
    call->out = (shape){2, {c->n, call->in[0].dim[0]}};
    return CORNU_OK;
}

static cornu_status repeat_vector_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const repeat_vector_config *c = l->config;
    const shape row = {2, {1, emit_shape(b, x[0]).dim[0]}};
    TRY(emit_reshape(b, x[0], &row, y));
    return layer_repeat(b, *y, 1, c->n, y);
}

static const char *const repeat_vector_samples[] = {
    "5 | {n: 3}",
    "17 | {n: 1}",
    NULL,
};

const layer_kind layer_RepeatVector = {
    .name = "RepeatVector",
    .base_name = "repeat_vector",
    .config_size = sizeof(repeat_vector_config),
    .fields = repeat_vector_fields,
    .declare = repeat_vector_declare,
    .emit = repeat_vector_emit,
    .samples = repeat_vector_samples,
    .range = LAYER_REARRANGES,
};

/* UpSampling1D and UpSampling2D: each step, or row and column, `size` times; or an image that is so
   many times as large. */
enum { UP_SAMPLING_NEAREST, UP_SAMPLING_BILINEAR };
typedef struct up_sampling_config {
    int64_t size[2]; /* of a signal the second */
    int interpolation;
} up_sampling_config;

static const config_field up_sampling1d_fields[] = {
    OPTION_AS("size", INT, up_sampling_config, size[1], LAYER_SIZES, .fallback = "2"),
    OPTIONS_END,
};

static const config_field up_sampling2d_fields[] = {
    OPTION(PAIR, up_sampling_config, size, LAYER_SIZES, .fallback = "2"),
    OPTION_CHANNELS_LAST,
    OPTION(CHOICE, up_sampling_config, interpolation, .fallback = "nearest",
           .choices = "nearest|bilinear"),
    OPTIONS_END,
};

static cornu_status up_sampling_declare(layer *l, layer_call *call)
{
    const up_sampling_config *c = l->config;
    call->out = call->in[0];
    for (int i = 0, last = call->out.rank - 2; i <= last; i++) /* a signal's size is the second */
        call->out.dim[i] = layer_enlarged(call->out.dim[i], c->size[i + 1 - last]);
    return CORNU_OK;
}

static cornu_status up_sampling_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    const up_sampling_config *c = l->config;
    const shape out = emit_output(b), in = emit_shape(b, x[0]), image = layer_image_of(&in);
    const shape large = layer_image_of(&out);
    const image_window whole = {.size = {image.dim[0], image.dim[1]}};
    TRY(emit_reshape(b, x[0], &image, y));
    TRY(layer_emit_window(b, *y, &whole, large.dim, c->interpolation == UP_SAMPLING_NEAREST, y));
    return emit_reshape(b, *y, &out, y);
}

static const char *const up_sampling1d_samples[] = {
    "4,2 | {}",
    "3,3 | {size: 3}",
    NULL,
};

static const char *const up_sampling2d_samples[] = {
    "3,4,2 | {}",
    "2,3,3 | {size: [3, 1]}",
    "2,2,17 | {size: [1, 2]}",
    "3,2,2 | {size: [2, 3], interpolation: bilinear}",
    NULL,
};

#define UP_SAMPLING(class_name, kind, dimensions)  \
    const layer_kind layer_##class_name = {        \
        .name = #class_name,                       \
        .base_name = #kind,                        \
        .config_size = sizeof(up_sampling_config), \
        .fields = kind##_fields,                   \
        .rank = (dimensions),                      \
        .declare = up_sampling_declare,            \
        .emit = up_sampling_emit,                  \
        .samples = kind##_samples,                 \
        .range = LAYER_REARRANGES,                 \
    }

UP_SAMPLING(UpSampling1D, up_sampling1d, LAYER_SIGNAL);
UP_SAMPLING(UpSampling2D, up_sampling2d, LAYER_IMAGE);

/* SpectralNormalization: in training the wrapped layer's kernel is divided by its largest singular
   value before the layer reads it, and stays so. As in Keras on TensorFlow, the gradient is that
   with respect to the kernel as the layer reads it. */
#include "model/layers/layers.h"
#include <string.h>

typedef struct spectral_config {
    layer_list layer;
    int64_t power_iterations;
} spectral_config;

static const config_field spectral_fields[] = {
    OPTION(LAYER, spectral_config, layer, .flags = CONFIG_REQUIRED),
    OPTION(INT, spectral_config, power_iterations, .fallback = "1", .minimum = 1, .maximum = 1000),
    OPTIONS_END,
};

/* Keras's places of the layer's weights: the kernel, the vector, what else the layer has. */
enum { KERNEL, VECTOR };

static const layer *inner_of(const layer *l)
{
    return ((const spectral_config *)l->config)->layer.item[0];
}

static cornu_status check_kernel(const layer *inner, const layer_call *call)
{
    const weight_spec *w = call->weights;
    if (call->weight_count > 0 && w->of == inner && !w->part &&
        (strcmp(w->name, "kernel") == 0 || strcmp(w->name, "embeddings") == 0))
        return CORNU_OK;
    return status_fail(
        CORNU_UNSUPPORTED,
        "found %s, which has neither 'kernel' nor 'embeddings'; expected a layer that "
        "has one of these",
        inner->kind->name);
}

/* How the kernel is a matrix: of Keras's last dimension, and the others together. */
static shape matrix_of(const shape *kernel)
{
    const int64_t columns = kernel->dim[kernel->rank - 1];
    return (shape){2, {shape_elements(kernel) / columns, columns}};
}

static cornu_status spectral_declare(layer *l, layer_call *call)
{
    layer *inner = ((spectral_config *)l->config)->layer.item[0];
    TRY(layer_declare_inner(inner, call, &call->in[0], &call->out));
    TRY(check_kernel(inner, call));
    if (call->weight_count == LAYER_WEIGHTS_MAX)
        return status_fail(CORNU_UNSUPPORTED, "found %d weights; expected at most %d",
                           LAYER_WEIGHTS_MAX, LAYER_WEIGHTS_MAX - 1);
    const shape vector = {2, {1, matrix_of(&call->weights[KERNEL].shape).dim[1]}};
    memmove(call->weights + VECTOR + 1, call->weights + VECTOR,
            (size_t)(call->weight_count - VECTOR) * sizeof *call->weights);
    call->weights[VECTOR] = (weight_spec){
        .name = "vector_u",
        .shape = vector,
        .seen_as = vector,
        .initializer = {.kind = INITIALIZER_TRUNCATED_NORMAL, .stddev = 0.02},
    };
    call->weight_count++;
    return CORNU_OK;
}

/* 1 where a number is not 0. */
static cornu_status is_any(step_builder *b, tensor_ref w, tensor_ref *y)
{
    static const float zero[1];
    const int_list all = {.count = 2, .value = {1, 2}};
    const activation absolute = {.kind = ACTIVATION_ABSOLUTE};
    tensor_ref none;
    int64_t count;
    TRY(emit_activation(b, w, absolute, y));
    TRY(layer_reduce(b, *y, &all, true, &count, y));
    TRY(emit_constant(b, &(shape){2, {1, 1}}, zero, &none));
    return emit_binary(b, BINARY_NOT_EQUAL, *y, none, y);
}

/* u after the power iterations, and the singular value. */
static cornu_status iterate(step_builder *b, int64_t times, tensor_ref w, tensor_ref *u,
                            tensor_ref *sigma)
{
    tensor_ref v = NO_TENSOR;
    for (int64_t i = 0; i < times; i++) {
        TRY(emit_matmul(b, *u, false, w, true, &v));
        TRY(layer_normalize_rows(b, v, &v));
        TRY(emit_matmul(b, v, false, w, false, u));
        TRY(layer_normalize_rows(b, *u, u));
    }
    TRY(emit_matmul(b, v, false, w, false, sigma));
    return emit_matmul(b, *sigma, false, *u, true, sigma);
}

/* x where the flag is 1, else z. */
static cornu_status choose(step_builder *b, tensor_ref flag, tensor_ref x, tensor_ref z,
                           tensor_ref *y)
{
    tensor_ref other;
    TRY(emit_scale(b, flag, -1, 1, &other));
    TRY(emit_binary(b, BINARY_KEEP, x, flag, y));
    TRY(emit_binary(b, BINARY_KEEP, z, other, &other));
    return emit_binary(b, BINARY_ADD, *y, other, y);
}

/* The kernel and the vector as the step has them from here on; a kernel of zeros stays. */
static cornu_status normalize(step_builder *b, int64_t times, const shape *matrix)
{
    const shape vector = {2, {1, matrix->dim[1]}};
    tensor_ref w, u, after, sigma, any, none;
    TRY(emit_whole_weight(b, emit_weight(b, KERNEL), matrix, &w));
    TRY(emit_whole_weight(b, emit_weight(b, VECTOR), &vector, &u));
    emit_stop_gradient(b, w);
    after = u;
    TRY(is_any(b, w, &any));
    TRY(iterate(b, times, w, &after, &sigma));
    TRY(choose(b, any, after, u, &u));
    TRY(emit_scale(b, any, -1, 1, &none));
    TRY(emit_binary(b, BINARY_KEEP, sigma, any, &sigma));
    TRY(emit_binary(b, BINARY_ADD, sigma, none, &sigma));
    TRY(emit_binary(b, BINARY_DIVIDE, w, sigma, &w));
    TRY(emit_assign(b, emit_weight(b, VECTOR), u));
    return emit_assign(b, emit_weight(b, KERNEL), w);
}

static cornu_status spectral_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    const spectral_config *c = l->config;
    const layer *inner = inner_of(l);
    emit_frame f = {.out = emit_output(b), .own_weight = VECTOR};
    if (emit_training(b)) {
        if (l->call_count > 1)
            return status_fail(CORNU_UNSUPPORTED,
                               "found %d calls in training, each of which would change the kernel "
                               "of those before it; expected one",
                               l->call_count);
        const shape matrix = matrix_of(emit_weight_shape(b, KERNEL));
        emit_one_begin(b);
        TRY(normalize(b, c->power_iterations, &matrix));
        emit_one_end(b);
    }
    layer_enter(b, inner, &f);
    cornu_status status = inner->kind->emit(inner, b, x, y);
    emit_leave(b);
    return status;
}

static const char *const spectral_samples[] = {
    "4 | {layer: {Dense: {units: 3, activation: tanh}}}",
    "4,4,2 | {layer: {Conv2D: {filters: 3, kernel_size: 2}}, power_iterations: 3}",
    "5,2 | {layer: {Conv1DTranspose: {filters: 3, kernel_size: 2}}}",
    "3,4 | {layer: {EinsumDense: {equation: 'abc,cd->abd', output_shape: [null, 2]}}}",
    NULL,
};

const layer_kind layer_SpectralNormalization = {
    .name = "SpectralNormalization",
    .base_name = "spectral_normalization",
    .config_size = sizeof(spectral_config),
    .fields = spectral_fields,
    .declare = spectral_declare,
    .emit = spectral_emit,
    .samples = spectral_samples,
    .changes_weights = true,
};

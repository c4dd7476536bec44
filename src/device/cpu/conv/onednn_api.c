#include "device/cpu/conv/onednn_api.h"
#include <stdlib.h>

#if DNNL_VERSION_MAJOR < 3

/* A descriptor on the heap, as version 3 has them; `status` is the result of making its content. */
static dnnl_status_t keep(onednn_desc *out, dnnl_status_t status, const dnnl_memory_desc_t *made)
{
    *out = NULL;
    if (status != dnnl_success)
        return status;
    *out = malloc(sizeof **out);
    if (!*out)
        return dnnl_out_of_memory;
    **out = *made;
    return dnnl_success;
}

dnnl_status_t onednn_desc_by_tag(onednn_desc *out, int ndims, const dnnl_dims_t dims,
                                 dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t made;
    return keep(out, dnnl_memory_desc_init_by_tag(&made, ndims, dims, dnnl_f32, tag), &made);
}

dnnl_status_t onednn_desc_by_strides(onednn_desc *out, int ndims, const dnnl_dims_t dims,
                                     const dnnl_dims_t strides)
{
    dnnl_memory_desc_t made;
    return keep(out, dnnl_memory_desc_init_by_strides(&made, ndims, dims, dnnl_f32, strides),
                &made);
}

void onednn_desc_destroy(onednn_desc desc)
{
    free(desc);
}

dnnl_status_t onednn_describe_forward(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                      const onednn_convolution *c, const_dnnl_primitive_attr_t how)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_training, dnnl_convolution_direct, c->x, c->w, c->b, c->y, c->strides,
        c->dilates, c->before, c->after);
    return status ? status : dnnl_primitive_desc_create(out, &d, how, engine, NULL);
}

dnnl_status_t onednn_describe_data(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                   const onednn_convolution *c, const_dnnl_primitive_desc_t forward,
                                   const_dnnl_primitive_attr_t how)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t status = dnnl_dilated_convolution_backward_data_desc_init(
        &d, dnnl_convolution_direct, c->x, c->w, c->y, c->strides, c->dilates, c->before, c->after);
    return status ? status : dnnl_primitive_desc_create(out, &d, how, engine, forward);
}

dnnl_status_t onednn_describe_weights(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                      const onednn_convolution *c,
                                      const_dnnl_primitive_desc_t forward,
                                      const_dnnl_primitive_attr_t how)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t status = dnnl_dilated_convolution_backward_weights_desc_init(
        &d, dnnl_convolution_direct, c->x, c->w, c->b, c->y, c->strides, c->dilates, c->before,
        c->after);
    return status ? status : dnnl_primitive_desc_create(out, &d, how, engine, forward);
}

#else

dnnl_status_t onednn_desc_by_tag(onednn_desc *out, int ndims, const dnnl_dims_t dims,
                                 dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(out, ndims, dims, dnnl_f32, tag);
}

dnnl_status_t onednn_desc_by_strides(onednn_desc *out, int ndims, const dnnl_dims_t dims,
                                     const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(out, ndims, dims, dnnl_f32, strides);
}

void onednn_desc_destroy(onednn_desc desc)
{
    dnnl_memory_desc_destroy(desc);
}

dnnl_status_t onednn_describe_forward(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                      const onednn_convolution *c, const_dnnl_primitive_attr_t how)
{
    return dnnl_convolution_forward_primitive_desc_create(
        out, engine, dnnl_forward_training, dnnl_convolution_direct, c->x, c->w, c->b, c->y,
        c->strides, c->dilates, c->before, c->after, how);
}

dnnl_status_t onednn_describe_data(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                   const onednn_convolution *c, const_dnnl_primitive_desc_t forward,
                                   const_dnnl_primitive_attr_t how)
{
    return dnnl_convolution_backward_data_primitive_desc_create(
        out, engine, dnnl_convolution_direct, c->x, c->w, c->y, c->strides, c->dilates, c->before,
        c->after, forward, how);
}

dnnl_status_t onednn_describe_weights(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                      const onednn_convolution *c,
                                      const_dnnl_primitive_desc_t forward,
                                      const_dnnl_primitive_attr_t how)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, engine, dnnl_convolution_direct, c->x, c->w, c->b, c->y, c->strides, c->dilates,
        c->before, c->after, forward, how);
}

#endif

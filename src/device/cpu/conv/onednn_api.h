/* One spelling for the calls in which oneDNN 2 and 3 differ: version 3 has opaque memory
   descriptors and no operation descriptors. All other calls take the same arguments in both. */
#ifndef DEVICE_CPU_CONV_ONEDNN_API_H
#define DEVICE_CPU_CONV_ONEDNN_API_H

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_version.h>

/* A memory descriptor: a pointer to the library's data. */
#if DNNL_VERSION_MAJOR < 3
typedef dnnl_memory_desc_t *onednn_desc;
typedef const dnnl_memory_desc_t *const_onednn_desc;
#else
typedef dnnl_memory_desc_t onednn_desc;
typedef const_dnnl_memory_desc_t const_onednn_desc;
#endif

/* For 32-bit floats. On success the caller owns *out and passes it to onednn_desc_destroy. */
dnnl_status_t onednn_desc_by_tag(onednn_desc *out, int ndims, const dnnl_dims_t dims,
                                 dnnl_format_tag_t tag);
dnnl_status_t onednn_desc_by_strides(onednn_desc *out, int ndims, const dnnl_dims_t dims,
                                     const dnnl_dims_t strides);
void onednn_desc_destroy(onednn_desc desc); /* NULL is allowed */

/* A convolution's tensors and window; `b` is NULL where it has no bias. A dilation of 0 leaves no
   gaps. */
typedef struct onednn_convolution {
    onednn_desc x, w, b, y;
    dnnl_dims_t strides, dilates, before, after;
} onednn_convolution;

/* Direct algorithm. The two gradients need the forward pass's descriptor as a hint. */
dnnl_status_t onednn_describe_forward(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                      const onednn_convolution *c, const_dnnl_primitive_attr_t how);
dnnl_status_t onednn_describe_data(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                   const onednn_convolution *c, const_dnnl_primitive_desc_t forward,
                                   const_dnnl_primitive_attr_t how);
dnnl_status_t onednn_describe_weights(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                      const onednn_convolution *c,
                                      const_dnnl_primitive_desc_t forward,
                                      const_dnnl_primitive_attr_t how);

#endif

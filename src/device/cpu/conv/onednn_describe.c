/* Convolutions of the plan as oneDNN describes them: memory and primitive descriptors. */
#include "device/cpu/conv/onednn_conv.h"

static const char *dnnl_error(dnnl_status_t code)
{
    static const char *const names[] = {[dnnl_success] = "success",
                                        [dnnl_out_of_memory] = "out of memory",
                                        [dnnl_invalid_arguments] = "invalid arguments",
                                        [dnnl_unimplemented] = "unimplemented",
                                        [dnnl_iterator_ends] = "iterator ends",
                                        [dnnl_runtime_error] = "runtime error",
                                        [dnnl_not_required] = "not required"};
    return (size_t)code < sizeof names / sizeof *names ? names[code] : "unknown error";
}

cornu_status onednn_fail(const char *what, dnnl_status_t code)
{
    return status_fail(code == dnnl_out_of_memory ? CORNU_OUT_OF_MEMORY : CORNU_DEVICE,
                       "oneDNN failed to %s: %s; expected success", what, dnnl_error(code));
}

onednn_roles onednn_roles_of(const plan *p, const op *o)
{
    const tensor *second = OP_IN(p, o, 1);
    switch (o->kind) {
    case OP_CONV2D_FORWARD:
        return (onednn_roles){OP_IN(p, o, 0), second, o->in[2] < 0 ? NULL : OP_IN(p, o, 2),
                              OP_OUT(p, o, 0)};
    case OP_CONV2D_BACKWARD_DATA:
        return (onednn_roles){OP_OUT(p, o, 0), second, NULL, OP_IN(p, o, 0)};
    default:
        return (onednn_roles){OP_IN(p, o, 0), OP_OUT(p, o, 0),
                              o->out[1] < 0 ? NULL : OP_OUT(p, o, 1), second};
    }
}

static dnnl_status_t activations_desc(const tensor *t, int64_t samples, dnnl_memory_desc_t *md)
{
    const dnnl_dims_t dims = {samples, t->shape.dim[3], t->shape.dim[1], t->shape.dim[2]};
    return dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, dnnl_nhwc);
}

dnnl_status_t onednn_weights_desc(const onednn_roles *r, int64_t groups, dnnl_memory_desc_t *plain,
                                  dnnl_memory_desc_t *any)
{
    int64_t h = r->w->shape.dim[0], w = r->w->shape.dim[1], in = r->w->shape.dim[2],
            out = r->w->shape.dim[3];
    const dnnl_dims_t dims = {groups, out / groups, in, h, w};
    const dnnl_dims_t strides = {out / groups, 1, out, w * in * out, in * out};
    int skip = groups == 1;
    dnnl_status_t status =
        dnnl_memory_desc_init_by_strides(plain, 5 - skip, dims + skip, dnnl_f32, strides + skip);
    if (status != dnnl_success)
        return status;
    return dnnl_memory_desc_init_by_tag(any, 5 - skip, dims + skip, dnnl_f32, dnnl_format_tag_any);
}

typedef struct geometry {
    dnnl_dims_t strides, dilates, before, after;
} geometry;

static geometry geometry_of(const window2d *w)
{
    geometry g = {{w->stride[0], w->stride[1]},
                  {w->dilation[0] - 1, w->dilation[1] - 1},
                  {w->before[0], w->before[1]},
                  {w->after[0], w->after[1]}};
    return g;
}

static dnnl_status_t describe_forward(dnnl_engine_t engine, const geometry *g,
                                      const dnnl_memory_desc_t md[4],
                                      const_dnnl_primitive_attr_t attributes,
                                      dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_training, dnnl_convolution_direct, &md[0], &md[1],
        md[2].ndims ? &md[2] : NULL, &md[3], g->strides, g->dilates, g->before, g->after);
    return status ? status : dnnl_primitive_desc_create(out, &d, attributes, engine, NULL);
}

dnnl_status_t onednn_describe(dnnl_engine_t engine, const plan *p, const op *o, int64_t samples,
                              dnnl_primitive_desc_t *out)
{
    onednn_roles r = onednn_roles_of(p, o);
    geometry g = geometry_of(&o->a.conv.w);
    dnnl_memory_desc_t md[4] = {0}, plain; /* x, w, b, y */
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t forward = NULL;
    dnnl_convolution_desc_t d;
    dnnl_status_t status = activations_desc(r.x, samples, &md[0]);
    if (!status)
        status = onednn_weights_desc(&r, o->a.conv.w.groups, &plain, &md[1]);
    if (!status && r.b)
        status =
            dnnl_memory_desc_init_by_tag(&md[2], 1, (dnnl_dims_t){r.b->count}, dnnl_f32, dnnl_a);
    if (!status)
        status = activations_desc(r.y, samples, &md[3]);
    if (!status)
        status = dnnl_primitive_attr_create(&attributes);
    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (!status)
        status = describe_forward(engine, &g, md, attributes,
                                  o->kind == OP_CONV2D_FORWARD ? out : &forward);
    if (status || o->kind == OP_CONV2D_FORWARD)
        goto done;
    if (o->kind == OP_CONV2D_BACKWARD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct,
                                                                  &md[0], &md[1], &md[3], g.strides,
                                                                  g.dilates, g.before, g.after);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &d, dnnl_convolution_direct, &md[0], &md[1], r.b ? &md[2] : NULL, &md[3], g.strides,
            g.dilates, g.before, g.after);
    if (!status)
        status = dnnl_primitive_desc_create(out, &d, attributes, engine, forward);
done:
    dnnl_primitive_desc_destroy(forward);
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

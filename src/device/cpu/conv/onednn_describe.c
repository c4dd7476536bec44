/* oneDNN's memory and primitive descriptors for the plan's convolutions. */
#include "device/cpu/conv/onednn_conv.h"

static const char *dnnl_error(dnnl_status_t code)
{
    static const char *const names[] = {[dnnl_success] = "success",
                                        [dnnl_out_of_memory] = "out of memory",
                                        [dnnl_invalid_arguments] = "invalid arguments",
                                        [dnnl_unimplemented] = "unimplemented",
                                        [dnnl_runtime_error] = "runtime error",
                                        [dnnl_not_required] = "not required"};
    const char *name = (size_t)code < sizeof names / sizeof *names ? names[code] : NULL;
    return name ? name : "unknown error";
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

static dnnl_status_t activations_desc(const tensor *t, int64_t samples, onednn_desc *out)
{
    const dnnl_dims_t dims = {samples, t->shape.dim[3], t->shape.dim[1], t->shape.dim[2]};
    return onednn_desc_by_tag(out, 4, dims, dnnl_nhwc);
}

dnnl_status_t onednn_weights_desc(const onednn_roles *r, int64_t groups, bool plain,
                                  onednn_desc *out)
{
    int64_t h = r->w->shape.dim[0], w = r->w->shape.dim[1], in = r->w->shape.dim[2],
            filters = r->w->shape.dim[3];
    const dnnl_dims_t dims = {groups, filters / groups, in, h, w};
    const dnnl_dims_t strides = {filters / groups, 1, filters, w * in * filters, in * filters};
    int skip = groups == 1;
    if (plain)
        return onednn_desc_by_strides(out, 5 - skip, dims + skip, strides + skip);
    return onednn_desc_by_tag(out, 5 - skip, dims + skip, dnnl_format_tag_any);
}

/* The caller destroys the tensors' descriptors, also on failure. */
static dnnl_status_t describe_tensors(const plan *p, const op *o, int64_t samples,
                                      onednn_convolution *c)
{
    onednn_roles r = onednn_roles_of(p, o);
    dnnl_status_t status = activations_desc(r.x, samples, &c->x);
    if (!status)
        status = onednn_weights_desc(&r, o->a.conv.w.groups, false, &c->w);
    if (!status && r.b)
        status = onednn_desc_by_tag(&c->b, 1, (dnnl_dims_t){r.b->count}, dnnl_a);
    if (!status)
        status = activations_desc(r.y, samples, &c->y);
    return status;
}

dnnl_status_t onednn_describe(dnnl_engine_t engine, const plan *p, const op *o, int64_t samples,
                              dnnl_primitive_desc_t *out)
{
    const window2d *w = &o->a.conv.w;
    onednn_convolution c = {.strides = {w->stride[0], w->stride[1]},
                            .dilates = {w->dilation[0] - 1, w->dilation[1] - 1},
                            .before = {w->before[0], w->before[1]},
                            .after = {w->after[0], w->after[1]}};
    dnnl_primitive_attr_t how = NULL;
    dnnl_primitive_desc_t forward = NULL;
    dnnl_status_t status = describe_tensors(p, o, samples, &c);
    if (!status)
        status = dnnl_primitive_attr_create(&how);
    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(how, dnnl_scratchpad_mode_user);
    if (!status)
        status =
            onednn_describe_forward(o->kind == OP_CONV2D_FORWARD ? out : &forward, engine, &c, how);
    if (!status && o->kind == OP_CONV2D_BACKWARD_DATA)
        status = onednn_describe_data(out, engine, &c, forward, how);
    else if (!status && o->kind == OP_CONV2D_BACKWARD_WEIGHTS)
        status = onednn_describe_weights(out, engine, &c, forward, how);
    dnnl_primitive_desc_destroy(forward);
    dnnl_primitive_attr_destroy(how);
    onednn_desc_destroy(c.x);
    onednn_desc_destroy(c.w);
    onednn_desc_destroy(c.b);
    onednn_desc_destroy(c.y);
    return status;
}

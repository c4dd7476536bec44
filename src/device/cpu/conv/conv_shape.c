#include "device/cpu/conv/conv_shape.h"

/* The shape of a convolution of `from` to `to`; *why: its window is not a plain one, or NULL. */
static void plain_shape(const window2d *w, const shape *from, const shape *to, first_shape *s,
                        const char **why)
{
    *why = NULL;
    for (int i = 0; i < 2; i++) {
        if (w->dilation[i] != 1)
            *why = "dilated";
        s->in[i] = from->dim[1 + i];
        s->out[i] = to->dim[1 + i];
        s->kernel[i] = w->kernel[i];
        s->stride[i] = w->stride[i];
        s->before[i] = w->before[i];
    }
    if (w->groups != 1)
        *why = "groups";
    s->channels = from->dim[3];
    s->filters = to->dim[3];
}

bool conv_forward_shape(const plan *p, const op *o, first_shape *s, const char **why)
{
    const bool forward = o->kind == OP_CONV2D_FORWARD;
    const tensor *y = forward ? OP_OUT(p, o, 0) : OP_IN(p, o, 1);
    plain_shape(&o->a.conv.w, &OP_IN(p, o, 0)->shape, &y->shape, s, why);
    return !*why;
}

bool conv_rotated_shape(const plan *p, const op *o, first_shape *s, const char **why)
{
    const bool data = o->kind == OP_CONV2D_BACKWARD_DATA;
    const tensor *dy = OP_IN(p, o, data ? 0 : 1), *x = data ? OP_OUT(p, o, 0) : OP_IN(p, o, 0);
    plain_shape(&o->a.conv.w, &dy->shape, &x->shape, s, why);
    for (int i = 0; i < 2; i++) {
        if (s->stride[i] != 1)
            *why = "strided";
        if (s->before[i] >= s->kernel[i])
            *why = "padding as wide as the window";
        s->before[i] = s->kernel[i] - 1 - s->before[i];
    }
    return !*why;
}

void conv_rotate_weights(const first_shape *s, const float *w, float *rotated)
{
    const int64_t window = s->kernel[0] * s->kernel[1];
    for (int64_t tap = window - 1; tap >= 0; tap--)
        for (int64_t c = 0; c < s->channels; c++)
            for (int64_t n = 0; n < s->filters; n++)
                *rotated++ = w[(tap * s->filters + n) * s->channels + c];
}

#include "device/recolor.h"

#define RULE static inline

/* Without a call of the library where the instruction set has no rounding. */
RULE float rule_floor(float a)
{
    float whole = (float)(int32_t)a;
    return whole - (float)(whole > a);
}
#include "device/rules/recoloring.h"

int64_t recolor_count(const op_run *r)
{
    const shape *x = &OP_IN(r->plan, r->op, 0)->shape;
    return x->dim[0] * x->dim[1] * x->dim[2];
}

void recolor_pixels(const op_run *r, int64_t begin, int64_t end)
{
    const recoloring *how = &r->op->a.recolor;
    const shape *s = &OP_IN(r->plan, r->op, 0)->shape;
    const int64_t channels = s->dim[3], sample = s->dim[1] * s->dim[2];
    const int64_t numbers = OP_IN(r->plan, r->op, 1)->shape.dim[1];
    const bool back = r->op->kind == OP_RECOLOR_BACKWARD;
    for (int64_t i = begin; i < end; i++) {
        const float *drawn = r->in[1] + i / sample * numbers, *x = r->in[0] + i * channels;
        const float *dy = back ? r->in[2] + i * channels : NULL;
        float *y = r->out[0] + i * channels;
        if (how->kind >= RECOLOR_GRAYSCALE && back)
            recolor_pixel_back(how, drawn, x, dy, y);
        else if (how->kind >= RECOLOR_GRAYSCALE)
            recolor_pixel(how, drawn, x, y);
        else
            for (int64_t k = 0; k < channels; k++)
                y[k] = back ? dy[k] * recolor_slope(how, drawn, x[k])
                            : recolor_value(how, drawn, x[k]);
    }
}

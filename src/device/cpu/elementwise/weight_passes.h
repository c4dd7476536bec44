/* Updates that pass over a weight several times: its elements, in rows or in panels, and their
   gradients, clipped, as each pass reads them. */
#ifndef DEVICE_CPU_ELEMENTWISE_WEIGHT_PASSES_H
#define DEVICE_CPU_ELEMENTWISE_WEIGHT_PASSES_H

#include "device/cpu/cpu.h"
#include "device/host/host.h"
#include "device/rules/optimizer_floats.h"
#include "device/rules/optimizers.h"

typedef struct weight_passes {
    optimizer_constants c;
    const float *g;
    float *w;
    int64_t in, units; /* of panels [in][units]; 0: in rows */
} weight_passes;

static inline weight_passes weight_passes_of(const op_run *r)
{
    const tensor *w = OP_OUT(r->plan, r->op, 0);
    const bool panels = w->form == FORM_DENSE_KERNEL;
    return (weight_passes){.c = host_optimizer_step(r, r->op),
                           .g = r->in[1],
                           .w = r->out[0],
                           .in = panels ? w->shape.dim[0] : 0,
                           .units = panels ? w->shape.dim[1] : 0};
}

/* Where the elements from `plain` on are. Lowers the count to how many of them stand side by
   side. */
static inline int64_t weight_place(const weight_passes *p, int64_t plain, int64_t *count)
{
    if (p->units == 0)
        return plain;
    const int64_t row = plain / p->units, unit = plain % p->units;
    const int64_t panel = unit / PANEL_COLUMNS * PANEL_COLUMNS;
    const int64_t width = cpu_least(PANEL_COLUMNS, p->units - panel);
    *count = cpu_least(*count, panel + width - unit);
    return panel * p->in + row * width + unit - panel;
}

/* The gradient of element i, clipped; *w: the weight, decayed. */
static inline float weight_gradient(const weight_passes *p, int64_t i, float *w)
{
    float g = p->g[i];
    *w = p->w[i];
    if (p->c.penalized)
        g = rule_penalized(p->c.penalty_l1, p->c.penalty_l2, *w, g);
    rule_clip_and_decay(&p->c, w, &g);
    return g;
}

#endif

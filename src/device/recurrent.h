/* RECURRENT_FORWARD and RECURRENT_BACKWARD: the sizes of a recurrence over the steps of a sequence.
 */
#ifndef DEVICE_RECURRENT_H
#define DEVICE_RECURRENT_H

#include "step/plan.h"

typedef struct recurrent_sizes {
    recurrent_cell cell;
    int64_t batch, steps, units;
    int64_t gates;    /* z and dz [batch][steps][gates][units], u [units][gates][units] */
    int64_t kept;     /* saved [batch][steps][kept][units] */
    int64_t products; /* before [batch][steps][products][units], dr [...][products][gates][units] */
    bool from_last;   /* the first step reads the sequence's last place */
    bool to_last;     /* and writes h there */
} recurrent_sizes;

static inline recurrent_sizes recurrent_sizes_of(const plan *p, const op *o)
{
    const bool back = o->kind == OP_RECURRENT_BACKWARD;
    const shape *h = &p->tensors[back ? o->in[1] : o->out[0]].shape;
    const recurrence *r = &o->a.recurrent;
    return (recurrent_sizes){.cell = r->cell,
                             .batch = h->dim[0],
                             .steps = h->dim[1],
                             .units = h->dim[2],
                             .gates = recurrent_gates(r->cell),
                             .kept = recurrent_kept(r->cell),
                             .products = recurrent_products(r->cell),
                             .from_last = r->from_last,
                             .to_last = r->to_last};
}

/* The row of z, and all but h, at step number `step` of a sample; and that of h. */
static inline int64_t recurrent_row(const recurrent_sizes *s, int64_t sample, int64_t step)
{
    return sample * s->steps + (s->from_last ? s->steps - 1 - step : step);
}

static inline int64_t recurrent_h_row(const recurrent_sizes *s, int64_t sample, int64_t step)
{
    return sample * s->steps + (s->to_last ? s->steps - 1 - step : step);
}

#endif

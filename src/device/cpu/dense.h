/* What the dense layers' files share: sizes, and where the blocks of W lie. */
#ifndef DEVICE_CPU_DENSE_H
#define DEVICE_CPU_DENSE_H

#include "device/cpu/cpu.h"
#include "device/cpu/kernels/dense.h"
#include "device/host/panels.h"

_Static_assert((int)DENSE_PANEL == (int)PANEL_COLUMNS, "kernels and host keep the same panels");

/* x [rows][in], W [in][units], y [rows][units] */
typedef struct dense_size {
    int64_t rows, in, units, panels;
} dense_size;

/* `x` or its gradient; `w` or its gradient */
static inline dense_size dense_size_of(const tensor *x, const tensor *w)
{
    dense_size d = {.in = w->shape.dim[0], .units = w->shape.dim[1]};
    d.rows = x->count / d.in;
    d.panels = cpu_divide_up(d.units, PANEL_COLUMNS);
    return d;
}

static inline int64_t dense_width(const dense_size *d, int64_t panel)
{
    return cpu_least(PANEL_COLUMNS, d->units - panel * PANEL_COLUMNS);
}

/* Where row k of a panel begins, in floats. */
static inline int64_t dense_offset(const dense_size *d, int64_t panel, int64_t k)
{
    return panel * PANEL_COLUMNS * d->in + k * dense_width(d, panel);
}

/* Chunks of at least 4 microseconds for `products` products of this size, `most` at most. */
static inline int64_t dense_chunks(const dense_size *d, int products, int64_t most)
{
    const double chunk_flops = 5e5;
    double columns = (double)(cpu_divide_up(d->units, 16) * 16); /* so long a vector is */
    double chunks = 2.0 * products * (double)d->rows * (double)d->in * columns / chunk_flops;
    return chunks >= (double)most ? most : cpu_most((int64_t)chunks, 1);
}

#endif

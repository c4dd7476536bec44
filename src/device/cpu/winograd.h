/* Winograd's convolutions, for the kernels that run them alone and those that run a pool along:
   winograd.c, winograd_pool.c. */
#ifndef DEVICE_CPU_WINOGRAD_H
#define DEVICE_CPU_WINOGRAD_H

#include "device/cpu/cpu.h"
#include "device/cpu/kernels/winograd.h"

/* Of a CONV2D operation's result, as kernel.tolerance. */
#define WINOGRAD_TOLERANCE 2e-5

typedef struct winograd_state winograd_state;

/* Slots of a kernel of one of the three CONV2D operations. The FLOPs are the products'; the
   transforms' additions are left out. */
bool winograd_accepts(const plan *p, const op *o, const char **why);
double winograd_flops(const plan *p, const op *o);
/* The state is one block of memory: free. */
cornu_status winograd_prepare(const plan *p, const op *o, threads *pool, void **state,
                              size_t *scratch_bytes);
/* With the state prepared for that operation, threads and scratch of `o`. Activations other than
   relu are left out. */
void winograd_forward(const winograd_state *s, const op_run *o, const float *x, const float *w,
                      const winograd_output *y);
void winograd_backward_data(const winograd_state *s, const op_run *o, winograd_pixels dy,
                            const float *w, float *dx);
/* db may be NULL. */
void winograd_backward_weights(const winograd_state *s, const op_run *o, const float *x,
                               winograd_pixels dy, float *dw, float *db);

#endif

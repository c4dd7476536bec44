/* A step of a recurrent layer's cell on one row of units, once per instruction set. */
#ifndef DEVICE_CPU_RECURRENT_RECURRENT_KERNELS_H
#define DEVICE_CPU_RECURRENT_RECURRENT_KERNELS_H

#include "device/recurrent.h"

/* Rows of one sample and step, as the operation's tensors have them; `before` are the step
   before's, or what the first step begins with, NULL: 0. */
typedef struct recurrent_unit_rows {
    const recurrence *r;
    int64_t units;
    float *kept, *h;
    const float *h_before, *c_before;
    const float *dh;        /* backward: from the layers after; NULL: 0 */
    float *carry, *carry_c; /* from the step after, for the step before */
    float *dz, *dr;
} recurrent_unit_rows;

/* forward: kept (SimpleRNN: h) holds what the products give, of a GRU that is reset before its
   product only of z and r, and `candidate` finishes it. backward: dz, and of GRUs dr, before the
   product with u', which adds to the carry; a GRU that is reset before needs the product of its
   candidate's product in `carry_c` before `reset`. */
typedef struct recurrent_kernels {
    void (*forward[4])(const recurrent_unit_rows *c);
    void (*candidate)(const recurrent_unit_rows *c);
    void (*backward[4])(const recurrent_unit_rows *c);
    void (*reset)(const recurrent_unit_rows *c);
} recurrent_kernels;

#endif

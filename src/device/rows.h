/* Activations, losses, metrics and softmax by the rules of device/rules in doubles: for devices
   whose memory is the host's, and for outputs that were read from any device. */
#ifndef DEVICE_ROWS_H
#define DEVICE_ROWS_H

#include "model/emit.h"
#include <stdbool.h>
#include <stdint.h>

/* The loss of a row of n outputs, and its gradient with respect to them in grad[n] (may be NULL).
   target: [n], or [1] (the class number) where the loss is sparse; reals: the options' numbers. */
typedef double loss_row(const float *output, const float *target, int64_t n, const float *reals,
                        float *grad);
/* What a row adds to a sum of a metric, usually 0 or 1; target as above. */
typedef double sum_row(const float *output, const float *target, int64_t n, const float *reals,
                       int64_t k);

/* logits: the form on logits, NULL where the loss has none. */
loss_row *loss_row_of(loss_id id, bool logits);
sum_row *sum_row_of(row_sum sum);

/* y = act(x), one element (no activation of rows) */
double activate_element(activation act, double x);
/* dx = act'(x) dy, from y where activations.def says so, else from x (no activation of rows) */
double activate_element_back(activation act, double x_or_y, double dy);
/* y = f(a, b), by a row of binaries.def; the gradient of a (of = 0) or b (1) */
double binary_element(binary_kind kind, double a, double b);
double binary_element_back(binary_kind kind, int of, double a, double b, double dy);
/* y [n] = softmax or another activation of rows of x [n] */
void activate_row(activation_kind kind, const float *x, float *y, int64_t n);
/* dx [n] from dy [n] and y [n], or x [n] where activations.def says so; dx may be y or dy, not x */
void activate_row_back(activation_kind kind, const float *x_or_y, const float *dy, float *dx,
                       int64_t n);

#endif

/* The shapes of convolutions of few channels, or with few filters, and of their gradients as other
   convolutions. */
#ifndef DEVICE_CPU_CONV_CONV_SHAPE_H
#define DEVICE_CPU_CONV_CONV_SHAPE_H

#include "device/cpu/conv/conv_first_kernels.h"
#include "device/cpu/cpu.h"

/* The shape of a CONV2D_FORWARD or CONV2D_BACKWARD_WEIGHTS; false, with *why, where the window is
   dilated or has groups. */
bool conv_forward_shape(const plan *p, const op *o, first_shape *s, const char **why);
/* A convolution's gradients with stride 1 are those of another convolution:

     dx[q] = sum over taps of dy[q + before - tap] W[tap]'

   is a convolution of dy by W rotated by 180 degrees, and the products of dW, dy[q + before - tap]
   times x[q], are those of that convolution's weights, where x takes the place of its gradient.
   The shape of that convolution, for a CONV2D_BACKWARD_DATA or CONV2D_BACKWARD_WEIGHTS. */
bool conv_rotated_shape(const plan *p, const op *o, first_shape *s, const char **why);
/* W [taps of the window][filters][channels] to [taps, rotated by 180 degrees][channels][filters] */
void conv_rotate_weights(const first_shape *s, const float *w, float *rotated);

#endif

/* The reference's run functions, one per operation: obvious loops on one thread, sums in double.
   They define what is right; shapes and formulas are in step/ops.def. */
#ifndef DEVICE_REFERENCE_REFERENCE_H
#define DEVICE_REFERENCE_REFERENCE_H

#include "device/host/host.h"

cornu_status reference_gather(const op_run *r);
cornu_status reference_dense_forward(const op_run *r);
cornu_status reference_dense_backward_data(const op_run *r);
cornu_status reference_dense_backward_weights(const op_run *r);
cornu_status reference_conv2d_forward(const op_run *r);
cornu_status reference_conv2d_backward_data(const op_run *r);
cornu_status reference_conv2d_backward_weights(const op_run *r);
cornu_status reference_max_pool_forward(const op_run *r);
cornu_status reference_max_pool_backward(const op_run *r);
cornu_status reference_average_pool_forward(const op_run *r);
cornu_status reference_average_pool_backward(const op_run *r);
cornu_status reference_activation_forward(const op_run *r);
cornu_status reference_activation_backward(const op_run *r);
cornu_status reference_dropout(const op_run *r);
cornu_status reference_batch_norm_forward(const op_run *r);
cornu_status reference_batch_norm_inference(const op_run *r);
cornu_status reference_batch_norm_backward(const op_run *r);
cornu_status reference_scale(const op_run *r);
cornu_status reference_pad(const op_run *r);
cornu_status reference_crop(const op_run *r);
cornu_status reference_loss(const op_run *r);
cornu_status reference_metric(const op_run *r);
cornu_status reference_square_sum(const op_run *r);
cornu_status reference_update(const op_run *r);

/* y = act(x), one element (not softmax). */
double reference_activate(activation act, double x);

#endif

/* DRAW and RESAMPLE on devices whose memory is the host's. */
#ifndef DEVICE_RESAMPLE_H
#define DEVICE_RESAMPLE_H

#include "device/host/host.h"

/* Sizes of RESAMPLE_FORWARD or _BACKWARD: of the input x (dx) and the output y (dy). */
typedef struct resample_size {
    int64_t batch, height, width, out_height, out_width, channels;
    int64_t maps; /* 1: one for all samples; else the batch */
} resample_size;
resample_size resample_size_of(const plan *p, const op *o);

/* The numbers of sample `row` of the batch. */
void draw_sample(const op_run *r, int64_t row);
/* Rows begin to end - 1 of the outputs, counted through all samples. */
void resample_rows(const op_run *r, const resample_size *s, int64_t begin, int64_t end);
/* The gradient of sample `n`. */
void resample_sample_back(const op_run *r, const resample_size *s, int64_t n);

#endif

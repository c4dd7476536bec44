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

/* Where a map's rows come from rows alone, and its columns from columns, an image is resampled
   along one side after the other. Each line of a side, a row or a column, is then the sum of these
   lines of what is read: of x forward, of dy backward. */
typedef struct resample_term {
    int32_t line;
    float weight;
} resample_term;

typedef struct resample_table {
    resample_term *terms; /* [2 x out_height or out_width] */
    int32_t *first;       /* [lines + 1]: line i has the terms first[i] to first[i + 1] - 1 */
    float *start;         /* [lines]: added to each sum, from the border's value; all 0 backward */
} resample_table;

/* The six numbers of sample n's map. */
const float *resample_map_of(const op_run *r, const resample_size *s, int64_t n);
bool resample_is_separable(const float *map);
/* The table of the rows (side 0) or the columns (1). */
void resample_table_of(const op_run *r, const resample_size *s, const float *map, int side,
                       resample_table *t);

/* The numbers of sample `row` of the batch. */
void draw_sample(const op_run *r, int64_t row);
/* Rows begin to end - 1 of the outputs, counted through all samples. */
void resample_rows(const op_run *r, const resample_size *s, int64_t begin, int64_t end);
/* The gradient of sample `n`. */
void resample_sample_back(const op_run *r, const resample_size *s, int64_t n);

#endif

/* Two tensors a and b that are combined element by element: where a dimension of one of them is 1,
   its elements are repeated; or one tensor and its transpose. As few dimensions as possible, for
   loops over them. */
#ifndef DEVICE_BROADCAST_H
#define DEVICE_BROADCAST_H

#include "model/shape.h"

enum { BROADCAST_A, BROADCAST_B, BROADCAST_Y, BROADCAST_TENSORS };

/* Dimensions of y, the innermost last; neighbours that both tensors have, or that the same one
   repeats, are one. The first ones are 1 where there are fewer than SHAPE_MAX. */
typedef struct broadcast {
    int64_t size[SHAPE_MAX];
    int64_t step[BROADCAST_TENSORS][SHAPE_MAX]; /* elements from one index to the next; 0: the
                                                   tensor repeats its elements */
} broadcast;

/* a and b have the rank of y, and each of their dimensions is y's or 1. */
broadcast broadcast_of(const shape *a, const shape *b, const shape *y);
/* y's dimension i is dimension order[i] of x, which is tensors A and B. */
broadcast broadcast_transposed(const shape *x, const int *order, const shape *y);
/* The dimensions along which this tensor has elements; those along which it repeats them. */
broadcast broadcast_kept(const broadcast *s, int tensor);
broadcast broadcast_repeated(const broadcast *s, int tensor);
/* The product of the sizes. */
int64_t broadcast_count(const broadcast *s);

/* A place in a walk through the first `dims` dimensions. */
typedef struct broadcast_walk {
    int64_t index[SHAPE_MAX], at[BROADCAST_TENSORS]; /* at: elements from each tensor's first */
} broadcast_walk;
/* Place number `i`, in y's order. */
broadcast_walk broadcast_at(const broadcast *s, int dims, int64_t i);
/* The next place; after the last one the first. */
void broadcast_next(const broadcast *s, int dims, broadcast_walk *w);

#endif

/* Shapes: up to SHAPE_MAX dimensions, row-major; and the windows of convolutions and poolings. */
#ifndef MODEL_SHAPE_H
#define MODEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_MAX 5
/* No tensor may hold more elements than this; products below it cannot overflow. */
#define SHAPE_ELEMENTS_MAX ((int64_t)1 << 40)

typedef struct shape {
    int rank;
    int64_t dim[SHAPE_MAX];
} shape;

/* Product of the dimensions (1 for rank 0); -1 where it exceeds SHAPE_ELEMENTS_MAX. */
static inline int64_t shape_elements(const shape *s)
{
    int64_t product = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] != 0 && product > SHAPE_ELEMENTS_MAX / s->dim[i])
            return -1;
        product *= s->dim[i];
    }
    return product;
}

static inline bool shape_equal(const shape *a, const shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

/* Is `found` a shape such as `open`, of which dimensions that are 0 may have any size? */
static inline bool shape_fits(const shape *open, const shape *found)
{
    if (open->rank != found->rank)
        return false;
    for (int i = 0; i < open->rank; i++)
        if (open->dim[i] != 0 && open->dim[i] != found->dim[i])
            return false;
    return true;
}

/* Make *out the shape of *out and x element by element. As in Keras, shapes of different ranks end
   at the same dimension, and a dimension of 1 repeats its elements. False: they do not fit. */
bool shape_broadcast(const shape *x, shape *out);

/* Does this shape take pictures: (height, width), (height, width, 1) or (height, width, 3)? Then
 *picture is (height, width, channels), else a copy of the shape. */
bool shape_picture(const shape *s, shape *picture);
#define SHAPE_PICTURES "(height, width), (height, width, 1) or (height, width, 3)"
/* Are the shapes equal if dimensions of 1 (such as a single channel) are left out? */
bool shape_equal_but_ones(const shape *a, const shape *b);

/* "(28, 28, 1)" into `text` (at least 128 bytes); with `batch`, "(None, 28, 28, 1)". Returns text.
 */
char *shape_show(const shape *s, bool batch, char *text);

/* A window over height [0] and width [1]. */
typedef struct window2d {
    int64_t kernel[2], stride[2], dilation[2], before[2], after[2]; /* before, after: padding */
    int64_t groups;
} window2d;
/* Output size of one dimension: floor((in + before + after - dilation (kernel-1) - 1) / stride) + 1
 */
int64_t window_output(const window2d *w, int dimension, int64_t in);
/* Set the padding as TensorFlow does for "same" (out = ceil(in / stride); an odd pixel goes after)
   or "valid" (none). */
void window_pad(window2d *w, bool same, int64_t height, int64_t width);

/* Whole numbers, such as axes. */
typedef struct int_list {
    int count; /* -1: null */
    bool one;  /* not in a list */
    int64_t value[SHAPE_MAX];
} int_list;

#endif

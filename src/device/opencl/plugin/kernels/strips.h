/* Sums over the rows of a matrix. A work-group has a strip of `width` columns (a power of two up to
   32) and goes down its range of block_rows rows; the work-items of a column are added as a tree,
   the groups' partial sums in their order. Groups: dimension 0 strips, 1 ranges of rows. */
#ifndef DEVICE_OPENCL_STRIPS_H
#define DEVICE_OPENCL_STRIPS_H

#include "device/opencl/plugin/kernels/shared.h"

/* Parameters of kernels that go so. */
#define STRIPS const long rows, const long columns, const long block_rows, const int width
#define WALK walk_of(rows, columns, block_rows, width)

/* This work-item's column, which may be past the last, and its rows: begin, begin + step ... <
   end */
typedef struct strip_walk {
    long column, begin, end;
    int step, width;
    bool active; /* the column exists */
} strip_walk;

static inline strip_walk walk_of(long rows, long columns, long block_rows, int width)
{
    strip_walk w;
    int item = get_local_id(0);
    long first = (long)get_group_id(1) * block_rows, last = first + block_rows;
    w.width = width;
    w.step = WORK_ITEMS / width;
    w.column = (long)get_group_id(0) * width + item % width;
    w.active = w.column < columns;
    w.begin = first + item / width;
    w.end = !w.active ? 0 : last < rows ? last : rows;
    return w;
}

/* True for the work-item that writes its column's result. */
static inline bool strip_writes(const strip_walk *w)
{
    return w->active && (int)get_local_id(0) < w->width;
}

/* Sum over the work-items of a column, for all of them; `shared`: WORK_ITEMS. */
static inline sum2 strip_sum(const strip_walk *w, sum2 value, local sum2 *shared)
{
    int item = get_local_id(0);
    FENCE; /* shared may still be read from the call before */
    shared[item] = value;
    for (int half_ = WORK_ITEMS / 2; half_ >= w->width; half_ /= 2) {
        FENCE;
        if (item < half_)
            shared[item] = sum2_add(shared[item], shared[item + half_]);
    }
    FENCE;
    return shared[item % w->width];
}

/* An element of a vector that may be NULL. */
static inline float or_else(global const float *values, long i, float missing)
{
    return values ? values[i] : missing;
}

/* ---- two sums side by side ----------------------------------------------------------------- */

/* Write this range's two sums of each column: partials[range][2][columns]. */
static inline void store_partials(const strip_walk *w, long columns, sum2 a, sum2 b,
                                  local sum2 *shared, global sum2 *partials)
{
    long at = 2 * (long)get_group_id(1) * columns + w->column;
    a = strip_sum(w, sum2_settled(a), shared);
    b = strip_sum(w, sum2_settled(b), shared);
    if (strip_writes(w)) {
        partials[at] = a;
        partials[at + columns] = b;
    }
}

/* Both sums of `count` of these. */
static inline void total_of(const strip_walk *w, long columns, global const sum2 *partials,
                            long count, local sum2 *shared, sum2 *first, sum2 *second)
{
    sum2 a = sum2_of(0.0f), b = sum2_of(0.0f);
    for (long i = get_local_id(0) / w->width; w->active && i < count; i += w->step) {
        a = sum2_add(a, partials[2 * i * columns + w->column]);
        b = sum2_add(b, partials[(2 * i + 1) * columns + w->column]);
    }
    *first = strip_sum(w, a, shared);
    *second = strip_sum(w, b, shared);
}

#endif

#include "device/opencl/plugin/kernels/common.h"

/* Pooling over NHWC. Channels are taken in packs of one float, or of four: pool_pack.h is every
   kernel, once for each. Backward passes gather what belongs to an element, window by window in the
   order of the reference, so that nothing needs atomics. */
#include "device/opencl/plugin/kernels/activation.h"
#include "device/opencl/plugin/kernels/shared.h"

/* Sides are less than 2^28, so that sums of a few of them are 32-bit numbers. */
typedef struct pool_shape {
    long batch;
    int in_h, in_w, out_h, out_w, packs; /* packs: of channels */
    int size[2], stride[2], dilation[2], before[2];
} pool_shape;

/* A shape as parameters, and made of them. */
#define SHAPE                                                                                 \
    const long batch, const int in_h, const int in_w, const int out_h, const int out_w,       \
        const int packs, const int size_h, const int size_w, const int stride_h,              \
        const int stride_w, const int dilation_h, const int dilation_w, const int before_h,   \
        const int before_w
#define SHAPE_OF                                                                              \
    {                                                                                         \
        batch, in_h, in_w, out_h, out_w, packs, {size_h, size_w}, {stride_h, stride_w},       \
            {dilation_h, dilation_w}, {before_h, before_w}                                    \
    }

/* ---- windows ------------------------------------------------------------------------------- */

/* Sample, row and column, pack. */
typedef struct pool_position {
    long n;
    int at[2], pack;
} pool_position;

static inline pool_position pool_position_of(long i, int height, int width, int packs)
{
    image_position found = position_of(i, height, width, packs);
    pool_position p;
    p.n = found.n;
    p.at[0] = (int)found.row;
    p.at[1] = (int)found.column;
    p.pack = (int)found.pack;
    return p;
}

static inline int divide_up(int a, int b)
{
    return (int)(((uint)a + (uint)b - 1) / (uint)b);
}

/* The taps of output position `out` within one side of length `length`: first, first + dilation,
   ..., `count` of them. */
typedef struct pool_taps {
    int first, count;
} pool_taps;

static inline pool_taps taps_of(const pool_shape *s, int side, int out, int length)
{
    int start = out * s->stride[side] - s->before[side], d = s->dilation[side];
    int skipped = start < 0 ? divide_up(-start, d) : 0;
    pool_taps t;
    t.first = start + skipped * d;
    int inside = t.first < length ? divide_up(length - t.first, d) : 0;
    t.count = clamp(s->size[side] - skipped, 0, inside);
    return t;
}

static inline long in_index(const pool_shape *s, const pool_position *p, int row, int column)
{
    return ((p->n * s->in_h + row) * s->in_w + column) * s->packs + p->pack;
}

static inline long out_index(const pool_shape *s, const pool_position *p, int row, int column)
{
    return ((p->n * s->out_h + row) * s->out_w + column) * s->packs + p->pack;
}

/* The output positions whose windows may reach input position `at` along one side: first..last. */
static inline void reaching(const pool_shape *s, int side, int at, int length, int *first,
                            int *last)
{
    int shifted = at + s->before[side];
    int least_start = shifted - (s->size[side] - 1) * s->dilation[side];
    *first = least_start > 0 ? divide_up(least_start, s->stride[side]) : 0;
    *last = min((int)((uint)shifted / (uint)s->stride[side]), length - 1);
}

/* True if the window at `out` has a tap at `at`. */
static inline bool has_tap(const pool_shape *s, int side, int out, int at)
{
    uint offset = (uint)(at + s->before[side] - out * s->stride[side]);
    return offset % (uint)s->dilation[side] == 0;
}

/* ---- one channel or four ------------------------------------------------------------------- */

#define PACK float
#define NAME(name) name
#define PASSED activate_back
#include "device/opencl/plugin/kernels/pool_pack.h"
#undef PACK
#undef NAME
#undef PASSED

#define PACK float4
#define NAME(name) name##_4
#define PASSED activate_back4
#include "device/opencl/plugin/kernels/pool_pack.h"

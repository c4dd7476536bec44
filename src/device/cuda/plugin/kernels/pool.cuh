/* Each kernel is written once for one channel (float) and for four (float4): `pack` below. Backward
   passes gather what belongs to an element, window by window in the order of the reference, so that
   nothing needs atomics. */
#include "device/cuda/plugin/kernels/rules.cuh"
#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/pool.h"

/* ---- one channel or four ------------------------------------------------------------------- */

/* The largest so far; a NaN stays. */
static __device__ inline void keep_largest(float *most, float x)
{
    *most = x > *most || x != x ? x : *most;
}

static __device__ inline void keep_largest(float4 *most, float4 x)
{
    keep_largest(&most->x, x.x);
    keep_largest(&most->y, x.y);
    keep_largest(&most->z, x.z);
    keep_largest(&most->w, x.w);
}

/* Give the rest of a window's gradient to x, if x equals the window's maximum. */
static __device__ inline void give(float *left, float x, float y, float *gets)
{
    bool here = x == y;
    *gets = here ? *left : 0;
    *left = here ? 0 : *left;
}

static __device__ inline void give(float4 *left, float4 x, float4 y, float4 *gets)
{
    give(&left->x, x.x, y.x, &gets->x);
    give(&left->y, x.y, y.y, &gets->y);
    give(&left->z, x.z, y.z, &gets->z);
    give(&left->w, x.w, y.w, &gets->w);
}

static __device__ inline void add(float *sum, float x)
{
    *sum += x;
}

static __device__ inline void add(float4 *sum, float4 x)
{
    sum->x += x.x;
    sum->y += x.y;
    sum->z += x.z;
    sum->w += x.w;
}

static __device__ inline void fill(float *x, float value)
{
    *x = value;
}

static __device__ inline void fill(float4 *x, float value)
{
    x->x = x->y = x->z = x->w = value;
}

/* The gradient d through an activation; x is its output. */
static __device__ inline float passed(float d, int kind, float alpha, float x)
{
    return activate_back(kind, alpha, x, d);
}

static __device__ inline float4 passed(float4 d, int kind, float alpha, float4 x)
{
    d.x = activate_back(kind, alpha, x.x, d.x);
    d.y = activate_back(kind, alpha, x.y, d.y);
    d.z = activate_back(kind, alpha, x.z, d.z);
    d.w = activate_back(kind, alpha, x.w, d.w);
    return d;
}

static __device__ inline float over(float x, float count)
{
    return x / count;
}

static __device__ inline float4 over(float4 x, float count)
{
    x.x /= count;
    x.y /= count;
    x.z /= count;
    x.w /= count;
    return x;
}

typedef struct sums4 {
    sum2 x, y, z, w;
} sums4;

static __device__ inline void add_exactly(sum2 *sum, float x)
{
    *sum = sum2_plus(*sum, x);
}

static __device__ inline void add_exactly(sums4 *sum, float4 x)
{
    add_exactly(&sum->x, x.x);
    add_exactly(&sum->y, x.y);
    add_exactly(&sum->z, x.z);
    add_exactly(&sum->w, x.w);
}

static __device__ inline float mean_of(sum2 sum, float count)
{
    return sum2_value(sum2_settled(sum)) / count;
}

static __device__ inline float4 mean_of(const sums4 &sum, float count)
{
    float4 v;
    v.x = mean_of(sum.x, count);
    v.y = mean_of(sum.y, count);
    v.z = mean_of(sum.z, count);
    v.w = mean_of(sum.w, count);
    return v;
}

/* ---- windows ------------------------------------------------------------------------------- */

/* Sample, row, column and pack of an element; the pack is the innermost. */
typedef struct pool_position {
    int64_t n;
    int at[2], pack;
} pool_position;

static __device__ inline pool_position pool_position_of(int64_t i, int height, int width, int packs)
{
    pool_position p;
    int64_t pack, column, row, rest = divide(i, packs, &pack);
    rest = divide(rest, width, &column);
    p.n = divide(rest, height, &row);
    p.at[0] = (int)row;
    p.at[1] = (int)column;
    p.pack = (int)pack;
    return p;
}

static __device__ inline int divide_up(int a, int b)
{
    return (int)(((unsigned)a + (unsigned)b - 1) / (unsigned)b);
}

/* The taps of output position `out` within one side of length `size`: first, first + dilation,
   ..., `count` of them. */
typedef struct pool_taps {
    int first, count;
} pool_taps;

static __device__ inline pool_taps taps_of(const pool_shape &s, int side, int out, int size)
{
    int start = out * s.stride[side] - s.before[side], d = s.dilation[side];
    int skipped = start < 0 ? divide_up(-start, d) : 0;
    pool_taps t;
    t.first = start + skipped * d;
    int inside = t.first < size ? divide_up(size - t.first, d) : 0;
    int left = s.kernel[side] - skipped;
    t.count = left < 0 ? 0 : left < inside ? left : inside;
    return t;
}

static __device__ inline int64_t in_index(const pool_shape &s, const pool_position &p, int row,
                                          int column)
{
    return ((p.n * s.in_h + row) * s.in_w + column) * s.packs + p.pack;
}

static __device__ inline int64_t out_index(const pool_shape &s, const pool_position &p, int row,
                                           int column)
{
    return ((p.n * s.out_h + row) * s.out_w + column) * s.packs + p.pack;
}

/* The output positions whose windows may reach input position `at` along one side: first..last. */
static __device__ inline void reaching(const pool_shape &s, int side, int at, int size, int *first,
                                       int *last)
{
    int shifted = at + s.before[side];
    int least_start = shifted - (s.kernel[side] - 1) * s.dilation[side];
    int most = (int)((unsigned)shifted / (unsigned)s.stride[side]);
    *first = least_start > 0 ? divide_up(least_start, s.stride[side]) : 0;
    *last = most < size ? most : size - 1;
}

/* ---- forward ------------------------------------------------------------------------------- */

template <typename pack>
static __device__ inline void max_forward(const pool_shape &s, const pack *x, pack *y)
{
    int64_t i = thread_number();
    if (i >= s.batch * s.out_h * s.out_w * s.packs)
        return;
    pool_position p = pool_position_of(i, s.out_h, s.out_w, s.packs);
    pool_taps rows = taps_of(s, 0, p.at[0], s.in_h), columns = taps_of(s, 1, p.at[1], s.in_w);
    pack most;
    fill(&most, -INFINITY);
    for (int r = 0; r < rows.count; r++)
        for (int c = 0; c < columns.count; c++)
            keep_largest(&most, x[in_index(s, p, rows.first + r * s.dilation[0],
                                           columns.first + c * s.dilation[1])]);
    y[i] = most;
}

extern "C" __global__ void __launch_bounds__(POOL_THREADS, 4)
    cornu_max_pool_forward(max_pool_forward_params p)
{
    if (p.pack == 4)
        max_forward(p.s, (const float4 *)(const void *)p.x, (float4 *)(void *)p.y);
    else
        max_forward(p.s, p.x, p.y);
}

template <typename pack, typename sums>
static __device__ inline void average_forward(const pool_shape &s, const pack *x, pack *y,
                                              sums zero)
{
    int64_t i = thread_number();
    if (i >= s.batch * s.out_h * s.out_w * s.packs)
        return;
    pool_position p = pool_position_of(i, s.out_h, s.out_w, s.packs);
    pool_taps rows = taps_of(s, 0, p.at[0], s.in_h), columns = taps_of(s, 1, p.at[1], s.in_w);
    sums sum = zero;
    for (int r = 0; r < rows.count; r++)
        for (int c = 0; c < columns.count; c++)
            add_exactly(&sum, x[in_index(s, p, rows.first + r * s.dilation[0],
                                         columns.first + c * s.dilation[1])]);
    y[i] = mean_of(sum, (float)rows.count * (float)columns.count);
}

extern "C" __global__ void __launch_bounds__(POOL_THREADS, 3)
    cornu_average_pool_forward(average_pool_forward_params p)
{
    const sum2 zero = sum2_of(0);
    const sums4 zeros = {zero, zero, zero, zero};
    if (p.pack == 4)
        average_forward(p.s, (const float4 *)(const void *)p.x, (float4 *)(void *)p.y, zeros);
    else
        average_forward(p.s, p.x, p.y, zero);
}

/* ---- backward: windows side by side -------------------------------------------------------- */

/* One thread a tile of stride x stride positions: its window gives the gradient to one of them, the
   others, and positions that no window reaches, get 0. Tiles go on past the last window until they
   reach the image's end. */
template <typename pack>
static __device__ inline void max_backward_apart(const max_pool_backward_params &b, const pack *x,
                                                 const pack *y, const pack *dy, pack *dx)
{
    const pool_shape &s = b.s;
    int high = divide_up(s.in_h + s.before[0], s.stride[0]);
    int wide = divide_up(s.in_w + s.before[1], s.stride[1]);
    int64_t i = thread_number();
    if (i >= s.batch * high * wide * s.packs)
        return;
    pool_position p = pool_position_of(i, high, wide, s.packs);
    pack left, most, gets;
    fill(&left, 0);
    fill(&most, 0);
    bool window = p.at[0] < s.out_h && p.at[1] < s.out_w;
    if (window) {
        left = dy[out_index(s, p, p.at[0], p.at[1])];
        most = y[out_index(s, p, p.at[0], p.at[1])];
    }
    int top = p.at[0] * s.stride[0] - s.before[0], side = p.at[1] * s.stride[1] - s.before[1];
    int bottom = top + s.stride[0] < s.in_h ? top + s.stride[0] : s.in_h;
    int end = side + s.stride[1] < s.in_w ? side + s.stride[1] : s.in_w;
    for (int row = top < 0 ? 0 : top; row < bottom; row++)
        for (int column = side < 0 ? 0 : side; column < end; column++) {
            int64_t at = in_index(s, p, row, column);
            pack value = x[at];
            fill(&gets, 0);
            if (window && row - top < s.kernel[0] && column - side < s.kernel[1])
                give(&left, value, most, &gets);
            dx[at] = passed(gets, b.activation, b.alpha, value);
        }
}

extern "C" __global__ void __launch_bounds__(POOL_THREADS, 4)
    cornu_max_pool_backward_apart(max_pool_backward_apart_params p)
{
    if (p.pack == 4)
        max_backward_apart(p, (const float4 *)(const void *)p.x, (const float4 *)(const void *)p.y,
                           (const float4 *)(const void *)p.dy, (float4 *)(void *)p.dx);
    else
        max_backward_apart(p, p.x, p.y, p.dy, p.dx);
}

/* ---- backward: any windows ----------------------------------------------------------------- */

/* The gradient that input position (row, column) gets from the window at output position `out`:
   walk over the window as the reference does, up to that position. */
template <typename pack>
static __device__ inline pack gradient_of_window(const pool_shape &s, const pool_position &p,
                                                 const int out[2], const pack *x, const pack *y,
                                                 const pack *dy)
{
    pool_taps rows = taps_of(s, 0, out[0], s.in_h), columns = taps_of(s, 1, out[1], s.in_w);
    int64_t at = out_index(s, p, out[0], out[1]);
    pack left = dy[at], most = y[at], gets;
    fill(&gets, 0);
    for (int r = rows.first; r <= p.at[0]; r += s.dilation[0]) {
        int end = columns.first + columns.count * s.dilation[1];
        if (r == p.at[0])
            end = p.at[1] + 1;
        for (int c = columns.first; c < end; c += s.dilation[1])
            give(&left, x[in_index(s, p, r, c)], most, &gets);
    }
    return gets;
}

/* True if the window at `out` has a tap at `at`. */
static __device__ inline bool has_tap(const pool_shape &s, int side, int out, int at)
{
    unsigned offset = (unsigned)(at + s.before[side] - out * s.stride[side]);
    return offset % (unsigned)s.dilation[side] == 0;
}

template <typename pack>
static __device__ inline void max_backward(const max_pool_backward_params &b, const pack *x,
                                           const pack *y, const pack *dy, pack *dx)
{
    const pool_shape &s = b.s;
    int64_t i = thread_number();
    if (i >= s.batch * s.in_h * s.in_w * s.packs)
        return;
    pool_position p = pool_position_of(i, s.in_h, s.in_w, s.packs);
    int first[2], last[2], out[2];
    reaching(s, 0, p.at[0], s.out_h, &first[0], &last[0]);
    reaching(s, 1, p.at[1], s.out_w, &first[1], &last[1]);
    pack sum;
    fill(&sum, 0);
    for (out[0] = first[0]; out[0] <= last[0]; out[0]++)
        for (out[1] = first[1]; out[1] <= last[1]; out[1]++)
            if (has_tap(s, 0, out[0], p.at[0]) && has_tap(s, 1, out[1], p.at[1]))
                add(&sum, gradient_of_window(s, p, out, x, y, dy));
    dx[i] = passed(sum, b.activation, b.alpha, x[i]);
}

extern "C" __global__ void __launch_bounds__(POOL_THREADS, 4)
    cornu_max_pool_backward(max_pool_backward_params p)
{
    if (p.pack == 4)
        max_backward(p, (const float4 *)(const void *)p.x, (const float4 *)(const void *)p.y,
                     (const float4 *)(const void *)p.dy, (float4 *)(void *)p.dx);
    else
        max_backward(p, p.x, p.y, p.dy, p.dx);
}

template <typename pack>
static __device__ inline void average_backward(const pool_shape &s, const pack *dy, pack *dx)
{
    int64_t i = thread_number();
    if (i >= s.batch * s.in_h * s.in_w * s.packs)
        return;
    pool_position p = pool_position_of(i, s.in_h, s.in_w, s.packs);
    int first[2], last[2];
    reaching(s, 0, p.at[0], s.out_h, &first[0], &last[0]);
    reaching(s, 1, p.at[1], s.out_w, &first[1], &last[1]);
    pack sum;
    fill(&sum, 0);
    for (int row = first[0]; row <= last[0]; row++)
        for (int column = first[1]; column <= last[1]; column++) {
            if (!has_tap(s, 0, row, p.at[0]) || !has_tap(s, 1, column, p.at[1]))
                continue;
            float taps = (float)taps_of(s, 0, row, s.in_h).count;
            taps *= (float)taps_of(s, 1, column, s.in_w).count;
            add(&sum, over(dy[out_index(s, p, row, column)], taps));
        }
    dx[i] = sum;
}

extern "C" __global__ void __launch_bounds__(POOL_THREADS, 4)
    cornu_average_pool_backward(average_pool_backward_params p)
{
    if (p.pack == 4)
        average_backward(p.s, (const float4 *)(const void *)p.dy, (float4 *)(void *)p.dx);
    else
        average_backward(p.s, p.dy, p.dx);
}

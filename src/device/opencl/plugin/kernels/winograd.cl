#include "device/opencl/plugin/kernels/common.h"

/* The transforms of Winograd's F(4x4, 3x3): 4 x 4 outputs of a 3x3 convolution by 36
   multiplications, one at each transform-domain position (Lavin and Gray, "Fast algorithms for
   convolutional neural networks", 2016).

     x tile, 6 x 6   --B' x B-->  v [position][tile][in]
     w, 3 x 3        --G w G'-->  u [position][in][out]
     v u, a product a position (dense.cl), --A' (v u) A--> y tile, 4 x 4

   The gradient of x is the forward pass of dy with the weights rotated by 180 degrees. The
   interpolation points are 0, A, -A, B, -B and infinity, as the cpu device has them: rounding
   errors are a third of those with 1 and 2. */
#include "device/opencl/plugin/kernels/gemm.h"
#include "device/opencl/plugin/kernels/shared.h"

#if ITEM_N > 8 /* WINOGRAD_VECTOR */
typedef columns lanes;
#else
typedef float lanes;
#endif
#define VECTOR WINOGRAD_VECTOR(ITEM_N)

/* Read `count` channels from `from` on, and 0 for the rest. */
static inline lanes read_lanes(global const float *from, int count)
{
#if ITEM_N > 8
    float all[VECTOR];
    if (count >= VECTOR)
        return JOIN(vload, ITEM_N)(0, from);
#pragma unroll
    for (int j = 0; j < VECTOR; j++)
        all[j] = j < count ? from[j] : 0.0f;
    return JOIN(vload, ITEM_N)(0, all);
#else
    return *from;
#endif
}

static inline void write_lanes(global float *to, lanes value, int count)
{
#if ITEM_N > 8
    if (count >= VECTOR)
        JOIN(vstore, ITEM_N)(value, 0, to);
    else
        put_piece(to, value, count, false);
#else
    *to = value;
#endif
}

#define POINT_A 0.6875f
#define POINT_B 1.5f
#define A2 (POINT_A * POINT_A)
#define B2 (POINT_B * POINT_B)

/* Six numbers `step` apart, in place: B' d */
static inline void transform_input(lanes *d, int step)
{
    lanes d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    lanes even_a = d4 - B2 * d2, odd_a = POINT_A * (d3 - B2 * d1);
    lanes even_b = d4 - A2 * d2, odd_b = POINT_B * (d3 - A2 * d1);
    d[0] = A2 * B2 * d0 + (d4 - (A2 + B2) * d2);
    d[step] = even_a + odd_a;
    d[2 * step] = even_a - odd_a;
    d[3 * step] = even_b + odd_b;
    d[4 * step] = even_b - odd_b;
    d[5 * step] = A2 * B2 * d1 + (d[5 * step] - (A2 + B2) * d3);
}

/* The first three of six, `step` apart, become six: G w */
static inline void transform_weights(lanes *w, int step)
{
    const float scale_a = 1 / (2 * A2 * (A2 - B2)), scale_b = 1 / (2 * B2 * (B2 - A2));
    lanes w0 = w[0], w1 = w[step], w2 = w[2 * step];
    lanes even_a = w0 + A2 * w2, odd_a = POINT_A * w1;
    lanes even_b = w0 + B2 * w2, odd_b = POINT_B * w1;
    w[0] = w0 * (1 / (A2 * B2));
    w[step] = scale_a * (even_a + odd_a);
    w[2 * step] = scale_a * (even_a - odd_a);
    w[3 * step] = scale_b * (even_b + odd_b);
    w[4 * step] = scale_b * (even_b - odd_b);
    w[5 * step] = w2;
}

/* Six numbers become the first four: A' m */
static inline void transform_output(lanes *m, int step)
{
    lanes sum_a = m[step] + m[2 * step], difference_a = m[step] - m[2 * step];
    lanes sum_b = m[3 * step] + m[4 * step], difference_b = m[3 * step] - m[4 * step];
    m[0] = m[0] + (sum_a + sum_b);
    m[step] = POINT_A * difference_a + POINT_B * difference_b;
    m[2 * step] = A2 * sum_a + B2 * sum_b;
    m[3 * step] = A2 * POINT_A * difference_a + (B2 * POINT_B * difference_b + m[5 * step]);
}

/* A tile of the batch: its sample, and the position of its first pixel. */
static inline int4 tile_at(int tile, int tile_rows, int tile_columns)
{
    int line = tile / tile_columns, sample = line / tile_rows;
    return (int4)((line - sample * tile_rows) * WINOGRAD_STEP,
                  (tile - line * tile_columns) * WINOGRAD_STEP, sample, 0);
}

/* The same as read_lanes() of numbers `stride` apart. */
static inline lanes read_column(global const float *from, int count, int stride)
{
#if ITEM_N > 8
    float all[VECTOR];
#pragma unroll
    for (int j = 0; j < VECTOR; j++)
        all[j] = j < count ? from[(long)j * stride] : 0.0f;
    return JOIN(vload, ITEM_N)(0, all);
#else
    return *from;
#endif
}

/* u from w [3][3][in][out] or, `rotated`, from w [3][3][out][in]. Dimension 0: out, 1: in. */
KERNEL3(winograd_weights, WINOGRAD_ITEMS(ITEM_N), WINOGRAD_TILES, 1)
(IN(float, w), OUT(float, u), const int in, const int out, const int rotated)
{
    const int o = (int)get_global_id(0) * VECTOR, i = get_global_id(1);
    lanes t[36];
    AT(w);
    AT(u);
    if (o >= out || i >= in)
        return;
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
        t[tap / 3 * 6 + tap % 3] =
            rotated ? read_column(w + ((long)(8 - tap) * out + o) * in + i, out - o, in)
                    : read_lanes(w + ((long)tap * in + i) * out + o, out - o);
#pragma unroll
    for (int j = 0; j < 3; j++)
        transform_weights(t + j, 6);
#pragma unroll
    for (int j = 0; j < 6; j++)
        transform_weights(t + 6 * j, 1);
    u += (long)i * out + o;
#pragma unroll
    for (int j = 0; j < 36; j++)
        write_lanes(u + (long)j * in * out, t[j], out - o);
}

/* v of tiles `first` to first + count - 1 of the batch. Dimension 0: channels, 1: tiles. */
KERNEL3(winograd_input, WINOGRAD_ITEMS(ITEM_N), WINOGRAD_TILES, 1)
(IN(float, x), OUT(float, v), const int height, const int width, const int channels,
 const int tile_rows, const int tile_columns, const int first, const int count,
 const int before_rows, const int before_columns)
{
    const int channel = (int)get_global_id(0) * VECTOR, tile = get_global_id(1);
    lanes t[36];
    AT(x);
    AT(v);
    if (channel >= channels || tile >= count)
        return;
    const int4 at = tile_at(first + tile, tile_rows, tile_columns);
    x += (long)at.z * height * width * channels + channel;
#pragma unroll
    for (int j = 0; j < 36; j++) {
        int row = at.x - before_rows + j / 6, column = at.y - before_columns + j % 6;
        int inside = clamp(row, 0, height - 1) == row && clamp(column, 0, width - 1) == column;
        long pixel = (long)clamp(row, 0, height - 1) * width + clamp(column, 0, width - 1);
        lanes value = read_lanes(x + pixel * channels, channels - channel);
        t[j] = inside ? value : (lanes)0.0f;
    }
#pragma unroll
    for (int j = 0; j < 6; j++)
        transform_input(t + j, 6);
#pragma unroll
    for (int j = 0; j < 6; j++)
        transform_input(t + 6 * j, 1);
    v += (long)tile * channels + channel;
#pragma unroll
    for (int j = 0; j < 36; j++)
        write_lanes(v + (long)j * count * channels, t[j], channels - channel);
}

/* y of the same tiles, height x width now its own. */
KERNEL3(winograd_output, WINOGRAD_ITEMS(ITEM_N), WINOGRAD_TILES, 1)
(IN(float, m), IN(float, bias), OUT(float, y), const int height, const int width,
 const int channels, const int tile_rows, const int tile_columns, const int first, const int count,
 const int act, const float alpha)
{
    const int channel = (int)get_global_id(0) * VECTOR, tile = get_global_id(1);
    lanes t[36];
    AT(m);
    AT(y);
    if (channel >= channels || tile >= count)
        return;
    const int4 at = tile_at(first + tile, tile_rows, tile_columns);
    lanes b = 0;
    if (bias)
        b = read_lanes(bias + bias_at / sizeof(float) + channel, channels - channel);
    m += (long)tile * channels + channel;
#pragma unroll
    for (int j = 0; j < 36; j++)
        t[j] = read_lanes(m + (long)j * count * channels, channels - channel);
#pragma unroll
    for (int j = 0; j < 6; j++)
        transform_output(t + j, 6);
#pragma unroll
    for (int j = 0; j < WINOGRAD_STEP; j++)
        transform_output(t + 6 * j, 1);
    const float slope = slope_of(act, alpha);
    y += (((long)at.z * height + at.x) * width + at.y) * channels + channel;
#pragma unroll
    for (int i = 0; i < WINOGRAD_STEP; i++)
#pragma unroll
        for (int j = 0; j < WINOGRAD_STEP; j++) {
            lanes value = t[6 * i + j] + b, below = slope * value;
            if (slope == 0)
                below = 0;
            value = value < 0 ? below : value;
            if (at.x + i < height && at.y + j < width)
                write_lanes(y + ((long)i * width + j) * channels, value, channels - channel);
        }
    /* seldom, and long code: from memory, once */
    for (int i = 0; i < WINOGRAD_STEP && !bends(act); i++)
        for (int j = 0; j < WINOGRAD_STEP; j++)
            if (at.x + i < height && at.y + j < width)
                for (int lane = 0; lane < VECTOR && channel + lane < channels; lane++) {
                    global float *to = y + ((long)i * width + j) * channels + lane;
                    *to = activate(act, alpha, *to);
                }
}

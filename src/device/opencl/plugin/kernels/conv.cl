#include "device/opencl/plugin/kernels/common.h"

/* Convolutions as products: kernels/conv.h. The weights in memory are a matrix with (kernel row,
   kernel column, channel) rows and filters columns. */
#include "device/opencl/plugin/kernels/conv.h"
#include "device/opencl/plugin/kernels/gemm.h"

/* a / the number that these stand for, 0 <= a < 2^31: Granlund and Montgomery, "Division by
   invariant integers using multiplication", 1994. */
static inline int window_divide(int a, int multiplier, int shift)
{
    return (int)((mul_hi((uint)a, (uint)multiplier) + (uint)a) >> shift);
}

/* The begin of a position's window: row, column, offset of this element in the image; the
   sample's first element. */
static inline int4 origin_of(int position, bool exists, const conv_window *w)
{
    int line = window_divide(position, w->columns_multiplier, w->columns_shift);
    int sample = window_divide(line, w->rows_multiplier, w->rows_shift);
    int row = (line - sample * w->rows) * w->stride_rows + w->offset_rows;
    int column = (position - line * w->columns) * w->stride_columns + w->offset_columns;
    int image = sample * w->height * w->width * w->channels;
    int first = image + (row * w->width + column) * w->channels;
    return (int4)(exists ? row : -(1 << 29), column, first, image); /* far outside of every image */
}

/* Kernel row, kernel column, channel. */
static inline int4 tap_of(int number, const conv_window *w)
{
    int tap = window_divide(number, w->tap_channels_multiplier, w->tap_channels_shift);
    int row = window_divide(tap, w->taps_multiplier, w->taps_shift);
    return (int4)(row, tap - row * w->taps, number - tap * w->tap_channels, 0);
}

static inline int4 next_tap(int4 tap, const conv_window *w)
{
    tap.z++;
    if (tap.z == w->tap_channels) {
        tap.z = 0;
        tap.y++;
    }
    if (tap.y == w->taps) {
        tap.y = 0;
        tap.x++;
    }
    return tap;
}

/* Elements are counted in 32 bits (ops/conv.c), which saves instructions at each address. */

/* True if a tap meets an element of the image; *at is its offset. Values that depend only on the
   tap are the same for all pieces of a work-item, and are computed once. No branches, so that
   loads overlap; shrinks, a constant: divide by the window's shrink. */
static inline bool meets_pixel(int4 origin, int4 tap, const conv_window *w, bool shrinks, int *pixel)
{
    int down = tap.x * w->step_rows, right = tap.y * w->step_columns;
    int row = origin.x + down, column = origin.y + right;
    bool meets = true;
    *pixel = origin.z + ((down * w->width + right) * w->channels + tap.z);
    if (shrinks) {
        int y = window_divide(max(row, 0), w->shrink_rows_multiplier, w->shrink_rows_shift);
        int x = window_divide(max(column, 0), w->shrink_columns_multiplier,
                              w->shrink_columns_shift);
        meets = (y * w->shrink_rows == row) & (x * w->shrink_columns == column);
        row = y;
        column = x;
        *pixel = origin.w + (row * w->width + column) * w->channels + tap.z;
    }
#if ITEM_N > 8 /* a tap is a row of the kernel, and continues into its right neighbours */
    const uint place = (uint)(column * w->channels + tap.z);
    return meets & ((uint)row < (uint)w->height) & (place < (uint)(w->width * w->channels));
#else
    return meets & ((uint)row < (uint)w->height) & ((uint)column < (uint)w->width);
#endif
}

#if ITEM_N > 8
/* Numbers of one tap, and of a row of the image, are adjacent in memory: a CPU copies them at
   once. */
static inline void copy_runs(local float *to, global const float *x, int4 origin, int4 tap,
                             int count, const conv_window *w)
{
    const int line = w->width * w->channels;
    for (int j = 0; j < PIECE;) {
        const int run = min(w->tap_channels - tap.z, PIECE - j), there = clamp(count - j, 0, run);
        const int row = origin.x + tap.x * w->step_rows;
        const int place = (origin.y + tap.y * w->step_columns) * w->channels + tap.z;
        const bool in_row = (uint)row < (uint)w->height;
        const int begin = in_row ? clamp(-place, 0, there) : there;
        const int end = max(min(there, line - place), begin);
        global const float *from = x + origin.w + (in_row ? row : 0) * line + place;
        for (int i = 0; i < begin; i++)
            to[j + i] = 0.0f;
        for (int i = begin; i < end; i++)
            to[j + i] = from[i];
        for (int i = end; i < run; i++)
            to[j + i] = 0.0f;
        j += run;
        tap.z += run - 1;
        tap = next_tap(tap, w);
    }
}
#endif

/* PIECE taps from `number` on, of `count`; whole: all or none, and neighbours in the image;
   2: and nothing shrinks. */
static inline void copy_taps(local float *to, global const float *x, int4 origin, int number,
                             int count, const conv_window *w, bool shrinks, int whole)
{
    int4 tap = tap_of(number, w);
    if (whole) {
        int at;
        /* one expression, or compilers add a branch around everything */
        const bool there = meets_pixel(origin, tap, w, shrinks && whole < 2, &at) & (number < count);
        const piece values = *(global const piece *)(x + (uint)(there ? at : 0));
        *(local piece *)to = there ? values : (piece)0.0f;
        return;
    }
#if ITEM_N > 8
    if (!shrinks) {
        copy_runs(to, x, origin, tap, count - number, w);
        return;
    }
#endif
    float all[PIECE];
    EACH_COLUMN
    for (int j = 0; j < PIECE; j++) {
        int at;
        const bool there = meets_pixel(origin, tap, w, shrinks, &at) & (number + j < count);
        const float value = x[(uint)(there ? at : 0)];
        all[j] = there ? value : 0.0f;
        tap = next_tap(tap, w);
    }
    *(local piece *)to = JOIN(vload, PIECE)(0, all);
}

/* For the gradient of x: read four filters of the weights of a channel, from `number` on, which
   counts (kernel row, kernel column, filter of the group); whole: as in copy_taps, 2: all four
   exist. */
static inline float4 read_filters(global const float *weights, int channel, int number,
                                  int channels, int count, int stride, const conv_window *w,
                                  int whole)
{
    float all[4];
    int tap = window_divide(number, w->tap_channels_multiplier, w->tap_channels_shift);
    int filter = number - tap * w->tap_channels;
    if (whole) {
        bool there = whole == 2 || (channel < channels && number < count);
        int at = (tap * channels + channel) * stride + filter;
        float4 values = read4(weights + (uint)(there ? at : 0), 4, true);
        return there ? values : (float4)0.0f;
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        all[j] = 0;
        if (channel < channels && number + j < count)
            all[j] = weights[(tap * channels + channel) * stride + filter];
        if (++filter == w->tap_channels) {
            filter = 0;
            tap++;
        }
    }
    return vload4(0, all);
}

#define WINDOW_PARAMETER(field) , const int window_##field
#define WINDOW_VALUE(field) window_##field,
#define PRODUCT_PARAMETERS , const int b_stride WINDOW_FIELDS(WINDOW_PARAMETER)
#define WINDOW_BEGIN const conv_window window = {WINDOW_FIELDS(WINDOW_VALUE)};

/* Origins of the tile's rows. */
#define ORIGINS_BEGIN                                                               \
    WINDOW_BEGIN                                                                    \
    local int4 origins[TILE_M];                                                     \
    for (int i = (int)item + k_group * ITEMS; i < TILE_M; i += PRODUCT_K_GROUPS * ITEMS)      \
        origins[i] = origin_of(row + i, row + i < m, &window);
#define COPY_ROW_OF_A(to, i, q, whole)                                                       \
    copy_taps(to, a, origins[i], from + (q), end, &window, SHRINKS, whole)
#define COPY_ROW_OF_B(to, q, j, whole)                                                       \
    copy_columns(to, b + ((uint)(from + (q)) * (uint)b_stride + (uint)(column + (j))),       \
                 from + (q) < end ? n - column - (j) : 0, whole)
#define B_ALIGNED (b_stride % PIECE == 0 && b_step % PIECE == 0)
#define NEIGHBOURS (window_channels % PIECE == 0 && window_tap_channels % PIECE == 0)
#define FULL_ROWS_OF_B (B_ALIGNED && column + TILE_N <= n && from + GEMM_K <= end)

#define SHRINKS false
#define PRODUCT conv_forward
#define PRODUCT_ACTIVATES 1
#define PRODUCT_K_GROUPS 1
#define PRODUCT_BEGIN ORIGINS_BEGIN
#define A_BY_DEPTH 0
#define COPY_A COPY_ROW_OF_A
#define A_WHOLE NEIGHBOURS
#define B_BY_COLUMN 0
#define COPY_B COPY_ROW_OF_B
#define B_WHOLE FULL_ROWS_OF_B
#include "device/opencl/plugin/kernels/gemm_shapes.h"

#define GRADIENT_K_GROUPS CONV_GRADIENT_K_GROUPS(GEMM_M, GEMM_N, ITEM_M, ITEM_N)
#undef SHRINKS
#define SHRINKS true
#define PRODUCT conv_backward_data
#define PRODUCT_ACTIVATES 0
#define PRODUCT_K_GROUPS GRADIENT_K_GROUPS
#define A_BY_DEPTH 0
#define COPY_A COPY_ROW_OF_A
#define UNSTRIDED (window_shrink_rows * window_shrink_columns == 1)
#define A_WHOLE (NEIGHBOURS ? UNSTRIDED ? 2 : 1 : 0)
#define B_BY_COLUMN 1
#define COPY_B(j, q, whole)                                                                  \
    read_filters(b, column + (j), from + (q), n, end, b_stride, &window, whole)
#define B_IN_FOURS (B_ALIGNED && window_tap_channels % PIECE == 0)
#define B_WHOLE (B_IN_FOURS ? column + TILE_N <= n && from + GEMM_K <= end ? 2 : 1 : 0)
#include "device/opencl/plugin/kernels/gemm_shapes.h"
#undef PRODUCT_BEGIN

#if ITEM_N > 8
#define BIAS_BEGIN
#define BIAS_NEXT
#define BIAS_END
#else
/* The bias's gradient: sums of B's columns, by the first row of tiles, as row m of C. */
#define BIAS_BEGIN                                          \
    const bool sums_b = window_bias_row && row == 0;        \
    piece b_sum = 0;
#define BIAS_NEXT                                           \
    if (sums_b)                                             \
        EACH_PIECE(GEMM_K *B_PIECES)                        \
    b_sum += *(local piece *)(b_tile + i / B_PIECES * B_STRIDE + i % B_PIECES * PIECE);
#define BIAS_END                                                                          \
    FENCE;                                                                                \
    if (sums_b)                                                                           \
        *(local piece *)(a_tile + item * PIECE) = b_sum;                                  \
    FENCE;                                                                                \
    for (int j = (int)item; sums_b && !k_group && j < TILE_N; j += ITEMS) {               \
        float sum = 0;                                                                    \
        for (int i = 0; i < GRADIENT_K_GROUPS; i++)                                       \
            for (int q = 0; q < ITEMS / B_PIECES; q++)                                    \
                sum += a_tile[i * A_FLOATS + (j / PIECE + q * B_PIECES) * PIECE + j % PIECE]; \
        if (column + j < n)                                                               \
            c[(long)m * c_stride + j] = sum;                                              \
    }
#endif

/* Origins of the next GEMM_K positions of the k_group. */
#define ORIGINS_FROM(begin)                                 \
    for (int i = (int)item; i < GEMM_K; i += ITEMS)         \
        origins[i] = origin_of((begin) + i, (begin) + i < end, &window);
#define PRODUCT conv_backward_weights
#define PRODUCT_ACTIVATES 0
#define PRODUCT_K_GROUPS GRADIENT_K_GROUPS
#define PRODUCT_BEGIN                                       \
    WINDOW_BEGIN                                            \
    BIAS_BEGIN                                              \
    local int4 all_origins[GRADIENT_K_GROUPS * GEMM_K];         \
    local int4 *const origins = all_origins + k_group * GEMM_K; \
    ORIGINS_FROM(begin + k_group * GEMM_K)
#define PRODUCT_NEXT                                        \
    ORIGINS_FROM(from + GRADIENT_K_GROUPS * GEMM_K)             \
    BIAS_NEXT
#define PRODUCT_END BIAS_END
#define A_BY_DEPTH 1
#define COPY_A(to, i, q, whole)                                                              \
    copy_taps(to, a, origins[q], row + (i), m, &window, false, whole)
#define A_WHOLE NEIGHBOURS
#define B_BY_COLUMN 0
#define COPY_B COPY_ROW_OF_B
#define B_WHOLE FULL_ROWS_OF_B
#include "device/opencl/plugin/kernels/gemm_shapes.h"

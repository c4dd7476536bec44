/* Convolutions as matrix products whose operands are gathered from the images while they are
   read. Index k of the forward product is (kernel row, kernel column, channel), the layout of
   the weights; for the gradient of the images it is (kernel row, kernel column, filter); for the
   gradient of the weights it is the position. */
#ifndef DEVICE_CUDA_CONV_CUH
#define DEVICE_CUDA_CONV_CUH

#include "device/cuda/plugin/kernels/product.cuh"

/* The position of a window (forward) or a pixel (backward data) in a padded image. */
struct conv_spot {
    int sample, row, column;
};

/* Walks over the positions of images of `height` x `width`, `samples` of them. */
struct conv_spot_walk {
    int sample, row, column;
};

struct conv_tap {
    int row, column; /* offset in the image */
    int channel;
};

/* Walks over (kernel row, kernel column, channel). */
struct conv_tap_walk {
    int row, column, channel;
};

static __device__ inline void spot_start(conv_spot_walk &w, int64_t index, int height, int width)
{
    int64_t row, column;
    index = divide(index, width, &column);
    w.sample = (int)divide(index, height, &row);
    w.row = (int)row;
    w.column = (int)column;
}

static __device__ inline void spot_advance(conv_spot_walk &w, int step, int height, int width)
{
    w.column += step;
    while (w.column >= width) {
        w.column -= width;
        if (++w.row == height) {
            w.row = 0;
            w.sample++;
        }
    }
}

static __device__ inline void tap_start(conv_tap_walk &w, int64_t index, int columns, int channels)
{
    int64_t column, channel;
    index = divide(index, channels, &channel);
    w.row = (int)divide(index, columns, &column);
    w.column = (int)column;
    w.channel = (int)channel;
}

static __device__ inline void tap_advance(conv_tap_walk &w, int step, int columns, int channels)
{
    w.channel += step;
    while (w.channel >= channels) {
        w.channel -= channels;
        if (++w.column == columns) {
            w.column = 0;
            w.row++;
        }
    }
}

/* x below windows: what forward and backward weights have in common. */
struct conv_windows {
    const conv_params *p;
    const float *x; /* the group's first channel */

    __device__ conv_spot spot(const conv_spot_walk &w) const
    {
        conv_spot s;
        s.sample = w.sample;
        s.row = w.row * p->stride[0] - p->before[0];
        s.column = w.column * p->stride[1] - p->before[1];
        return s;
    }
    __device__ conv_tap tap(const conv_tap_walk &w) const
    {
        conv_tap t;
        t.row = w.row * p->dilation[0];
        t.column = w.column * p->dilation[1];
        t.channel = w.channel;
        return t;
    }
    __device__ float pixel(const conv_spot &s, const conv_tap &t) const
    {
        int row = s.row + t.row, column = s.column + t.column;
        if ((unsigned)row >= (unsigned)p->height || (unsigned)column >= (unsigned)p->width)
            return 0.0f;
        int64_t at = ((int64_t)s.sample * p->height + row) * p->width + column;
        return x[at * p->channels + t.channel];
    }
};

/* A spot or a tap outside every image. */
#define CONV_NOWHERE (-(1 << 29))

/* Forward, A: a row is an output's position. */
struct windows_by_position : conv_windows {
    typedef conv_spot origin;
    typedef conv_tap_walk walk;

    __device__ void find(origin &s, int64_t row) const
    {
        conv_spot_walk w;
        spot_start(w, row, p->out_height, p->out_width);
        s = spot(w);
        if (row >= p->blocking.m)
            s.row = CONV_NOWHERE;
    }
    __device__ void start(walk &w, int64_t k) const
    {
        tap_start(w, k, p->kernel[1], p->group_channels);
    }
    __device__ void advance(walk &w, int step) const
    {
        tap_advance(w, step, p->kernel[1], p->group_channels);
    }
    __device__ float get(const origin &s, const walk &w) const
    {
        return pixel(s, tap(w));
    }
};

/* Backward weights, B: a column is a tap, k the outputs' positions. */
struct windows_by_tap : conv_windows {
    typedef conv_tap origin;
    typedef conv_spot_walk walk;

    __device__ void find(origin &t, int64_t column) const
    {
        conv_tap_walk w;
        tap_start(w, column, p->kernel[1], p->group_channels);
        t = tap(w);
        if (column >= p->blocking.n)
            t.row = CONV_NOWHERE;
    }
    __device__ void start(walk &w, int64_t k) const
    {
        spot_start(w, k, p->out_height, p->out_width);
    }
    __device__ void advance(walk &w, int step) const
    {
        spot_advance(w, step, p->out_height, p->out_width);
    }
    __device__ float get(const origin &t, const walk &w) const
    {
        return pixel(spot(w), t);
    }
};

/* Backward data, A: a row is a pixel of x, k the outputs that it went into. */
struct outputs_by_pixel {
    const conv_params *p;
    const float *dy; /* the group's first filter */
    typedef conv_spot origin;
    typedef conv_tap_walk walk;

    __device__ void find(origin &s, int64_t row) const
    {
        conv_spot_walk w;
        spot_start(w, row, p->height, p->width);
        s.sample = w.sample;
        s.row = row < p->blocking.m ? w.row + p->before[0] : CONV_NOWHERE;
        s.column = w.column + p->before[1];
    }
    __device__ void start(walk &w, int64_t k) const
    {
        tap_start(w, k, p->kernel[1], p->group_filters);
    }
    __device__ void advance(walk &w, int step) const
    {
        tap_advance(w, step, p->kernel[1], p->group_filters);
    }
    __device__ float output(int sample, int row, int column, int filter) const
    {
        if ((unsigned)row >= (unsigned)p->out_height || (unsigned)column >= (unsigned)p->out_width)
            return 0.0f;
        int64_t at = ((int64_t)sample * p->out_height + row) * p->out_width + column;
        return dy[at * p->filters + filter];
    }
    __device__ float get(const origin &s, const walk &w) const
    {
        return output(s.sample, s.row - w.row * p->dilation[0],
                      s.column - w.column * p->dilation[1], w.channel);
    }
};

/* The same with strides above 1: a pixel went only into those outputs whose offset is a multiple of
   the stride, that is, leaves the same rest as the pixel. */
struct strided_outputs_by_pixel : outputs_by_pixel {
    struct origin {
        int sample, row, column, row_rest, column_rest;
    };
    struct walk {
        conv_tap_walk at;
        int row, column, row_rest, column_rest;
    };

    __device__ void find(origin &s, int64_t row) const
    {
        conv_spot spot;
        outputs_by_pixel::find(spot, row);
        s.sample = spot.sample;
        s.row = spot.row < 0 ? spot.row : spot.row / p->stride[0];
        s.row_rest = spot.row < 0 ? -1 : spot.row % p->stride[0];
        s.column = spot.column / p->stride[1];
        s.column_rest = spot.column % p->stride[1];
    }
    __device__ void divide_tap(walk &w) const
    {
        int row = w.at.row * p->dilation[0], column = w.at.column * p->dilation[1];
        w.row = row / p->stride[0];
        w.row_rest = row % p->stride[0];
        w.column = column / p->stride[1];
        w.column_rest = column % p->stride[1];
    }
    __device__ void start(walk &w, int64_t k) const
    {
        outputs_by_pixel::start(w.at, k);
        divide_tap(w);
    }
    __device__ void advance(walk &w, int step) const
    {
        outputs_by_pixel::advance(w.at, step);
        divide_tap(w);
    }
    __device__ float get(const origin &s, const walk &w) const
    {
        if (s.row_rest != w.row_rest || s.column_rest != w.column_rest)
            return 0.0f;
        return output(s.sample, s.row - w.row, s.column - w.column, w.at.channel);
    }
};

/* Backward data, B: a column is a channel, k as above. */
struct weights_by_channel {
    const conv_params *p;
    const float *w; /* the group's first filter */
    typedef int64_t origin;
    typedef conv_tap_walk walk;

    __device__ void find(origin &c, int64_t column) const
    {
        c = column < p->blocking.n ? column : -1;
    }
    __device__ void start(walk &t, int64_t k) const
    {
        tap_start(t, k, p->kernel[1], p->group_filters);
    }
    __device__ void advance(walk &t, int step) const
    {
        tap_advance(t, step, p->kernel[1], p->group_filters);
    }
    __device__ float get(const origin &c, const walk &t) const
    {
        int64_t tap = ((int64_t)t.channel * p->kernel[0] + t.row) * p->kernel[1] + t.column;
        return c < 0 ? 0.0f : w[tap * p->group_channels + c];
    }
};

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_conv_forward(conv_forward_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED];
    int64_t group = product_group(p.blocking);
    matrix_operand b =
        matrix(p.b + group * p.blocking.n * p.blocking.k, p.blocking.n, p.blocking.k, 1);
    windows_by_position a;
    a.p = &p;
    a.x = p.a + group * p.group_channels;
    if (p.blocking.tile == PRODUCT_128X32)
        product_tile_run<128, 32, true, true>(p.blocking, group, a, b, shared);
    else
        product_tile_run<64, 64, true, true>(p.blocking, group, a, b, shared);
}

template <class Outputs>
static __device__ inline void find_gradient(const conv_params &p, int64_t group, Outputs &dy,
                                            weights_by_channel &w)
{
    dy.p = w.p = &p;
    dy.dy = p.a + group * p.group_filters;
    w.w = p.b + group * p.blocking.k * p.group_channels;
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_conv_backward_data(conv_backward_data_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED];
    int64_t group = product_group(p.blocking);
    outputs_by_pixel a;
    weights_by_channel b;
    find_gradient(p, group, a, b);
    if (p.blocking.tile == PRODUCT_128X32)
        product_tile_run<128, 32, true, false>(p.blocking, group, a, b, shared);
    else
        product_tile_run<64, 64, true, false>(p.blocking, group, a, b, shared);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_conv_backward_data_strided(conv_backward_data_strided_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED];
    int64_t group = product_group(p.blocking);
    strided_outputs_by_pixel a;
    weights_by_channel b;
    find_gradient(p, group, a, b);
    product_tile_run<64, 64, true, false>(p.blocking, group, a, b, shared);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_conv_backward_weights(conv_backward_weights_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED_32X32];
    int64_t group = product_group(p.blocking);
    matrix_operand a = matrix(p.a + group * p.group_filters, p.blocking.m, 1, p.filters);
    windows_by_tap b;
    b.p = &p;
    b.x = p.b + group * p.group_channels;
    if (p.blocking.tile == PRODUCT_32X128)
        product_tile_run<32, 128, false, false>(p.blocking, group, a, b, shared);
    else if (p.blocking.tile == PRODUCT_32X32)
        product_tile_run<32, 32, false, false>(p.blocking, group, a, b, shared);
    else
        product_tile_run<64, 64, false, false>(p.blocking, group, a, b, shared);
}

#endif

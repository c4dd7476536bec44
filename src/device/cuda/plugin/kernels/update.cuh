/* Updates of all variables, alone or with the gradients of dense layers. */
#ifndef DEVICE_CUDA_UPDATE_CUH
#define DEVICE_CUDA_UPDATE_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/product.cuh"
#include "device/cuda/plugin/kernels/rules.cuh"
#include "device/cuda/plugin/kernels/sums.cuh"
#include "device/cuda/plugin/kernels/update.h"

/* ---- updates ----------------------------------------------------------------------------- */

/* The optimizers' rules without contracting products and sums: the same gradients give the same
   weights as on the host. Both are bound by memory. */
#include "device/rules/averaging.h"
#include "device/rules/optimizers.h"
#include "device/rules/factored.h"
#include "device/rules/layerwise.h"
#include "device/rules/matrix_step.h"

/* Gradients are multiplied by this. A norm that is not finite makes it NaN, so that it is seen.
   Each square is finite, but their sum may not be: a power of two makes room for 65536 of them. */
static __device__ inline float clip_scale(const update_params &p, int square)
{
    const float room = 1.0f / 65536;
    if (!p.squares)
        return 1;
    sum2 squares = sum2_of(p.square_count == 0 ? p.squares[square] * room : 0);
    for (int i = 0; i < p.square_count; i++)
        squares = sum2_plus(squares, p.squares[i] * room);
    float norm = 256 * sqrtf(sum2_value(sum2_settled(squares)));
    return isfinite(norm) ? norm > p.norm_most ? p.norm_most / norm : 1 : NAN;
}

static __device__ inline void set_own(optimizer_constants *c, float l1, float l2, float decay)
{
    c->penalty_l1 = l1;
    c->penalty_l2 = l2;
    c->penalized = l1 > 0 || l2 > 0;
    c->weight_decay = decay;
}

static __device__ inline optimizer_constants constants_of(const update_params &p, int square)
{
    const cuda_step *s = this_step(&p.clock);
    optimizer_constants c = p.constants;
    c.learning_rate = s->learning_rate;
    c.factors = s->factors;
    c.gradient_scale = clip_scale(p, square);
    return c;
}

/* The rules as types, for templates: rule_of_SGD::step() is rule_sgd(). */
#define OPTIMIZER(id, class_name, name, rule, ...)                                            \
    typedef struct rule_of_##id {                                                             \
        static __device__ inline void step(const optimizer_constants &c, float *w, float g,   \
                                           float *a, float *b, float *d)                      \
        {                                                                                     \
            float slot[3] = {*a, *b, *d};                                                     \
            if (c.penalized)                                                                  \
                g = rule_penalized(c.penalty_l1, c.penalty_l2, *w, g);                        \
            rule_clip_and_decay(&c, w, &g);                                                   \
            rule_##rule(&c, c.form, w, g, slot);                                              \
            *a = slot[0];                                                                     \
            *b = slot[1];                                                                     \
            *d = slot[2];                                                                     \
        }                                                                                     \
    } rule_of_##id;
#include "model/optimizers.def"

/* ---- a piece -------------------------------------------------------------------------------- */

/* Elements at .. at + 3 of variable w, whose gradients are g. */
template <typename rule>
static __device__ inline void step4(const optimizer_constants &f, float *w, float *const slot[3], int64_t at,
                                    float4 g)
{
    const float4 none = {0, 0, 0, 0};
    float4 v = load4(w, at);
    float4 a = f.form & 1 ? load4(slot[0], at) : none;
    float4 b = f.form & 2 ? load4(slot[1], at) : none;
    float4 c = f.form & 4 ? load4(slot[2], at) : none;
    rule::step(f, &v.x, g.x, &a.x, &b.x, &c.x);
    rule::step(f, &v.y, g.y, &a.y, &b.y, &c.y);
    rule::step(f, &v.z, g.z, &a.z, &b.z, &c.z);
    rule::step(f, &v.w, g.w, &a.w, &b.w, &c.w);
    store4(w, at, v);
    if (f.form & 1)
        store4(slot[0], at, a);
    if (f.form & 2)
        store4(slot[1], at, b);
    if (f.form & 4)
        store4(slot[2], at, c);
}

template <typename rule>
static __device__ inline void step1(const optimizer_constants &f, float *w, float *const slot[3], int64_t at,
                                    float g)
{
    float v = w[at], a = f.form & 1 ? slot[0][at] : 0;
    float b = f.form & 2 ? slot[1][at] : 0, c = f.form & 4 ? slot[2][at] : 0;
    rule::step(f, &v, g, &a, &b, &c);
    w[at] = v;
    if (f.form & 1)
        slot[0][at] = a;
    if (f.form & 2)
        slot[1][at] = b;
    if (f.form & 4)
        slot[2][at] = c;
}

template <typename rule>
static __device__ inline void update_one(const update_params &p, unsigned number)
{
    const update_piece v = p.pieces[number];
    if (p.steps > 1 && this_step(&p.clock)->iteration % p.steps != p.steps - 1)
        return;
    optimizer_constants f = constants_of(p, v.square);
    set_own(&f, v.penalty_l1, v.penalty_l2, v.weight_decay);
    for (int at = (int)threadIdx.x * 4; at < v.count; at += UPDATE_THREADS * 4) {
        if (at + 4 <= v.count)
            step4<rule>(f, v.w, v.slot, at, load4(v.g, at));
        else
            for (int i = at; i < v.count; i++)
                step1<rule>(f, v.w, v.slot, i, v.g[i]);
    }
}

#define OPTIMIZER(id, ...)                                             \
    extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)       \
        cornu_update_##id(update_##id##_params p)                      \
    {                                                                  \
        update_one<rule_of_##id>(p, blockIdx.x);                       \
    }
#include "model/optimizers.def"

/* ---- sums of gradients, averages of weights ------------------------------------------------- */

extern "C" __global__ void cornu_accumulate(accumulate_params p)
{
    const int last = this_step(&p.clock)->iteration % p.steps == p.steps - 1;
    for (EACH(i, p.count))
        rule_accumulate((float)p.steps, last, &p.g[i], &p.sum[i]);
}

extern "C" __global__ void cornu_average(average_params p)
{
    const int64_t update = this_step(&p.clock)->iteration / p.steps;
    const float momentum = update == 0 ? 0 : p.momentum;
    const bool overwrites = p.overwrite > 0 && (update + 1) % p.overwrite == 0;
    for (EACH(i, p.count)) {
        p.average[i] = rule_average(momentum, p.average[i], p.w[i]);
        if (overwrites)
            p.w[i] = p.average[i];
    }
}

/* ---- sums of squares of a weight and of its directions ---------------------------------------- */

/* partials [2][blocks]: a block writes its sums. */
static __device__ inline void write_squares(sum2 weights, sum2 directions, sum2 *partials,
                                            int64_t blocks, sum2 *shared)
{
    weights = block_sum(sum2_settled(weights), shared);
    __syncthreads();
    directions = block_sum(sum2_settled(directions), shared);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = weights;
        partials[blocks + blockIdx.x] = directions;
    }
}

/* The sums of all blocks, in thread 0. */
static __device__ inline void read_squares(const sum2 *partials, int64_t blocks, sum2 *shared,
                                           sum2 *weights, sum2 *directions)
{
    sum2 w = sum2_of(0), d = sum2_of(0);
    for (int64_t i = threadIdx.x; i < blocks; i += blockDim.x) {
        w = sum2_add(w, partials[i]);
        d = sum2_add(d, partials[blocks + i]);
    }
    *weights = block_sum(w, shared);
    __syncthreads();
    *directions = block_sum(d, shared);
}

/* ---- Lamb's step ---------------------------------------------------------------------------- */

static __device__ inline float direction_of(const layerwise_params &p, const cuda_step *s, int64_t i)
{
    return rule_layerwise(p.m[i], p.v[i], s->factors.alpha, s->factors.gradient_alpha, p.epsilon);
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_layerwise_sums(layerwise_sums_params p)
{
    __shared__ sum2 shared[WARP];
    const cuda_step *s = this_step(&p.clock);
    const int64_t begin = (int64_t)blockIdx.x * p.piece, end = least(begin + p.piece, p.count);
    sum2 weights = sum2_of(0), directions = sum2_of(0);
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const float u = direction_of(p, s, i);
        weights = sum2_plus(weights, p.w[i] * p.w[i]);
        directions = sum2_plus(directions, u * u);
    }
    write_squares(weights, directions, p.partials, p.blocks, shared);
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) cornu_layerwise(layerwise_params p)
{
    __shared__ sum2 shared[WARP];
    __shared__ float rate;
    const cuda_step *s = this_step(&p.clock);
    if (p.steps > 1 && s->iteration % p.steps != p.steps - 1)
        return;
    sum2 weights, directions;
    read_squares(p.partials, p.blocks, shared, &weights, &directions);
    if (threadIdx.x == 0)
        rate = rule_layerwise_ratio(sqrtf(sum2_value(weights)), sqrtf(sum2_value(directions))) *
               s->learning_rate;
    __syncthreads();
    for (EACH(i, p.count))
        p.w[i] -= rate * direction_of(p, s, i);
}

/* ---- Adafactor's step ------------------------------------------------------------------------ */

static __device__ inline bool is_its_step(const cuda_clock &clock, int64_t steps)
{
    return steps <= 1 || this_step(&clock)->iteration % steps == steps - 1;
}

/* Where element i is. */
static __device__ inline int64_t stored(const factored_params &p, int64_t i)
{
    if (p.stored_columns == 1)
        return i;
    return i % p.stored_columns * p.stored_rows + i / p.stored_columns;
}

/* The gradient at `at`, clipped; *w: the weight, decayed. */
template <typename params>
static __device__ inline float clipped(const params &p, const optimizer_constants &c, int64_t at,
                                       float *w)
{
    float g = p.g[at];
    *w = p.w[at];
    if (c.penalized)
        g = rule_penalized(c.penalty_l1, c.penalty_l2, *w, g);
    rule_clip_and_decay(&c, w, &g);
    return g;
}

static __device__ inline float factored_square(const factored_params &p,
                                               const optimizer_constants &c, int64_t i)
{
    float w;
    return rule_factored_square(clipped(p, c, stored(p, i), &w), p.epsilon_1);
}

/* A block has a row. */
extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_factored_rows(factored_rows_params p)
{
    __shared__ sum2 shared[WARP];
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    const optimizer_constants c = constants_of(p.update, p.square);
    const int64_t row = blockIdx.x;
    sum2 sum = sum2_of(0);
    for (int64_t k = threadIdx.x; k < p.columns; k += blockDim.x)
        sum = sum2_plus(sum, factored_square(p, c, row * p.columns + k));
    sum = block_sum(sum2_settled(sum), shared);
    if (threadIdx.x == 0)
        p.r[row] = rule_factored_mean(c.factors.gradient_alpha, p.r[row],
                                      sum2_value(sum) / (float)p.columns);
}

/* A thread has a column. */
extern "C" __global__ void cornu_factored_columns(factored_columns_params p)
{
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    const optimizer_constants c = constants_of(p.update, p.square);
    for (EACH(i, p.outer * p.columns)) {
        const int64_t first = i / p.columns * p.rows * p.columns + i % p.columns;
        sum2 sum = sum2_of(0);
        for (int64_t k = 0; k < p.rows; k++)
            sum = sum2_plus(sum, factored_square(p, c, first + k * p.columns));
        p.c[i] = rule_factored_mean(c.factors.gradient_alpha, p.c[i],
                                    sum2_value(sum2_settled(sum)) / (float)p.rows);
    }
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_factored_means(factored_means_params p)
{
    __shared__ sum2 shared[WARP];
    sum2 sum = sum2_of(0);
    for (int64_t k = threadIdx.x; k < p.rows; k += blockDim.x)
        sum = sum2_plus(sum, p.r[blockIdx.x * p.rows + k]);
    sum = block_sum(sum2_settled(sum), shared);
    if (threadIdx.x == 0)
        p.means[blockIdx.x] = sum2_value(sum) / (float)p.rows;
}

/* The velocities, and sums of squares of weights and of directions. */
extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_factored_directions(factored_directions_params p)
{
    __shared__ sum2 shared[WARP];
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    const optimizer_constants c = constants_of(p.update, p.square);
    const int64_t begin = (int64_t)blockIdx.x * p.piece, end = least(begin + p.piece, p.count);
    sum2 weights = sum2_of(0), directions = sum2_of(0);
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const int64_t at = stored(p, i);
        float w;
        const float g = clipped(p, c, at, &w);
        if (p.rows > 0) {
            const int64_t row = i / p.columns, outer = row / p.rows;
            p.v[at] = rule_factored_velocity(p.r[row], p.means[outer],
                                             p.c[outer * p.columns + i % p.columns]);
        } else {
            p.v[at] = rule_factored_mean(c.factors.gradient_alpha, p.v[at],
                                         rule_factored_square(g, p.epsilon_1));
        }
        const float u = rule_factored_direction(g, p.v[at]);
        weights = sum2_plus(weights, w * w);
        directions = sum2_plus(directions, u * u);
    }
    write_squares(weights, directions, p.partials, p.blocks, shared);
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_factored_step(factored_step_params p)
{
    __shared__ sum2 shared[WARP];
    __shared__ float rate;
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    const optimizer_constants c = constants_of(p.update, p.square);
    sum2 weights, directions;
    read_squares(p.partials, p.blocks, shared, &weights, &directions);
    if (threadIdx.x == 0)
        rate = rule_factored_rate(c.factors.alpha, p.epsilon_2,
                                  sqrtf(sum2_value(weights) / (float)p.count),
                                  sqrtf(sum2_value(directions) / (float)p.count), p.clip_threshold);
    __syncthreads();
    for (EACH(i, p.count)) {
        float w;
        const float g = clipped(p, c, i, &w);
        p.w[i] = w - rate * rule_factored_direction(g, p.v[i]);
    }
}

/* ---- Muon's step on a matrix ----------------------------------------------------------------- */

/* Where element i of the weight is in X. */
static __device__ inline int64_t in_x(const matrix_params &p, int64_t i)
{
    return p.rows > p.columns ? i % p.columns * p.rows + i / p.columns : i;
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_matrix_directions(matrix_directions_params p)
{
    __shared__ sum2 shared[WARP];
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    const optimizer_constants c = constants_of(p.update, p.square);
    const int64_t begin = (int64_t)blockIdx.x * p.piece;
    const int64_t end = least(begin + p.piece, p.rows * p.columns);
    sum2 sum = sum2_of(0);
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        float w;
        const float g = clipped(p, c, i, &w);
        p.m[i] = rule_matrix_momentum(p.m[i], g, c.momentum);
        const float x = rule_matrix_direction(p.m[i], g, c.momentum, p.nesterov);
        p.x[in_x(p, i)] = x;
        sum = sum2_plus(sum, x * x);
    }
    sum = block_sum(sum2_settled(sum), shared);
    if (threadIdx.x == 0)
        p.partials[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_matrix_scale(matrix_scale_params p)
{
    __shared__ sum2 shared[WARP];
    __shared__ float norm;
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    sum2 sum = sum2_of(0);
    for (int64_t i = threadIdx.x; i < p.blocks; i += blockDim.x)
        sum = sum2_add(sum, p.partials[i]);
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        norm = sqrtf(sum2_value(sum));
    __syncthreads();
    for (EACH(i, p.rows * p.columns))
        p.x[i] /= norm + MATRIX_STEP_EPSILON;
}

extern "C" __global__ void cornu_matrix_product(matrix_product_params p)
{
    if (!is_its_step(p.clock, p.steps))
        return;
    for (EACH(i, p.rows * p.columns)) {
        const float *a = p.a + i / p.columns * p.depth, *b = p.b + i % p.columns * p.b_column;
        sum2 sum = sum2_of(0);
        for (int64_t k = 0; k < p.depth; k++)
            sum = sum2_plus(sum, a[k] * b[k * p.b_depth]);
        const float product = p.factor * sum2_value(sum2_settled(sum));
        p.y[i] = p.kept ? p.keep * p.kept[i] + product : product;
    }
}

extern "C" __global__ void cornu_matrix_step(matrix_step_params p)
{
    if (!is_its_step(p.update.clock, p.update.steps))
        return;
    const optimizer_constants c = constants_of(p.update, p.square);
    for (EACH(i, p.rows * p.columns)) {
        float w;
        (void)clipped(p, c, i, &w);
        p.w[i] = rule_matrix_step(w, p.x[in_x(p, i)], c.learning_rate, p.root, p.share);
    }
}

/* ---- square sums ---------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_squares(update_squares_params p)
{
    __shared__ sum2 shared[WARP];
    const update_piece v = p.pieces[blockIdx.x];
    const bool penalized = v.penalty_l1 > 0 || v.penalty_l2 > 0;
    sum2 own = penalized ? penalty_range(v.w, v.g, v.count, v.penalty_l1, v.penalty_l2)
                          : square_range(v.g, v.count);
    sum2 sum = block_sum(own, shared);
    if (threadIdx.x == 0)
        p.partials[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_squares_reduce(update_squares_reduce_params p)
{
    __shared__ sum2 shared[WARP];
    const update_range range = p.ranges[blockIdx.x];
    sum2 sum = sum2_of(0);
    for (int i = (int)threadIdx.x; i < range.count; i += (int)blockDim.x)
        sum = sum2_add(sum, p.partials[range.first + i]);
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        p.squares[p.pieces[range.first].square] = sum2_value(sum);
}

/* ---- with gradients of dense layers ------------------------------------------------------ */

static_assert(2 * DENSE_UPDATE_DEPTH == DENSE_UPDATE_TILE, "both strips fill the tile's memory");

/* DENSE_UPDATE_DEPTH rows of DENSE_UPDATE_TILE columns of a matrix [rows][width]; 0 outside. */
static __device__ inline void load_strip(const float *from, int64_t rows, int64_t width,
                                         int64_t row, int64_t column, int rounding, float *to)
{
    const int packs = DENSE_UPDATE_TILE / 4;
    for (int i = (int)threadIdx.x; i < DENSE_UPDATE_DEPTH * packs; i += DENSE_UPDATE_THREADS) {
        int64_t r = row + i / packs, c = column + i % packs * 4;
        const float *at = from + r * width + c;
        float4 v = {0, 0, 0, 0};
        if (r < rows && c < width) {
            if (width % 4 == 0) {
                v = load4(at, 0);
            } else {
                v.x = at[0];
                v.y = c + 1 < width ? at[1] : 0;
                v.z = c + 2 < width ? at[2] : 0;
                v.w = c + 3 < width ? at[3] : 0;
            }
        }
        v.x = round_factor(v.x, rounding);
        v.y = round_factor(v.y, rounding);
        v.z = round_factor(v.z, rounding);
        v.w = round_factor(v.w, rounding);
        store4(to, i * 4, v);
    }
}

/* A tile of dW into `shared`, which holds the strips of x and dy before: 4 x 4 sums a thread. */
static __device__ inline void sum_tile(const dense_update_layer &l, const dense_update_tile &t,
                                       int rounding, float *shared)
{
    float *x = shared, *dy = shared + DENSE_UPDATE_DEPTH * DENSE_UPDATE_TILE;
    float sums[4][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    int i = (int)threadIdx.x / 16 * 4, j = (int)threadIdx.x % 16 * 4;
    for (int row = 0; row < l.rows; row += DENSE_UPDATE_DEPTH) {
        __syncthreads();
        load_strip(l.x, l.rows, l.in, row, t.in, rounding, x);
        load_strip(l.dy, l.rows, l.units, row, t.unit, rounding, dy);
        __syncthreads();
        int depth = l.rows - row < DENSE_UPDATE_DEPTH ? l.rows - row : DENSE_UPDATE_DEPTH;
        for (int k = 0; k < depth; k++)
            product_step(x + k * DENSE_UPDATE_TILE + i, dy + k * DENSE_UPDATE_TILE + j, sums);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float4 four = {sums[k][0], sums[k][1], sums[k][2], sums[k][3]};
        store4(shared, (i + k) * DENSE_UPDATE_TILE + j, four);
    }
    __syncthreads();
}

/* The bias' gradient is the columns' sums of dy, each by four threads; then its own step. */
template <typename rule>
static __device__ inline void update_bias(const dense_update_layer &l, const dense_update_tile &t,
                                          const optimizer_constants &f, sum2 *shared)
{
    int column = (int)threadIdx.x % DENSE_UPDATE_TILE, lane = (int)threadIdx.x / DENSE_UPDATE_TILE;
    const int lanes = DENSE_UPDATE_THREADS / DENSE_UPDATE_TILE;
    int64_t unit = t.unit + column;
    sum2 sum = sum2_of(0);
    for (int64_t row = lane; unit < l.units && row < l.rows; row += lanes)
        sum = sum2_plus(sum, l.dy[row * l.units + unit]);
    sum = sum2_settled(sum);
    __syncthreads(); /* shared was the tile's */
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (lane > 0 || unit >= l.units)
        return;
    for (int k = 1; k < lanes; k++)
        sum = sum2_add(sum, shared[k * DENSE_UPDATE_TILE + column]);
    step1<rule>(f, l.bias, l.bias_slot, unit, sum2_value(sum));
}

template <typename rule>
static __device__ inline void update_tile(const dense_update_params &p, float *shared)
{
    const dense_update_tile t = p.tiles[blockIdx.x];
    const dense_update_layer l = p.layers[t.layer];
    const int packs = DENSE_UPDATE_TILE / 4;
    sum_tile(l, t, p.rounding, shared);
    optimizer_constants f = constants_of(p.update, 0); /* not before: registers are short there */
    set_own(&f, l.penalty_l1, l.penalty_l2, l.weight_decay);
    for (int i = (int)threadIdx.x; i < DENSE_UPDATE_TILE * packs; i += DENSE_UPDATE_THREADS) {
        int in = t.in + i / packs, unit = t.unit + i % packs * 4;
        int64_t at = (int64_t)in * l.units + unit;
        if (in >= l.in || unit >= l.units)
            continue;
        if (l.units % 4 == 0)
            step4<rule>(f, l.w, l.slot, at, load4(shared, i * 4));
        else
            for (int j = 0; j < 4 && unit + j < l.units; j++)
                step1<rule>(f, l.w, l.slot, at + j, shared[i * 4 + j]);
    }
    set_own(&f, l.bias_l1, l.bias_l2, l.bias_decay);
    if (l.bias && t.in == 0)
        update_bias<rule>(l, t, f, (sum2 *)(void *)shared);
}

template <typename rule> static __device__ inline void dense_update(const dense_update_params &p)
{
    alignas(16) __shared__ float shared[DENSE_UPDATE_TILE * DENSE_UPDATE_TILE];
    if (blockIdx.x < (unsigned)p.tile_count)
        update_tile<rule>(p, shared);
    else
        update_one<rule>(p.update, blockIdx.x - (unsigned)p.tile_count);
}

#define OPTIMIZER(id, ...)                                              \
    extern "C" __global__ void __launch_bounds__(DENSE_UPDATE_THREADS, 3) \
        cornu_dense_update_##id(dense_update_##id##_params p)           \
    {                                                                   \
        dense_update<rule_of_##id>(p);                                  \
    }
#include "model/optimizers.def"

#endif

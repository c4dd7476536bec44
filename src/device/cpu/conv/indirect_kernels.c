/* Microkernels of indirect.c. A tile of the output, some rows by one to four vectors, stays in
   registers over all of the depth; a tile's rows take their inputs from addresses that are loaded
   once for each tap. */
#include "device/cpu/conv/indirect_kernels.h"
#include "device/cpu/vec.h"

/* Heights of tiles for panels of 1, 2, ... vectors: what is left over takes lower ones. The sums, a
   vector for each column and one input fit into the registers; addresses of eight rows fit into
   the general ones. */
enum { HEIGHTS = 4, ROWS_MOST = 12 };
/* Floats of a cache line. Narrower vectors leave the hardware the time to be ahead by itself. */
enum { LINE = 16, PREFETCHES = VEC_FLOATS == LINE };
#if VEC_COUNT == 32
enum { VECS_MOST = 4 };
#define PRODUCT_WIDTHS(X) X(1, 8, 4, 2, 1) X(2, 8, 4, 2, 1) X(3, 8, 4, 2, 1) X(4, 6, 3, 2, 1)
#define GRADIENT_WIDTHS(X) X(1, 12, 8, 4, 1) X(2, 12, 8, 4, 1) X(3, 8, 4, 2, 1) X(4, 6, 4, 2, 1)
#else
enum { VECS_MOST = 2 };
#define PRODUCT_WIDTHS(X) X(1, 8, 4, 2, 1) X(2, 6, 3, 2, 1)
#define GRADIENT_WIDTHS(X) X(1, 12, 8, 4, 1) X(2, 6, 4, 2, 1)
#endif

VEC_INLINE void clear(vec sum[ROWS_MOST][VECS_MOST], int rows, int vecs)
{
    UNROLL(12)
    for (int r = 0; r < rows; r++) {
        UNROLL(4)
        for (int v = 0; v < vecs; v++)
            sum[r][v] = (vec){0};
    }
}

VEC_INLINE void load_row(const float *from, int vecs, vec *row)
{
    UNROLL(4)
    for (int v = 0; v < vecs; v++)
        row[v] = vec_load(from + v * VEC_FLOATS);
}

VEC_INLINE void add_product(vec left, const vec *right, int vecs, vec *sums)
{
    UNROLL(4)
    for (int v = 0; v < vecs; v++)
        sums[v] += left * right[v];
}

/* Columns of vector v, of which only the last may have fewer than a vector. */
VEC_INLINE int64_t columns_of(int v, int vecs, int64_t columns)
{
    const int64_t left = columns - v * VEC_FLOATS;
    return v < vecs - 1 || left >= VEC_FLOATS ? VEC_FLOATS : left;
}

VEC_INLINE vec finished(const indirect_product *p, vec sum, int64_t column, int64_t count)
{
    if (p->bias)
        sum += vec_load_count(p->bias + column, count);
    return p->relu ? vec_select(sum < 0, (vec){0}, sum) : sum; /* a NaN stays */
}

/* `plain`: neither added nor finished */
VEC_INLINE void store_row(const indirect_product *p, float *to, int vecs, bool plain,
                          const vec *sums)
{
    UNROLL(4)
    for (int v = 0; v < vecs; v++) {
        const int64_t column = v * VEC_FLOATS, count = columns_of(v, vecs, p->columns);
        vec sum = sums[v];
        if (!plain && p->add)
            sum += vec_load_count(to + column, count);
        vec_store_count(to + column, plain ? sum : finished(p, sum, column, count), count);
    }
}

/* A line of each of the rows that the next tile reads, and of those that this one will write. */
VEC_INLINE void prefetch_tile(const indirect_product *p, const float *const *a, int64_t row,
                              int rows, int vecs, int64_t begin)
{
    UNROLL(12)
    for (int r = 0; r < rows; r++)
        __builtin_prefetch(a[r] + begin + p->ahead);
    if (begin >= vecs * LINE)
        return;
    UNROLL(12)
    for (int r = 0; r < rows; r++)
        __builtin_prefetch(p->to[row + r] + p->to_at + begin, 1);
}

VEC_INLINE void product_tile(const indirect_product *p, int64_t row, int rows, int vecs)
{
    vec sum[ROWS_MOST][VECS_MOST];
    clear(sum, rows, vecs);
    for (int64_t t = 0; t < p->taps; t++) {
        const float *const *from = p->from + t * p->from_stride + row;
        const float *panel = p->panel + p->tap[t] * p->tap_stride, *a[ROWS_MOST];
        bool inside = false;
        UNROLL(12)
        for (int r = 0; r < rows; r++) {
            inside |= from[r] != p->outside;
            a[r] = from[r] + p->at;
        }
        if (!inside)
            continue;
        const int64_t step = PREFETCHES && p->ahead ? LINE : p->depth;
        for (int64_t begin = 0; begin < p->depth; begin += step) {
            const int64_t end = begin + step < p->depth ? begin + step : p->depth;
            if (step == LINE)
                prefetch_tile(p, a, row, rows, vecs, begin);
            for (int64_t k = begin; k < end; k++, panel += vecs * VEC_FLOATS) {
                vec right[VECS_MOST];
                load_row(panel, vecs, right);
                UNROLL(12)
                for (int r = 0; r < rows; r++)
                    add_product(vec_all(a[r][k]), right, vecs, sum[r]);
            }
        }
    }
    if (p->add || p->bias || p->relu) {
        UNROLL(12)
        for (int r = 0; r < rows; r++)
            store_row(p, p->to[row + r] + p->to_at, vecs, false, sum[r]);
    } else {
        UNROLL(12)
        for (int r = 0; r < rows; r++)
            store_row(p, p->to[row + r] + p->to_at, vecs, true, sum[r]);
    }
}

/* What tile number `tile` prefetches of the next block: a line of each row, first of dy, then of
   the other rows, and their distance. */
static const float *gradient_ahead(const indirect_gradient *g, int64_t tile, int64_t *stride)
{
    const int64_t lines = (g->width + LINE - 1) / LINE;
    *stride = tile < lines ? g->dy_stride : g->from_stride;
    if (tile < lines)
        return g->dy + g->dy_ahead + tile * LINE;
    return g->from[0] + g->at + g->from_ahead + (tile - lines) * LINE;
}

VEC_INLINE void gradient_tile(const indirect_gradient *g, int64_t k, int rows, int vecs)
{
    vec sum[ROWS_MOST][VECS_MOST];
    clear(sum, rows, vecs);
    int64_t stride;
    const float *dy = g->dy, *ahead = gradient_ahead(g, k / rows, &stride);
    for (int64_t i = 0; i < g->rows; i++, dy += g->dy_stride, ahead += stride) {
        if (PREFETCHES)
            VEC_PREFETCH(ahead);
        const float *a = g->from[i] + g->at + k;
        vec right[VECS_MOST];
        load_row(dy, vecs, right);
        UNROLL(12)
        for (int r = 0; r < rows; r++)
            add_product(vec_all(a[r]), right, vecs, sum[r]);
    }
    float *to = g->dw + k * g->dw_stride;
    UNROLL(12)
    for (int r = 0; r < rows; r++, to += g->dw_stride) {
        UNROLL(4)
        for (int v = 0; v < vecs; v++) {
            const int64_t count = columns_of(v, vecs, g->columns);
            float *at = to + v * VEC_FLOATS;
            vec_store_count(at, g->add ? sum[r][v] + vec_load_count(at, count) : sum[r][v], count);
        }
    }
}

/* A function for each height and width: rows and vectors are constants in it. */
#define PRODUCT_TILE(rows, vecs)                                                \
    static void product_##rows##x##vecs(const indirect_product *p, int64_t row) \
    {                                                                           \
        product_tile(p, row, rows, vecs);                                       \
    }
#define GRADIENT_TILE(rows, vecs)                                               \
    static void gradient_##rows##x##vecs(const indirect_gradient *g, int64_t k) \
    {                                                                           \
        gradient_tile(g, k, rows, vecs);                                        \
    }
#define PRODUCT_TILES(vecs, a, b, c, d) \
    PRODUCT_TILE(a, vecs) PRODUCT_TILE(b, vecs) PRODUCT_TILE(c, vecs) PRODUCT_TILE(d, vecs)
#define GRADIENT_TILES(vecs, a, b, c, d) \
    GRADIENT_TILE(a, vecs) GRADIENT_TILE(b, vecs) GRADIENT_TILE(c, vecs) GRADIENT_TILE(d, vecs)
PRODUCT_WIDTHS(PRODUCT_TILES)
GRADIENT_WIDTHS(GRADIENT_TILES)

typedef struct product_set {
    int64_t height[HEIGHTS];
    void (*run[HEIGHTS])(const indirect_product *p, int64_t row);
} product_set;
typedef struct gradient_set {
    int64_t height[HEIGHTS];
    void (*run[HEIGHTS])(const indirect_gradient *g, int64_t k);
} gradient_set;
#define SET(name, vecs, a, b, c, d) \
    {{a, b, c, d},                  \
     {name##_##a##x##vecs, name##_##b##x##vecs, name##_##c##x##vecs, name##_##d##x##vecs}},
#define PRODUCT_SET(vecs, a, b, c, d) SET(product, vecs, a, b, c, d)
#define GRADIENT_SET(vecs, a, b, c, d) SET(gradient, vecs, a, b, c, d)
static const product_set products[VECS_MOST] = {PRODUCT_WIDTHS(PRODUCT_SET)};
static const gradient_set gradients[VECS_MOST] = {GRADIENT_WIDTHS(GRADIENT_SET)};

static void product(const indirect_product *p)
{
    const product_set *set = &products[p->width / VEC_FLOATS - 1];
    int64_t row = 0;
    for (int i = 0; i < HEIGHTS; i++)
        for (; p->rows - row >= set->height[i]; row += set->height[i])
            set->run[i](p, row);
}

static void gradient(const indirect_gradient *g)
{
    const gradient_set *set = &gradients[g->width / VEC_FLOATS - 1];
    int64_t k = 0;
    for (int i = 0; i < HEIGHTS; i++)
        for (; g->depth - k >= set->height[i]; k += set->height[i])
            set->run[i](g, k);
}

static void pack_transposed(const float *from, int64_t stride, int64_t rows, int64_t columns,
                            int64_t width, float *to)
{
    for (int64_t c = 0; c < columns; c += VEC_FLOATS)
        for (int64_t r = 0; r < rows; r += VEC_FLOATS) {
            vec v[VEC_FLOATS];
            const int64_t some = rows - r < VEC_FLOATS ? rows - r : VEC_FLOATS;
            UNROLL(16)
            for (int i = 0; i < VEC_FLOATS; i++)
                v[i] =
                    c + i < columns ? vec_load_count(from + (c + i) * stride + r, some) : (vec){0};
            vec_transpose(v);
            for (int64_t i = 0; i < some; i++)
                vec_store(to + (r + i) * width + c, v[i]);
        }
}

static void pack(const float *from, int64_t stride, bool transposed, int64_t rows, int64_t columns,
                 int64_t width, float *to)
{
    if (transposed) {
        pack_transposed(from, stride, rows, columns, width, to);
        return;
    }
    for (int64_t i = 0; i < rows; i++, from += stride, to += width)
        for (int64_t c = 0; c < columns; c += VEC_FLOATS) {
            const int64_t left = columns - c;
            vec_store(to + c, vec_load_count(from + c, left < VEC_FLOATS ? left : VEC_FLOATS));
        }
}

static void add_rows(const float *from, int64_t stride, int64_t rows, int64_t columns, float *sums)
{
    for (int64_t c = 0; c < columns; c += VEC_FLOATS) {
        const int64_t count = columns - c < VEC_FLOATS ? columns - c : VEC_FLOATS;
        vec sum = {0};
        for (int64_t i = 0; i < rows; i++)
            sum += vec_load_count(from + i * stride + c, count);
        vec_store_count(sums + c, vec_load_count(sums + c, count) + sum, count);
    }
}

static float dot(const float *a, const float *b, int64_t count)
{
    vec sums = {0};
    float sum = 0;
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        sums += vec_load(a + i) * vec_load(b + i);
    if (i < count)
        sums += vec_load_first(a + i, count - i) * vec_load_first(b + i, count - i);
    for (int v = 0; v < VEC_FLOATS; v++)
        sum += sums[v];
    return sum;
}

const indirect_kernels ISA(cpu_indirect) = {.vector = VEC_FLOATS,
                                            .panel_most = VECS_MOST * VEC_FLOATS,
                                            .product = product,
                                            .gradient = gradient,
                                            .pack = pack,
                                            .add_rows = add_rows,
                                            .dot = dot};

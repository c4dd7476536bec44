/* C = A B and C += A' B for matrices in cache. A tile of C, R rows by V vectors, stays in registers
   over the whole depth: 6 x 4 vectors where there are 32 registers (24 sums, 4 of B, 1 to 3 of A),
   6 x 2 where there are 16; narrower panels take more rows. Rows that are left over take tiles of a
   third or two thirds of R, then single rows.
   Measured on Cascade Lake, as a fraction of register-only FMA, in the first-level cache: A B 0.94
   for depth and columns of 64, 0.86 for 32; A' B of depth 48 added to C 0.87. */
#include "device/cpu/winograd/small_gemm_kernels.h"
#include "device/cpu/vec.h"

enum { LINE_FLOATS = 16 };

#if VEC_COUNT == 32
#define PANEL_VECS 4
#else
#define PANEL_VECS 2
#endif

typedef struct tile {
    const float *a, *b;
    int64_t a_stride, b_stride, depth;
    const float *prefetch_l1, *prefetch_l2; /* with each k one line of each is prefetched */
    float *c;
    int64_t c_stride;
} tile;

typedef void tile_function(const tile *t);

/* The lines that a tile of this depth prefetches; when none are left, those of b again. */
static inline const float *next_lines(small_gemm_lines *l, int64_t depth, const float *b)
{
    if (l->count <= 0)
        return b;
    const float *from = l->from;
    l->from += depth * LINE_FLOATS;
    l->count -= depth;
    return from;
}

/* Element (row, k) of A is at a[row * a_stride + k], transposed at a[row + k * a_stride]. */
VEC_INLINE void run(int rows, int vecs, bool transposed, bool add, const tile *t)
{
    vec sum[12][4];
    const int64_t a_row = transposed ? 1 : t->a_stride, a_step = transposed ? t->a_stride : 1;
    const int64_t depth = t->depth, b_stride = t->b_stride, c_stride = t->c_stride;
    const float *a = t->a, *b = t->b, *l1 = t->prefetch_l1, *l2 = t->prefetch_l2;
    float *c = t->c;
    /* The lower half of many rows has a pointer of its own, and the compiler must not know that it
       is a multiple of a_row away: twelve multiples need more registers than exist. */
    const int upper = rows > 6 && !transposed ? rows / 2 : rows;
    const float *lower = a + upper * a_row;
    __asm__("" : "+r"(lower));
    UNROLL(12)
    for (int r = 0; r < rows; r++) {
        UNROLL(4)
        for (int v = 0; v < vecs; v++) {
            sum[r][v] = (vec){0};
            if (add) /* it is added at the end, so that the products need not wait for the load */
                __builtin_prefetch(c + r * c_stride + v * VEC_FLOATS, 1, 3);
        }
    }
    for (int64_t k = 0; k < depth; k++) {
        vec right[4];
        UNROLL(4)
        for (int v = 0; v < vecs; v++)
            right[v] = vec_load(b + v * VEC_FLOATS);
        UNROLL(12)
        for (int r = 0; r < rows; r++) {
            vec left = vec_all(r < upper ? a[r * a_row] : lower[(r - upper) * a_row]);
            UNROLL(4)
            for (int v = 0; v < vecs; v++)
                sum[r][v] += left * right[v];
        }
        __builtin_prefetch(l1, 0, 3);
        __builtin_prefetch(l2, 0, 2);
        l1 += LINE_FLOATS;
        l2 += LINE_FLOATS;
        a += a_step;
        lower += a_step;
        b += b_stride;
    }
    UNROLL(12)
    for (int r = 0; r < rows; r++, c += c_stride) {
        UNROLL(4)
        for (int v = 0; v < vecs; v++) {
            float *to = c + v * VEC_FLOATS;
            vec_store(to, add ? vec_load(to) + sum[r][v] : sum[r][v]);
        }
    }
}

/* A function for each shape: in a single function too few registers are left for all addresses. */
#define TILE(rows, vecs)                                  \
    static void tile_##rows##x##vecs(const tile *t)       \
    {                                                     \
        run(rows, vecs, false, false, t);                 \
    }                                                     \
    static void transposed_##rows##x##vecs(const tile *t) \
    {                                                     \
        run(rows, vecs, true, false, t);                  \
    }                                                     \
    static void added_##rows##x##vecs(const tile *t)      \
    {                                                     \
        run(rows, vecs, true, true, t);                   \
    }

/* Widths of panels in vectors, and the heights of their tiles. */
#if PANEL_VECS == 4
#define WIDTHS(X) X(1, 12, 8, 4) X(2, 12, 8, 4) X(3, 6, 4, 2) X(4, 6, 4, 2)
#else
#define WIDTHS(X) X(1, 12, 8, 4) X(2, 6, 4, 2)
#endif

#define TILES(vecs, most, two_thirds, third) \
    TILE(most, vecs) TILE(two_thirds, vecs) TILE(third, vecs) TILE(1, vecs)
WIDTHS(TILES)

/* Tile heights and functions of a width: for A B, for A' B, for A' B added to C. */
typedef struct tile_set {
    int heights[4];
    tile_function *run[3][4];
} tile_set;
#define FUNCTIONS(name, vecs, most, two_thirds, third)                                 \
    {                                                                                  \
        name##_##most##x##vecs, name##_##two_thirds##x##vecs, name##_##third##x##vecs, \
            name##_1x##vecs                                                            \
    }
#define SET(vecs, most, two_thirds, third)                  \
    {{most, two_thirds, third, 1},                          \
     {FUNCTIONS(tile, vecs, most, two_thirds, third),       \
      FUNCTIONS(transposed, vecs, most, two_thirds, third), \
      FUNCTIONS(added, vecs, most, two_thirds, third)}},
static const tile_set sets[PANEL_VECS] = {WIDTHS(SET)};

enum { PLAIN, TRANSPOSED, ADDED };

static void all_panels(const small_gemm *product, int kind)
{
    small_gemm rest = *product, *g = &rest; /* with the lines that are not yet prefetched */
    const int64_t a_row = kind == PLAIN ? g->a_stride : 1;
    tile t = {.a_stride = g->a_stride,
              .b_stride = g->b_stride,
              .depth = g->depth,
              .b = g->b,
              .c_stride = g->c_stride};
    for (int64_t n = 0; n < g->columns; n += PANEL_VECS * VEC_FLOATS) {
        int64_t vecs = (g->columns - n) / VEC_FLOATS, left = g->rows;
        const tile_set *set = &sets[(vecs < PANEL_VECS ? vecs : PANEL_VECS) - 1];
        t.a = g->a;
        t.c = g->c + n;
        for (int i = 0; i < 4; i++)
            for (int64_t height = set->heights[i]; left >= height; left -= height) {
                t.prefetch_l1 =
                    next_lines(&g->prefetch_l1[g->prefetch_l1[0].count <= 0], g->depth, t.b);
                t.prefetch_l2 =
                    next_lines(&g->prefetch_l2[g->prefetch_l2[0].count <= 0], g->depth, t.b);
                set->run[kind][i](&t);
                t.a += height * a_row;
                t.c += height * g->c_stride;
            }
        t.b += PANEL_VECS * VEC_FLOATS;
    }
}

static void multiply(const small_gemm *g)
{
    all_panels(g, PLAIN);
}

static void multiply_transposed(const small_gemm *g, bool add)
{
    all_panels(g, add ? ADDED : TRANSPOSED);
}

const small_gemm_kernels ISA(cpu_small_gemm) = {multiply, multiply_transposed};

/* Microkernels of elementwise operations and of dropout. */
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/cpu/elementwise/vec_rules.h"
#include "model/kinds.h"

/* ---- elements ---------------------------------------------------------------------------- */

/* Elementwise operations, VEC_FLOATS at once, each from one formula on vectors. All are
   memory-bound except the exponentials, which take, in cache on one thread of a Cascade Lake core
   at 2.4 GHz, 0.5 (elu) to 0.7 ns per element (tanh). */

typedef vec formula(vec x, vec alpha);
typedef vec formula_back(vec v, vec dy, vec alpha);

VEC_INLINE void map(formula *f, const float *x, float *y, int64_t count, float alpha_)
{
    vec alpha = vec_all(alpha_);
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(y + i, f(vec_load(x + i), alpha));
    if (i < count)
        vec_store_first(y + i, f(vec_load_first(x + i, count - i), alpha), count - i);
}

VEC_INLINE void map_back(formula_back *f, const float *from, const float *dy, float *dx,
                         int64_t count, float alpha_)
{
    vec alpha = vec_all(alpha_);
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(dx + i, f(vec_load(from + i), vec_load(dy + i), alpha));
    if (i < count) {
        vec last = f(vec_load_first(from + i, count - i), vec_load_first(dy + i, count - i), alpha);
        vec_store_first(dx + i, last, count - i);
    }
}

/* ---- activations ------------------------------------------------------------------------ */

/* RELU_forward() and RELU_back() from activate_relu() and activate_relu_back(), and so on. */
#define ACTIVATION(id, name, other_name, rule, ...)                                     \
    static void id##_forward(const float *x, float *y, int64_t count, float alpha)      \
    {                                                                                   \
        map(activate_##rule, x, y, count, alpha);                                       \
    }                                                                                   \
    static void id##_back(const float *from, const float *dy, float *dx, int64_t count, \
                          float alpha)                                                  \
    {                                                                                   \
        map_back(activate_##rule##_back, from, dy, dx, count, alpha);                   \
    }
#include "model/activations.def"

static element_forward *const forward[ACTIVATION_COUNT] = {
#define ACTIVATION(id, ...) [ACTIVATION_##id] = id##_forward,
#include "model/activations.def"
};
static element_backward *const back[ACTIVATION_COUNT] = {
#define ACTIVATION(id, ...) [ACTIVATION_##id] = id##_back,
#include "model/activations.def"
};

/* ---- operations of two tensors ---------------------------------------------------------- */

#include "device/rules/binary.h"

typedef vec pair(vec a, vec b);
typedef vec pair_back(vec a, vec b, vec dy);

VEC_INLINE void map_pair(pair *f, const float *a, int64_t a_step, const float *b, int64_t b_step,
                         float *y, int64_t count)
{
    const vec one_a = vec_all(*a), one_b = vec_all(*b);
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(y + i, f(a_step ? vec_load(a + i) : one_a, b_step ? vec_load(b + i) : one_b));
    if (i < count) {
        const int64_t left = count - i;
        vec_store_first(y + i,
                        f(a_step ? vec_load_first(a + i, left) : one_a,
                          b_step ? vec_load_first(b + i, left) : one_b),
                        left);
    }
}

VEC_INLINE void map_pair_back(pair_back *f, const float *a, int64_t a_step, const float *b,
                              int64_t b_step, const float *dy, float *dx, int64_t count)
{
    const vec one_a = vec_all(*a), one_b = vec_all(*b);
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(dx + i, f(a_step ? vec_load(a + i) : one_a, b_step ? vec_load(b + i) : one_b,
                            vec_load(dy + i)));
    if (i < count) {
        const int64_t left = count - i;
        vec_store_first(dx + i,
                        f(a_step ? vec_load_first(a + i, left) : one_a,
                          b_step ? vec_load_first(b + i, left) : one_b,
                          vec_load_first(dy + i, left)),
                        left);
    }
}

#define BINARY(id, name, rule, ...)                                                               \
    static void id##_of(const float *a, int64_t a_step, const float *b, int64_t b_step, float *y, \
                        int64_t count)                                                            \
    {                                                                                             \
        map_pair(binary_##rule, a, a_step, b, b_step, y, count);                                  \
    }                                                                                             \
    static void id##_da(const float *a, int64_t a_step, const float *b, int64_t b_step,           \
                        const float *dy, float *dx, int64_t count)                                \
    {                                                                                             \
        map_pair_back(binary_##rule##_da, a, a_step, b, b_step, dy, dx, count);                   \
    }                                                                                             \
    static void id##_db(const float *a, int64_t a_step, const float *b, int64_t b_step,           \
                        const float *dy, float *dx, int64_t count)                                \
    {                                                                                             \
        map_pair_back(binary_##rule##_db, a, a_step, b, b_step, dy, dx, count);                   \
    }
#include "model/binaries.def"

static element_binary *const binary[BINARY_COUNT] = {
#define BINARY(id, ...) [BINARY_##id] = id##_of,
#include "model/binaries.def"
};
static element_binary_back *const binary_back[BINARY_COUNT][2] = {
#define BINARY(id, ...) [BINARY_##id] = {id##_da, id##_db},
#include "model/binaries.def"
};

/* ---- others ----------------------------------------------------------------------------- */

static void scale(const float *x, float *y, int64_t count, float factor, float offset)
{
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(y + i, vec_load(x + i) * factor + offset);
    for (; i < count; i++)
        y[i] = x[i] * factor + offset;
}

static void add(const float *x, float *sum, int64_t count)
{
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(sum + i, vec_load(sum + i) + vec_load(x + i));
    for (; i < count; i++)
        sum[i] += x[i];
}

/* LANES separate sums: the additions of one do not wait for those of another. */
static double square_sum(const float *x, int64_t count)
{
    enum { LANES = 2 * VEC_FLOATS };
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

const element_kernels ISA(cpu_element_kernels) = {
    .activate = forward,
    .activate_back = back,
    .binary = binary,
    .binary_back = binary_back,
    .scale = scale,
    .add = add,
    .square_sum = square_sum,
};

/* ---- dropout ----------------------------------------------------------------------------- */

/* Dropout: Philox 4x32-10, the same bits as base/philox.h, VEC_FLOATS / 2 counters at once. Each of
   a counter's four words occupies 64 bits, of which the upper half is ignored: so a round is two
   multiplications of 32 by 32 bits, two moves and two exclusive ors; only the end pairs the words
   up. BLOCKS such vectors are interleaved, because one round's multiplication waits for that of the
   previous round.

   Measured on one thread of a Cascade Lake core, in cache: 0.55 ns an element, of which the ports
   that multiply, move and combine 64-byte vectors account for 0.49. */

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

typedef uint64_t words __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t bits __attribute__((vector_size(VEC_BYTES)));

enum { COUNTERS = VEC_FLOATS / 2, BLOCKS = VEC_COUNT / 8, ROUNDS = 10 };

/* The product of the lower halves. */
VEC_INLINE words multiply(words a, words b)
{
#if defined(__AVX512F__)
    return (words)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (words)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    return (words)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/* The upper half in place of the lower one: a shuffle, because shifts would use the same port as
   the multiplications. */
VEC_INLINE words upper(words a)
{
#if defined(__AVX512F__)
    return (words)_mm512_shuffle_epi32((__m512i)a, (_MM_PERM_ENUM)0xf5);
#elif defined(__AVX2__)
    return (words)_mm256_shuffle_epi32((__m256i)a, 0xf5);
#elif defined(__SSE2__)
    return (words)_mm_shuffle_epi32((__m128i)a, 0xf5);
#else
    return a >> 32;
#endif
}

VEC_INLINE words all(uint64_t x)
{
    return x - (words){0};
}

/* The counter of each lane: 0, 4, 1, 5, 2, 6, 3, 7. The first half is in the even lanes, which one
   instruction pairs up. */
VEC_INLINE words lanes(void)
{
    words w;
    for (int i = 0; i < COUNTERS; i++)
        w[i] = (uint64_t)(i / 2 + i % 2 * (COUNTERS / 2));
    return w;
}

/* 64-bit lanes 0, 2, 4, ... (1, 3, 5, ... with `odd`) of a and b alternately. */
VEC_INLINE words pair_up(words a, words b, int odd)
{
#if defined(__AVX512F__)
    return odd ? (words)_mm512_unpackhi_epi64((__m512i)a, (__m512i)b)
               : (words)_mm512_unpacklo_epi64((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return odd ? (words)_mm256_unpackhi_epi64((__m256i)a, (__m256i)b)
               : (words)_mm256_unpacklo_epi64((__m256i)a, (__m256i)b);
#else
    words w;
    for (int i = 0; i < COUNTERS; i += 2) {
        w[i] = a[i + odd];
        w[i + 1] = b[i + odd];
    }
    return w;
#endif
}

typedef struct philox_state {
    words c[4];
} philox_state;

VEC_INLINE void round_once(philox_state *s, words k0, words k1)
{
    words p0 = multiply(s->c[0], all(0xD2511F53u)), p1 = multiply(s->c[2], all(0xCD9E8D57u));
    s->c[0] = upper(p1) ^ s->c[1] ^ k0;
    s->c[2] = upper(p0) ^ s->c[3] ^ k1;
    s->c[1] = p1;
    s->c[3] = p0;
}

/* The lower halves of a and b side by side. */
VEC_INLINE words halves(words a, words b)
{
    return (a & 0xffffffffu) | b << 32;
}

/* y for the VEC_FLOATS elements from `at` on, or for fewer at the end. */
VEC_INLINE void drop_vector(const dropout_range *d, words random, int64_t at)
{
    vec_mask kept = (vec_mask)((bits)random >= d->least - (bits){0});
    int64_t left = d->count - at;
    if (left >= VEC_FLOATS)
        vec_store(d->y + at, (vec)(kept & (vec_mask)(vec_load(d->x + at) * d->scale)));
    else if (left > 0)
        vec_store_first(d->y + at,
                        (vec)(kept & (vec_mask)(vec_load_first(d->x + at, left) * d->scale)), left);
}

static void drop(const dropout_range *range)
{
    const dropout_range d = *range;
    const words counter = lanes();
    for (int64_t at = 0; at < d.count; at += BLOCKS * 2 * VEC_FLOATS) {
        philox_state s[BLOCKS];
        uint32_t k0 = (uint32_t)d.key, k1 = (uint32_t)(d.key >> 32);
        UNROLL(4)
        for (int b = 0; b < BLOCKS; b++) {
            words number = counter + (d.first + (uint64_t)at / 4 + (uint64_t)(b * COUNTERS));
            s[b] = (philox_state){{number, number >> 32, all(d.iteration), all(d.iteration >> 32)}};
        }
        UNROLL(10)
        for (int round = 0; round < ROUNDS; round++) {
            UNROLL(4)
            for (int b = 0; b < BLOCKS; b++)
                round_once(&s[b], all(k0), all(k1));
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        UNROLL(4)
        for (int b = 0; b < BLOCKS; b++) {
            words low = halves(s[b].c[0], s[b].c[1]), high = halves(s[b].c[2], s[b].c[3]);
            int64_t here = at + b * 2 * VEC_FLOATS;
            drop_vector(&d, pair_up(low, high, 0), here);
            drop_vector(&d, pair_up(low, high, 1), here + VEC_FLOATS);
        }
    }
}

const dropout_kernels ISA(cpu_dropout_kernels) = {.drop = drop};

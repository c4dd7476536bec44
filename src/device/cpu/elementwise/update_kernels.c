/* One loop per configuration, a vector at a time. All loads precede all stores: w and its slots
   often lie a multiple of 4096 bytes apart, and a load that follows a store to such an address
   waits for it. In the first-level cache Adam takes 16 cycles a vector with AVX-512 on Cascade Lake
   (11 of them the square root; 22 with a division), sgd 2.5; from memory, it is memory-bound. */
#include "device/cpu/elementwise/update_kernels.h"
#include "device/cpu/vec.h"
#include "model/compile.h"
#include <math.h>
#include <string.h>

/* a / b for b >= 0. With AVX-512 from an approximate reciprocal and one Newton step, to about 1
   unit in the last place: the divider is as slow as the square root, and both share one unit. */
VEC_INLINE vec quotient(vec a, vec b)
{
#if defined(__AVX512F__)
    /* An infinite divisor would make the step NaN; a NaN stays, as the second operand. */
    vec divisor = (vec)_mm512_min_ps((__m512)vec_all(1e38f), (__m512)b);
    vec reciprocal = (vec)_mm512_rcp14_ps((__m512)divisor), q = a * reciprocal;
    return q + (a - q * divisor) * reciprocal;
#else
    return a / b;
#endif
}

/* Seldom: only Ftrl with an unusual power. */
VEC_INLINE vec power(vec a, float b)
{
    for (int i = 0; i < VEC_FLOATS; i++)
        a[i] = powf(a[i], b);
    return a;
}

#define RULE VEC_INLINE
typedef vec rule_real;
#define rule_all(a) vec_all(a)
#define rule_product(a, b) ((a) * (b))
#define rule_quotient(a, b) quotient(a, b)
#define rule_sqrt(a) vec_sqrt(a)
#define rule_pow(a, b) power(a, b)
#define rule_select(mask, a, b) vec_select(mask, a, b)
#include "device/rules/optimizers.h"

#define SLOTS OPTIMIZER_SLOTS_MAX

/* The memory that one step reads and writes. */
typedef struct element {
    vec w, g, slot[SLOTS];
} element;

typedef void rule(const optimizer_constants *c, int form, vec *w, vec g, vec *slot);

/* What happens before the rule, in a loop of its own: nothing, clipping and decay, or the weight's
   penalty first. */
enum { PLAIN, CLIPPED, PENALIZED };

/* The vector from element i on; bit n of `form`: slot n exists. */
VEC_INLINE void step(rule *apply, int form, int before, const optimizer_constants *c,
                     const float *g, float *w, float *const slot[], int64_t i)
{
    element e = {.g = vec_load(g + i), .w = vec_load(w + i)};
    UNROLL(3)
    for (int s = 0; s < SLOTS; s++)
        if (form >> s & 1)
            e.slot[s] = vec_load(slot[s] + i);
    if (before == PENALIZED)
        e.g = rule_penalized(c->penalty_l1, c->penalty_l2, e.w, e.g);
    if (before != PLAIN)
        rule_clip_and_decay(c, &e.w, &e.g);
    apply(c, form, &e.w, e.g, e.slot);
    UNROLL(3)
    for (int s = 0; s < SLOTS; s++)
        if (form >> s & 1)
            vec_store(slot[s] + i, e.slot[s]);
    vec_store(w + i, e.w);
}

/* Whole vectors: `count` is a multiple of theirs. */
VEC_INLINE void range(rule *apply, int form, int before, const optimizer_constants *constants,
                      const float *g, float *w, float *const slots_[], int64_t count)
{
    const optimizer_constants c = *constants; /* a copy: no store can change it */
    float *const slot[SLOTS] = {form & 1 ? slots_[0] : NULL, form & 2 ? slots_[1] : NULL,
                                form & 4 ? slots_[2] : NULL};
    for (int64_t i = 0; i < count; i += VEC_FLOATS)
        step(apply, form, before, &c, g, w, slot, i);
}

/* The last elements, fewer than a vector, as a vector of copies: with loads and stores of some
   elements in each of its loops, this file would take twice as long to compile. */
static void update_last(update_range *vectors, const optimizer_constants *c, const float *g,
                        float *w, float *const slot[], int64_t first, int64_t count)
{
    float of_g[VEC_FLOATS] = {0}, of_w[VEC_FLOATS] = {0}, of_slot[SLOTS][VEC_FLOATS] = {0};
    float *const copies[SLOTS] = {of_slot[0], of_slot[1], of_slot[2]};
    const size_t bytes = (size_t)count * sizeof *w;
    memcpy(of_g, g + first, bytes);
    memcpy(of_w, w + first, bytes);
    for (int s = 0; s < SLOTS; s++)
        if (slot[s])
            memcpy(of_slot[s], slot[s] + first, bytes);
    vectors(c, of_g, of_w, copies, VEC_FLOATS);
    memcpy(w + first, of_w, bytes);
    for (int s = 0; s < SLOTS; s++)
        if (slot[s])
            memcpy(slot[s] + first, of_slot[s], bytes);
}

enum { ANY = UPDATE_FORM_ANY };

/* A function for each form of each optimizer and one for any form. */
#define FORM(id, name, form_)                                                        \
    static void id##_##form_(const optimizer_constants *c, const float *g, float *w, \
                             float *const slot[], int64_t count)                     \
    {                                                                                \
        const int form = form_ == ANY ? c->form : form_;                             \
        const int64_t whole = count / VEC_FLOATS * VEC_FLOATS;                       \
        if (c->plain)                                                                \
            range(rule_##name, form, PLAIN, c, g, w, slot, whole);                   \
        else if (c->penalized)                                                       \
            range(rule_##name, form, PENALIZED, c, g, w, slot, whole);               \
        else                                                                         \
            range(rule_##name, form, CLIPPED, c, g, w, slot, whole);                 \
        if (whole < count)                                                           \
            update_last(id##_##form_, c, g, w, slot, whole, count - whole);          \
    }
#define FORMS(id, rule) RULE_FORMS_##rule(FORM, id) FORM(id, rule, ANY)
#define OPTIMIZER(id, class_name, name, rule, ...) FORMS(id, rule)
#include "model/optimizers.def"
#undef FORM

static const update_kernel list[] = {
#define FORM(id, name, form) {OPTIMIZER_##id, form, id##_##form},
#define OPTIMIZER(id, class_name, name, rule, ...) FORMS(id, rule)
#include "model/optimizers.def"
};

/* ---- penalties ---------------------------------------------------------------------------- */

/* A vector's lanes are summed apart: the additions of one do not wait for those of another. */

typedef vec summand(vec w, vec g, float l1, float l2);

VEC_INLINE vec penalty_of(vec w, vec g, float l1, float l2)
{
    (void)g;
    return rule_product(vec_abs(w), l1) + rule_product(rule_product(w, w), l2);
}

VEC_INLINE vec square_of(vec w, vec g, float l1, float l2)
{
    vec slope = rule_penalized(l1, l2, w, g);
    return rule_product(slope, slope);
}

VEC_INLINE double sum_of(summand *f, const float *w, const float *g, int64_t count, float l1,
                         float l2)
{
    double lane[VEC_FLOATS] = {0}, sum = 0;
    for (int64_t i = 0; i < count; i += VEC_FLOATS) {
        const int64_t left = count - i;
        const bool whole = left >= VEC_FLOATS;
        vec v = f(whole ? vec_load(w + i) : vec_load_first(w + i, left),
                  whole ? vec_load(g + i) : vec_load_first(g + i, left), l1, l2);
        for (int l = 0; l < VEC_FLOATS; l++) /* behind the last elements w and g are 0 */
            lane[l] += (double)v[l];
    }
    for (int l = 0; l < VEC_FLOATS; l++)
        sum += lane[l];
    return sum;
}

static double penalty(const float *w, int64_t count, float l1, float l2)
{
    return sum_of(penalty_of, w, w, count, l1, l2);
}

static double penalized_squares(const float *g, const float *w, int64_t count, float l1, float l2)
{
    return sum_of(square_of, w, g, count, l1, l2);
}

const update_kernels ISA(cpu_update_kernels) = {
    .list = list, .penalty = penalty, .penalized_squares = penalized_squares};

/* One loop a configuration, a vector at a time. Everything is loaded before anything is stored:
   w and its slots often lie a multiple of 4096 bytes apart, and a load that follows a store to such
   an address waits for it. In the first-level cache Adam takes 16 cycles a vector with AVX-512 on
   Cascade Lake (11 of them the square root; 22 with a division), sgd 2.5; from memory, memory is
   the limit. */
#include "device/cpu/kernels/update.h"
#include "device/cpu/kernels/vec.h"

#define SLOTS 3

/* What one step reads and writes. */
typedef struct element {
    vec w, g, slot[SLOTS];
} element;

typedef void rule(const update_constants *c, element *e);

VEC_INLINE void prepare(const update_constants *c, element *e)
{
    vec most = vec_all(c->clip_value);
    e->g *= vec_all(c->gradient_scale);
    e->g = vec_select(e->g > most, most, e->g);
    e->g = vec_select(e->g < -most, -most, e->g);
    e->w -= e->w * vec_all(c->weight_decay) * vec_all(c->learning_rate);
}

/* a / b for b >= 0. With AVX-512 from an approximate reciprocal and one step of Newton's, to about
   1 unit in the last place: the divider is as slow as the square root, and both wait for it. */
VEC_INLINE vec quotient(vec a, vec b)
{
#if defined(__AVX512F__)
    /* Infinity would make a NaN of the step; a NaN stays, as the second operand. */
    vec divisor = (vec)_mm512_min_ps((__m512)vec_all(1e38f), (__m512)b);
    vec reciprocal = (vec)_mm512_rcp14_ps((__m512)divisor), q = a * reciprocal;
    return q + (a - q * divisor) * reciprocal;
#else
    return a / b;
#endif
}

VEC_INLINE void sgd_plain(const update_constants *c, element *e)
{
    e->w -= e->g * vec_all(c->learning_rate);
}

VEC_INLINE void sgd_momentum(const update_constants *c, element *e)
{
    e->slot[0] = e->slot[0] * vec_all(c->momentum) - e->g * vec_all(c->learning_rate);
    e->w += e->slot[0];
}

VEC_INLINE void sgd_nesterov(const update_constants *c, element *e)
{
    vec momentum = vec_all(c->momentum), step = e->g * vec_all(c->learning_rate);
    e->slot[0] = e->slot[0] * momentum - step;
    e->w += e->slot[0] * momentum - step;
}

VEC_INLINE void adam_moments(const update_constants *c, element *e)
{
    e->slot[0] += (e->g - e->slot[0]) * vec_all(c->rate_1);
    e->slot[1] += (e->g * e->g - e->slot[1]) * vec_all(c->rate_2);
}

VEC_INLINE void adam_step(const update_constants *c, element *e, vec v)
{
    e->w -= quotient(e->slot[0] * vec_all(c->alpha), vec_sqrt(v) + vec_all(c->epsilon));
}

VEC_INLINE void adam_plain(const update_constants *c, element *e)
{
    adam_moments(c, e);
    adam_step(c, e, e->slot[1]);
}

VEC_INLINE void adam_amsgrad(const update_constants *c, element *e)
{
    adam_moments(c, e);
    e->slot[2] = vec_select(e->slot[2] > e->slot[1], e->slot[2], e->slot[1]);
    adam_step(c, e, e->slot[2]);
}

VEC_INLINE void rmsprop(const update_constants *c, element *e, bool momentum, bool centered)
{
    vec rho = vec_all(c->rho), rest = vec_all(1 - c->rho), v;
    v = e->slot[0] = rho * e->slot[0] + rest * (e->g * e->g);
    if (centered) {
        e->slot[2] = rho * e->slot[2] + rest * e->g;
        v -= e->slot[2] * e->slot[2];
    }
    vec step = quotient(vec_all(c->learning_rate) * e->g, vec_sqrt(v + vec_all(c->epsilon)));
    if (momentum)
        e->slot[1] = step = vec_all(c->momentum) * e->slot[1] + step;
    e->w -= step;
}

VEC_INLINE void rmsprop_plain(const update_constants *c, element *e)
{
    rmsprop(c, e, false, false);
}

VEC_INLINE void rmsprop_momentum(const update_constants *c, element *e)
{
    rmsprop(c, e, true, false);
}

VEC_INLINE void rmsprop_centered(const update_constants *c, element *e)
{
    rmsprop(c, e, false, true);
}

VEC_INLINE void rmsprop_centered_momentum(const update_constants *c, element *e)
{
    rmsprop(c, e, true, true);
}

/* `left` elements from i on; bit n of `slots`: the rule has slot n. */
VEC_INLINE void step(rule *apply, int slots, bool plain, const update_constants *c, const float *g,
                     float *w, float *const slot[], int64_t i, int64_t left)
{
    bool whole = left >= VEC_FLOATS;
    element e = {.g = whole ? vec_load(g + i) : vec_load_part(g + i, left),
                 .w = whole ? vec_load(w + i) : vec_load_part(w + i, left)};
#pragma GCC unroll 3
    for (int s = 0; s < SLOTS; s++)
        if (slots >> s & 1)
            e.slot[s] = whole ? vec_load(slot[s] + i) : vec_load_part(slot[s] + i, left);
    if (!plain)
        prepare(c, &e);
    apply(c, &e);
#pragma GCC unroll 3
    for (int s = 0; s < SLOTS; s++)
        if (slots >> s & 1) {
            if (whole)
                vec_store(slot[s] + i, e.slot[s]);
            else
                vec_store_part(slot[s] + i, e.slot[s], left);
        }
    if (whole)
        vec_store(w + i, e.w);
    else
        vec_store_part(w + i, e.w, left);
}

VEC_INLINE void range(rule *apply, int slots, bool plain, const update_constants *constants,
                      const float *g, float *w, float *const slots_[], int64_t count)
{
    const update_constants c = *constants; /* nothing that is stored changes it */
    float *const slot[SLOTS] = {slots & 1 ? slots_[0] : NULL, slots & 2 ? slots_[1] : NULL,
                                slots & 4 ? slots_[2] : NULL};
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        step(apply, slots, plain, &c, g, w, slot, i, VEC_FLOATS);
    if (i < count)
        step(apply, slots, plain, &c, g, w, slot, i, count - i);
}

#define RANGE(name, slots)                                                        \
    static void name##_range(const update_constants *c, const float *g, float *w, \
                             float *const slot[], int64_t count)                  \
    {                                                                             \
        if (c->plain)                                                             \
            range(name, slots, true, c, g, w, slot, count);                       \
        else                                                                      \
            range(name, slots, false, c, g, w, slot, count);                      \
    }
RANGE(sgd_plain, 0)
RANGE(sgd_momentum, 1)
RANGE(sgd_nesterov, 1)
RANGE(adam_plain, 3)
RANGE(adam_amsgrad, 7)
RANGE(rmsprop_plain, 1)
RANGE(rmsprop_momentum, 3)
RANGE(rmsprop_centered, 5)
RANGE(rmsprop_centered_momentum, 7)

static void sgd(const update_constants *c, const float *g, float *w, float *const slot[],
                int64_t count)
{
    (!slot[0]      ? sgd_plain_range
     : c->nesterov ? sgd_nesterov_range
                   : sgd_momentum_range)(c, g, w, slot, count);
}

static void adam(const update_constants *c, const float *g, float *w, float *const slot[],
                 int64_t count)
{
    (c->amsgrad && slot[2] ? adam_amsgrad_range : adam_plain_range)(c, g, w, slot, count);
}

static void rmsprop_any(const update_constants *c, const float *g, float *w, float *const slot[],
                        int64_t count)
{
    update_range *const ranges[2][2] = {{rmsprop_plain_range, rmsprop_momentum_range},
                                        {rmsprop_centered_range, rmsprop_centered_momentum_range}};
    ranges[slot[2] != NULL][slot[1] != NULL](c, g, w, slot, count);
}

const update_kernels ISA(cpu_update_rules) = {sgd, adam, rmsprop_any};

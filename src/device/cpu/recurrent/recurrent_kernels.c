/* A step of a recurrent layer's cell, VEC_FLOATS units at once by the rules of device/rules. */
#include "device/cpu/recurrent/recurrent_kernels.h"
#include "device/cpu/elementwise/vec_rules.h"
#include "model/kinds.h"

static __attribute__((noinline)) vec activate(int kind, vec alpha, vec x)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule(x, alpha);
#define ACTIVATION_ALONE(...)
#define ACTIVATION_OF_ROWS(...)
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    case ACTIVATION_HARD_SIGMOID:
        return activate_hard_sigmoid(x, alpha);
    }
    return vec_all(NAN);
}

static __attribute__((noinline)) vec activate_back(int kind, vec alpha, vec y, vec dy)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule##_back(y, dy, alpha);
#define ACTIVATION_ALONE(...)
#define ACTIVATION_OF_ROWS(...)
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    case ACTIVATION_HARD_SIGMOID:
        return activate_hard_sigmoid_back(y, dy, alpha);
    }
    return vec_all(NAN);
}

#define rule_activate(kind, alpha, x)                            \
    ((kind) == ACTIVATION_TANH      ? vec_tanh(x)                \
     : (kind) == ACTIVATION_SIGMOID ? activate_sigmoid(x, alpha) \
                                    : activate(kind, alpha, x))
#define rule_activate_back(kind, alpha, y, dy)                            \
    ((kind) == ACTIVATION_TANH      ? activate_tanh_back(y, dy, alpha)    \
     : (kind) == ACTIVATION_SIGMOID ? activate_sigmoid_back(y, dy, alpha) \
                                    : activate_back(kind, alpha, y, dy))
#include "device/rules/recurrent.h"

VEC_INLINE recurrent_functions functions_of(const recurrent_unit_rows *c)
{
    return (recurrent_functions){.act = (int)c->r->act.kind,
                                 .gate = (int)c->r->gate.kind,
                                 .act_alpha = vec_all(c->r->act.alpha),
                                 .gate_alpha = vec_all(c->r->gate.alpha)};
}

/* The `left` units from `p` on, and 0 of NULL. */
VEC_INLINE vec load(const float *p, int64_t at, int64_t left)
{
    if (!p)
        return vec_all(0);
    return left >= VEC_FLOATS ? vec_load(p + at) : vec_load_first(p + at, left);
}

VEC_INLINE void store(float *p, int64_t at, int64_t left, vec v)
{
    if (left >= VEC_FLOATS)
        vec_store(p + at, v);
    else
        vec_store_first(p + at, v, left);
}

#define EACH_VECTOR(i, left, n) \
    int64_t i = 0, left = (n);  \
    left > 0;                   \
    i += VEC_FLOATS, left -= VEC_FLOATS

static void simple_forward(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    for (EACH_VECTOR(i, left, c->units))
        store(c->h, i, left, recurrent_act(a, load(c->h, i, left)));
}

static void simple_backward(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    for (EACH_VECTOR(i, left, c->units)) {
        const vec dh = load(c->dh, i, left) + load(c->carry, i, left);
        store(c->dz, i, left, recurrent_act_back(a, load(c->h, i, left), dh));
        store(c->carry, i, left, vec_all(0));
    }
}

static void lstm_forward(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        vec h;
        lstm_cell s = {.i = load(c->kept, i, left),
                       .f = load(c->kept, n + i, left),
                       .g = load(c->kept, 2 * n + i, left),
                       .o = load(c->kept, 3 * n + i, left)};
        s = lstm_next(a, s, load(c->c_before, i, left), &h);
        store(c->kept, i, left, s.i);
        store(c->kept, n + i, left, s.f);
        store(c->kept, 2 * n + i, left, s.g);
        store(c->kept, 3 * n + i, left, s.o);
        store(c->kept, 4 * n + i, left, s.c);
        store(c->h, i, left, h);
    }
}

static void lstm_backward(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const vec dh = load(c->dh, i, left) + load(c->carry, i, left);
        const lstm_cell s = {.i = load(c->kept, i, left),
                             .f = load(c->kept, n + i, left),
                             .g = load(c->kept, 2 * n + i, left),
                             .o = load(c->kept, 3 * n + i, left),
                             .c = load(c->kept, 4 * n + i, left)};
        vec dc = load(c->carry_c, i, left);
        const lstm_cell d = lstm_back(a, s, load(c->c_before, i, left), dh, &dc);
        store(c->dz, i, left, d.i);
        store(c->dz, n + i, left, d.f);
        store(c->dz, 2 * n + i, left, d.g);
        store(c->dz, 3 * n + i, left, d.o);
        store(c->carry, i, left, vec_all(0));
        store(c->carry_c, i, left, dc);
    }
}

/* ---- GRU: kept is z, r, the candidate, and what r scales or gives ------------------------- */

static void gru_forward_after(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const vec z = recurrent_gate(a, load(c->kept, i, left));
        const vec r = recurrent_gate(a, load(c->kept, n + i, left));
        const vec inner = load(c->kept, 3 * n + i, left);
        const vec y = recurrent_act(a, load(c->kept, 2 * n + i, left) + r * inner);
        store(c->kept, i, left, z);
        store(c->kept, n + i, left, r);
        store(c->kept, 2 * n + i, left, y);
        store(c->h, i, left, gru_next(z, y, load(c->h_before, i, left)));
    }
}

static void gru_forward_before(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const vec r = recurrent_gate(a, load(c->kept, n + i, left));
        store(c->kept, i, left, recurrent_gate(a, load(c->kept, i, left)));
        store(c->kept, n + i, left, r);
        store(c->kept, 3 * n + i, left, r * load(c->h_before, i, left));
    }
}

static void gru_candidate(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const vec y = recurrent_act(a, load(c->kept, 2 * n + i, left));
        store(c->kept, 2 * n + i, left, y);
        store(c->h, i, left, gru_next(load(c->kept, i, left), y, load(c->h_before, i, left)));
    }
}

VEC_INLINE gru_gradient gru_gradient_of(const recurrent_unit_rows *c, recurrent_functions a,
                                        int64_t i, int64_t left)
{
    return gru_back(a, load(c->kept, i, left), load(c->kept, 2 * c->units + i, left),
                    load(c->h_before, i, left), load(c->dh, i, left) + load(c->carry, i, left));
}

static void gru_backward_after(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const gru_gradient d = gru_gradient_of(c, a, i, left);
        const vec r = load(c->kept, n + i, left), inner = load(c->kept, 3 * n + i, left);
        const vec of_r = recurrent_gate_back(a, r, d.y * inner);
        store(c->dz, i, left, d.z);
        store(c->dz, n + i, left, of_r);
        store(c->dz, 2 * n + i, left, d.y);
        store(c->dr, i, left, d.z);
        store(c->dr, n + i, left, of_r);
        store(c->dr, 2 * n + i, left, d.y * r);
        store(c->carry, i, left, d.before);
    }
}

/* dr [2][3][units]: of the state, and of what the reset leaves of it */
static void gru_backward_before(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const gru_gradient d = gru_gradient_of(c, a, i, left);
        store(c->dz, i, left, d.z);
        store(c->dz, 2 * n + i, left, d.y);
        store(c->dr, i, left, d.z);
        for (int k = 2; k < 5; k++)
            store(c->dr, k * n + i, left, vec_all(0));
        store(c->dr, 5 * n + i, left, d.y);
        store(c->carry, i, left, d.before);
        store(c->carry_c, i, left, vec_all(0));
    }
}

static void gru_reset(const recurrent_unit_rows *c)
{
    const recurrent_functions a = functions_of(c);
    const int64_t n = c->units;
    for (EACH_VECTOR(i, left, n)) {
        const vec r = load(c->kept, n + i, left), of_state = load(c->carry_c, i, left);
        const vec of_r = recurrent_gate_back(a, r, of_state * load(c->h_before, i, left));
        store(c->dz, n + i, left, of_r);
        store(c->dr, n + i, left, of_r);
        store(c->carry, i, left, load(c->carry, i, left) + of_state * r);
    }
}

const recurrent_kernels ISA(cpu_recurrent_kernels) = {
    .forward = {[CELL_SIMPLE] = simple_forward,
                [CELL_LSTM] = lstm_forward,
                [CELL_GRU_AFTER] = gru_forward_after,
                [CELL_GRU_BEFORE] = gru_forward_before},
    .candidate = gru_candidate,
    .backward = {[CELL_SIMPLE] = simple_backward,
                 [CELL_LSTM] = lstm_backward,
                 [CELL_GRU_AFTER] = gru_backward_after,
                 [CELL_GRU_BEFORE] = gru_backward_before},
    .reset = gru_reset};

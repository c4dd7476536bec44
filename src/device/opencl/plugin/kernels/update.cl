#include "device/opencl/plugin/kernels/common.h"

/* One optimizer step on one variable, in place, by the rules of device/rules. Products and sums are
   not contracted: bound by memory all the same, and the weights stay near the host's. */
#pragma OPENCL FP_CONTRACT OFF

#include "device/opencl/plugin/kernels/shared.h"

#include "device/rules/optimizers.h"

#include "device/opencl/plugin/kernels/clip.h"

/* Parameters of every optimizer's kernel. slot[i] is there where bit i of `form` is set; squares:
   NULL where gradients are not clipped by norm; steps: of an update. */
#define UPDATE                                                                                   \
    OUT(float, w), IN(float, g), OUT(float, slot0), OUT(float, slot1), OUT(float, slot2),        \
        IN(float, squares), const long count, const int form, const int square_first,            \
        const int square_count, const float norm_most, const float clip_value,                   \
        const float weight_decay, const float momentum, const float rho, const float epsilon,    \
        const float rate_1, const float rate_2, const float power, const float l1,               \
        const float l2, const float shrinkage, const float beta, const float penalty_l1,         \
        const float penalty_l2, const float learning_rate,                                       \
        const float alpha, const float gradient_alpha, const float factor_epsilon,               \
        const long steps, const ulong iteration

#define CONSTANTS                                                                            \
    {                                                                                        \
        .learning_rate = learning_rate, .gradient_scale = 1, .clip_value = clip_value,       \
        .weight_decay = weight_decay, .momentum = momentum, .rho = rho, .epsilon = epsilon,  \
        .rate_1 = rate_1, .rate_2 = rate_2, .factors = {alpha, gradient_alpha, factor_epsilon},\
        .power = power, .l1 = l1, .l2 = l2, .shrinkage = shrinkage, .beta = beta, \
        .penalty_l1 = penalty_l1, .penalty_l2 = penalty_l2, .form = form,                    \
        .penalized = penalty_l1 > 0 || penalty_l2 > 0                                        \
    }

/* One element, by the rule that is a kernel's. */
#define STEP(rule, lane)                                          \
    {                                                             \
        float weight = v.lane, gradient = d.lane;                 \
        float slot[3] = {a.lane, b.lane, e.lane};                 \
        if (c.penalized)                                          \
            gradient = rule_penalized(penalty_l1, penalty_l2, weight, gradient); \
        rule_clip_and_decay(&c, &weight, &gradient);              \
        rule_##rule(&c, form, &weight, gradient, slot);           \
        v.lane = weight;                                          \
        a.lane = slot[0];                                         \
        b.lane = slot[1];                                         \
        e.lane = slot[2];                                         \
    }

#define OPTIMIZER(id, class_name, name, rule, ...)                                   \
    KERNEL(update_##id, WORK_ITEMS)(UPDATE)                                          \
    {                                                                                \
        local float scale[1];                                                        \
        if (steps > 1 && iteration % (ulong)steps != (ulong)(steps - 1))             \
            return;                                                                  \
        optimizer_constants c = CONSTANTS;                                           \
        AT(w);                                                                       \
        AT(g);                                                                       \
        AT(slot0);                                                                   \
        AT(slot1);                                                                   \
        AT(slot2);                                                                   \
        AT(squares);                                                                 \
        if (get_local_id(0) == 0)                                                    \
            *scale = squares ? clip_scale(squares, square_first, square_count, norm_most) : 1; \
        FENCE;                                                                       \
        c.gradient_scale = *scale;                                                   \
        for (EACH(i, FOURS(count))) {                                                \
            float4 v = load4(w, i, count), d = load4(g, i, count);                   \
            float4 a = form & 1 ? load4(slot0, i, count) : (float4)(0);              \
            float4 b = form & 2 ? load4(slot1, i, count) : (float4)(0);              \
            float4 e = form & 4 ? load4(slot2, i, count) : (float4)(0);              \
            STEP(rule, x)                                                            \
            STEP(rule, y)                                                            \
            STEP(rule, z)                                                            \
            STEP(rule, w)                                                            \
            store4(w, i, count, v);                                                  \
            if (form & 1)                                                            \
                store4(slot0, i, count, a);                                          \
            if (form & 2)                                                            \
                store4(slot1, i, count, b);                                          \
            if (form & 4)                                                            \
                store4(slot2, i, count, e);                                          \
        }                                                                            \
    }
#include "model/optimizers.def"

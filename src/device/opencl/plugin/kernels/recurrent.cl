#include "device/opencl/plugin/kernels/common.h"

/* Recurrent layers: a work-group goes with a sample through all steps, its work-items beside each
   other over the units. What they exchange stands in the operation's tensors (device/recurrent.h),
   and the carries in scratch memory, [batch][2][units]. */
#include "device/opencl/plugin/kernels/activation.h"
#include "device/opencl/plugin/kernels/shared.h"

typedef float rule_real;
#define rule_activate(kind, alpha, x)                                \
    ((kind) == ACTIVATION_HARD_SIGMOID ? activate_hard_sigmoid(x, alpha) \
                                       : activate(kind, alpha, x))
#define rule_activate_back(kind, alpha, y, dy)                                \
    ((kind) == ACTIVATION_HARD_SIGMOID ? activate_hard_sigmoid_back(y, dy, alpha) \
                                       : activate_back(kind, alpha, y, dy))
#include "device/rules/recurrent.h"

#define SIZES                                                                              \
    const int cell, const long batch, const long steps, const long n, const int gates,      \
        const int kept, const int products, const int from_last, const int to_last,         \
        const int act, const int gate, const float act_alpha, const float gate_alpha
#define ALL_FENCE barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define EACH_UNIT(i, count) long i = get_local_id(0); i < (count); i += WORK_ITEMS
#define ROW(step, last) (sample * steps + ((last) ? steps - 1 - (step) : (step)))

/* The state of a sample in [batch][n]; NULL: 0. */
#define FIRST(states) ((states) ? (states) + sample * n : 0)

/* numbers (NULL: 0) times column `column` of u */
static inline float product(global const float *numbers, global const float *u, long column,
                            long n, long columns)
{
    float sum = 0;
    for (long k = 0; numbers && k < n; k++)
        sum += numbers[k] * u[k * columns + column];
    return sum;
}

/* numbers times row `row` of u, from column `begin` to `end` */
static inline float product_back(global const float *numbers, global const float *u, long row,
                                 long begin, long end, long columns)
{
    float sum = 0;
    for (long i = begin; i < end; i++)
        sum += numbers[i] * u[row * columns + i];
    return sum;
}

KERNEL(recurrent_forward, WORK_ITEMS)
(IN(float, z), IN(float, u), IN(float, bias), IN(float, h0), IN(float, c0), OUT(float, h),
 OUT(float, saved), OUT(float, last), SIZES)
{
    AT(z);
    AT(u);
    AT(bias);
    AT(h0);
    AT(c0);
    AT(h);
    AT(saved);
    AT(last);
    const recurrent_functions a = {act, gate, act_alpha, gate_alpha};
    const long columns = gates * n;
    for (long sample = get_group_id(0); sample < batch; sample += get_num_groups(0))
        for (long step = 0; step < steps; step++) {
            global const float *x = z + ROW(step, from_last) * columns;
            global float *to = h + ROW(step, to_last) * n;
            global float *k = saved + ROW(step, from_last) * kept * n;
            global const float *before = FIRST(h0), *c_before = FIRST(c0);
            if (step > 0) {
                before = h + ROW(step - 1, to_last) * n;
                c_before = saved + (ROW(step - 1, from_last) * kept + 4) * n;
            }
            for (EACH_UNIT(i, cell == CELL_GRU_BEFORE ? 2 * n : columns)) {
                float y = product(before, u, i, n, columns) + (bias ? bias[i] : 0);
                if (cell == CELL_SIMPLE)
                    to[i] = recurrent_act(a, x[i] + y);
                else if (cell == CELL_LSTM)
                    k[i] = x[i] + y;
                else if (i < 2 * n)
                    k[i] = recurrent_gate(a, x[i] + y);
                else
                    k[n + i] = y;
            }
            ALL_FENCE;
            for (EACH_UNIT(i, n)) {
                if (cell == CELL_LSTM) {
                    float y;
                    lstm_cell s = {k[i], k[n + i], k[2 * n + i], k[3 * n + i], 0};
                    s = lstm_next(a, s, c_before ? c_before[i] : 0, &y);
                    k[i] = s.i;
                    k[n + i] = s.f;
                    k[2 * n + i] = s.g;
                    k[3 * n + i] = s.o;
                    k[4 * n + i] = s.c;
                    to[i] = y;
                    if (last && step == steps - 1)
                        last[sample * n + i] = s.c;
                } else if (cell == CELL_GRU_AFTER) {
                    float y = recurrent_act(a, x[2 * n + i] + k[n + i] * k[3 * n + i]);
                    k[2 * n + i] = y;
                    to[i] = gru_next(k[i], y, before ? before[i] : 0);
                } else if (cell == CELL_GRU_BEFORE) {
                    k[3 * n + i] = k[n + i] * (before ? before[i] : 0);
                }
            }
            ALL_FENCE;
            for (EACH_UNIT(i, cell == CELL_GRU_BEFORE ? n : 0)) {
                float y = recurrent_act(
                    a, x[2 * n + i] + product(k + 3 * n, u, 2 * n + i, n, columns));
                k[2 * n + i] = y;
                to[i] = gru_next(k[i], y, before ? before[i] : 0);
            }
            ALL_FENCE;
        }
}

KERNEL(recurrent_backward, WORK_ITEMS)
(IN(float, u), IN(float, h), IN(float, saved), IN(float, dh), IN(float, h0), IN(float, c0),
 IN(float, dc), OUT(float, dz), OUT(float, dr), OUT(float, left), OUT(float, dh0), OUT(float, dc0),
 OUT(float, carries), SIZES)
{
    AT(u);
    AT(h);
    AT(saved);
    AT(dh);
    AT(h0);
    AT(c0);
    AT(dc);
    AT(dz);
    AT(dr);
    AT(left);
    AT(dh0);
    AT(dc0);
    AT(carries);
    const recurrent_functions a = {act, gate, act_alpha, gate_alpha};
    const long columns = gates * n;
    for (long sample = get_group_id(0); sample < batch; sample += get_num_groups(0)) {
        global float *carry = carries + sample * 2 * n, *carry_c = carry + n;
        for (EACH_UNIT(i, n)) {
            carry[i] = 0;
            carry_c[i] = dc ? dc[sample * n + i] : 0;
        }
        ALL_FENCE;
        for (long step = steps - 1; step >= 0; step--) {
            const long row = ROW(step, from_last), h_row = ROW(step, to_last);
            global const float *k = saved + row * kept * n;
            global const float *before = FIRST(h0), *c_before = FIRST(c0);
            if (step > 0) {
                before = h + ROW(step - 1, to_last) * n;
                c_before = saved + (ROW(step - 1, from_last) * kept + 4) * n;
            }
            global float *of_z = dz + row * columns;
            global float *of_product = dr ? dr + row * products * columns : of_z;
            for (EACH_UNIT(i, n)) {
                const float d = (dh ? dh[h_row * n + i] : 0) + carry[i];
                const float b = before ? before[i] : 0;
                carry[i] = 0;
                if (left) {
                    left[row * products * n + i] = b;
                    if (products == 2)
                        left[(row * products + 1) * n + i] = k[3 * n + i];
                }
                if (cell == CELL_SIMPLE) {
                    of_z[i] = recurrent_act_back(a, h[h_row * n + i], d);
                } else if (cell == CELL_LSTM) {
                    const lstm_cell s = {k[i], k[n + i], k[2 * n + i], k[3 * n + i], k[4 * n + i]};
                    float of_c = carry_c[i];
                    const lstm_cell g = lstm_back(a, s, c_before ? c_before[i] : 0, d, &of_c);
                    of_z[i] = g.i;
                    of_z[n + i] = g.f;
                    of_z[2 * n + i] = g.g;
                    of_z[3 * n + i] = g.o;
                    carry_c[i] = of_c;
                } else {
                    const gru_gradient g = gru_back(a, k[i], k[2 * n + i], b, d);
                    of_z[i] = of_product[i] = g.z;
                    of_z[2 * n + i] = g.y;
                    carry[i] = g.before;
                    if (cell == CELL_GRU_AFTER) {
                        of_z[n + i] = of_product[n + i] =
                            recurrent_gate_back(a, k[n + i], g.y * k[3 * n + i]);
                        of_product[2 * n + i] = g.y * k[n + i];
                    } else {
                        of_product[2 * n + i] = of_product[3 * n + i] = of_product[4 * n + i] = 0;
                        of_product[5 * n + i] = g.y;
                    }
                }
            }
            ALL_FENCE;
            for (EACH_UNIT(i, cell == CELL_GRU_BEFORE ? n : 0)) {
                const float d = product_back(of_product + 3 * n, u, i, 2 * n, 3 * n, columns);
                of_z[n + i] = of_product[n + i] =
                    recurrent_gate_back(a, k[n + i], d * (before ? before[i] : 0));
                carry[i] += d * k[n + i];
            }
            ALL_FENCE;
            for (EACH_UNIT(i, n))
                carry[i] += product_back(of_product, u, i, 0, columns, columns);
            ALL_FENCE;
        }
        for (EACH_UNIT(i, n)) {
            if (dh0)
                dh0[sample * n + i] = carry[i];
            if (dc0)
                dc0[sample * n + i] = carry_c[i];
        }
    }
}

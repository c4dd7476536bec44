/* Recurrent layers: a block goes with a sample through all steps, its threads beside each other
   over the units. What they exchange stands in the operation's tensors (device/recurrent.h). */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_RECURRENT_CUH
#define DEVICE_CUDA_PLUGIN_KERNELS_RECURRENT_CUH

#include "device/cuda/plugin/kernels/recurrent.h"
#include "device/cuda/plugin/kernels/rules.cuh"

#define rule_activate(kind, alpha, x) \
    ((kind) == ACTIVATION_HARD_SIGMOID ? activate_hard_sigmoid(x, alpha) : activate(kind, alpha, x))
#define rule_activate_back(kind, alpha, y, dy)                                    \
    ((kind) == ACTIVATION_HARD_SIGMOID ? activate_hard_sigmoid_back(y, dy, alpha) \
                                       : activate_back(kind, alpha, y, dy))
#include "device/rules/recurrent.h"

#define EACH_UNIT(i, count)  \
    int64_t i = threadIdx.x; \
    i < (count);             \
    i += RECURRENT_THREADS
#define ROW(step, last) (sample * p.steps + ((last) ? p.steps - 1 - (step) : (step)))

/* The state of a sample in [batch][n]; NULL: 0. */
#define FIRST(states) ((states) ? (states) + sample * p.n : NULL)

/* numbers (NULL: 0) times column `column` of u */
static __device__ inline float state_product(const float *numbers, const float *u, int64_t column,
                                             int64_t n, int64_t columns)
{
    float sum = 0;
    for (int64_t k = 0; numbers && k < n; k++)
        sum += numbers[k] * u[k * columns + column];
    return sum;
}

/* numbers times row `row` of u, from column `begin` to `end` */
static __device__ inline float state_product_back(const float *numbers, const float *u, int64_t row,
                                                  int64_t begin, int64_t end, int64_t columns)
{
    float sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += numbers[i] * u[row * columns + i];
    return sum;
}

extern "C" __global__ void __launch_bounds__(RECURRENT_THREADS)
    cornu_recurrent_forward(recurrent_forward_params p)
{
    const recurrent_functions a = {p.act, p.gate, p.act_alpha, p.gate_alpha};
    const int64_t columns = p.gates * p.n;
    for (int64_t sample = blockIdx.x; sample < p.batch; sample += gridDim.x)
        for (int64_t step = 0; step < p.steps; step++) {
            const float *x = p.z + ROW(step, p.from_last) * columns;
            float *to = p.h + ROW(step, p.to_last) * p.n;
            float *k = p.saved + ROW(step, p.from_last) * p.kept * p.n;
            const float *before = FIRST(p.h0), *c_before = FIRST(p.c0);
            if (step > 0) {
                before = p.h + ROW(step - 1, p.to_last) * p.n;
                c_before = p.saved + (ROW(step - 1, p.from_last) * p.kept + 4) * p.n;
            }
            for (EACH_UNIT(i, p.cell == CELL_GRU_BEFORE ? 2 * p.n : columns)) {
                float y = state_product(before, p.u, i, p.n, columns) + (p.bias ? p.bias[i] : 0);
                if (p.cell == CELL_SIMPLE)
                    to[i] = recurrent_act(a, x[i] + y);
                else if (p.cell == CELL_LSTM)
                    k[i] = x[i] + y;
                else if (i < 2 * p.n)
                    k[i] = recurrent_gate(a, x[i] + y);
                else
                    k[p.n + i] = y;
            }
            __syncthreads();
            for (EACH_UNIT(i, p.n)) {
                if (p.cell == CELL_LSTM) {
                    float y;
                    lstm_cell s = {k[i], k[p.n + i], k[2 * p.n + i], k[3 * p.n + i], 0};
                    s = lstm_next(a, s, c_before ? c_before[i] : 0, &y);
                    k[i] = s.i;
                    k[p.n + i] = s.f;
                    k[2 * p.n + i] = s.g;
                    k[3 * p.n + i] = s.o;
                    k[4 * p.n + i] = s.c;
                    to[i] = y;
                    if (p.last && step == p.steps - 1)
                        p.last[sample * p.n + i] = s.c;
                } else if (p.cell == CELL_GRU_AFTER) {
                    float y = recurrent_act(a, x[2 * p.n + i] + k[p.n + i] * k[3 * p.n + i]);
                    k[2 * p.n + i] = y;
                    to[i] = gru_next(k[i], y, before ? before[i] : 0);
                } else if (p.cell == CELL_GRU_BEFORE) {
                    k[3 * p.n + i] = k[p.n + i] * (before ? before[i] : 0);
                }
            }
            __syncthreads();
            for (EACH_UNIT(i, p.cell == CELL_GRU_BEFORE ? p.n : 0)) {
                float y = recurrent_act(
                    a, x[2 * p.n + i] + state_product(k + 3 * p.n, p.u, 2 * p.n + i, p.n, columns));
                k[2 * p.n + i] = y;
                to[i] = gru_next(k[i], y, before ? before[i] : 0);
            }
            __syncthreads();
        }
}

extern "C" __global__ void __launch_bounds__(RECURRENT_THREADS)
    cornu_recurrent_backward(recurrent_backward_params p)
{
    const recurrent_functions a = {p.act, p.gate, p.act_alpha, p.gate_alpha};
    const int64_t columns = p.gates * p.n;
    for (int64_t sample = blockIdx.x; sample < p.batch; sample += gridDim.x) {
        float *carry = p.carries + sample * 2 * p.n, *carry_c = carry + p.n;
        for (EACH_UNIT(i, p.n)) {
            carry[i] = 0;
            carry_c[i] = p.dc ? p.dc[sample * p.n + i] : 0;
        }
        __syncthreads();
        for (int64_t step = p.steps - 1; step >= 0; step--) {
            const int64_t row = ROW(step, p.from_last), h_row = ROW(step, p.to_last);
            const float *k = p.saved + row * p.kept * p.n;
            const float *before = FIRST(p.h0), *c_before = FIRST(p.c0);
            if (step > 0) {
                before = p.h + ROW(step - 1, p.to_last) * p.n;
                c_before = p.saved + (ROW(step - 1, p.from_last) * p.kept + 4) * p.n;
            }
            float *of_z = p.dz + row * columns;
            float *of_product = p.dr ? p.dr + row * p.products * columns : of_z;
            for (EACH_UNIT(i, p.n)) {
                const float d = (p.dh ? p.dh[h_row * p.n + i] : 0) + carry[i];
                const float b = before ? before[i] : 0;
                carry[i] = 0;
                if (p.left) {
                    p.left[row * p.products * p.n + i] = b;
                    if (p.products == 2)
                        p.left[(row * p.products + 1) * p.n + i] = k[3 * p.n + i];
                }
                if (p.cell == CELL_SIMPLE) {
                    of_z[i] = recurrent_act_back(a, p.h[h_row * p.n + i], d);
                } else if (p.cell == CELL_LSTM) {
                    const lstm_cell s = {k[i], k[p.n + i], k[2 * p.n + i], k[3 * p.n + i],
                                         k[4 * p.n + i]};
                    float dc = carry_c[i];
                    const lstm_cell g = lstm_back(a, s, c_before ? c_before[i] : 0, d, &dc);
                    of_z[i] = g.i;
                    of_z[p.n + i] = g.f;
                    of_z[2 * p.n + i] = g.g;
                    of_z[3 * p.n + i] = g.o;
                    carry_c[i] = dc;
                } else {
                    const gru_gradient g = gru_back(a, k[i], k[2 * p.n + i], b, d);
                    of_z[i] = of_product[i] = g.z;
                    of_z[2 * p.n + i] = g.y;
                    carry[i] = g.before;
                    if (p.cell == CELL_GRU_AFTER) {
                        of_z[p.n + i] = of_product[p.n + i] =
                            recurrent_gate_back(a, k[p.n + i], g.y * k[3 * p.n + i]);
                        of_product[2 * p.n + i] = g.y * k[p.n + i];
                    } else {
                        of_product[2 * p.n + i] = of_product[3 * p.n + i] =
                            of_product[4 * p.n + i] = 0;
                        of_product[5 * p.n + i] = g.y;
                    }
                }
            }
            __syncthreads();
            for (EACH_UNIT(i, p.cell == CELL_GRU_BEFORE ? p.n : 0)) {
                const float d =
                    state_product_back(of_product + 3 * p.n, p.u, i, 2 * p.n, 3 * p.n, columns);
                of_z[p.n + i] = of_product[p.n + i] =
                    recurrent_gate_back(a, k[p.n + i], d * (before ? before[i] : 0));
                carry[i] += d * k[p.n + i];
            }
            __syncthreads();
            for (EACH_UNIT(i, p.n))
                carry[i] += state_product_back(of_product, p.u, i, 0, columns, columns);
            __syncthreads();
        }
        for (EACH_UNIT(i, p.n)) {
            if (p.dh0)
                p.dh0[sample * p.n + i] = carry[i];
            if (p.dc0)
                p.dc0[sample * p.n + i] = carry_c[i];
        }
    }
}

#undef EACH_UNIT
#undef ROW
#undef FIRST

#endif

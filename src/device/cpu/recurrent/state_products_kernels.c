/* Products with a recurrent layer's state, once per instruction set. */
#include "device/cpu/recurrent/state_products_kernels.h"
#include "device/cpu/vec.h"

enum {
    VECS = STATE_PANEL / VEC_FLOATS,
    /* rows of a register tile: accumulators, a vector of b and one of a fit into the registers */
    TILE = (VEC_COUNT - 2) / VECS < 8 ? (VEC_COUNT - 2) / VECS : 8
};

VEC_INLINE void store_row(const state_block *m, float *y, const vec *sums)
{
    UNROLL(VECS)
    for (int v = 0; v < VECS; v++) {
        const int64_t left = m->columns - v * VEC_FLOATS;
        float *to = y + v * VEC_FLOATS;
        if (left >= VEC_FLOATS)
            vec_store(to, vec_load(to) + sums[v]);
        else if (left > 0)
            vec_store_first(to, vec_load_first(to, left) + sums[v], left);
    }
}

VEC_INLINE void tile(const state_block *m, int64_t row, const int rows)
{
    vec sums[TILE][VECS] = {{{0}}};
    const float *a = m->a + row * m->a_row, *b = m->panel;
    for (int64_t k = 0; k < m->depth; k++, a++, b += STATE_PANEL) {
        UNROLL(TILE)
        for (int i = 0; i < rows; i++) {
            const vec x = vec_all(a[i * m->a_row]);
            UNROLL(VECS)
            for (int v = 0; v < VECS; v++)
                sums[i][v] += x * vec_load(b + v * VEC_FLOATS);
        }
    }
    UNROLL(TILE)
    for (int i = 0; i < rows; i++)
        store_row(m, m->y + (row + i) * m->y_row, sums[i]);
}

static void multiply(const state_block *m)
{
    int64_t row = 0;
    for (; row + TILE <= m->rows; row += TILE)
        tile(m, row, TILE);
    for (; row < m->rows; row++)
        tile(m, row, 1);
}

const state_products ISA(cpu_state_products) = {.multiply = multiply};

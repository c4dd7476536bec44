/* Depthwise convolutions: a vector holds channels, a register tile is some outputs of a row. */
#include "device/cpu/conv/depthwise_kernels.h"
#include "device/cpu/vec.h"

/* ---- sums --------------------------------------------------------------------------------- */

/* A weight is loaded once for a tile of outputs. Eight accumulators are more than a multiply-add's
   latency needs, and leave room for operands in 16 registers. */
enum { TILE = 8, WIDE = 4 };

/* Floats of a cache line, of which one vector's prefetch is enough. */
enum { LINE = 16 };

VEC_INLINE void prefetch_tile(const depthwise_run *r, const float *in, const float *out, int tile)
{
    for (int e = 0; e < r->ahead_count; e++) {
        UNROLL(8)
        for (int i = 0; i < tile; i++)
            VEC_PREFETCH(in + i * r->in_step[2] + r->in_ahead[e]);
    }
    if (VEC_FLOATS < LINE && r->out_step[2] == r->channels) /* the hardware is ahead of these */
        return;
    UNROLL(8)
    for (int i = 0; i < tile; i++)
        VEC_PREFETCH_WRITE(out + i * r->out_step[2] + r->out_ahead);
}

/* `count` channels from c on, of `tile` outputs; in, out: the first one's. */
VEC_INLINE void sums_tile(const depthwise_run *r, const float *w, const float *b, const float *in,
                          float *out, int tile, int64_t c, int64_t count)
{
    vec sum[TILE], start = b ? vec_load_count(b + c, count) : vec_all(0);
    UNROLL(8) for (int i = 0; i < tile; i++) sum[i] = start;
    if (c % LINE == 0)
        prefetch_tile(r, in + c, out + c, tile);
    for (int t = 0; t < r->tap_count; t++) {
        vec weight = vec_load_count(w + r->taps[t].weights + c, count);
        const float *x = in + r->taps[t].at + c;
        UNROLL(8)
        for (int i = 0; i < tile; i++)
            sum[i] += vec_load_count(x + i * r->in_step[2], count) * weight;
    }
    UNROLL(8)
    for (int i = 0; i < tile; i++)
        vec_store_count(out + i * r->out_step[2] + c, sum[i], count);
}

/* One output: the accumulators are those of some vectors of channels. */
VEC_INLINE void sums_one(const depthwise_run *r, const float *w, const float *b, const float *in,
                         float *out, int64_t c)
{
    vec sum[WIDE];
    UNROLL(4)
    for (int v = 0; v < WIDE; v++) {
        const int64_t at = c + v * VEC_FLOATS;
        sum[v] = b ? vec_load(b + at) : vec_all(0);
        if (at % LINE == 0)
            prefetch_tile(r, in + at, out + at, 1);
    }
    for (int t = 0; t < r->tap_count; t++) {
        const float *x = in + r->taps[t].at + c, *weights = w + r->taps[t].weights + c;
        UNROLL(4)
        for (int v = 0; v < WIDE; v++)
            sum[v] += vec_load(x + v * VEC_FLOATS) * vec_load(weights + v * VEC_FLOATS);
    }
    UNROLL(4)
    for (int v = 0; v < WIDE; v++)
        vec_store(out + c + v * VEC_FLOATS, sum[v]);
}

VEC_INLINE void sums_channels(const depthwise_run *r, const float *w, const float *b,
                              const float *in, float *out, int tile)
{
    int64_t rest = r->channels % VEC_FLOATS, whole = r->channels - rest, c = 0;
    for (; tile == 1 && c + WIDE * VEC_FLOATS <= whole; c += WIDE * VEC_FLOATS)
        sums_one(r, w, b, in, out, c);
    for (; c < whole; c += VEC_FLOATS)
        sums_tile(r, w, b, in, out, tile, c, VEC_FLOATS);
    if (rest)
        sums_tile(r, w, b, in, out, tile, whole, rest);
}

static void sums(const depthwise_run *run, const float *w, const float *b, float *out)
{
    const depthwise_run r = *run;
    for (int64_t j = 0; j < r.count[0]; j++)
        for (int64_t k = 0; k < r.count[1]; k++) {
            const float *from = r.in + j * r.in_step[0] + k * r.in_step[1];
            float *to = out + j * r.out_step[0] + k * r.out_step[1];
            int64_t i = 0;
            for (; i + TILE <= r.count[2]; i += TILE)
                sums_channels(&r, w, b, from + i * r.in_step[2], to + i * r.out_step[2], TILE);
            for (; i + 4 <= r.count[2]; i += 4)
                sums_channels(&r, w, b, from + i * r.in_step[2], to + i * r.out_step[2], 4);
            for (; i < r.count[2]; i++)
                sums_channels(&r, w, b, from + i * r.in_step[2], to + i * r.out_step[2], 1);
        }
}

/* ---- gradients ---------------------------------------------------------------------------- */

/* Taps whose sums are in registers at once: a 3x3 window's. */
enum { TAPS = 9 };

/* `taps` taps from `tap` on; db: NULL, or where the sum of dy goes, too. */
VEC_INLINE void gradients_tile(const depthwise_run *r, const float *dy, float *dw, float *db,
                               int tap, int taps, int64_t c, int64_t count)
{
    const depthwise_tap *t = r->taps + tap;
    vec sum[TAPS], bias = vec_all(0);
    UNROLL(9) for (int i = 0; i < taps; i++) sum[i] = vec_all(0);
    for (int64_t j = 0; j < r->count[0]; j++)
        for (int64_t k = 0; k < r->count[1]; k++) {
            const float *x = r->in + j * r->in_step[0] + k * r->in_step[1] + c;
            const float *d = dy + j * r->out_step[0] + k * r->out_step[1] + c;
            for (int64_t o = 0; o < r->count[2]; o++, x += r->in_step[2], d += r->out_step[2]) {
                vec gradient = vec_load_count(d, count);
                if (tap == 0 && c % LINE == 0) {
                    VEC_PREFETCH(d + r->out_ahead);
                    for (int i = 0; i < r->ahead_count; i++)
                        VEC_PREFETCH(x + r->in_ahead[i]);
                }
                if (db)
                    bias += gradient;
                UNROLL(9)
                for (int i = 0; i < taps; i++)
                    sum[i] += vec_load_count(x + t[i].at, count) * gradient;
            }
        }
    UNROLL(9) for (int i = 0; i < taps; i++)
    {
        float *to = dw + t[i].weights + c;
        vec_store_count(to, vec_load_count(to, count) + sum[i], count);
    }
    if (db)
        vec_store_count(db + c, vec_load_count(db + c, count) + bias, count);
}

VEC_INLINE void bias_tile(const depthwise_run *r, const float *dy, float *db, int64_t c,
                          int64_t count)
{
    vec sum = vec_all(0);
    for (int64_t j = 0; j < r->count[0]; j++)
        for (int64_t k = 0; k < r->count[1]; k++) {
            const float *d = dy + j * r->out_step[0] + k * r->out_step[1] + c;
            for (int64_t o = 0; o < r->count[2]; o++)
                sum += vec_load_count(d + o * r->out_step[2], count);
        }
    vec_store_count(db + c, vec_load_count(db + c, count) + sum, count);
}

VEC_INLINE void gradients_channels(const depthwise_run *r, const float *dy, float *dw, float *db,
                                   int64_t c, int64_t count)
{
    int tap = 0;
    if (db && r->tap_count >= TAPS) {
        gradients_tile(r, dy, dw, db, 0, TAPS, c, count);
        db = NULL;
        tap = TAPS;
    }
    for (; tap + TAPS <= r->tap_count; tap += TAPS)
        gradients_tile(r, dy, dw, NULL, tap, TAPS, c, count);
    switch (r->tap_count - tap) {
#define REST(taps)                                            \
    case taps:                                                \
        gradients_tile(r, dy, dw, NULL, tap, taps, c, count); \
        break;
        REST(8) REST(7) REST(6) REST(5) REST(4) REST(3) REST(2) REST(1)
#undef REST
    }
    if (db)
        bias_tile(r, dy, db, c, count);
}

static void gradients(const depthwise_run *run, const float *dy, float *dw, float *db)
{
    const depthwise_run r = *run;
    int64_t rest = r.channels % VEC_FLOATS, whole = r.channels - rest;
    for (int64_t c = 0; c < whole; c += VEC_FLOATS)
        gradients_channels(&r, dy, dw, db, c, VEC_FLOATS);
    if (rest)
        gradients_channels(&r, dy, dw, db, whole, rest);
}

const depthwise_kernels ISA(cpu_depthwise) = {.sums = sums, .gradients = gradients};

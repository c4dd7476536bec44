#include "device/opencl/plugin/kernels/common.h"

/* Elementwise operations: activations, SCALE, ADD, DROPOUT, PAD, CROP. */
#include "device/opencl/plugin/kernels/activation.h"
#include "device/opencl/plugin/kernels/random.h"
#include "device/opencl/plugin/kernels/shared.h"

/* Activations, and functions that are none. */
static inline float4 apply4(int kind, float alpha, float4 x)
{
    switch (kind) {
#define ACTIVATION(...)
#define ELEMENT_FUNCTION(id, name, other_name, rule, ...)                         \
    case ACTIVATION_##id:                                                         \
        return (float4)(activate_##rule(x.x, alpha), activate_##rule(x.y, alpha), \
                        activate_##rule(x.z, alpha), activate_##rule(x.w, alpha));
#include "model/activations.def"
    }
    return activate4(kind, alpha, x);
}

static inline float4 apply_back4(int kind, float alpha, float4 x_or_y, float4 dy)
{
    switch (kind) {
#define ACTIVATION(...)
#define ELEMENT_FUNCTION(id, name, other_name, rule, ...)              \
    case ACTIVATION_##id:                                              \
        return (float4)(activate_##rule##_back(x_or_y.x, dy.x, alpha), \
                        activate_##rule##_back(x_or_y.y, dy.y, alpha), \
                        activate_##rule##_back(x_or_y.z, dy.z, alpha), \
                        activate_##rule##_back(x_or_y.w, dy.w, alpha));
#include "model/activations.def"
    }
    return activate_back4(kind, alpha, x_or_y, dy);
}

/* y may be x */
KERNEL(activation_forward, WORK_ITEMS)
(IN(float, x), OUT(float, y), const long count, const int kind, const float alpha)
{
    AT(x);
    AT(y);
    for (EACH(i, FOURS(count)))
        store4(y, i, count, apply4(kind, alpha, load4(x, i, count)));
}

/* dx may be dy */
KERNEL(activation_backward, WORK_ITEMS)
(IN(float, x_or_y), IN(float, dy), OUT(float, dx), const long count, const int kind,
 const float alpha)
{
    AT(x_or_y);
    AT(dy);
    AT(dx);
    for (EACH(i, FOURS(count)))
        store4(dx, i, count,
               apply_back4(kind, alpha, load4(x_or_y, i, count), load4(dy, i, count)));
}

/* y = x factor + offset */
KERNEL(scale, WORK_ITEMS)
(IN(float, x), OUT(float, y), const long count, const float factor, const float offset)
{
    AT(x);
    AT(y);
    for (EACH(i, FOURS(count)))
        store4(y, i, count, load4(x, i, count) * factor + offset);
}

/* y = a + b; y may be one of them */
KERNEL(add, WORK_ITEMS)
(IN(float, a), IN(float, b), OUT(float, y), const long count)
{
    AT(a);
    AT(b);
    AT(y);
    for (EACH(i, FOURS(count)))
        store4(y, i, count, load4(a, i, count) + load4(b, i, count));
}

/* ---- dropout ------------------------------------------------------------------------------ */

/* The random numbers of the elements e to e + 3 of the whole batch: word e % 4 of Philox(seed,
   layer; e / 4, iteration), and the following words. Four elements share a block of numbers; a
   shard may begin within a block. */
static inline void drop_bits(ulong key, ulong iteration, ulong e, uint bits[4])
{
    const ulong block = e / 4, next = block + 1;
    uint more[4];
    philox(key, (uint)block, (uint)(block >> 32), (uint)iteration, (uint)(iteration >> 32), bits);
    if (e % 4 == 0)
        return;
    philox(key, (uint)next, (uint)(next >> 32), (uint)iteration, (uint)(iteration >> 32), more);
    for (int k = 0; k < (int)(e % 4); k++) {
        bits[0] = bits[1];
        bits[1] = bits[2];
        bits[2] = bits[3];
        bits[3] = more[0];
        more[0] = more[1];
        more[1] = more[2];
    }
}

/* An element is kept if its random number is at least the rate. factor: 1 / (1 - rate), computed
   by the host. The backward pass also applies the derivative of an activation before the
   dropout: x_or_y is the derivative's input, NULL: no activation. first: index of the first
   sample in the whole batch. */
KERNEL(dropout, WORK_ITEMS)
(IN(float, x), OUT(float, y), IN(float, x_or_y), const long count, const float rate,
 const float factor, const int stream, const int activation, const float alpha,
 const long per_sample, const ulong seed, const ulong iteration, const long first)
{
    AT(x);
    AT(y);
    AT(x_or_y);
    ulong key = device_random_key(seed, RANDOM_DROPOUT, (ulong)(uint)stream);
    for (EACH(i, FOURS(count))) {
        uint bits[4];
        drop_bits(key, iteration, (ulong)(first * per_sample + i * 4), bits);
        float4 v = load4(x, i, count) * factor;
        v.x = random_to_float(bits[0]) >= rate ? v.x : 0;
        v.y = random_to_float(bits[1]) >= rate ? v.y : 0;
        v.z = random_to_float(bits[2]) >= rate ? v.z : 0;
        v.w = random_to_float(bits[3]) >= rate ? v.w : 0;
        if (x_or_y)
            v = activate_back4(activation, alpha, load4(x_or_y, i, count), v);
        store4(y, i, count, v);
    }
}

/* ---- PAD and CROP ------------------------------------------------------------------------- */

/* Images of outer_h x outer_w that contain images of inner_h x inner_w at (top, left). Channels
   are processed in `packs` of `pack` floats, 4 or 1. */
#define FRAME                                                                     \
    const long batch, const long outer_h, const long outer_w, const long inner_h, \
        const long inner_w, const long packs, const long top, const long left, const int pack

static inline void copy_pack(global const float *from, long i, global float *to, long k, int pack)
{
    if (pack == 4)
        ((global float4 *)to)[k] = ((global const float4 *)from)[i];
    else
        to[k] = from[i];
}

/* Inner images into outer ones, and zeros around them. */
KERNEL(pad, WORK_ITEMS)(IN(float, from), OUT(float, to), FRAME)
{
    AT(from);
    AT(to);
    for (EACH(i, batch * outer_h * outer_w * packs)) {
        image_position at = position_of(i, outer_h, outer_w, packs);
        long row = at.row - top, column = at.column - left;
        if (row >= 0 && row < inner_h && column >= 0 && column < inner_w)
            copy_pack(from, ((at.n * inner_h + row) * inner_w + column) * packs + at.pack, to, i,
                      pack);
        else if (pack == 4)
            ((global float4 *)to)[i] = (float4)(0);
        else
            to[i] = 0;
    }
}

/* Inner images out of outer ones. */
KERNEL(crop, WORK_ITEMS)(IN(float, from), OUT(float, to), FRAME)
{
    AT(from);
    AT(to);
    for (EACH(i, batch * inner_h * inner_w * packs)) {
        image_position at = position_of(i, inner_h, inner_w, packs);
        long row = at.row + top, column = at.column + left;
        copy_pack(from, ((at.n * outer_h + row) * outer_w + column) * packs + at.pack, to, i, pack);
    }
}

/* ---- SLICE and INSERT -------------------------------------------------------------------- */

/* Runs of a slice and of the whole that contains it (device/slices.h); sizes in packs of `pack`
   floats, 4 or 1, of which `packs` are copied or written. */
#define RUNS                                                                                  \
    const long packs, const long runs, const long floats, const long outer, const long first, \
        const long step, const int pack

/* Where in the whole pack i of the slice is. */
static inline long whole_at(long i, long runs, long floats, long outer, long first, long step)
{
    long pack, run;
    long at = divide(i, floats, &pack);
    at = divide(at, runs, &run);
    return at * outer + first + run * step + pack;
}

KERNEL(slice, WORK_ITEMS)(IN(float, from), OUT(float, to), RUNS)
{
    AT(from);
    AT(to);
    for (EACH(i, packs))
        copy_pack(from, whole_at(i, runs, floats, outer, first, step), to, i, pack);
}

KERNEL(insert, WORK_ITEMS)(IN(float, from), OUT(float, to), RUNS)
{
    AT(from);
    AT(to);
    for (EACH(i, packs))
        copy_pack(from, i, to, whole_at(i, runs, floats, outer, first, step), pack);
}

/* The same, with zeros between the runs. */
KERNEL(spread, WORK_ITEMS)(IN(float, from), OUT(float, to), RUNS)
{
    AT(from);
    AT(to);
    for (EACH(i, packs)) {
        long rest, within = 0, run = runs;
        long at = divide(i, outer, &rest);
        if (rest >= first)
            run = divide(rest - first, step, &within);
        if (run < runs && within < floats)
            copy_pack(from, (at * runs + run) * floats + within, to, i, pack);
        else if (pack == 4)
            ((global float4 *)to)[i] = (float4)(0);
        else
            to[i] = 0;
    }
}

/* Four neighbouring elements at once: pack number i of a tensor of `count`, whose last pack may
   hold fewer. Tensors begin at multiples of 64 bytes. */
#ifndef DEVICE_OPENCL_FOURS_H
#define DEVICE_OPENCL_FOURS_H

#define FOURS(count) (((count) + 3) / 4)

static inline float4 load4(global const float *x, long i, long count)
{
    long left = count - i * 4;
    if (left >= 4)
        return ((global const float4 *)x)[i];
    x += i * 4;
    return (float4)(x[0], left > 1 ? x[1] : 0.0f, left > 2 ? x[2] : 0.0f, 0.0f);
}

static inline void store4(global float *y, long i, long count, float4 v)
{
    long left = count - i * 4;
    if (left >= 4) {
        ((global float4 *)y)[i] = v;
        return;
    }
    y += i * 4;
    y[0] = v.x;
    if (left > 1)
        y[1] = v.y;
    if (left > 2)
        y[2] = v.z;
}

#endif

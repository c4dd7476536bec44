/* Places in an NHWC image. */
#ifndef DEVICE_OPENCL_POSITIONS_H
#define DEVICE_OPENCL_POSITIONS_H

/* at / by and the rest; 64-bit division is some 70 instructions, and rarely needed. */
static inline long divide(long at, long by, long *rest)
{
    long quotient;
    if (((at | by) >> 32) == 0)
        quotient = (long)((uint)at / (uint)by);
    else
        quotient = at / by;
    *rest = at - quotient * by;
    return quotient;
}

/* Sample, row, column and pack of channels, which is the innermost. */
typedef struct image_position {
    long n, row, column, pack;
} image_position;

static inline image_position position_of(long i, long height, long width, long packs)
{
    image_position at;
    long rest = divide(i, packs, &at.pack);
    rest = divide(rest, width, &at.column);
    at.n = divide(rest, height, &at.row);
    return at;
}

#endif

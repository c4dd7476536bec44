#include "device/opencl/plugin/kernels/common.h"

/* Gathers samples into the network's input, scaled, with their targets and weights. Groups:
   dimension 0 counts pieces of a sample, plus one for its target if it has one; dimension 1
   counts samples. The host transforms and standardizes samples (gpu_driver.host_transforms). */
#include "device/opencl/plugin/kernels/shared.h"

/* This group's piece of sample `sample`: `count` bytes or floats, four at a time where all begin at
   multiples of four. */
static inline void write_piece(global const uchar *x, int x_bytes, float scale, long sample,
                               long count, global float *to)
{
    long begin = (long)get_group_id(0) * GATHER_PIECE, end = min(begin + GATHER_PIECE, count);
    global const uchar *bytes = x + sample * count;
    global const float *floats = (global const float *)x + sample * count;
    if (count % 4 == 0) {
        global const uchar4 *bytes4 = (global const uchar4 *)bytes;
        global const float4 *floats4 = (global const float4 *)floats;
        for (long i = begin / 4 + get_local_id(0); i < end / 4; i += WORK_ITEMS)
            ((global float4 *)to)[i] = (x_bytes ? convert_float4(bytes4[i]) : floats4[i]) * scale;
        return;
    }
    for (long i = begin + get_local_id(0); i < end; i += WORK_ITEMS)
        to[i] = (x_bytes ? (float)bytes[i] : floats[i]) * scale;
}

/* Class numbers become one-hot where the target has columns for them. */
static inline void write_target(global const float *y, int y_labels, long sample, long count,
                                long columns, global float *to)
{
    global const int *labels = (global const int *)y + sample * (count / columns);
    for (long i = get_local_id(0); i < count; i += WORK_ITEMS) {
        long column, item = divide(i, columns, &column);
        if (!y_labels)
            to[i] = y[sample * count + i];
        else
            to[i] = columns > 1 ? (float)(labels[item] == column) : (float)labels[item];
    }
}

/* to [batch][count]; target [batch][target_count], and with it own_weight [batch], or NULL; `columns`
   of the target: classes, or 1. weight: of all samples, NULL: 1 each. */
KERNEL(gather, WORK_ITEMS)
(OUT(float, to), OUT(float, target), OUT(float, own_weight), const long batch, const long count,
 const long target_count, const long columns, IN(uchar, x), IN(float, y), IN(float, weight),
 IN(long, index), const float scale, const int x_bytes, const int y_labels)
{
    AT(to);
    AT(target);
    AT(own_weight);
    AT(x);
    AT(y);
    AT(weight);
    AT(index);
    bool is_target = target && get_group_id(0) + 1 == get_num_groups(0);
    for (long row = get_group_id(1); row < batch; row += get_num_groups(1)) {
        long sample = index[row];
        if (!is_target) {
            write_piece(x, x_bytes, scale, sample, count, to + row * count);
            continue;
        }
        write_target(y, y_labels, sample, target_count, columns, target + row * target_count);
        if (own_weight && get_local_id(0) == 0)
            own_weight[row] = weight ? weight[sample] : 1.0f;
    }
}

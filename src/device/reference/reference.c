#include "device/reference/reference.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

#define PLAIN(function)                  \
    {                                    \
        .name = "plain", .run = function \
    }

const kernel reference_kernels[OP_COUNT] = {
    [OP_GATHER] = PLAIN(reference_gather),
    [OP_DENSE_FORWARD] = PLAIN(reference_dense_forward),
    [OP_DENSE_BACKWARD_DATA] = PLAIN(reference_dense_backward_data),
    [OP_DENSE_BACKWARD_WEIGHTS] = PLAIN(reference_dense_backward_weights),
    [OP_CONV2D_FORWARD] = PLAIN(reference_conv2d_forward),
    [OP_CONV2D_BACKWARD_DATA] = PLAIN(reference_conv2d_backward_data),
    [OP_CONV2D_BACKWARD_WEIGHTS] = PLAIN(reference_conv2d_backward_weights),
    [OP_MAX_POOL_FORWARD] = PLAIN(reference_max_pool_forward),
    [OP_MAX_POOL_BACKWARD] = PLAIN(reference_max_pool_backward),
    [OP_AVERAGE_POOL_FORWARD] = PLAIN(reference_average_pool_forward),
    [OP_AVERAGE_POOL_BACKWARD] = PLAIN(reference_average_pool_backward),
    [OP_ACTIVATION_FORWARD] = PLAIN(reference_activation_forward),
    [OP_ACTIVATION_BACKWARD] = PLAIN(reference_activation_backward),
    [OP_DROPOUT] = PLAIN(reference_dropout),
    [OP_BATCH_NORM_FORWARD] = PLAIN(reference_batch_norm_forward),
    [OP_BATCH_NORM_INFERENCE] = PLAIN(reference_batch_norm_inference),
    [OP_BATCH_NORM_BACKWARD] = PLAIN(reference_batch_norm_backward),
    [OP_SCALE] = PLAIN(reference_scale),
    [OP_PAD] = PLAIN(reference_pad),
    [OP_CROP] = PLAIN(reference_crop),
    [OP_LOSS] = PLAIN(reference_loss),
    [OP_METRIC] = PLAIN(reference_metric),
    [OP_SQUARE_SUM] = PLAIN(reference_square_sum),
    [OP_UPDATE] = PLAIN(reference_update),
};

/* No list of its own: the host then takes the reference for every operation. */
static const kernel_list no_kernels[OP_COUNT];

static void describe(int number, cornu_device_info *info)
{
    (void)number;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "reference");
    snprintf(info->description, sizeof info->description,
             "plain C on one thread: slow, defines what is right");
    info->libraries[0] = '\0';
    info->available = true;
    info->memory_bytes = memory_total();
    info->memory_free_bytes = memory_available();
    info->threads = 1;
}

static cornu_status open_reference(int number, const device_options *options, device **out);

const device_ops device_reference = {
    .name = "reference",
    .describe = describe,
    .open = open_reference,
    HOST_DEVICE_SLOTS,
};

static cornu_status open_reference(int number, const device_options *options, device **out)
{
    (void)number;
    device_options single = options ? *options : (device_options){.threads = 1};
    single.threads = 1;
    return host_open(&device_reference, no_kernels, &single, out);
}

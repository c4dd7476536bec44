/* The cpu device: the host's memory, and for each operation the kernels to try in order. After
   each list comes the reference, for what its kernels refuse. */
#include "device/cpu/cpu.h"
#include "base/memory.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>

/* The kernels of each operation of ops.def: an operation without a row does not compile. */
#define KERNELS(operation, ...) static const kernel *const operation##_list[] = {__VA_ARGS__, NULL}
KERNELS(gather_samples, &cpu_gather);
KERNELS(dense_forward, &cpu_dense_forward_amx, &cpu_indirect_dense_forward, &cpu_dense_forward);
KERNELS(dense_backward_data, &cpu_dense_backward_data_amx, &cpu_indirect_dense_backward_data,
        &cpu_dense_backward_data);
KERNELS(dense_backward_weights, &cpu_dense_backward_amx, &cpu_dense_backward_weights_amx,
        &cpu_dense_backward, &cpu_indirect_dense_backward_weights, &cpu_dense_backward_weights);
KERNELS(conv2d_forward, &cpu_conv_first_pool_forward, &cpu_conv_first_forward,
        &cpu_conv_last_forward, &cpu_winograd_pool_forward, &cpu_winograd_forward,
        &cpu_depthwise_forward, &cpu_indirect_forward);
KERNELS(conv2d_backward_data, &cpu_conv_last_backward_data, &cpu_conv_first_backward_data,
        &cpu_winograd_backward_data, &cpu_depthwise_backward_data, &cpu_indirect_backward_data);
KERNELS(conv2d_backward_weights, &cpu_conv_first_backward_weights, &cpu_conv_last_backward_weights,
        &cpu_winograd_backward_both, &cpu_winograd_backward_weights,
        &cpu_depthwise_backward_weights, &cpu_indirect_backward_weights);
KERNELS(max_pool_forward, &cpu_max_pool_forward_2x2, &cpu_max_pool_forward);
KERNELS(max_pool_backward, &cpu_conv_first_pool_backward, &cpu_winograd_pool_backward,
        &cpu_max_pool_backward_2x2_fused, &cpu_max_pool_backward_2x2, &cpu_max_pool_backward);
KERNELS(average_pool_forward, &cpu_average_pool_forward);
KERNELS(average_pool_backward, &cpu_average_pool_backward);
KERNELS(activation_forward, &cpu_softmax_head, &cpu_softmax_forward, &cpu_activation_forward);
KERNELS(activation_backward, &cpu_conv_first_relu_backward, &cpu_softmax_backward,
        &cpu_activation_backward);
KERNELS(dropout, &cpu_dropout);
KERNELS(draw, &cpu_draw);
KERNELS(resample_forward, &cpu_resample_forward);
KERNELS(resample_backward, &cpu_resample_backward);
KERNELS(recolor_forward, &cpu_recolor);
KERNELS(recolor_backward, &cpu_recolor);
KERNELS(batch_norm_forward, &cpu_batch_norm_forward_residual, &cpu_batch_norm_forward);
KERNELS(batch_norm_inference, &cpu_batch_norm_inference_residual, &cpu_batch_norm_inference);
KERNELS(batch_norm_backward, &cpu_batch_norm_backward);
KERNELS(layer_norm_forward, &cpu_layer_norm_forward);
KERNELS(layer_norm_backward, &cpu_layer_norm_backward);
KERNELS(scale, &cpu_attention, &cpu_scale);
KERNELS(add, &cpu_add_activation, &cpu_add_activation_backward, &cpu_add);
KERNELS(binary_forward, &cpu_binary_forward);
KERNELS(binary_backward, &cpu_binary_backward);
KERNELS(slice, &cpu_unpack, &cpu_slice);
KERNELS(insert, &cpu_pack, &cpu_insert);
KERNELS(matmul, &cpu_attention, &cpu_attention_backward, &cpu_matmul);
KERNELS(transpose, &cpu_transpose);
KERNELS(embedding_forward, &cpu_embedding_forward);
KERNELS(embedding_backward, &cpu_embedding_backward);
KERNELS(recurrent_forward, &cpu_recurrent_forward);
KERNELS(recurrent_backward, &cpu_recurrent_backward);
KERNELS(pad, &cpu_pad);
KERNELS(crop, &cpu_crop);
KERNELS(loss, &cpu_softmax_head, &cpu_softmax_loss, &cpu_loss);
KERNELS(metric, &cpu_metric);
KERNELS(penalty, &cpu_penalty);
KERNELS(tally, &cpu_tally);
KERNELS(square_sum, &cpu_penalized_square_sum, &cpu_square_sum);
KERNELS(update, &cpu_update);
KERNELS(accumulate, &cpu_accumulate);
KERNELS(average, &cpu_average);
KERNELS(layerwise, &cpu_layerwise);
KERNELS(factored_update, &cpu_factored_update);
KERNELS(matrix_update, &cpu_matrix_update);
KERNELS(constrain, &cpu_constrain);
#undef KERNELS

static const kernel_list kernels[OP_COUNT] = {
#define OP(id, operation, ...) [OP_##id] = operation##_list,
#include "step/ops.def"
};

/* "model name : Intel(R) Xeon(R) ..." of /proc/cpuinfo; "CPU" without one. */
static void model_name(char *name, size_t size)
{
    char line[512];
    snprintf(name, size, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += strspn(value, ": \t");
        snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    fclose(f);
}

/* The widest vector instructions that kernels may use. */
static const char *instruction_set(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (cpu_isa_runs(CPU_ISA_amx))
        return "AMX";
    if (__builtin_cpu_supports("avx512f"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return "AVX2";
    if (__builtin_cpu_supports("avx"))
        return "AVX";
    return "SSE2";
#elif defined(__aarch64__)
    return "NEON";
#else
    return "no vector instructions";
#endif
}

static void describe(int number, cornu_device_info *info)
{
    (void)number;
    char name[160];
    model_name(name, sizeof name);
    int cores = threads_default();
    snprintf(info->name, sizeof info->name, "cpu");
    snprintf(info->description, sizeof info->description, "%s, %d core%s, %s", name, cores,
             PLURAL(cores, "", "s"), instruction_set());
    info->libraries[0] = '\0';
    info->reason[0] = '\0';
    info->available = true;
    info->memory_bytes = memory_total();
    info->memory_free_bytes = memory_available();
    info->threads = cores;
}

extern const device_ops device_cpu;

static cornu_status cpu_open(int number, const device_options *options, device **out)
{
    (void)number;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa)); /* so that no kernel refuses for it later */
    TRY(host_open(&device_cpu, kernels, options, out));
    /* When a test forces the reference kernels, they read row-major weights. */
    host_device *h = (host_device *)(void *)*out;
    h->panels = !h->forced || strcmp(h->forced, reference_kernels[OP_DENSE_FORWARD].name) != 0;
    return CORNU_OK;
}

static cornu_status limits(device *d, device_limits *out)
{
    return cpu_limits_measure(((host_device *)(void *)d)->pool, out);
}

static double probe(device *d)
{
    return cpu_limits_probe(((host_device *)(void *)d)->pool);
}

const device_ops device_cpu = {
    .name = "cpu",
    .describe = describe,
    .open = cpu_open,
    .limits = limits,
    .probe = probe,
    HOST_DEVICE_SLOTS,
};

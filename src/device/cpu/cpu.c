/* The cpu device: the host's memory, and for each operation the kernels to try in order. The host
   has the reference kernel behind every list, so nothing is ever without one. */
#include "device/cpu/cpu.h"
#include "base/memory.h"
#include "device/cpu/limits.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

#define KERNELS(id, ...)                \
    [OP_##id] = (const kernel *const[]) \
    {                                   \
        __VA_ARGS__, NULL               \
    }
static const kernel_list kernels[OP_COUNT] = {
    KERNELS(GATHER, &cpu_gather),
    KERNELS(DENSE_FORWARD, &cpu_dense_forward_amx, &cpu_dense_forward),
    KERNELS(DENSE_BACKWARD_DATA, &cpu_dense_backward_data_amx, &cpu_dense_backward_data),
    KERNELS(DENSE_BACKWARD_WEIGHTS, &cpu_dense_backward_amx, &cpu_dense_backward_weights_amx,
            &cpu_dense_backward, &cpu_dense_backward_weights),
    KERNELS(CONV2D_FORWARD, &cpu_conv_first_pool_forward, &cpu_conv_first_forward,
            &cpu_winograd_pool_forward, &cpu_winograd_forward, &cpu_conv_forward),
    KERNELS(CONV2D_BACKWARD_DATA, &cpu_winograd_backward_data, &cpu_conv_backward_data),
    KERNELS(CONV2D_BACKWARD_WEIGHTS, &cpu_conv_first_backward_weights, &cpu_winograd_backward_both,
            &cpu_winograd_backward_weights, &cpu_conv_backward_weights),
    KERNELS(MAX_POOL_FORWARD, &cpu_max_pool_forward_2x2, &cpu_max_pool_forward),
    KERNELS(MAX_POOL_BACKWARD, &cpu_conv_first_pool_backward, &cpu_winograd_pool_backward,
            &cpu_max_pool_backward_2x2_fused, &cpu_max_pool_backward_2x2, &cpu_max_pool_backward),
    KERNELS(AVERAGE_POOL_FORWARD, &cpu_average_pool_forward),
    KERNELS(AVERAGE_POOL_BACKWARD, &cpu_average_pool_backward),
    KERNELS(ACTIVATION_FORWARD, &cpu_softmax_head, &cpu_softmax_forward, &cpu_activation_forward),
    KERNELS(ACTIVATION_BACKWARD, &cpu_conv_first_relu_backward, &cpu_activation_backward),
    KERNELS(DROPOUT, &cpu_dropout),
    KERNELS(BATCH_NORM_FORWARD, &cpu_batch_norm_forward),
    KERNELS(BATCH_NORM_INFERENCE, &cpu_batch_norm_inference),
    KERNELS(BATCH_NORM_BACKWARD, &cpu_batch_norm_backward),
    KERNELS(SCALE, &cpu_scale),
    KERNELS(PAD, &cpu_pad),
    KERNELS(CROP, &cpu_crop),
    KERNELS(LOSS, &cpu_softmax_head, &cpu_softmax_loss, &cpu_loss),
    KERNELS(METRIC, &cpu_metric),
    KERNELS(SQUARE_SUM, &cpu_square_sum),
    KERNELS(UPDATE, &cpu_update),
    KERNELS(DENSE_UPDATE, &cpu_dense_update),
};

/* "model name : Intel(R) Xeon(R) ..." of /proc/cpuinfo; "CPU" where there is none. */
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
    const dnnl_version_t *v = dnnl_version();
    snprintf(info->name, sizeof info->name, "cpu");
    snprintf(info->description, sizeof info->description, "%s, %d core%s, %s", name, cores,
             PLURAL(cores, "", "s"), instruction_set());
    snprintf(info->libraries, sizeof info->libraries, "oneDNN %d.%d.%d", v->major, v->minor,
             v->patch);
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
    TRY(host_open(&device_cpu, kernels, options, out));
    /* The reference kernels, where a test forces them, take rows. */
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

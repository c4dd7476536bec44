/* The plug-in's one exported symbol, and the program's functions under their own names. */
#include "device/cuda/plugin/core.h"

/* Set once, by the program's loader, before anything else of the plug-in runs. */
static const cuda_host *host;

cornu_status status_fail_v(cornu_status code, const char *format, va_list arguments)
{
    return host->fail(code, format, arguments);
}

cornu_status status_fail(cornu_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    host->fail(code, format, arguments);
    va_end(arguments);
    return code;
}

cornu_status status_prefix(cornu_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    host->prefix(code, format, arguments);
    va_end(arguments);
    return code;
}

const char *cornu_last_error(void)
{
    return host->last_error();
}

cornu_status plan_build(const cornu_model *model, const plan_options *options, plan **out)
{
    return host->plan_build(model, options, out);
}

cornu_status gather_check(const plan *p, const step_input *input)
{
    return host->gather_check(p, input);
}

const loss_kind *loss_kind_of(loss_id id)
{
    return host->loss_kind_of(id);
}

const metric_kind *metric_kind_of(metric_id id)
{
    return host->metric_kind_of(id);
}

bool activation_from_output(activation_kind kind)
{
    return host->activation_from_output(kind);
}

CORNU_API const cuda_plugin *cornu_cuda_plugin(const cuda_host *of_program);

const cuda_plugin *cornu_cuda_plugin(const cuda_host *of_program)
{
    static const cuda_plugin plugin = {.version = CUDA_PLUGIN_VERSION,
                                       .count = cuda_count,
                                       .describe = cuda_describe,
                                       .open = gpu_open};
    host = of_program;
    return &plugin;
}

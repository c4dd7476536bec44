/* Linked into a plug-in: defines the program's functions under their names. */
#include "device/accelerator/plugin.h"
#include "device/gather_sample.h"

static const gpu_host *host;

void gpu_host_set(const gpu_host *of_program)
{
    host = of_program;
}

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

cornu_status plan_variable_forms(const cornu_model *model, tensor_form **out)
{
    return host->plan_variable_forms(model, out);
}

cornu_status gather_check(const plan *p, const step_input *input)
{
    return host->gather_check(p, input);
}

void gather_sample(const plan *p, const op *o, const step_input *input, int64_t row, float *x,
                   float *t)
{
    host->gather_sample(p, o, input, row, x, t);
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

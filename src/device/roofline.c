#include "device/roofline.h"
#include <string.h>

device_limits roofline_at(const device_limits *l, const char *precision)
{
    device_limits at = *l;
    bool tf32 = precision && strcmp(precision, "tf32") == 0;
    bool bf16 = precision && strcmp(precision, "bf16") == 0;
    double rate = tf32 ? l->tf32 : bf16 ? l->bf16 : l->fma;
    if (rate > 0)
        at.fma = rate;
    return at;
}

cornu_status roofline_of(const char *name, int threads, device_limits *out)
{
    device_id id;
    device *d;
    TRY(device_find(name, &id));
    TRY(id.ops->open(id.number, &(device_options){.threads = threads}, &d));
    cornu_status status = d->ops->limits(d, out);
    d->ops->close(d);
    return status;
}

cornu_status roofline_measure(device *d, const char *precision, int threads, device_limits *out)
{
    TRY(d->ops->limits ? d->ops->limits(d, out) : roofline_of("cpu", threads, out));
    *out = roofline_at(out, precision);
    return CORNU_OK;
}

static void raise_to(double *rate, double other)
{
    *rate = other > *rate ? other : *rate;
}

void roofline_raise(device_limits *l, const device_limits *again)
{
    raise_to(&l->fma, again->fma);
    raise_to(&l->tf32, again->tf32);
    raise_to(&l->bf16, again->bf16);
    raise_to(&l->read, again->read);
    raise_to(&l->update, again->update);
    raise_to(&l->cache_update, again->cache_update);
}

/* ---- times from limits ------------------------------------------------------------------ */

static double memory_seconds(const device_limits *l, double bytes, double working_set)
{
    double bandwidth = l->read > l->update ? l->read : l->update;
    if (working_set <= l->cache_bytes && l->cache_update > bandwidth)
        bandwidth = l->cache_update;
    return bandwidth > 0 ? bytes / bandwidth : 0;
}

static double fma_seconds(const device_limits *l, double flops)
{
    return l->fma > 0 ? flops / l->fma : 0;
}

double roofline_seconds(const device_limits *l, double flops, double bytes, double working_set)
{
    double compute = fma_seconds(l, flops), memory = memory_seconds(l, bytes, working_set);
    return compute > memory ? compute : memory;
}

const char *roofline_bound(const device_limits *l, double flops, double bytes, double working_set)
{
    return fma_seconds(l, flops) >= memory_seconds(l, bytes, working_set) ? "FMA" : "memory";
}

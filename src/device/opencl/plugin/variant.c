/* Which variant of the kernels a device runs. A driver's compiler may refuse kernels, or give
   them fewer work-items than their tiles need: then smaller tiles are used, and convolutions do
   without Winograd. The choice, and the result of its check, are stored in the cache with the
   compiled kernels, under the same key. */
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/kernels/conv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is kept ----------------------------------------------------------------------------
 */

typedef struct variant {
    opencl_blocking blocking;
    int32_t no_winograd;
    char notice[sizeof((opencl *)0)->notice];
} variant;

typedef struct variant_key {
    char *source, *options, *device;
} variant_key;

static void key_free(variant_key *k)
{
    free(k->source);
    free(k->options);
    free(k->device);
}

static cornu_status all_sources(char **out)
{
    text t = {0};
    for (int i = 0; i < OPENCL_UNIT_COUNT; i++)
        text_add(&t, "%s", opencl_sources[i]);
    return text_take(&t, out);
}

/* The compiler's options, and the blocking that was wanted: the compiler does not hear of all of
 * it. */
static cornu_status wanted_text(const opencl *d, const char *source, char **out)
{
    char *options = NULL, fields[TUNING_TEXT];
    TRY(opencl_options(&d->core->wanted, source, &options));
    opencl_blocking_text(&d->core->wanted, fields);
    cornu_status status = memory_format(out, "%s; %s", options, fields);
    free(options);
    return status;
}

static cornu_status key_new(const opencl *d, variant_key *k)
{
    *k = (variant_key){0};
    cornu_status status = all_sources(&k->source);
    if (status == CORNU_OK)
        status = wanted_text(d, k->source, &k->options);
    if (status == CORNU_OK)
        status = opencl_device_text(d, &k->device);
    if (status != CORNU_OK)
        key_free(k);
    return status;
}

static opencl_cache_key cache_key(const variant_key *k)
{
    return (opencl_cache_key){"variant", k->source, k->options, k->device};
}

static cornu_status read_kept(opencl *d)
{
    variant_key k;
    unsigned char *data = NULL;
    size_t bytes = 0;
    variant found;
    TRY(key_new(d, &k));
    const opencl_cache_key key = cache_key(&k);
    opencl_cache_read(&key, &data, &bytes);
    if (data && bytes == sizeof found) {
        memcpy(&found, data, sizeof found);
        d->blocking = found.blocking;
        d->no_winograd = found.no_winograd;
        snprintf(d->notice, sizeof d->notice, "%s", found.notice);
        d->tried = true;
    }
    free(data);
    key_free(&k);
    return CORNU_OK;
}

bool opencl_is_tried(const device *d)
{
    return ((const opencl *)(const void *)d)->tried;
}

void opencl_keep_tried(device *d)
{
    opencl *o = (opencl *)(void *)d;
    variant_key k;
    variant now = {.blocking = o->blocking, .no_winograd = o->no_winograd};
    o->tried = true;
    snprintf(now.notice, sizeof now.notice, "%s", o->notice);
    if (key_new(o, &k) != CORNU_OK)
        return;
    const opencl_cache_key key = cache_key(&k);
    opencl_cache_write(&key, (const unsigned char *)&now, sizeof now);
    key_free(&k);
}

/* ---- what the driver's compiler takes ---------------------------------------------------------
 */

static cornu_status check_kernel(opencl *d, opencl_function function, size_t items)
{
    cl_kernel kernel;
    size_t most = 0;
    TRY(opencl_kernel_new(d, function, &kernel));
    cornu_status status = CL(d, clGetKernelWorkGroupInfo(kernel, d->id, CL_KERNEL_WORK_GROUP_SIZE,
                                                         sizeof most, &most, NULL));
    (void)d->lib->clReleaseKernel(kernel);
    TRY(status);
    if (most >= items)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "device %s: kernel %s: found work-groups of at most %zu work-items; "
                       "expected %zu",
                       d->g.name, opencl_function_name(function), most, items);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* With wide rows per work-item, as on CPUs, some kernels do not exist: kernels/gemm_shapes.h. */
static bool is_there(const opencl *d, opencl_function function)
{
    const char *name = opencl_function_name(function);
    return d->blocking.item_n <= 8 ||
           (!ends_with(name, "_narrow") && !ends_with(name, "_flat") && !ends_with(name, "_small"));
}

static size_t k_groups_of(const opencl_blocking *b, opencl_function function)
{
    const bool gradient = function >= OPENCL_conv_backward_data_square &&
                          function <= OPENCL_conv_backward_weights_small;
    return gradient ? (size_t)CONV_GRADIENT_K_GROUPS(b->gemm_m, b->gemm_n, b->item_m, b->item_n)
                    : 1;
}

/* Kernels whose tiles follow from the blocking run in work-groups that do, too. (Where Winograd's
   fail, convolutions go without.) */
static bool has_tiles(opencl_unit unit)
{
    return unit == OPENCL_UNIT_conv || unit == OPENCL_UNIT_dense;
}

static cornu_status check_unit(opencl *d, opencl_unit unit)
{
    const opencl_blocking *b = &d->blocking;
    size_t items = (size_t)(b->gemm_m / b->item_m) * (size_t)(b->gemm_n / b->item_n);
    cl_program program;
    TRY(opencl_program_of(d, unit, &program));
    if (!has_tiles(unit))
        return CORNU_OK;
    for (int f = 0; f < OPENCL_FUNCTION_COUNT; f++)
        if (opencl_unit_of((opencl_function)f) == unit && is_there(d, (opencl_function)f))
            TRY(check_kernel(d, (opencl_function)f, items * k_groups_of(b, (opencl_function)f)));
    return CORNU_OK;
}

/* Why, and what runs instead. Of a compiler's lines, which messages show with "\n" between, the
   first. */
static void note(opencl *d, const char *instead)
{
    const char *why = cornu_last_error(), *end = strstr(why, "\\n");
    int length = end ? (int)(end - why) : (int)strlen(why);
    size_t used = strlen(d->notice);
    snprintf(d->notice + used, sizeof d->notice - used, "%s%.*s; %s", used ? "; " : "",
             length < 200 ? length : 200, why, instead);
}

static cornu_status fail_device(void)
{
    return status_fail(CORNU_DEVICE, "%s", cornu_last_error());
}

static cornu_status check_units(opencl *d)
{
    for (int u = 0; u < OPENCL_UNIT_COUNT; u++) {
        if (u == OPENCL_UNIT_probe || (u == OPENCL_UNIT_winograd && d->no_winograd))
            continue;
        cornu_status status = check_unit(d, (opencl_unit)u);
        if (status == CORNU_UNSUPPORTED && u == OPENCL_UNIT_winograd) {
            d->no_winograd = true;
            note(d, "convolutions go without Winograd");
            continue;
        }
        if (status == CORNU_UNSUPPORTED && !has_tiles((opencl_unit)u))
            return fail_device(); /* no simpler ones are known */
        TRY(status);
    }
    return CORNU_OK;
}

static bool take_simpler(opencl *d)
{
    char instead[64];
    opencl_blocking *b = &d->blocking;
    if (!opencl_blocking_simpler(d, b))
        return false;
    snprintf(instead, sizeof instead, "tiles of %d x %d x %d are taken", b->gemm_m, b->gemm_n,
             b->gemm_k);
    note(d, instead);
    opencl_programs_close(d);
    return true;
}

cornu_status opencl_variant_choose(opencl *d)
{
    cornu_status status;
    d->core->wanted = d->blocking;
    TRY(read_kept(d));
    if (d->tried)
        return CORNU_OK;
    do {
        status = check_units(d);
    } while (status == CORNU_UNSUPPORTED && take_simpler(d));
    return status == CORNU_UNSUPPORTED ? fail_device() : status;
}

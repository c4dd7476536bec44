/* What the OpenCL plug-in would enqueue for a training step on a GPU that is not here:

     opencl_launches VENDOR COMPUTE_UNITS BATCH WORKLOAD...

   Its own lists of kernels, its table of blockings and its choice of tiles and slices, behind a
   driver that allocates nothing and runs nothing. Each line is a JSON object: the blocking; an
   operation; a launch of the operation before it. scripts/opencl_gpus.py reads them. */
#include "device/accelerator/core.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/ops/ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const functions[] = {
#define UNIT(name)
#define KERNEL(unit, name) "cornu_" #name,
#include "device/opencl/plugin/kernels/kernels.def"
};

/* ---- launches ------------------------------------------------------------------------------ */

static void print_argument(const opencl_argument *a)
{
    switch (a->kind) {
    case OPENCL_ADDRESS:
        printf("%llu, 0", (unsigned long long)a->address);
        break;
    case OPENCL_INT:
        printf("%d", a->i);
        break;
    case OPENCL_LONG:
        printf("%lld", (long long)a->l);
        break;
    case OPENCL_FLOAT:
        printf("%.9g", isfinite(a->f) ? (double)a->f : 0);
        break;
    case OPENCL_STEP:
        printf("%s", a->field <= STEP_RESULTS ? "0, 0" : "0");
        break;
    }
}

static void print_sizes(const char *name, const size_t *sizes)
{
    printf("\"%s\": [%zu, %zu, %zu], ", name, sizes[0] ? sizes[0] : 1, sizes[1] ? sizes[1] : 1,
           sizes[2] ? sizes[2] : 1);
}

cornu_status opencl_launch(gpu *g, opencl_function function, opencl_grid grid,
                           const opencl_argument *arguments, int count)
{
    (void)g;
    printf("{\"launch\": \"%s\", ", functions[function]);
    print_sizes("groups", grid.groups);
    print_sizes("items", grid.items);
    printf("\"arguments\": [");
    for (int i = 0; i < count; i++) {
        printf("%s", i ? ", " : "");
        print_argument(&arguments[i]);
    }
    printf("]}\n");
    return CORNU_OK;
}

/* ---- a driver of nothing ------------------------------------------------------------------- */

/* Addresses that no other piece has. */
static cornu_status new_piece(gpu *g, size_t bytes, gpu_address *out)
{
    opencl_core *c = opencl_of(g)->core;
    c->taken += 256;
    *out = (gpu_address)c->taken;
    c->taken += (double)bytes;
    return CORNU_OK;
}

static void free_piece(gpu *g, gpu_address at)
{
    (void)g, (void)at;
}

static cornu_status piece_info(gpu *g, double *left, double *largest)
{
    (void)g;
    *left = *largest = INFINITY;
    return CORNU_OK;
}

static cornu_status pinned_new(gpu *g, size_t bytes, void **out)
{
    (void)g;
    *out = malloc(bytes);
    return *out ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "no memory");
}

static void pinned_free(gpu *g, void *memory)
{
    (void)g;
    free(memory);
}

static cornu_status copy_in(gpu *g, gpu_address to, const void *from, size_t bytes, bool beside)
{
    (void)g, (void)to, (void)from, (void)bytes, (void)beside;
    return CORNU_OK;
}

static cornu_status clear(gpu *g, gpu_address at, size_t bytes)
{
    (void)g, (void)at, (void)bytes;
    return CORNU_OK;
}

static cornu_status nothing(gpu *g)
{
    (void)g;
    return CORNU_OK;
}

/* Operation after operation, as opencl_resolve records them. */
static cornu_status resolve(gpu *g, prepared *p)
{
    for (int i = gpu_next_op(p, -1); i < p->plan->op_count; i = gpu_next_op(p, i)) {
        const op *o = &p->plan->ops[i];
        printf("{\"operation\": \"%s\", \"number\": %d, \"layer\": \"%s\", \"kernel\": \"%s\", "
               "\"flops\": %.17g, \"bytes\": %.17g}\n",
               op_infos[o->kind].name, i + 1, o->name, p->chosen.choices[i].kernel,
               p->chosen.choices[i].flops, p->chosen.choices[i].bytes);
        TRY(gpu_enqueue_op(g, p, i));
    }
    return CORNU_OK;
}

static void close_nothing(gpu *g)
{
    (void)g;
}

static const gpu_kernel_list opencl_kernels[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = opencl_##name,
#include "step/ops.def"
};

static const gpu_driver driver = {.name = "opencl",
                                  .kernels = opencl_kernels,
                                  .close = close_nothing,
                                  .memory_new = new_piece,
                                  .memory_free = free_piece,
                                  .memory_info = piece_info,
                                  .pinned_new = pinned_new,
                                  .pinned_free = pinned_free,
                                  .copy_in = copy_in,
                                  .join = nothing,
                                  .clear = clear,
                                  .synchronize = nothing,
                                  .resolve = resolve,
                                  .host_transforms = true};

/* ---- the GPU ------------------------------------------------------------------------------- */

static const char *vendor; /* of the command line; clGetDeviceInfo has no other way to it */

static cl_int CL_API_CALL device_info(cl_device_id id, cl_device_info what, size_t size, void *out,
                                      size_t *needed)
{
    (void)id, (void)needed;
    if (what != CL_DEVICE_VENDOR)
        return CL_INVALID_VALUE;
    snprintf(out, size, "%s", vendor);
    return CL_SUCCESS;
}

/* What GPUs of all three makers have at least. */
static void fill_in(opencl *d, opencl_library *lib, opencl_core *core, int compute_units)
{
    lib->clGetDeviceInfo = device_info;
    *d = (opencl){.lib = lib,
                  .group_most = 256,
                  .local_bytes = 32768,
                  .compute_units = compute_units,
                  .core = core};
}

static cornu_status explain(gpu *g, const char *workload, int64_t batch)
{
    cornu_model *model = NULL;
    plan *p = NULL;
    prepared *r = NULL;
    cornu_status status;
    printf("{\"workload\": \"%s\"}\n", workload);
    TRY_GOTO(cornu_model_open(workload, &model));
    TRY_GOTO(model_initialize(model, 1));
    TRY_GOTO(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = batch}, &p));
    TRY_GOTO(gpu_bind(g, model));
    TRY_GOTO(gpu_prepare(g, p, &r));
done:
    gpu_release(g, r);
    plan_free(p);
    gpu_variables_free(g);
    cornu_model_close(model);
    return status;
}

static cornu_status run(opencl *d, int64_t batch, char *const *workloads)
{
    TRY(gpu_open_shared(&d->g, &driver, 0, NULL));
    TRY(opencl_blocking_for(d, &d->blocking));
    printf("{\"blocking\": {");
#define FIELD(field, macro) printf("\"" #macro "\": %d, ", d->blocking.field);
    OPENCL_BLOCKING(FIELD)
#undef FIELD
    printf("\"compute_units\": %d}}\n", d->compute_units);
    for (; *workloads; workloads++)
        TRY(explain(&d->g, *workloads, batch));
    return CORNU_OK;
}

int main(int argc, char **argv)
{
    opencl d;
    opencl_library lib = {0};
    opencl_core core = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: opencl_launches VENDOR COMPUTE_UNITS BATCH WORKLOAD...\n");
        return 2;
    }
    vendor = argv[1];
    fill_in(&d, &lib, &core, atoi(argv[2]));
    cornu_status status = run(&d, atoll(argv[3]), argv + 4);
    if (status != CORNU_OK)
        fprintf(stderr, "%s\n", cornu_last_error());
    gpu_close_all(&d.g);
    return status != CORNU_OK;
}

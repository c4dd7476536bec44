/* cornu's own products on an OpenCL device beside CLBlast's, of the published workloads' shapes:
   the program that clblast.py builds and runs. In turns, on one device, in one process; each time
   is the wall clock's around many calls in a row.

   usage: clblast_compare DEVICE ROUNDS SECONDS [WORKLOAD...]

   prints a line a shape: KIND M N K WORKLOAD, then the medians of both in microseconds a call, and
   the median of the rounds' CLBlast's time over cornu's. */
#define CL_TARGET_OPENCL_VERSION 120
#include "base/clock.h"
#include "base/statistics.h"
#include "bench/report.h"
#include "device/device.h"
#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MOST = 512, ROUNDS_MOST = 31, SHAPES_MOST = 256, DEVICES_MOST = 64 };
/* Of all matrices of a product: a larger one's rows are fewer. */
static const double FLOATS_MOST = 96e6;

/* A B, A B' and A' B, as dense layers need them forward, for their input and for their weights. */
typedef enum product_kind { NN, NT, TN } product_kind;
static const char *const kinds[] = {"nn", "nt", "tn"};
static const op_kind operations[] = {OP_DENSE_FORWARD, OP_DENSE_BACKWARD_DATA,
                                     OP_DENSE_BACKWARD_WEIGHTS};

typedef struct product {
    product_kind kind;
    int64_t m, n, k;
    char from[64];
} product;

static void must(int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "clblast_compare: %s: %d: %s\n", what, failed, cornu_last_error());
    exit(1);
}

/* ---- the shapes ---------------------------------------------------------------------------- */

static product products[SHAPES_MOST];
static int product_count;

static void add(product_kind kind, int64_t m, int64_t n, int64_t k, const char *workload,
                const char *what)
{
    int64_t *rows = kind == TN ? &k : &m; /* of the batch */
    while ((double)m * (double)n + (double)m * (double)k + (double)k * (double)n > FLOATS_MOST)
        *rows /= 2;
    for (int i = 0; i < product_count; i++)
        if (products[i].kind == kind && products[i].m == m && products[i].n == n &&
            products[i].k == k)
            return;
    if (product_count == SHAPES_MOST)
        return;
    product *p = &products[product_count++];
    *p = (product){kind, m, n, k, ""};
    snprintf(p->from, sizeof p->from, "%s/%s", workload, what);
}

/* A convolution as the product that it is (implicit GEMM), and Winograd's: 36 of a tile each. */
static void add_convolution(const plan *p, const op *o, const char *workload)
{
    bool forward = o->kind == OP_CONV2D_FORWARD, weights = o->kind == OP_CONV2D_BACKWARD_WEIGHTS;
    const tensor *x = &p->tensors[o->kind == OP_CONV2D_BACKWARD_DATA ? o->out[0] : o->in[0]];
    const tensor *y = &p->tensors[forward ? o->out[0] : weights ? o->in[1] : o->in[0]];
    const window2d *w = &o->a.conv.w;
    int64_t channels = x->shape.dim[3], filters = y->shape.dim[3];
    int64_t taps = w->kernel[0] * w->kernel[1];
    int64_t pixels = y->count / filters, tiles = (pixels + 15) / 16;
    if (forward)
        add(NN, pixels, filters, taps * channels, workload, "implicit");
    else if (weights)
        add(TN, taps * channels, filters, pixels, workload, "implicit");
    else
        add(NT, x->count / channels, channels, taps * filters, workload, "implicit");
    if (!weights && taps == 9 && channels > 3)
        add(NN, 36 * tiles, forward ? filters : channels, forward ? channels : filters, workload,
            "winograd");
}

static void add_operation(const plan *p, const op *o, const char *workload)
{
    const tensor *t = p->tensors;
    const bool weights = o->kind == OP_DENSE_BACKWARD_WEIGHTS;
    if (o->kind >= OP_CONV2D_FORWARD && o->kind <= OP_CONV2D_BACKWARD_WEIGHTS)
        add_convolution(p, o, workload);
    if (o->kind < OP_DENSE_FORWARD || o->kind > OP_DENSE_BACKWARD_WEIGHTS)
        return;
    const tensor *w = &t[weights ? o->out[0] : o->in[1]];
    int64_t in = w->shape.dim[0], units = w->shape.dim[1];
    int64_t rows = t[o->in[0]].count / (o->kind == OP_DENSE_BACKWARD_DATA ? units : in);
    if (o->kind == OP_DENSE_FORWARD)
        add(NN, rows, units, in, workload, "dense");
    else if (weights)
        add(TN, in, units, rows, workload, "dense");
    else
        add(NT, rows, in, units, workload, "dense");
}

static void add_workload(const char *workload)
{
    cornu_model *model = NULL;
    plan *p = NULL;
    must(cornu_model_open(workload, &model), workload);
    must(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = model->batch}, &p),
         workload);
    for (int i = 0; i < p->op_count; i++)
        add_operation(p, &p->ops[i], workload);
    plan_free(p);
    cornu_model_close(model);
}

/* ---- cornu's side -------------------------------------------------------------------------- */

typedef struct own_side {
    device *device;
    prepared *prepared;
    plan plan;
    op ops[CALLS_MOST];
    tensor tensors[3];
} own_side;

static void set_tensor(own_side *s, int i, int64_t rows, int64_t columns, const char *name)
{
    tensor *t = &s->tensors[i];
    *t = (tensor){.name = (char *)(uintptr_t)name,
                  .role = TENSOR_BUFFER,
                  .variable = -1,
                  .shape = {2, {rows, columns}},
                  .count = rows * columns,
                  .alias = NO_TENSOR,
                  .last = CALLS_MOST,
                  .offset = s->plan.arena_bytes};
    s->plan.arena_bytes += ((size_t)t->count * sizeof(float) + 255) / 256 * 256;
}

/* `calls` times the same product, of the plan's one step. */
static void own_open(own_side *s, const product *q, int calls)
{
    s->plan = (plan){.batch = q->kind == TN ? q->k : q->m,
                     .tensors = s->tensors,
                     .tensor_count = 3,
                     .ops = s->ops,
                     .op_count = calls};
    s->plan.input = s->plan.target = s->plan.output = s->plan.input_gradient = NO_TENSOR;
    set_tensor(s, 0, q->kind == TN ? q->k : q->m, q->kind == TN ? q->m : q->k, "a");
    set_tensor(s, 1, q->kind == NT ? q->n : q->k, q->kind == NT ? q->k : q->n, "b");
    set_tensor(s, 2, q->m, q->n, "c");
    for (int i = 0; i < calls; i++) {
        op *o = &s->ops[i];
        *o = (op){.kind = operations[q->kind], .name = "product"};
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            o->in[k] = k < 2 ? k : NO_TENSOR;
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            o->out[k] = k < 1 ? 2 : NO_TENSOR;
        o->a.dense.act.kind = ACTIVATION_LINEAR;
    }
    must(s->device->ops->prepare(s->device, &s->plan, &s->prepared), "prepare");
    for (int i = 0; i < 2; i++) {
        float *values = calloc((size_t)s->tensors[i].count, sizeof *values);
        must(!values, "memory");
        for (int64_t k = 0; k < s->tensors[i].count; k++)
            values[k] = (float)(k % 17) / 16 - 0.5f;
        must(s->device->ops->write(s->device, s->prepared, i, values, s->tensors[i].count),
             "write");
        free(values);
    }
}

static void own_close(own_side *s)
{
    s->device->ops->release(s->device, s->prepared);
}

/* Seconds a call. */
static double own_run(own_side *s)
{
    const step_input input = {0};
    double begin = clock_seconds();
    must(s->device->ops->run(s->device, s->prepared, &input, 1), "run");
    must(s->device->ops->synchronize(s->device), "synchronize");
    return (clock_seconds() - begin) / s->plan.op_count;
}

/* ---- CLBlast's ------------------------------------------------------------------------------ */

typedef struct peer_side {
    cl_context context;
    cl_command_queue queue;
    cl_mem a, b, c;
} peer_side;

/* opencl:NUMBER counts the devices of all platforms, in their order. */
static cl_device_id find_device(int number)
{
    cl_platform_id platforms[DEVICES_MOST];
    cl_device_id devices[DEVICES_MOST];
    cl_uint platform_count = 0, count;
    must(clGetPlatformIDs(DEVICES_MOST, platforms, &platform_count), "clGetPlatformIDs");
    for (cl_uint i = 0; i < platform_count; i++) {
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES_MOST, devices, &count))
            continue;
        if (number < (int)count)
            return devices[number];
        number -= (int)count;
    }
    must(1, "no such device");
    return NULL;
}

static void peer_start(peer_side *s, int number)
{
    cl_device_id id = find_device(number);
    cl_int error;
    s->context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    must(error, "clCreateContext");
    s->queue = clCreateCommandQueue(s->context, id, 0, &error);
    must(error, "clCreateCommandQueue");
}

static cl_mem buffer_of(const peer_side *s, int64_t floats)
{
    cl_int error;
    const cl_float value = 0.25f;
    size_t bytes = (size_t)floats * sizeof(float);
    cl_mem m = clCreateBuffer(s->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    must(error, "clCreateBuffer");
    must(clEnqueueFillBuffer(s->queue, m, &value, sizeof value, 0, bytes, 0, NULL, NULL), "fill");
    return m;
}

static void peer_open(peer_side *s, const product *q)
{
    s->a = buffer_of(s, q->m * q->k);
    s->b = buffer_of(s, q->k * q->n);
    s->c = buffer_of(s, q->m * q->n);
}

static void peer_close(peer_side *s)
{
    clReleaseMemObject(s->a);
    clReleaseMemObject(s->b);
    clReleaseMemObject(s->c);
}

static double peer_run(peer_side *s, const product *q, int calls)
{
    size_t m = (size_t)q->m, n = (size_t)q->n, k = (size_t)q->k;
    double begin = clock_seconds();
    for (int i = 0; i < calls; i++)
        must(CLBlastSgemm(CLBlastLayoutRowMajor,
                          q->kind == TN ? CLBlastTransposeYes : CLBlastTransposeNo,
                          q->kind == NT ? CLBlastTransposeYes : CLBlastTransposeNo, m, n, k, 1,
                          s->a, 0, q->kind == TN ? m : k, s->b, 0, q->kind == NT ? k : n, 0, s->c,
                          0, n, &s->queue, NULL),
             "CLBlastSgemm");
    must(clFinish(s->queue), "clFinish");
    return (clock_seconds() - begin) / calls;
}

/* ---- in turns ------------------------------------------------------------------------------- */

/* So many calls that they take about `seconds`. */
static int choose_calls(own_side *own, const product *q, double seconds)
{
    own_open(own, q, 1);
    own_run(own);
    double one = own_run(own);
    own_close(own);
    int calls = one > 0 ? (int)(seconds / one) : CALLS_MOST;
    return calls < 1 ? 1 : calls > CALLS_MOST ? CALLS_MOST : calls;
}

static void compare(own_side *own, peer_side *peer, const product *q, int rounds, double seconds)
{
    double mine[ROUNDS_MOST], theirs[ROUNDS_MOST], ratio[ROUNDS_MOST];
    int calls = choose_calls(own, q, seconds);
    own_open(own, q, calls);
    peer_open(peer, q);
    own_run(own);
    peer_run(peer, q, 1);
    for (int r = 0; r < rounds; r++) {
        if (r % 2)
            theirs[r] = peer_run(peer, q, calls);
        mine[r] = own_run(own);
        if (r % 2 == 0)
            theirs[r] = peer_run(peer, q, calls);
        ratio[r] = theirs[r] / mine[r];
    }
    own_close(own);
    peer_close(peer);
    printf("%s %lld %lld %lld %s %.3f %.3f %.4f\n", kinds[q->kind], (long long)q->m,
           (long long)q->n, (long long)q->k, q->from, statistics_of(mine, rounds).median * 1e6,
           statistics_of(theirs, rounds).median * 1e6, statistics_of(ratio, rounds).median);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static own_side own;
    peer_side peer;
    device_id id;
    if (argc < 4 || strncmp(argv[1], "opencl:", 7) != 0) {
        fprintf(stderr, "usage: clblast_compare opencl:N ROUNDS SECONDS [WORKLOAD...]\n");
        return 2;
    }
    int rounds = atoi(argv[2]) < ROUNDS_MOST ? atoi(argv[2]) : ROUNDS_MOST;
    for (int i = 4; i < argc; i++)
        add_workload(argv[i]);
    for (int i = 0; argc == 4 && bench_workloads[i].name; i++)
        add_workload(bench_workloads[i].name);
    must(device_find(argv[1], &id), argv[1]);
    must(id.ops->open(id.number, NULL, &own.device), argv[1]);
    peer_start(&peer, id.number);
    for (int i = 0; i < product_count; i++)
        compare(&own, &peer, &products[i], rounds < 1 ? 1 : rounds, atof(argv[3]));
    own.device->ops->close(own.device);
    clReleaseCommandQueue(peer.queue);
    clReleaseContext(peer.context);
    return 0;
}

/* Sums in a fixed order: over partial results, and of squares. */
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <string.h>

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);

enum { STRIP = 1024 }; /* floats: the sum stays in L1 while the parts pass by */

void cpu_sum_range(const float *parts, int64_t count, int64_t part_count, int64_t stride,
                   float *sum)
{
    const element_kernels *kernels = cpu_element_kernels[cpu_isa_or_base()];
    for (int64_t begin = 0; begin < count; begin += STRIP) {
        int64_t size = cpu_least(STRIP, count - begin);
        memcpy(sum + begin, parts + begin, (size_t)size * sizeof *sum);
        for (int64_t k = 1; k < part_count; k++)
            kernels->add(parts + k * stride + begin, sum + begin, size);
    }
}

typedef struct parts_sum {
    const float *parts;
    int64_t count, part_count, stride, size;
    float *sum;
} parts_sum;

static void sum_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const parts_sum *s = context;
    int64_t begin, end;
    cpu_task_range(s->count, s->size, chunk, &begin, &end);
    cpu_sum_range(s->parts + begin, end - begin, s->part_count, s->stride, s->sum + begin);
}

void cpu_sum_partials(threads *pool, const float *parts, int64_t count, int64_t part_count,
                      int64_t stride, float *sum)
{
    int64_t size = cpu_divide_up(cpu_rows_per_task(part_count), STRIP) * STRIP;
    parts_sum s = {parts, count, part_count, stride, size, sum};
    threads_run(pool, cpu_divide_up(count, size), sum_chunk, &s);
}

/* ---- SQUARE_SUM ------------------------------------------------------------------------- */

typedef struct square_run {
    const element_kernels *kernels;
    const float *g;
    int64_t count;
    double *partials;
} square_run;

static void square_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const square_run *s = context;
    int64_t begin, end;
    cpu_task_range(s->count, CPU_TASK, task, &begin, &end);
    s->partials[task] = s->kernels->square_sum(s->g + begin, end - begin);
}

CPU_ISA_PREPARE(kernels_prepare, cpu_element_kernels)

static cornu_status square_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * cpu_divide_up(OP_IN(p, o, 0)->count, CPU_TASK));
    return kernels_prepare(p, o, pool, state, scratch_bytes);
}

static cornu_status run_square(const op_run *r)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count, tasks = cpu_divide_up(count, CPU_TASK);
    square_run s = {r->state, r->in[0], count, r->scratch};
    threads_run(r->pool, tasks, square_task, &s);
    double sum = 0;
    for (int64_t i = 0; i < tasks; i++)
        sum += s.partials[i];
    r->out[0][r->op->a.norm.slot] = (float)sum;
    return CORNU_OK;
}

const kernel cpu_square_sum = {.name = "vector", .prepare = square_prepare, .run = run_square};

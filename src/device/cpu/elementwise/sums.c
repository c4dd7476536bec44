/* Sums in a fixed order: over partial sums, and of squares. */
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <string.h>

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);

enum { STRIP = 1024 }; /* floats: the sum stays in L1 while the partial sums are read */

static void sum_range(const element_kernels *kernels, const float *partials, int64_t count,
                      int64_t partial_count, int64_t stride, float *sum)
{
    for (int64_t begin = 0; begin < count; begin += STRIP) {
        int64_t size = cpu_least(STRIP, count - begin);
        memcpy(sum + begin, partials + begin, (size_t)size * sizeof *sum);
        for (int64_t k = 1; k < partial_count; k++)
            kernels->add(partials + k * stride + begin, sum + begin, size);
    }
}

void cpu_sum_range(cpu_isa isa, const float *partials, int64_t count, int64_t partial_count,
                   int64_t stride, float *sum)
{
    sum_range(cpu_element_kernels[isa], partials, count, partial_count, stride, sum);
}

typedef struct partials_sum {
    const element_kernels *kernels;
    const float *partials;
    int64_t count, partial_count, stride, size;
    float *sum;
} partials_sum;

static void sum_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const partials_sum *s = context;
    int64_t begin, end;
    cpu_task_range(s->count, s->size, task, &begin, &end);
    sum_range(s->kernels, s->partials + begin, end - begin, s->partial_count, s->stride,
              s->sum + begin);
}

void cpu_sum_partials(threads *pool, cpu_isa isa, const float *partials, int64_t count,
                      int64_t partial_count, int64_t stride, float *sum)
{
    int64_t size = cpu_divide_up(cpu_rows_per_task(partial_count), STRIP) * STRIP;
    partials_sum s = {cpu_element_kernels[isa], partials, count, partial_count, stride, size, sum};
    threads_run(pool, cpu_divide_up(count, size), sum_task, &s);
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

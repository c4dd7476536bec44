/* DROPOUT: the mask is drawn again each time, from (seed, layer; element / 4, step). */
#include "base/philox.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/dropout_kernels.h"
#include <math.h>

CPU_ISA_TABLE(dropout_kernels, cpu_dropout_kernels);
CPU_ISA_PREPARE(prepare, cpu_dropout_kernels)

typedef struct dropout_run {
    const dropout_kernels *kernels;
    dropout_range whole;
} dropout_run;

static void dropout_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const dropout_run *r = context;
    dropout_range range = r->whole;
    int64_t begin, end;
    cpu_task_range(range.count, CPU_TASK, task, &begin, &end);
    range.x += begin;
    range.y += begin;
    range.count = end - begin;
    range.first += (uint64_t)begin / 4;
    r->kernels->drop(&range);
}

/* The smallest 32 random bits whose random_to_float, which uses 24 of them, is at least `rate`. */
static uint32_t least_kept(float rate)
{
    double least = ceil((double)rate * 16777216.0);
    return least < 16777216.0 ? (uint32_t)least << 8 : UINT32_MAX;
}

static cornu_status run(const op_run *r)
{
    float rate = r->op->a.dropout.rate;
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    int64_t first = r->input->first * (count / r->plan->batch);
    if (first % 4 !=
        0) /* the shard begins within a group of four elements that share random numbers */
        return reference_kernels[OP_DROPOUT].run(r);
    dropout_run d = {r->state,
                     {.x = r->in[0],
                      .y = r->out[0],
                      .count = count,
                      .first = (uint64_t)first / 4,
                      .key = random_key(r->input->seed, RANDOM_DROPOUT, r->op->a.dropout.stream),
                      .iteration = (uint64_t)r->input->iteration,
                      .least = least_kept(rate),
                      .scale = rate < 1 ? 1 / (1 - rate) : 0}};
    threads_run(r->pool, cpu_divide_up(d.whole.count, CPU_TASK), dropout_task, &d);
    return CORNU_OK;
}

const kernel cpu_dropout = {.name = "vector", .prepare = prepare, .run = run};

/* Sums in a fixed order: over partial results, and of squares. */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include <stdlib.h>

enum { STRIP = 1024 }; /* floats: the sum stays in L1 while the parts pass by */

CPU_CLONES static void add_strip(const float *part, int64_t count, float *sum)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        sum[i] += part[i];
}

void cpu_sum_range(const float *parts, int64_t count, int64_t part_count, int64_t stride,
                   float *sum)
{
    for (int64_t begin = 0; begin < count; begin += STRIP) {
        int64_t size = cpu_least(STRIP, count - begin);
        for (int64_t i = 0; i < size; i++)
            sum[begin + i] = parts[begin + i];
        for (int64_t k = 1; k < part_count; k++)
            add_strip(parts + k * stride + begin, size, sum + begin);
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
    cpu_part(s->count, s->size, chunk, &begin, &end);
    cpu_sum_range(s->parts + begin, end - begin, s->part_count, s->stride, s->sum + begin);
}

void cpu_sum_parts(threads *pool, const float *parts, int64_t count, int64_t part_count,
                   int64_t stride, float *sum)
{
    int64_t size = cpu_divide_up(cpu_rows_per_chunk(part_count), STRIP) * STRIP;
    parts_sum s = {parts, count, part_count, stride, size, sum};
    threads_run(pool, cpu_divide_up(count, size), sum_chunk, &s);
}

/* ---- SQUARE_SUM ------------------------------------------------------------------------- */

/* Doubles in LANES running sums: the additions of one do not wait for those of another. */
enum { LANES = 16 };

CPU_CLONES static double square_range(const float *g, int64_t count)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)g[i + l] * (double)g[i + l];
    for (; i < count; i++)
        sum += (double)g[i] * (double)g[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

typedef struct square_sum {
    const float *g;
    int64_t count;
    double *parts;
} square_sum;

static void square_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const square_sum *s = context;
    int64_t begin, end;
    cpu_part(s->count, CPU_CHUNK, chunk, &begin, &end);
    s->parts[chunk] = square_range(s->g + begin, end - begin);
}

static cornu_status square_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    (void)pool;
    size_t chunks = (size_t)cpu_divide_up(OP_IN(p, o, 0)->count, CPU_CHUNK);
    *scratch_bytes += chunks * sizeof(double);
    return memory_new(chunks, sizeof(double), "sums of squares", state);
}

static cornu_status square_run(const op_run *r)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count, chunks = cpu_divide_up(count, CPU_CHUNK);
    square_sum s = {r->in[0], count, r->state};
    threads_run(r->pool, chunks, square_chunk, &s);
    double sum = 0;
    for (int64_t i = 0; i < chunks; i++)
        sum += s.parts[i];
    r->out[0][r->op->a.norm.slot] = (float)sum;
    return CORNU_OK;
}

const kernel cpu_square_sum = {
    .name = "vector", .prepare = square_prepare, .release = free, .run = square_run};

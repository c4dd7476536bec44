/* DROPOUT: the mask is drawn anew each time, from (seed, layer; element / 4, step). LANES
   generators run side by side, so that their rounds become vector instructions. */
#include "base/philox.h"
#include "device/cpu/cpu.h"

enum { LANES = 16, WORDS = 4 * LANES };

typedef struct dropout_run {
    const float *x;
    float *y, rate;
    int64_t count;
    uint64_t key, iteration;
} dropout_run;

/* Words of blocks first .. first + LANES - 1: word[j][l] is word j of block first + l. The same
   numbers as philox() in base/philox.h. */
CPU_CLONES static void draw(uint64_t key, uint64_t first, uint64_t iteration,
                            uint32_t word[4][LANES])
{
    uint32_t *c0 = word[0], *c1 = word[1], *c2 = word[2], *c3 = word[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int l = 0; l < LANES; l++) {
        c0[l] = (uint32_t)(first + (uint64_t)l);
        c1[l] = (uint32_t)((first + (uint64_t)l) >> 32);
        c2[l] = (uint32_t)iteration;
        c3[l] = (uint32_t)(iteration >> 32);
    }
    for (int round = 0; round < 10; round++) {
        CPU_ELEMENTWISE
        for (int l = 0; l < LANES; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[l], p1 = (uint64_t)0xCD9E8D57u * c2[l];
            c0[l] = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0;
            c2[l] = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c1[l] = (uint32_t)p1;
            c3[l] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

CPU_CLONES static void drop(const float *x, float *y, const uint32_t *bits, float rate, float scale,
                            int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++) {
        float kept = x[i] * scale;
        y[i] = random_to_float(bits[i]) >= rate ? kept : 0;
    }
}

static void dropout_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const dropout_run *d = context;
    int64_t begin, end;
    float scale = 1 / (1 - d->rate);
    cpu_part(d->count, CPU_CHUNK, chunk, &begin, &end);
    for (int64_t at = begin; at < end; at += WORDS) {
        uint32_t word[4][LANES], bits[WORDS];
        draw(d->key, (uint64_t)at / 4, d->iteration, word);
        for (int l = 0; l < LANES; l++)
            for (int j = 0; j < 4; j++)
                bits[4 * l + j] = word[j][l];
        drop(d->x + at, d->y + at, bits, d->rate, scale, cpu_least(WORDS, end - at));
    }
}

static cornu_status run(const op_run *r)
{
    dropout_run d = {.x = r->in[0],
                     .y = r->out[0],
                     .rate = r->op->a.dropout.rate,
                     .count = OP_OUT(r->plan, r->op, 0)->count,
                     .key = random_key(r->input->seed, RANDOM_DROPOUT, r->op->a.dropout.stream),
                     .iteration = (uint64_t)r->input->iteration};
    threads_run(r->pool, cpu_divide_up(d.count, CPU_CHUNK), dropout_chunk, &d);
    return CORNU_OK;
}

const kernel cpu_dropout = {.name = "vector", .run = run};

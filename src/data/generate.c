/* Generated samples, for timing. Each class has its own pattern under the noise, so that a network
   that trains on them shows a falling loss. */
#include "base/memory.h"
#include "base/philox.h"
#include "data/data.h"
#include <cornu/data.h>
#include <stdlib.h>
#include <string.h>

/* Each sample takes its noise from a pool at a random offset: about as fast as copying, where
   drawing every byte again would take longer than the first training steps. */
#define POOL_BYTES ((int64_t)1 << 20)
#define TEST_SAMPLES_MAX 10000

static void fill_noise(uint8_t *bytes, int64_t count, uint64_t key)
{
    uint32_t block[4];
    for (int64_t i = 0; i < count; i += 16) {
        philox(key, (uint32_t)(i / 16), (uint32_t)((i / 16) >> 32), 0, 0, block);
        memcpy(bytes + i, block, (size_t)(count - i < 16 ? count - i : 16));
    }
}

/* out = (a + b) / 2, bytewise, eight at a time. */
static void average(uint8_t *out, const uint8_t *a, const uint8_t *b, int64_t count)
{
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t p, q;
        memcpy(&p, a + i, 8);
        memcpy(&q, b + i, 8);
        p = (p & q) + (((p ^ q) >> 1) & 0x7f7f7f7f7f7f7f7full);
        memcpy(out + i, &p, 8);
    }
    for (; i < count; i++)
        out[i] = (uint8_t)((a[i] + b[i]) / 2);
}

static cornu_status check(const int64_t *dims, int rank, int classes, int64_t count, shape *s)
{
    if (!dims || rank < 1 || rank > 4)
        return status_fail(CORNU_INVALID, "generated data: rank %d; expected 1 to 4", rank);
    s->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 1)
            return status_fail(CORNU_INVALID,
                               "generated data: shape[%d] is %lld; expected 1 or more", i,
                               (long long)dims[i]);
        s->dim[i] = dims[i];
    }
    if (shape_elements(s) < 0 || shape_elements(s) > (int64_t)1 << 28)
        return status_fail(CORNU_INVALID, "generated data: a sample has more than 2^28 elements");
    if (classes < 1 || count < 1)
        return status_fail(CORNU_INVALID,
                           "generated data: %d classes, %lld samples; expected 1 or more", classes,
                           (long long)count);
    return CORNU_OK;
}

cornu_status data_generated_new(cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(memory_copy_string("generated", &data->name));
    TRY_GOTO(memory_copy_string("", &data->folder));
    data->generated = true;
    *out = data;
    data = NULL;
done:
    cornu_data_close(data);
    return status;
}

cornu_status cornu_data_generate(const int64_t *dims, int rank, int classes, int64_t count,
                                 uint64_t seed, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    uint8_t *noise = NULL, *pixels;
    int32_t *labels;
    shape s = {0}, none = {0};
    if (!out)
        return status_fail(CORNU_INVALID, "cornu_data_generate: found NULL; expected a place");
    *out = NULL;
    TRY(check(dims, rank, classes, count, &s));
    int64_t elements = shape_elements(&s), pool = POOL_BYTES + elements;
    TRY_GOTO(data_generated_new(&data));
    data->class_count = classes;
    TRY_GOTO(data_reserve_inputs(data, CORNU_TRAIN, count, &s, SAMPLE_U8, &pixels));
    TRY_GOTO(data_reserve_targets(data, CORNU_TRAIN, &none, SAMPLE_I32, &labels));
    TRY_GOTO(memory_new((size_t)(2 * pool), 1, "noise", &noise));
    fill_noise(noise, 2 * pool, random_key(seed, RANDOM_GENERATE, 0));
    uint64_t key = random_key(seed, RANDOM_GENERATE, 1);
    for (int64_t i = 0; i < count; i++) {
        uint32_t drawn[4];
        philox(key, (uint32_t)i, (uint32_t)(i >> 32), 0, 0, drawn);
        labels[i] = (int32_t)(((uint64_t)drawn[0] * (uint32_t)classes) >> 32);
        /* The first half of `noise` is the samples' own; a class's pattern starts at its offset in
           the second half. */
        const uint8_t *own = noise + drawn[1] % POOL_BYTES;
        const uint8_t *pattern = noise + pool + (int64_t)labels[i] * 4099 % POOL_BYTES;
        average(pixels + i * elements, own, pattern, elements);
    }
    data->block[CORNU_TEST] = data->block[CORNU_TRAIN]; /* a view of the first samples */
    if (count > TEST_SAMPLES_MAX)
        data->block[CORNU_TEST].count = TEST_SAMPLES_MAX;
    *out = data;
    data = NULL;
done:
    free(noise);
    cornu_data_close(data);
    return status;
}

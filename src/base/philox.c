#include "base/philox.h"
#include <math.h>

uint64_t random_key(uint64_t seed, random_purpose purpose, uint64_t item)
{
    uint32_t out[4];
    philox(seed, (uint32_t)item, (uint32_t)(item >> 32), (uint32_t)purpose, 0, out);
    return (uint64_t)out[1] << 32 | out[0];
}

random_stream random_open(uint64_t seed, random_purpose purpose, uint64_t item)
{
    return (random_stream){.key = random_key(seed, purpose, item)};
}

uint32_t random_u32(random_stream *r)
{
    uint64_t counter = r->position / 4;
    if (r->position % 4 == 0)
        philox(r->key, (uint32_t)counter, (uint32_t)(counter >> 32), 0, 0, r->block);
    return r->block[r->position++ % 4];
}

float random_uniform(random_stream *r)
{
    return random_to_float(random_u32(r));
}

/* In double precision, so that the last bit of a float does not depend on the C library's sine. */
float random_normal(random_stream *r)
{
    const double scale = 1.0 / 4294967296.0, tau = 6.283185307179586;
    double a = (random_u32(r) + 0.5) * scale, b = random_u32(r) * scale;
    return (float)(sqrt(-2.0 * log(a)) * cos(tau * b));
}

/* Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019. n = 0 stands for 2^32.
 */
uint32_t random_below(random_stream *r, uint32_t n)
{
    if (n == 0)
        return random_u32(r);
    uint64_t product = (uint64_t)random_u32(r) * n;
    if ((uint32_t)product < n) {
        uint32_t threshold = (0u - n) % n;
        while ((uint32_t)product < threshold)
            product = (uint64_t)random_u32(r) * n;
    }
    return (uint32_t)(product >> 32);
}

#include "data/sha256.h"

#include "base/files.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4,
   4.2.2). */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + constants[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_open(sha256 *h)
{
    *h = (sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                            0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256 *h, const void *data, size_t size)
{
    const uint8_t *at = data;
    size_t buffered = h->bytes % 64;
    h->bytes += size;
    if (buffered && size >= 64 - buffered) {
        memcpy(h->block + buffered, at, 64 - buffered);
        compress(h->state, h->block);
        at += 64 - buffered;
        size -= 64 - buffered;
        buffered = 0;
    }
    if (!buffered)
        for (; size >= 64; at += 64, size -= 64)
            compress(h->state, at);
    memcpy(h->block + buffered, at, size);
}

void sha256_close(sha256 *h, char hex[65])
{
    uint64_t bits = h->bytes * 8;
    uint8_t end[72] = {0x80};
    size_t padding = 64 - (h->bytes + 8) % 64; /* 1 to 64 bytes, so that the length ends a block */
    for (int i = 0; i < 8; i++)
        end[padding + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(h, end, padding + 8);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", h->state[i]);
}

cornu_status sha256_descriptor(const char *path, int fd, char hex[65])
{
    uint8_t buffer[1 << 15];
    sha256 h;
    sha256_open(&h);
    for (off_t at = 0;;) {
        ssize_t got = pread(fd, buffer, sizeof buffer, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return status_fail(CORNU_IO, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            break;
        sha256_add(&h, buffer, (size_t)got);
        at += got;
    }
    sha256_close(&h, hex);
    return CORNU_OK;
}

cornu_status sha256_file(const char *path, char hex[65])
{
    int fd;
    uint64_t size;
    TRY(file_open_regular(path, &fd, &size));
    cornu_status status = sha256_descriptor(path, fd, hex);
    close(fd);
    return status;
}

/* SHA-256 (FIPS 180-4). Own code, since none of the libraries that are linked anyway has it. */
#ifndef DATA_SHA256_H
#define DATA_SHA256_H

#include "base/status.h"

typedef struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
} sha256;

void sha256_open(sha256 *h);
void sha256_add(sha256 *h, const void *data, size_t size);
/* The digest as 64 lower-case hexadecimal digits and a zero. */
void sha256_close(sha256 *h, char hex[65]);
/* The digest of an open file's content; `path` is for messages. */
cornu_status sha256_descriptor(const char *path, int fd, char hex[65]);
cornu_status sha256_file(const char *path, char hex[65]);

#endif

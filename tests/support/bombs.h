/* Small files that claim, or unpack to, far more than their size: one or more for each format that
   cornu reads. */
#ifndef SUPPORT_BOMBS_H
#define SUPPORT_BOMBS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
} bytes;

void put(bytes *b, const void *data, size_t size);
void put_text(bytes *b, const char *text);
void put_little(bytes *b, uint64_t value, int size);
void put_big(bytes *b, uint64_t value, int size);
/* `times` copies of a piece, deflated: 15 window bits for zlib's format, 31 for gzip's, -15 for
   neither. The checksum at the end covers at most two pieces. */
void put_deflated(bytes *b, const void *piece, size_t size, int times, int window_bits);

/* A row of bombs_pictures or bombs_files. */
typedef struct bomb {
    const char *name; /* of the file, with its ending */
    void (*make)(bytes *out);
} bomb;

/* Ended by a row without a name. */
extern const bomb bombs_pictures[], bombs_files[];
/* The picture with this name; the caller frees it. */
bytes bombs_picture(const char *name);

#endif

#include "support/bombs.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void put(bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->data = realloc(b->data, b->capacity);
    }
    if (size > 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

void put_text(bytes *b, const char *text)
{
    put(b, text, strlen(text));
}

void put_little(bytes *b, uint64_t value, int size)
{
    for (int i = 0; i < size; i++, value >>= 8)
        put(b, &(uint8_t){(uint8_t)value}, 1);
}

void put_big(bytes *b, uint64_t value, int size)
{
    for (int i = size - 1; i >= 0; i--)
        put(b, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

/* The deflated form of a piece. */
static bytes deflate_piece(z_stream *z, const void *piece, size_t size, int flush)
{
    bytes out = {.capacity = size + 100};
    out.data = malloc(out.capacity);
    z->next_in = (Bytef *)(uintptr_t)piece;
    z->avail_in = (uInt)size;
    z->next_out = out.data;
    z->avail_out = (uInt)out.capacity;
    deflate(z, flush);
    out.size = out.capacity - z->avail_out;
    return out;
}

void put_deflated(bytes *b, const void *piece, size_t size, int times, int window_bits)
{
    z_stream z = {0};
    deflateInit2(&z, 9, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY);
    for (int i = 0; i < times; i++) { /* from the second on they are the same */
        bytes packed = deflate_piece(&z, piece, size, Z_FULL_FLUSH);
        for (; i > 0 && i + 1 < times; i++)
            put(b, packed.data, packed.size);
        put(b, packed.data, packed.size);
        free(packed.data);
    }
    bytes last = deflate_piece(&z, "", 0, Z_FINISH);
    put(b, last.data, last.size);
    deflateEnd(&z);
    free(last.data);
}

bytes bombs_picture(const char *name)
{
    bytes out = {0};
    for (const bomb *b = bombs_pictures; b->name; b++)
        if (strcmp(b->name, name) == 0)
            b->make(&out);
    return out;
}

/* A text in a buffer of fixed size that grows at its end. Not for other rooms. */
#ifndef BENCH_SENTENCE_H
#define BENCH_SENTENCE_H

#include <stddef.h>

typedef struct sentence {
    char *text;
    size_t size; /* size of the buffer; longer text is cut */
} sentence;

void sentence_add(const sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

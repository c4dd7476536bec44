/* A text in a fixed room that grows at its end. Not for other rooms. */
#ifndef BENCH_SENTENCE_H
#define BENCH_SENTENCE_H

#include <stddef.h>

typedef struct sentence {
    char *text;
    size_t size; /* bytes there is room for; the rest of what is added is cut */
} sentence;

void sentence_add(const sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

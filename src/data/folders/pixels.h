/* The pixels of an image folder's samples: consecutive in one range of addresses, so that readers
   of samples need not know how they are stored. */
#ifndef DATA_FOLDERS_PIXELS_H
#define DATA_FOLDERS_PIXELS_H

#include "data/folders/pixels_file.h"

/* The decoded samples that stay in memory. */
typedef enum pixels_kind {
    PIXELS_IN_MEMORY,
    PIXELS_PASSING /* none: only those that will be used next are there */
} pixels_kind;

typedef struct pixels {
    pixels_kind kind;
    int64_t sample;   /* bytes per sample */
    uint8_t *at;      /* [count][height][width][channels]; zeros where nothing was written */
    size_t map_bytes; /* PIXELS_PASSING: size of the mapping */
    pixels_file file; /* if there is one */
} pixels;

/* Choose the kind (request->cache_limit), reserve memory, and open the cache file, if any. */
cornu_status pixels_open(const pixels_wanted *wanted, pixels *out);
void pixels_close(pixels *p);
/* Return the memory of the bytes [begin, end) of `at` to the system; they read as zeros.
   PIXELS_PASSING only. */
void pixels_drop(pixels *p, int64_t begin, int64_t end);

#endif

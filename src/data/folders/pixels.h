/* Where the pixels of an image folder's samples lie: side by side in one range of addresses, so
   that whoever reads samples needs to know nothing of it. */
#ifndef DATA_FOLDERS_PIXELS_H
#define DATA_FOLDERS_PIXELS_H

#include "data/folders/pixels_file.h"

/* What is kept in memory of the samples once they are decoded. */
typedef enum pixels_kind {
    PIXELS_IN_MEMORY,
    PIXELS_PASSING /* nothing: only those that are about to be used lie there */
} pixels_kind;

typedef struct pixels {
    pixels_kind kind;
    int64_t sample;   /* bytes of one */
    uint8_t *at;      /* [count][height][width][channels]; zeros where nothing was written */
    size_t map_bytes; /* PIXELS_PASSING: of the mapping behind it */
    pixels_file file; /* where there is one */
} pixels;

/* Choose the kind (request->cache_limit), make room, and open the cache file, if any. */
cornu_status pixels_open(const pixels_wanted *wanted, pixels *out);
void pixels_close(pixels *p);
/* Give the memory of the bytes [begin, end) of `at` back; they read as zeros. PIXELS_PASSING only.
 */
void pixels_drop(pixels *p, int64_t begin, int64_t end);

#endif

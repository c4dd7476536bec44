/* Where the pixels of an image folder's samples lie: one place each, in one stretch of addresses,
   so that whoever reads samples needs to know nothing of it. */
#ifndef DATA_FOLDERS_PIXELS_H
#define DATA_FOLDERS_PIXELS_H

#include "data/folders/image_folder.h"
#include <stdatomic.h>

/* What is kept in memory of the samples once they are decoded. */
typedef enum pixels_kind {
    PIXELS_IN_MEMORY,
    PIXELS_PASSING /* nothing: only those that are about to be used lie there */
} pixels_kind;

enum { PIXELS_LIMIT_AUTO = -2 };

typedef struct pixels_wanted {
    const image_files *files; /* in the order of their places */
    const data_request *request;
    const char *name; /* of the data set: "photos" */
} pixels_wanted;

typedef struct pixels_entry pixels_entry;

typedef struct pixels {
    pixels_kind kind;
    int64_t sample;   /* bytes of one */
    uint8_t *at;      /* [count][height][width][channels]; zeros where nothing was written */
    size_t map_bytes; /* PIXELS_PASSING: of the mapping behind it */
    /* The cache file, where there is one: a later run finds the samples there, and this one those
       that have left memory. It is read and written and never mapped, so that a file that somebody
       cuts costs a decoding and not the process. */
    char *path;
    int fd;                /* -1: none */
    int64_t begin;         /* of the pixels in it */
    uint64_t *keys;        /* [count] of the images as they are now */
    pixels_entry *entries; /* [count] */
    atomic_int failed;     /* errno of a write, after which there are no more; 0: none */
    bool told;
} pixels;

/* Choose the kind (request->cache_limit) and make room. A cache file is taken over where it is of
   the same sizes, and made anew where it is not; a link or a file that is no cache is refused.
   Where a file cannot be made (a full disk, say) and "file" was not what was asked for, a notice
   says so and there is none. */
cornu_status pixels_open(const pixels_wanted *wanted, pixels *out);
void pixels_close(pixels *p);
/* Does the cache file say that it holds sample `i` of the image as it is now? */
bool pixels_has(const pixels *p, int64_t i);
/* Read sample `i` from the cache file into its place; false where it is not there whole. *earlier:
   an earlier run left it, and this is its first use. */
bool pixels_load(pixels *p, int64_t i, bool *earlier);
/* Sample `i` in its place is complete: into the cache file, if any. An earlier run's loss of power
   cannot make a later one believe so. */
void pixels_keep(pixels *p, int64_t i);
/* Is there a cache file into which samples can be written? The first that cannot be ends that; what
   is there is still read. */
bool pixels_takes(const pixels *p);
/* Why no more can be written, once; NULL: nothing (new) failed. For the caller's thread. */
const char *pixels_failure(pixels *p);
/* Give the memory of the bytes [begin, end) of `at` back; they read as zeros. PIXELS_PASSING only.
 */
void pixels_drop(pixels *p, int64_t begin, int64_t end);
/* Read an option: "off", "file", a size ("4GB": in memory up to this, else in a file), or NULL (in
   memory up to half of what is free, else in a file). *limit is in bytes, -1 for "file", 0 for
   "off". */
cornu_status pixels_read_option(const char *cache, int64_t *limit);

#endif

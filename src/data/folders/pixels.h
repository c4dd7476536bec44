/* The pixels of an image folder's samples: consecutive in one range of addresses, so that readers
   of samples need not know how they are stored; and the file that caches them. */
#ifndef DATA_FOLDERS_PIXELS_H
#define DATA_FOLDERS_PIXELS_H

#include "data/folders/image_folder.h"
#include <stdatomic.h>

/* ---- the option `cache`: where decoded samples are kept --------------------------------- */

/* Values of the limit other than a number of bytes. */
enum { CACHE_MEMORY = -3, CACHE_AUTO = -2, CACHE_FILE = -1, CACHE_OFF = 0 };

/* Read an option: "off", "file", "memory" (up to half of free memory, else as "off"), a size
   ("4GB": in memory up to this, else in a file), or NULL (in memory up to half of free memory, else
   in a file: CACHE_AUTO). *limit is in bytes, or one of the above. */
cornu_status cache_option_read(const char *cache, int64_t *limit);

/* ---- the cache file --------------------------------------------------------------------- */

/* The cache file of an image folder: a later run finds its samples there, and this run those that
   have left memory. It is read and written, never mapped, so that a file that another process
   truncates costs a decoding and not the process. */

/* The samples that a cache is for. */
typedef struct pixels_wanted {
    const image_files *files; /* in the order of their samples */
    const data_request *request;
    const char *name; /* of the data set: "photos" */
} pixels_wanted;

typedef struct pixels_entry pixels_entry;

typedef struct pixels_file {
    int fd; /* -1: no file */
    char *path;
    int64_t sample;        /* bytes per sample */
    int64_t begin;         /* offset of the pixels */
    uint64_t *keys;        /* [count], of the images as they are now */
    pixels_entry *entries; /* [count] */
    atomic_int failed;     /* errno of a failed write, after which there are no more; 0: none */
    bool told;
} pixels_file;

/* Does the file claim to hold sample `i` of the image in its current version? */
bool pixels_file_has(const pixels_file *f, int64_t i);
/* Read sample `i` to `at`; false if it is not complete. *earlier: an earlier run wrote it, and this
   is its first use. */
bool pixels_file_load(pixels_file *f, int64_t i, uint8_t *at, bool *earlier);
/* Write sample `i`, complete at `at`, to the file, if any. A checksum protects later runs from a
   sample that a power failure left incomplete. */
void pixels_file_keep(pixels_file *f, int64_t i, uint8_t *at);
/* Can samples be written to a file? A failed write ends that; samples in the file are still
   read. */
bool pixels_file_takes(const pixels_file *f);
/* The reason why no more samples can be written, returned once; NULL: nothing (new) failed. For the
   caller's thread. */
const char *pixels_file_failure(pixels_file *f);

/* ---- the pixels ------------------------------------------------------------------------- */

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

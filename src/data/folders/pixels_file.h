/* The cache file of an image folder: a later run finds its samples there, and this run those that
   have left memory. It is read and written, never mapped, so that a file that another process
   truncates costs a decoding and not the process. */
#ifndef DATA_FOLDERS_PIXELS_FILE_H
#define DATA_FOLDERS_PIXELS_FILE_H

#include "data/folders/image_folder.h"
#include <stdatomic.h>

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

/* FOLDER/NAME.pixels, beside the model file of the training. A file with the same sizes is reused,
   any other is rebuilt; a link, or a file that is no cache, is refused. */
cornu_status pixels_file_open(const pixels_wanted *wanted, int64_t sample, pixels_file *out);
/* The same where the user did not ask for the file: if it cannot be made (a full disk, say), a
   notice says so and there is none. */
cornu_status pixels_file_try(const pixels_wanted *wanted, int64_t sample, pixels_file *out);
void pixels_file_close(pixels_file *f);
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

#endif

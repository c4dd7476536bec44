/* The cache file of an image folder: a later run finds its samples there, and this one those that
   have left memory. It is read and written and never mapped, so that a file that somebody truncates
   costs a decoding and not the process. */
#ifndef DATA_FOLDERS_PIXELS_FILE_H
#define DATA_FOLDERS_PIXELS_FILE_H

#include "data/folders/image_folder.h"
#include <stdatomic.h>

/* Whose samples they are. */
typedef struct pixels_wanted {
    const image_files *files; /* in the order of their samples */
    const data_request *request;
    const char *name; /* of the data set: "photos" */
} pixels_wanted;

typedef struct pixels_entry pixels_entry;

typedef struct pixels_file {
    int fd; /* -1: there is none */
    char *path;
    int64_t sample;        /* bytes of one */
    int64_t begin;         /* of the pixels in it */
    uint64_t *keys;        /* [count] of the images as they are now */
    pixels_entry *entries; /* [count] */
    atomic_int failed;     /* errno of a write, after which there are no more; 0: none */
    bool told;
} pixels_file;

/* FOLDER/NAME.pixels, beside the model file that is being trained. One of the same sizes is taken
   over, one that is not is made anew; a link or a file that is no cache is refused. */
cornu_status pixels_file_open(const pixels_wanted *wanted, int64_t sample, pixels_file *out);
/* The same where nobody asked for the file itself: where it cannot be made (a full disk, say), a
   notice says so and there is none. */
cornu_status pixels_file_try(const pixels_wanted *wanted, int64_t sample, pixels_file *out);
void pixels_file_close(pixels_file *f);
/* Does the file say that it holds sample `i` of the image as it is now? */
bool pixels_file_has(const pixels_file *f, int64_t i);
/* Read sample `i` to `at`; false where it is not there whole. *earlier: an earlier run left it, and
   this is its first use. */
bool pixels_file_load(pixels_file *f, int64_t i, uint8_t *at, bool *earlier);
/* Sample `i`, complete at `at`, goes into the file, if any. An earlier run's loss of power cannot
   make a later one believe so. */
void pixels_file_keep(pixels_file *f, int64_t i, uint8_t *at);
/* Is there a file into which samples can be written? The first that cannot be ends that; what is
   there is still read. */
bool pixels_file_takes(const pixels_file *f);
/* Why no more can be written, once; NULL: nothing (new) failed. For the caller's thread. */
const char *pixels_file_failure(pixels_file *f);

#endif

/* The named data sets: one row each in datasets.def. */
#ifndef DATA_SETS_DATASETS_H
#define DATA_SETS_DATASETS_H

#include "base/status.h"
#include "data/data.h"

typedef struct dataset dataset;

/* A layout of a set's files in a folder. */
typedef struct data_reader {
    const char *name; /* "IDX files" */
    /* Does the folder hold any of this layout's files? */
    bool (*present)(const char *folder, const dataset *set);
    /* Read both splits. `data` has its name and class names already. */
    cornu_status (*read)(const char *folder, const dataset *set, const data_request *request,
                         cornu_data *data);
} data_reader;

extern const data_reader idx_reader;      /* four IDX files, plain or .gz */
extern const data_reader npz_set_reader;  /* the set's .npz in Keras's layout */
extern const data_reader cifar10_reader;  /* data_batch_1..5.bin, test_batch.bin */
extern const data_reader cifar100_reader; /* train.bin, test.bin */

/* A file to download. */
typedef struct dataset_file {
    const char *name, *url, *sha256;
    int64_t bytes;
} dataset_file;

struct dataset {
    const char *name, *title;
    int64_t samples; /* of the training split */
    shape x_shape;
    int class_count;
    const char *const *class_names; /* [class_count] */
    const char *const
        *folders; /* usual names of its folder, NULL-ended; downloads go to the first */
    const char *system_folder;         /* the folder of Debian's package, or NULL */
    const data_reader *const *readers; /* NULL-ended, in order of preference */
    const dataset_file *files;         /* files to download; the last has a NULL name */
    const char *archive_folder; /* files[0] is an archive that contains this folder; or NULL */
};

/* Row `index`, or NULL past the end; the row with a name ("fashion-mnist" is "fashion_mnist"), or
   NULL. */
const dataset *dataset_at(int index);
const dataset *dataset_named(const char *name);
/* The set of files that a reader finds in a folder: by the folder's name among the rows with this
   reader, else `otherwise`. */
const dataset *dataset_in_folder(const data_reader *reader, const char *folder,
                                 const dataset *otherwise);

/* The location of data. */
typedef struct data_location {
    const dataset *set; /* its set, which may have the layout of the requested one but be another;
                           NULL: images, or an .npz file */
    const data_reader *reader; /* the set's reader; NULL: `folder` holds the set's archive */
    char *folder; /* owned; NULL: not found. Without a set it may be an .npz file's path */
} data_location;

/* Look for a set: in `folder` alone (for any set with the same layout), if it is not NULL; else in
   $CORNU_DATA, cornu's cache, Keras's cache, Debian's folder. Not finding it is no error. `looked`,
   if not NULL, receives the folders' names. */
cornu_status dataset_find(const dataset *set, const char *folder, data_location *location,
                          char **looked);
/* The download folder: $CORNU_DATA or cornu's folder in the user's cache. */
cornu_status dataset_cache_folder(char **folder);
/* Download a set (or unpack the archive at location->folder) into the cache folder and set its
   location. */
cornu_status dataset_fetch(const dataset *set, const cornu_data_options *options,
                           data_location *location);
cornu_status dataset_unpack_found(const cornu_data_options *options, data_location *location);

/* ---- what a folder holds ---------------------------------------------------------------- */

/* The data set in `folder`, or one level below: a named set's files, or images (a location without
   a set). Of several, the only one with suitable inputs of shape `input` (NULL: any); else
   CORNU_INVALID, and the message names them all. Reads only names. */
cornu_status folder_find(const char *folder, const shape *input, const cornu_data_options *options,
                         data_location *location);
/* The same for a path in a model file, which is not trusted: only data in the path itself, a set's
   files (`name`; NULL: none), images, or an .npz file; otherwise location->folder is NULL. */
cornu_status folder_find_hint(const char *name, const char *path, data_location *location);
/* CORNU_NOT_FOUND: `folder` does not hold `expected`; the message says what it does hold. */
cornu_status folder_fail(const char *folder, const char *expected);

/* ---- downloads that are verified, resumable and atomic ---------------------------------- */

/* Download file->url to `path`, which appears only when all bytes are there and their SHA-256 is
   right. Until then they are in PATH.part, from which a later call continues. Fails with
   CORNU_NETWORK; the message says where to put the file by hand. Of two processes with the same
   download one waits. */
cornu_status download_file(const dataset_file *file, const char *path,
                           const cornu_data_options *options);
/* Is the SHA-256 of the file at `path` the expected one? */
cornu_status download_check(const dataset_file *file, const char *path);

/* ---- unpacking of downloaded archives --------------------------------------------------- */

/* Unpack a .tar, .tar.gz or .zip into `folder` (created if missing, otherwise empty). Only plain
   files and folders inside `folder` are created: a member with an absolute path, "..", a link or a
   device is refused, and so is more than `limit` bytes in all. Asks options->should_stop (NULL is
   fine). On failure the caller removes `folder`. */
cornu_status archive_unpack(const char *archive, const char *folder, int64_t limit,
                            const cornu_data_options *options);
/* Remove a folder and its contents; links are removed, not followed. A missing folder is no
   error. */
cornu_status folder_remove(const char *folder);

#endif

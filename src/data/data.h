/* Data sets in memory. */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include "base/doc.h"
#include "step/samples.h"

struct tensor_file;
struct loader;
struct stream;

struct cornu_data {
    char *name;                /* "mnist" */
    char *folder;              /* where it was found, or "" */
    const struct dataset *set; /* a row of datasets.def; NULL: images, an .npz file, arrays */
    char *origin;              /* absolute path of the set's or images' folder or of the .npz file;
                                  NULL where there is none */
    sample_block block[2];     /* by cornu_split; count 0 where the split is missing */
    int class_count;           /* 0 where targets are not classes */
    char **class_names;        /* [class_count], or NULL where unknown */
    bool generated;
    bool fewer_classes; /* than a model's outputs: no error, as the caller says */
    double spare_split; /* this share of a folder without a test split became one; 0: none */
    bool scaled;        /* the recipe that it was opened for says what the network sees (x_scale) */
    /* memory behind the blocks, owned: x, y and weights of the training split, then of the test
       split (NULL where a block points elsewhere: see data.c) */
    void *storage[6];
    struct tensor_file *arrays; /* an open .npz that blocks point into, or NULL */
    struct loader *loader;      /* image folders: samples that may still be decoded, or NULL */
    struct stream *stream;      /* batches that come one by one (data/stream.h), or NULL */
};

/* ---- samples that are decoded as they are needed (loading.c) ----

   A block's count holds every file of an image folder, whether it can be read or not; where a file
   cannot, its sample is left out by whoever uses the data. Of other data all samples are usable. */

/* These are needed next, in this order, by `who`; the numbers stay until the next call. NULL, 0
   ends it. */
void data_want(const cornu_data *data, const void *who, cornu_split split, const int64_t *index,
               int64_t count);
/* Was `who` the last to want something? */
bool data_is_wanted_by(const cornu_data *data, const void *who);
/* Wait for the next one on the list. An error where a file could be read once and cannot now, and
   CORNU_STOPPED where the caller asked for it (may_stop). */
cornu_status data_next(const cornu_data *data, bool may_stop, bool *usable);
/* These samples are no longer looked at. */
void data_release(const cornu_data *data, cornu_split split, const int64_t *index, int64_t count);
/* Read every file, so that all that is unusable is known. */
cornu_status data_finish(const cornu_data *data);
/* CORNU_UNSUPPORTED for a stream, whose samples are not there to be read. */
cornu_status data_check_there(const cornu_data *data);
/* Do all samples lie in memory (unless unusable), to stay? */
bool data_is_whole(const cornu_data *data);
/* How many files are still to be decoded that need not be in later passes. */
int64_t data_files_left(const cornu_data *data);
/* How many of `count` samples from `first` on are usable, as far as is known. */
int64_t data_usable(const cornu_data *data, cornu_split split, int64_t first, int64_t count);
/* Sample number `index` of the usable ones, made ready: *at is its number in the block, to be
   released after use. */
cornu_status data_ready(const cornu_data *data, cornu_split split, int64_t index, int64_t *at);

/* ---- the same of several ranks, each of which reads a share of the files ---- */

/* From here on nothing is decoded but what is wanted, and data_usable leaves out only what all
   ranks know to be unusable. */
cornu_status data_divide(const cornu_data *data);
/* What this rank will want behind the pass at hand, and workers may decode before: the numbers stay
   until the next call. */
void data_want_later(const cornu_data *data, cornu_split split, const int64_t *index,
                     int64_t count);
/* Do all ranks know whether a sample is usable; and do they know that it is not? */
bool data_is_known(const cornu_data *data, cornu_split split, int64_t index);
bool data_is_lost(const cornu_data *data, cornu_split split, int64_t index);
/* All ranks know: the sample is usable (NULL), or what is wrong with its file. */
cornu_status data_know(const cornu_data *data, cornu_split split, int64_t index,
                       const char *problem);
/* Of an unusable sample: its file and what is wrong with it. */
const char *data_problem(const cornu_data *data, cornu_split split, int64_t index);
/* Must, or can, all of them be known before the first is used? */
bool data_must_be_whole(const cornu_data *data);
/* All are: as behind data_finish. */
cornu_status data_end(const cornu_data *data);
/* A number of the files' names and sizes, and of what a few of them begin with. */
uint32_t data_files_digest(const cornu_data *data, cornu_split split);

/* What a recipe's data section says. */
typedef struct data_spec {
    const char *name;      /* mnist, ...; or NULL */
    const char *file;      /* an .npz; or NULL */
    const char *folder;    /* of images; or NULL */
    const char *table;     /* of pictures and numbers, a .csv; or NULL */
    const char *x, *y;     /* its columns: file names, numbers */
    double scale;          /* the network sees pixels * scale; < 0: of uint8 model_pixel_scale, of
                              floats 1 */
    int64_t image_size[2]; /* folders: height, width; 0: the model's input */
    int64_t channels;      /* folders: 1 or 3; 0: the model's input */
    const char *interpolation;   /* folders: a row of filters.def; NULL: nearest */
    bool keep_aspect_ratio;      /* folders: the middle of each picture */
    double validation_split;     /* folders: the fraction that becomes the test split */
    int64_t workers;             /* folders: threads that decode; 0: as many as train */
    bool strict;                 /* folders: a file that cannot be used is an error */
    bool fewer_classes;          /* than the model has outputs: no error */
    augmentation augment;        /* of the training split */
    standardization standardize; /* of both; without what is read off the training samples */
} data_spec;

/* Read and check a data section (a map, or a string: a name or a path); NULL gives an empty spec.
   The strings live as long as the section. */
cornu_status data_spec_read(const doc *section, data_spec *spec);
/* By the model's data section, and by what it knows of its training samples. */
cornu_status data_standardization(const cornu_model *model, standardization *out);

/* A split as `model` sees it: scaled as the recipe that the data was opened for says, else the
   model's recipe, else (uint8) as the model itself asks for. */
cornu_status data_samples_for(const cornu_data *data, cornu_split split, const cornu_model *model,
                              sample_block *out);

/* Do data and model fit (sample shape, targets against loss and outputs)? Errors name both. */
cornu_status data_check_samples(const cornu_model *model, const sample_block *block,
                                const char *what);

/* What pixels are multiplied by: a number above 0. *scale stays where the map does not say. */
cornu_status data_scale_read(const doc *map, const char *key, double *scale);
/* The augment section of a data section: augment, standardize and, by "rescale", the scale. */
cornu_status augment_spec_read(const doc *map, data_spec *spec);

/* ---- for the readers ---- */

/* What is asked of a reader. */
typedef struct data_request {
    cornu_data_options options; /* all zero where the caller gave none */
    double scale;               /* as in data_spec */
    /* of image folders */
    int64_t height, width, channels;
    const struct image_filter *filter;
    const char *table_x, *table_y; /* as in data_spec */
    double validation_split;
    double spare_split;     /* the same, where there is no test split; 0: none */
    int64_t cache_limit;    /* what cache_option_read makes of options.cache */
    bool each_must_be_read; /* a sample that is needed and cannot be read is an error */
} data_request;

/* Check the caller's options, which may be NULL. */
cornu_status data_request_read(const cornu_data_options *options, data_request *request);

/* Zeroed, aligned memory for the inputs of a split, in block[split].x and *x. Refuses, before
   anything is allocated, what does not fit into the memory that is free. */
cornu_status data_reserve_inputs(cornu_data *data, cornu_split split, int64_t count,
                                 const shape *x_shape, sample_type type, void *x);
/* The same for the targets; the split's inputs must be there. Rank 0 is one number a sample. */
cornu_status data_reserve_targets(cornu_data *data, cornu_split split, const shape *y_shape,
                                  sample_type type, void *y);
/* Copy class names. */
cornu_status data_set_classes(cornu_data *data, const char *const *names, int count);
/* "cat (12), dog (9)": classes and their samples in these splits; of many classes the first. */
cornu_status data_class_list(const cornu_data *data, bool train, bool test, char **out);
/* Does the caller want no more of it? `options` may be NULL. */
bool data_should_stop(const cornu_data_options *options);
/* Would cornu_data_open_for_model find what it wants, and of the right shape? Reads no samples. */
cornu_status data_find_for_model(const cornu_model *model, const cornu_data_options *options);
/* One line to the caller's on_notice. */
void data_notice(const cornu_data_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of a detail, unless the caller wants it brief. */
void data_detail(const cornu_data_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Read an image folder: splits of classes (train/CLASS/IMAGE, test/CLASS/IMAGE:
   data/folders/splits.h) or CLASS/IMAGE. */
cornu_status images_read(const char *folder, const data_request *request, cornu_data *data);
bool images_present(const char *folder);     /* the first kind */
bool images_are_classes(const char *folder); /* the second: is an image in one of its folders? */
/* Read a table in CSV: the pictures that its column r->table_x names, with the numbers of
   r->table_y. */
cornu_status images_read_table(const char *path, const data_request *r, cornu_data *data);
/* CORNU_INVALID: which of its columns count is said by a recipe alone. */
cornu_status table_fail(const char *path);
/* Read x_train, y_train[, x_test, y_test] of an .npz file. */
cornu_status data_read_npz(const char *path, double scale, cornu_data *data);

#endif

/* Data sets in memory. */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include "base/doc.h"
#include "step/samples.h"
#include <cornu/data.h>
#include <cornu/images.h>

struct tensor_file;
struct loader;
struct stream;

struct cornu_data {
    char *name;                /* "mnist" */
    char *folder;              /* the folder where it was found, or "" */
    const struct dataset *set; /* a row of datasets.def; NULL: images, an .npz file, arrays */
    char *origin;              /* absolute path of the set's or images' folder or of the .npz file;
                                  NULL where there is none */
    sample_block block[2];     /* by cornu_split; count 0 where the split is missing */
    int class_count;           /* 0 where targets are not class numbers */
    char **class_names;        /* [class_count], or NULL where unknown */
    bool generated;
    bool
        fewer_classes; /* fewer classes than the model's outputs are no error, as the caller says */
    double spare_split; /* this fraction of a folder without a test split became one; 0: none */
    bool scaled;        /* x_scale comes from the recipe that it was opened for */
    /* The blocks' memory, owned: x, y and weights of the training split, then of the test split
       (NULL where a block points elsewhere: see data.c) */
    void *storage[6];
    struct tensor_file *arrays; /* an open .npz that blocks point into, or NULL */
    struct loader *loader;      /* image folders: samples that may still be decoded, or NULL */
    struct stream *stream;      /* batches from the caller, or NULL */
};

/* ---- samples that are decoded as they are needed (loading.c) ----

   A block's count includes every file of an image folder, whether it can be read or not; the users
   of the data leave out samples whose file cannot be read. All samples of other data are usable. */

/* The reader `who` needs these samples next, in this order; `index` must stay valid until the next
   call. NULL, 0 ends the list. */
void data_want(const cornu_data *data, const void *who, cornu_split split, const int64_t *index,
               int64_t count);
/* Did `who` make the last call of data_want? */
bool data_is_wanted_by(const cornu_data *data, const void *who);
/* Wait for the next sample on the list. Fails where a file was readable before and is not now, and
   with CORNU_STOPPED where the caller asked for it (may_stop). */
cornu_status data_next(const cornu_data *data, bool may_stop, bool *usable);
/* These samples are no longer in use. */
void data_release(const cornu_data *data, cornu_split split, const int64_t *index, int64_t count);
/* Read every file, so that all unusable ones are known. */
cornu_status data_finish(const cornu_data *data);
/* CORNU_UNSUPPORTED for a stream: its samples do not exist in advance. */
cornu_status data_check_there(const cornu_data *data);
/* Are all usable samples in memory, for good? */
bool data_is_whole(const cornu_data *data);
/* The number of files still to be decoded that later passes need not decode again. */
int64_t data_files_left(const cornu_data *data);
/* How many of `count` samples from `first` on are usable, as far as is known. */
int64_t data_usable(const cornu_data *data, cornu_split split, int64_t first, int64_t count);
/* Make the usable sample number `index` ready: *at is its number in the block; release it after
   use. */
cornu_status data_ready(const cornu_data *data, cornu_split split, int64_t index, int64_t *at);

/* ---- data of which this process reads a share, and other processes the rest ---- */

/* From here on only samples that are needed are decoded, and data_usable leaves out only samples
   that are known by data_know to be unusable. */
cornu_status data_divide(const cornu_data *data);
/* Samples that will be needed after the current pass; workers may decode them before. `index`
   must stay valid until the next call. */
void data_want_later(const cornu_data *data, cornu_split split, const int64_t *index,
                     int64_t count);
/* Do all processes know whether a sample is usable; and do they know that it is not? */
bool data_is_known(const cornu_data *data, cornu_split split, int64_t index);
bool data_is_lost(const cornu_data *data, cornu_split split, int64_t index);
/* Record what all processes know: the sample is usable (NULL), or its file's problem. */
cornu_status data_know(const cornu_data *data, cornu_split split, int64_t index,
                       const char *problem);
/* For an unusable sample: its file and the file's problem. */
const char *data_problem(const cornu_data *data, cornu_split split, int64_t index);
/* Must, or can, all samples be read before the first is used? */
bool data_must_be_whole(const cornu_data *data);
/* All samples are read: the state is as after data_finish. */
cornu_status data_end(const cornu_data *data);
/* A checksum of the files' names and sizes, and of the first bytes of a few of them. */
uint32_t data_files_digest(const cornu_data *data, cornu_split split);

/* The contents of a recipe's data section. */
typedef struct data_spec {
    const char *name;   /* mnist, ...; or NULL */
    const char *file;   /* an .npz; or NULL */
    const char *folder; /* of images; or NULL */
    const char *table;  /* a .csv with pictures and numbers; or NULL */
    const char *x, *y;  /* its columns: file names, numbers */
    double
        scale; /* the network sees pixels * scale; < 0: model_pixel_scale for uint8, 1 for floats */
    int64_t image_size[2];     /* folders: height, width; 0: the model's input */
    int64_t channels;          /* folders: 1 or 3; 0: the model's input */
    const char *interpolation; /* folders: a row of images/resize.c; NULL: nearest */
    bool keep_aspect_ratio;    /* folders: resize the middle of each picture */
    double validation_split;   /* folders: the fraction that becomes the test split */
    int64_t workers;      /* folders: threads that decode; 0: as many as the training threads */
    bool strict;          /* folders: a file that cannot be used is an error */
    bool fewer_classes;   /* fewer classes than the model's outputs are no error */
    augmentation augment; /* for the training split */
    standardization
        standardize; /* for both splits; without the statistics of the training samples */
} data_spec;

/* Read and check a data section (a map, or a string: a name or a path); NULL gives an empty spec.
   The strings live as long as the section. */
cornu_status data_spec_read(const doc *section, data_spec *spec);
/* By the model's data section, and by what it knows of its training samples. */
cornu_status data_standardization(const cornu_model *model, standardization *out);

/* A split as `model` sees it. Its scale is that of the recipe that the data was opened for, else of
   the model's recipe, else (uint8) the model's own. */
cornu_status data_samples_for(const cornu_data *data, cornu_split split, const cornu_model *model,
                              sample_block *out);

/* Do data and model fit (sample shape, targets against loss and outputs)? Errors name both. */
cornu_status data_check_samples(const cornu_model *model, const sample_block *block,
                                const char *what);

/* ---- generated samples (generate.c, generate_for_model.c) ---- */

/* Without samples yet. */
cornu_status data_generated_new(cornu_data **out);
/* `count` random samples, and targets, that the compiled model takes: for timing. */
cornu_status data_generate_for_model(const cornu_model *model, int64_t count, uint64_t seed,
                                     cornu_data **out);
/* Are this output's targets those of a hinge loss, 0 and 1 or -1 and 1? */
bool data_expects_signs(const cornu_model *model, int output);

/* Read the factor of pixels: a number above 0. *scale keeps its value where the map has none. */
cornu_status data_scale_read(const doc *map, const char *key, double *scale);
/* Read the augment section of a data section: augment, standardize and, from "rescale", the
   scale. */
cornu_status augment_spec_read(const doc *map, data_spec *spec);

/* ---- for the readers ---- */

/* The options of a read. */
typedef struct data_request {
    cornu_data_options options; /* all zero without options of the caller; .images is NULL */
    cornu_folder_options images;
    double scale; /* as in data_spec */
    /* of image folders */
    int64_t height, width, channels;
    const struct image_filter *filter;
    const char *table_x, *table_y; /* as in data_spec */
    double validation_split;
    double
        spare_split; /* fraction of a folder that becomes the test split, if it has none; 0: none */
    int64_t cache_limit;    /* options.cache, from cache_option_read */
    bool each_must_be_read; /* an unreadable sample is an error where it is needed */
} data_request;

/* Check the caller's options, which may be NULL. */
cornu_status data_request_read(const cornu_data_options *options, data_request *request);

/* Zeroed, aligned memory for the inputs of a split, in block[split].x and *x. Fails before anything
   is allocated if free memory does not suffice. */
cornu_status data_reserve_inputs(cornu_data *data, cornu_split split, int64_t count,
                                 const shape *x_shape, sample_type type, void *x);
/* The same for the targets; the split's inputs must exist already. Rank 0 is one number per
   sample. */
cornu_status data_reserve_targets(cornu_data *data, cornu_split split, const shape *y_shape,
                                  sample_type type, void *y);
/* Copy class names. */
cornu_status data_set_classes(cornu_data *data, const char *const *names, int count);
/* "cat (12), dog (9)": classes with their numbers of samples in these splits; of many classes the
   first. */
cornu_status data_class_list(const cornu_data *data, bool train, bool test, char **out);
/* Has the caller asked to stop? `options` may be NULL. */
bool data_should_stop(const cornu_data_options *options);
/* Would cornu_data_open_for_model find its data, with the right shape? Reads no samples. */
cornu_status data_find_for_model(const cornu_model *model, const cornu_data_options *options);
/* Pass one line to the caller's on_notice. */
void data_notice(const cornu_data_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a detail, unless the caller wants brief notices. */
void data_detail(const cornu_data_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Read an image folder: splits of classes (train/CLASS/IMAGE, test/CLASS/IMAGE:
   data/folders/image_folder.h) or CLASS/IMAGE. */
cornu_status images_read(const char *folder, const data_request *request, cornu_data *data);
bool images_present(const char *folder); /* the first kind */
bool images_are_classes(
    const char *folder); /* the second kind: is an image in one of its folders? */
/* Read a table in CSV: the pictures named in its column r->table_x, with the numbers of
   r->table_y. */
cornu_status images_read_table(const char *path, const data_request *r, cornu_data *data);
/* CORNU_INVALID: only a recipe says which of the table's columns are used. */
cornu_status table_fail(const char *path);
/* Read x_train, y_train[, x_test, y_test] of an .npz file. */
cornu_status data_read_npz(const char *path, double scale, cornu_data *data);

/* ---- batches from the caller, one by one ------------------------------------------------ */

/* Data whose batches come one by one (cornu_data_stream). Its training block describes a batch: the
   pointers there are those of the first batch, and are not read. */
struct stream {
    cornu_stream source;
};

/* The next batch, valid until the call after; count 0: the pass is over. batch->x_scale does not
   change. CORNU_STOPPED where the caller asked to stop. */
cornu_status data_stream_next(const cornu_data *data, sample_block *batch);
/* The caller's arrays as a block that points to them. `what`: their name in messages. */
cornu_status data_block_of(const cornu_arrays *a, const char *what, sample_block *out);

/* ---- a fraction of the samples, the same of each class if there are classes ------------- */

/* Mark the fraction `fraction` of `count` samples: of each class (labels[count]; NULL: one class)
   the rounded number, at least one, as if drawn at random, but always the same samples. */
cornu_status share_choose(const int32_t *labels, int64_t count, double fraction, bool *kept);
/* Keep in each split of samples in memory the fraction that the request asks for. */
cornu_status share_apply(const data_request *request, cornu_data *data);
/* Say what is left of `count`; by_class: of each class so large a share. */
void share_notice(const data_request *request, const char *name, bool by_class,
                  const int64_t count[2], const int64_t left[2]);

#endif

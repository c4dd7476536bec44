/* Pictures: files of them as data, single ones read, resized and written. The conventions are those
 * of cornu.h. */
#ifndef CORNU_IMAGES_H
#define CORNU_IMAGES_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Does the model take pictures? Its input is (height, width), (height, width, 1) or (height, width,
   3) then, and `shape` (height, width, channels); else CORNU_INVALID. */
CORNU_API cornu_status cornu_model_picture_shape(const cornu_model *model, int64_t shape[3]);

/* Image files of the caller's choice as a data set: all in the training split, in this order. */
typedef struct cornu_image_files {
    int64_t count;
    const char *const *paths;       /* [count] */
    const int32_t *labels;          /* [count] class numbers; NULL: none, as for predictions */
    const char *const *class_names; /* [class_count]; NULL: unknown */
    int class_count;
    bool fewer_classes;   /* than the outputs of a model that they train: no error */
    uint64_t reserved[7]; /* 0 */
} cornu_image_files;

/* The options are those of image folders; the split and where to look mean nothing. With `strict`,
   and with `background` where its sample is needed, a file that cannot be read is an error
   (CORNU_BAD_FILE); without it is left out and told, as in folders. */
CORNU_API cornu_status cornu_data_from_files(const cornu_image_files *files,
                                             const cornu_data_options *options, cornu_data **data);

/* How the files of an image folder became samples so far. */
typedef struct cornu_data_loading {
    int64_t files;                         /* in all; 0: the data is no image folder */
    int64_t decoded;                       /* counted each time where nothing is kept */
    int64_t cached;                        /* found in the cache file of an earlier run */
    int64_t skipped;                       /* what was found in the folder and cannot be used */
    int workers;                           /* threads that decode */
    double decode_seconds, resize_seconds; /* computed, by all workers together */
    double wait_seconds;                   /* that training and evaluation waited for samples */
    uint64_t reserved[8];                  /* 0 */
} cornu_data_loading;

CORNU_API cornu_status cornu_data_loading_get(const cornu_data *data, cornu_data_loading *loading);
/* Are the samples pictures, as in cornu_model_picture_shape? */
CORNU_API cornu_status cornu_data_picture_shape(const cornu_data *data, int64_t shape[3]);
/* cornu_data_sample for an image as the model's recipe changes it at random (data.augment) in an
   epoch of a training run with this seed; before any standardization. */
CORNU_API cornu_status cornu_data_changed_sample(const cornu_data *data, cornu_split split,
                                                 int64_t index, const cornu_model *model,
                                                 uint64_t seed, int64_t epoch, float *values,
                                                 int64_t count);
/* The file of a sample of an image folder, which lives as long as the data; NULL where there is
   none. `index` counts every file of the split, as in cornu_data_batch. */
CORNU_API const char *cornu_data_sample_file(const cornu_data *data, cornu_split split,
                                             int64_t index);
/* cornu_data_sample_file where `index` counts as cornu_data_sample does: only files that can be
   read, for which all are read. */
CORNU_API const char *cornu_data_readable_file(const cornu_data *data, cornu_split split,
                                               int64_t index);
typedef struct cornu_batch_options {
    /* What happens to the samples: a recipe's data section, YAML or JSON, of which scale and
       augment count; NULL: scaled as cornu_data_sample has it. */
    const char *section;
    uint64_t seed; /* of what is random */
    int64_t epoch;
    uint64_t reserved[8]; /* 0 */
} cornu_batch_options;

/* Many images as a step of a training run with this seed sees them in this epoch: changed at random
   as data.augment says, scaled, and standardized by themselves (not by a model's statistics, which
   are CORNU_UNSUPPORTED). values: floats [count][shape], `size` in all. `index` counts every file
   of a split, readable or not; one that is not is CORNU_BAD_FILE. Threads share the work. */
CORNU_API cornu_status cornu_data_batch(const cornu_data *data, cornu_split split,
                                        const int64_t *index, int64_t count,
                                        const cornu_batch_options *options, float *values,
                                        int64_t size);
typedef struct cornu_image_options {
    int64_t height, width;     /* 0, 0: the picture's own */
    int64_t channels;          /* 1 or 3; 0: the picture's own */
    const char *interpolation; /* as in cornu_data_options; NULL: nearest */
    bool keep_aspect_ratio;    /* as in cornu_data_options */
    uint64_t reserved[8];      /* 0 */
} cornu_image_options;

/* Decode a picture to bytes [height][width][channels], to be given back with cornu_free; `shape`
   gets its sizes. It is the file `path`, or, where `file` is given, these `size` bytes of one,
   which messages then call `path`. */
CORNU_API cornu_status cornu_image_load(const char *path, const void *file, size_t size,
                                        const cornu_image_options *options, uint8_t **pixels,
                                        int64_t shape[3]);
/* Read an image file (JPEG, PNG, GIF, BMP, WebP, TIFF, PBM, PGM, PPM) as floats
   [height][width][channels] in 0..1, resized to the nearest pixels. */
CORNU_API cornu_status cornu_image_read(const char *path, int64_t height, int64_t width,
                                        int64_t channels, float *values);
/* Read an image file as the model's recipe reads those of a folder: floats of the input's shape,
   resized as the recipe says and scaled as the model sees it in training. */
CORNU_API cornu_status cornu_model_read_image(const cornu_model *model, const char *path,
                                              float *values);

/* cornu_model_read_image for many pictures: what the recipe says, read once. */
typedef struct cornu_image_reading {
    int64_t shape[3];          /* height, width, channels */
    const char *interpolation; /* "nearest", ...; lives as long as the model */
    double scale;              /* the floats are pixels (0 to 255) times this */
    bool keep_aspect_ratio;    /* of the middle of each picture, as in cornu_data_options */
    uint64_t reserved[7];      /* 0 */
} cornu_image_reading;

/* CORNU_INVALID where the model takes no pictures. */
CORNU_API cornu_status cornu_model_image_reading(const cornu_model *model,
                                                 cornu_image_reading *reading);
/* `values` has room for the floats of reading->shape. Errors as of cornu_image_read. */
CORNU_API cornu_status cornu_image_read_as(const cornu_image_reading *reading, const char *path,
                                           float *values);
/* Write floats [height][width][channels] in 0..1 as a PNG, atomically; channels is 1 or 3. */
CORNU_API cornu_status cornu_image_write_png(const char *path, int64_t height, int64_t width,
                                             int64_t channels, const float *values);

#ifdef __cplusplus
}
#endif
#endif

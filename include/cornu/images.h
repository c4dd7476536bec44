/* Pictures: image files as data; reading, resizing and writing single ones. The conventions of
 * cornu.h hold. */
#ifndef CORNU_IMAGES_H
#define CORNU_IMAGES_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Get the picture shape (height, width, channels) of a model whose input is (height, width),
   (height, width, 1) or (height, width, 3); CORNU_INVALID for other inputs. */
CORNU_API cornu_status cornu_model_picture_shape(const cornu_model *model, int64_t shape[3]);

/* How folders of pictures (and cornu_data_from_files) are read: cornu_data_options.images. */
struct cornu_folder_options {
    size_t size;
    int64_t height, width, channels; /* resize to this; 1 or 3 channels. 0: as the recipe says, else
                                        150, 150 and 3 */
    /* How to resize: "nearest", "bilinear", "bicubic", "box", "hamming" or "lanczos" as in Pillow;
       "bilinear_tf", "bicubic_tf" or "lanczos3_tf" as in tf.image.resize, rounded; NULL: as the
       recipe says, else nearest. */
    const char *interpolation;
    /* Crop each picture to the largest centred area with the aspect ratio of the new size, so that
       resizing distorts nothing. */
    bool keep_aspect_ratio;
    bool strict; /* an unusable file is an error; without this it is skipped */
    /* Return once the files are listed, and decode them during use. Without this, or with `strict`,
       all files are decoded before the call returns. With `ranks` each rank then decodes only the
       files that cornu_fit needs on it. */
    bool background;
    /* Use all samples, and ignore the recipe's validation_split, which is for training: for
       evaluation or prediction on other pictures. */
    bool whole;
    int workers; /* decoding threads; 0: as the recipe says, else as many as training uses */
    /* This share becomes the test split. Each file's name decides its split, so adding or removing
       files does not move the others; 0: as the recipe says, else none. */
    double validation_split;
    /* Where decoded pixels are cached. NULL: in memory, using up to half of the free memory, else
       in a file; "4GB": the same with this limit; "file": in a file, and also in memory up to half
       of the free memory; "memory": in memory up to half of the free memory, else as "off"; "off":
       no cache, each file is decoded whenever it is needed. The choice never changes a sample. If
       the file does not fit on the disk, "file" fails (CORNU_IO), and the others continue as "off",
       with a notice. */
    const char *cache;
    const char *cache_folder; /* folder of the cache file, NAME.pixels; NULL: the current folder */
};

/* A list of image files as a data set: all are in the training split, in this order. */
typedef struct cornu_image_files {
    size_t size;
    int64_t count;
    const char *const *paths;       /* [count] */
    const int32_t *labels;          /* [count] class numbers; NULL: none, as for predictions */
    const char *const *class_names; /* [class_count]; NULL: unknown */
    int class_count;
    bool fewer_classes; /* allow fewer classes than the model has outputs */
} cornu_image_files;

/* options->images applies, except its validation_split; options->fraction does not. With `strict`,
   and with `background` when its sample is needed, an unreadable file is an error (CORNU_BAD_FILE);
   otherwise it is skipped with a notice, as in folders. */
CORNU_API cornu_status cornu_data_from_files(const cornu_image_files *files,
                                             const cornu_data_options *options, cornu_data **data);

/* Progress of decoding an image folder. */
typedef struct cornu_data_loading {
    size_t size;
    int64_t files;                         /* all files; 0: the data is not an image folder */
    int64_t decoded;                       /* a file without cache counts each time */
    int64_t cached;                        /* found in the cache file of an earlier run */
    int64_t skipped;                       /* unusable files of the folder */
    int workers;                           /* decoding threads */
    double decode_seconds, resize_seconds; /* total over all workers */
    double wait_seconds; /* time that training and evaluation waited for samples */
} cornu_data_loading;

CORNU_API cornu_status cornu_data_loading_get(const cornu_data *data, cornu_data_loading *loading);
/* Get the picture shape of the samples, as cornu_model_picture_shape does. */
CORNU_API cornu_status cornu_data_picture_shape(const cornu_data *data, int64_t shape[3]);
/* cornu_data_sample after the augmentation of the model's recipe (data.augment) in an epoch of a
   training run with this seed; before any standardization. */
CORNU_API cornu_status cornu_data_changed_sample(const cornu_data *data, cornu_split split,
                                                 int64_t index, const cornu_model *model,
                                                 uint64_t seed, int64_t epoch, float *values,
                                                 int64_t count);
/* The file of a sample of an image folder; lives as long as the data; NULL if there is none.
   `index` counts every file of the split, as in cornu_data_batch. */
CORNU_API const char *cornu_data_sample_file(const cornu_data *data, cornu_split split,
                                             int64_t index);
/* cornu_data_sample_file with the `index` of cornu_data_sample, which counts only readable
   files; all files are read to find them. */
CORNU_API const char *cornu_data_readable_file(const cornu_data *data, cornu_split split,
                                               int64_t index);
typedef struct cornu_batch_options {
    size_t size;
    /* Scale and augmentation as a recipe's data section, YAML or JSON, whose other keys are
       ignored; NULL: scaled as in cornu_data_sample. */
    const char *section;
    uint64_t seed; /* of the augmentation */
    int64_t epoch;
} cornu_batch_options;

/* Images as a training step gets them in this epoch of a run with this seed: augmented as
   data.augment says, scaled, and standardized per image (a model's statistics are
   CORNU_UNSUPPORTED). values: floats [count][shape], `size` in total. `index` counts every file
   of a split, readable or not; an unreadable one is CORNU_BAD_FILE. Several threads do the work. */
CORNU_API cornu_status cornu_data_batch(const cornu_data *data, cornu_split split,
                                        const int64_t *index, int64_t count,
                                        const cornu_batch_options *options, float *values,
                                        int64_t size);
/* How a picture is read. All zeros but `size`: as it is. */
typedef struct cornu_image_options {
    size_t size;
    int64_t height, width;     /* 0, 0: the picture's own */
    int64_t channels;          /* 1 or 3; 0: the picture's own */
    const char *interpolation; /* as in cornu_folder_options; NULL: nearest */
    bool keep_aspect_ratio;    /* as in cornu_folder_options */
    double scale; /* of cornu_image_read: pixels (0 to 255) times this; 0: divided by 255 */
} cornu_image_options;

/* Get the options by which the model's recipe reads an image folder: resized to the model's input
   as the recipe says, and scaled as in training. Their interpolation lives as long as the model.
   CORNU_INVALID if the input is not a picture. */
CORNU_API cornu_status cornu_model_image_options(const cornu_model *model,
                                                 cornu_image_options *options);
/* Read a picture (JPEG, PNG, GIF, BMP, WebP, TIFF, PBM, PGM, PPM) as bytes
   [height][width][channels], which the caller frees with cornu_free; `shape` gets its sizes. Reads
   the file `path`, or, if `file` is not NULL, decodes these `size` bytes; messages then call them
   `path`. `options` may be NULL. */
CORNU_API cornu_status cornu_image_load(const char *path, const void *file, size_t size,
                                        const cornu_image_options *options, uint8_t **pixels,
                                        int64_t shape[3]);
/* The same for a file, as scaled floats in values[count]: the picture must have as many. */
CORNU_API cornu_status cornu_image_read(const char *path, const cornu_image_options *options,
                                        float *values, int64_t count);
/* Write floats [height][width][channels] in 0..1 as a PNG, atomically; channels is 1 or 3. */
CORNU_API cornu_status cornu_image_write_png(const char *path, int64_t height, int64_t width,
                                             int64_t channels, const float *values);

#ifdef __cplusplus
}
#endif
#endif

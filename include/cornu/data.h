/* Streams of the caller's samples, and the contents of a data set. The conventions of cornu.h
 * hold. */
#ifndef CORNU_DATA_H
#define CORNU_DATA_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cornu_data_from_arrays without a copy: the arrays must stay valid and unchanged until the data
   is closed.
 */
CORNU_API cornu_status cornu_data_in_place(const cornu_arrays *train, const cornu_arrays *test,
                                           cornu_data **data);

/* A source of batches, such as a generator, a queue or a socket. */
typedef struct cornu_stream {
    size_t size;
    /* The form of a batch, e.g. of the first one: its shape and usual number of samples. An
       array that is not NULL says that batches have this array; its target is not read. */
    const cornu_arrays *like;
    int64_t batches; /* batches per pass over the data; 0: not known */
    /* Fill in the next batch, whose `size` is set and whose other fields are 0. It has the form of
       `like` apart from the number of samples, and is read until the next call. count 0 ends the
       pass; the next call begins another. CORNU_STOPPED stops training or evaluation between two
       steps; any other status except CORNU_OK is an error. */
    cornu_status (*next)(void *user, cornu_arrays *batch);
    void *user;
} cornu_stream;

/* A data set whose training split is a stream of batches, for cornu_fit and cornu_evaluate: it
   is neither shuffled nor divided, and has no count. An epoch of cornu_fit is steps_per_epoch
   batches, else one pass; training ends when a new pass has no batch. */
CORNU_API cornu_status cornu_data_stream(const cornu_stream *source, cornu_data **data);
/* Random pixels and labels of the given shape, for timing. */
CORNU_API cornu_status cornu_data_generate(const int64_t *shape, int rank, int classes,
                                           int64_t count, uint64_t seed, cornu_data **data);
/* Multiply each number of this data by `scale` before the network gets it, whatever a recipe
   says. */
CORNU_API cornu_status cornu_data_set_scale(cornu_data *data, double scale);
/* Count the samples of each class in a split, without files already found unreadable:
   counts[classes], where `classes` is info.class_count. */
CORNU_API cornu_status cornu_data_class_counts(const cornu_data *data, cornu_split split,
                                               int64_t *counts, int classes);

/* The range of a split's stored numbers; 0 to 255 for image folders, which may not be decoded
   yet. */
typedef struct cornu_data_values {
    size_t size;
    bool bytes; /* uint8; else floats */
    double low, high;
    double scale;        /* a sample's floats are the numbers times this (cornu_data_sample) */
    double black, white; /* the floats to show as black and white: bytes range from 0 to 255, floats
                            from 0 to 1 or over their own range */
} cornu_data_values;

CORNU_API cornu_status cornu_data_values_get(const cornu_data *data, cornu_split split,
                                             cornu_data_values *values);
/* Shapes, range of values and classes with their counts, one or two lines per split. */
CORNU_API cornu_status cornu_data_summary(const cornu_data *data, char **text);
/* Read-only pointers to a split's samples and targets in memory, valid until the data is closed.
   CORNU_UNSUPPORTED for an image folder, whose samples are decoded on demand. */
CORNU_API cornu_status cornu_data_view(const cornu_data *data, cornu_split split,
                                       cornu_arrays *arrays);
/* One sample as floats [shape] and its class (-1: none): scaled for the model that the data was
   opened for, else uint8 pixels in 0..1. */
CORNU_API cornu_status cornu_data_sample(const cornu_data *data, cornu_split split, int64_t index,
                                         float *values, int64_t count, int *label);

/* The named data sets, in order; false past the end, and without info->size. */
typedef struct cornu_dataset_info {
    size_t size;
    const char *name;
    const char *title;
    const char *url;   /* address of the first file, or NULL */
    int64_t bytes;     /* bytes to download */
    char folder[1024]; /* its folder on this machine; "" if it is not there */
} cornu_dataset_info;

CORNU_API bool cornu_dataset_info_get(int index, cornu_dataset_info *info);

#ifdef __cplusplus
}
#endif
#endif

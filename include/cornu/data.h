/* Samples of the caller's own as they come, and what a data set holds. The conventions are those of
 * cornu.h. */
#ifndef CORNU_DATA_H
#define CORNU_DATA_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cornu_data_from_arrays without a copy: the arrays must stay as they are until the data is closed.
 */
CORNU_API cornu_status cornu_data_in_place(const cornu_arrays *train, const cornu_arrays *test,
                                           cornu_data **data);

/* Batches that come one by one, from a generator, a queue or a socket, say. */
typedef struct cornu_stream {
    /* What a batch looks like, such as the first one: its shape, the usual number of samples, and
       by pointers that are not NULL what it has. What these point at is not read. */
    cornu_arrays like;
    int64_t
        batches; /* of a pass over the data, where that is known; else 0: it ends when it ends */
    /* Fill in the next batch, which looks like `like` but for the number of samples; it is read
       until the next call. count 0: the pass is over; the next call begins another. CORNU_STOPPED
       stops the work between two steps; any other status but CORNU_OK is an error. */
    cornu_status (*next)(void *user, cornu_arrays *batch);
    void *user;
    uint64_t reserved[8]; /* 0 */
} cornu_stream;

/* A data set of batches, in its training split, for cornu_fit and cornu_evaluate: it is neither
   shuffled nor divided, and has no count. cornu_fit takes steps_per_epoch batches an epoch, else a
   pass; where a pass that was just begun has none left, training ends. */
CORNU_API cornu_status cornu_data_stream(const cornu_stream *source, cornu_data **data);
/* Random pixels and labels of the given shape, for timing. */
CORNU_API cornu_status cornu_data_generate(const int64_t *shape, int rank, int classes,
                                           int64_t count, uint64_t seed, cornu_data **data);
/* What a network sees of this data is each of its numbers times `scale`, whatever a recipe says. */
CORNU_API cornu_status cornu_data_set_scale(cornu_data *data, double scale);
/* Samples of each class in a split, as far as their files are known to be readable:
   counts[classes], where `classes` is info.class_count. */
CORNU_API cornu_status cornu_data_class_counts(const cornu_data *data, cornu_split split,
                                               int64_t *counts, int classes);

/* The numbers of a split's samples as they are stored; of image folders, which need not be decoded
   yet, 0 to 255. */
typedef struct cornu_data_values {
    bool bytes; /* uint8; else floats */
    double low, high;
    double scale;         /* a sample's floats are the numbers times this (cornu_data_sample) */
    double black, white;  /* of a sample's floats, in a picture of them: bytes run from 0 to 255,
                             floats from 0 to 1 or as far as they do */
    uint64_t reserved[6]; /* 0 */
} cornu_data_values;

CORNU_API cornu_status cornu_data_values_get(const cornu_data *data, cornu_split split,
                                             cornu_data_values *values);
/* Shapes, range of values and classes with their counts, a line or two a split. */
CORNU_API cornu_status cornu_data_summary(const cornu_data *data, char **text);
/* A split's samples and targets as they lie in memory, for reading; they live as long as the data.
   CORNU_UNSUPPORTED for an image folder, whose samples come and go. */
CORNU_API cornu_status cornu_data_view(const cornu_data *data, cornu_split split,
                                       cornu_arrays *arrays);
/* One sample as floats [shape] and its class (-1 where none): scaled as the model sees it that the
   data was opened for, else in 0..1 (uint8 pixels). */
CORNU_API cornu_status cornu_data_sample(const cornu_data *data, cornu_split split, int64_t index,
                                         float *values, int64_t count, int *label);

/* The named data sets, in order; false past the end. */
typedef struct cornu_dataset_info {
    const char *name;
    const char *title;
    const char *url;      /* of the first file, or NULL */
    int64_t bytes;        /* to download */
    char folder[1024];    /* where it is on this machine; "" where it is not */
    uint64_t reserved[8]; /* 0 */
} cornu_dataset_info;

CORNU_API bool cornu_dataset_info_get(int index, cornu_dataset_info *info);

#ifdef __cplusplus
}
#endif
#endif

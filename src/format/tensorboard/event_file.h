/* Event files, which TensorBoard reads: scalars, histograms, pictures, texts, the network, the
   operations of a step and the hyperparameters of a run, in the form that TensorFlow 2's summaries
   have. Each event is written whole and at once, so that a run that is killed leaves a readable
   file. */
#ifndef FORMAT_TENSORBOARD_EVENT_FILE_H
#define FORMAT_TENSORBOARD_EVENT_FILE_H

#include "base/status.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef struct event_file event_file;
typedef struct event_picture {
    uint8_t *png; /* the bytes of a PNG file */
    size_t size;
} event_picture;

/* A new file in the open folder `folder`, which is called `shown` in messages. */
cornu_status event_file_open(int folder, const char *shown, event_file **out);
cornu_status event_file_scalar(event_file *f, const char *tag, int64_t step, double value);
/* A histogram of the finite values, in 30 intervals of equal width. */
cornu_status event_file_histogram(event_file *f, const char *tag, int64_t step, const float *values,
                                  int64_t count);
/* The network, as Keras's to_json(): the conceptual graph. */
cornu_status event_file_network(event_file *f, const char *json);
/* The operations of a step, as event_operations_pack makes them: a graph with times. */
cornu_status event_file_operations(event_file *f, const char *tag, int64_t step, const void *packed,
                                   size_t size);
/* Pictures of one size under one tag. */
cornu_status event_file_pictures(event_file *f, const char *tag, int64_t step, int64_t height,
                                 int64_t width, const event_picture *pictures, int count);
/* The run's hyperparameters: an object of numbers, strings and booleans. */
cornu_status event_file_settings(event_file *f, const json_t *settings);
/* The run has ended. */
cornu_status event_file_end(event_file *f);
/* fsync; NULL: nothing to do. */
cornu_status event_file_sync(event_file *f);
void event_file_close(event_file *f);

/* ---- the operations of a step ----------------------------------------------------------- */

/* As TensorBoard's graph page shows them: a graph whose nodes have a compute time and a memory by
   which they are coloured (its "Profile"). */
enum { EVENT_RANK = 5, EVENT_INPUTS = 7, EVENT_RESULTS = 5 };

typedef struct event_shape {
    int rank;
    int64_t dim[EVENT_RANK];
} event_shape;

typedef struct event_input {
    int operation, result; /* operation and result number of the producer */
} event_input;

typedef struct event_operation {
    const char *name;   /* unique: "dense/kernel_update" is shown inside "dense" */
    const char *kind;   /* "update" */
    const char *kernel; /* the kernel that runs it */
    const char *shape;  /* sizes of its work, for people */
    double flops;
    double seconds; /* 0: it takes no time of its own */
    int64_t
        bytes; /* of its results; an operation with neither bytes nor seconds is shown as unused */
    event_input inputs[EVENT_INPUTS];
    event_shape results[EVENT_RESULTS];
    int input_count, result_count;
} event_operation;

/* For event_file_operations: *packed has *size bytes and is released with free(). `on`: the device,
   "cuda:0". */
cornu_status event_operations_pack(const char *on, const event_operation *all, int count,
                                   void **packed, size_t *size);

#endif

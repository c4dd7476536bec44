/* The operations of a step as TensorBoard's graph page shows them: a graph whose nodes have a
   compute time and a memory by which they are coloured (its "Profile"). */
#ifndef FORMAT_TENSORBOARD_OPERATIONS_H
#define FORMAT_TENSORBOARD_OPERATIONS_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

enum { EVENT_RANK = 5, EVENT_INPUTS = 6, EVENT_RESULTS = 5 };

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

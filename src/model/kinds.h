/* The rows of activations.def, binaries.def, losses.def, metrics.def and tallies.def as numbers:
   for C, and for the devices' kernels, which may be CUDA C++ or OpenCL C. */
#ifndef MODEL_KINDS_H
#define MODEL_KINDS_H

typedef enum activation_kind {
#define ACTIVATION(id, ...) ACTIVATION_##id,
#define ACTIVATION_OF_ROWS(id, ...) ACTIVATION_##id,
#include "model/activations.def"
    ACTIVATION_COUNT
} activation_kind;

typedef enum binary_kind {
#define BINARY(id, ...) BINARY_##id,
#include "model/binaries.def"
    BINARY_COUNT
} binary_kind;

/* The cells of recurrent layers. */
typedef enum recurrent_cell {
    CELL_SIMPLE,
    CELL_LSTM,
    CELL_GRU_AFTER, /* reset after the product with the state */
    CELL_GRU_BEFORE
} recurrent_cell;

typedef enum loss_id {
#define LOSS(id, ...) LOSS_##id,
#include "model/losses.def"
    LOSS_COUNT, /* of those with a rule */
    LOSS_BEFORE_COMPOSED = LOSS_COUNT - 1,
#define LOSS(...)
#define LOSS_COMPOSED(id, ...) LOSS_##id,
#include "model/losses.def"
    LOSS_KINDS
} loss_id;

typedef enum row_sum {
#define SUM(id, ...) SUM_##id,
#include "model/metrics.def"
    SUM_COUNT,
    SUM_NONE = -1
} row_sum;

typedef enum metric_id {
#define METRIC(id, ...) METRIC_##id,
#define METRIC_OF_LOSS(id, ...) METRIC_##id,
#define METRIC_OF_TABLE(id, ...) METRIC_##id,
#include "model/metrics.def"
    METRIC_COUNT
} metric_id;

typedef enum tally_kind {
#define TALLY(id, ...) TALLY_##id,
#include "model/tallies.def"
    TALLY_COUNT
} tally_kind;

enum { ROW_REALS = 3 /* numbers among the options of a loss or metric */ };

#endif

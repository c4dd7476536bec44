/* Metrics: Keras's; a running mean over the epoch's samples. Their arithmetic is in
   device/rules/metrics.h. */
#ifndef MODEL_METRICS_H
#define MODEL_METRICS_H

#include "base/doc.h"
#include "model/kinds.h"

typedef struct metric_kind {
    const char *name;       /* "categorical_accuracy" */
    const char *class_name; /* "CategoricalAccuracy" */
    bool sparse;            /* targets are class numbers */
    bool has_k;
    bool is_loss; /* lower is better */
} metric_kind;

enum { METRIC_NAME_SIZE = 64 };

typedef struct metric {
    metric_id id;
    int64_t k;                   /* top-k */
    bool is_accuracy;            /* the user wrote "accuracy" or "acc", and sees that name */
    char name[METRIC_NAME_SIZE]; /* the user's own name for it; "": none */
} metric;

const metric_kind *metric_kind_of(metric_id id);
/* The name in progress lines and logs: the user's, or "accuracy" where the user wrote that. */
const char *metric_name(const metric *m);
/* Read one metric; "accuracy" (or "acc") becomes binary, sparse or categorical accuracy by the
   number of outputs and whether the loss is sparse, as Keras chooses. */
cornu_status metric_read(const doc *d, int64_t outputs, bool sparse_loss, metric *out);
json_t *metric_to_json(const metric *m);
/* The rows with their options: a list for cornu_tables. */
json_t *metric_table(void);

#endif

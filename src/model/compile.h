/* What a compile section holds: an optimizer with its learning-rate schedule, a loss, metrics; all
   Keras's. Their arithmetic is in device/rules/. */
#ifndef MODEL_COMPILE_H
#define MODEL_COMPILE_H

#include "base/doc.h"
#include "model/kinds.h"
#include "model/number_list.h"
#include "model/patterns.h"
#include "model/shape.h"

/* ---- optimizers and learning rates ------------------------------------------------------ */

typedef enum optimizer_id {
#define OPTIMIZER(id, ...) OPTIMIZER_##id,
#include "model/optimizers.def"
    OPTIMIZER_COUNT
} optimizer_id;

#define OPTIMIZER_SLOTS_MAX 3 /* of a row */
/* The numbers of the slots that any row may have besides: the weight's moving average (use_ema),
   and the sum of its gradients since the last update (gradient_accumulation_steps). */
enum { OPTIMIZER_AVERAGE = OPTIMIZER_SLOTS_MAX, OPTIMIZER_ACCUMULATOR, OPTIMIZER_SLOTS_ALL };

typedef enum schedule_id {
#define SCHEDULE(id, class_name, name) SCHEDULE_##id,
#include "model/optimizers.def"
    SCHEDULE_COUNT
} schedule_id;

#define SCHEDULE_BOUNDARIES_MAX 32
typedef struct schedule {
    schedule_id id;
    double initial;                 /* constant: the learning rate itself */
    double decay_steps, decay_rate; /* exponential, inverse_time: rate^, or 1 / (1 + rate *), the
                                       quotient step / decay_steps */
    bool staircase;
    double alpha;                       /* cosine: fraction of initial at the end */
    double warmup_steps, warmup_target; /* cosine; warmup_target < 0: none */
    double end, power;                  /* polynomial: the rate at the end */
    bool cycle;                         /* polynomial: decay_steps is extended instead */
    double t_mul, m_mul; /* cosine_restarts: each period's length and rate over the last's */
    int boundary_count;  /* step: values[i] up to boundaries[i] (inclusive) */
    double boundaries[SCHEDULE_BOUNDARIES_MAX], values[SCHEDULE_BOUNDARIES_MAX + 1];
} schedule;

typedef struct optimizer {
    optimizer_id id;
    schedule learning_rate;
#define OPTIMIZER_VALUE(type, name) type name;
#include "model/optimizers.def"
    double clipnorm, global_clipnorm; /* 0: none; per variable, over all */
    double clipvalue;                 /* 0: none */
    double loss_scale_factor; /* 0: none. Keras divides the gradients by it again; in float32 both
                                 cancel, and cornu does neither */
    bool use_ema;
    double ema_momentum;
    int64_t ema_overwrite_frequency; /* the weights become their averages each so many updates; 0:
                                        at the end of a fit alone */
    int64_t gradient_accumulation_steps; /* an update each so many steps; 0: each step */
} optimizer;

typedef struct optimizer_slot {
    const char *name; /* Keras's: "momentum", "velocity" */
    bool needed;      /* in this configuration; SGD without momentum needs none */
    double initial;   /* start value of all elements */
    int turn; /* Keras's files hold the slots of turn 0 of all weights, then those of turn 1 */
    bool of_vectors; /* not of weights with Muon's own step */
    int without;     /* 1, 2: an axis of the weight, from the end, that the slot lacks; 0: none */
} optimizer_slot;

/* slots[n]: slot n, of the row in its order and then those that any may have; an unused one is not
   needed. */
void optimizer_slots(const optimizer *o, optimizer_slot slots[OPTIMIZER_SLOTS_ALL]);
/* Does step `iteration` (from 0) update the weights, or only add its gradients to the others'? */
static inline bool optimizer_updates_at(const optimizer *o, int64_t iteration)
{
    const int64_t steps = o->gradient_accumulation_steps;
    return steps == 0 || iteration % steps == steps - 1;
}

/* The number of updates before this step: Keras's `iterations`. */
static inline int64_t optimizer_updates_before(const optimizer *o, int64_t iteration)
{
    const int64_t steps = o->gradient_accumulation_steps;
    return steps == 0 ? iteration : iteration / steps;
}

const char *optimizer_name(const optimizer *o); /* Keras's: "adam" */
/* Must whole gradients be known before anything is updated? */
bool optimizer_clips_by_norm(const optimizer *o);
/* The learning rate of the optimizer step `iteration` (from 0). */
double schedule_at(const schedule *s, int64_t iteration);
/* "adam", {class_name: Adam, config: {...}} as Keras writes it, or {adam: {learning_rate: 0.01}}.
 */
cornu_status optimizer_read(const doc *d, optimizer *out);
json_t *optimizer_to_json(const optimizer *o);
/* The rows with their options: a list for cornu_tables. */
json_t *optimizer_table(void);

/* A number; Keras's {class_name: CosineDecay, config: {...}}; or {cosine: {...}}, {step: {...}},
   {exponential: {...}} and the like, by the rows' short names, with the same options. */
cornu_status schedule_read(const doc *d, schedule *out);
/* As optimizer_table. */
json_t *schedule_table(void);

/* ---- losses ----------------------------------------------------------------------------- */

/* The targets that the outputs are compared with. */
typedef enum loss_targets {
    LOSS_TARGETS_CLASSES, /* a sample's class number */
    LOSS_TARGETS_SHARES,  /* a value per class: one-hot, or numbers from 0 to 1 */
    LOSS_TARGETS_VALUES   /* any numbers */
} loss_targets;

/* When the rule on logits is used: losses.def. */
typedef enum loss_logits {
    LOSS_LOGITS_NEVER, /* there is none */
    LOSS_LOGITS_ASKED,
    LOSS_LOGITS_SIGMOID,
    LOSS_LOGITS_ALWAYS
} loss_logits;

typedef struct loss_kind {
    const char *name;       /* "categorical_crossentropy" */
    const char *class_name; /* "CategoricalCrossentropy" */
    const char *other_name; /* "mse"; or NULL */
    loss_targets targets;
    bool sparse; /* targets are class numbers */
    loss_logits logits;
    activation_kind of_logits; /* makes of them what the other rule reads */
} loss_kind;

/* What becomes of the losses of a batch's rows. */
typedef enum loss_reduction {
    LOSS_REDUCTION_SUM_OVER_BATCH_SIZE, /* their mean */
    LOSS_REDUCTION_SUM,
    LOSS_REDUCTION_MEAN, /* Keras's other name of the first */
    LOSS_REDUCTION_AUTO  /* that of its older versions */
} loss_reduction;

typedef struct loss {
    loss_id id;
    bool from_logits;     /* the user said so */
    bool balanced;        /* binary focal cross-entropy: apply_class_balancing */
    bool remove_diagonal; /* Circle: a sample is no pair with itself */
    int reduction;        /* loss_reduction */
    double label_smoothing;
    double reals[ROW_REALS]; /* for the rule */
    int_list axis;           /* of sums: Dice, Tversky; count -1: all samples together */
} loss;

const loss_kind *loss_kind_of(loss_id id);
/* Is it made of the plan's operations? */
static inline bool loss_is_composed(loss_id id)
{
    return id >= LOSS_COUNT;
}
/* The numbers that the rule reads: reals[ROW_REALS]. */
void loss_reals(const loss *l, float *reals);
/* The loss that a name of any form means; false where it is unknown. */
bool loss_find(const char *name, loss_id *id);
/* A name, or {class_name, config}, or {NAME: {...}}. */
cornu_status loss_read(const doc *d, loss *out);
json_t *loss_to_json(const loss *l);
/* The rows with their options: a list for cornu_tables. */
json_t *loss_table(void);

/* ---- metrics ---------------------------------------------------------------------------- */

/* What becomes of a metric's sums: metrics.def. */
typedef enum metric_value_kind {
    METRIC_VALUE_MEAN,
    METRIC_VALUE_ROOT,
    METRIC_VALUE_NEGATIVE,
    METRIC_VALUE_COUNT, /* this and the next: sums of whole numbers */
    METRIC_VALUE_SHARE,
    METRIC_VALUE_AUC, /* this and those after it: of tables */
    METRIC_VALUE_SENSITIVITY_AT_SPECIFICITY,
    METRIC_VALUE_SPECIFICITY_AT_SENSITIVITY,
    METRIC_VALUE_PRECISION_AT_RECALL,
    METRIC_VALUE_RECALL_AT_PRECISION,
    METRIC_VALUE_F_BETA,
    METRIC_VALUE_IOU,
    METRIC_VALUE_R2
} metric_value_kind;

enum { METRIC_SUMS_MAX = 2 };

/* What the elements or rows of an output count, in a table of planes of so many buckets each. */
typedef struct tally_spec {
    tally_kind kind;    /* tallies.def */
    int planes;         /* the kind's: numbers that are added */
    bool of_rows;       /* a row counts once, not each of its elements */
    int64_t buckets;    /* of each plane */
    int64_t k;          /* classes; or so many outputs of a row are above thresholds (0: all); or
                           whether a label is there where its output is the largest */
    int64_t column;     /* the only one that counts; -1: all do */
    bool by_column;     /* each has buckets of its own */
    bool whole_weights; /* weights of samples count without their fractions */
    float reals[ROW_REALS]; /* the rule's numbers */
} tally_spec;

enum { TALLY_NUMBERS_MAX = 1 << 17 }; /* in all tables of a model */

/* A number of the epoch's samples so far, computed from sums over their rows. */
typedef struct metric_kind {
    const char *name;       /* "categorical_accuracy" */
    const char *class_name; /* "CategoricalAccuracy" */
    bool sparse;            /* targets are class numbers */
    bool of_loss;           /* the sum is that of `loss`; else: */
    loss_id loss;
    metric_value_kind value;
    int sum_count;
    row_sum sums[METRIC_SUMS_MAX];
} metric_kind;

enum { METRIC_NAME_SIZE = 64, METRIC_SHOWN_SIZE = 288 };

typedef struct metric {
    metric_id id; /* unless of_loss */
    int output;   /* of the model */
    bool of_loss; /* the loss of the output itself, which the user did not ask for by name */
    int slot;     /* of its first sum among those of the model's metrics */
    int table;    /* its first number in the tables of the model's metrics; or -1 */
    int index, value_count; /* which of its values; a further one has the first one's table */
    int64_t columns;        /* of the output */
    int64_t k;              /* top-k; 0: none */
    int64_t class_id;       /* the only class that counts; -1: all do */
    double threshold; /* of binary accuracy, F-scores (-INFINITY: the largest) and binary IoU */
    loss options;     /* of a metric that is a loss's */
    number_list thresholds;    /* count -1: the usual one */
    number_list label_weights; /* count -1: none */
    number_list classes;       /* target_class_ids */
    int64_t num_thresholds, num_labels, class_count, ignore_class, regressors;
    int curve, summation, average; /* metric_curve, ...; METRIC_EACH: a value for each column */
    double at, beta;               /* at: the specificity, recall, ... that is wanted */
    bool multi_label, from_logits, sparse_true, sparse_found;
    bool weighted; /* by the samples' weights: one of weighted_metrics */
    /* The caller computes it, from the outputs of each batch: what the compile section has, which
       belongs to the model; else NULL. Then `id` says nothing. */
    json_t *called;
    bool is_accuracy;              /* the user wrote "accuracy" or "acc", and sees that name */
    char name[METRIC_NAME_SIZE];   /* the user's own name for it; "": none */
    char shown[METRIC_SHOWN_SIZE]; /* OUTPUT_name of several outputs, name_1 of a further one; else
                                      "" */
} metric;

/* The options of AUC; what becomes of the values of columns (of F-scores, and of R2). */
typedef enum metric_curve { METRIC_ROC, METRIC_PR, METRIC_PRGAIN } metric_curve;
typedef enum metric_summation {
    METRIC_INTERPOLATION,
    METRIC_MINORING,
    METRIC_MAJORING
} metric_summation;
enum { METRIC_EACH = -1 };
typedef enum metric_average { METRIC_MICRO, METRIC_MACRO, METRIC_WEIGHTED } metric_average;
typedef enum metric_aggregation { METRIC_UNIFORM, METRIC_BY_VARIANCE } metric_aggregation;

const metric_kind *metric_kind_of(metric_id id);
/* The number of sums that a metric is made of. */
int metric_sum_count(const metric *m);
/* Is it a mean over weights, whose sum is its second one? */
bool metric_is_weighted_mean(const metric *m);
/* Does it take class numbers as targets? */
bool metric_takes_classes(const metric *m);
/* The threshold that outputs must be above. */
double metric_threshold(const metric *m);
/* A metric's value from its sums over so many samples, or from all tables' numbers. */
double metric_value(const metric *m, const double *sums, const double *tables, int64_t samples);

/* ---- metric_tables.c: metrics that are made of a table */

bool metric_has_table(const metric *m);
/* Set the number of its values, and check what it needs of the output's shape. */
cornu_status metric_check_table(const doc *at, const shape *output, metric *m);
/* What is counted for it. */
tally_spec metric_tally(const metric *m);
/* Numbers of its table. */
int64_t metric_table_count(const metric *m);
/* The thresholds of TALLY_LIMITS, rising: at most METRIC_LIMITS_MAX; returns how many. */
enum { METRIC_LIMITS_MAX = NUMBER_LIST_MAX + 2 };
int metric_limits(const metric *m, float limits[METRIC_LIMITS_MAX]);
/* Its value from its own table, over so many samples. */
double metric_table_value(const metric *m, const double *table, int64_t samples);

/* The name in progress lines and logs: the user's, or "accuracy" where the user wrote that; of
   several outputs with the output's before it, of several of the same name with a number. */
const char *metric_name(const metric *m);
/* The metric of an output's loss. */
metric metric_of_loss(int output);
bool metric_less_is_better(const metric *m);
/* Set the shown name of a metric of a model of several outputs. */
void metric_show_output(metric *m, const char *output);
/* Set the shown name of one of several values of a metric: NAME[0], NAME[1], ... */
void metric_show_index(metric *m);
/* Set the shown name of a further metric of the name that is shown now: NAME_1, NAME_2, ... until
   `others` have no such name. */
void metric_show_number(metric *m, const metric *others, int count);
/* Read one metric; "accuracy" (or "acc") becomes binary, sparse or categorical accuracy by the
   number of outputs and whether the loss is sparse, as Keras chooses. `output`: its shape. */
cornu_status metric_read(const doc *d, const shape *output, bool sparse_loss, metric *out);
/* Is the metric that is written there one that the caller computes? It then has the key "called",
   its name: {class_name: ..., config: ..., called: my_metric}. */
bool metric_is_called(const doc *d);
void metrics_free(metric *metrics, int count);
/* Does the metric that is written there take class numbers? False for "accuracy", which may. */
bool metric_wants_classes(const doc *d);
json_t *metric_to_json(const metric *m);
/* The rows with their options: a list for cornu_tables. */
json_t *metric_table(void);

#endif

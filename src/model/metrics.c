#include "model/compile.h"
#include "model/config.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *bare_name(const metric *m)
{
    return m->of_loss       ? "loss"
           : *m->name       ? m->name
           : m->is_accuracy ? "accuracy"
                            : metric_kind_of(m->id)->name;
}

const char *metric_name(const metric *m)
{
    return *m->shown ? m->shown : bare_name(m);
}

void metric_show_output(metric *m, const char *output)
{
    snprintf(m->shown, sizeof m->shown, "%s_%s", output, bare_name(m));
}

void metric_show_index(metric *m)
{
    char name[METRIC_SHOWN_SIZE];
    snprintf(name, sizeof name, "%s", metric_name(m));
    snprintf(m->shown, sizeof m->shown, "%.270s[%d]", name, m->index);
}

/* Is it the metric's name, but for the [0] of one of its values? */
static bool is_name_of(const char *name, const metric *m)
{
    const char *other = metric_name(m), *end = m->value_count > 1 ? strrchr(other, '[') : NULL;
    const size_t length = end ? (size_t)(end - other) : strlen(other);
    return strlen(name) == length && memcmp(name, other, length) == 0;
}

static bool is_taken(const char *name, const metric *others, int count)
{
    for (int i = 0; i < count; i++)
        if (is_name_of(name, &others[i]))
            return true;
    return false;
}

/* NAME becomes weighted_NAME, and OUTPUT_NAME becomes OUTPUT_weighted_NAME. */
static void show_weighted(metric *m)
{
    char output[METRIC_SHOWN_SIZE];
    snprintf(output, sizeof output, "%s", m->shown);
    const size_t length = strlen(output), name = strlen(bare_name(m));
    output[length > name ? length - name : 0] = '\0';
    snprintf(m->shown, sizeof m->shown, "%.200sweighted_%s", output, bare_name(m));
}

void metric_show_number(metric *m, const metric *others, int count)
{
    char name[METRIC_SHOWN_SIZE];
    if (m->weighted && is_taken(metric_name(m), others, count))
        show_weighted(m);
    snprintf(name, sizeof name, "%s", metric_name(m));
    for (int i = 1; is_taken(metric_name(m), others, count); i++)
        snprintf(m->shown, sizeof m->shown, "%.272s_%d", name, i);
}

/* ---- options ------------------------------------------------------------------------------ */

#define COMMON OPTION_ELSEWHERE("name"), OPTION_DTYPE
#define K OPTION_AS("k", INT, metric, k, .fallback = "5", .minimum = 1, .maximum = 1e9)
#define THRESHOLDS                                                        \
    OPTION(NUMBERS, metric, thresholds, .fallback = "null", .maximum = 1, \
           .flags = CONFIG_NULLABLE | CONFIG_LONE)
#define CLASS_ID                                                                            \
    OPTION(INT, metric, class_id, .fallback = "null", .flags = CONFIG_NULLABLE, .none = -1, \
           .maximum = 1e9)
#define LOGITS OPTION_AS("from_logits", BOOL, metric, options.from_logits, .fallback = "false")
#define SMOOTHING                                                                        \
    OPTION_AS("label_smoothing", REAL, metric, options.label_smoothing, .fallback = "0", \
              .minimum = 0, .maximum = 1)
#define LAST_AXIS OPTION_NEUTRAL("axis", "-1")

static const config_field plain_fields[] = {
    COMMON,
    OPTION_TOLERATED("threshold", "0.5"),
    OPTION_TOLERATED("from_sorted_ids", "false"),
    OPTIONS_END,
};
static const config_field binary_fields[] = {
    COMMON,
    OPTION(REAL, metric, threshold, .fallback = "0.5"),
    OPTIONS_END,
};
static const config_field k_fields[] = {
    K,
    COMMON,
    OPTION_TOLERATED("from_sorted_ids", "false"),
    OPTIONS_END,
};
static const config_field sparse_k_fields[] = {
    K,
    COMMON,
    OPTION_NEUTRAL("from_sorted_ids", "false"),
    OPTIONS_END,
};
static const config_field counts_fields[] = {THRESHOLDS, COMMON, OPTIONS_END};
static const config_field share_fields[] = {
    THRESHOLDS,
    OPTION_AS("top_k", INT, metric, k, .fallback = "null", .flags = CONFIG_NULLABLE, .minimum = 1,
              .maximum = 1e9),
    CLASS_ID,
    COMMON,
    OPTIONS_END,
};
#define NUM_THRESHOLDS(least) \
    OPTION(INT, metric, num_thresholds, .fallback = "200", .minimum = least, .maximum = 1e6)
static const config_field auc_fields[] = {
    NUM_THRESHOLDS(2),
    OPTION(CHOICE, metric, curve, .fallback = "ROC", .choices = "ROC|PR|PRGAIN|roc|pr|prgain"),
    OPTION_AS("summation_method", CHOICE, metric, summation, .fallback = "interpolation",
              .choices = "interpolation|minoring|majoring|Interpolation|Minoring|Majoring"),
    COMMON,
    OPTION(NUMBERS, metric, thresholds, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(BOOL, metric, multi_label, .fallback = "false"),
    OPTION(INT, metric, num_labels, .fallback = "null", .flags = CONFIG_NULLABLE, .minimum = 1,
           .maximum = 1e9),
    OPTION(NUMBERS, metric, label_weights, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(BOOL, metric, from_logits, .fallback = "false"),
    OPTIONS_END,
};
#define AT(key) \
    OPTION_AS(key, REAL, metric, at, .minimum = 0, .maximum = 1, .flags = CONFIG_REQUIRED)
static const config_field specificity_fields[] = {
    AT("specificity"), NUM_THRESHOLDS(1), CLASS_ID, COMMON, OPTIONS_END,
};
static const config_field sensitivity_fields[] = {
    AT("sensitivity"), NUM_THRESHOLDS(1), CLASS_ID, COMMON, OPTIONS_END,
};
static const config_field recall_fields[] = {
    AT("recall"), NUM_THRESHOLDS(1), CLASS_ID, COMMON, OPTIONS_END,
};
static const config_field precision_fields[] = {
    AT("precision"), NUM_THRESHOLDS(1), CLASS_ID, COMMON, OPTIONS_END,
};
#define AVERAGE                                                                            \
    OPTION(CHOICE, metric, average, .fallback = "null", .choices = "micro|macro|weighted", \
           .flags = CONFIG_NULLABLE, .none = METRIC_EACH)
#define LABEL_THRESHOLD                                               \
    OPTION(REAL, metric, threshold, .fallback = "null", .maximum = 1, \
           .flags = CONFIG_NULLABLE | CONFIG_ABOVE, .none = -INFINITY)
static const config_field f1_fields[] = {AVERAGE, LABEL_THRESHOLD, COMMON, OPTIONS_END};
static const config_field fbeta_fields[] = {
    AVERAGE,
    OPTION(REAL, metric, beta, .fallback = "1.0", .maximum = 1e9, .flags = CONFIG_ABOVE),
    LABEL_THRESHOLD,
    COMMON,
    OPTIONS_END,
};
#define CLASSES                                                                       \
    OPTION_AS("num_classes", INT, metric, class_count, .minimum = 1, .maximum = 1024, \
              .flags = CONFIG_REQUIRED)
#define TARGET_CLASSES(...) \
    OPTION_AS("target_class_ids", NUMBERS, metric, classes, .maximum = 1e9, __VA_ARGS__)
/* Keras counts in whole numbers, and says "int". */
#define IOU_KEYS                                                                        \
    OPTION_ELSEWHERE("name"), OPTION_IGNORED("dtype"),                                  \
        OPTION(INT, metric, ignore_class, .fallback = "null", .flags = CONFIG_NULLABLE, \
               .none = -1)
#define SPARSE_TRUE OPTION_AS("sparse_y_true", BOOL, metric, sparse_true, .fallback = "true")
#define SPARSE_FOUND(usual) \
    OPTION_AS("sparse_y_pred", BOOL, metric, sparse_found, .fallback = usual)
static const config_field iou_fields[] = {
    CLASSES,
    TARGET_CLASSES(.flags = CONFIG_REQUIRED | CONFIG_WHOLE),
    IOU_KEYS,
    SPARSE_TRUE,
    SPARSE_FOUND("true"),
    LAST_AXIS,
    OPTIONS_END,
};
static const config_field binary_iou_fields[] = {
    TARGET_CLASSES(.fallback = "[0, 1]", .flags = CONFIG_WHOLE),
    OPTION(REAL, metric, threshold, .fallback = "0.5"),
    OPTION_ELSEWHERE("name"),
    OPTION_IGNORED("dtype"),
    OPTIONS_END,
};
static const config_field mean_iou_fields[] = {
    CLASSES, IOU_KEYS, SPARSE_TRUE, SPARSE_FOUND("true"), LAST_AXIS, OPTIONS_END,
};
static const config_field one_hot_iou_fields[] = {
    CLASSES,   TARGET_CLASSES(.flags = CONFIG_REQUIRED | CONFIG_WHOLE),
    IOU_KEYS,  SPARSE_FOUND("false"),
    LAST_AXIS, OPTIONS_END,
};
static const config_field one_hot_mean_iou_fields[] = {
    CLASSES, IOU_KEYS, SPARSE_FOUND("false"), LAST_AXIS, OPTIONS_END,
};
static const config_field r2_fields[] = {
    OPTION_AS("class_aggregation", CHOICE, metric, average, .fallback = "uniform_average",
              .choices = "uniform_average|variance_weighted_average", .flags = CONFIG_NULLABLE,
              .none = METRIC_EACH),
    OPTION_AS("num_regressors", INT, metric, regressors, .fallback = "0", .maximum = 1e9),
    COMMON,
    OPTIONS_END,
};
static const config_field last_axis_fields[] = {COMMON, LAST_AXIS, OPTIONS_END};
static const config_field name_alone_fields[] = {COMMON, OPTIONS_END};
static const config_field binary_crossentropy_fields[] = {
    COMMON,
    LOGITS,
    SMOOTHING,
    OPTIONS_END,
};
static const config_field crossentropy_fields[] = {
    COMMON, LOGITS, SMOOTHING, LAST_AXIS, OPTIONS_END,
};
static const config_field sparse_crossentropy_fields[] = {
    COMMON, LOGITS, OPTION_NEUTRAL("ignore_class", "null"), LAST_AXIS, OPTIONS_END,
};

static const config_field *fields_of(metric_id id)
{
    static const config_field *const fields[METRIC_COUNT] = {
#define METRIC(id, name, class_name, sparse, options, ...) [METRIC_##id] = options##_fields,
#define METRIC_OF_LOSS(id, name, class_name, sparse, options, ...) [METRIC_##id] = options##_fields,
#define METRIC_OF_TABLE(id, name, class_name, options, ...) [METRIC_##id] = options##_fields,
#include "model/metrics.def"
    };
    return fields[id];
}

/* ---- names, reading and writing ----------------------------------------------------------- */

/* The loss's name, or its other name: "mse" or "MSE". Only of the metric that is the loss itself.
 */
static bool is_name_of_loss(const char *name, const metric_kind *k)
{
    const loss_kind *l = k->of_loss ? loss_kind_of(k->loss) : NULL;
    return l && k->value != METRIC_VALUE_ROOT &&
           (strcmp(l->name, name) == 0 || (l->other_name && strcasecmp(l->other_name, name) == 0));
}

/* "log_cosh_error" of LogCoshError, as Keras makes them. */
static bool is_snake_case(const char *name, const char *class_name)
{
    for (int i = 0; class_name[i]; i++) {
        const bool capital = isupper((unsigned char)class_name[i]);
        const bool begins = i > 0 && capital &&
                            (islower((unsigned char)class_name[i - 1]) ||
                             islower((unsigned char)class_name[i + 1]));
        if (begins && *name++ != '_')
            return false;
        if (*name++ != tolower((unsigned char)class_name[i]))
            return false;
    }
    return *name == '\0';
}

static bool find(const char *name, metric_id *id)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metric_kind_of((metric_id)i)->class_name, name) == 0 ||
            strcmp(metric_kind_of((metric_id)i)->name, name) == 0 ||
            is_snake_case(name, metric_kind_of((metric_id)i)->class_name) ||
            is_name_of_loss(name, metric_kind_of((metric_id)i))) {
            *id = (metric_id)i;
            return true;
        }
    return false;
}

static const metric usual = {.table = -1,
                             .value_count = 1,
                             .class_id = -1,
                             .beta = 1,
                             .thresholds.count = -1,
                             .label_weights.count = -1};

bool metric_is_called(const doc *d)
{
    return d && d->type == DOC_MAP && doc_get(d, "called");
}

void metrics_free(metric *metrics, int count)
{
    for (int i = 0; i < count; i++) {
        json_decref(metrics[i].called);
        metrics[i].called = NULL;
    }
}

metric metric_of_loss(int output)
{
    metric m = usual;
    m.output = output;
    m.of_loss = true;
    return m;
}

bool metric_less_is_better(const metric *m)
{
    const metric_kind *k = metric_kind_of(m->id);
    return m->of_loss || (k->of_loss && k->value != METRIC_VALUE_NEGATIVE) ||
           m->id == METRIC_FALSE_POSITIVES || m->id == METRIC_FALSE_NEGATIVES;
}

double metric_threshold(const metric *m)
{
    const metric_value_kind value = metric_kind_of(m->id)->value;
    if (value != METRIC_VALUE_COUNT && value != METRIC_VALUE_SHARE)
        return m->threshold;
    return m->thresholds.count == 1 ? m->thresholds.value[0] : 0.5;
}

bool metric_is_weighted_mean(const metric *m)
{
    return m->weighted && !m->called && metric_kind_of(m->id)->value < METRIC_VALUE_COUNT;
}

int metric_sum_count(const metric *m)
{
    if (m->of_loss || m->called)
        return 1;
    return metric_has_table(m) ? 0 : metric_kind_of(m->id)->sum_count + metric_is_weighted_mean(m);
}

bool metric_takes_classes(const metric *m)
{
    const bool sparse_iou =
        metric_kind_of(m->id)->value == METRIC_VALUE_IOU && m->sparse_true && !m->sparse_found;
    return metric_kind_of(m->id)->sparse || sparse_iou;
}

double metric_value(const metric *m, const double *sums, const double *tables, int64_t samples)
{
    if (metric_has_table(m))
        return metric_table_value(m, tables + m->table, samples);
    sums += m->slot;
    const bool weighted = metric_is_weighted_mean(m);
    const double of = weighted ? sums[1] : (double)samples;
    const double mean = weighted && !(of > 0) ? 0 : sums[0] / of; /* as Keras has it */
    switch (m->of_loss || m->called ? METRIC_VALUE_MEAN : metric_kind_of(m->id)->value) {
    case METRIC_VALUE_MEAN:
        break;
    case METRIC_VALUE_ROOT:
        return sqrt(mean);
    case METRIC_VALUE_NEGATIVE:
        return -mean;
    case METRIC_VALUE_COUNT:
        return sums[0];
    case METRIC_VALUE_SHARE: /* 0 of 0 is 0, as Keras has it */
        return sums[0] + sums[1] > 0 ? sums[0] / (sums[0] + sums[1]) : 0;
    default: /* those of tables */
        break;
    }
    return mean;
}

/* Keras: one output is binary; else class numbers or one-hot targets decide. */
static metric_id accuracy_id(int64_t outputs, bool sparse_loss)
{
    if (sparse_loss)
        return METRIC_SPARSE_CATEGORICAL_ACCURACY;
    return outputs == 1 ? METRIC_BINARY_ACCURACY : METRIC_CATEGORICAL_ACCURACY;
}

static cornu_status check_targets(const doc *d, const metric *m, bool sparse_loss)
{
    if (metric_takes_classes(m) == sparse_loss)
        return CORNU_OK;
    return doc_fail(d, "%s wants %s as targets, but the output's are %s; expected %s",
                    metric_kind_of(m->id)->name,
                    sparse_loss ? "one value per output" : "class numbers",
                    sparse_loss ? "class numbers" : "one value per output",
                    sparse_loss ? "a sparse metric (or \"accuracy\")"
                                : "a metric that is not sparse (or \"accuracy\")");
}

/* The name heads a column of the logs: it must not equal one of theirs, or break a CSV line. */
static bool name_fits(const char *name)
{
    static const char *const taken[] = {"loss", "epoch", "step", "learning_rate", "seconds"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || strchr(",\"\177", name[i]))
            return false;
    return length > 0 && length < METRIC_NAME_SIZE && strncmp(name, "val_", 4) != 0;
}

static cornu_status read_name(const doc *options, const char *key, metric *out)
{
    const char *name = NULL;
    TRY(doc_read_string(options, key, &name));
    if (name && !name_fits(name))
        return doc_fail(doc_get(options, key),
                        "found \"%.80s\"; expected 1 to %d characters without commas and quotes, "
                        "and not the name of another column (loss, epoch, step, learning_rate, "
                        "seconds, val_...)",
                        name, METRIC_NAME_SIZE - 1);
    if (name)
        strcpy(out->name, name);
    return CORNU_OK;
}

/* The metric that a name and options say, but for its name and what depends on the output. */
static cornu_status read_options(const doc *d, const doc *options, metric *m)
{
    const config_field *fields = fields_of(m->id);
    TRY(config_check_keys(metric_kind_of(m->id)->name, options, fields, NULL));
    TRY(config_read(metric_kind_of(m->id)->name, d, options, fields, m));
    m->options.id = metric_kind_of(m->id)->loss;
    m->curve %= METRIC_PRGAIN + 1; /* their other spellings */
    m->summation %= METRIC_MAJORING + 1;
    return CORNU_OK;
}

static cornu_status read_called(const doc *d, metric *out)
{
    static const char *const keys[] = {"module",           "class_name", "config",
                                       "registered_name",  "called",     "build_config",
                                       "shared_object_id", NULL};
    TRY(doc_only_keys(d, keys));
    if (!doc_string(doc_get(d, "called")))
        return doc_fail_found(doc_get(d, "called"), "the metric's name");
    *out = usual;
    TRY(read_name(d, "called", out));
    out->called = doc_to_json(d);
    return out->called ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "a metric: not enough memory");
}

/* Is it the one that suits the loss? Keras's class Accuracy is another. */
static bool is_any_accuracy(const doc *d, const char *name)
{
    if (strcasecmp(name, "acc") == 0)
        return true;
    return strcasecmp(name, "accuracy") == 0 &&
           (d->type == DOC_STRING || strcmp(name, "Accuracy") != 0);
}

cornu_status metric_read(const doc *d, const shape *output, bool sparse_loss, metric *out)
{
    const char *name;
    const doc *options;
    if (metric_is_called(d))
        return read_called(d, out);
    TRY(name_split(d, "a metric", &name, &options));
    *out = usual;
    out->columns = output->dim[output->rank - 1];
    if (is_any_accuracy(d, name)) {
        out->id = accuracy_id(out->columns, sparse_loss);
        out->is_accuracy = true;
    } else if (!find(name, &out->id)) {
        const char *names[METRIC_COUNT];
        for (int i = 0; i < METRIC_COUNT; i++)
            names[i] = metric_kind_of((metric_id)i)->name;
        return name_fail(d, "metric", name, names, METRIC_COUNT);
    }
    const char *known = out->is_accuracy ? "accuracy" : metric_kind_of(out->id)->name;
    if (d->type == DOC_STRING && strcmp(name, known) != 0)
        strcpy(out->name, name); /* Keras shows the name as written; a row's name is short enough */
    TRY(read_options(d, options, out));
    TRY(read_name(options, "name", out));
    TRY(check_targets(d, out, sparse_loss));
    if (out->class_id >= out->columns)
        return doc_fail(doc_get(options, "class_id"), "found %lld; expected 0 to %lld, or null",
                        (long long)out->class_id, (long long)out->columns - 1);
    return metric_check_table(d, output, out);
}

bool metric_wants_classes(const doc *d)
{
    const char *name;
    const doc *options;
    metric m = usual;
    return name_split(d, "a metric", &name, &options) == CORNU_OK && find(name, &m.id) &&
           read_options(d, options, &m) == CORNU_OK && metric_takes_classes(&m);
}

json_t *metric_to_json(const metric *m)
{
    if (m->called)
        return json_incref(m->called);
    if (m->is_accuracy && (!*m->name || strcmp(m->name, "acc") == 0))
        return json_string(bare_name(m));
    json_t *config = *m->name ? json_pack("{s:s}", "name", m->name) : json_object();
    if (!config || config_write(fields_of(m->id), m, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.metrics", metric_kind_of(m->id)->class_name, config);
}

json_t *metric_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < METRIC_COUNT; i++)
        json_array_append_new(list, config_row(metric_kind_of((metric_id)i)->class_name,
                                               metric_kind_of((metric_id)i)->name,
                                               config_describe(fields_of((metric_id)i))));
    return list;
}

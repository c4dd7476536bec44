#include "model/compile.h"
#include "model/config.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const metric_kind kinds[] = {
#define METRIC(id, name, class_name, sparse, options, value, sum, second) \
    {name,                                                                \
     class_name,                                                          \
     sparse,                                                              \
     false,                                                               \
     LOSS_COUNT,                                                          \
     METRIC_VALUE_##value,                                                \
     SUM_##second == SUM_NONE ? 1 : 2,                                    \
     {SUM_##sum, SUM_##second}},
#define METRIC_OF_LOSS(id, name, class_name, sparse, options, value, loss) \
    {name, class_name, sparse, true, LOSS_##loss, METRIC_VALUE_##value, 1, {SUM_NONE, SUM_NONE}},
#include "model/metrics.def"
};

const metric_kind *metric_kind_of(metric_id id)
{
    return &kinds[id];
}

static const char *bare_name(const metric *m)
{
    return m->of_loss       ? "loss"
           : *m->name       ? m->name
           : m->is_accuracy ? "accuracy"
                            : kinds[m->id].name;
}

const char *metric_name(const metric *m)
{
    return *m->shown ? m->shown : bare_name(m);
}

void metric_show_output(metric *m, const char *output)
{
    snprintf(m->shown, sizeof m->shown, "%s_%s", output, bare_name(m));
}

static bool is_taken(const char *name, const metric *others, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, metric_name(&others[i])) == 0)
            return true;
    return false;
}

void metric_show_number(metric *m, const metric *others, int count)
{
    char name[METRIC_SHOWN_SIZE];
    snprintf(name, sizeof name, "%s", metric_name(m));
    for (int i = 1; is_taken(metric_name(m), others, count); i++)
        snprintf(m->shown, sizeof m->shown, "%.272s_%d", name, i);
}

/* ---- options ------------------------------------------------------------------------------ */

#define COMMON OPTION_ELSEWHERE("name"), OPTION_DTYPE
#define K OPTION_AS("k", INT, metric, k, .fallback = "5", .minimum = 1, .maximum = 1e9)
#define THRESHOLDS                                                                                 \
    OPTION_AS("thresholds", REAL, metric, threshold, .fallback = "null", .flags = CONFIG_NULLABLE, \
              .none = -INFINITY)
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
    OPTION_NEUTRAL("top_k", "null"),
    OPTION_AS("class_id", INT, metric, k, .fallback = "null", .flags = CONFIG_NULLABLE, .none = -1,
              .maximum = 1e9),
    COMMON,
    OPTIONS_END,
};
static const config_field cosine_fields[] = {COMMON, LAST_AXIS, OPTIONS_END};
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
        if (strcmp(kinds[i].class_name, name) == 0 || strcmp(kinds[i].name, name) == 0 ||
            is_snake_case(name, kinds[i].class_name) || is_name_of_loss(name, &kinds[i])) {
            *id = (metric_id)i;
            return true;
        }
    return false;
}

metric metric_of_loss(int output)
{
    return (metric){.output = output, .of_loss = true};
}

bool metric_less_is_better(const metric *m)
{
    const metric_kind *k = &kinds[m->id];
    return m->of_loss || (k->of_loss && k->value != METRIC_VALUE_NEGATIVE) ||
           m->id == METRIC_FALSE_POSITIVES || m->id == METRIC_FALSE_NEGATIVES;
}

double metric_threshold(const metric *m)
{
    return isinf(m->threshold) ? 0.5 : m->threshold;
}

int metric_sum_count(const metric *m)
{
    return m->of_loss ? 1 : kinds[m->id].sum_count;
}

double metric_value(const metric *m, const double *sums, int64_t samples)
{
    const double mean = sums[0] / (double)samples;
    switch (m->of_loss ? METRIC_VALUE_MEAN : kinds[m->id].value) {
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

static cornu_status check_targets(const doc *d, metric_id id, bool sparse_loss)
{
    if (kinds[id].sparse == sparse_loss)
        return CORNU_OK;
    return doc_fail(d, "%s wants %s as targets, but the output's are %s; expected %s",
                    kinds[id].name, sparse_loss ? "one value per output" : "class numbers",
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

static cornu_status read_name(const doc *options, metric *out)
{
    const char *name = NULL;
    TRY(doc_read_string(options, "name", &name));
    if (name && !name_fits(name))
        return doc_fail(doc_get(options, "name"),
                        "found \"%.80s\"; expected 1 to %d characters without commas and quotes, "
                        "and not the name of another column (loss, epoch, step, learning_rate, "
                        "seconds, val_...)",
                        name, METRIC_NAME_SIZE - 1);
    if (name)
        strcpy(out->name, name);
    return CORNU_OK;
}

cornu_status metric_read(const doc *d, int64_t outputs, bool sparse_loss, metric *out)
{
    const char *name;
    const doc *options;
    TRY(name_split(d, "a metric", &name, &options));
    *out = (metric){.k = -1};
    if (strcasecmp(name, "accuracy") == 0 || strcasecmp(name, "acc") == 0) {
        out->id = accuracy_id(outputs, sparse_loss);
        out->is_accuracy = true;
    } else if (!find(name, &out->id)) {
        const char *names[METRIC_COUNT + 1] = {"accuracy"};
        for (int i = 0; i < METRIC_COUNT; i++)
            names[i + 1] = kinds[i].name;
        return name_fail(d, "metric", name, names, METRIC_COUNT + 1);
    }
    const char *usual = out->is_accuracy ? "accuracy" : kinds[out->id].name;
    if (d->type == DOC_STRING && strcmp(name, usual) != 0)
        strcpy(out->name, name); /* Keras shows the name as written; a row's name is short enough */
    TRY(check_targets(d, out->id, sparse_loss));
    const config_field *fields = fields_of(out->id);
    TRY(config_check_keys(kinds[out->id].name, options, fields, NULL));
    TRY(read_name(options, out));
    TRY(config_read(kinds[out->id].name, d, options, fields, out));
    out->options.id = kinds[out->id].loss;
    if (fields == share_fields && out->k >= outputs)
        return doc_fail(doc_get(options, "class_id"), "found %lld; expected 0 to %lld, or null",
                        (long long)out->k, (long long)outputs - 1);
    return CORNU_OK;
}

bool metric_wants_classes(const doc *d)
{
    const char *name;
    const doc *options;
    metric_id id;
    return name_split(d, "a metric", &name, &options) == CORNU_OK && find(name, &id) &&
           kinds[id].sparse;
}

json_t *metric_to_json(const metric *m)
{
    if (m->is_accuracy && (!*m->name || strcmp(m->name, "acc") == 0))
        return json_string(bare_name(m));
    json_t *config = *m->name ? json_pack("{s:s}", "name", m->name) : json_object();
    if (!config || config_write(fields_of(m->id), m, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.metrics", kinds[m->id].class_name, config);
}

json_t *metric_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < METRIC_COUNT; i++)
        json_array_append_new(list, config_row(kinds[i].class_name, kinds[i].name,
                                               config_describe(fields_of((metric_id)i))));
    return list;
}

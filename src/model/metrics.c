#include "model/compile.h"
#include "model/config.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const metric_kind kinds[] = {
#define METRIC(id, name, class_name, sparse, has_k, rule) \
    {name, class_name, sparse, has_k, METRIC_##id >= METRIC_MEAN_SQUARED_ERROR},
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

static const config_field plain_fields[] = {
    OPTION_ELSEWHERE("name"),
    OPTION_DTYPE,
    OPTION_TOLERATED("threshold", "0.5"),
    OPTION_TOLERATED("from_sorted_ids", "false"),
    OPTIONS_END,
};

static const config_field binary_fields[] = {
    OPTION_ELSEWHERE("name"),
    OPTION_DTYPE,
    OPTION_NEUTRAL("threshold", "0.5"),
    OPTIONS_END,
};

static const config_field k_fields[] = {
    OPTION_AS("k", INT, metric, k, .fallback = "5", .minimum = 1, .maximum = 1e9),
    OPTION_ELSEWHERE("name"),
    OPTION_DTYPE,
    OPTION_TOLERATED("from_sorted_ids", "false"),
    OPTIONS_END,
};

static const config_field sparse_k_fields[] = {
    OPTION_AS("k", INT, metric, k, .fallback = "5", .minimum = 1, .maximum = 1e9),
    OPTION_ELSEWHERE("name"),
    OPTION_DTYPE,
    OPTION_NEUTRAL("from_sorted_ids", "false"),
    OPTIONS_END,
};

#define LOGITS OPTION_NEUTRAL("from_logits", "false")
#define SMOOTHING OPTION_NEUTRAL("label_smoothing", "0")
#define LAST_AXIS OPTION_NEUTRAL("axis", "-1")

static const config_field binary_crossentropy_fields[] = {
    OPTION_ELSEWHERE("name"), OPTION_DTYPE, LOGITS, SMOOTHING, OPTIONS_END,
};

static const config_field crossentropy_fields[] = {
    OPTION_ELSEWHERE("name"), OPTION_DTYPE, LOGITS, SMOOTHING, LAST_AXIS, OPTIONS_END,
};

static const config_field sparse_crossentropy_fields[] = {
    OPTION_ELSEWHERE("name"),
    OPTION_DTYPE,
    LOGITS,
    OPTION_NEUTRAL("ignore_class", "null"),
    LAST_AXIS,
    OPTIONS_END,
};

static const config_field *fields_of(metric_id id)
{
    if (id == METRIC_BINARY_CROSSENTROPY)
        return binary_crossentropy_fields;
    if (id == METRIC_CATEGORICAL_CROSSENTROPY)
        return crossentropy_fields;
    if (id == METRIC_SPARSE_CATEGORICAL_CROSSENTROPY)
        return sparse_crossentropy_fields;
    if (id == METRIC_BINARY_ACCURACY)
        return binary_fields;
    if (!kinds[id].has_k)
        return plain_fields;
    return kinds[id].sparse ? sparse_k_fields : k_fields;
}

/* "mse" or "MSE": the loss's other name. */
static bool is_other_name(const char *name, const char *of)
{
    for (int i = 0; i < LOSS_COUNT; i++) {
        const loss_kind *l = loss_kind_of((loss_id)i);
        if (l->other_name && strcasecmp(l->other_name, name) == 0)
            return strcmp(l->name, of) == 0;
    }
    return false;
}

static bool find(const char *name, metric_id *id)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        if (strcmp(kinds[i].class_name, name) == 0 || strcmp(kinds[i].name, name) == 0 ||
            is_other_name(name, kinds[i].name)) {
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
    return m->of_loss || kinds[m->id].is_loss;
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
    *out = (metric){0};
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
    return config_read(kinds[out->id].name, d, options, fields, out);
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

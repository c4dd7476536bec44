/* The compile section: optimizer, loss, metrics, and the variables that the optimizer needs. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include <string.h>

static const config_field fields[] = {
    OPTION_ELSEWHERE("optimizer"),
    OPTION_ELSEWHERE("loss"),
    OPTION_ELSEWHERE("metrics"),
    OPTION_NEUTRAL("loss_weights", "null"),
    OPTION_NEUTRAL("weighted_metrics", "null|[]"),
    OPTION_IGNORED("run_eagerly"),
    OPTION_IGNORED("steps_per_execution"),
    OPTION_IGNORED("jit_compile"),
    OPTION_IGNORED("auto_scale_loss"),
    OPTIONS_END,
};

/* The contents of a compile section: the model changes only once all of it is valid. */
typedef struct compilation {
    optimizer optimizer;
    loss loss;
    metric metrics[MODEL_METRICS_MAX];
    int metric_count;
} compilation;

static cornu_status check_loss(const cornu_model *m, const doc *at, const loss *l)
{
    const loss_kind *kind = loss_kind_of(l->id);
    int64_t outputs = m->output.dim[m->output.rank - 1];
    bool categorical =
        l->id == LOSS_CATEGORICAL_CROSSENTROPY || l->id == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
    if (categorical && outputs < 2)
        return doc_fail(at,
                        "%s needs at least 2 outputs, found %lld; expected binary_crossentropy or "
                        "more outputs",
                        kind->name, (long long)outputs);
    return CORNU_OK;
}

static cornu_status read_metrics(const cornu_model *m, const doc *list, compilation *c)
{
    if (!list || list->type == DOC_NULL)
        return CORNU_OK;
    if (list->type != DOC_LIST || list->count > MODEL_METRICS_MAX) {
        char found[80];
        return doc_fail(list, "found %s; expected a list of at most %d metrics",
                        doc_show(list, found, sizeof found), MODEL_METRICS_MAX);
    }
    int64_t outputs = m->output.dim[m->output.rank - 1];
    for (int i = 0; i < list->count; i++) {
        metric *added = &c->metrics[i];
        TRY(metric_read(list->items[i], outputs, loss_kind_of(c->loss.id)->sparse, added));
        for (int j = 0; j < i; j++)
            if (strcmp(metric_name(added), metric_name(&c->metrics[j])) == 0)
                return doc_fail(list->items[i], "found %s twice; expected different metrics",
                                metric_name(added));
    }
    c->metric_count = list->count;
    return CORNU_OK;
}

static cornu_status check_map(const doc *section, const char *expected)
{
    char found[80];
    if (section && section->type == DOC_MAP)
        return CORNU_OK;
    return doc_fail(section, "found %s; expected a map with %s",
                    section ? doc_show(section, found, sizeof found) : "nothing", expected);
}

static cornu_status compilation_read(const cornu_model *m, const doc *section, compilation *c)
{
    TRY(check_map(section, "optimizer, loss and metrics"));
    TRY(config_check_keys("compile", section, fields, NULL));
    TRY(config_read("compile", section, section, fields, c));
    const doc *optimizer_doc = doc_get(section, "optimizer"), *loss_doc = doc_get(section, "loss");
    if (!optimizer_doc || !loss_doc)
        return doc_fail(section, "%s is missing; compile needs it",
                        optimizer_doc ? "loss" : "optimizer");
    TRY(optimizer_read(optimizer_doc, &c->optimizer));
    TRY(loss_read(loss_doc, &c->loss));
    TRY(check_loss(m, loss_doc, &c->loss));
    return read_metrics(m, doc_get(section, "metrics"), c);
}

cornu_status model_compile(cornu_model *m, const doc *section)
{
    compilation c = {0};
    cornu_status status;
    if (m->layer_count < 2)
        return doc_fail(section, "the model has no layers; expected at least one");
    TRY(compilation_read(m, section, &c));
    TRY(model_settle(m));
    model_drop_slots(m);
    m->compiled = false;
    m->optimizer = c.optimizer;
    m->loss = c.loss;
    memcpy(m->metrics, c.metrics, sizeof c.metrics);
    m->metric_count = c.metric_count;
    TRY_GOTO(model_take_trainable(m));
    m->has_trained = false;
    m->training.position = position_start(m->training.position.seed);
    m->compiled = true;
done:
    if (status != CORNU_OK)
        model_drop_slots(m);
    return status;
}

cornu_status model_change_loss(cornu_model *m, const doc *section)
{
    static const char *const keys[] = {"loss", "metrics", NULL};
    compilation c = {0};
    if (!m->compiled)
        return doc_fail(section, "the model is not compiled; expected cornu_model_compile before");
    TRY(check_map(section, "loss and metrics"));
    TRY(doc_only_keys(section, keys));
    const doc *loss_doc = doc_get(section, "loss");
    if (!loss_doc)
        return doc_fail(section, "loss is missing; a model needs it");
    TRY(loss_read(loss_doc, &c.loss));
    TRY(check_loss(m, loss_doc, &c.loss));
    TRY(read_metrics(m, doc_get(section, "metrics"), &c));
    m->loss = c.loss;
    memcpy(m->metrics, c.metrics, sizeof c.metrics);
    m->metric_count = c.metric_count;
    if (!m->live) {
        TRY(model_take_trainable(m));
        m->has_trained = false;
    }
    const position before = m->training.position;
    m->training.position = position_start(before.seed);
    m->training.position.iterations = before.iterations;
    m->training.position.learning_rate_factor = before.learning_rate_factor;
    return CORNU_OK;
}

json_t *model_compile_to_json(const cornu_model *m)
{
    json_t *metrics = json_array(), *out = json_object();
    bool complete = metrics && out;
    for (int i = 0; i < m->metric_count && complete; i++)
        complete = json_array_append_new(metrics, metric_to_json(&m->metrics[i])) == 0;
    complete = complete &&
               config_set(out, "optimizer", optimizer_to_json(&m->optimizer)) == CORNU_OK &&
               config_set(out, "loss", loss_to_json(&m->loss)) == CORNU_OK &&
               config_set(out, "metrics", json_incref(metrics)) == CORNU_OK;
    json_decref(metrics);
    if (complete)
        return out;
    json_decref(out);
    return NULL;
}

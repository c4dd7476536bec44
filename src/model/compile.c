/* The compile section: optimizer, loss, metrics, and the variables that the optimizer needs. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include "model/traced_loss.h"
#include <math.h>
#include <string.h>

static const config_field fields[] = {
    OPTION_ELSEWHERE("optimizer"),
    OPTION_ELSEWHERE("loss"),
    OPTION_ELSEWHERE("metrics"),
    OPTION_ELSEWHERE("loss_weights"),
    OPTION_ELSEWHERE("weighted_metrics"),
    OPTION_IGNORED("run_eagerly"),
    OPTION_IGNORED("steps_per_execution"),
    OPTION_IGNORED("jit_compile"),
    OPTION_IGNORED("auto_scale_loss"),
    OPTION_ELSEWHERE("exclude_from_weight_decay"),
    OPTIONS_END,
};

/* The contents of a compile section: the model changes only once all of it is valid. */
typedef struct compilation {
    optimizer optimizer;
    model_output outputs[MODEL_ENDS_MAX];
    metric metrics[MODEL_METRICS_MAX];
    int metric_count, sum_count, table_count;
} compilation;

/* ---- what is given for each output -------------------------------------------------------- */

/* Losses, their weights and metrics are given as Keras takes them: a list in the order of the
   outputs, or a map by their names. One loss is that of all outputs. */

static cornu_status fail_output(const cornu_model *m, const doc *at)
{
    text names = {0};
    for (int i = 0; i < m->output_count; i++)
        text_add(&names, "%s%s", i ? ", " : "", model_output_name(m, i));
    cornu_status status = doc_fail(at, "found no output of this name; the model has %s",
                                   names.failed ? "others" : names.data);
    text_free(&names);
    return status;
}

static int find_output(const cornu_model *m, const char *name)
{
    for (int i = 0; i < m->output_count; i++)
        if (strcmp(model_output_name(m, i), name) == 0)
            return i;
    return -1;
}

/* A map whose keys are outputs; a loss's own map has its name or class_name in their place. */
static bool is_by_output(const cornu_model *m, const doc *d)
{
    loss ignored;
    if (d->type != DOC_MAP || doc_get(d, "class_name"))
        return false;
    for (int i = 0; i < d->count; i++)
        if (find_output(m, d->items[i]->key) >= 0)
            return true;
    return d->count != 1 || !loss_find(d->items[0]->key, &ignored.id);
}

/* items[output_count]: what a list or map has for each output; NULL: nothing. */
static cornu_status split_outputs(const cornu_model *m, const doc *d, const char *what,
                                  const doc **items)
{
    if (d->type == DOC_LIST && d->count != m->output_count)
        return doc_fail(d, "found %d %s; expected %d, one for each of the model's outputs",
                        d->count, what, m->output_count);
    for (int i = 0; d->type == DOC_LIST && i < d->count; i++)
        items[i] = d->items[i];
    for (int i = 0; d->type == DOC_MAP && i < d->count; i++) {
        const int output = find_output(m, d->items[i]->key);
        if (output < 0)
            return fail_output(m, d->items[i]);
        items[output] = d->items[i];
    }
    for (int i = 0; i < m->output_count; i++)
        if (items[i] && items[i]->type == DOC_NULL)
            items[i] = NULL;
    return CORNU_OK;
}

/* ---- losses ------------------------------------------------------------------------------- */

static cornu_status check_loss(const cornu_model *m, const doc *at, int output, const loss *l)
{
    const loss_kind *kind = loss_kind_of(l->id);
    const shape *s = model_output_shape(m, output);
    int64_t outputs = s->dim[s->rank - 1];
    bool categorical =
        l->id == LOSS_CATEGORICAL_CROSSENTROPY || l->id == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
    if (categorical && outputs < 2)
        return doc_fail(at,
                        "%s needs at least 2 outputs, found %lld; expected binary_crossentropy or "
                        "more outputs",
                        kind->name, (long long)outputs);
    return CORNU_OK;
}

/* A loss that is a network. */
static cornu_status read_network(const cornu_model *m, const doc *at, int output, model_output *o)
{
    const shape *s = model_output_shape(m, output);
    TRY(traced_loss_is(at) ? traced_loss_read(at, s, &o->traced)
                           : traced_loss_compose(at, &o->loss, s, &o->traced));
    o->loss = (loss){.id = LOSS_VALUES, .reduction = o->traced->reduction};
    o->target = o->traced->targets;
    return CORNU_OK;
}

static cornu_status read_loss(const cornu_model *m, const doc *at, int output, compilation *c)
{
    model_output *o = &c->outputs[output];
    o->has_loss = true;
    if (traced_loss_is(at))
        return read_network(m, at, output, o);
    TRY(loss_read(at, &o->loss));
    if (loss_is_composed(o->loss.id))
        return read_network(m, at, output, o);
    o->target = loss_kind_of(o->loss.id)->sparse ? TARGET_CLASSES : TARGET_VALUES;
    return check_loss(m, at, output, &o->loss);
}

/* As in Keras, a map may leave outputs out only where the outputs themselves are one; null is no
   loss everywhere. */
static cornu_status check_names_output(const cornu_model *m, const doc *d, int output)
{
    if (d->type != DOC_MAP || m->output_keys || doc_get(d, model_output_name(m, output)))
        return CORNU_OK;
    return doc_fail(d, "found no loss of the output %s; expected one for each output, or null",
                    model_output_name(m, output));
}

static cornu_status read_losses(const cornu_model *m, const doc *d, compilation *c)
{
    const doc *items[MODEL_ENDS_MAX] = {0};
    const bool each = d->type == DOC_LIST || is_by_output(m, d);
    int found = 0;
    if (each)
        TRY(split_outputs(m, d, "losses", items));
    for (int i = 0; i < m->output_count; i++) {
        const doc *at = each ? items[i] : d;
        c->outputs[i] = (model_output){.node = m->outputs[i].node, .target = TARGET_NONE};
        if (at)
            TRY(read_loss(m, at, i, c));
        else
            TRY(check_names_output(m, d, i));
        found += at != NULL;
    }
    return found ? CORNU_OK : doc_fail(d, "found no loss; expected that of at least one output");
}

static cornu_status read_weight(const doc *d, double *out)
{
    char found[80];
    if ((d->type != DOC_REAL && d->type != DOC_INT) || !isfinite((float)d->real))
        return doc_fail(d, "found %s; expected a number, the weight of a loss",
                        doc_show(d, found, sizeof found));
    *out = d->real;
    return CORNU_OK;
}

static cornu_status read_weights(const cornu_model *m, const doc *d, compilation *c)
{
    const doc *items[MODEL_ENDS_MAX] = {0};
    for (int i = 0; i < m->output_count; i++)
        c->outputs[i].weight = 1;
    if (!d || d->type == DOC_NULL)
        return CORNU_OK;
    if (d->type == DOC_LIST || d->type == DOC_MAP)
        TRY(split_outputs(m, d, "loss_weights", items));
    else if (m->output_count == 1)
        items[0] = d;
    else
        return doc_fail(d, "found one value; expected a list, or a map by the outputs' names");
    for (int i = 0; i < m->output_count; i++)
        if (items[i])
            TRY(read_weight(items[i], &c->outputs[i].weight));
    return CORNU_OK;
}

/* ---- metrics ------------------------------------------------------------------------------ */

static cornu_status fail_many(const doc *at)
{
    return doc_fail(at,
                    "found more than %d metrics; expected at most that many, of which each "
                    "of several outputs has one for its loss",
                    MODEL_METRICS_MAX);
}

/* A metric of several values, such as an F-score of each label, is as many. */
static cornu_status add_values(const doc *at, const metric *added, compilation *c)
{
    if (added->value_count > MODEL_METRICS_MAX - c->metric_count)
        return fail_many(at);
    for (int i = 0; i < added->value_count; i++) {
        metric *m = &c->metrics[c->metric_count + i];
        *m = *added;
        m->index = i;
        if (added->value_count > 1)
            metric_show_index(m);
    }
    c->metric_count += added->value_count;
    return CORNU_OK;
}

static cornu_status add_metric(const doc *at, const metric *added, compilation *c)
{
    const int64_t numbers = metric_table_count(added);
    metric m = *added;
    if (c->sum_count + metric_sum_count(&m) > MODEL_METRICS_MAX)
        return fail_many(at);
    if (c->table_count + numbers > TALLY_NUMBERS_MAX)
        return doc_fail(at,
                        "found tables of %lld numbers for this metric and those before it; "
                        "expected at most %d",
                        (long long)(c->table_count + numbers), TALLY_NUMBERS_MAX);
    m.slot = c->sum_count;
    m.table = c->table_count;
    c->sum_count += metric_sum_count(&m);
    c->table_count += (int)numbers;
    metric_show_number(&m, c->metrics, c->metric_count);
    return add_values(at, &m, c);
}

static cornu_status read_metric(const cornu_model *m, const doc *at, int output, bool weighted,
                                compilation *c)
{
    metric added;
    const shape *s = model_output_shape(m, output);
    if (weighted && metric_is_called(at))
        return doc_fail(at, "found a metric of the caller's own; expected it among metrics, or one "
                            "of cornu's");
    target_kind *target = &c->outputs[output].target;
    if (*target == TARGET_NONE) /* without a loss the first metric says what they are */
        *target = metric_wants_classes(at) ? TARGET_CLASSES : TARGET_VALUES;
    if (*target == TARGET_LABEL && !metric_is_called(at))
        return doc_fail(at, "found a metric of an output whose loss is circle; expected none, as "
                            "there is no target for each number of an embedding");
    TRY(metric_read(at, s, *target == TARGET_CLASSES, &added));
    added.output = output;
    added.weighted = weighted;
    if (m->output_count > 1)
        metric_show_output(&added, model_output_name(m, output));
    cornu_status status = add_metric(at, &added, c);
    if (status != CORNU_OK)
        metrics_free(&added, 1);
    return status;
}

/* The metrics of one output: one, or a list of them, which Keras allows to be in lists, too. */
static cornu_status read_output_metrics(const cornu_model *m, const doc *d, int output,
                                        bool weighted, compilation *c)
{
    if (d->type != DOC_LIST)
        return read_metric(m, d, output, weighted, c);
    for (int i = 0; i < d->count; i++)
        TRY(read_output_metrics(m, d->items[i], output, weighted, c));
    return CORNU_OK;
}

static cornu_status read_metrics(const cornu_model *m, const doc *d, bool weighted, compilation *c)
{
    const doc *items[MODEL_ENDS_MAX] = {0};
    if (!d || d->type == DOC_NULL)
        return CORNU_OK;
    if (d->type != DOC_LIST && d->type != DOC_MAP) {
        char found[80];
        return doc_fail(d, "found %s; expected a list of at most %d metrics",
                        doc_show(d, found, sizeof found), MODEL_METRICS_MAX);
    }
    if (d->type == DOC_LIST && (m->output_count == 1 || d->count == 0))
        return read_output_metrics(m, d, 0, weighted, c);
    TRY(split_outputs(m, d, "entries", items));
    for (int i = 0; i < m->output_count; i++)
        if (items[i])
            TRY(read_output_metrics(m, items[i], i, weighted, c));
    return CORNU_OK;
}

/* As Keras, a model with several losses reports each. */
static cornu_status add_output_losses(const cornu_model *m, const doc *at, compilation *c)
{
    int losses = 0;
    for (int i = 0; i < m->output_count; i++)
        losses += c->outputs[i].has_loss;
    for (int i = 0; losses > 1 && i < m->output_count; i++) {
        if (!c->outputs[i].has_loss)
            continue;
        metric added = metric_of_loss(i);
        metric_show_output(&added, model_output_name(m, i));
        TRY(add_metric(at, &added, c));
    }
    return CORNU_OK;
}

/* Loss, loss_weights and metrics. */
static cornu_status read_all_goals(const cornu_model *m, const doc *section, compilation *c)
{
    const doc *loss_doc = doc_get(section, "loss");
    TRY(read_losses(m, loss_doc, c));
    TRY(read_weights(m, doc_get(section, "loss_weights"), c));
    TRY(add_output_losses(m, loss_doc, c));
    TRY(read_metrics(m, doc_get(section, "metrics"), false, c));
    return read_metrics(m, doc_get(section, "weighted_metrics"), true, c);
}

/* Where it fails, it leaves nothing behind. */
static cornu_status read_goals(const cornu_model *m, const doc *section, compilation *c)
{
    cornu_status status = read_all_goals(m, section, c);
    if (status != CORNU_OK) {
        model_outputs_free(c->outputs, m->output_count);
        metrics_free(c->metrics, c->metric_count);
    }
    return status;
}

/* The losses belong to the model from now on, or to nobody where it fails. */
static cornu_status take_goals(cornu_model *m, compilation *c)
{
    cornu_status status = training_state_start_tables(&m->training, c->table_count);
    if (status != CORNU_OK) {
        model_outputs_free(c->outputs, m->output_count);
        metrics_free(c->metrics, c->metric_count);
        return status;
    }
    model_outputs_free(m->outputs, m->output_count);
    metrics_free(m->metrics, m->metric_count);
    memcpy(m->outputs, c->outputs, (size_t)m->output_count * sizeof *m->outputs);
    memcpy(m->metrics, c->metrics, sizeof c->metrics);
    m->metric_count = c->metric_count;
    m->sum_count = c->sum_count;
    m->table_count = c->table_count;
    return CORNU_OK;
}

/* ---- the section -------------------------------------------------------------------------- */

static cornu_status check_map(const doc *section, const char *expected)
{
    char found[80];
    if (section && section->type == DOC_MAP)
        return CORNU_OK;
    return doc_fail(section, "found %s; expected a map with %s",
                    section ? doc_show(section, found, sizeof found) : "nothing", expected);
}

/* A list of texts that stand in the names of weights. */
static cornu_status check_undecayed(const doc *d)
{
    char found[80];
    if (!d || d->type == DOC_NULL)
        return CORNU_OK;
    if (d->type != DOC_LIST)
        return doc_fail(d, "found %s; expected a list of parts of weights' names",
                        doc_show(d, found, sizeof found));
    for (int i = 0; i < d->count; i++)
        if (d->items[i]->type != DOC_STRING || !*d->items[i]->string)
            return doc_fail(d->items[i], "found %s; expected a part of a weight's name",
                            doc_show(d->items[i], found, sizeof found));
    return CORNU_OK;
}

static cornu_status take_undecayed(cornu_model *m, const doc *d)
{
    json_decref(m->undecayed);
    m->undecayed = NULL;
    if (!d || d->type == DOC_NULL || d->count == 0)
        return CORNU_OK;
    m->undecayed = doc_to_json(d);
    return m->undecayed ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "compile: not enough memory");
}

/* ^ begins and $ ends a text with which the whole name begins or ends. */
static bool stands_in(const char *written, const char *name)
{
    const bool begins = *written == '^';
    written += begins;
    const size_t length = strlen(written), whole = strlen(name);
    const bool ends = length > 0 && written[length - 1] == '$';
    const size_t n = length - ends;
    for (size_t at = 0; at + n <= whole && (!begins || at == 0); at++)
        if (memcmp(name + at, written, n) == 0 && (!ends || at + n == whole))
            return true;
    return false;
}

bool model_excludes_from_decay(const cornu_model *m, const char *weight)
{
    for (size_t i = 0; i < json_array_size(m->undecayed); i++)
        if (stands_in(json_string_value(json_array_get(m->undecayed, i)), weight))
            return true;
    return false;
}

static cornu_status compilation_read(const cornu_model *m, const doc *section, const doc *usual,
                                     compilation *c)
{
    TRY(check_map(section, "optimizer, loss and metrics"));
    TRY(config_check_keys("compile", section, fields, NULL));
    TRY(config_read("compile", section, section, fields, c));
    const doc *optimizer_doc = doc_get(section, "optimizer"), *loss_doc = doc_get(section, "loss");
    if (!optimizer_doc)
        optimizer_doc = usual;
    if (!optimizer_doc || !loss_doc)
        return doc_fail(section, "%s is missing; compile needs it",
                        optimizer_doc ? "loss" : "optimizer");
    TRY(optimizer_read(optimizer_doc, &c->optimizer));
    TRY(check_undecayed(doc_get(section, "exclude_from_weight_decay")));
    return read_goals(m, section, c);
}

/* usual: the optimizer where the section names none; NULL: it has to. */
static cornu_status compile(cornu_model *m, const doc *section, const doc *usual)
{
    compilation c = {0};
    cornu_status status;
    TRY(model_check_free(m));
    if (m->layer_count < 2)
        return doc_fail(section, "the model has no layers; expected at least one");
    TRY(model_check_graph(m));
    TRY(compilation_read(m, section, usual, &c));
    model_drop_slots(m);
    m->compiled = false;
    m->optimizer = c.optimizer;
    TRY_GOTO(take_undecayed(m, doc_get(section, "exclude_from_weight_decay")));
    TRY_GOTO(take_goals(m, &c));
    TRY_GOTO(model_take_trainable(m));
    m->has_trained = false;
    m->training.position = position_start(m->training.position.seed);
    m->compiled = true;
done:
    if (status != CORNU_OK)
        model_drop_slots(m);
    return status;
}

cornu_status model_compile(cornu_model *m, const doc *section)
{
    return compile(m, section, NULL);
}

cornu_status model_compile_keras(cornu_model *m, const doc *section)
{
    char name[] = "rmsprop";
    const doc usual = {.type = DOC_STRING, .string = name};
    return compile(m, section, &usual);
}

cornu_status model_change_loss(cornu_model *m, const doc *section)
{
    static const char *const keys[] = {"loss", "loss_weights", "metrics", "weighted_metrics", NULL};
    compilation c = {0};
    if (!m->compiled)
        return doc_fail(section, "the model is not compiled; expected cornu_model_compile before");
    TRY(check_map(section, "loss and metrics"));
    TRY(doc_only_keys(section, keys));
    if (!doc_get(section, "loss"))
        return doc_fail(section, "loss is missing; a model needs it");
    TRY(read_goals(m, section, &c));
    TRY(take_goals(m, &c));
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

/* ---- writing ------------------------------------------------------------------------------ */

/* The metrics of one output that the user asked for. */
static json_t *list_metrics(const cornu_model *m, int output, bool weighted)
{
    json_t *list = json_array();
    for (int i = 0; list && i < m->metric_count; i++) {
        const metric *of = &m->metrics[i];
        if (of->output != output || of->of_loss || of->index > 0 || of->weighted != weighted)
            continue;
        if (json_array_append_new(list, metric_to_json(of)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *metrics_to_json(const cornu_model *m, int output)
{
    return list_metrics(m, output, false);
}

static json_t *weighted_metrics_to_json(const cornu_model *m, int output)
{
    return list_metrics(m, output, true);
}

static bool weighs_metrics(const cornu_model *m)
{
    for (int i = 0; i < m->metric_count; i++)
        if (m->metrics[i].weighted)
            return true;
    return false;
}

/* One value, or a list with one for each of several outputs. */
static json_t *for_outputs(const cornu_model *m,
                           json_t *(*to_json)(const cornu_model *m, int output))
{
    if (m->output_count == 1)
        return to_json(m, 0);
    json_t *list = json_array();
    for (int i = 0; list && i < m->output_count; i++)
        if (json_array_append_new(list, to_json(m, i)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *output_loss_to_json(const cornu_model *m, int output)
{
    const model_output *o = &m->outputs[output];
    if (o->traced)
        return json_incref(o->traced->written);
    return o->has_loss ? loss_to_json(&o->loss) : json_null();
}

static json_t *weights_to_json(const cornu_model *m)
{
    json_t *list = json_array();
    for (int i = 0; list && i < m->output_count; i++)
        if (json_array_append_new(list, json_real(m->outputs[i].weight)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *model_compile_to_json(const cornu_model *m)
{
    json_t *out = json_object();
    if (out && config_set(out, "optimizer", optimizer_to_json(&m->optimizer)) == CORNU_OK &&
        config_set(out, "loss", for_outputs(m, output_loss_to_json)) == CORNU_OK &&
        (!model_weighs_losses(m) ||
         config_set(out, "loss_weights", weights_to_json(m)) == CORNU_OK) &&
        config_set(out, "metrics", for_outputs(m, metrics_to_json)) == CORNU_OK &&
        (!weighs_metrics(m) || config_set(out, "weighted_metrics",
                                          for_outputs(m, weighted_metrics_to_json)) == CORNU_OK) &&
        (!m->undecayed ||
         config_set(out, "exclude_from_weight_decay", json_incref(m->undecayed)) == CORNU_OK))
        return out;
    json_decref(out);
    return NULL;
}

/* The settings of a fit: the caller's options override the recipe's fit section, which overrides
   the defaults. The row of an option in cornu/options.h describes it for all three. */
#include "train/fit_spec.h"
#include "model/config.h"
#include "parallel/distribution.h"
#include "train/fit_run.h"
#include <cornu/parallel.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- keys whose values have a form of their own ------------------------------------------ */

static cornu_status fail_validation(const doc *at)
{
    char found[80];
    return doc_fail(at,
                    "found %s; expected test, none, a share between 0 and 1, or {test: SAMPLES}",
                    doc_show(at, found, sizeof found));
}

/* validation: test | none | SHARE | {test: SAMPLES} */
static cornu_status read_validation(const doc *v, fit_spec *spec)
{
    static const char *const keys[] = {"test", NULL};
    if (v->type == DOC_STRING && strcmp(v->string, "none") == 0)
        return CORNU_OK;
    if (v->type == DOC_BOOL && !v->boolean)
        return CORNU_OK;
    spec->validate = true;
    if (v->type == DOC_STRING && strcmp(v->string, "test") == 0)
        return CORNU_OK;
    if (v->type == DOC_REAL && v->real > 0 && v->real < 1) {
        spec->validation_split = v->real;
        return CORNU_OK;
    }
    if (v->type != DOC_MAP || v->count != 1)
        return fail_validation(v);
    TRY(doc_only_keys(v, keys));
    return doc_read_int(v, "test", 1, INT64_MAX, &spec->validation_samples);
}

/* Its row comes after that of validation. */
static cornu_status read_validation_split(const doc *split, fit_spec *spec)
{
    if (split->type != DOC_INT && split->type != DOC_REAL)
        return doc_read_real(split->parent, split->key, &spec->validation_split);
    double fraction = split->real;
    if (!(fraction >= 0 && fraction < 1))
        return doc_fail(split, "found %g; expected a share of at least 0 and below 1", fraction);
    if (fraction > 0 && spec->validate)
        return doc_fail(split, "found both validation and validation_split; expected one");
    spec->validate = spec->validate || fraction > 0;
    spec->validation_split = fraction;
    return CORNU_OK;
}

static cornu_status read_validation_freq(const doc *freq, fit_spec *spec)
{
    bool list = freq->type == DOC_LIST;
    spec->validation_freq = freq;
    for (int i = 0; i < (list ? freq->count : 1); i++) {
        const doc *d = list ? freq->items[i] : freq;
        if (d->type != DOC_INT || d->integer < 1)
            return doc_fail(d, "found %s; expected a number of epochs, or a list of epochs from 1",
                            d->type == DOC_INT ? "a number below 1" : doc_type_name(d->type));
    }
    return CORNU_OK;
}

static cornu_status read_class_weight(const doc *weights, fit_spec *spec)
{
    spec->class_weight = weights;
    return CORNU_OK;
}

static cornu_status read_callbacks(const doc *list, fit_spec *spec)
{
    if (list->type != DOC_LIST)
        return doc_fail(list, "found %s; expected a list of callbacks", doc_type_name(list->type));
    spec->callbacks = list;
    return CORNU_OK;
}

/* ---- the rows ---------------------------------------------------------------------------- */

typedef enum row_type { ROW_INT, ROW_SMALL, ROW_FLAG, ROW_TEXT, ROW_OWN } row_type;

typedef struct row {
    const char *field, *key; /* name in cornu_fit_options and in a fit section; NULL: none */
    const char *flag;        /* flag of cornu train, the name for users */
    row_type type;
    size_t given, spec; /* offsets in cornu_fit_options and fit_spec */
    int64_t standard, minimum, maximum;
    cornu_status (*read)(const doc *value, fit_spec *spec); /* ROW_OWN: of a value that is there */
} row;

/* clang-format off */
#define SPEC_INT(key) .spec = offsetof(fit_spec, key)
#define SPEC_FLAG(key) .spec = offsetof(fit_spec, key)
#define SPEC_OWN(key) .read = read_##key
#define WHERE(at, type_, field_, key_, flag, value, standard_, minimum_, maximum_, help) \
    {.field = #field_, .type = ROW_##type_, .given = offsetof(cornu_fit_options, where.field_), \
     .maximum = maximum_},
#define OPTION_OF_FIT(at, type_, field_, key_, flag_, value, standard_, minimum_, maximum_, help) \
    {.field = #field_, .key = key_, .flag = flag_, .type = ROW_##type_, .given = offsetof(cornu_fit_options, field_), \
     .spec = offsetof(fit_spec, field_), .standard = standard_, .minimum = minimum_, .maximum = maximum_},
#define KEY(at, type_, key_, standard_, minimum_, maximum_) \
    {.key = #key_, .type = ROW_##type_, .standard = standard_, .minimum = minimum_, .maximum = maximum_, \
     SPEC_##type_(key_)},
/* clang-format on */

static const row where_rows[] = {CORNU_WHERE_OPTIONS(WHERE, )};
static const row rows[] = {CORNU_FIT_OPTIONS(OPTION_OF_FIT, KEY, )};
enum { WHERE_ROWS = sizeof where_rows / sizeof *where_rows, ROWS = sizeof rows / sizeof *rows };

/* The key of gradient_dtype in recipes and model files of 0.1. */
static const char former_gradient_dtype[] = "wire";

static cornu_status only_known_keys(const doc *section)
{
    const char *keys[ROWS + 2];
    int count = 0;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].key)
            keys[count++] = rows[i].key;
    if (doc_get(section, former_gradient_dtype) && !doc_get(section, "gradient_dtype"))
        keys[count++] = former_gradient_dtype;
    keys[count] = NULL;
    return doc_only_keys(section, keys);
}

/* ---- reading a fit section --------------------------------------------------------------- */

static void set_standard(const row *r, fit_spec *spec)
{
    void *value = (char *)spec + r->spec;
    if (r->type == ROW_INT)
        *(int64_t *)value = r->standard;
    else if (r->type == ROW_FLAG)
        *(bool *)value = r->standard != 0;
}

static cornu_status read_key(const row *r, const doc *section, fit_spec *spec)
{
    void *value = (char *)spec + r->spec;
    const doc *d = doc_get(section, r->key);
    switch (r->type) {
    case ROW_INT:
    case ROW_SMALL:
        return doc_read_int(section, r->key, r->minimum, r->maximum, value);
    case ROW_FLAG:
        return doc_read_bool(section, r->key, value);
    case ROW_TEXT:
        return doc_read_string(section, r->key, value);
    case ROW_OWN:
        break;
    }
    return d && d->type != DOC_NULL ? r->read(d, spec) : CORNU_OK;
}

cornu_status fit_spec_read(const doc *section, fit_spec *spec)
{
    bool bf16;
    const char *key = "gradient_dtype";
    *spec = (fit_spec){.validate = false};
    for (int i = 0; i < ROWS; i++)
        set_standard(&rows[i], spec);
    if (!section || section->type == DOC_NULL)
        return CORNU_OK;
    TRY(only_known_keys(section));
    for (int i = 0; i < ROWS; i++)
        if (rows[i].key)
            TRY(read_key(&rows[i], section, spec));
    if (!doc_get(section, key)) {
        key = former_gradient_dtype;
        TRY(doc_read_string(section, key, &spec->gradient_dtype));
    }
    if (spec->gradient_dtype && gradient_dtype_find(spec->gradient_dtype, &bf16) != CORNU_OK)
        return doc_fail(doc_get(section, key), "found %.40s; expected fp32 or bf16",
                        spec->gradient_dtype);
    return CORNU_OK;
}

/* ---- the caller's options ---------------------------------------------------------------- */

/* A number without limits may have any bits: a seed. */
static cornu_status check_given(const row *r, const cornu_fit_options *o)
{
    const void *given = (const char *)o + r->given;
    if ((r->type != ROW_INT && r->type != ROW_SMALL) || r->maximum == INT64_MAX)
        return CORNU_OK;
    int64_t value = r->type == ROW_INT ? *(const int64_t *)given : *(const int *)given;
    if (value < 0 || value > r->maximum)
        return status_fail(CORNU_INVALID, "%s: found %jd; expected a number from 1 to %jd",
                           r->field, (intmax_t)value, (intmax_t)r->maximum);
    return CORNU_OK;
}

cornu_status fit_check_options(const cornu_fit_options *o)
{
    if (o->shards)
        TRY(shards_check_count(o->shards));
    for (int i = 0; i < WHERE_ROWS; i++)
        TRY(check_given(&where_rows[i], o));
    for (int i = 0; i < ROWS; i++)
        if (rows[i].field)
            TRY(check_given(&rows[i], o));
    if (o->log_steps && !o->log)
        return status_fail(CORNU_INVALID,
                           "log_steps: found no log; expected the path of a CSV file");
    return CORNU_OK;
}

static void take_given(const row *r, const cornu_fit_options *o, fit_spec *spec)
{
    const void *given = (const char *)o + r->given;
    void *value = (char *)spec + r->spec;
    if (r->type == ROW_INT && *(const int64_t *)given)
        *(int64_t *)value = *(const int64_t *)given;
    else if (r->type == ROW_FLAG && *(const bool *)given)
        *(bool *)value = true;
    else if (r->type == ROW_TEXT && *(const char *const *)given)
        *(const char **)value = *(const char *const *)given;
}

void fit_spec_take(const cornu_fit_options *o, fit_spec *spec)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].field)
            take_given(&rows[i], o, spec);
}

/* ---- what is in force -------------------------------------------------------------------- */

void fit_spec_each(const fit_spec *spec, fit_spec_visit *visit, void *user)
{
    for (const row *r = rows; r < rows + ROWS; r++) {
        const void *value = (const char *)spec + r->spec;
        char number[24];
        if (!r->flag)
            continue;
        if (r->type == ROW_INT) {
            snprintf(number, sizeof number, "%jd", (intmax_t) * (const int64_t *)value);
            visit(user, r->flag, number);
        } else if (r->type == ROW_FLAG) {
            visit(user, r->flag, *(const bool *)value ? "yes" : "no");
        } else {
            visit(user, r->flag, *(const char *const *)value);
        }
    }
}

bool fit_spec_validates(const fit_spec *spec, int64_t epoch)
{
    const doc *freq = spec->validation_freq;
    if (!freq)
        return true;
    if (freq->type == DOC_INT)
        return (epoch + 1) % freq->integer == 0;
    for (int i = 0; i < freq->count; i++)
        if (freq->items[i]->integer == epoch + 1)
            return true;
    return false;
}

int64_t fit_spec_validations(const fit_spec *spec, int64_t begin, int64_t end)
{
    const doc *freq = spec->validation_freq;
    int64_t count = 0;
    if (end <= begin)
        return 0;
    if (!freq)
        return end - begin;
    if (freq->type == DOC_INT)
        return end / freq->integer - begin / freq->integer;
    for (int i = 0; i < freq->count; i++) /* a list that names one twice counts it twice */
        count += freq->items[i]->integer > begin && freq->items[i]->integer <= end;
    return count;
}

cornu_status model_default_seed(const cornu_model *model, uint64_t *seed)
{
    fit_spec spec;
    TRY(fit_spec_read(model->fit, &spec));
    *seed = (uint64_t)spec.seed;
    return CORNU_OK;
}

cornu_status model_recomputes(const cornu_model *model, bool asked, bool *recompute)
{
    fit_spec spec;
    TRY(fit_spec_read(model->fit, &spec));
    *recompute = asked || spec.recompute;
    return CORNU_OK;
}

/* ---- the learning rate ------------------------------------------------------------------- */

/* A callback that sets the rate at each epoch would override the given rate. */
static cornu_status check_rate(const cornu_model *model, double rate)
{
    fit_spec spec;
    if (!(rate > 0 && isfinite(rate)))
        return status_fail(CORNU_INVALID, "learning_rate: found %g; expected a number above 0",
                           rate);
    TRY(fit_spec_read(model->fit, &spec));
    const char *found = callbacks_find(spec.callbacks, "learning_rate_schedule");
    if (!found)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "learning_rate: found the callback %s in the recipe, which sets it at each "
                       "epoch; expected none beside another rate: change the callback's "
                       "schedule, or take it out of the recipe",
                       found);
}

static cornu_status change_rate(json_t *compile, double rate)
{
    json_t *options = json_object_get(json_object_get(compile, "optimizer"), "config");
    if (!json_is_number(json_object_get(options, "learning_rate")))
        return status_fail(CORNU_INVALID,
                           "learning_rate: found a schedule in the recipe; expected a number "
                           "that another one replaces");
    return config_set(options, "learning_rate", json_real(rate));
}

cornu_status cornu_model_change_learning_rate(cornu_model *model, double rate)
{
    if (!model || !model->compiled)
        return status_fail(CORNU_INVALID,
                           "cornu_model_change_learning_rate: found no %s; expected one",
                           model ? "optimizer" : "model");
    TRY(check_rate(model, rate));
    char *section = NULL;
    json_t *compile = model_compile_to_json(model);
    cornu_status status =
        compile ? change_rate(compile, rate)
                : status_fail(CORNU_OUT_OF_MEMORY, "learning_rate: not enough memory");
    if (status == CORNU_OK)
        status = config_print(compile, &section);
    if (status == CORNU_OK)
        status = cornu_model_compile(model, section);
    cornu_free(section);
    json_decref(compile);
    return status;
}

/* ---- a resumed run ----------------------------------------------------------------------- */

/* The name of the gradient dtype has been checked. */
static cornu_status resolve_gradient_dtype(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->state.model->training.position;
    bool *bf16 = &run->gradients_bf16;
    const char *asked = o->gradient_dtype ? o->gradient_dtype
                        : o->resume       ? NULL
                                          : run->spec.gradient_dtype;
    TRY(gradient_dtype_find(asked, bf16));
    if (o->resume && asked && *bf16 != p->gradients_bf16)
        return status_fail(
            CORNU_INVALID,
            "resume: found gradient_dtype %s in the model file and %s asked for; expected "
            "the same, or the run would not go on as it began",
            gradient_dtype_name(p->gradients_bf16), asked);
    *bf16 = o->resume ? p->gradients_bf16 : *bf16;
    run->spec.gradient_dtype = gradient_dtype_name(*bf16);
    if (*bf16 && run->spec.shards == 1)
        return status_fail(CORNU_INVALID,
                           "gradient_dtype: found bf16 and one shard; expected several, whose "
                           "gradients are added");
    if (*bf16)
        fit_notice(&run->state, "gradients of shards are rounded to bf16 before they are added");
    return CORNU_OK;
}

cornu_status fit_fail_resume(const char *what, uint64_t saved, uint64_t asked)
{
    return status_fail(
        CORNU_INVALID,
        "resume: found %s %ju in the model file and %ju asked for; expected the same, "
        "or the run would not go on as it began",
        what, (uintmax_t)saved, (uintmax_t)asked);
}

/* A resumed run keeps its settings; only its end may change. */
static cornu_status resolve_resumed(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->state.model->training.position;
    fit_spec *s = &run->spec;
    if (p->batch == 0)
        return status_fail(CORNU_INVALID, "resume: found a model that was never trained; expected "
                                          "the model file of a run that was stopped");
    if (o->seed && o->seed != p->seed)
        return fit_fail_resume("seed", p->seed, o->seed);
    if (o->batch && o->batch != p->batch)
        return fit_fail_resume("batch", (uint64_t)p->batch, (uint64_t)o->batch);
    if (o->steps_per_epoch && o->steps_per_epoch != p->steps_per_epoch)
        return fit_fail_resume("steps per epoch", (uint64_t)p->steps_per_epoch,
                               (uint64_t)o->steps_per_epoch);
    s->shards = p->shards ? p->shards : 1;
    if (o->shards && o->shards != s->shards)
        return fit_fail_resume("shards:", (uint64_t)s->shards, (uint64_t)o->shards);
    s->seed = (int64_t)p->seed;
    s->batch = p->batch;
    s->steps_per_epoch = p->steps_per_epoch;
    s->epochs = o->epochs ? o->epochs : p->epochs;
    return CORNU_OK;
}

cornu_status fit_settle(fit_run *run)
{
    fit_spec *s = &run->spec;
    fit_spec_take(run->options, s);
    if (run->options->resume)
        TRY(resolve_resumed(run));
    if (!s->shards)
        s->shards = cornu_ranks_count(run->options->ranks);
    if (s->shard_optimizer && cornu_ranks_count(run->options->ranks) == 1)
        fit_notice(&run->state, "shard-optimizer: found one process, which updates all weights");
    return resolve_gradient_dtype(run);
}

cornu_status fit_restore_callbacks(fit_run *run)
{
    const callbacks *c = run->state.callbacks;
    const json_t *states = run->state.model->training.callback_state;
    size_t count = json_array_size(states);
    if (!states)
        return CORNU_OK;
    if (count == 0 || run->options->section || c->count > c->unsaved)
        return callbacks_restore(run->state.callbacks, run->state.model);
    fit_notice(
        &run->state,
        "resume: the recipe in the file lists no callbacks; the %zu with which it was saved %s",
        count, PLURAL(count, "does not run", "do not run"));
    return CORNU_OK;
}

/* The settings of a fit: the caller's options override the recipe's fit section, which overrides
   the defaults. The row of an option in cornu/options.h describes it for all three. */
#include "train/fit_spec.h"
#include "parallel/distribution.h"
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

/* ---- the rows --------------------------------------------------------------------------- */

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
    {.field = #field_, .type = ROW_##type_, .given = offsetof(cornu_fit_options, field_), \
     .maximum = maximum_},
#define OPTION(at, type_, field_, key_, flag_, value, standard_, minimum_, maximum_, help) \
    {.field = #field_, .key = key_, .flag = flag_, .type = ROW_##type_, .given = offsetof(cornu_fit_options, field_), \
     .spec = offsetof(fit_spec, field_), .standard = standard_, .minimum = minimum_, .maximum = maximum_},
#define KEY(at, type_, key_, standard_, minimum_, maximum_) \
    {.key = #key_, .type = ROW_##type_, .standard = standard_, .minimum = minimum_, .maximum = maximum_, \
     SPEC_##type_(key_)},
/* clang-format on */

static const row where_rows[] = {CORNU_WHERE_OPTIONS(WHERE, )};
static const row rows[] = {CORNU_FIT_OPTIONS(OPTION, KEY, )};
enum { WHERE_ROWS = sizeof where_rows / sizeof *where_rows, ROWS = sizeof rows / sizeof *rows };

static cornu_status only_known_keys(const doc *section)
{
    const char *keys[ROWS + 1];
    int count = 0;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].key)
            keys[count++] = rows[i].key;
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
    *spec = (fit_spec){.validate = false};
    for (int i = 0; i < ROWS; i++)
        set_standard(&rows[i], spec);
    if (!section || section->type == DOC_NULL)
        return CORNU_OK;
    TRY(only_known_keys(section));
    for (int i = 0; i < ROWS; i++)
        if (rows[i].key)
            TRY(read_key(&rows[i], section, spec));
    if (spec->gradient_dtype && gradient_dtype_find(spec->gradient_dtype, &bf16) != CORNU_OK)
        return doc_fail(doc_get(section, "gradient_dtype"), "found %.40s; expected fp32 or bf16",
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

#include "train/fit_spec.h"
#include "parallel/shard_layout.h"
#include <limits.h>
#include <string.h>

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
    if (!v || v->type == DOC_NULL)
        return CORNU_OK;
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

static cornu_status check_validation_freq(const doc *freq)
{
    bool list = freq && freq->type == DOC_LIST;
    for (int i = 0; freq && i < (list ? freq->count : 1); i++) {
        const doc *d = list ? freq->items[i] : freq;
        if (d->type != DOC_INT || d->integer < 1)
            return doc_fail(d, "found %s; expected a number of epochs, or a list of epochs from 1",
                            d->type == DOC_INT ? "a number below 1" : doc_type_name(d->type));
    }
    return CORNU_OK;
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

static const doc *section_of(const doc *section, const char *key)
{
    const doc *d = doc_get(section, key);
    return d && d->type != DOC_NULL ? d : NULL;
}

cornu_status fit_spec_read(const doc *section, fit_spec *spec)
{
    static const char *const keys[] = {"batch_size",
                                       "epochs",
                                       "initial_epoch",
                                       "steps_per_epoch",
                                       "validation_steps",
                                       "validation_freq",
                                       "validation_batch_size",
                                       "validation",
                                       "validation_split",
                                       "shuffle",
                                       "shards",
                                       "wire",
                                       "seed",
                                       "class_weight",
                                       "callbacks",
                                       NULL};
    *spec = (fit_spec){.shuffle = true};
    if (!section || section->type == DOC_NULL)
        return CORNU_OK;
    TRY(doc_only_keys(section, keys));
    TRY(doc_read_int(section, "batch_size", 1, INT32_MAX, &spec->batch));
    TRY(doc_read_int(section, "epochs", 1, INT32_MAX, &spec->epochs));
    TRY(doc_read_int(section, "initial_epoch", 0, INT32_MAX, &spec->initial_epoch));
    TRY(doc_read_int(section, "validation_batch_size", 1, INT32_MAX, &spec->validation_batch));
    spec->validation_freq = section_of(section, "validation_freq");
    TRY(check_validation_freq(spec->validation_freq));
    spec->class_weight = section_of(section, "class_weight");
    TRY(doc_read_int(section, "steps_per_epoch", 1, INT32_MAX, &spec->steps_per_epoch));
    TRY(doc_read_int(section, "validation_steps", 1, INT32_MAX, &spec->validation_steps));
    TRY(doc_read_bool(section, "shuffle", &spec->shuffle));
    TRY(doc_read_int(section, "shards", 1, SHARDS_MOST, &spec->shards));
    bool rounds;
    TRY(doc_read_string(section, "wire", &spec->wire));
    if (spec->wire && shards_wire_find(spec->wire, &rounds) != CORNU_OK)
        return doc_fail(doc_get(section, "wire"), "found %.40s; expected fp32 or bf16", spec->wire);
    int64_t seed = 0;
    TRY(doc_read_int(section, "seed", 1, INT64_MAX, &seed));
    spec->seed = (uint64_t)seed;
    TRY(read_validation(doc_get(section, "validation"), spec));
    const doc *split = doc_get(section, "validation_split");
    if (split && split->type != DOC_NULL) {
        double fraction = 0;
        TRY(doc_read_real(section, "validation_split", &fraction));
        if (!(fraction >= 0 && fraction < 1))
            return doc_fail(split, "found %g; expected a share of at least 0 and below 1",
                            fraction);
        if (fraction > 0 && spec->validate)
            return doc_fail(split, "found both validation and validation_split; expected one");
        spec->validate = spec->validate || fraction > 0;
        spec->validation_split = fraction;
    }
    const doc *callbacks = doc_get(section, "callbacks");
    if (callbacks && callbacks->type != DOC_NULL && callbacks->type != DOC_LIST)
        return doc_fail(callbacks, "found %s; expected a list of callbacks",
                        doc_type_name(callbacks->type));
    spec->callbacks = callbacks && callbacks->type == DOC_LIST ? callbacks : NULL;
    return CORNU_OK;
}

cornu_status model_default_seed(const cornu_model *model, uint64_t *seed)
{
    fit_spec spec;
    TRY(fit_spec_read(model->fit, &spec));
    *seed = spec.seed ? spec.seed : 1;
    return CORNU_OK;
}

#include "train/classes.h"
#include "base/memory.h"
#include "model/compile.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static class_list list_of(const cornu_data *data)
{
    return (class_list){data->class_names, data->class_count, data->name ? data->name : "data"};
}

static const char *model_title(const cornu_model *m)
{
    return m->source ? m->source : m->name ? m->name : "the model";
}

/* A model file keeps a name that is no UTF-8 as cornu_printable shows it. */
static bool is_name(const char *known, const char *name)
{
    char shown[1024];
    if (strcmp(known, name) == 0)
        return true;
    cornu_printable(name, shown, sizeof shown);
    return strstr(shown, "\\x") && strcmp(known, shown) == 0;
}

/* The number of a name; -1: it is not there. */
static int class_find(const class_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (is_name(list->names[i], name))
            return i;
    return -1;
}

/* "cat, dog": all names of the list, or those that `other` (or NULL) lacks; "none". */
static cornu_status class_join(const class_list *list, const class_list *other, char **out)
{
    text t = {0};
    for (int i = 0; i < list->count; i++) {
        if (other && class_find(other, list->names[i]) >= 0)
            continue;
        text_add(&t, "%s", t.length ? ", " : "");
        text_add_printable(&t, list->names[i]);
    }
    text_add(&t, "%s", t.length ? "" : "none");
    return text_take(&t, out);
}

/* ---- classes without names -------------------------------------------------------------- */

/* True if the loss implies that the outputs are a row of classes. */
static bool tells_classes(const cornu_model *m)
{
    int64_t outputs = m->output.rank > 0 ? m->output.dim[m->output.rank - 1] : 1;
    if (!m->compiled || m->output_count > 1 || shape_elements(&m->output) != outputs)
        return false;
    return outputs > 1 || loss_kind_of(model_loss(m)->id)->targets != LOSS_TARGETS_VALUES;
}

static int64_t classes_of(const cornu_model *m)
{
    int64_t outputs = m->output.rank > 0 ? m->output.dim[m->output.rank - 1] : 1;
    return outputs == 1 ? 2 : outputs;
}

/* Check whether training data may have fewer classes than the model has outputs. */
static cornu_status classes_may_be_fewer(const cornu_model *model, const cornu_data *data,
                                         bool *fewer)
{
    data_spec spec;
    TRY(data_spec_read(model->data, &spec));
    *fewer = data->fewer_classes || spec.fewer_classes;
    return CORNU_OK;
}

/* For data without names data_check_samples reports samples with too large a class number. */
static cornu_status check_count(const cornu_model *model, const cornu_data *data, bool fewer,
                                class_use use)
{
    const char *more = use == CLASSES_TO_TRAIN
                           ? "; fewer_classes: true in the recipe's data section takes fewer"
                           : ", and the model has no names to tell which of them these are";
    int64_t expected = classes_of(model);
    bool passes = data->class_count > expected ? !data->class_names : fewer;
    if (data->class_count == expected || passes)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "data %s: found %d %s; the model's outputs expect %jd%s",
                       data->name ? data->name : "set", data->class_count,
                       PLURAL(data->class_count, "class", "classes"), (intmax_t)expected,
                       data->class_count < expected ? more : "");
}

/* ---- names ------------------------------------------------------------------------------ */

static cornu_status fail_lists(const class_list *known, const class_list *found, class_use use)
{
    char *here = NULL, *there = NULL, *unknown = NULL;
    cornu_status status = class_join(found, NULL, &here);
    if (status == CORNU_OK)
        status = class_join(known, NULL, &there);
    if (status == CORNU_OK)
        status = class_join(found, known, &unknown);
    if (status == CORNU_OK && use == CLASSES_TO_EVALUATE)
        status = status_fail(CORNU_INVALID,
                             "%s: found classes that %s does not know: %s; expected some of: %s",
                             found->of, known->of, unknown, there);
    else if (status == CORNU_OK)
        status = status_fail(CORNU_INVALID,
                             "%s: found the classes %s; expected those of %s: %s (to train it for "
                             "the new ones: --classes new; in C cornu_model_set_class_names, in "
                             "Python model.class_names)",
                             found->of, here, known->of, there);
    free(here);
    free(there);
    free(unknown);
    return status;
}

static bool is_same(const class_list *a, const class_list *b)
{
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = is_name(a->names[i], b->names[i]);
    return same;
}

/* True if the data has this class of the model. */
static bool is_numbered(const class_numbers *n, int number)
{
    for (int i = 0; i < n->count; i++)
        if (n->number[i] == number)
            return true;
    return false;
}

cornu_status classes_match_list(const class_list *known, const cornu_data *data, bool fewer,
                                class_use use, class_numbers *out)
{
    const class_list found = list_of(data);
    *out = (class_numbers){0};
    if (!found.names || is_same(known, &found))
        return CORNU_OK;
    TRY(memory_new((size_t)found.count + 1, sizeof *out->number, "class numbers", &out->number));
    out->count = found.count;
    bool all = true;
    for (int i = 0; i < found.count; i++) {
        out->number[i] = class_find(known, found.names[i]);
        all &= out->number[i] >= 0;
    }
    for (int i = 0; i < known->count && use == CLASSES_TO_TRAIN && !fewer; i++)
        all &= is_numbered(out, i);
    if (all)
        return CORNU_OK;
    classes_free(out);
    return fail_lists(known, &found, use);
}

cornu_status classes_match(const cornu_model *model, const cornu_data *data, class_use use,
                           class_numbers *out)
{
    bool fewer;
    *out = (class_numbers){0};
    bool counted = data->class_names || (use == CLASSES_TO_TRAIN && data->class_count > 0);
    if (!counted || !tells_classes(model))
        return CORNU_OK;
    TRY(classes_may_be_fewer(model, data, &fewer));
    if (!model->class_names || !data->class_names)
        return check_count(model, data, fewer, use);
    const class_list known = {model->class_names, model->class_count, model_title(model)};
    return classes_match_list(&known, data, fewer, use, out);
}

cornu_status classes_renumber(class_numbers *n, sample_block *block)
{
    const int32_t *from = block->y;
    if (!n->number || !block->y || block->y_type != SAMPLE_I32)
        return CORNU_OK;
    free(n->labels);
    n->labels = NULL;
    TRY(memory_new((size_t)block->count + 1, sizeof *n->labels, "class numbers", &n->labels));
    for (int64_t i = 0; i < block->count; i++)
        n->labels[i] = from[i] >= 0 && from[i] < n->count ? n->number[from[i]] : from[i];
    block->y = n->labels;
    return CORNU_OK;
}

void classes_free(class_numbers *n)
{
    free(n->number);
    free(n->labels);
    *n = (class_numbers){0};
}

cornu_status classes_name(cornu_model *model, const cornu_data *data)
{
    char **names = NULL, *own = NULL;
    int64_t count = classes_of(model);
    cornu_status status;
    if (model->class_names || !data->class_names || data->class_count > count)
        return CORNU_OK;
    if (model_tells_classes(model, data->class_count))
        return model_set_classes(model, data->class_names, data->class_count);
    if (!tells_classes(model))
        return CORNU_OK;
    enum { DIGITS = 24 };
    TRY(memory_new((size_t)count, sizeof *names, "class names", &names));
    TRY_GOTO(memory_new((size_t)count, DIGITS, "class names", &own));
    for (int64_t i = 0; i < count; i++) {
        names[i] = i < data->class_count ? data->class_names[i] : own + i * DIGITS;
        snprintf(own + i * DIGITS, DIGITS, "%jd", (intmax_t)i);
    }
    status = model_set_classes(model, names, (int)count);
done:
    free(own);
    free(names);
    return status;
}

/* ---- what an evaluation does not see ----------------------------------------------------- */

static cornu_status mark_sampled(const cornu_data *data, cornu_split split, const class_numbers *n,
                                 const cornu_model *model, int64_t *samples)
{
    int64_t *counts;
    TRY(memory_new((size_t)data->class_count + 1, sizeof *counts, "class counts", &counts));
    cornu_status status = cornu_data_class_counts(data, split, counts, data->class_count);
    for (int i = 0; status == CORNU_OK && i < data->class_count; i++) {
        int number = n->number ? n->number[i] : i;
        if (number < model->class_count)
            samples[number] += counts[i];
    }
    free(counts);
    return status;
}

cornu_status classes_without_samples(const cornu_model *model, const cornu_data *data,
                                     cornu_split split, const class_numbers *n, char **out)
{
    text t = {0};
    int64_t *samples;
    *out = NULL;
    if (!data->class_names || !model->class_names || !data->loader)
        return memory_copy_string("", out);
    TRY(memory_new((size_t)model->class_count + 1, sizeof *samples, "class counts", &samples));
    cornu_status status = mark_sampled(data, split, n, model, samples);
    for (int i = 0; i < model->class_count; i++) {
        if (samples[i] > 0)
            continue;
        text_add(&t, "%s", t.length ? ", " : "");
        text_add_printable(&t, model->class_names[i]);
    }
    free(samples);
    if (status == CORNU_OK && t.length > 0)
        return text_take(&t, out);
    text_free(&t);
    return status == CORNU_OK ? memory_copy_string("", out) : status;
}

/* ---- class weights ----------------------------------------------------------------------- */

enum { CLASSES_MOST = 1 << 20 };

/* A whole number is a class's number, whatever it is called. */
static cornu_status find_class(const doc *entry, const class_list *classes, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(entry->key, &end, 10);
    if (!errno && end != entry->key && *end == 0 && *number >= 0 && *number < CLASSES_MOST)
        return CORNU_OK;
    *number = class_find(classes, entry->key);
    if (*number >= 0)
        return CORNU_OK;
    char *names = NULL;
    TRY(class_join(classes, NULL, &names));
    cornu_status status =
        doc_fail(entry, "found class \"%s\"; expected a class number from 0%s%s", entry->key,
                 classes->count > 0 ? ", or one of: " : "", classes->count > 0 ? names : "");
    free(names);
    return status;
}

static cornu_status read_class(const doc *entry, const class_list *classes, int64_t *class_number)
{
    TRY(find_class(entry, classes, class_number));
    if ((entry->type != DOC_INT && entry->type != DOC_REAL) || !isfinite((float)entry->real))
        return doc_fail(entry, "found %s; expected the weight of a class, a finite number",
                        doc_type_name(entry->type));
    return CORNU_OK;
}

cornu_status class_weights_read(const doc *map, const class_list *classes, class_weights *out)
{
    int64_t number;
    *out = (class_weights){0};
    if (!map || map->type == DOC_NULL)
        return CORNU_OK;
    if (map->type != DOC_MAP || map->count == 0)
        return doc_fail(
            map, "found %s; expected weights of classes, such as {cat: 1, dog: 4} or {0: 1, 1: 4}",
            map->type == DOC_MAP ? "none" : doc_type_name(map->type));
    for (int i = 0; i < map->count; i++) {
        TRY(read_class(map->items[i], classes, &number));
        int64_t named = class_find(classes, map->items[i]->key);
        if (named >= 0 && named != number)
            out->clash = map->items[i]->key;
        out->classes = number >= out->classes ? number + 1 : out->classes;
    }
    TRY(memory_new((size_t)out->classes, sizeof *out->of, "weights of the classes", &out->of));
    for (int64_t i = 0; i < out->classes; i++)
        out->of[i] = 1;
    for (int i = 0; i < map->count; i++) {
        TRY(read_class(map->items[i], classes, &number));
        out->of[number] = (float)map->items[i]->real;
    }
    return CORNU_OK;
}

void class_weights_free(class_weights *w)
{
    free(w->of);
    free(w->samples);
    *w = (class_weights){0};
}

static int64_t class_of(const sample_block *block, int64_t sample, int64_t targets)
{
    if (block->y_type == SAMPLE_I32)
        return ((const int32_t *)block->y)[sample];
    const float *y = (const float *)block->y + sample * targets;
    if (targets == 1)
        return y[0] >= 0 && y[0] < (float)CLASSES_MOST ? (int64_t)y[0] : CLASSES_MOST;
    int64_t best = 0;
    for (int64_t i = 1; i < targets; i++)
        best = y[i] > y[best] ? i : best;
    return best;
}

cornu_status class_weights_weigh(class_weights *w, sample_block *block)
{
    if (!w->of)
        return CORNU_OK;
    if (block->weight)
        return status_fail(CORNU_INVALID, "class_weight: found samples that have weights of their "
                                          "own; expected one of the two");
    const int64_t targets = shape_elements(&block->y_shape);
    if (block->y_type == SAMPLE_I32 && targets != 1)
        return status_fail(CORNU_UNSUPPORTED,
                           "class_weight: found several class numbers a sample; expected one");
    if (block->count > w->capacity) {
        free(w->samples);
        w->samples = NULL;
        w->capacity = 0;
        TRY(memory_new((size_t)block->count, sizeof *w->samples, "weights of the samples",
                       &w->samples));
        w->capacity = block->count;
    }
    for (int64_t i = 0; i < block->count; i++) {
        int64_t number = class_of(block, i, targets);
        w->samples[i] = number >= 0 && number < w->classes ? w->of[number] : 1;
    }
    block->weight = w->samples;
    return CORNU_OK;
}

/* Describes a data set: shapes, the range of its numbers, and the number of samples of each
   class. */
#include "base/memory.h"
#include "data/data.h"
#include <cornu/data.h>
#include <math.h>
#include <stdlib.h>

/* Longer lists of classes show the first few. */
enum { CLASSES_ALL = 12, CLASSES_FIRST = 8, LIST_MOST = 600 };

static cornu_status check(const cornu_data *data, cornu_split split, const void *out,
                          const char *function)
{
    if (data && out && (split == CORNU_TRAIN || split == CORNU_TEST))
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "%s: found NULL or an unknown split; expected data, CORNU_TRAIN or "
                       "CORNU_TEST, and a place for the result",
                       function);
}

/* ---- classes ---------------------------------------------------------------------------- */

cornu_status cornu_data_class_counts(const cornu_data *data, cornu_split split, int64_t *counts,
                                     int classes)
{
    TRY(check(data, split, counts, "cornu_data_class_counts"));
    const sample_block *block = &data->block[split];
    if (classes != data->class_count || classes == 0)
        return status_fail(CORNU_INVALID, "%s: found room for %d %s; expected its %d", data->name,
                           classes, PLURAL(classes, "class", "classes"), data->class_count);
    for (int i = 0; i < classes; i++)
        counts[i] = 0;
    const int32_t *labels = block->y && block->y_type == SAMPLE_I32 ? block->y : NULL;
    for (int64_t i = 0; labels && i < block->count; i++)
        if (labels[i] >= 0 && labels[i] < classes)
            counts[labels[i]] += data_usable(data, split, i, 1);
    return CORNU_OK;
}

static void add_class(const cornu_data *data, int index, int64_t count, text *t)
{
    const char *name = cornu_data_class_name(data, index);
    text_add(t, "%s", t->length ? ", " : "");
    if (name)
        text_add_printable(t, name);
    else
        text_add(t, "%d", index);
    text_add(t, " (%lld)", (long long)count);
}

static void list_classes(const cornu_data *data, const int64_t *counts, text *t)
{
    int all = data->class_count, most = all > CLASSES_ALL ? CLASSES_FIRST : all, shown = 0;
    for (; shown < most && t->length < LIST_MOST; shown++)
        add_class(data, shown, counts[shown], t);
    if (shown < all)
        text_add(t, " and %d more", all - shown);
}

cornu_status data_class_list(const cornu_data *data, bool train, bool test, char **out)
{
    text t = {0};
    int64_t *counts = NULL, *split = NULL;
    const bool wanted[] = {train, test};
    size_t classes = (size_t)data->class_count;
    cornu_status status;
    *out = NULL;
    TRY_GOTO(memory_new(classes, sizeof *counts, "class counts", &counts));
    TRY_GOTO(memory_new(classes, sizeof *split, "class counts", &split));
    for (int s = 0; s < 2; s++) {
        if (!wanted[s])
            continue;
        TRY_GOTO(cornu_data_class_counts(data, (cornu_split)s, split, data->class_count));
        for (size_t i = 0; i < classes; i++)
            counts[i] += split[i];
    }
    list_classes(data, counts, &t);
    status = text_take(&t, out);
done:
    text_free(&t);
    free(counts);
    free(split);
    return status;
}

/* ---- numbers ---------------------------------------------------------------------------- */

static void range_of_bytes(const uint8_t *x, int64_t count, cornu_data_values *v)
{
    uint8_t low = 255, high = 0;
    for (int64_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    v->low = low;
    v->high = high;
}

static void range_of_floats(const float *x, int64_t count, cornu_data_values *v)
{
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    v->low = (double)low;
    v->high = (double)high;
}

static void shown_range(cornu_data_values *v)
{
    v->black = v->bytes || v->low >= 0 ? 0 : v->low * v->scale;
    v->white = (v->bytes ? UINT8_MAX : v->low >= 0 && v->high <= 1 ? 1 : v->high) * v->scale;
}

cornu_status cornu_data_values_get(const cornu_data *data, cornu_split split,
                                   cornu_data_values *values)
{
    TRY(check(data, split, values, "cornu_data_values_get"));
    TRY(data_check_there(data));
    const sample_block *block = &data->block[split];
    int64_t count = block->count * shape_elements(&block->x_shape);
    cornu_data_values own = {
        .size = sizeof own, .bytes = block->x_type == SAMPLE_U8, .scale = (double)block->x_scale};
    if (count > 0 && data->loader)
        own.high = UINT8_MAX; /* most are not decoded yet */
    else if (count > 0 && own.bytes)
        range_of_bytes(block->x, count, &own);
    else if (count > 0)
        range_of_floats(block->x, count, &own);
    if (count > 0)
        shown_range(&own);
    return STRUCT_WRITE("cornu_data_values", values, &own);
}

/* ---- as text ---------------------------------------------------------------------------- */

static cornu_status add_split(const cornu_data *data, cornu_split split, text *t)
{
    static const char *const names[] = {"train", "test"};
    cornu_data_values v = {.size = sizeof v};
    char shown[128], *classes = NULL;
    const sample_block *block = &data->block[split];
    if (data_usable(data, split, 0, block->count) == 0)
        return CORNU_OK;
    TRY(cornu_data_values_get(data, split, &v));
    text_add(t, "%s: %s, %s from %g to %g", names[split], shape_show(&block->x_shape, false, shown),
             v.bytes ? "uint8" : "float", v.low, v.high);
    if (v.scale < 1 || v.scale > 1)
        text_add(t, "; the network sees %.6g to %.6g", v.low * v.scale, v.high * v.scale);
    if (data->class_count > 0)
        TRY(data_class_list(data, split == CORNU_TRAIN, split == CORNU_TEST, &classes));
    if (classes)
        text_add(t, "\n  %d %s: %s", data->class_count,
                 PLURAL(data->class_count, "class", "classes"), classes);
    text_add(t, "\n");
    free(classes);
    return CORNU_OK;
}

cornu_status cornu_data_summary(const cornu_data *data, char **out)
{
    text t = {0};
    if (!data || !out)
        return status_fail(CORNU_INVALID,
                           "cornu_data_summary: found NULL; expected data and a place for text");
    *out = NULL;
    text_add_printable(&t, data->name);
    int64_t train = data_usable(data, CORNU_TRAIN, 0, data->block[CORNU_TRAIN].count);
    text_add(&t, ": %lld %s to train, %lld to test%s", (long long)train,
             PLURAL(train, "sample", "samples"),
             (long long)data_usable(data, CORNU_TEST, 0, data->block[CORNU_TEST].count),
             *data->folder ? ", in " : "");
    text_add_printable(&t, data->folder);
    text_add(&t, "\n");
    cornu_status status = add_split(data, CORNU_TRAIN, &t);
    if (status == CORNU_OK)
        status = add_split(data, CORNU_TEST, &t);
    if (status == CORNU_OK)
        return text_take(&t, out);
    text_free(&t);
    return status;
}

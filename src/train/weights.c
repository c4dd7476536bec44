#include "train/weights.h"
#include "base/memory.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

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
    if (block->y_type == SAMPLE_I32 && shape_elements(&block->y_shape) != 1)
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
    int64_t targets = shape_elements(&block->y_shape);
    for (int64_t i = 0; i < block->count; i++) {
        int64_t number = class_of(block, i, targets);
        w->samples[i] = number >= 0 && number < w->classes ? w->of[number] : 1;
    }
    block->weight = w->samples;
    return CORNU_OK;
}

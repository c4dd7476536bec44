#include "data/data.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    uint64_t key; /* sort key that orders the samples of a class */
    int32_t label;
    int64_t index;
} place;

/* SplitMix64's mixer (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int by_class_and_key(const void *a, const void *b)
{
    const place *l = a, *r = b;
    if (l->label != r->label)
        return l->label < r->label ? -1 : 1;
    return (l->key > r->key) - (l->key < r->key);
}

cornu_status share_choose(const int32_t *labels, int64_t count, double fraction, bool *kept)
{
    place *places;
    TRY(memory_new((size_t)count + 1, sizeof *places, "share of the samples", &places));
    for (int64_t i = 0; i < count; i++)
        places[i] = (place){mix((uint64_t)i), labels ? labels[i] : 0, i};
    qsort(places, (size_t)count, sizeof *places, by_class_and_key);
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && places[end].label == places[i].label; end++)
            ;
        int64_t taken = llround(fraction * (double)(end - i));
        for (int64_t k = i; k < end; k++)
            kept[places[k].index] = k - i < (taken > 0 ? taken : 1);
    }
    free(places);
    return CORNU_OK;
}

/* Copy the kept items of `size` bytes, in their order, into the data's own memory; *items then
   points there. */
static cornu_status keep_items(const void **items, size_t size, const bool *kept, int64_t count,
                               int64_t left, void **storage)
{
    void *own = *storage;
    const char *from = *items;
    if (!*items)
        return CORNU_OK;
    if (!own || own != *items)
        TRY(memory_new_aligned((size_t)left * size, "share of the samples", &own));
    char *to = own;
    for (int64_t i = 0; i < count; i++) {
        if (!kept[i])
            continue;
        memmove(to, from + (size_t)i * size, size);
        to += size;
    }
    if (own != *storage)
        memory_free_aligned(*storage);
    *storage = own;
    *items = own;
    return CORNU_OK;
}

static cornu_status keep_block(sample_block *b, const bool *kept, void *storage[3])
{
    int64_t left = 0;
    size_t x_size = (size_t)shape_elements(&b->x_shape) * sample_size(b->x_type);
    size_t y_size = (size_t)shape_elements(&b->y_shape) * sample_size(b->y_type);
    const void *weight = b->weight;
    for (int64_t i = 0; i < b->count; i++)
        left += kept[i];
    TRY(keep_items(&b->x, x_size, kept, b->count, left, &storage[0]));
    TRY(keep_items(&b->y, y_size, kept, b->count, left, &storage[1]));
    TRY(keep_items(&weight, sizeof *b->weight, kept, b->count, left, &storage[2]));
    b->weight = weight;
    b->count = left;
    return CORNU_OK;
}

cornu_status share_apply(const data_request *request, cornu_data *data)
{
    double fraction = request->options.fraction;
    int64_t before[2], after[2];
    bool by_class = false;
    if (!(fraction > 0 && fraction < 1) || data->loader)
        return CORNU_OK;
    for (int s = 0; s < 2; s++) {
        sample_block *b = &data->block[s];
        bool *kept, classes = b->y && b->y_type == SAMPLE_I32 && shape_elements(&b->y_shape) == 1;
        before[s] = b->count;
        by_class = by_class || classes;
        TRY(memory_new((size_t)b->count + 1, sizeof *kept, "share of the samples", &kept));
        cornu_status status = share_choose(classes ? b->y : NULL, b->count, fraction, kept);
        if (status == CORNU_OK && b->count > 0)
            status = keep_block(b, kept, &data->storage[3 * s]);
        free(kept);
        TRY(status);
        after[s] = b->count;
    }
    share_notice(request, data->name, by_class, before, after);
    return CORNU_OK;
}

void share_notice(const data_request *request, const char *name, bool by_class,
                  const int64_t count[2], const int64_t left[2])
{
    data_notice(&request->options,
                "%s: fraction %g of %s: %lld of %lld training samples, %lld of %lld test samples",
                name, request->options.fraction, by_class ? "each class" : "the samples",
                (long long)left[0], (long long)count[0], (long long)left[1], (long long)count[1]);
}

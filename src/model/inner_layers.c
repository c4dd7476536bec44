#include "model/inner_layers.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INNER_MOST = 16, INNER_DEPTH_MOST = 8 };

#define SIZES .minimum = 1, .maximum = 1e9, .flags = CONFIG_OPEN | CONFIG_ALIAS

static const config_field common_fields[] = {
    OPTION(STRING, layer_common, name, .flags = 0),
    OPTION_ELSEWHERE("inputs"),
    OPTION(BOOL, layer_common, trainable, .fallback = "true"),
    OPTION_DTYPE,
    OPTION_AS("batch_input_shape", BATCH_SHAPE, layer_common, input_shape, SIZES),
    OPTION_AS("input_shape", SHAPE, layer_common, input_shape, SIZES),
    OPTIONS_END,
};

/* The layers of this option. */
static layer_list *list_of(const layer *l, const config_field *f)
{
    return (layer_list *)(void *)((char *)l->config + f->offset);
}

void layer_free(layer *l)
{
    if (!l)
        return;
    for (const config_field *f = l->kind ? l->kind->fields : NULL; f && f->key && l->config; f++) {
        if (f->type != CONFIG_LAYER)
            continue;
        for (int i = 0; i < list_of(l, f)->count; i++)
            layer_free(list_of(l, f)->item[i]);
        free(list_of(l, f)->item);
    }
    if (l->kind)
        config_free(l->kind->fields, l->config);
    free(l->name);
    free(l->place);
    free(l->config);
    free(l);
}

int64_t layer_numbers(const layer *l)
{
    int64_t count = 0;
    for (const config_field *f = l->kind->fields; f->key; f++) {
        if (f->type == CONFIG_ARRAY && config_has_value(f, l->config)) {
            const number_array *a = (const void *)((const char *)l->config + f->offset);
            count += shape_elements(&a->shape);
        }
        for (int i = 0; f->type == CONFIG_LAYER && i < list_of(l, f)->count; i++)
            count += layer_numbers(list_of(l, f)->item[i]);
    }
    return count;
}

const layer *layer_of_weight(const layer *l, int number)
{
    for (const config_field *f = l->kind->fields; f->key; f++)
        for (int i = 0; f->type == CONFIG_LAYER && i < list_of(l, f)->count; i++) {
            const layer *inner = list_of(l, f)->item[i];
            const int own = number - inner->first_variable;
            if (own >= 0 && own < inner->weight_count)
                return layer_of_weight(inner, own);
        }
    return l;
}

/* ---- reading ------------------------------------------------------------------------------ */

static cornu_status find_kind(const layer *around, const doc *d, const char *name,
                              const layer_kind **out)
{
    int depth = 1;
    for (; around; around = around->around)
        depth++;
    if (depth > INNER_DEPTH_MOST)
        return doc_fail(d, "found a layer within %d others; expected at most %d", depth - 1,
                        INNER_DEPTH_MOST - 1);
    *out = layer_kind_find(name);
    if (strcmp(name, "Sequential") == 0 || strcmp(name, "Functional") == 0 ||
        strcmp(name, "Model") == 0)
        return doc_fail(d, "found a model; expected a layer, as only a layer can be an option");
    if (!*out)
        return layer_kind_fail(d, name);
    if (layer_is_input(*out) || (*out)->merges || (*out)->operation)
        return doc_fail(d, "found %s; expected a layer of one input", name);
    return CORNU_OK;
}

/* The stem, followed by a number if layers of the list before this one have it. */
static cornu_status numbered(const layer_list *list, const char *stem, bool of_places, char **out)
{
    int same = 0;
    for (int i = 0; i < list->count; i++)
        same += strcmp(of_places ? list->item[i]->kind->base_name : list->item[i]->name, stem) == 0;
    return same > 0 ? memory_format(out, "%s_%d", stem, same) : memory_copy_string(stem, out);
}

/* Its place in Keras's object, and its name: that which is given, or of its kind. */
static cornu_status name_inner(const layer_list *list, const config_field *f, const doc *d,
                               const char *given, layer *l)
{
    char *own = NULL;
    const char *prefix =
        f->prefix && (list->derived || !(f->flags & CONFIG_COPIES)) ? f->prefix : "";
    if (given)
        TRY(name_check(d, "layer name", given));
    TRY(numbered(list, given ? given : l->kind->base_name, false, &own));
    const bool has_prefix = strncmp(own, prefix, strlen(prefix)) == 0;
    cornu_status status = memory_format(&l->name, "%s%s", has_prefix ? "" : prefix, own);
    free(own);
    TRY(status);
    if (!(f->flags & CONFIG_SEVERAL))
        return memory_copy_string(f->place ? f->place : f->key, &l->place);
    TRY(numbered(list, l->kind->base_name, true, &own));
    status = memory_format(&l->place, "%s/%s", f->key, own);
    free(own);
    return status;
}

static cornu_status read_one(layer *around, const config_field *f, const doc *d)
{
    layer_list *list = list_of(around, f);
    layer_common common = {0};
    const char *name;
    const doc *options;
    const layer_kind *kind = NULL;
    layer *l = NULL;
    TRY(name_split(d, "a layer", &name, &options));
    TRY(find_kind(around, d, name, &kind));
    if (doc_get(options, "inputs"))
        return doc_fail(doc_get(options, "inputs"),
                        "found inputs of a layer within another; expected none");
    TRY(memory_new(1, sizeof *l, kind->name, &l));
    l->kind = kind;
    l->around = around;
    cornu_status status = layer_read_options(l, d, options, &common);
    if (status == CORNU_OK)
        status = name_inner(list, f, d, common.name, l);
    if (status == CORNU_OK && around->trainable && !l->trainable)
        status =
            doc_fail(d, "found trainable: false of a layer within %s; expected it of %s itself",
                     around->kind->name, around->kind->name);
    if (status != CORNU_OK) {
        layer_free(l);
        return status;
    }
    list->item[list->count++] = l;
    return CORNU_OK;
}

static cornu_status read_list(layer *around, const config_field *f, const doc *d)
{
    const bool several = f->flags & CONFIG_SEVERAL;
    layer_list *list = list_of(around, f);
    if (several && (d->type != DOC_LIST || d->count == 0 || d->count > INNER_MOST))
        return doc_fail_found(d, "a list of 1 to 16 layers");
    const int count = several ? d->count : 1;
    TRY(memory_new((size_t)count, sizeof(layer *), "layers", &list->item));
    for (int i = 0; i < count; i++)
        TRY(read_one(around, f, several ? d->items[i] : d));
    return CORNU_OK;
}

static cornu_status read_inner(layer *l, const doc *options)
{
    const doc *before = NULL;
    for (const config_field *f = l->kind->fields; f->key; f++) {
        if (f->type != CONFIG_LAYER)
            continue;
        const doc *d = doc_get(options, f->key);
        if (d && d->type == DOC_NULL)
            d = NULL;
        list_of(l, f)->derived = !d && f->flags & CONFIG_COPIES;
        if (list_of(l, f)->derived)
            d = before;
        if (!d)
            return doc_fail(options, "%s is missing; %s needs it", f->key, l->kind->name);
        TRY(read_list(l, f, d));
        before = d;
    }
    return CORNU_OK;
}

cornu_status layer_read_options(layer *l, const doc *at, const doc *options, layer_common *common)
{
    const layer_kind *kind = l->kind;
    TRY(memory_new(1, kind->config_size ? kind->config_size : 1, kind->name, &l->config));
    TRY(config_check_keys(kind->name, options, kind->fields, common_fields));
    TRY(config_read(kind->name, at, options, common_fields, common));
    TRY(config_read(kind->name, at, options, kind->fields, l->config));
    l->trainable = common->trainable;
    return read_inner(l, options);
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Inner layers are trained where the layers around them are. */
static json_t *inner_to_json(const layer *l, bool trainable)
{
    json_t *config = json_pack("{s:s, s:s}", "name", l->name, "dtype", "float32");
    if (!config ||
        (!l->kind->without_trainable &&
         json_object_set_new(config, "trainable", json_boolean(trainable)) != 0) ||
        layer_write_options(l, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.layers", l->kind->name, config);
}

static json_t *list_to_json(const layer_list *list, bool several, bool trainable)
{
    json_t *all = several ? json_array() : inner_to_json(list->item[0], trainable);
    for (int i = 0; several && all && i < list->count; i++)
        if (json_array_append_new(all, inner_to_json(list->item[i], trainable)) != 0) {
            json_decref(all);
            return NULL;
        }
    return all;
}

cornu_status layer_write_options(const layer *l, json_t *object)
{
    const layer *outermost = l;
    while (outermost->around)
        outermost = outermost->around;
    TRY(config_write(l->kind->fields, l->config, object));
    for (const config_field *f = l->kind->fields; f->key; f++)
        if (f->type == CONFIG_LAYER)
            TRY(config_set(
                object, f->key,
                list_to_json(list_of(l, f), f->flags & CONFIG_SEVERAL, outermost->trainable)));
    return CORNU_OK;
}

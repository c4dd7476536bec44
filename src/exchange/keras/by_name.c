/* The layers of a Keras file that have a partner in a model: see keras.h. */
#include "base/memory.h"
#include "exchange/keras/keras.h"
#include <stdlib.h>
#include <string.h>

/* New names for the tensors of a file; NULL: left out. */
typedef struct renaming {
    tensor_file *f;
    const cornu_model *m;
    char **name; /* [f->count] */
} renaming;

/* "LAYER/kernel", or where the layer has fewer weights "LAYER/weight 3". */
static cornu_status call_weight(renaming *r, const layer *l, int number, const file_tensor *t)
{
    char **name = &r->name[t - r->f->tensors];
    if (*name)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found it as a weight of two layers", r->f->path,
                           t->name);
    if (number < l->weight_count)
        return memory_copy_string(r->m->variables[l->first_variable + number].name, name);
    return memory_format(name, "%s/weight %d", l->name, number + 1);
}

static void apply(renaming *r)
{
    int kept = 0;
    for (int i = 0; i < r->f->count; i++) {
        free(r->f->tensors[i].name);
        r->f->tensors[i].name = r->name[i];
        if (r->name[i])
            r->f->tensors[kept++] = r->f->tensors[i];
        r->name[i] = NULL;
    }
    r->f->count = kept;
}

/* ---- Keras 3 ---------------------------------------------------------------------------- */

static cornu_status take_group(renaming *r, const char *group, const layer *l)
{
    for (int i = 0;; i++) {
        char *name;
        TRY(memory_format(&name, "%s/vars/%d", group, i));
        const file_tensor *t = tensor_file_find(r->f, name);
        free(name);
        if (!t)
            return CORNU_OK;
        TRY(call_weight(r, l, i, t));
    }
}

/* "layers/dense_1" of "layers/dense_1/vars@name", what a group's layer is called; 0: another key.
 */
static int group_length(const char *key)
{
    static const char end[] = "/vars@name";
    size_t length = strlen(key), tail = sizeof end - 1;
    bool is_one = length > tail && strcmp(key + length - tail, end) == 0 &&
                  strncmp(key, "layers/", strlen("layers/")) == 0;
    return is_one ? (int)(length - tail) : 0;
}

static cornu_status take_called_group(renaming *r, const layer *l)
{
    for (int i = 0; i < r->f->metadata_count; i++) {
        const metadata_entry *e = &r->f->metadata[i];
        char *group;
        if (group_length(e->key) == 0 || strcmp(e->value, l->name) != 0)
            continue;
        TRY(memory_format(&group, "%.*s", group_length(e->key), e->key));
        cornu_status status = take_group(r, group, l);
        free(group);
        return status;
    }
    return CORNU_OK;
}

static bool names_groups(const tensor_file *f)
{
    for (int i = 0; i < f->metadata_count; i++)
        if (group_length(f->metadata[i].key) > 0)
            return true;
    return false;
}

/* For a file of an early Keras 3, which has no names with the weights: use the layers of its
   configuration, which are counted by class. */
static cornu_status take_configured_group(renaming *r, const json_t *layers, const layer *l)
{
    const json_t *item;
    size_t i;
    int before = 0;
    json_array_foreach(layers, i, item)
    {
        const char *class_name = json_string_value(json_object_get(item, "class_name"));
        const char *name =
            json_string_value(json_object_get(json_object_get(item, "config"), "name"));
        if (!class_name || layer_kind_find(class_name) != l->kind)
            continue;
        if (name && strcmp(name, l->name) == 0) {
            char group[160];
            snprintf(group, sizeof group, before ? "layers/%.120s_%d" : "layers/%.120s",
                     l->kind->base_name, before);
            return take_group(r, group, l);
        }
        before++;
    }
    return CORNU_OK;
}

static cornu_status take_configured_groups(renaming *r)
{
    const char *json = tensor_file_metadata(r->f, "keras_config");
    json_t *config;
    if (!json)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found no names of layers; expected them for loading by name; "
                           "without by_name weights go by the layers' order",
                           r->f->path);
    TRY(keras_parse_json(r->f, "config.json", json, &config));
    const json_t *layers = json_object_get(json_object_get(config, "config"), "layers");
    cornu_status status = CORNU_OK;
    for (int i = 0; status == CORNU_OK && i < r->m->layer_count; i++)
        status = take_configured_group(r, layers, r->m->layers[i]);
    json_decref(config);
    return status;
}

static cornu_status take_ordered_group(renaming *r, int index)
{
    char *group;
    TRY(keras_group(r->m, index, &group));
    cornu_status status = take_group(r, group, r->m->layers[index]);
    free(group);
    return status;
}

static cornu_status take_native(renaming *r, bool by_name)
{
    if (by_name && !names_groups(r->f))
        return take_configured_groups(r);
    for (int i = 0; i < r->m->layer_count; i++)
        TRY(by_name ? take_called_group(r, r->m->layers[i]) : take_ordered_group(r, i));
    return CORNU_OK;
}

/* ---- older files ------------------------------------------------------------------------ */

static cornu_status take_listed(renaming *r, const char *group, const json_t *names, const layer *l)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        char *name;
        const char *own = json_string_value(json_array_get(names, i));
        TRY(memory_format(&name, "%s/%s", group, own ? own : ""));
        const file_tensor *t = tensor_file_find(r->f, name);
        cornu_status status =
            t ? call_weight(r, l, (int)i, t)
              : status_fail(CORNU_BAD_FILE, "%s: found no %s; expected this weight of %s",
                            r->f->path, name, l->name);
        free(name);
        TRY(status);
    }
    return CORNU_OK;
}

static cornu_status take_legacy(renaming *r)
{
    bool whole = tensor_file_metadata(r->f, "model_weights@layer_names") ||
                 tensor_file_metadata(r->f, "model_weights@layer_names0");
    for (int i = 0; i < r->m->layer_count; i++) {
        const layer *l = r->m->layers[i];
        char *group;
        json_t *names = NULL;
        TRY(memory_format(&group, "%s%s", whole ? "model_weights/" : "", l->name));
        cornu_status status = keras_read_list(r->f, group, "weight_names", &names);
        if (status == CORNU_OK)
            status = take_listed(r, group, names, l);
        json_decref(names);
        free(group);
        TRY(status);
    }
    return CORNU_OK;
}

/* ---- both ------------------------------------------------------------------------------- */

cornu_status keras_read_partners(tensor_file *f, const cornu_model *m, bool by_name)
{
    renaming r = {.f = f, .m = m};
    bool native = keras_is_native(f);
    if (!native && !by_name)
        return status_fail(CORNU_INVALID,
                           "%s: found skip_mismatch without by_name; expected both for a file of "
                           "Keras 2's format",
                           f->path);
    TRY(memory_new((size_t)f->count + 1, sizeof *r.name, "names", &r.name));
    cornu_status status = native ? take_native(&r, by_name) : take_legacy(&r);
    if (status == CORNU_OK)
        apply(&r);
    for (int i = 0; status != CORNU_OK && i < f->count; i++)
        free(r.name[i]);
    free(r.name);
    return status;
}

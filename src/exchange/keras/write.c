/* Writing Keras's files: see keras.h. */
#include "base/memory.h"
#include "device/optimizer_step.h"
#include "exchange/keras/keras.h"
#include "format/hdf5/hdf5.h"
#include "model/config.h"
#include <stdlib.h>
#include <string.h>

/* The version whose files these are. */
#define KERAS_VERSION "3.15.1"

static cornu_status fail_memory(const char *path)
{
    return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to write it", path);
}

/* ---- what goes into the file ------------------------------------------------------------ */

/* Tensors and attributes, and the memory that they refer to. */
typedef struct content {
    file_tensor *tensors;
    int count;
    hdf5_attribute *attributes;
    int attribute_count;
    char **owned; /* texts of attributes */
    int owned_count;
    const char **lists;
    int list_used;
    int64_t iterations;
    float rate, momentum_product;
} content;

static cornu_status content_new(const cornu_model *m, int tensors, int entries, content *c)
{
    size_t attributes =
        2 * ((size_t)m->layer_count + (size_t)m->submodel_count) + (size_t)entries + 16;
    size_t texts = attributes + 2 * (size_t)tensors + (size_t)m->layer_count;
    *c = (content){0};
    TRY(memory_new((size_t)tensors + 3 + (size_t)m->layer_count, sizeof *c->tensors, "tensors",
                   &c->tensors));
    TRY(memory_new(attributes, sizeof *c->attributes, "attributes", &c->attributes));
    TRY(memory_new(texts, sizeof *c->owned, "attributes", &c->owned));
    return memory_new(texts, sizeof *c->lists, "attributes", &c->lists);
}

static void content_free(content *c)
{
    for (int i = 0; i < c->owned_count; i++)
        free(c->owned[i]);
    free(c->owned);
    free(c->lists);
    free(c->attributes);
    free(c->tensors);
}

/* Keep a text until the file is written; takes ownership of `value`. */
static const char *own(content *c, char *value)
{
    return c->owned[c->owned_count++] = value;
}

static void add_text(content *c, const char *group, const char *name, const char *value)
{
    c->attributes[c->attribute_count++] =
        (hdf5_attribute){.group = group, .name = name, .value = value};
}

static void add_list(content *c, const char *group, const char *name, const char *const *list,
                     int count)
{
    c->attributes[c->attribute_count++] =
        (hdf5_attribute){.group = group, .name = name, .list = list, .count = count};
}

/* ---- tensors ---------------------------------------------------------------------------- */

static void add_scalar(content *c, char *name, element_type type, const void *value)
{
    c->tensors[c->count++] = (file_tensor){.name = name, .type = type, .count = 1, .data = value};
}

/* Is it a vector's slot of means over an axis, in whose place Keras has a whole number? */
static bool is_placeholder(const cornu_model *m, int number)
{
    return m->variables[number].is_slot && m->variables[number].shape.rank == 0 &&
           m->variables[m->variables[number].of].shape.rank > 0;
}

static void set_placeholder(file_tensor *t)
{
    static const int32_t zero = 0;
    t->type = ELEMENT_I32;
    t->data = &zero;
}

static void add_tensors(const cornu_model *m, const keras_names *n, const file_tensor *tensors,
                        int count, content *c)
{
    const position *p = &m->training.position;
    for (int i = 0; i < count; i++) {
        if (i < n->count && !n->variable[i]) /* a slot that no longer fits the flags */
            continue;
        c->tensors[c->count] = tensors[i];
        if (i < n->count)
            c->tensors[c->count].name = n->variable[i];
        if (i < n->count && is_placeholder(m, i))
            set_placeholder(&c->tensors[c->count]);
        c->count++;
    }
    c->iterations = p->iterations;
    c->rate = (float)(m->optimizer.learning_rate.initial * p->learning_rate_factor);
    if (n->iteration)
        add_scalar(c, n->iteration, ELEMENT_I64, &c->iterations);
    if (n->rate)
        add_scalar(c, n->rate, ELEMENT_F32, &c->rate);
    c->momentum_product = (float)optimizer_momentum_product(
        &m->optimizer, optimizer_updates_before(&m->optimizer, p->iterations));
    if (n->momentum_product)
        add_scalar(c, n->momentum_product, ELEMENT_F32, &c->momentum_product);
}

/* Keras's SpectralNormalization has the kernel of the layer within among its own weights, too:
   "vars/0" beside the vector's "vars/1". */
static cornu_status add_second_kernels(const cornu_model *m, const keras_names *n,
                                       const file_tensor *tensors, content *c)
{
    for (int i = 0; i < m->layer_count; i++) {
        const int kernel = m->layers[i]->first_variable;
        char *name;
        if (!m->layers[i]->kind->changes_weights)
            continue;
        TRY(memory_copy_string(n->variable[kernel + 1], &name));
        name[strlen(name) - 1] = '0';
        c->tensors[c->count] = tensors[kernel];
        c->tensors[c->count++].name = (char *)(uintptr_t)own(c, name);
    }
    return CORNU_OK;
}

/* ---- attributes ------------------------------------------------------------------------- */

/* cornu's own metadata, which Keras ignores. */
static cornu_status add_entries(const metadata_entry *entries, int count, content *c)
{
    for (int i = 0; i < count; i++) {
        char *name;
        if (strcmp(entries[i].key, "keras_config") == 0)
            continue; /* the file has it anyway */
        TRY(memory_format(&name, "cornu_%s", entries[i].key));
        add_text(c, "", own(c, name), entries[i].value);
    }
    return CORNU_OK;
}

static cornu_status add_name(content *c, const char *group, const char *name)
{
    char *vars;
    TRY(memory_format(&vars, "%s/vars", group));
    add_text(c, own(c, vars), "name", name);
    return CORNU_OK;
}

/* A Sequential does not save its InputLayer. */
static bool is_saved(const cornu_model *m, const layer *l)
{
    return !layer_is_input(l->kind) || submodel_is_functional(m, l->owner);
}

static cornu_status add_names(const cornu_model *m, const keras_groups *g, content *c)
{
    for (int i = 0; i < m->layer_count; i++)
        if (is_saved(m, m->layers[i]))
            TRY(add_name(c, g->layer[i], model_own_name(m->layers[i]->name)));
    for (int i = 0; i < m->submodel_count; i++)
        TRY(add_name(c, g->submodel[i], model_own_name(m->submodels[i].name)));
    return CORNU_OK;
}

/* Each saved object's group knows its name. */
static cornu_status add_native(const cornu_model *m, const keras_names *n, content *c)
{
    keras_groups g;
    add_text(c, "vars", "name", m->name);
    TRY(keras_groups_make(m, &g));
    cornu_status status = add_names(m, &g, c);
    keras_groups_free(&g);
    if (n->iteration)
        add_text(c, "optimizer/vars", "name", optimizer_name(&m->optimizer));
    return status;
}

static cornu_status add_legacy_member(const cornu_model *m, const model_member *of, int *numbers,
                                      content *c)
{
    char *group;
    const char *const *list = c->lists + c->list_used;
    const int count = keras_legacy_weights(m, of, numbers);
    for (int i = 0; i < count; i++)
        c->lists[c->list_used++] = m->variables[numbers[i]].name;
    TRY(memory_format(&group, "model_weights/%s", model_member_name(m, of)));
    add_list(c, own(c, group), "weight_names", list, count);
    return CORNU_OK;
}

/* The model's own layers, and submodels, with their weights. */
static cornu_status add_legacy_members(const cornu_model *m, content *c)
{
    const char *const *list = c->lists + c->list_used;
    cornu_status status = CORNU_OK;
    int *numbers, count = 0;
    for (model_member at = {.end = 0}; model_next_member(m, -1, &at);)
        if (!at.layer || is_saved(m, at.layer)) {
            c->lists[c->list_used++] = model_member_name(m, &at);
            count++;
        }
    add_list(c, "model_weights", "layer_names", list, count);
    TRY(memory_new((size_t)m->weight_count + 1, sizeof *numbers, "names", &numbers));
    for (model_member at = {.end = 0}; status == CORNU_OK && model_next_member(m, -1, &at);)
        if (!at.layer || is_saved(m, at.layer))
            status = add_legacy_member(m, &at, numbers, c);
    free(numbers);
    return status;
}

/* The name after "optimizer_weights/". */
static const char *beneath(const char *name)
{
    return strchr(name, '/') + 1;
}

static cornu_status add_legacy_optimizer(const cornu_model *m, const keras_names *n, content *c)
{
    int *order;
    const char *const *list = c->lists + c->list_used;
    TRY(memory_new((size_t)m->variable_count + 1, sizeof *order, "names", &order));
    int slots = model_slot_order(m, order);
    c->lists[c->list_used++] = beneath(n->iteration);
    if (n->rate)
        c->lists[c->list_used++] = beneath(n->rate);
    for (int i = 0; i < slots; i++)
        c->lists[c->list_used++] = beneath(n->variable[order[i]]);
    if (n->momentum_product)
        c->lists[c->list_used++] = beneath(n->momentum_product);
    add_list(c, "optimizer_weights", "weight_names", list,
             slots + 1 + (n->rate != NULL) + (n->momentum_product != NULL));
    free(order);
    return CORNU_OK;
}

/* The training_config of older files from the compile section. New reference. */
static json_t *training_config(const cornu_model *m)
{
    json_t *compile = model_compile_to_json(m);
    const json_t *method = json_object_get(compile, "optimizer");
    json_t *out = json_pack("{s:O, s:n, s:O, s:n, s:b, s:i, s:b, s:{s:O, s:O}}", "loss",
                            json_object_get(compile, "loss"), "loss_weights", "metrics",
                            json_object_get(compile, "metrics"), "weighted_metrics", "run_eagerly",
                            0, "steps_per_execution", 1, "jit_compile", 0, "optimizer_config",
                            "class_name", json_object_get(method, "class_name"), "config",
                            json_object_get(method, "config"));
    json_decref(compile);
    return out;
}

/* {class_name, config} of the whole. New reference. */
static json_t *model_config(const cornu_model *m)
{
    json_t *keras = model_to_keras(m);
    json_t *out = json_pack("{s:O, s:O}", "class_name", json_object_get(keras, "class_name"),
                            "config", json_object_get(keras, "config"));
    json_decref(keras);
    return out;
}

/* Takes `value`. */
static cornu_status add_json(const char *path, const char *name, json_t *value, content *c)
{
    char *json = NULL;
    cornu_status status = value ? config_print(value, &json) : fail_memory(path);
    json_decref(value);
    TRY(status);
    add_text(c, "", name, own(c, json));
    return CORNU_OK;
}

static void add_versions(const char *group, content *c)
{
    add_text(c, group, "backend", "tensorflow");
    add_text(c, group, "keras_version", KERAS_VERSION);
}

static cornu_status add_legacy(const cornu_model *m, const keras_names *n, const char *path,
                               content *c)
{
    add_versions("", c);
    TRY(add_json(path, "model_config", model_config(m), c));
    if (m->compiled)
        TRY(add_json(path, "training_config", training_config(m), c));
    add_versions("model_weights", c);
    TRY(add_legacy_members(m, c));
    add_list(c, "model_weights/top_level_model_weights", "weight_names", NULL, 0);
    return n->iteration ? add_legacy_optimizer(m, n, c) : CORNU_OK;
}

/* ---- files ------------------------------------------------------------------------------ */

static cornu_status write_bytes(const char *path, const void *image, size_t size,
                                const file_watch *watch)
{
    file_write w;
    TRY(file_write_open_watched(path, (int64_t)size, watch, &w));
    cornu_status status = file_write_bytes(&w, image, size);
    if (status == CORNU_OK)
        status = file_write_commit(&w);
    file_write_abandon(&w);
    return status;
}

/* The date is that of the members: the same model gives the same file. */
static cornu_status write_archive(const cornu_model *m, const char *path, const void *image,
                                  size_t size, const file_watch *watch)
{
    keras_members members = {
        .metadata =
            "{\"keras_version\": \"" KERAS_VERSION "\", \"date_saved\": \"1980-01-01@00:00:00\"}",
        .weights = image,
        .weights_size = size,
    };
    json_t *config = model_to_keras(m);
    char *json = NULL;
    cornu_status status = config ? config_print(config, &json) : fail_memory(path);
    json_decref(config);
    members.config = json;
    if (status == CORNU_OK)
        status = keras_archive_write(path, &members, watch);
    free(json);
    return status;
}

static cornu_status write_content(const cornu_model *m, const content *c, const char *path,
                                  const file_watch *watch)
{
    void *image;
    size_t size;
    TRY(hdf5_image(path, c->tensors, c->count, c->attributes, c->attribute_count, &image, &size));
    cornu_status status = path_has_ending(path, ".keras")
                              ? write_archive(m, path, image, size, watch)
                              : write_bytes(path, image, size, watch);
    free(image);
    return status;
}

cornu_status keras_write(const cornu_model *m, const file_tensor *tensors, int count,
                         const metadata_entry *entries, int entry_count, const char *path,
                         const file_watch *watch)
{
    content c = {0};
    keras_names n = {0};
    cornu_status status;
    bool native = path_has_ending(path, ".keras") || keras_path_holds_weights(path);
    TRY_GOTO(content_new(m, count, entry_count, &c));
    TRY_GOTO(keras_names_make(m, native ? KERAS_NATIVE : KERAS_LEGACY, &n));
    bool trained = m->compiled && count >= m->variable_count;
    if (!trained)
        keras_names_forget_optimizer(&n);
    add_tensors(m, &n, tensors, count, &c);
    if (native)
        TRY_GOTO(add_second_kernels(m, &n, tensors, &c));
    TRY_GOTO(add_entries(entries, entry_count, &c));
    TRY_GOTO(native ? add_native(m, &n, &c) : add_legacy(m, &n, path, &c));
    status = write_content(m, &c, path, watch);
done:
    keras_names_free(&n);
    content_free(&c);
    return status;
}

#include "exchange/checkpoint.h"
#include "base/memory.h"
#include "exchange/checkpoint_entries.h"
#include "exchange/keras/keras.h"
#include "exchange/position.h"
#include "format/hdf5/hdf5.h"
#include "format/tensor_file.h"
#include <stdlib.h>
#include <string.h>

/* What a file of weights alone says of itself. */
static const metadata_entry weights_format = {(char *)(uintptr_t) "format",
                                              (char *)(uintptr_t)CHECKPOINT_WEIGHTS_FORMAT};

/* The recipe as the model is now: layers may have been added since one was read. New reference. */
static json_t *recipe_now(const cornu_model *m)
{
    json_t *recipe = json_object();
    if (m->data)
        json_object_set_new(recipe, "data", doc_to_json(m->data));
    json_object_set_new(recipe, "model", model_to_keras(m));
    if (m->compiled)
        json_object_set_new(recipe, "compile", model_compile_to_json(m));
    if (m->fit)
        json_object_set_new(recipe, "fit", doc_to_json(m->fit));
    return recipe;
}

typedef struct entries {
    metadata_entry entry[11];
    int count;
} entries;

/* DEL and C1, which JSON allows in strings and libyaml, which reads them again, does not. */
static cornu_status escape_controls(const char *json, char **out)
{
    text t = {0};
    for (const unsigned char *c = (const unsigned char *)json; *c; c++) {
        bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0;
        if (*c == 0x7F || c1)
            text_add(&t, "\\u%04x", c1 ? *++c : *c);
        else
            text_add(&t, "%c", *c);
    }
    return text_take(&t, out);
}

/* Adds `value` (which it takes) as JSON text; NULL and an empty value of a failed making are
 * errors. */
static cornu_status add_entry(entries *e, const char *key, json_t *value, size_t most)
{
    char *json = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
    size_t size = json ? strlen(json) : 0;
    json_decref(value);
    if (!json)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its JSON", key);
    if (strpbrk(json, "\x7F\xC2")) {
        char *escaped;
        cornu_status status = escape_controls(json, &escaped);
        free(json);
        TRY(status);
        json = escaped;
        size = strlen(json);
    }
    if (size > most) {
        free(json);
        return status_fail(CORNU_INVALID,
                           "%s: found %zu bytes for the model file; expected at most %zu", key,
                           size, most);
    }
    e->entry[e->count++] = (metadata_entry){(char *)(uintptr_t)key, json};
    return CORNU_OK;
}

json_t *checkpoint_class_names(const cornu_model *m)
{
    char shown[1024];
    json_t *names = json_array();
    for (int i = 0; m->class_names && i < m->class_count; i++) {
        json_t *name = json_string(m->class_names[i]);
        if (!name) { /* a folder's name that is no UTF-8 */
            cornu_printable(m->class_names[i], shown, sizeof shown);
            name = json_string(shown);
        }
        json_array_append_new(names, name);
    }
    return names;
}

/* A path that is no UTF-8 is left out: JSON cannot hold it. */
static json_t *data_hint(const cornu_model *m)
{
    json_t *hint = json_object();
    json_object_set_new(hint, "name",
                        m->training.data_name ? json_string(m->training.data_name) : NULL);
    json_object_set_new(hint, "path",
                        m->training.data_path ? json_string(m->training.data_path) : NULL);
    return hint;
}

static cornu_status make_metadata(const cornu_model *m, entries *e)
{
    char *format;
    TRY(memory_copy_string(CHECKPOINT_FORMAT, &format));
    e->entry[e->count++] = (metadata_entry){(char *)(uintptr_t) "format", format};
    TRY(add_entry(e, "keras_config", model_to_keras(m), DOC_BYTES_MAX));
    TRY(add_entry(e, "recipe", recipe_now(m), DOC_BYTES_MAX));
    TRY(add_entry(e, "pixel_scale", json_real((double)model_pixel_scale(m)), ENTRY_BYTES_MAX));
    if (m->compiled)
        TRY(add_entry(e, "compile", model_compile_to_json(m), DOC_BYTES_MAX));
    if (m->class_names)
        TRY(add_entry(e, "class_names", checkpoint_class_names(m), ENTRY_BYTES_MAX));
    if (m->training.data_name || m->training.data_path)
        TRY(add_entry(e, "data_hint", data_hint(m), ENTRY_BYTES_MAX));
    TRY(add_entry(e, "position", position_to_json(&m->training.position, m->metric_count),
                  ENTRY_BYTES_MAX));
    if (m->training.tuning)
        TRY(add_entry(e, "tuning", json_string(m->training.tuning), ENTRY_BYTES_MAX));
    if (m->training.features.channels > 0)
        TRY(add_entry(e, "features", features_to_json(&m->training.features), ENTRY_BYTES_MAX));
    if (m->training.callback_state)
        TRY(add_entry(e, "callbacks", json_incref(m->training.callback_state), ENTRY_BYTES_MAX));
    return CORNU_OK;
}

static void free_entries(entries *e)
{
    for (int i = 0; i < e->count; i++)
        free(e->entry[i].value);
}

cornu_status checkpoint_check_model(const cornu_model *m)
{
    entries e = {0};
    cornu_status status = make_metadata(m, &e);
    free_entries(&e);
    return status;
}

static file_tensor tensor_of(const variable *v, const char *name, const float *value)
{
    file_tensor t = {.name = (char *)(uintptr_t)name,
                     .type = ELEMENT_F32,
                     .rank = v->shape.rank,
                     .count = v->count,
                     .data = value};
    memcpy(t.shape, v->shape.dim, (size_t)v->shape.rank * sizeof *t.shape);
    return t;
}

static cornu_status fetch_variable(void *source, int number, void *to, size_t bytes)
{
    const live_weights *live = source;
    return live->read(live->context, number, to, (int64_t)(bytes / sizeof(float)));
}

/* Weights, slots, then the best weights; `names` holds the latter's names. */
static cornu_status make_tensors(const cornu_model *m, file_tensor *tensors, char **names,
                                 int *count)
{
    for (int i = 0; i < m->variable_count; i++) {
        const variable *v = &m->variables[i];
        file_tensor *t = &tensors[(*count)++];
        *t = tensor_of(v, v->name, v->value);
        if (m->live && i >= m->weight_count) {
            t->data = NULL;
            t->fetch = fetch_variable;
            t->source = (void *)(uintptr_t)m->live;
            t->number = i;
        }
    }
    for (int i = 0; m->training.best_weights && i < m->weight_count; i++) {
        TRY(memory_format(&names[i], "%s%s", CHECKPOINT_BEST, m->variables[i].name));
        tensors[(*count)++] = tensor_of(&m->variables[i], names[i], m->training.best_weights[i]);
    }
    return CORNU_OK;
}

/* In the format of the path's ending. */
static cornu_status write_tensors(const cornu_model *m, const file_tensor *tensors, int count,
                                  const metadata_entry *entry, int entry_count, const char *path,
                                  const file_watch *watch)
{
    return keras_path_is(path)
               ? keras_write(m, tensors, count, entry, entry_count, path, watch)
               : safetensors_write_watched(path, tensors, count, entry, entry_count, watch);
}

cornu_status checkpoint_write(const cornu_model *m, const char *path, const file_watch *watch)
{
    entries e = {0};
    file_tensor *tensors = NULL;
    char **names = NULL;
    int count = 0;
    cornu_status status;
    if (!m->initialized)
        return status_fail(CORNU_INVALID,
                           "%s: found a model without weights; expected one that was "
                           "initialized, loaded or trained",
                           path);
    status = training_state_check_slots(&m->training);
    if (status != CORNU_OK)
        return status_prefix(status, "%s", path);
    size_t most = (size_t)m->variable_count + (size_t)m->weight_count + 1;
    TRY_GOTO(memory_new(most, sizeof *tensors, "model file", &tensors));
    TRY_GOTO(memory_new(most, sizeof *names, "model file", &names));
    TRY_GOTO(make_tensors(m, tensors, names, &count));
    if (keras_path_holds_weights(path)) {
        status = write_tensors(m, tensors, m->variable_count, &weights_format, 1, path, watch);
        goto done;
    }
    TRY_GOTO(make_metadata(m, &e));
    status = write_tensors(m, tensors, count, e.entry, e.count, path, watch);
done:
    free_entries(&e);
    for (int i = 0; names && i < m->weight_count; i++)
        free(names[i]);
    free(names);
    free(tensors);
    return status;
}

cornu_status checkpoint_write_weights(const cornu_model *m, const char *path,
                                      const file_watch *watch)
{
    file_tensor *tensors;
    TRY(memory_new((size_t)m->weight_count + 1, sizeof *tensors, "weights", &tensors));
    for (int i = 0; i < m->weight_count; i++)
        tensors[i] = tensor_of(&m->variables[i], m->variables[i].name, m->variables[i].value);
    cornu_status status =
        write_tensors(m, tensors, m->weight_count, &weights_format, 1, path, watch);
    free(tensors);
    return status;
}

/* ---- paths ----------------------------------------------------------------------------- */

bool checkpoint_path_is(const char *path)
{
    return path_has_ending(path, ".safetensors") || keras_path_is(path);
}

cornu_status checkpoint_check(const char *path, const char *option)
{
    if (!checkpoint_path_is(path))
        return status_fail(CORNU_INVALID,
                           "%s: found %s; expected a name that ends in " CHECKPOINT_ENDINGS, option,
                           path);
    if (keras_path_is(path))
        TRY(hdf5_check(path));
    return file_write_check(path);
}

cornu_status cornu_model_save(const cornu_model *model, const char *path)
{
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_save: found NULL; expected a model and a path");
    if (!checkpoint_path_is(path))
        return status_fail(CORNU_INVALID,
                           "%s: expected a name that ends in " CHECKPOINT_ENDINGS
                           ", by which it is opened again",
                           path);
    const live_weights *live = model->live;
    if (live)
        TRY(live->pull(live->context, 0, model->weight_count));
    return checkpoint_write(model, path, NULL);
}

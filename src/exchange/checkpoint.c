#include "exchange/checkpoint.h"
#include "base/memory.h"
#include "base/number.h"
#include "exchange/keras/keras.h"
#include "exchange/weight_values.h"
#include "format/hdf5/hdf5.h"
#include "format/tensor_file.h"
#include "parallel/distribution.h"
#include <cornu/tables.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_FORMAT "cornu 1"
#define CHECKPOINT_WEIGHTS_FORMAT "cornu weights 1"
#define CHECKPOINT_BEST "callbacks/best/"
/* The entry "slots": layers are to be trained that were not when the model was compiled, so that
   the optimizer begins anew. */
#define CHECKPOINT_NO_SLOTS "none"
/* Maximum bytes of an entry of the metadata except the recipe, which has the limit of every
   document. Its parsed tree takes up to 46 times as much. */
enum { ENTRY_BYTES_MAX = 4 << 20 };

/* ---- writing: metadata ------------------------------------------------------------------- */

/* The metadata of a file that has only weights. */
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
    metadata_entry entry[13];
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

static json_t *tables_to_json(const training_state *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->table_count; i++)
        json_array_append_new(list, exact_to_json(t->tables[i]));
    return list;
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
    TRY(add_entry(e, "position", position_to_json(&m->training.position, m->sum_count),
                  ENTRY_BYTES_MAX));
    if (m->training.table_count > 0 && m->training.position.samples > 0)
        TRY(add_entry(e, "tables", tables_to_json(&m->training), ENTRY_BYTES_MAX));
    if (!model_slots_fit(m))
        TRY(add_entry(e, "slots", json_string(CHECKPOINT_NO_SLOTS), ENTRY_BYTES_MAX));
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

/* ---- writing: tensors -------------------------------------------------------------------- */

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

/* Leave out the slots that do not fit the model as it will be read. Returns the new count. */
static int drop_slots(const cornu_model *m, file_tensor *tensors, int count)
{
    const bool fit = model_slots_fit(m);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const bool slot = i >= m->weight_count && i < m->variable_count;
        if (!slot || (fit && m->variables[m->variables[i].of].trainable))
            tensors[kept++] = tensors[i];
    }
    return kept;
}

/* Write in the format of the path's extension. */
static cornu_status write_tensors(const cornu_model *m, file_tensor *tensors, int count,
                                  const metadata_entry *entry, int entry_count, const char *path,
                                  const file_watch *watch)
{
    if (keras_path_is(path))
        return keras_write(m, tensors, count, entry, entry_count, path, watch);
    return safetensors_write_watched(path, tensors, drop_slots(m, tensors, count), entry,
                                     entry_count, watch);
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
    status = model_check_graph(m); /* else the file could not be read */
    if (status == CORNU_OK)
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

/* ---- reading: network and tensors -------------------------------------------------------- */

/* A metadata entry as a document whose messages name the file. */
static cornu_status entry_doc(const tensor_file *f, const char *key, doc **out)
{
    char *source;
    const char *json = tensor_file_metadata(f, key);
    if (!json)
        return status_fail(CORNU_BAD_FILE, "%s: found no metadata entry '%s'; expected one",
                           f->path, key);
    TRY(memory_format(&source, "%s (%s)", f->path, key));
    cornu_status status = doc_parse(json, strlen(json), source, out);
    free(source);
    return status == CORNU_INVALID ? CORNU_BAD_FILE : status; /* it is a matter of the file */
}

static cornu_status read_model(const tensor_file *f, cornu_model **out)
{
    doc *d;
    if (tensor_file_metadata(f, "compile")) {
        TRY(entry_doc(f, "recipe", &d));
        return model_from_recipe(d, out);
    }
    TRY(entry_doc(f, "keras_config", &d));
    cornu_status status = model_from_section(d, out);
    doc_free(d);
    return status;
}

static cornu_status find_tensor(const tensor_file *f, const variable *v, const char *prefix,
                                const file_tensor **out)
{
    char *name, expected[128], found[128];
    TRY(memory_format(&name, "%s%s", prefix, v->name));
    const file_tensor *t = tensor_file_find(f, name);
    cornu_status status = CORNU_OK;
    if (!t) {
        status = status_fail(CORNU_BAD_FILE, "%s: found no tensor %s; expected one of shape %s",
                             f->path, name, shape_show(&v->shape, false, expected));
    } else if (t->rank > SHAPE_MAX) {
        status = status_fail(CORNU_BAD_FILE, "%s: %s: found %d dimensions; expected %d", f->path,
                             name, t->rank, v->shape.rank);
    } else {
        shape s = {.rank = t->rank};
        memcpy(s.dim, t->shape, (size_t)t->rank * sizeof *s.dim);
        if ((t->type != ELEMENT_F32 && !weight_is_count(t)) || !shape_equal(&s, &v->shape))
            status =
                status_fail(CORNU_BAD_FILE, "%s: %s: found %s of shape %s; expected float32 of %s",
                            f->path, name, element_name(t->type), shape_show(&s, false, found),
                            shape_show(&v->shape, false, expected));
    }
    free(name);
    *out = t;
    return status;
}

static cornu_status read_best(const tensor_file *f, cornu_model *m)
{
    const file_tensor *t;
    TRY(model_start_best_weights(m));
    for (int i = 0; i < m->weight_count; i++) {
        TRY(find_tensor(f, &m->variables[i], CHECKPOINT_BEST, &t));
        TRY(tensor_read(t, m->training.best_weights[i]));
    }
    return CORNU_OK;
}

/* The first `count` variables. */
static cornu_status read_variables(const tensor_file *f, cornu_model *m, int count)
{
    const file_tensor *t;
    for (int i = 0; i < count; i++)
        TRY(find_tensor(f, &m->variables[i], "", &t));
    TRY(model_start_slots(m));
    for (int i = 0; i < count; i++) {
        TRY(find_tensor(f, &m->variables[i], "", &t));
        TRY(weight_copy(&m->variables[i], t));
    }
    m->initialized = true;
    return CORNU_OK;
}

static cornu_status read_tensors(const tensor_file *f, cornu_model *m, bool slots)
{
    int best = 0;
    for (int i = 0; i < f->count; i++) {
        bool is_best = strncmp(f->tensors[i].name, CHECKPOINT_BEST, strlen(CHECKPOINT_BEST)) == 0;
        best += is_best;
        if (!is_best && !model_variable(m, f->tensors[i].name))
            return status_fail(CORNU_BAD_FILE,
                               "%s: found tensor %s; expected only the model's %d "
                               "weights and optimizer slots",
                               f->path, f->tensors[i].name, m->variable_count);
    }
    if (best != 0 && best != m->weight_count)
        return status_fail(CORNU_BAD_FILE, "%s: found %d tensors %s...; expected none or %d",
                           f->path, best, CHECKPOINT_BEST, m->weight_count);
    TRY(read_variables(f, m, slots ? m->variable_count : m->weight_count));
    return best > 0 ? read_best(f, m) : CORNU_OK;
}

/* ---- reading: what cornu alone keeps ----------------------------------------------------- */

/* JSON that only this file's own code reads: NULL value where the entry is missing. */
static cornu_status entry_json(const tensor_file *f, const char *key, json_t **out)
{
    json_error_t error;
    const char *json = tensor_file_metadata(f, key);
    *out = NULL;
    if (!json)
        return CORNU_OK;
    if (strlen(json) > ENTRY_BYTES_MAX)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found %zu bytes; expected at most %d", f->path,
                           key, strlen(json), ENTRY_BYTES_MAX);
    bool lacks_memory;
    *out = doc_json_load(json, strlen(json), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error,
                         &lacks_memory);
    if (lacks_memory)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %s: not enough memory", f->path, key);
    if (!*out)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found damaged JSON (%s); expected a value",
                           f->path, key, error.text);
    return CORNU_OK;
}

static cornu_status read_classes(const tensor_file *f, cornu_model *m)
{
    json_t *names;
    const char **list = NULL;
    TRY(entry_json(f, "class_names", &names));
    if (!names)
        return CORNU_OK;
    size_t count = json_array_size(names);
    cornu_status status = memory_new(count + 1, sizeof *list, "class names", &list);
    for (size_t i = 0; status == CORNU_OK && i < count; i++) {
        list[i] = json_string_value(json_array_get(names, i));
        if (!list[i])
            status = status_fail(CORNU_BAD_FILE,
                                 "%s: class_names: found an item that is no string; "
                                 "expected strings",
                                 f->path);
    }
    if (status == CORNU_OK && count == 0)
        status = status_fail(CORNU_BAD_FILE,
                             "%s: class_names: found no list of names; expected one", f->path);
    if (status == CORNU_OK && !model_tells_classes(m, (int64_t)count))
        status = status_fail(CORNU_BAD_FILE,
                             "%s: class_names: found %zu %s; expected one for each output, or 2 "
                             "for a single output",
                             f->path, count, PLURAL(count, "name", "names"));
    if (status == CORNU_OK)
        status = model_set_classes(m, (char *const *)(void *)list, (int)count);
    free(list);
    json_decref(names);
    return status;
}

static cornu_status read_data_hint(const tensor_file *f, cornu_model *m)
{
    json_t *hint;
    TRY(entry_json(f, "data_hint", &hint));
    const json_t *name = json_object_get(hint, "name"), *path = json_object_get(hint, "path");
    cornu_status status;
    if (hint && (!json_is_object(hint) || (name && !json_is_string(name)) ||
                 (path && !json_is_string(path))))
        status = status_fail(CORNU_BAD_FILE,
                             "%s: data_hint: found another kind of value; expected the name and "
                             "the path of a data set",
                             f->path);
    else
        status =
            training_state_set_data(&m->training, json_string_value(name), json_string_value(path));
    json_decref(hint);
    return status;
}

/* It is only compared with a device's. */
static cornu_status read_tuning(const tensor_file *f, cornu_model *m)
{
    json_t *value;
    TRY(entry_json(f, "tuning", &value));
    cornu_status status =
        value && !json_is_string(value)
            ? status_fail(CORNU_BAD_FILE, "%s: tuning: found no string; expected one", f->path)
            : memory_replace_string(json_string_value(value), &m->training.tuning);
    json_decref(value);
    return status;
}

static cornu_status read_features(const tensor_file *f, cornu_model *m)
{
    json_t *object;
    TRY(entry_json(f, "features", &object));
    if (!object)
        return CORNU_OK;
    cornu_status status = features_from_json(object, f->path, &m->training.features);
    json_decref(object);
    return status;
}

/* Files from before the entry was there were trained on pixels / 255, whatever the layers. */
static cornu_status read_pixel_scale(const tensor_file *f, cornu_model *m)
{
    json_t *value;
    TRY(entry_json(f, "pixel_scale", &value));
    double scale = value ? json_number_value(value) : 1.0 / 255.0;
    json_decref(value);
    if (!((float)scale > 0 && isfinite((float)scale)))
        return status_fail(CORNU_BAD_FILE, "%s: pixel_scale: found %g; expected a number above 0",
                           f->path, scale);
    m->pixel_scale = (float)scale;
    return CORNU_OK;
}

static cornu_status read_position(const tensor_file *f, cornu_model *m)
{
    json_t *object;
    TRY(entry_json(f, "position", &object));
    cornu_status status = position_from_json(object, m->sum_count, f->path, &m->training.position);
    json_decref(object);
    TRY(status);
    TRY(entry_json(f, "callbacks", &m->training.callback_state));
    if (m->training.callback_state && !json_is_array(m->training.callback_state))
        return status_fail(CORNU_BAD_FILE, "%s: callbacks: found no list; expected one", f->path);
    return CORNU_OK;
}

/* The tables of metrics in the middle of an epoch. */
static cornu_status read_tables(const tensor_file *f, cornu_model *m)
{
    training_state *t = &m->training;
    json_t *list;
    TRY(entry_json(f, "tables", &list));
    if (t->position.samples == 0 || (!list && t->table_count == 0)) {
        json_decref(list);
        return CORNU_OK;
    }
    bool fits = json_array_size(list) == (size_t)t->table_count;
    for (int i = 0; fits && i < t->table_count; i++)
        fits = exact_from_json(json_array_get(list, (size_t)i), &t->tables[i]);
    json_decref(list);
    return fits ? CORNU_OK
                : status_fail(CORNU_BAD_FILE,
                              "%s: tables: found none or a damaged one; expected %d numbers as "
                              "strings, the tables of metrics",
                              f->path, t->table_count);
}

static cornu_status read_entries(const tensor_file *f, cornu_model *m)
{
    TRY(read_classes(f, m));
    TRY(read_pixel_scale(f, m));
    TRY(read_data_hint(f, m));
    TRY(read_tuning(f, m));
    TRY(read_features(f, m));
    TRY(read_position(f, m));
    return read_tables(f, m);
}

static cornu_status fail_format(const tensor_file *f, const char *format)
{
    return status_fail(CORNU_BAD_FILE,
                       "%s: found %s%.40s in its metadata; expected format '%s', which cornu "
                       "writes (other files hold only weights: --init takes them)",
                       f->path, format ? "format " : "no format", format ? format : "",
                       CHECKPOINT_FORMAT);
}

/* ---- reading: Keras's files -------------------------------------------------------------- */

/* Keras trained it: how many steps, and by which learning rate since. */
static void take_state(cornu_model *m, const keras_state *state)
{
    position *p = &m->training.position;
    double initial = m->optimizer.learning_rate.initial;
    if (state->iterations >= 0)
        p->iterations = state->iterations;
    /* As a float the rate that it began with: it is that. */
    if (state->rate >= 0 && initial > 0 && state->rate - (double)(float)initial != 0)
        p->learning_rate_factor = state->rate / initial;
}

/* One that Keras wrote: the network, its weights and the optimizer's state. */
static cornu_status read_foreign(tensor_file *f, cornu_model **out)
{
    doc *d;
    keras_state state;
    if (!tensor_file_metadata(f, "keras_config"))
        return status_fail(CORNU_BAD_FILE,
                           "%s: found weights alone; expected a network with them (--init takes "
                           "the weights)",
                           f->path);
    TRY(entry_doc(f, "keras_config", &d));
    cornu_status status = model_from_recipe(d, out);
    TRY(status == CORNU_INVALID ? CORNU_BAD_FILE : status);
    TRY(model_set_source(*out, f->path));
    TRY(keras_read_names(f, *out, &state));
    TRY(read_tensors(f, *out, state.has_slots));
    (*out)->training.position = position_start(0);
    take_state(*out, &state);
    return CORNU_OK;
}

/* ---- reading: all ------------------------------------------------------------------------ */

static cornu_status read_file(tensor_file *f, bool keras, cornu_model **out)
{
    keras_state state = {.has_slots = !tensor_file_metadata(f, "slots")};
    const char *format = tensor_file_metadata(f, "format");
    if (keras && (!format || strcmp(format, CHECKPOINT_WEIGHTS_FORMAT) == 0))
        return read_foreign(f, out);
    if (!format || strcmp(format, CHECKPOINT_FORMAT) != 0)
        return fail_format(f, format);
    cornu_status status = read_model(f, out);
    if (status == CORNU_INVALID) /* a recipe inside a file is a matter of the file */
        status = CORNU_BAD_FILE;
    TRY(status);
    TRY(model_set_source(*out, f->path));
    if (keras)
        TRY(keras_read_names(f, *out, &state));
    TRY(read_tensors(f, *out, state.has_slots));
    return read_entries(f, *out);
}

cornu_status checkpoint_read(const char *path, cornu_model **out)
{
    tensor_file *f;
    bool keras = keras_path_is(path);
    *out = NULL;
    TRY(tensor_file_open(path, &f));
    cornu_status status = keras ? keras_read_metadata(f) : CORNU_OK;
    if (status == CORNU_OK)
        status = read_file(f, keras, out);
    tensor_file_close(f);
    if (status != CORNU_OK) {
        cornu_model_close(*out);
        *out = NULL;
    }
    return status;
}

/* ---- by path ----------------------------------------------------------------------------- */

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

/* ---- the position of training and the statistics of its samples ------------------------- */

json_t *exact_to_json(double value)
{
    char digits[NUMBER_SIZE];
    return json_string(number_print(digits, "%a", value));
}

bool exact_from_json(const json_t *exact, double *value)
{
    const char *string = json_string_value(exact);
    return string && number_read(string, value);
}

bool count_from_json(const json_t *number, int64_t *value)
{
    *value = json_integer_value(number);
    return json_is_integer(number) && *value >= 0 && *value <= INT32_MAX;
}

/* The whole numbers of a position: key, field. */
typedef struct counter {
    const char *key;
    size_t offset;
} counter;

static const counter counters[] = {
    {"iterations", offsetof(position, iterations)},
    {"epoch", offsetof(position, epoch)},
    {"step", offsetof(position, step)},
    {"samples", offsetof(position, samples)},
    {"batch", offsetof(position, batch)},
    {"steps_per_epoch", offsetof(position, steps_per_epoch)},
    {"train_samples", offsetof(position, train_samples)},
    {"epochs", offsetof(position, epochs)},
};
enum { COUNTERS = sizeof counters / sizeof *counters };

static int64_t *counter_of(const position *p, const counter *c)
{
    return (int64_t *)(void *)((char *)(uintptr_t)p + c->offset);
}

json_t *position_to_json(const position *p, int sum_count)
{
    char seed[32]; /* JSON readers keep only 53 bits of a number */
    snprintf(seed, sizeof seed, "%" PRIu64, p->seed);
    json_t *object = json_object(), *totals = json_array();
    json_object_set_new(object, "seed", json_string(seed));
    for (int i = 0; i < COUNTERS; i++)
        json_object_set_new(object, counters[i].key, json_integer(*counter_of(p, &counters[i])));
    for (int i = 0; i <= sum_count; i++)
        json_array_append_new(totals, exact_to_json(p->totals[i]));
    json_object_set_new(object, "totals", totals);
    json_object_set_new(object, "learning_rate_factor", exact_to_json(p->learning_rate_factor));
    json_object_set_new(object, "seconds", exact_to_json(p->seconds));
    if (p->shards > 1)
        json_object_set_new(object, "shards", json_integer(p->shards));
    if (p->gradients_bf16)
        json_object_set_new(object, "wire", json_string(gradient_dtype_name(true)));
    return object;
}

static cornu_status fail_key(const char *path, const char *key, const char *expected)
{
    return status_fail(CORNU_BAD_FILE, "%s: position: %s: found none or a damaged one; expected %s",
                       path, key, expected);
}

static cornu_status read_seed(const json_t *object, const char *path, uint64_t *seed)
{
    const char *digits = json_string_value(json_object_get(object, "seed"));
    char *end = NULL;
    errno = 0;
    if (digits && *digits >= '0' && *digits <= '9')
        *seed = strtoull(digits, &end, 10);
    return end && *end == 0 && errno == 0 ? CORNU_OK
                                          : fail_key(path, "seed", "a whole number as a string");
}

cornu_status position_from_json(const json_t *object, int sum_count, const char *path,
                                position *out)
{
    position p = {0};
    if (!json_is_object(object))
        return status_fail(CORNU_BAD_FILE, "%s: position: found no map; expected one", path);
    TRY(read_seed(object, path, &p.seed));
    for (int i = 0; i < COUNTERS; i++) {
        const json_t *value = json_object_get(object, counters[i].key);
        /* A billion billion steps are enough; products of two counters must not overflow. */
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > INT64_C(1000000000000000000))
            return fail_key(path, counters[i].key, "a whole number of at least 0");
        *counter_of(&p, &counters[i]) = json_integer_value(value);
    }
    if (p.batch > INT32_MAX || p.steps_per_epoch > INT32_MAX || p.epochs > INT32_MAX ||
        p.epoch > INT32_MAX || p.step > INT32_MAX)
        return fail_key(path, "batch, epoch, step", "numbers below 2^31");
    const json_t *totals = json_object_get(object, "totals");
    if (json_array_size(totals) != (size_t)sum_count + 1)
        return fail_key(path, "totals", "one sum for the loss and those of each metric");
    for (int i = 0; i <= sum_count; i++)
        if (!exact_from_json(json_array_get(totals, (size_t)i), &p.totals[i]))
            return fail_key(path, "totals", "numbers as strings");
    const json_t *factor = json_object_get(object, "learning_rate_factor");
    if (!exact_from_json(factor, &p.learning_rate_factor) || !(p.learning_rate_factor >= 0))
        return fail_key(path, "learning_rate_factor", "a number of at least 0 as a string");
    const json_t *seconds = json_object_get(object, "seconds"); /* older files have none */
    if (seconds &&
        (!exact_from_json(seconds, &p.seconds) || !(p.seconds >= 0) || !(p.seconds < 1e15)))
        return fail_key(path, "seconds", "a number of at least 0 as a string");
    const json_t *divided = json_object_get(object, "shards"); /* older files have none */
    p.shards = 1;
    if (divided && (!count_from_json(divided, &p.shards) ||
                    shards_check(p.shards, CORNU_SHARDS_MAX, NULL) != CORNU_OK))
        return fail_key(path, "shards", "a power of two, 1 to 1024");
    const json_t *dtype = json_object_get(object, "wire"); /* older files have none */
    if (dtype && (!json_is_string(dtype) ||
                  gradient_dtype_find(json_string_value(dtype), &p.gradients_bf16) != CORNU_OK))
        return fail_key(path, "wire", "fp32 or bf16");
    *out = p;
    return CORNU_OK;
}

/* ---- features ---------------------------------------------------------------------------- */

json_t *features_to_json(const feature_statistics *s)
{
    json_t *object = json_object(), *mean = json_array(), *std = json_array();
    for (int c = 0; c < s->channels; c++) {
        json_array_append_new(mean, exact_to_json((double)s->mean[c]));
        json_array_append_new(std, exact_to_json((double)s->std[c]));
    }
    json_object_set_new(object, "mean", mean);
    json_object_set_new(object, "std", std);
    return object;
}

static bool read_list(const json_t *object, const char *key, size_t count, float *values)
{
    const json_t *list = json_object_get(object, key);
    if (json_array_size(list) != count)
        return false;
    for (size_t c = 0; c < count; c++) {
        double value;
        if (!exact_from_json(json_array_get(list, c), &value) || !isfinite((float)value))
            return false;
        values[c] = (float)value;
    }
    return true;
}

cornu_status features_from_json(const json_t *object, const char *path, feature_statistics *out)
{
    feature_statistics s = {0};
    size_t count = json_array_size(json_object_get(object, "mean"));
    bool fits = count >= 1 && count <= AUGMENT_CHANNELS_MOST &&
                read_list(object, "mean", count, s.mean) && read_list(object, "std", count, s.std);
    for (size_t c = 0; fits && c < count; c++)
        fits = s.std[c] >= 0;
    if (!fits)
        return status_fail(CORNU_BAD_FILE,
                           "%s: features: found none or damaged ones; expected lists mean and std "
                           "of 1 to %d numbers as strings",
                           path, AUGMENT_CHANNELS_MOST);
    s.channels = (int)count;
    *out = s;
    return CORNU_OK;
}

/* ---- for callers ------------------------------------------------------------------------- */

cornu_status cornu_model_position(const cornu_model *model, cornu_position *out)
{
    if (!model || !out)
        return status_fail(CORNU_INVALID,
                           "cornu_model_position: found NULL; expected a model and a place");
    const position *p = &model->training.position;
    const cornu_position own = {.size = sizeof own,
                                .iterations = p->iterations,
                                .epoch = p->epoch,
                                .step = p->step,
                                .epochs = p->epochs};
    return STRUCT_WRITE("cornu_position", out, &own);
}

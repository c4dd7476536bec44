/* Reading model files: see checkpoint.h. */
#include "base/memory.h"
#include "exchange/checkpoint.h"
#include "exchange/checkpoint_entries.h"
#include "exchange/keras/keras.h"
#include "exchange/position.h"
#include "format/tensor_file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        if (t->type != ELEMENT_F32 || !shape_equal(&s, &v->shape))
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
        TRY(tensor_read(t, m->variables[i].value));
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
    cornu_status status =
        position_from_json(object, m->metric_count, f->path, &m->training.position);
    json_decref(object);
    TRY(status);
    TRY(entry_json(f, "callbacks", &m->training.callback_state));
    if (m->training.callback_state && !json_is_array(m->training.callback_state))
        return status_fail(CORNU_BAD_FILE, "%s: callbacks: found no list; expected one", f->path);
    return CORNU_OK;
}

/* What cornu alone keeps. */
static cornu_status read_entries(const tensor_file *f, cornu_model *m)
{
    TRY(read_classes(f, m));
    TRY(read_pixel_scale(f, m));
    TRY(read_data_hint(f, m));
    TRY(read_tuning(f, m));
    TRY(read_features(f, m));
    return read_position(f, m);
}

static cornu_status fail_format(const tensor_file *f, const char *format)
{
    return status_fail(CORNU_BAD_FILE,
                       "%s: found %s%.40s in its metadata; expected format '%s', which cornu "
                       "writes (other files hold only weights: --init takes them)",
                       f->path, format ? "format " : "no format", format ? format : "",
                       CHECKPOINT_FORMAT);
}

/* ---- Keras's files ---------------------------------------------------------------------- */

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

/* ---- all -------------------------------------------------------------------------------- */

static cornu_status read_file(tensor_file *f, bool keras, cornu_model **out)
{
    keras_state state = {.has_slots = true};
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

#include "base/memory.h"
#include "device/optimizer_step.h"
#include "exchange/keras/keras.h"
#include "model/layers/layers.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static cornu_status rename_key(char **key, const char *to)
{
    char *copy;
    TRY(memory_copy_string(to, &copy));
    free(*key);
    *key = copy;
    return CORNU_OK;
}

/* ---- metadata --------------------------------------------------------------------------- */

static cornu_status fail_entry(const tensor_file *f, const char *key, const char *found)
{
    return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected what Keras writes", f->path, key,
                       found);
}

/* The JSON object of a file's metadata; `key` is named where it is none. */
static cornu_status keras_parse_json(const tensor_file *f, const char *key, const char *json,
                                     json_t **out)
{
    json_error_t error;
    *out = NULL;
    if (strlen(json) > DOC_BYTES_MAX)
        return fail_entry(f, key, "more than 1 MB of JSON");
    bool lacks_memory;
    *out = doc_json_load(json, strlen(json), JSON_REJECT_DUPLICATES, &error, &lacks_memory);
    if (lacks_memory)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %s: not enough memory", f->path, key);
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return fail_entry(f, key, "no JSON object");
    }
    return CORNU_OK;
}

/* tf.keras 2 has [["accuracy"]] for one output, or in place of the name {class_name:
   MeanMetricWrapper, config: {name: accuracy, fn: sparse_categorical_accuracy}}. */
static json_t *plain_metrics(json_t *metrics)
{
    json_t *inner = json_array_size(metrics) == 1 ? json_array_get(metrics, 0) : NULL;
    json_t *list = json_is_array(inner) ? inner : metrics, *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        const char *class_name = json_string_value(json_object_get(item, "class_name"));
        json_t *config = json_object_get(item, "config");
        const char *name = json_string_value(json_object_get(config, "name"));
        json_t *named =
            json_object_get(config, name && strcmp(name, "accuracy") == 0 ? "name" : "fn");
        if (class_name && strcmp(class_name, "MeanMetricWrapper") == 0 && json_is_string(named))
            json_array_set(list, i, named);
    }
    return list;
}

/* tf.keras 2 registers its own optimizers as "Custom>Adam": that is cornu's Adam or none. */
static void plain_optimizer(json_t *method)
{
    static const char package[] = "Custom>";
    const char *name = json_string_value(json_object_get(method, "class_name"));
    if (name && begins(name, package))
        json_object_set_new(method, "class_name", json_string(name + sizeof package - 1));
}

/* The compile section of Keras 3 from an older file's training_config. */
static json_t *compile_section(const json_t *training)
{
    json_t *compile = json_object();
    plain_optimizer(json_object_get(training, "optimizer_config"));
    json_object_set(compile, "optimizer", json_object_get(training, "optimizer_config"));
    json_object_set(compile, "loss", json_object_get(training, "loss"));
    json_t *metrics = json_object_get(training, "metrics");
    if (metrics)
        json_object_set(compile, "metrics", plain_metrics(metrics));
    for (int i = 0; i < 2; i++) {
        const char *key = i ? "weighted_metrics" : "loss_weights";
        if (json_object_get(training, key))
            json_object_set(compile, key, json_object_get(training, key));
    }
    return compile;
}

static cornu_status join_configs(tensor_file *f, json_t *model, const char *training_json)
{
    json_t *training = NULL;
    if (training_json) {
        TRY(keras_parse_json(f, "training_config", training_json, &training));
        json_object_set_new(model, "compile_config", compile_section(training));
        json_decref(training);
    }
    char *json = json_dumps(model, JSON_COMPACT | JSON_REAL_PRECISION(17));
    cornu_status status = json ? tensor_file_add_metadata(f, "keras_config", json)
                               : status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory", f->path);
    free(json);
    return status;
}

/* The network of an older file, with its compile section, as Keras 3 writes both together. */
static cornu_status read_legacy_config(tensor_file *f, const char *config)
{
    json_t *model;
    TRY(keras_parse_json(f, "model_config", config, &model));
    cornu_status status = join_configs(f, model, tensor_file_metadata(f, "@training_config"));
    json_decref(model);
    return status;
}

cornu_status keras_read_metadata(tensor_file *f)
{
    static const char own[] = "@cornu_";
    for (int i = 0; i < f->metadata_count; i++) {
        char **key = &f->metadata[i].key;
        if (begins(*key, own))
            TRY(rename_key(key, *key + sizeof own - 1));
        else if (strcmp(*key, "config.json") == 0)
            TRY(rename_key(key, "keras_config"));
    }
    const char *legacy = tensor_file_metadata(f, "@model_config");
    return legacy ? read_legacy_config(f, legacy) : CORNU_OK;
}

/* ---- lists of names --------------------------------------------------------------------- */

/* Adds the names in attribute `key`; *found: the attribute exists. */
static cornu_status add_listed(const tensor_file *f, const char *key, json_t *list, bool *found)
{
    json_error_t error;
    bool lacks_memory = false;
    const char *json = tensor_file_metadata(f, key);
    json_t *more = json ? doc_json_load(json, strlen(json), 0, &error, &lacks_memory) : NULL;
    if (json_is_array(more) && json_array_extend(list, more) != 0)
        lacks_memory = true;
    json_decref(more);
    *found = json != NULL;
    return lacks_memory
               ? status_fail(CORNU_OUT_OF_MEMORY, "%s: %s: not enough memory", f->path, key)
               : CORNU_OK;
}

/* The attribute NAME of a group, or NAME0, NAME1, ... one after the other. Never NULL. */
static cornu_status keras_read_list(const tensor_file *f, const char *group, const char *name,
                                    json_t **out)
{
    bool found = false, more = true;
    *out = json_array();
    if (!*out)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %s: not enough memory", f->path, name);
    for (int i = -1; more; i++) {
        char *key;
        TRY(i < 0 ? memory_format(&key, "%s@%s", group, name)
                  : memory_format(&key, "%s@%s%d", group, name, i));
        cornu_status status = add_listed(f, key, *out, &found);
        free(key);
        TRY(status);
        more = found == (i >= 0);
    }
    return CORNU_OK;
}

/* ---- an older file's weights ------------------------------------------------------------ */

static cornu_status take_names(const tensor_file *f, const cornu_model *m, const model_member *of,
                               const char *group, const json_t *list, keras_names *n)
{
    int *numbers;
    TRY(memory_new((size_t)m->weight_count + 1, sizeof *numbers, "names", &numbers));
    const int count = keras_legacy_weights(m, of, numbers);
    cornu_status status = CORNU_OK;
    if ((int)json_array_size(list) != count)
        status =
            status_fail(CORNU_BAD_FILE, "%s: %s: found %zu weights; expected the %d of %s", f->path,
                        group, json_array_size(list), count, model_member_name(m, of));
    for (int i = 0; status == CORNU_OK && i < count; i++) {
        const char *name = json_string_value(json_array_get(list, (size_t)i));
        status = memory_format(&n->variable[numbers[i]], "%s/%s", group, name ? name : "");
    }
    free(numbers);
    return status;
}

static bool has_weights(const cornu_model *m, const model_member *of)
{
    for (int i = of->first; i < of->end; i++)
        if (m->layers[i]->weight_count > 0)
            return true;
    return false;
}

static bool next_with_weights(const cornu_model *m, model_member *at)
{
    while (model_next_member(m, -1, at))
        if (has_weights(m, at))
            return true;
    return false;
}

/* Layers that have weights, one after the other, whatever they are called: as Keras reads them. A
   submodel is one of them. */
static cornu_status take_layers(const tensor_file *f, const cornu_model *m, const char *root,
                                const json_t *layers, keras_names *n)
{
    model_member at = {.end = 0};
    bool more = next_with_weights(m, &at);
    for (size_t i = 0; i < json_array_size(layers); i++) {
        char *group;
        json_t *list = NULL;
        TRY(memory_format(&group, "%s%s", root, json_string_value(json_array_get(layers, i))));
        cornu_status status = keras_read_list(f, group, "weight_names", &list);
        if (status == CORNU_OK && json_array_size(list) > 0) {
            status = more ? take_names(f, m, &at, group, list, n)
                          : status_fail(CORNU_BAD_FILE,
                                        "%s: found weights of %s; expected no more layers that "
                                        "have some",
                                        f->path, group);
            more = more && next_with_weights(m, &at);
        }
        json_decref(list);
        free(group);
        TRY(status);
    }
    return more ? status_fail(CORNU_BAD_FILE, "%s: found no weights of %s; expected them", f->path,
                              model_member_name(m, &at))
                : CORNU_OK;
}

static cornu_status list_legacy_weights(const tensor_file *f, const cornu_model *m, keras_names *n)
{
    json_t *layers;
    const char *root = "model_weights/";
    cornu_status status = keras_read_list(f, "model_weights", "layer_names", &layers);
    if (status == CORNU_OK && json_array_size(layers) == 0) { /* a file with only weights */
        json_decref(layers);
        root = "";
        status = keras_read_list(f, "", "layer_names", &layers);
    }
    if (status == CORNU_OK)
        status = take_layers(f, m, root, layers, n);
    json_decref(layers);
    return status;
}

/* ---- the optimizer's state -------------------------------------------------------------- */

/* The names of its variables in their order. */
static cornu_status list_optimizer(const tensor_file *f, keras_layout layout, json_t **out)
{
    if (layout == KERAS_LEGACY)
        return keras_read_list(f, "optimizer_weights", "weight_names", out);
    *out = json_array();
    for (int i = 0;; i++) {
        char name[64];
        snprintf(name, sizeof name, "optimizer/vars/%d", i);
        if (!tensor_file_find(f, name))
            return CORNU_OK;
        json_array_append_new(*out, json_string(name + sizeof "optimizer/" - 1));
    }
}

static const char *variable_name(const json_t *list, int number)
{
    const char *name = json_string_value(json_array_get(list, (size_t)number));
    return name ? name : "";
}

static cornu_status copy_name(const json_t *list, int number, keras_layout layout, char **out)
{
    return memory_format(out, "%s/%s", layout == KERAS_LEGACY ? "optimizer_weights" : "optimizer",
                         variable_name(list, number));
}

static bool is_scalar(const tensor_file *f, const json_t *list, int number, keras_layout layout)
{
    char *name;
    if (copy_name(list, number, layout, &name) != CORNU_OK)
        return false;
    const file_tensor *t =
        json_array_size(list) > (size_t)number ? tensor_file_find(f, name) : NULL;
    free(name);
    return t && t->rank == 0 && t->type == ELEMENT_F32;
}

/* True if the second variable is the learning rate; tf.keras 2 saves none. (A whole number is the
   first slot.) */
static bool has_rate(const tensor_file *f, const json_t *list, keras_layout layout)
{
    return is_scalar(f, list, 1, layout);
}

/* tf.keras before 2.11 called its count "Adam/iter:0", and had all weights' first moments, then all
   second ones: the order of the slots' rows. */
static void order_as_before_2_11(const cornu_model *m, const json_t *list, int *order)
{
    int count = 0;
    if (!path_has_ending(variable_name(list, 0), "iter:0"))
        return;
    for (int slot = 0; slot < OPTIMIZER_SLOTS_ALL; slot++)
        for (int i = m->weight_count; i < m->variable_count; i++)
            if (m->variables[i].slot == slot)
                order[count++] = i;
}

/* A file may have the state of layers that were frozen only after the model was compiled. Then list
   the slots as if nothing was frozen, -1 for those that the model does not have; returns how many.
 */
static int order_unfrozen(const cornu_model *m, int *order)
{
    optimizer_slot slots[OPTIMIZER_SLOTS_ALL];
    optimizer_slots(&m->optimizer, slots);
    int count = 0;
    for (int turn = 0; turn < OPTIMIZER_SLOTS_ALL; turn++)
        for (int i = 0; i < m->weight_count; i++)
            for (int j = 0; j < OPTIMIZER_SLOTS_ALL; j++) {
                if (m->variables[i].statistic || slots[j].turn != turn ||
                    !model_needs_slot(m, i, &slots[j]))
                    continue;
                order[count++] = model_slot(m, i, j);
            }
    return count;
}

/* All slots, or none where Keras had not trained yet. `order` has room for all slots. */
static cornu_status name_slots(const tensor_file *f, const cornu_model *m, const json_t *list,
                               int *order, keras_names *n, bool *complete)
{
    int first = has_rate(f, list, n->layout) ? 2 : 1, found = (int)json_array_size(list);
    int slots = model_slot_order(m, order);
    if (m->optimizer.id == OPTIMIZER_NADAM && found > first &&
        is_scalar(f, list, found - 1, n->layout))
        TRY(copy_name(list, --found, n->layout, &n->momentum_product));
    order_as_before_2_11(m, list, order);
    *complete = found == first + slots;
    if (!*complete && found > first) {
        slots = order_unfrozen(m, order);
        *complete = found == first + slots && !path_has_ending(variable_name(list, 0), "iter:0");
    }
    if (!*complete && found != first && found != 0)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found %d variables of the optimizer; expected %d of them, or %d "
                           "before training (a model is compiled after layers are frozen or "
                           "thawed, and then saved)",
                           f->path, found, first + model_slot_order(m, order), first);
    if (found > 0)
        TRY(copy_name(list, 0, n->layout, &n->iteration));
    if (found > 0 && first == 2)
        TRY(copy_name(list, 1, n->layout, &n->rate));
    for (int i = 0; *complete && i < slots; i++)
        if (order[i] >= 0)
            TRY(copy_name(list, first + i, n->layout, &n->variable[order[i]]));
    return CORNU_OK;
}

/* Once Keras has saved a model as .h5, what it saves names the optimizer no longer, but has the
   variables of the optimizer that it was. */
static cornu_status find_named(const tensor_file *f, bool *named)
{
    const char *json = tensor_file_metadata(f, "keras_config");
    json_t *config;
    *named = true;
    if (!json)
        return CORNU_OK;
    TRY(keras_parse_json(f, "config.json", json, &config));
    const json_t *compile = json_object_get(config, "compile_config");
    *named = !compile || json_object_get(compile, "optimizer");
    json_decref(config);
    return CORNU_OK;
}

static cornu_status list_slots(const tensor_file *f, const cornu_model *m, keras_names *n,
                               bool *complete)
{
    int *order;
    json_t *list = NULL;
    bool named;
    *complete = false;
    TRY(find_named(f, &named));
    if (!named)
        return CORNU_OK;
    TRY(memory_new((size_t)m->weight_count * OPTIMIZER_SLOTS_ALL + 1, sizeof *order, "names",
                   &order));
    cornu_status status = list_optimizer(f, n->layout, &list);
    if (status == CORNU_OK)
        status = name_slots(f, m, list, order, n, complete);
    json_decref(list);
    free(order);
    return status;
}

static const file_tensor *find_one(const tensor_file *f, const char *name, element_type type)
{
    const file_tensor *t = name ? tensor_file_find(f, name) : NULL;
    return t && t->count == 1 && t->type == type ? t : NULL;
}

static cornu_status read_state(const tensor_file *f, const keras_names *n, keras_state *state)
{
    float rate = -1;
    const file_tensor *t = find_one(f, n->iteration, ELEMENT_I64);
    if (n->iteration && !t)
        return fail_entry(f, n->iteration, "no count of steps");
    if (t)
        TRY(tensor_read(t, &state->iterations));
    t = find_one(f, n->rate, ELEMENT_F32);
    if (n->rate && !t)
        return fail_entry(f, n->rate, "no learning rate");
    if (t)
        TRY(tensor_read(t, &rate));
    if (t && !(rate >= 0 && isfinite(rate)))
        return fail_entry(f, n->rate, "no number of at least 0");
    /* Products of two counters must not overflow. */
    if (n->iteration && (state->iterations < 0 || state->iterations > INT64_C(1000000000000000000)))
        return fail_entry(f, n->iteration, "a negative or huge number");
    state->rate = (double)rate;
    return CORNU_OK;
}

/* The momentum's product follows from the number of steps. */
static cornu_status check_momentum_product(const tensor_file *f, const keras_names *n,
                                           const optimizer *o, int64_t iterations)
{
    float found;
    if (!n->momentum_product)
        return CORNU_OK;
    const file_tensor *t = find_one(f, n->momentum_product, ELEMENT_F32);
    if (!t)
        return fail_entry(f, n->momentum_product, "no product of Nadam's momentum");
    TRY(tensor_read(t, &found));
    const double expected =
        optimizer_momentum_product(o, iterations < 0 ? 0 : optimizer_updates_before(o, iterations));
    if (fabs((double)found - expected) <= 1e-3 * expected + 1e-30)
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE,
                       "%s: %s: found %g; expected %g, the product of Nadam's momentum over %lld "
                       "steps",
                       f->path, n->momentum_product, (double)found, expected,
                       (long long)iterations);
}

/* ---- all names -------------------------------------------------------------------------- */

static file_tensor *find(tensor_file *f, const char *name)
{
    return (file_tensor *)(uintptr_t)tensor_file_find(f, name);
}

/* Keras's SpectralNormalization has the kernel of the layer within among its own weights, too. */
static bool is_second_kernel(const char *name)
{
    const size_t length = strlen(name), end = strlen("/vars/0");
    const char *base = layer_kind_find("SpectralNormalization")->base_name;
    if (length < end || strcmp(name + length - end, "/vars/0") != 0)
        return false;
    const char *group = name + length - end;
    while (group > name && group[-1] != '/')
        group--;
    return begins(group, base);
}

/* Other tensors: the optimizer's own variables, and the states of metrics and of random
   generators in older versions of Keras 3; cornu has its own generators. */
static bool is_neither_weight_nor_slot(const char *name)
{
    return begins(name, "optimizer/vars/") || begins(name, "optimizer_weights/") ||
           begins(name, "metrics/") ||
           (begins(name, "layers/") && strstr(name, "/seed_generator/")) ||
           (begins(name, "layers/") && is_second_kernel(name));
}

static void drop_others(tensor_file *f)
{
    int kept = 0;
    for (int i = 0; i < f->count; i++)
        if (is_neither_weight_nor_slot(f->tensors[i].name))
            free(f->tensors[i].name);
        else
            f->tensors[kept++] = f->tensors[i];
    f->count = kept;
}

static cornu_status rename_tensors(tensor_file *f, const cornu_model *m, const keras_names *n)
{
    for (int i = 0; i < m->variable_count; i++) {
        char shown[128];
        file_tensor *t = n->variable[i] ? find(f, n->variable[i]) : NULL;
        if (!n->variable[i])
            continue;
        if (!t)
            return status_fail(CORNU_BAD_FILE, "%s: found no %s (%s); expected one of shape %s",
                               f->path, n->variable[i], m->variables[i].name,
                               shape_show(&m->variables[i].shape, false, shown));
        TRY(rename_key(&t->name, m->variables[i].name));
    }
    drop_others(f);
    return tensor_file_check_names(f);
}

/* True if the file has Keras 3's layout. */
static bool keras_is_native(const tensor_file *f)
{
    return !tensor_file_metadata(f, "model_weights@layer_names") &&
           !tensor_file_metadata(f, "model_weights@layer_names0") &&
           !tensor_file_metadata(f, "@layer_names") && !tensor_file_metadata(f, "@layer_names0");
}

static cornu_status list_names(const tensor_file *f, const cornu_model *m, keras_names *n,
                               keras_state *state)
{
    if (keras_is_native(f)) {
        TRY(keras_names_make(m, KERAS_NATIVE, n));
        for (int i = m->weight_count; i < m->variable_count; i++) {
            free(n->variable[i]);
            n->variable[i] = NULL;
        }
        keras_names_forget_optimizer(n);
    } else {
        *n = (keras_names){.layout = KERAS_LEGACY, .count = m->variable_count};
        TRY(memory_new((size_t)n->count + 1, sizeof *n->variable, "names", &n->variable));
        TRY(list_legacy_weights(f, m, n));
    }
    if (!m->compiled || !state)
        return CORNU_OK;
    TRY(list_slots(f, m, n, &state->has_slots));
    TRY(read_state(f, n, state));
    return check_momentum_product(f, n, &m->optimizer, state->iterations);
}

/* `state` may be NULL. */
static cornu_status name_tensors(tensor_file *f, const cornu_model *m, keras_state *state)
{
    keras_names n = {0};
    cornu_status status = list_names(f, m, &n, state);
    if (status == CORNU_OK)
        status = rename_tensors(f, m, &n);
    keras_names_free(&n);
    return status;
}

cornu_status keras_read_names(tensor_file *f, const cornu_model *m, keras_state *state)
{
    *state = (keras_state){.iterations = -1, .rate = -1};
    return name_tensors(f, m, state);
}

cornu_status keras_read_weight_names(tensor_file *f, const cornu_model *m)
{
    return name_tensors(f, m, NULL);
}

/* ---- layers by name, or by class and order ---------------------------------------------- */

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
        TRY(keras_weight_name(r->m, l, group, i, &name));
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

/* The number of the name of a group within `group` ("" or "layers/functional") whose layer is
   called so; -1: there is none. */
static int find_called(const tensor_file *f, const char *group, const char *name, size_t length)
{
    const size_t prefix = *group ? strlen(group) + 1 : 0;
    for (int i = 0; i < f->metadata_count; i++) {
        const metadata_entry *e = &f->metadata[i];
        if (prefix > 0 && (!begins(e->key, group) || e->key[prefix - 1] != '/'))
            continue;
        const int own = group_length(e->key + prefix);
        const char *slash = own > 0 ? strchr(e->key + prefix + strlen("layers/"), '/') : NULL;
        const bool is_inner = slash && slash < e->key + prefix + own;
        if (own > 0 && !is_inner && strlen(e->value) == length &&
            memcmp(e->value, name, length) == 0)
            return i;
    }
    return -1;
}

/* The group of the layer, by the names of the submodels around it and its own. *out: NULL where
   there is none. */
static cornu_status find_called_group(const tensor_file *f, const char *path, char **out)
{
    TRY(memory_copy_string("", out));
    while (*path) {
        const size_t length = strcspn(path, "/");
        const int found = find_called(f, *out, path, length);
        free(*out);
        *out = NULL;
        if (found < 0)
            return CORNU_OK;
        const char *key = f->metadata[found].key;
        TRY(memory_format(out, "%.*s", group_length(key), key));
        path += length + (path[length] == '/');
    }
    return CORNU_OK;
}

static cornu_status take_called_group(renaming *r, const layer *l)
{
    char *group;
    TRY(find_called_group(r->f, l->name, &group));
    cornu_status status = group ? take_group(r, group, l) : CORNU_OK;
    free(group);
    return status;
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

static cornu_status take_ordered_groups(renaming *r)
{
    keras_groups g;
    TRY(keras_groups_make(r->m, &g));
    cornu_status status = CORNU_OK;
    for (int i = 0; status == CORNU_OK && i < r->m->layer_count; i++)
        status = take_group(r, g.layer[i], r->m->layers[i]);
    keras_groups_free(&g);
    return status;
}

static cornu_status take_native(renaming *r, bool by_name)
{
    if (!by_name)
        return take_ordered_groups(r);
    if (!names_groups(r->f))
        return take_configured_groups(r);
    for (int i = 0; i < r->m->layer_count; i++)
        TRY(take_called_group(r, r->m->layers[i]));
    return CORNU_OK;
}

/* ---- older files ------------------------------------------------------------------------ */

/* Weight number `i` of a layer, or submodel, of which the first `count` are `numbers`. */
static cornu_status take_listed(renaming *r, const model_member *of, const int *numbers, int count,
                                int i, const file_tensor *t)
{
    const layer *l = of->layer ? of->layer : r->m->layers[of->first];
    for (int k = of->first; i < count && k < of->end; k++) {
        const layer *own = r->m->layers[k];
        const int number = numbers[i] - own->first_variable;
        if (number >= 0 && number < own->weight_count)
            return call_weight(r, own, number, t);
    }
    return call_weight(r, l, l->weight_count + i - count, t);
}

static cornu_status take_list(renaming *r, const model_member *of, const char *group,
                              const json_t *names, int *numbers)
{
    const int count = keras_legacy_weights(r->m, of, numbers);
    for (int i = 0; i < (int)json_array_size(names); i++) {
        char *name;
        const char *own = json_string_value(json_array_get(names, (size_t)i));
        TRY(memory_format(&name, "%s/%s", group, own ? own : ""));
        const file_tensor *t = tensor_file_find(r->f, name);
        cornu_status status =
            t ? take_listed(r, of, numbers, count, i, t)
              : status_fail(CORNU_BAD_FILE, "%s: found no %s; expected this weight of %s",
                            r->f->path, name, model_member_name(r->m, of));
        free(name);
        TRY(status);
    }
    return CORNU_OK;
}

static cornu_status take_member(renaming *r, const model_member *of, bool whole, int *numbers)
{
    char *group;
    json_t *names = NULL;
    TRY(memory_format(&group, "%s%s", whole ? "model_weights/" : "", model_member_name(r->m, of)));
    cornu_status status = keras_read_list(r->f, group, "weight_names", &names);
    if (status == CORNU_OK)
        status = take_list(r, of, group, names, numbers);
    json_decref(names);
    free(group);
    return status;
}

static cornu_status take_legacy(renaming *r)
{
    bool whole = tensor_file_metadata(r->f, "model_weights@layer_names") ||
                 tensor_file_metadata(r->f, "model_weights@layer_names0");
    int *numbers;
    TRY(memory_new((size_t)r->m->weight_count + 1, sizeof *numbers, "names", &numbers));
    cornu_status status = CORNU_OK;
    for (model_member at = {.end = 0}; status == CORNU_OK && model_next_member(r->m, -1, &at);)
        status = take_member(r, &at, whole, numbers);
    free(numbers);
    return status;
}

/* ---- both ------------------------------------------------------------------------------- */

cornu_status keras_read_partners(tensor_file *f, const cornu_model *m, bool by_name)
{
    renaming r = {.f = f, .m = m};
    bool native = keras_is_native(f);
    if (!native && !by_name)
        return keras_read_weight_names(f, m);
    TRY(memory_new((size_t)f->count + 1, sizeof *r.name, "names", &r.name));
    cornu_status status = native ? take_native(&r, by_name) : take_legacy(&r);
    if (status == CORNU_OK)
        apply(&r);
    for (int i = 0; status != CORNU_OK && i < f->count; i++)
        free(r.name[i]);
    free(r.name);
    return status;
}

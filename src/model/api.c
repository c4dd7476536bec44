/* The public functions that need only a model's description. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <math.h>
#include <string.h>

/* ---- making models ---------------------------------------------------------------------- */

cornu_status cornu_model_new(const int64_t *dimensions, int rank, cornu_model **model)
{
    cornu_status status;
    cornu_model *m = NULL;
    shape input = {.rank = rank};
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_model_new: found no place for the model");
    *model = NULL;
    if (!dimensions || rank < 1 || rank > SHAPE_MAX - 1)
        return status_fail(CORNU_INVALID, "cornu_model_new: found %d dimensions; expected 1 to %d",
                           rank, SHAPE_MAX - 1);
    memcpy(input.dim, dimensions, (size_t)rank * sizeof *dimensions);
    TRY_GOTO(model_new("sequential", NULL, &m));
    TRY_GOTO(model_add_input(m, NULL, NULL, &input));
    *model = m;
    m = NULL;
done:
    model_free(m);
    return status;
}

static cornu_status parse_options(const char *options, const char *source, doc **out)
{
    *out = NULL;
    return options ? doc_parse(options, strlen(options), source, out) : CORNU_OK;
}

cornu_status cornu_model_add(cornu_model *model, const char *layer_name, const char *options)
{
    doc *d;
    if (!model || !layer_name)
        return status_fail(CORNU_INVALID, "cornu_model_add: found no %s; expected one",
                           model ? "layer" : "model");
    TRY(parse_options(options, layer_name, &d));
    const doc *given = d && d->type != DOC_NULL ? d : NULL;
    const int layers = model->layer_count;
    cornu_status status = model_add_layer(model, layer_name, given, given);
    model_forget_places(model, layers);
    doc_free(d);
    return status == CORNU_OK ? model_settle(model) : status;
}

cornu_status cornu_model_name_outputs(cornu_model *model, const char *names)
{
    doc *d;
    if (!model || !names)
        return status_fail(CORNU_INVALID, "cornu_model_name_outputs: found no %s; expected one",
                           model ? "names" : "model");
    TRY(parse_options(names, "outputs", &d));
    cornu_status status = model_name_outputs(model, d);
    doc_free(d);
    return status == CORNU_OK ? model_settle(model) : status;
}

/* Read the compile section and pass it to `apply`; `call` is the public function that messages
   name. */
static cornu_status apply_compile(cornu_model *model, const char *options, const char *call,
                                  cornu_status (*apply)(cornu_model *model, const doc *section))
{
    doc *d;
    if (!model || !options)
        return status_fail(CORNU_INVALID, "%s: found no %s; expected one", call,
                           model ? "options" : "model");
    TRY(parse_options(options, "compile", &d));
    cornu_status status = apply(model, d);
    doc_free(d);
    return status;
}

cornu_status cornu_model_compile(cornu_model *model, const char *options)
{
    TRY(apply_compile(model, options, "cornu_model_compile", model_compile));
    model->training.position.learning_rate_factor = 1;
    return CORNU_OK;
}

cornu_status cornu_model_change_loss(cornu_model *model, const char *options)
{
    return apply_compile(model, options, "cornu_model_change_loss", model_change_loss);
}

void cornu_model_close(cornu_model *model)
{
    model_free(model);
}

/* ---- queries ---------------------------------------------------------------------------- */

static cornu_status print_config(const cornu_model *model, json_t *value, char **json)
{
    if (!value)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its JSON", model->name);
    cornu_status status = config_print(value, json);
    json_decref(value);
    return status;
}

cornu_status cornu_model_config(const cornu_model *model, char **json)
{
    if (!model || !json)
        return status_fail(CORNU_INVALID, "cornu_model_config: found no %s; expected one",
                           model ? "place for the text" : "model");
    *json = NULL;
    return print_config(model, model_to_keras(model), json);
}

cornu_status cornu_model_compile_config(const cornu_model *model, char **json)
{
    if (!model || !json)
        return status_fail(CORNU_INVALID, "cornu_model_compile_config: found no %s; expected one",
                           model ? "place for the text" : "model");
    *json = NULL;
    return print_config(model, model->compiled ? model_compile_to_json(model) : json_null(), json);
}

cornu_status cornu_model_fit_config(const cornu_model *model, char **json)
{
    if (!model || !json)
        return status_fail(CORNU_INVALID, "cornu_model_fit_config: found no %s; expected one",
                           model ? "place for the text" : "model");
    *json = NULL;
    return print_config(model, model->fit ? doc_to_json(model->fit) : json_null(), json);
}

int64_t cornu_model_parameter_count(const cornu_model *model)
{
    int64_t count = 0;
    for (int i = 0; model && i < model->weight_count; i++)
        count += model->variables[i].count;
    return count;
}

static cornu_status copy_shape(const cornu_model *model, const shape *s, int64_t *dimensions,
                               int *rank)
{
    if (!model || !dimensions || !rank)
        return status_fail(CORNU_INVALID, "found no model or place for its shape; expected both");
    memcpy(dimensions, s->dim, (size_t)s->rank * sizeof *dimensions);
    *rank = s->rank;
    return CORNU_OK;
}

cornu_status cornu_model_input_shape(const cornu_model *model, int64_t *dimensions, int *rank)
{
    return copy_shape(model, model ? &model->input : NULL, dimensions, rank);
}

cornu_status cornu_model_output_shape(const cornu_model *model, int64_t *dimensions, int *rank)
{
    return copy_shape(model, model ? &model->output : NULL, dimensions, rank);
}

int cornu_model_input_count(const cornu_model *model)
{
    return model ? model->input_count : 0;
}

int cornu_model_output_count(const cornu_model *model)
{
    return model ? model->output_count : 0;
}

static cornu_status tell_end(const char *name, const shape *s, int64_t first, cornu_end_info *own,
                             cornu_end_info *info)
{
    own->name = name;
    own->rank = s->rank;
    memcpy(own->shape, s->dim, (size_t)s->rank * sizeof *own->shape);
    own->first = first;
    own->count = shape_elements(s);
    return STRUCT_WRITE("cornu_end_info", info, own);
}

cornu_status cornu_model_input(const cornu_model *model, int index, cornu_end_info *info)
{
    cornu_end_info own = {.size = sizeof own};
    int64_t first = 0;
    if (!model || !info)
        return status_fail(CORNU_INVALID, "cornu_model_input: found NULL; expected a model and a "
                                          "place for what its input is");
    if (index < 0 || index >= model->input_count)
        return status_fail(CORNU_NOT_FOUND, "input: found %d; expected 0 to %d", index,
                           model->input_count - 1);
    for (int i = 0; i < index; i++)
        first += shape_elements(model_input_shape(model, i));
    return tell_end(model_input_name(model, index), model_input_shape(model, index), first, &own,
                    info);
}

cornu_status cornu_model_output(const cornu_model *model, int index, cornu_end_info *info)
{
    cornu_end_info own = {.size = sizeof own};
    int64_t first = 0;
    if (!model || !info)
        return status_fail(CORNU_INVALID, "cornu_model_output: found NULL; expected a model and a "
                                          "place for what its output is");
    if (index < 0 || index >= model->output_count)
        return status_fail(CORNU_NOT_FOUND, "output: found %d; expected 0 to %d", index,
                           model->output_count - 1);
    for (int i = 0; i < index; i++)
        first += shape_elements(model_output_shape(model, i));
    const bool compiled = model->compiled;
    const shape target = model_target_shape(model, index);
    own.classes = compiled && model->outputs[index].target == TARGET_CLASSES;
    own.target_count = shape_elements(compiled ? &target : model_output_shape(model, index));
    return tell_end(model_output_name(model, index), model_output_shape(model, index), first, &own,
                    info);
}

static cornu_status rows_size(const char *call, const void *rows, const void *arrays,
                              const int64_t *sizes, int arrays_count, int64_t count, int64_t *row)
{
    *row = 0;
    if (!rows || !arrays || !sizes || arrays_count < 1 || count < 0)
        return status_fail(CORNU_INVALID,
                           "%s: found NULL, or %d arrays of %lld rows; expected rows, and at "
                           "least one array",
                           call, arrays_count, (long long)count);
    for (int i = 0; i < arrays_count; i++) {
        if (sizes[i] < 1 || sizes[i] > SHAPE_ELEMENTS_MAX - *row)
            return status_fail(CORNU_INVALID,
                               "%s: found size %lld of array %d; expected at least 1, and at most "
                               "2^40 in all",
                               call, (long long)sizes[i], i);
        *row += sizes[i];
    }
    return CORNU_OK;
}

cornu_status cornu_rows_join(const float *const *arrays, const int64_t *sizes, int arrays_count,
                             int64_t count, float *rows)
{
    int64_t row;
    TRY(rows_size("cornu_rows_join", rows, arrays, sizes, arrays_count, count, &row));
    for (int i = 0; i < arrays_count; i++)
        if (!arrays[i])
            return status_fail(CORNU_INVALID,
                               "cornu_rows_join: found NULL as array %d of %d; expected %lld "
                               "numbers for each of %lld rows",
                               i, arrays_count, (long long)sizes[i], (long long)count);
    for (int i = 0; i < arrays_count; rows += sizes[i++])
        for (int64_t k = 0; k < count; k++)
            memcpy(rows + k * row, arrays[i] + k * sizes[i], (size_t)sizes[i] * sizeof *rows);
    return CORNU_OK;
}

cornu_status cornu_rows_split(const float *rows, const int64_t *sizes, int arrays_count,
                              int64_t count, float *const *arrays)
{
    int64_t row;
    TRY(rows_size("cornu_rows_split", rows, arrays, sizes, arrays_count, count, &row));
    for (int i = 0; i < arrays_count; rows += sizes[i++])
        for (int64_t k = 0; arrays[i] && k < count; k++)
            memcpy(arrays[i] + k * sizes[i], rows + k * row, (size_t)sizes[i] * sizeof *rows);
    return CORNU_OK;
}

int cornu_model_class_count(const cornu_model *model)
{
    return model ? model->class_count : 0;
}

cornu_status cornu_model_set_class_names(cornu_model *model, const char *const *names, int count)
{
    if (!model || count < 0 || (count > 0 && !names))
        return status_fail(CORNU_INVALID, "cornu_model_set_class_names: found no model or no "
                                          "names; expected both");
    for (int i = 0; i < count; i++)
        if (!names[i])
            return status_fail(CORNU_INVALID, "class_names[%d]: found none; expected a name", i);
    if (count > 0 && !model_tells_classes(model, count))
        return status_fail(
            CORNU_INVALID,
            "class_names: found %d; expected one for each of the model's outputs, or "
            "2 for a single output",
            count);
    return model_set_classes(model, (char *const *)(void *)(uintptr_t)names, count);
}

const char *cornu_model_class_name(const cornu_model *model, int index)
{
    return model && index >= 0 && index < model->class_count ? model->class_names[index] : NULL;
}

const char *cornu_model_data_name(const cornu_model *model)
{
    static const char *const keys[] = {"name", "file", "folder", "table"};
    const doc *data = model ? model->data : NULL;
    if (data && data->type == DOC_STRING)
        return data->string;
    for (int i = 0; i < 4; i++) {
        const doc *d = doc_get(data, keys[i]);
        if (d && d->type == DOC_STRING)
            return d->string;
    }
    return NULL;
}

/* ---- weights ---------------------------------------------------------------------------- */

int cornu_model_weight_count(const cornu_model *model)
{
    return model ? model->weight_count : 0;
}

int cornu_model_slot_count(const cornu_model *model)
{
    return model ? model_slot_order(model, NULL) : 0;
}

/* The number of the variable that is a weight or, after these, one of the optimizer's. */
static cornu_status find_weight(const cornu_model *model, int index, int *out)
{
    if (!model)
        return status_fail(CORNU_INVALID, "found no model; expected one");
    const int count = model->weight_count, slots = cornu_model_slot_count(model);
    if (index < 0 || index >= count + slots)
        return status_fail(CORNU_NOT_FOUND, "%s: found weight number %d; expected 0 to %d",
                           model->name, index, count + slots - 1);
    *out = index < count ? index : -1;
    for (int i = count; i <= index; i++)
        *out = model_next_slot(model, *out);
    return CORNU_OK;
}

cornu_status cornu_model_weight_info(const cornu_model *model, int index, cornu_weight_info *info)
{
    TRY(find_weight(model, index, &index));
    const variable *v = &model->variables[index];
    if (!info)
        return status_fail(CORNU_INVALID, "%s: found no place for its description", v->name);
    cornu_weight_info own = {.size = sizeof own,
                             .name = v->name,
                             .rank = v->shape.rank,
                             .count = v->count,
                             .trainable = v->trainable,
                             .statistic = v->statistic};
    for (int i = 0; i < v->shape.rank; i++)
        own.shape[i] = v->shape.dim[i];
    return STRUCT_WRITE("cornu_weight_info", info, &own);
}

static cornu_status check_count(const variable *v, const void *values, int64_t count)
{
    if (!values || count != v->count)
        return status_fail(CORNU_INVALID, "%s: found %lld values; expected %lld", v->name,
                           values ? (long long)count : 0, (long long)v->count);
    return CORNU_OK;
}

cornu_status cornu_model_get_weight(const cornu_model *model, int index, float *values,
                                    int64_t count)
{
    TRY(find_weight(model, index, &index));
    const variable *v = &model->variables[index];
    TRY(check_count(v, values, count));
    if (!model->initialized)
        return status_fail(CORNU_INVALID,
                           "%s: has no values yet; cornu_model_initialize, cornu_fit or "
                           "cornu_model_load_weights give it some",
                           v->name);
    if (model->live)
        TRY(model->live->pull(model->live->context, index, index + 1));
    memcpy(values, v->value, (size_t)count * sizeof *values);
    return CORNU_OK;
}

cornu_status cornu_model_set_learning_rate(cornu_model *model, double rate)
{
    if (!model || !model->compiled)
        return status_fail(CORNU_INVALID,
                           "cornu_model_set_learning_rate: found no %s; expected one",
                           model ? "optimizer" : "model");
    const schedule *s = &model->optimizer.learning_rate;
    if (!(rate >= 0 && isfinite(rate)))
        return status_fail(CORNU_INVALID,
                           "learning_rate: found %g; expected a number of at least 0", rate);
    if (s->id != SCHEDULE_CONSTANT || !(s->initial > 0))
        return status_fail(CORNU_UNSUPPORTED, "learning_rate: found a schedule, or 0, as the "
                                              "optimizer's own; expected a number above 0");
    if (!model->initialized)
        TRY(model_initialize(model, 1));
    model->training.position.learning_rate_factor = rate / s->initial;
    return CORNU_OK;
}

cornu_status cornu_model_initialize(cornu_model *model, uint64_t seed)
{
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_model_initialize: found no model; expected one");
    TRY(model_check_free(model));
    return model_initialize(model, seed);
}

cornu_status cornu_model_set_weight(cornu_model *model, int index, const float *values,
                                    int64_t count)
{
    TRY(find_weight(model, index, &index));
    variable *v = &model->variables[index];
    TRY(check_count(v, values, count));
    /* The other weights must get values too. */
    if (!model->initialized)
        TRY(model_initialize(model, 1));
    memcpy(v->value, values, (size_t)count * sizeof *values);
    return model->live ? model->live->push(model->live->context, index) : CORNU_OK;
}

/* Adapts a built-in workload to other data than its published data. */
#include "base/memory.h"
#include "data/data.h"
#include "data/sets/datasets.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <stdlib.h>

/* Class numbers without names may be a subset of the classes, as in a part of MNIST. */
static bool needs_outputs(const cornu_model *model, const cornu_data *data)
{
    int64_t outputs = shape_elements(&model->output);
    if (data->class_count < 1 || model_tells_classes(model, data->class_count))
        return false;
    return data->class_names || data->class_count > outputs;
}

static cornu_status adapt_outputs(cornu_model *model, const cornu_data *data, text *told)
{
    int64_t outputs = shape_elements(&model->output);
    if (!needs_outputs(model, data))
        return CORNU_OK;
    TRY(cornu_model_set_outputs(model, data->class_count));
    text_add(told, "%d class%s, so that its last layer has %d unit%s in place of %lld",
             data->class_count, PLURAL(data->class_count, "", "es"), data->class_count,
             PLURAL(data->class_count, "", "s"), (long long)outputs);
    return CORNU_OK;
}

/* Rewrite the data section for this data: the set that it names is a different one, and a resumed
   run must keep the same validation split. */
static cornu_status adapt_section(cornu_model *model, const cornu_data *data)
{
    json_t *section = model->data ? doc_to_json(model->data) : json_object();
    bool done = json_is_object(section);
    if (done && json_object_get(section, "name") && data->set)
        done = json_object_set_new(section, "name", json_string(data->set->name)) == 0;
    else if (done)
        json_object_del(section, "name");
    if (done && data->spare_split > 0)
        done = json_object_set_new(section, "validation_split", json_real(data->spare_split)) == 0;
    char *made = done ? json_dumps(section, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(section);
    if (!made)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its data section",
                           model->name);
    cornu_status status = cornu_model_set_data(model, made);
    free(made);
    return status;
}

cornu_status cornu_model_adapt(cornu_model *model, const cornu_data *data, char **told)
{
    cornu_status status = CORNU_OK;
    text line = {0};
    if (!model || !data)
        return status_fail(CORNU_INVALID, "cornu_model_adapt: found NULL; expected a model and "
                                          "data");
    if (told)
        *told = NULL;
    if (!model->published)
        return status_fail(CORNU_INVALID,
                           "%s: found a model of your own; expected a built-in workload",
                           model->source);
    TRY_GOTO(adapt_outputs(model, data, &line));
    if (data->spare_split > 0 && data->block[CORNU_TEST].count > 0)
        text_add(&line, "%sno test folder, so that %g %% of the pictures validate",
                 line.length ? "; " : "", 100 * data->spare_split);
    if (!data->set || data->set != dataset_named(cornu_model_data_name(model)))
        TRY_GOTO(adapt_section(model, data));
    if (told && line.length > 0) {
        text said = {0};
        text_add_printable(&said, data->name);
        status = memory_format(told, "%s: %s has %s", model->name, said.data ? said.data : "",
                               line.data);
        text_free(&said);
    }
done:
    text_free(&line);
    return status;
}

/* Data for a model: do they fit each other, and a built-in workload adapted to other data. */
#include "base/memory.h"
#include "data/data.h"
#include "data/sets/datasets.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- do they fit each other ------------------------------------------------------------- */

/* (28, 28) and (28, 28, 1) are the same pixels. */
static shape without_trailing_ones(const shape *s)
{
    shape t = *s;
    while (t.rank > 1 && t.dim[t.rank - 1] == 1)
        t.rank--;
    return t;
}

/* "wide (10), picture (28, 28, 1)" of a model's inputs or outputs. */
static const char *show_ends(const cornu_model *model, bool outputs, text *out)
{
    char shown[128];
    const int count = outputs ? model->output_count : model->input_count;
    for (int i = 0; i < count; i++) {
        const shape target = outputs ? model_target_shape(model, i) : *model_input_shape(model, i);
        if (shape_elements(&target) == 0)
            continue;
        text_add(out, "%s%s %s", out->length ? ", " : "",
                 outputs ? model_output_name(model, i) : model_input_name(model, i),
                 shape_show(&target, false, shown));
    }
    return out->failed ? "several" : out->data;
}

/* Several inputs stand in a row of all their numbers. */
static cornu_status check_input_rows(const cornu_model *model, const sample_block *block,
                                     const char *what)
{
    char found[128];
    text shown = {0};
    if (shape_equal(&block->x_shape, &model->input))
        return CORNU_OK;
    cornu_status status = status_fail(
        CORNU_INVALID,
        "%s: found samples of shape %s; the model %s has %d inputs, %s: expected an array for each "
        "(in C, rows of their %lld numbers)",
        what, shape_show(&block->x_shape, false, found), model->name, model->input_count,
        show_ends(model, false, &shown), (long long)shape_elements(&model->input));
    text_free(&shown);
    return status;
}

static cornu_status check_inputs(const cornu_model *model, const sample_block *block,
                                 const char *what)
{
    char found[128], expected[128];
    if (model->input_count > 1)
        TRY(check_input_rows(model, block, what));
    shape data = without_trailing_ones(&block->x_shape),
          input = without_trailing_ones(&model->input);
    if (!shape_equal(&data, &input))
        return status_fail(CORNU_INVALID, "%s: found samples of shape %s; the model expects %s",
                           what, shape_show(&block->x_shape, false, found),
                           shape_show(&model->input, false, expected));
    if (block->x_type != SAMPLE_F32)
        return CORNU_OK;
    int64_t size = shape_elements(&block->x_shape);
    const float *x = block->x;
    for (int64_t i = 0; i < block->count * size; i++)
        if (!isfinite(x[i]))
            return status_fail(CORNU_INVALID, "%s: found %g in sample %jd; expected finite numbers",
                               what, (double)x[i], (intmax_t)(i / size));
    return CORNU_OK;
}

/* The targets of a sample that are class numbers: `count` of the `row`, from `first` on. */
typedef struct class_numbers {
    int64_t row, first, count;
    int64_t classes;
    const char *output; /* the name of the model's output that they are for */
} class_numbers;

/* Class numbers as int32 or as whole floats, below `classes`. */
static cornu_status check_classes(const sample_block *block, const class_numbers *of,
                                  const char *what)
{
    const int32_t *numbers = block->y_type == SAMPLE_I32 ? block->y : NULL;
    const float *values = block->y_type == SAMPLE_F32 ? block->y : NULL;
    for (int64_t i = 0; i < block->count * of->count; i++) {
        const int64_t at = i / of->count * of->row + of->first + i % of->count;
        const double label = numbers ? numbers[at] : (double)values[at];
        if (!(label >= 0 && label < (double)of->classes && label == floor(label)))
            return status_fail(
                CORNU_INVALID, "%s: found label %g in sample %jd; the output %s expects 0 to %jd",
                what, label, (intmax_t)(i / of->count), of->output, (intmax_t)(of->classes - 1));
    }
    return CORNU_OK;
}

/* Class numbers are all of a sample's target: one, or one for each place of the output. */
static cornu_status check_class(const cornu_model *model, const sample_block *block, int64_t places,
                                int64_t classes, const char *what)
{
    const class_numbers of = {
        .row = places, .count = places, .classes = classes, .output = model_output_name(model, 0)};
    return check_classes(block, &of, what);
}

static bool is_hinge(loss_id id)
{
    return id == LOSS_HINGE || id == LOSS_SQUARED_HINGE;
}

/* The hinge loss among an output's loss and metrics; LOSS_COUNT: none. */
static loss_id find_hinge(const cornu_model *model, int output)
{
    const model_output *o = &model->outputs[output];
    if (o->has_loss && is_hinge(o->loss.id))
        return o->loss.id;
    for (int i = 0; i < model->metric_count; i++) {
        const metric *m = &model->metrics[i];
        const metric_kind *k = metric_kind_of(m->id);
        if (m->output == output && !m->of_loss && k->of_loss && is_hinge(k->loss))
            return k->loss;
    }
    return LOSS_COUNT;
}

bool data_expects_signs(const cornu_model *model, int output)
{
    return find_hinge(model, output) != LOSS_COUNT;
}

/* Keras reads a target 0 of a hinge loss as -1 where all of a batch's are 0 or 1. So that no sample
   depends on the others of its batch, all samples' must be. `count` targets of each `row` of y,
   from `first` on. */
static cornu_status check_hinge(const cornu_model *model, int output, const sample_block *block,
                                int64_t row, int64_t first, int64_t count, const char *what)
{
    const loss_id hinge = find_hinge(model, output);
    const float *values = block->y_type == SAMPLE_F32 ? block->y : NULL;
    const int32_t *numbers = block->y_type == SAMPLE_I32 ? block->y : NULL;
    int64_t zero = -1, other = -1;
    double found = 0;
    if (hinge == LOSS_COUNT)
        return CORNU_OK;
    for (int64_t i = 0; i < block->count * count && (zero < 0 || other < 0); i++) {
        const int64_t at = i / count * row + first + i % count;
        const double y = numbers ? numbers[at] : (double)values[at];
        if (y == 0) {
            zero = at;
        } else if (y != 1) {
            other = at;
            found = y;
        }
    }
    if (zero < 0 || other < 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "%s: found the target 0 in sample %jd and %g in sample %jd; %s "
                       "expects 0 and 1, or -1 and 1",
                       what, (intmax_t)(zero / row), found, (intmax_t)(other / row),
                       loss_kind_of(hinge)->name);
}

static cornu_status check_values(const sample_block *block, const char *what)
{
    const int64_t size = shape_elements(&block->y_shape), targets = size - block->output_weights;
    const float *y = block->y;
    for (int64_t i = 0; i < block->count * size; i++)
        if (!isfinite(y[i]))
            return status_fail(
                CORNU_INVALID, "%s: found %s %g in sample %jd; expected finite numbers", what,
                i % size < targets ? "target" : "weight", (double)y[i], (intmax_t)(i / size));
    return CORNU_OK;
}

static cornu_status check_weight_count(const cornu_model *model, const sample_block *block,
                                       const char *what)
{
    const int64_t found = block->output_weights;
    if (found == 0 || (found == model->output_count && found > 1))
        return CORNU_OK;
    if (model->output_count == 1)
        return status_fail(CORNU_INVALID,
                           "%s: found %lld output_weights; the model %s has one output: expected "
                           "weights of the samples",
                           what, (long long)found, model->name);
    return status_fail(CORNU_INVALID,
                       "%s: found %lld output_weights; expected %d, one for each output of the "
                       "model %s",
                       what, (long long)found, model->output_count, model->name);
}

static cornu_status check_weights(const cornu_model *model, const sample_block *block,
                                  const char *what)
{
    TRY(check_weight_count(model, block, what));
    for (int64_t i = 0; block->weight && i < block->count; i++)
        if (!isfinite(block->weight[i]))
            return status_fail(CORNU_INVALID,
                               "%s: found weight %g of sample %jd; expected a finite number", what,
                               (double)block->weight[i], (intmax_t)i);
    return CORNU_OK;
}

static cornu_status check_metrics(const cornu_model *model)
{
    for (int i = 0; i < model->metric_count; i++) {
        const int output = model->metrics[i].output;
        const loss_kind *taken = loss_kind_of(model->outputs[output].loss.id);
        const bool classes = model->outputs[output].target == TARGET_CLASSES;
        const shape *s = model_output_shape(model, output);
        int64_t outputs = s->rank > 0 ? s->dim[s->rank - 1] : 1;
        const bool sparse = metric_takes_classes(&model->metrics[i]);
        if (outputs > 1 && model->outputs[output].has_loss && !model->metrics[i].of_loss &&
            !model->metrics[i].called && sparse != classes)
            return status_fail(
                CORNU_INVALID, "metric %s takes %s; expected one for %s, which the loss %s takes",
                metric_name(&model->metrics[i]), sparse ? "class numbers" : "one number an output",
                classes ? "class numbers" : "one number an output", taken->name);
    }
    return CORNU_OK;
}

/* Several targets stand in a row of all their numbers, in which class numbers are floats. */
static cornu_status check_target_rows(const cornu_model *model, const sample_block *block,
                                      const char *what)
{
    char found[128];
    text shown = {0};
    int64_t row = block->output_weights;
    for (int i = 0; i < model->output_count; i++) {
        const shape target = model_target_shape(model, i);
        row += shape_elements(&target);
    }
    if (block->y_type != SAMPLE_F32 || shape_elements(&block->y_shape) != row) {
        cornu_status status = status_fail(
            CORNU_INVALID,
            "%s: found targets of %s; the model %s has %d outputs, %s: expected an array for each "
            "(in C, rows of %lld numbers)",
            what,
            block->y_type == SAMPLE_F32 ? shape_show(&block->y_shape, false, found)
                                        : "class numbers",
            model->name, model->output_count, show_ends(model, true, &shown), (long long)row);
        text_free(&shown);
        return status;
    }
    class_numbers of = {.row = row};
    for (int i = 0; i < model->output_count; i++) {
        const shape target = model_target_shape(model, i), *output = model_output_shape(model, i);
        of.count = shape_elements(&target);
        of.output = model_output_name(model, i);
        if (model->outputs[i].target == TARGET_CLASSES) {
            of.classes = output->dim[output->rank - 1];
            TRY(check_classes(block, &of, what));
        }
        TRY(check_hinge(model, i, block, row, of.first, of.count, what));
        of.first += of.count;
    }
    return check_values(block, what);
}

static cornu_status check_targets(const cornu_model *model, const sample_block *block,
                                  const char *what)
{
    char found[128], expected[128];
    const loss_kind *taken = loss_kind_of(model_loss(model)->id);
    const shape *output = &model->output;
    int64_t outputs = output->rank > 0 ? output->dim[output->rank - 1] : 1;
    bool numbers = block->y_type == SAMPLE_I32;
    if (!block->y)
        return status_fail(CORNU_INVALID, "%s: found no targets; the loss %s expects them", what,
                           taken->name);
    if (model->output_count > 1)
        return check_target_rows(model, block, what);
    const int64_t places = shape_elements(output) / outputs;
    if (numbers && places > 1 && model->outputs[0].target != TARGET_LABEL)
        return status_fail(CORNU_INVALID,
                           "%s: found a class number a sample; the model's output %s expects more",
                           what, shape_show(output, false, expected));
    if (model->outputs[0].target == TARGET_CLASSES) {
        if (!numbers && shape_elements(&block->y_shape) != places)
            return status_fail(CORNU_INVALID,
                               "%s: found targets of shape %s; the loss %s expects class numbers "
                               "(for one-hot targets use categorical_crossentropy)",
                               what, shape_show(&block->y_shape, false, found), taken->name);
        return check_class(model, block, places, outputs, what);
    }
    if (model->outputs[0].target == TARGET_LABEL) {
        if (!numbers && shape_elements(&block->y_shape) != 1)
            return status_fail(
                CORNU_INVALID,
                "%s: found targets of shape %s; the loss circle expects a number for "
                "each sample",
                what, shape_show(&block->y_shape, false, found));
        return numbers ? CORNU_OK : check_values(block, what);
    }
    if (numbers && taken->targets == LOSS_TARGETS_VALUES && outputs == 1)
        return check_hinge(model, 0, block, 1, 0, 1, what); /* whole numbers to be met */
    if (numbers)
        return check_class(model, block, 1, outputs == 1 ? 2 : outputs, what);
    if (shape_elements(&block->y_shape) != shape_elements(output))
        return status_fail(CORNU_INVALID,
                           "%s: found targets of shape %s; the model's output and %s "
                           "expect %s",
                           what, shape_show(&block->y_shape, false, found), taken->name,
                           shape_show(output, false, expected));
    TRY(check_values(block, what));
    const int64_t row = shape_elements(output);
    return check_hinge(model, 0, block, row, 0, row, what);
}

cornu_status data_check_samples(const cornu_model *model, const sample_block *block,
                                const char *what)
{
    if (!model->compiled)
        return status_fail(CORNU_INVALID,
                           "model: found no loss and optimizer; expected a compile section (or "
                           "cornu_model_compile)");
    if (block->count <= 0)
        return status_fail(CORNU_INVALID, "%s: found no samples; expected at least one", what);
    TRY(check_inputs(model, block, what));
    TRY(check_metrics(model));
    TRY(check_weights(model, block, what));
    return check_targets(model, block, what);
}

/* ---- adapting a built-in workload ------------------------------------------------------- */

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

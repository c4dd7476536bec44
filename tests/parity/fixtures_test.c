/* Every case of tests/fixtures: the results of real Keras for one layer, loss, metric or optimizer
   must come out here too, on every device, with and without the rewriting passes. The files are
   described in peers/make_fixtures.py, which makes them; CORNU_FIXTURES names another folder of
   them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/files.h"
#include "device/device.h"
#include "format/tensor_file.h"
#include "support/fixtures.h"
#include "support/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-5 /* of a tensor's largest magnitude */

typedef struct variant {
    char label[80], device[64];
    bool no_fusion;
} variant;

enum { VARIANTS_MAX = 16 };
static variant variants[VARIANTS_MAX];
static int variant_count;

/* One case on one device, and the differences found so far. */
typedef struct fixture {
    const tensor_file *file;
    const char *name;
    const variant *variant;
    cornu_model *model;
    doc *model_doc, *compile_doc;
    device *device;
    int failures;
} fixture;

static void complain(fixture *f, const char *what, const char *message)
{
    print_error("%s %s [%s] %s: %s\n", path_base(f->file->path), f->name, f->variant->label, what,
                message);
    f->failures++;
}

/* Report a failed call; true if it succeeded. */
static bool succeeded(fixture *f, const char *what, cornu_status status)
{
    if (status != CORNU_OK)
        complain(f, what, cornu_last_error());
    return status == CORNU_OK;
}

static const file_tensor *member(const fixture *f, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", f->name, name);
    return tensor_file_find(f->file, path);
}

/* The part of a member's name after "CASE/PREFIX/", or NULL if it belongs to another case. */
static const char *name_under(const fixture *f, const char *member_name, const char *prefix)
{
    size_t length = strlen(f->name), more = strlen(prefix);
    if (strncmp(member_name, f->name, length) != 0 || member_name[length] != '/')
        return NULL;
    member_name += length + 1;
    if (strncmp(member_name, prefix, more) != 0 || member_name[more] != '/')
        return NULL;
    return member_name + more + 1;
}

/* Compare found[count] with the `part`th of the member's equal parts of `count`. */
static void compare(fixture *f, const file_tensor *expected, int64_t part, const float *found,
                    int64_t count)
{
    char message[256];
    if (expected->type != ELEMENT_F32 || count < 1 || expected->count % count != 0 ||
        part >= expected->count / count) {
        snprintf(message, sizeof message, "found %lld elements; expected part %lld of %lld",
                 (long long)count, (long long)part, (long long)expected->count);
        complain(f, expected->name, message);
        return;
    }
    const float *values = (const float *)expected->data + part * count;
    double largest = 0, scale = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs((double)found[i] - (double)values[i]);
        if (!(difference <= largest)) {
            largest = difference;
            at = i;
        }
        scale = fmax(scale, fabs((double)values[i]));
    }
    if (largest <= TOLERANCE * scale)
        return;
    snprintf(message, sizeof message,
             "element %lld is %.9g; expected %.9g (%.2g of the scale %.3g)", (long long)at,
             (double)found[at], (double)values[at], largest / scale, scale);
    complain(f, expected->name, message);
}

static void compare_number(fixture *f, const char *name, int64_t part, double found)
{
    const file_tensor *expected = member(f, name);
    float value = (float)found;
    if (expected == NULL)
        complain(f, name, "not in the file");
    else
        compare(f, expected, part, &value, 1);
}

static bool read_section(fixture *f, const char *name, doc **out)
{
    const file_tensor *text = member(f, name);
    if (text == NULL || text->type != ELEMENT_U8) {
        complain(f, name, "not in the file");
        return false;
    }
    return succeeded(f, name, doc_parse(text->data, (size_t)text->count, name, out));
}

static bool read_compile(fixture *f)
{
    static const char usual[] = "{optimizer: sgd, loss: mean_squared_error}";
    if (member(f, "compile") != NULL)
        return read_section(f, "compile", &f->compile_doc);
    return succeeded(f, "compile", doc_parse(usual, strlen(usual), "compile", &f->compile_doc));
}

static bool set_weights(fixture *f)
{
    for (int i = 0; i < f->model->weight_count; i++) {
        char name[256];
        variable *v = &f->model->variables[i];
        snprintf(name, sizeof name, "weight/%s", v->name);
        const file_tensor *t = member(f, name);
        if (t == NULL || t->type != ELEMENT_F32 || t->count != v->count) {
            complain(f, name, "not in the file with the model's shape");
            return false;
        }
        memcpy(v->value, t->data, (size_t)t->count * sizeof(float));
    }
    return true;
}

static void fixture_close(fixture *f)
{
    if (f->device != NULL)
        f->device->ops->close(f->device);
    cornu_model_close(f->model);
    doc_free(f->compile_doc);
    doc_free(f->model_doc);
}

static bool fixture_open(fixture *f)
{
    device_options options = {.threads = 2};
    f->device = net_device_open(f->variant->device, &options);
    return read_section(f, "model", &f->model_doc) && read_compile(f) &&
           succeeded(f, "model", model_from_section(f->model_doc, &f->model)) &&
           succeeded(f, "compile", model_compile(f->model, f->compile_doc)) &&
           succeeded(f, "initialize", model_initialize(f->model, 1)) && set_weights(f) &&
           succeeded(f, "bind", f->device->ops->bind(f->device, f->model));
}

static int jobs_run;

/* A prepared plan, with the samples that it runs on. */
typedef struct job {
    plan *plan;
    prepared *prepared;
    sample_block samples;
    int64_t *index; /* [samples.count] */
} job;

/* The leading `lead` dimensions of x and y count samples; the batch is the last of them. */
static bool samples_from(fixture *f, int lead, sample_block *s, int64_t *batch)
{
    const file_tensor *x = member(f, "x"), *y = member(f, "y");
    if (x == NULL || y == NULL || x->type != ELEMENT_F32) {
        complain(f, "x, y", "not in the file");
        return false;
    }
    *s = (sample_block){.count = 1, .x = x->data, .x_type = SAMPLE_F32, .x_scale = 1, .y = y->data};
    for (int i = 0; i < lead; i++)
        s->count *= x->shape[i];
    *batch = x->shape[lead - 1];
    for (int i = lead; i < x->rank; i++)
        s->x_shape.dim[s->x_shape.rank++] = x->shape[i];
    for (int i = lead; i < y->rank; i++)
        s->y_shape.dim[s->y_shape.rank++] = y->shape[i];
    s->y_type = y->type == ELEMENT_I32 ? SAMPLE_I32 : SAMPLE_F32;
    return true;
}

static bool job_open(fixture *f, plan_mode mode, int lead, job *j)
{
    plan_options options = {.mode = mode, .no_fusion = f->variant->no_fusion};
    *j = (job){0};
    if (!samples_from(f, lead, &j->samples, &options.batch))
        return false;
    options.keep_input_gradient = mode == PLAN_TRAIN && lead == 1;
    options.scope = options.keep_input_gradient ? SCOPE_GRADIENTS : SCOPE_STEP;
    j->index = malloc((size_t)j->samples.count * sizeof *j->index);
    assert_non_null(j->index);
    for (int64_t i = 0; i < j->samples.count; i++)
        j->index[i] = i;
    if (!succeeded(f, "plan", plan_build(f->model, &options, &j->plan)) ||
        !succeeded(f, "prepare", f->device->ops->prepare(f->device, j->plan, &j->prepared)) ||
        net_misses_kernel(f->device, j->prepared, j->plan))
        return false;
    jobs_run++;
    return true;
}

static void job_close(fixture *f, job *j)
{
    if (j->prepared != NULL)
        f->device->ops->release(f->device, j->prepared);
    plan_free(j->plan);
    free(j->index);
}

/* Run step `step` on its batch; *results holds the sums since the last reset. */
static bool job_step(fixture *f, job *j, int64_t step, bool reset, step_results *results)
{
    step_input input = {.samples = &j->samples,
                        .index = j->index + step * j->plan->batch,
                        .seed = 1,
                        .iteration = step,
                        .learning_rate =
                            (float)schedule_at(&f->model->optimizer.learning_rate, step)};
    return succeeded(f, "run", f->device->ops->run(f->device, j->prepared, &input, 1)) &&
           succeeded(f, "results", f->device->ops->results(f->device, results, reset));
}

static void compare_tensor(fixture *f, const job *j, tensor_ref t, const file_tensor *expected)
{
    if (t == NO_TENSOR) {
        complain(f, expected->name, "the plan does not compute it");
        return;
    }
    int64_t count = j->plan->tensors[t].count;
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    if (succeeded(f, expected->name,
                  f->device->ops->read(f->device, j->prepared, t, values, count)))
        compare(f, expected, 0, values, count);
    free(values);
}

/* Compare the variables named CASE/after/... with the `part`th stored value. */
static void compare_variables(fixture *f, int64_t part)
{
    for (int i = 0; i < f->file->count; i++) {
        const char *name = name_under(f, f->file->tensors[i].name, "after");
        variable *v = name != NULL ? model_variable(f->model, name) : NULL;
        if (name != NULL && v == NULL)
            complain(f, name, "the model has no such weight");
        if (v == NULL)
            continue;
        float *values = malloc((size_t)v->count * sizeof *values);
        assert_non_null(values);
        if (succeeded(f, name,
                      f->device->ops->read_variable(f->device, (int)(v - f->model->variables),
                                                    values, v->count)))
            compare(f, &f->file->tensors[i], part, values, v->count);
        free(values);
    }
}

static void check_prediction(fixture *f)
{
    job j;
    step_results results;
    if (job_open(f, PLAN_PREDICT, 1, &j) && job_step(f, &j, 0, true, &results))
        compare_tensor(f, &j, j.plan->output, member(f, "output"));
    job_close(f, &j);
    if (job_open(f, PLAN_EVALUATE, 1, &j) && job_step(f, &j, 0, true, &results))
        compare_number(f, "loss_evaluate", 0, results.last_loss);
    job_close(f, &j);
}

static void check_gradients(fixture *f)
{
    job j;
    step_results results;
    if (job_open(f, PLAN_TRAIN, 1, &j) && job_step(f, &j, 0, true, &results)) {
        compare_number(f, "loss", 0, results.last_loss);
        const file_tensor *of_input = member(f, "input_gradient"); /* NULL: there is none */
        if (of_input && j.plan->input_gradient == NO_TENSOR)
            complain(f, "input_gradient", "is in one of the two alone");
        else if (of_input)
            compare_tensor(f, &j, j.plan->input_gradient, of_input);
        for (int i = 0; i < f->model->weight_count; i++) {
            char name[256];
            snprintf(name, sizeof name, "gradient/%s", f->model->variables[i].name);
            if (member(f, name) != NULL)
                compare_tensor(f, &j, j.plan->gradients[i], member(f, name));
            else if (f->model->variables[i].trainable)
                complain(f, name, "not in the file");
        }
        compare_variables(f, 0);
    }
    job_close(f, &j);
}

static void check_outputs_and_gradients(fixture *f)
{
    check_prediction(f);
    if (member(f, "loss") != NULL)
        check_gradients(f);
}

static void check_metric(fixture *f)
{
    job j;
    step_results results = {0};
    if (job_open(f, PLAN_EVALUATE, 2, &j)) {
        int64_t batches = j.samples.count / j.plan->batch;
        bool ran = true;
        for (int64_t i = 0; i < batches && ran; i++)
            ran = job_step(f, &j, i, false, &results);
        if (ran) {
            compare_number(f, "loss_evaluate", 0, results.loss / (double)results.samples);
            compare_number(f, "metric", 0, results.metrics[0] / (double)results.samples);
        }
    }
    job_close(f, &j);
}

static void check_updates(fixture *f)
{
    job j;
    step_results results;
    if (job_open(f, PLAN_TRAIN, 2, &j)) {
        int64_t steps = j.samples.count / j.plan->batch;
        for (int64_t i = 0; i < steps && job_step(f, &j, i, true, &results); i++) {
            compare_number(f, "loss", i, results.last_loss);
            compare_variables(f, i);
        }
    }
    job_close(f, &j);
}

/* Run `check` on every case of the file on every variant. */
static void check_file(const char *file_name, void (*check)(fixture *))
{
    tensor_file *file = NULL;
    if (tensor_file_open(fixture_path(file_name), &file) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    int cases = 0, failures = 0;
    for (int i = 0; i < file->count; i++) {
        char name[256];
        const char *slash = strchr(file->tensors[i].name, '/');
        if (slash == NULL || strcmp(slash, "/model") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(slash - file->tensors[i].name),
                 file->tensors[i].name);
        cases++;
        for (int k = 0; k < variant_count; k++) {
            fixture f = {.file = file, .name = name, .variant = &variants[k]};
            if (fixture_open(&f) && !net_lacks(f.device, f.model))
                check(&f);
            fixture_close(&f);
            failures += f.failures;
        }
    }
    tensor_file_close(file);
    assert_true(cases > 0);
    assert_int_equal(failures, 0);
}

static void layers_give_keras_outputs_and_gradients(void **state)
{
    (void)state;
    check_file("layers.npz", check_outputs_and_gradients);
}

static void activations_give_keras_outputs_and_gradients(void **state)
{
    (void)state;
    check_file("activations.npz", check_outputs_and_gradients);
}

static void sequences_give_keras_outputs_and_gradients(void **state)
{
    (void)state;
    check_file("sequences.npz", check_outputs_and_gradients);
}

static void networks_that_branch_give_keras_outputs_and_gradients(void **state)
{
    (void)state;
    check_file("graphs.npz", check_outputs_and_gradients);
}

static void layers_called_several_times_give_keras_outputs_and_gradients(void **state)
{
    (void)state;
    check_file("shared.npz", check_outputs_and_gradients);
}

/* Random layers whose ends are equal change as Keras's do; predictions leave the images alone. */
static void preprocessing_layers_change_as_keras_layers_do(void **state)
{
    (void)state;
    check_file("preprocessing.npz", check_outputs_and_gradients);
}

static void losses_give_keras_values_and_gradients(void **state)
{
    (void)state;
    check_file("losses.npz", check_outputs_and_gradients);
}

static void metrics_give_keras_values_also_for_ties(void **state)
{
    (void)state;
    check_file("metrics.npz", check_metric);
}

static void optimizers_take_keras_steps(void **state)
{
    (void)state;
    check_file("optimizers.npz", check_updates);
}

static void models_with_frozen_layers_take_keras_steps(void **state)
{
    (void)state;
    check_file("frozen.npz", check_updates);
}

static int list_variants(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++)
        for (int form = 0; form < 2 && variant_count < VARIANTS_MAX; form++) {
            variant *v = &variants[variant_count++];
            v->no_fusion = form == 1;
            snprintf(v->device, sizeof v->device, "%s", net_device(d));
            snprintf(v->label, sizeof v->label, "%s%s", net_device(d), form ? ", no folding" : "");
        }
    return variant_count > 0 ? 0 : -1;
}

/* A kernel that no case reaches would not be tested. */
static int jobs_were_run(void **state)
{
    (void)state;
    return jobs_run > 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_give_keras_outputs_and_gradients),
        cmocka_unit_test(activations_give_keras_outputs_and_gradients),
        cmocka_unit_test(sequences_give_keras_outputs_and_gradients),
        cmocka_unit_test(networks_that_branch_give_keras_outputs_and_gradients),
        cmocka_unit_test(layers_called_several_times_give_keras_outputs_and_gradients),
        cmocka_unit_test(preprocessing_layers_change_as_keras_layers_do),
        cmocka_unit_test(losses_give_keras_values_and_gradients),
        cmocka_unit_test(metrics_give_keras_values_also_for_ties),
        cmocka_unit_test(optimizers_take_keras_steps),
        cmocka_unit_test(models_with_frozen_layers_take_keras_steps),
    };
    return cmocka_run_group_tests(tests, list_variants, jobs_were_run);
}

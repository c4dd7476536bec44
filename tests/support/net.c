#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "support/net.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(cornu_status status, const char *what)
{
    if (status != CORNU_OK)
        fail_msg("%s: %s", what, cornu_last_error());
}

/* Name `index` of a list with commas; NULL past the end. */
static const char *listed(const char *list, int index)
{
    static _Thread_local char name[64];
    for (; index > 0 && *list; index--) {
        list += strcspn(list, ",");
        list += *list == ',';
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(list, ","), list);
    return *name ? name : NULL;
}

/* An absent device that the variable names ends the program: otherwise a race or memory checker
   would report no error for tests that never used it. */
static void must_be_there(const char *name)
{
    cornu_device_info info = {.size = sizeof info};
    device_id id;
    char why[sizeof info.reason + 2] = "";
    for (int i = 0; device_at(i, &id, &info); i++) {
        if (info.available && strcmp(info.name, name) == 0)
            return;
        if (!info.available && strncmp(info.name, name, strcspn(name, ":")) == 0)
            snprintf(why, sizeof why, ": %s", info.reason);
    }
    print_error("CORNU_TEST_DEVICES: found no device %s%s; expected one that can be used\n", name,
                why);
    exit(EXIT_FAILURE);
}

const char *net_device(int index)
{
    static _Thread_local cornu_device_info info; /* the name lives to the thread's next call */
    device_id id;
    const char *only = getenv("CORNU_TEST_DEVICES");
    if (only) {
        const char *name = listed(only, index);
        if (name)
            must_be_there(name);
        return name;
    }
    for (int i = 0; device_at(i, &id, &info); i++)
        if (info.available && index-- == 0)
            return info.name;
    return NULL;
}

const char *net_accelerator(void)
{
    static char name[64];
    for (int i = 0; net_device(i); i++)
        if (strchr(net_device(i), ':')) {
            snprintf(name, sizeof name, "%s", net_device(i));
            return name;
        }
    return NULL;
}

device *net_device_open(const char *name, const device_options *options)
{
    device_id id;
    device *d = NULL;
    device_options forced = options ? *options : (device_options){0};
    if (!forced.kernel)
        forced.kernel = getenv("CORNU_TEST_KERNEL");
    must(device_find(name, &id), name);
    must(id.ops->open(id.number, &forced, &d), name);
    return d;
}

bool net_lacks(const device *d, const cornu_model *model)
{
    plan *p = NULL;
    must(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 2}, &p), "plan");
    bool lacks = d->ops->lacks && d->ops->lacks(d, p);
    plan_free(p);
    return lacks;
}

bool net_lacks_kind(const device *d, op_kind kind)
{
    op o = {.kind = kind};
    return d->ops->lacks && d->ops->lacks(d, &(plan){.ops = &o, .op_count = 1});
}

cornu_model *net_model(const char *yaml)
{
    doc *recipe = NULL;
    cornu_model *model = NULL;
    must(doc_parse(yaml, strlen(yaml), "test.yaml", &recipe), yaml);
    must(model_from_recipe(recipe, &model), yaml);
    must(model_initialize(model, 1), yaml);
    return model;
}

void net_sample(const layer_kind *kind, const char *sample, char *yaml, size_t size)
{
    const char *shape_end = strchr(sample, '|'), *options = strrchr(sample, '|');
    assert_non_null(shape_end);
    const int before = shape_end == options ? 0 : (int)(options - shape_end - 1);
    const bool branches = kind->merges && strstr(options, "inputs:");
    snprintf(yaml, size, "model: {input: [%.*s], layers: [%s%.*s{%s: %s}]}\n",
             (int)(shape_end - sample), sample, branches ? NET_BRANCHES : "", before, shape_end + 1,
             kind->name, options + 1);
}

bool net_is_recurrent(const layer_kind *kind, const char *sample)
{
    static const char *const words[] = {"RNN", "LSTM", "GRU"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(kind->name, words[i]) || strstr(sample, words[i]))
            return true;
    return false;
}

cornu_model *net_layer(const layer_kind *kind, const char *sample)
{
    char yaml[1024];
    net_sample(kind, sample, yaml, sizeof yaml);
    strncat(yaml, "compile: {optimizer: sgd, loss: mean_squared_error}\n",
            sizeof yaml - strlen(yaml) - 1);
    return net_model(yaml);
}

void net_fill(float *values, int64_t count, uint64_t seed)
{
    random_stream r = random_open(seed, RANDOM_GENERATE, 0);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(2 * (i + 0.25) / (double)count - 1);
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t k = random_below(&r, (uint32_t)(i + 1));
        float kept = values[i];
        values[i] = values[k];
        values[k] = kept;
    }
}

/* Class numbers in the places of the outputs whose losses take those. */
static void fill_classes(net *n)
{
    const int64_t row = n->y_count / n->plan->batch;
    int64_t at = 0;
    for (int output = 0; output < n->model->output_count; output++) {
        const shape target = model_target_shape(n->model, output),
                    *s = model_output_shape(n->model, output);
        const int64_t count = shape_elements(&target), classes = s->dim[s->rank - 1];
        const bool sparse = n->model->outputs[output].target == TARGET_CLASSES;
        for (int64_t i = 0; sparse && i < n->plan->batch * count; i++)
            n->y[i / count * row + at + i % count] = (float)(i * 7 % classes);
        at += count;
    }
}

static void fill_targets(net *n)
{
    n->y_count = n->plan->tensors[n->plan->target].count;
    n->y = calloc((size_t)n->y_count, sizeof *n->y);
    assert_non_null(n->y);
    net_fill(n->y, n->y_count, 3);
    fill_classes(n);
}

static shape one_sample(const tensor *t)
{
    shape s = {.rank = t->shape.rank - 1};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = t->shape.dim[i + 1];
    return s;
}

static void fill_samples(net *n)
{
    const tensor *x = &n->plan->tensors[n->plan->input];
    n->x_count = x->count;
    n->x = calloc((size_t)x->count, sizeof *n->x);
    n->index = calloc((size_t)n->plan->batch, sizeof *n->index);
    assert_non_null(n->x);
    assert_non_null(n->index);
    net_fill(n->x, x->count, 2);
    for (int64_t i = 0; i < n->plan->batch; i++)
        n->index[i] = i;
    n->samples = (sample_block){.count = n->plan->batch,
                                .x_shape = one_sample(x),
                                .x_type = SAMPLE_F32,
                                .x = n->x,
                                .x_scale = 1};
    if (n->plan->target != NO_TENSOR) {
        fill_targets(n);
        n->samples.y_shape = one_sample(&n->plan->tensors[n->plan->target]);
        n->samples.y_type = SAMPLE_F32;
        n->samples.y = n->y;
    }
    n->input = (step_input){.samples = &n->samples,
                            .index = n->index,
                            .seed = 5,
                            .iteration = 0,
                            .learning_rate = 0.01f};
}

net *net_open_with(cornu_model *model, const char *name, const plan_options *plan_options_,
                   const device_options *device_options_)
{
    net *n = calloc(1, sizeof *n);
    assert_non_null(n);
    n->model = model;
    must(plan_build(model, plan_options_, &n->plan), "plan");
    n->device = net_device_open(name, device_options_);
    must(n->device->ops->bind(n->device, model), name);
    must(n->device->ops->prepare(n->device, n->plan, &n->prepared), name);
    fill_samples(n);
    return n;
}

net *net_open(cornu_model *model, const char *name, const plan_options *options)
{
    device_options one = {.threads = 1};
    return net_open_with(model, name, options, &one);
}

void net_close(net *n)
{
    n->device->ops->release(n->device, n->prepared);
    n->device->ops->close(n->device);
    plan_free(n->plan);
    free(n->x);
    free(n->y);
    free(n->index);
    free(n);
}

double net_run(net *n)
{
    step_results results;
    must(n->device->ops->run(n->device, n->prepared, &n->input, 1), "run");
    must(n->device->ops->results(n->device, &results, true), "results");
    return results.last_loss;
}

void net_samples(net *n, const sample_block *samples)
{
    n->samples = *samples;
}

float *net_read(net *n, tensor_ref t)
{
    int64_t count = n->plan->tensors[t].count;
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    must(n->device->ops->read(n->device, n->prepared, t, values, count), "read");
    return values;
}

float *net_read_variable(net *n, const char *name)
{
    for (int i = 0; i < n->model->variable_count; i++) {
        if (strcmp(n->model->variables[i].name, name) != 0)
            continue;
        int64_t count = n->model->variables[i].count;
        float *values = malloc((size_t)count * sizeof *values);
        assert_non_null(values);
        must(n->device->ops->read_variable(n->device, i, values, count), name);
        return values;
    }
    fail_msg("no variable %s", name);
    return NULL;
}

void net_write_variable(net *n, int number, const float *values)
{
    must(n->device->ops->write_variable(n->device, number, values,
                                        n->model->variables[number].count),
         n->model->variables[number].name);
}

double net_difference(const float *a, const float *b, int64_t count)
{
    double largest = 1e-30, difference = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)a[i]));
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return INFINITY;
    }
    return difference / largest;
}

plan *net_plan(const cornu_model *model, plan_mode mode, int64_t batch)
{
    plan_options options = {.mode = mode, .batch = batch};
    plan *p = NULL;
    if (plan_build(model, &options, &p) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return p;
}

int net_count(const plan *p, op_kind kind, int *first)
{
    int count = 0, at = -1;
    for (int i = p->op_count - 1; i >= 0; i--) {
        if (p->ops[i].kind == kind) {
            count++;
            at = i;
        }
    }
    if (first)
        *first = at;
    return count;
}

bool net_misses_kernel(device *d, prepared *prepared_, const plan *p)
{
    const char *kernel = getenv("CORNU_TEST_KERNEL");
    if (!kernel)
        return false;
    kernel_choice *choices = calloc((size_t)p->op_count, sizeof *choices);
    assert_non_null(choices);
    must(d->ops->choices(d, prepared_, choices), "choices");
    bool misses = true;
    for (int i = 0; misses && i < p->op_count; i++) {
        const char *slash = choices[i].kernel ? strrchr(choices[i].kernel, '/') : NULL;
        misses = !slash || strcmp(slash + 1, kernel) != 0;
    }
    free(choices);
    return misses;
}

kernel_choice *net_choices(const net *n)
{
    kernel_choice *choices = calloc((size_t)n->plan->op_count, sizeof *choices);
    assert_non_null(choices);
    must(n->device->ops->choices(n->device, n->prepared, choices), "choices");
    return choices;
}

#include "model/traced_loss.h"
#include "base/memory.h"
#include "model/layers/layers.h"
#include <stdlib.h>
#include <string.h>

/* What the key "traced" holds. */
typedef struct traced_options {
    int targets; /* TARGET_VALUES, TARGET_CLASSES */
    int reduction;
} traced_options;

static const config_field fields[] = {
    OPTION_ELSEWHERE("model"),
    OPTION(CHOICE, traced_options, targets, .fallback = "values", .choices = "values|classes"),
    OPTION(CHOICE, traced_options, reduction, .fallback = "sum_over_batch_size",
           .choices = "sum_over_batch_size|sum|mean"),
    OPTIONS_END,
};

bool traced_loss_is(const doc *d)
{
    return d && d->type == DOC_MAP && doc_get(d, "traced");
}

const char *traced_loss_name(const traced_loss *t)
{
    return t->network ? t->network->name : loss_kind_of(t->own.id)->name;
}

bool traced_loss_is_of_batch(const traced_loss *t)
{
    if (!t->network)
        return true;
    for (int i = 0; i < t->network->layer_count; i++)
        if (layer_reduces_batch(t->network->layers[i]))
            return true;
    return false;
}

static cornu_status check_input(const doc *at, const cornu_model *net, int input,
                                const shape *expected)
{
    char found[128], wanted[128];
    const shape *s = model_input_shape(net, input);
    if (shape_equal(s, expected))
        return CORNU_OK;
    return doc_fail(at, "found %s of shape %s; expected %s", input ? "an output" : "a target",
                    shape_show(s, true, found), shape_show(expected, true, wanted));
}

static cornu_status check_network(const doc *at, const traced_loss *t, const shape *output)
{
    const cornu_model *net = t->network;
    shape target = *output;
    if (net->input_count != 2 || net->output_count != 1)
        return doc_fail(at,
                        "found %d inputs and %d outputs; expected two inputs, the target and the "
                        "output, and one output, the losses",
                        net->input_count, net->output_count);
    if (net->weight_count > 0)
        return doc_fail(at, "found the weight %s; expected operations without weights",
                        net->variables[0].name);
    for (int i = 0; i < net->layer_count; i++)
        if (strcmp(net->layers[i]->kind->name, "Dropout") == 0)
            return doc_fail(at, "found Dropout; expected operations without random numbers");
    if (t->targets == TARGET_CLASSES)
        target.dim[target.rank - 1] = 1;
    TRY(check_input(at, net, 0, &target));
    return check_input(at, net, 1, output);
}

static cornu_status read_traced(const doc *d, const shape *output, traced_loss *t)
{
    const doc *traced = doc_get(d, "traced"), *model = doc_get(traced, "model");
    traced_options options;
    if (traced->type != DOC_MAP)
        return doc_fail_found(traced, "a map with model, targets and reduction");
    TRY(config_check_keys("traced", traced, fields, NULL));
    TRY(config_read("traced", d, traced, fields, &options));
    if (!model)
        return doc_fail(traced, "model is missing; a traced loss needs it");
    t->targets = options.targets;
    t->reduction = options.reduction;
    TRY(model_from_section(model, &t->network));
    TRY(check_network(model, t, output));
    t->written = doc_to_json(d);
    return t->written ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "a loss: not enough memory");
}

cornu_status traced_loss_read(const doc *d, const shape *output, traced_loss **out)
{
    static const char *const keys[] = {"module",           "class_name", "config",
                                       "registered_name",  "traced",     "build_config",
                                       "shared_object_id", NULL};
    traced_loss *t;
    *out = NULL;
    TRY(doc_only_keys(d, keys));
    TRY(memory_new(1, sizeof *t, "a loss", &t));
    *out = t; /* also where it fails: whoever frees the outputs frees it */
    return read_traced(d, output, t);
}

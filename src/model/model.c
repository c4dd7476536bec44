#include "model/model.h"
#include "base/memory.h"
#include "model/config.h"
#include "model/traced_loss.h"
#include <stdlib.h>
#include <string.h>

/* ---- creation and release --------------------------------------------------------------- */

cornu_status model_new(const char *name, const char *source, cornu_model **out)
{
    cornu_status status;
    cornu_model *m = NULL;
    *out = NULL;
    TRY_GOTO(memory_new(1, sizeof *m, "a model", &m));
    m->training.position = position_start(0);
    m->trainable = true;
    m->within = -1;
    TRY_GOTO(memory_new(MODEL_LAYERS_MAX, sizeof *m->layers, "a model", &m->layers));
    TRY_GOTO(memory_copy_string(name, &m->name));
    TRY_GOTO(memory_copy_string(source ? source : name, &m->source));
    *out = m;
    return CORNU_OK;
done:
    model_free(m);
    return status;
}

static void classes_free(char **names, int count)
{
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void model_node_free(model_node *n)
{
    free(n->inputs);
    free(n->name);
}

static void traced_free(traced_loss *t)
{
    if (!t)
        return;
    model_free(t->network);
    json_decref(t->written);
    free(t);
}

void model_outputs_free(model_output *outputs, int count)
{
    for (int i = 0; i < count; i++) {
        traced_free(outputs[i].traced);
        outputs[i].traced = NULL;
    }
}

void model_free(cornu_model *m)
{
    if (!m)
        return;
    model_outputs_free(m->outputs, m->output_count);
    metrics_free(m->metrics, m->metric_count);
    json_decref(m->undecayed);
    for (int i = 0; i < m->node_count; i++)
        model_node_free(&m->nodes[i]);
    free(m->nodes);
    for (int i = 0; i < m->call_count; i++)
        free(m->calls[i].name);
    free(m->calls);
    for (int i = 0; i < m->submodel_count; i++)
        free(m->submodels[i].name);
    free(m->submodels);
    for (int i = 0; m->layers && i < m->layer_count; i++)
        layer_free(m->layers[i]);
    free(m->layers);
    model_truncate_variables(m, 0);
    free(m->variables);
    classes_free(m->class_names, m->class_count);
    model_forget_input_keys(m);
    model_forget_output_keys(m);
    doc_free(m->recipe);
    doc_free(m->own_data);
    training_state_free(&m->training);
    free(m->name);
    free(m->source);
    free(m);
}

cornu_status model_rename(cornu_model *m, const char *name)
{
    return memory_replace_string(name, &m->name);
}

cornu_status model_set_source(cornu_model *m, const char *source)
{
    return memory_replace_string(source, &m->source);
}

cornu_status model_set_classes(cornu_model *m, char *const *names, int count)
{
    char **copy = NULL;
    cornu_status status = CORNU_OK;
    if (count > 0)
        TRY(memory_new((size_t)count, sizeof *copy, "class names", &copy));
    for (int i = 0; i < count; i++)
        TRY_GOTO(memory_copy_string(names[i], &copy[i]));
    classes_free(m->class_names, m->class_count);
    m->class_names = copy;
    m->class_count = count;
    copy = NULL;
done:
    classes_free(copy, count);
    return status;
}

void model_forget_places(cornu_model *m, int first)
{
    for (int i = first; i < m->layer_count; i++)
        m->layers[i]->where = NULL;
}

/* ---- outputs ---------------------------------------------------------------------------- */

bool model_tells_classes(const cornu_model *m, int64_t count)
{
    int64_t outputs = m->output.rank > 0 ? m->output.dim[m->output.rank - 1] : 1;
    if (m->output_count > 1)
        return false;
    return count == outputs || (outputs == 1 && count == 2);
}

shape model_target_shape(const cornu_model *m, int output)
{
    shape s = *model_output_shape(m, output);
    if (m->outputs[output].target == TARGET_NONE)
        return (shape){1, {0}};
    if (m->outputs[output].target != TARGET_VALUES && s.rank > 0)
        s.dim[s.rank - 1] = 1;
    return s;
}

/* The layer that a layer around another one, or others, applies first; else itself. */
static const layer *innermost(const layer *l)
{
    for (const config_field *f = l->kind->fields; f && f->key; f++)
        if (f->type == CONFIG_LAYER) {
            const layer_list *list = (const void *)((const char *)l->config + f->offset);
            return innermost(list->item[0]);
        }
    return l;
}

static activation_kind activation_of(const layer *l)
{
    l = innermost(l);
    if (strcmp(l->kind->name, "Softmax") == 0)
        return ACTIVATION_SOFTMAX;
    for (const config_field *f = l->kind->fields; f && f->key; f++)
        if (f->type == CONFIG_ACTIVATION)
            return ((const activation *)(const void *)((const char *)l->config + f->offset))->kind;
    return ACTIVATION_LINEAR;
}

/* Does prediction pass the layer's input through, number by number? */
static bool passes_on(const layer *l)
{
    static const char *const names[] = {"AlphaDropout",     "Dropout",    "Flatten",
                                        "Identity",         "InputLayer", "SpatialDropout1D",
                                        "SpatialDropout2D", "Reshape"};
    l = innermost(l);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(l->kind->name, names[i]) == 0)
            return true;
    return strcmp(l->kind->name, "Activation") == 0 && activation_of(l) == ACTIVATION_LINEAR;
}

activation_kind model_output_activation(const cornu_model *m)
{
    int last = m->output_count > 0 ? m->outputs[0].node : -1;
    while (last >= 0 && m->nodes[last].input_count > 0 && passes_on(m->nodes[last].layer))
        last = m->nodes[last].inputs[0];
    return last >= 0 ? activation_of(m->nodes[last].layer) : ACTIVATION_LINEAR;
}

/* ---- the range of samples --------------------------------------------------------------- */

const layer *model_rescaling(const cornu_model *m)
{
    int i = m->input_count == 1 ? model_only_reader(m, m->inputs[0]) : -1;
    while (i >= 0 && innermost(m->nodes[i].layer)->kind->range == LAYER_REARRANGES)
        i = model_only_reader(m, i);
    const layer *l = i >= 0 ? m->nodes[i].layer : NULL;
    return l && innermost(l)->kind->range == LAYER_RESCALES ? l : NULL;
}

float model_pixel_scale(const cornu_model *m)
{
    if (m->pixel_scale > 0)
        return m->pixel_scale;
    return model_rescaling(m) ? 1.0f : 1.0f / 255.0f;
}

/* The steps of an ONNX graph: which one makes what another reads, and what of the model they have
   become. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who makes what ----------------------------------------------------------------------- */

/* The result of a step, under its name. Further results of a node, such as a mask of Dropout, are
   none, but those of recurrent operators. */
typedef struct producer {
    const char *name;
    int step;
} producer;

static int by_name(const void *a, const void *b)
{
    const producer *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->step - y->step;
}

static int compare_name(const void *name, const void *at)
{
    return strcmp(name, ((const producer *)at)->name);
}

/* The graph's input of this name, as a step is told; ONNX_OTHER: there is none. */
static int find_input(const onnx_import *im, const char *name)
{
    for (int i = 0; i < im->input_count; i++)
        if (strcmp(name, im->inputs[i].name) == 0)
            return ONNX_INPUT - i;
    return ONNX_OTHER;
}

static cornu_status list_producers(onnx_import *im, producer *list, size_t *count)
{
    *count = 0;
    for (int i = 0; i < im->step_count; i++) {
        const onnx_step *s = &im->steps[i];
        if (s->output < s->node->n_output && *s->node->output[s->output])
            list[(*count)++] = (producer){.name = s->node->output[s->output], .step = i};
    }
    qsort(list, *count, sizeof *list, by_name);
    for (size_t i = 0; i < *count; i++) {
        im->at = list[i].step;
        if ((i > 0 && strcmp(list[i].name, list[i - 1].name) == 0) ||
            find_input(im, list[i].name) != ONNX_OTHER)
            return onnx_import_fail(im,
                                    "found a result that another has the name of, %.200s; "
                                    "expected different names",
                                    list[i].name);
    }
    return CORNU_OK;
}

/* The step before step `before` that makes this. */
static int find_producer(const onnx_import *im, const char *name, int before, const producer *list,
                         size_t count)
{
    const int input = find_input(im, name);
    if (input != ONNX_OTHER)
        return input;
    const producer *p = bsearch(name, list, count, sizeof *list, compare_name);
    return p && p->step < before ? p->step : ONNX_OTHER;
}

/* Find the steps that the graph's outputs depend on, and how often each result is read for them. */
static void find_readers(onnx_import *im)
{
    for (int i = 0; i < im->output_count; i++)
        if (im->outputs[i] >= 0) {
            onnx_step *made = &im->steps[im->outputs[i]];
            made->needed = true;
            made->readers++;
            made->reader = im->step_count;
        }
    for (int i = im->step_count - 1; i >= 0; i--) {
        const onnx_step *s = &im->steps[i];
        if (s->output > 0) { /* its node's first step reads for it */
            im->steps[i - (int)s->output].needed |= s->needed;
            continue;
        }
        for (size_t k = 0; s->needed && k < s->node->n_input; k++) {
            if (s->from[k] < 0)
                continue;
            onnx_step *made = &im->steps[s->from[k]];
            made->needed = true;
            made->reader = i;
            made->readers++;
        }
    }
}

static cornu_status link_steps(onnx_import *im, producer *list)
{
    size_t count;
    int *from = im->froms;
    TRY(list_producers(im, list, &count));
    for (int i = 0; i < im->step_count; i++) {
        const Onnx__NodeProto *n = im->steps[i].node;
        im->steps[i].from = im->steps[i].output > 0 ? im->steps[i - 1].from : from;
        if (im->steps[i].output > 0)
            continue;
        for (size_t k = 0; k < n->n_input; k++)
            *from++ = find_producer(im, n->input[k], i, list, count);
    }
    for (int i = 0; i < im->output_count; i++) {
        const char *output = im->graph->output[i]->name;
        im->outputs[i] = find_producer(im, output, im->step_count, list, count);
        if (im->outputs[i] == ONNX_OTHER)
            return status_fail(CORNU_UNSUPPORTED,
                               "%s: found the output %.200s, which no node makes as its first "
                               "result; expected the result of one",
                               im->path, output);
    }
    find_readers(im);
    return CORNU_OK;
}

/* The outputs of a node that are steps. */
static size_t step_outputs(const Onnx__NodeProto *n)
{
    static const char *const recurrent[] = {"GRU", "LSTM", "RNN"};
    for (size_t i = 0; n->op_type && i < sizeof recurrent / sizeof *recurrent; i++)
        if (strcmp(n->op_type, recurrent[i]) == 0)
            return n->n_output < 1                     ? 1
                   : n->n_output < ONNX_RECURRENT_MOST ? n->n_output
                                                       : ONNX_RECURRENT_MOST;
    return 1;
}

cornu_status onnx_list_steps(onnx_import *im)
{
    const Onnx__GraphProto *g = im->graph;
    producer *list;
    size_t inputs = 0;
    TRY(memory_new(ONNX_RECURRENT_MOST * g->n_node + 1, sizeof *im->steps, "ONNX", &im->steps));
    for (size_t i = 0; i < g->n_node; i++) {
        if (g->node[i]->op_type && strcmp(g->node[i]->op_type, "Constant") == 0)
            continue;
        for (size_t k = 0; k < step_outputs(g->node[i]); k++)
            im->steps[im->step_count++] =
                (onnx_step){.node = g->node[i], .output = k, .joined = k > 0};
        inputs += g->node[i]->n_input;
    }
    TRY(memory_new(inputs + 1, sizeof *im->froms, "ONNX", &im->froms));
    TRY(memory_new((size_t)im->step_count + 1, sizeof *list, "ONNX", &list));
    cornu_status status = link_steps(im, list);
    free(list);
    return status;
}

const Onnx__NodeProto *onnx_node_at(const onnx_import *im)
{
    return im->steps[im->at].node;
}

bool onnx_is_computed(const onnx_import *im, size_t input)
{
    const onnx_step *s = &im->steps[im->at];
    return input < s->node->n_input && s->from[input] != ONNX_OTHER;
}

const onnx_value *onnx_value_from(const onnx_import *im, int from)
{
    return from >= 0 ? &im->steps[from].value : &im->inputs[ONNX_INPUT - from];
}

cornu_status onnx_want_computed(const onnx_import *im, size_t input)
{
    const char *name = onnx_input_name(onnx_node_at(im), input);
    if (onnx_is_computed(im, input))
        return CORNU_OK;
    return onnx_import_fail(im,
                            "found the input \"%.200s\", which is %s; expected the graph's input, "
                            "or the first result of a node before this one",
                            name, onnx_constant_of(im, name) ? "a constant" : "neither");
}

const onnx_value *onnx_value_of(const onnx_import *im, size_t input)
{
    return onnx_value_from(im, im->steps[im->at].from[input]);
}

int onnx_reader(const onnx_import *im, int of, const char *kind, const char **other)
{
    const onnx_step *s = &im->steps[of];
    if (s->readers != 1 || s->reader == im->step_count)
        return -1;
    const onnx_step *r = &im->steps[s->reader];
    if (!r->node->op_type || strcmp(r->node->op_type, kind) != 0 || r->node->n_output < 1 ||
        !onnx_domain_is_standard(r->node->domain))
        return -1;
    for (size_t i = 0; i < r->node->n_input && i < 2; i++)
        if (r->from[i] == of) {
            *other = onnx_input_name(r->node, 1 - i);
            return s->reader;
        }
    return -1;
}

void onnx_join(onnx_import *im, int step)
{
    im->steps[step].joined = true;
    im->last = step;
}

cornu_status onnx_done(onnx_import *im)
{
    const onnx_step *s = &im->steps[im->last];
    im->x.name = s->node->output[s->output];
    im->steps[im->last].value = im->x;
    return CORNU_OK;
}

/* ---- layers ------------------------------------------------------------------------------- */

void onnx_take_node(onnx_import *im, int node)
{
    im->x.node = node;
    im->x.shape = im->model->nodes[node].out;
    if (im->x.steps == 0)
        return;
    im->x.shape.rank--;
    memmove(im->x.shape.dim, im->x.shape.dim + 1,
            (size_t)im->x.shape.rank * sizeof *im->x.shape.dim);
}

static cornu_status append(onnx_import *im, const int *nodes, int count, const char *kind,
                           const char *text_of)
{
    cornu_model *m = im->model;
    doc *options;
    TRY(doc_parse(text_of, strlen(text_of), im->path, &options));
    cornu_status status = model_append_on(m, kind, options, options, nodes, count);
    if (status == CORNU_OK)
        m->layers[m->layer_count - 1]->where = NULL;
    doc_free(options);
    if (status != CORNU_OK)
        return onnx_import_fail(im, "%s", cornu_last_error());
    onnx_take_node(im,
                   m->node_count - 1 - m->nodes[m->node_count - 1].output); /* the call's first */
    return CORNU_OK;
}

/* Of steps beside the batch, each is computed by the layer. */
cornu_status onnx_add_layer_of(onnx_import *im, const int *nodes, int count, const char *kind,
                               const char *text_of)
{
    text around = {0};
    if (im->x.steps == 0)
        return append(im, nodes, count, kind, text_of);
    text_add(&around, "{layer: {%s: %s}}", kind, text_of);
    cornu_status status = around.failed ? status_fail(CORNU_OUT_OF_MEMORY,
                                                      "%s: not enough memory to read it", im->path)
                                        : append(im, nodes, count, "TimeDistributed", around.data);
    text_free(&around);
    return status;
}

enum { OPTIONS_LENGTH = 512 };

cornu_status onnx_add_layer(onnx_import *im, const char *kind, const char *format, ...)
{
    char text_of[OPTIONS_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text_of, sizeof text_of, format, arguments);
    va_end(arguments);
    return onnx_add_layer_of(im, &im->x.node, 1, kind, text_of);
}

cornu_status onnx_add_layer_on(onnx_import *im, const int *nodes, int count, const char *kind,
                               const char *format, ...)
{
    char text_of[OPTIONS_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text_of, sizeof text_of, format, arguments);
    va_end(arguments);
    return onnx_add_layer_of(im, nodes, count, kind, text_of);
}

cornu_status onnx_put_in_order(onnx_import *im, int from)
{
    if (onnx_value_from(im, from)->order != ORDER_SWAPPED)
        return CORNU_OK;
    onnx_value *v = from >= 0 ? &im->steps[from].value : &im->inputs[ONNX_INPUT - from];
    im->x = *v;
    TRY(onnx_add_layer(im, "Transpose", "{axes: [0, 2, 1]}"));
    im->x.order = ORDER_PLAIN;
    *v = im->x;
    return CORNU_OK;
}

int onnx_axis_of(const onnx_import *im, int64_t axis)
{
    static const int images[4] = {0, 3, 1, 2};
    const int rank = im->x.shape.rank + 1;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return -1;
    return im->x.order == ORDER_FIRST ? images[axis] : (int)axis;
}

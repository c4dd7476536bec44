/* Builds a finished plan from model, loss and optimizer. */
#include "base/memory.h"
#include "step/builder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the forward pass -------------------------------------------------------------------- */

static cornu_status add_gather(step_builder *b)
{
    plan *p = b->plan;
    const cornu_model *m = p->model;
    shape full;
    TRY(builder_batched(b, &m->input, &full));
    TRY(builder_buffer(b, &full, &p->input, "input"));
    b->notes[p->input].needs_gradient = b->options->keep_input_gradient;
    op o = op_new(OP_GATHER);
    o.out[0] = p->input;
    if (p->mode != PLAN_PREDICT) {
        TRY(builder_batched(b, &m->output, &full));
        if (loss_kind_of(m->loss.id)->sparse && full.rank > 1)
            full.dim[full.rank - 1] = 1;
        TRY(builder_buffer(b, &full, &p->target, "target"));
        o.out[1] = p->target;
    }
    if (p->weighted)
        TRY(builder_buffer(b, &(shape){1, {p->batch}}, &o.out[2], "sample_weight"));
    if (p->mode == PLAN_TRAIN)
        o.a.gather.augment = b->options->augment;
    o.a.gather.standardize = b->options->standardize;
    return builder_add(b, &o, m->nodes[0].name);
}

/* Add the operations of one node; `outputs` are the tensors of those before it. */
static cornu_status emit_node(step_builder *b, const model_node *n, const tensor_ref *outputs,
                              tensor_ref *y)
{
    tensor_ref *x;
    TRY(memory_new((size_t)n->input_count, sizeof *x, "plan", &x));
    for (int i = 0; i < n->input_count; i++)
        x[i] = outputs[n->inputs[i]];
    b->node = n;
    cornu_status status = n->layer->kind->emit(n->layer, b, x, y);
    free(x);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", n->name);
}

/* Add one node; its output, unless it is that of a node before, is called NODE/output. */
static cornu_status add_node(step_builder *b, const model_node *n, const tensor_ref *outputs,
                             tensor_ref *y)
{
    const int before = b->plan->tensor_count;
    char *name;
    TRY(emit_node(b, n, outputs, y));
    if (*y < before)
        return CORNU_OK;
    TRY(memory_format(&name, "%s/output", n->name));
    free(b->plan->tensors[*y].name);
    b->plan->tensors[*y].name = name;
    return CORNU_OK;
}

static cornu_status add_forward(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    tensor_ref *outputs; /* [node_count] */
    cornu_status status = CORNU_OK;
    TRY(add_gather(b));
    TRY(memory_new((size_t)m->node_count, sizeof *outputs, "plan", &outputs));
    outputs[0] = b->plan->input;
    for (int i = 1; status == CORNU_OK && i < m->node_count; i++)
        status = add_node(b, &m->nodes[i], outputs, &outputs[i]);
    b->plan->output = outputs[m->node_count - 1];
    free(outputs);
    return status;
}

/* ---- loss and metrics -------------------------------------------------------------------- */

/* The loss's input: as in Keras on TensorFlow, a cross-entropy skips a final softmax or sigmoid and
   reads the logits, whose form is numerically stable. */
static tensor_ref loss_input(const plan *p, bool *logits)
{
    const op *last = &p->ops[p->op_count - 1];
    bool has_form = loss_kind_of(p->model->loss.id)->has_logits;
    activation_kind kind = last->a.act.kind;
    *logits = has_form;
    if (has_form && last->kind == OP_ACTIVATION_FORWARD && last->out[0] == p->output &&
        (kind == ACTIVATION_SOFTMAX || kind == ACTIVATION_SIGMOID))
        return last->in[0];
    *logits = has_form && p->model->loss.from_logits;
    return p->output;
}

static cornu_status add_loss(step_builder *b)
{
    plan *p = b->plan;
    op o = op_new(OP_LOSS);
    o.a.loss.id = p->model->loss.id;
    o.in[0] = loss_input(p, &o.a.loss.logits);
    o.in[1] = p->target;
    o.in[2] = p->ops[0].out[2]; /* the weight of GATHER */
    if (p->mode == PLAN_TRAIN && b->notes[o.in[0]].needs_gradient)
        TRY(builder_gradient(b, o.in[0], &o.out[0]));
    return builder_add(b, &o, loss_kind_of(o.a.loss.id)->name);
}

static cornu_status add_metrics(step_builder *b)
{
    plan *p = b->plan;
    const cornu_model *m = p->model;
    const loss_kind *l = loss_kind_of(m->loss.id);
    for (int i = 0; i < m->metric_count; i++) {
        const metric_kind *k = metric_kind_of(m->metrics[i].id);
        if (k->sparse != l->sparse)
            return status_fail(CORNU_INVALID,
                               "metrics: found %s, which takes %s; the loss %s takes %s", k->name,
                               k->sparse ? "class numbers" : "one-hot targets", l->name,
                               l->sparse ? "class numbers" : "one-hot targets");
        op o = op_new(OP_METRIC);
        o.in[0] = p->output;
        o.in[1] = p->target;
        o.a.metric.id = m->metrics[i].id;
        o.a.metric.k = m->metrics[i].k;
        o.a.metric.slot = i;
        TRY(builder_add(b, &o, k->name));
    }
    p->metric_count = m->metric_count;
    return CORNU_OK;
}

/* ---- all together ------------------------------------------------------------------------ */

static void touch(plan *p, tensor_ref t, int operation)
{
    if (t == NO_TENSOR)
        return;
    tensor *r = &p->tensors[plan_root(p, t)];
    if (r->first < 0)
        r->first = operation;
    r->last = operation;
}

/* Set the lives of buffers: an alias has its root's, and a tensor that is read after the step lives
   to its end. */
static void set_lives(plan *p)
{
    for (int i = 0; i < p->tensor_count; i++)
        p->tensors[i].first = p->tensors[i].last = -1;
    for (int i = 0; p->scope == SCOPE_UPDATES && i < p->model->weight_count; i++)
        touch(p, p->gradients[i], 0); /* written before the step */
    for (int i = 0; i < p->op_count; i++) {
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            touch(p, p->ops[i].in[k], i);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            touch(p, p->ops[i].out[k], i);
    }
    touch(p, p->output, p->op_count);
    touch(p, p->input_gradient, p->op_count);
    for (int i = 0; p->scope == SCOPE_GRADIENTS && i < p->model->weight_count; i++)
        touch(p, p->gradients[i], p->op_count);
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *r = &p->tensors[plan_root(p, i)];
        p->tensors[i].first = r->first;
        p->tensors[i].last = r->last;
    }
}

static cornu_status check_options(const cornu_model *m, const plan_options *options)
{
    bool batched = options->scope != SCOPE_UPDATES;
    if (batched ? options->batch < 1 || options->batch > INT32_MAX : options->batch != 0)
        return status_fail(CORNU_INVALID, "batch: found %lld; expected 1 to %d",
                           (long long)options->batch, INT32_MAX);
    if (options->mode != PLAN_PREDICT && !m->compiled)
        return status_fail(CORNU_INVALID,
                           "%s: has no loss; expected a compile section (or "
                           "cornu_model_compile) before training or evaluating",
                           m->name ? m->name : "model");
    return model_check_graph(m);
}

static cornu_status add_step(step_builder *b)
{
    plan *p = b->plan;
    TRY(add_forward(b));
    int forward_count = p->op_count;
    if (p->mode != PLAN_PREDICT) {
        TRY(add_loss(b));
        TRY(add_metrics(b));
    }
    if (p->mode == PLAN_TRAIN)
        TRY(build_backward(b, forward_count));
    return b->options->no_fusion ? CORNU_OK : pass_fuse_activation(p);
}

cornu_status plan_finish(plan *p)
{
    free(p->groups);
    p->groups = NULL;
    p->group_count = 0;
    set_lives(p);
    TRY(pass_groups(p));
    TRY(pass_memory(p));
    plan_cost(p);
    return CORNU_OK;
}

static cornu_status build(step_builder *b)
{
    plan *p = b->plan;
    TRY(memory_new((size_t)p->model->weight_count, sizeof *p->gradients, "plan", &p->gradients));
    for (int i = 0; i < p->model->weight_count; i++)
        p->gradients[i] = NO_TENSOR;
    TRY(builder_add_variables(b));
    if (p->scope == SCOPE_UPDATES) {
        tensor_form *forms;
        TRY(build_only_updates(b));
        TRY(plan_variable_forms(p->model, &forms));
        forms_of_updates(p, forms);
        free(forms);
    } else {
        TRY(add_step(b));
        pass_forms(p);
    }
    return plan_finish(p);
}

cornu_status plan_build(const cornu_model *model, const plan_options *options, plan **out)
{
    *out = NULL;
    TRY(check_options(model, options));
    step_builder b = {.options = options};
    TRY(memory_new(1, sizeof *b.plan, "plan", &b.plan));
    b.plan->model = model;
    b.plan->mode = options->mode;
    b.plan->scope = options->scope;
    b.plan->batch = options->batch;
    b.plan->weighted = options->weighted && options->mode != PLAN_PREDICT;
    b.plan->exact_convolution = options->exact_convolution;
    b.plan->input = b.plan->target = b.plan->output = b.plan->input_gradient = NO_TENSOR;
    cornu_status status = build(&b);
    free(b.notes);
    free(b.sums);
    if (status != CORNU_OK) {
        plan_free(b.plan);
        return status;
    }
    *out = b.plan;
    return CORNU_OK;
}

cornu_status plan_variable_forms(const cornu_model *model, tensor_form **out)
{
    plan *p = NULL;
    *out = NULL;
    cornu_status status = plan_build(model, &(plan_options){.mode = PLAN_PREDICT, .batch = 1}, &p);
    if (status == CORNU_OK)
        status = memory_new((size_t)model->variable_count + 1, sizeof **out, "variables", out);
    for (int i = 0; status == CORNU_OK && i < p->tensor_count; i++)
        if (p->tensors[i].role == TENSOR_VARIABLE)
            (*out)[p->tensors[i].variable] = p->tensors[i].form;
    for (int i = 0; status == CORNU_OK && i < model->variable_count; i++)
        if (model->variables[i].is_slot)
            (*out)[i] = (*out)[model->variables[i].of];
    plan_free(p);
    return status;
}

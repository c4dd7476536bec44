/* Builds a finished plan from model, loss and optimizer. */
#include "base/memory.h"
#include "model/layers/layers.h"
#include "model/traced_loss.h"
#include "step/builder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the forward pass -------------------------------------------------------------------- */

/* The numbers of a sample's targets, one after another. */
static int64_t target_count(const cornu_model *m)
{
    int64_t count = 0;
    for (int i = 0; i < m->output_count; i++) {
        const shape s = model_target_shape(m, i);
        count += shape_elements(&s);
    }
    return count;
}

/* The shape of a batch's targets. */
static cornu_status target_shape(const step_builder *b, shape *out)
{
    const cornu_model *m = b->plan->model;
    shape row = {1, {target_count(m)}};
    if (b->plan->weighted == WEIGHTS_OF_OUTPUTS)
        row.dim[0] += m->output_count;
    if (m->output_count == 1)
        row = model_target_shape(m, 0);
    return builder_batched(b, &row, out);
}

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
        TRY(target_shape(b, &full));
        TRY(builder_buffer(b, &full, &p->target, "target"));
        o.out[1] = p->target;
    }
    if (p->weighted == WEIGHTS_OF_SAMPLES)
        TRY(builder_buffer(b, &(shape){1, {p->batch}}, &o.out[2], "sample_weight"));
    if (p->mode == PLAN_TRAIN)
        o.a.gather.augment = b->options->augment;
    o.a.gather.standardize = b->options->standardize;
    return builder_add(b, &o, model_input_name(m, 0));
}

/* Take the numbers of shape `s` that begin at *at in each row of `rows`. */
static cornu_status take_slice(step_builder *b, tensor_ref rows, const shape *s, int64_t *at,
                               tensor_ref *out)
{
    const int64_t count = shape_elements(s);
    TRY(emit_slice(b, rows, 1, *at, 1, count, out));
    *at += count;
    return emit_reshape(b, *out, s, out);
}

/* Set the tensors of the input nodes: that of GATHER or, of several, slices of its rows. */
static cornu_status add_inputs(step_builder *b, const bool *needed, tensor_ref *outputs)
{
    const cornu_model *m = b->plan->model;
    int64_t at = 0;
    if (m->input_count == 1)
        outputs[m->inputs[0]] = b->plan->input;
    for (int i = 0; m->input_count > 1 && i < m->input_count; i++) {
        b->node = &m->nodes[m->inputs[i]];
        if (needed[m->inputs[i]])
            TRY(take_slice(b, b->plan->input, &b->node->out, &at, &outputs[m->inputs[i]]));
        else
            at += shape_elements(&b->node->out);
    }
    return CORNU_OK;
}

/* Add the operations of one node; `outputs` are the tensors of those before it, y
   [LAYER_OUTPUTS_MAX] those of the call. */
static cornu_status emit_node(step_builder *b, const model_node *n, const tensor_ref *outputs,
                              tensor_ref *y)
{
    tensor_ref *x;
    TRY(memory_new((size_t)n->input_count, sizeof *x, "plan", &x));
    for (int i = 0; i < n->input_count; i++)
        x[i] = outputs[n->inputs[i]];
    b->node = n;
    b->frame = NULL;
    b->frames = 0;
    cornu_status status = n->layer->kind->emit(n->layer, b, x, y);
    free(x);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", n->name);
}

/* Add one node; its output, unless it is that of a node before, is called NODE/output. Further
   outputs of the call are the nodes after it. */
static cornu_status add_node(step_builder *b, int number, tensor_ref *outputs)
{
    const cornu_model *m = b->plan->model;
    const model_node *n = &m->nodes[number];
    const int before = b->plan->tensor_count;
    tensor_ref y[LAYER_OUTPUTS_MAX];
    char *name;
    TRY(emit_node(b, n, outputs, y));
    for (int i = 0; i < model_outputs_of(m, number); i++)
        outputs[number + i] = y[i];
    if (*y < before)
        return CORNU_OK;
    TRY(memory_format(&name, "%s/output", n->name));
    return builder_rename(b, *y, name);
}

/* Does a call of the layer change its variables while it trains, as batch normalization does? */
static bool keeps_statistics(const cornu_model *m, const layer *l)
{
    for (int i = l->first_variable; !l->frozen && i < l->first_variable + l->weight_count; i++)
        if (m->variables[i].statistic)
            return true;
    return false;
}

/* Does the step need this output? Training needs those that are compared with a target, and metrics
   that the caller computes get all. */
static bool needs_output(const step_builder *b, const model_output *o)
{
    return b->plan->mode != PLAN_TRAIN || o->target != TARGET_NONE ||
           model_calls_metrics(b->plan->model);
}

/* Find the nodes that the step computes. A model within the model may have outputs that nothing
   reads: what leads to them alone is left out but, as in Keras, not what has statistics of the
   training. */
static void find_needed(const step_builder *b, bool *needed)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->node_count; i++)
        needed[i] = b->options->whole ||
                    (b->plan->mode == PLAN_TRAIN && keeps_statistics(m, m->nodes[i].layer));
    for (int i = 0; i < m->output_count; i++)
        needed[m->outputs[i].node] |= needs_output(b, &m->outputs[i]);
    model_find_before(m, needed);
}

/* Add the operations of the needed nodes; `outputs` become their tensors. */
static cornu_status add_nodes(step_builder *b, const bool *needed, tensor_ref *outputs)
{
    const cornu_model *m = b->plan->model;
    TRY(add_gather(b));
    TRY(add_inputs(b, needed, outputs));
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].input_count > 0 && m->nodes[i].output == 0 && needed[i])
            TRY(add_node(b, i, outputs));
    if (m->output_count == 1)
        b->plan->output = outputs[m->outputs[0].node];
    return CORNU_OK;
}

static cornu_status add_forward(step_builder *b, tensor_ref *outputs)
{
    bool *needed;
    TRY(memory_new((size_t)b->plan->model->node_count, sizeof *needed, "plan", &needed));
    find_needed(b, needed);
    cornu_status status = add_nodes(b, needed, outputs);
    free(needed);
    return status;
}

/* Put several outputs into one row, one after another. Training reads it only for metrics that the
   caller computes. */
static cornu_status add_output(step_builder *b, const tensor_ref *outputs)
{
    const cornu_model *m = b->plan->model;
    tensor_ref flat[MODEL_ENDS_MAX];
    if (m->output_count == 1 || (b->plan->mode == PLAN_TRAIN && !model_calls_metrics(m)))
        return CORNU_OK;
    for (int i = 0; i < m->output_count; i++) {
        b->node = &m->nodes[m->outputs[i].node];
        const shape row = {1, {shape_elements(&b->node->out)}};
        TRY(emit_reshape(b, outputs[m->outputs[i].node], &row, &flat[i]));
    }
    return emit_concatenate(b, flat, m->output_count, 1, &b->plan->output);
}

/* ---- losses of the caller's own ------------------------------------------------------------ */

static cornu_status add_circle(step_builder *b, const traced_loss *t, tensor_ref target,
                               tensor_ref output, tensor_ref *value)
{
    b->in_loss = true;
    cornu_status status = circle_emit(&t->own, b, target, output, value);
    b->in_loss = b->as_one = false;
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "loss %s", traced_loss_name(t));
}

/* Take the operations of an output's own loss in; *value: the losses, as a row of each sample. */
static cornu_status add_traced(step_builder *b, const traced_loss *t, tensor_ref target,
                               tensor_ref output, tensor_ref *value)
{
    const cornu_model *net = t->network;
    tensor_ref *made;
    cornu_status status = CORNU_OK;
    if (!net)
        return add_circle(b, t, target, output, value);
    if (t->reduction == LOSS_REDUCTION_SUM && traced_loss_is_of_batch(t))
        return status_fail(CORNU_UNSUPPORTED,
                           "loss %s: found reduction sum of one number for the whole batch; "
                           "expected sum_over_batch_size, or a loss of each sample",
                           traced_loss_name(t));
    TRY(memory_new((size_t)net->node_count, sizeof *made, "plan", &made));
    made[net->inputs[0]] = target;
    made[net->inputs[1]] = output;
    b->in_loss = true;
    for (int i = 0; i < net->node_count; i++)
        if (net->nodes[i].input_count > 0) {
            tensor_ref y[LAYER_OUTPUTS_MAX]; /* of which layers of a loss have one */
            TRY_GOTO(emit_node(b, &net->nodes[i], made, y));
            made[i] = y[0];
        }
    const model_node *last = &net->nodes[net->outputs[0].node];
    /* A sum is of all numbers, a mean that of each sample's mean. */
    const int64_t count = shape_elements(&last->out);
    const shape row =
        t->reduction == LOSS_REDUCTION_SUM ? (shape){2, {count, 1}} : (shape){1, {count}};
    status = emit_reshape(b, made[net->outputs[0].node], &row, value);
done:
    b->in_loss = false;
    free(made);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "loss %s", traced_loss_name(t));
}

/* Set values[i] of each output that has such a loss. */
static cornu_status add_all_traced(step_builder *b, const tensor_ref *outputs, tensor_ref *values)
{
    const cornu_model *m = b->plan->model;
    int64_t at = 0;
    for (int i = 0; i < m->output_count; i++) {
        const shape s = model_target_shape(m, i);
        tensor_ref target = b->plan->target;
        if (!m->outputs[i].traced) {
            at += shape_elements(&s);
            continue;
        }
        b->node = &m->nodes[m->outputs[i].node];
        if (m->output_count > 1)
            TRY(take_slice(b, b->plan->target, &s, &at, &target));
        TRY(add_traced(b, m->outputs[i].traced, target, outputs[m->outputs[i].node], &values[i]));
    }
    return CORNU_OK;
}

/* ---- losses and metrics ------------------------------------------------------------------ */

/* One output of the model, with what it is compared with. */
typedef struct goal {
    int number;       /* of the output */
    bool further;     /* an output before it has a loss */
    const loss *loss; /* NULL: none */
    tensor_ref output, target, weight;
    tensor_ref value; /* what a loss of the caller's own is; else NO_TENSOR */
} goal;

/* The operation that writes this very tensor, not another shape of it; NULL: none. */
static const op *writer_of(const plan *p, tensor_ref t)
{
    for (int i = p->op_count - 1; i >= 0; i--)
        if (p->ops[i].out[0] == t)
            return &p->ops[i];
    return NULL;
}

/* Does the loss skip a final activation of this kind, and read its input? As in Keras on
   TensorFlow, whose forms for logits are numerically stable. */
static bool skips(const loss *l, activation_kind final)
{
    const loss_logits when = loss_kind_of(l->id)->logits;
    if (when == LOSS_LOGITS_ALWAYS)
        return final == ACTIVATION_SOFTMAX || final == ACTIVATION_SIGMOID;
    return when == LOSS_LOGITS_SIGMOID && !l->from_logits && final == ACTIVATION_SIGMOID;
}

static cornu_status loss_input(const plan *p, const goal *g, tensor_ref *input, bool *logits)
{
    const op *last = writer_of(p, g->output);
    const loss_kind *kind = loss_kind_of(g->loss->id);
    const activation_kind final =
        last && last->kind == OP_ACTIVATION_FORWARD ? last->a.act.kind : ACTIVATION_LINEAR;
    if (kind->logits == LOSS_LOGITS_SIGMOID && !g->loss->from_logits && final == ACTIVATION_SOFTMAX)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found a softmax before it, of which Keras mixes logits and "
                           "probabilities; expected a sigmoid, or categorical_focal_crossentropy",
                           kind->name);
    const bool skipped = skips(g->loss, final);
    *input = skipped ? last->in[0] : g->output;
    *logits = skipped || (kind->logits != LOSS_LOGITS_NEVER && g->loss->from_logits);
    return CORNU_OK;
}

/* As Keras: t (1 - s) + s / n of a row of n numbers, of losses of a sigmoid s / 2. */
static cornu_status smooth_target(step_builder *b, const goal *g, const loss *l, tensor_ref *target)
{
    const double s = l->label_smoothing;
    const shape *row = &b->plan->tensors[g->output].shape;
    const bool halves = loss_kind_of(l->id)->of_logits == ACTIVATION_SIGMOID;
    *target = g->target;
    if (!(s > 0))
        return CORNU_OK;
    return emit_scale(b, g->target, 1 - s, s / (halves ? 2 : (double)row->dim[row->rank - 1]),
                      target);
}

/* The sum of the metric that is the loss of this output; -1: none. */
static int loss_slot(const cornu_model *m, int output)
{
    for (int i = 0; i < m->metric_count; i++)
        if (m->metrics[i].of_loss && m->metrics[i].output == output)
            return m->metrics[i].slot;
    return -1;
}

static bool is_orthogonal(const variable *v)
{
    return v->trained && v->regularizer.kind == REGULARIZER_ORTHOGONAL && v->regularizer.factor > 0;
}

/* Are there terms of the loss besides those of the outputs? */
static bool has_penalties(const cornu_model *m)
{
    for (int i = 0; i < m->layer_count; i++)
        if (layer_activity(m->layers[i]))
            return true;
    for (int i = 0; i < m->weight_count; i++)
        if (is_orthogonal(&m->variables[i]))
            return true;
    return false;
}

static cornu_status add_loss(step_builder *b, const goal *g)
{
    plan *p = b->plan;
    op o = op_new(OP_LOSS);
    o.a.loss.id = g->loss->id;
    o.a.loss.summed = g->loss->reduction == LOSS_REDUCTION_SUM;
    loss_reals(g->loss, o.a.loss.reals);
    if (g->value == NO_TENSOR) {
        TRY(loss_input(p, g, &o.in[0], &o.a.loss.logits));
        TRY(smooth_target(b, g, g->loss, &o.in[1]));
    } else {
        o.in[0] = o.in[1] = g->value; /* compared with nothing */
    }
    o.in[2] = g->weight;
    o.a.loss.term =
        p->model->output_count > 1 || model_weighs_losses(p->model) || has_penalties(p->model);
    o.a.loss.further = g->further;
    o.a.loss.weight = (float)p->model->outputs[g->number].weight;
    o.a.loss.slot = loss_slot(p->model, g->number);
    if (p->mode == PLAN_TRAIN && b->notes[o.in[0]].needs_gradient)
        TRY(builder_gradient(b, o.in[0], &o.out[0]));
    return builder_add(b, &o, loss_kind_of(o.a.loss.id)->name);
}

/* What a metric reads. */
static op metric_op(op_kind kind, const goal *g, const metric *m)
{
    op o = op_new(kind);
    o.in[0] = g->output;
    o.in[1] = g->target;
    o.in[2] = m->weighted ? g->weight : NO_TENSOR;
    return o;
}

/* The sum of the weights of a weighted mean. */
static cornu_status add_sum_of_weights(step_builder *b, const goal *g, const metric *m)
{
    op o = metric_op(OP_METRIC, g, m);
    o.a.metric.sum = SUM_ROWS;
    o.a.metric.slot = m->slot + 1;
    return metric_is_weighted_mean(m) ? builder_add(b, &o, metric_kind_of(m->id)->name) : CORNU_OK;
}

/* The sums of a metric, each by an operation of its own. */
static cornu_status add_sums(step_builder *b, const goal *g, const metric *m)
{
    const metric_kind *k = metric_kind_of(m->id);
    for (int i = 0; i < k->sum_count; i++) {
        op o = metric_op(OP_METRIC, g, m);
        o.a.metric.sum = k->sums[i];
        o.a.metric.reals[0] = (float)metric_threshold(m);
        o.a.metric.k = k->value == METRIC_VALUE_MEAN ? m->k : m->class_id;
        o.a.metric.slot = m->slot + i;
        o.a.metric.whole = k->value >= METRIC_VALUE_COUNT;
        TRY(builder_add(b, &o, k->name));
    }
    return add_sum_of_weights(b, g, m);
}

static cornu_status add_loss_metric(step_builder *b, const goal *g, const metric *m)
{
    op o = metric_op(OP_METRIC, g, m);
    o.a.metric.of_loss = true;
    o.a.metric.loss = m->options.id;
    o.a.metric.logits = m->options.from_logits;
    o.a.metric.slot = m->slot;
    loss_reals(&m->options, o.a.metric.reals);
    TRY(smooth_target(b, g, &m->options, &o.in[1]));
    TRY(builder_add(b, &o, metric_kind_of(m->id)->name));
    return add_sum_of_weights(b, g, m);
}

/* The thresholds of a table. */
static cornu_status add_limits(step_builder *b, const metric *m, tensor_ref *limits)
{
    float values[METRIC_LIMITS_MAX];
    const int count = metric_limits(m, values);
    return emit_constant(b, &(shape){1, {count}}, values, limits);
}

static cornu_status add_table(step_builder *b, const goal *g, const metric *m)
{
    op o = metric_op(OP_TALLY, g, m);
    o.a.tally.what = metric_tally(m);
    o.a.tally.table = m->table;
    b->node = &b->plan->model->nodes[b->plan->model->outputs[g->number].node];
    if (m->from_logits)
        TRY(emit_activation(b, g->output, (activation){.kind = ACTIVATION_SIGMOID}, &o.in[0]));
    if (o.a.tally.what.kind == TALLY_LIMITS)
        TRY(add_limits(b, m, &o.in[3]));
    return builder_add(b, &o, metric_kind_of(m->id)->name);
}

static cornu_status add_metric(step_builder *b, const goal *g, const metric *m)
{
    if (metric_has_table(m))
        return m->index == 0 ? add_table(b, g, m) : CORNU_OK;
    return metric_kind_of(m->id)->of_loss ? add_loss_metric(b, g, m) : add_sums(b, g, m);
}

static cornu_status add_metrics(step_builder *b, const goal *g)
{
    plan *p = b->plan;
    const cornu_model *m = p->model;
    const loss_kind *l = g->loss ? loss_kind_of(g->loss->id) : NULL;
    const bool classes = m->outputs[g->number].target == TARGET_CLASSES;
    for (int i = 0; i < m->metric_count; i++) {
        const metric_kind *k = metric_kind_of(m->metrics[i].id);
        if (m->metrics[i].output != g->number || m->metrics[i].of_loss || m->metrics[i].called)
            continue;
        const bool sparse = metric_takes_classes(&m->metrics[i]);
        if (l && sparse != classes)
            return status_fail(CORNU_INVALID,
                               "metrics: found %s, which takes %s; the loss %s takes %s", k->name,
                               sparse ? "class numbers" : "one-hot targets", l->name,
                               classes ? "class numbers" : "one-hot targets");
        TRY(add_metric(b, g, &m->metrics[i]));
    }
    p->table_count = m->table_count;
    return CORNU_OK;
}

static bool weighs_metrics(const cornu_model *m, int output)
{
    for (int i = 0; i < m->metric_count; i++)
        if (m->metrics[i].weighted && m->metrics[i].output == output)
            return true;
    return false;
}

/* Set the goal's target and weight where they are slices of GATHER's rows: of several outputs. */
static cornu_status take_row(step_builder *b, int64_t *target_at, goal *g)
{
    const cornu_model *m = b->plan->model;
    int64_t at = target_count(m) + g->number; /* where the weight is in the row */
    const shape s = model_target_shape(m, g->number);
    const shape one = {.rank = 0};
    b->node = &m->nodes[m->outputs[g->number].node];
    if (shape_elements(&s) > 0)
        TRY(take_slice(b, b->plan->target, &s, target_at, &g->target));
    if (b->plan->weighted == WEIGHTS_OF_OUTPUTS && (g->loss || weighs_metrics(m, g->number)))
        return take_slice(b, b->plan->target, &one, &at, &g->weight);
    return CORNU_OK;
}

/* The loss and the metrics of each output that has them; the targets of several outputs are slices
   of GATHER's rows. */
static cornu_status add_goals(step_builder *b, const tensor_ref *outputs, const tensor_ref *values)
{
    const cornu_model *m = b->plan->model;
    int64_t target_at = 0;
    bool further = false;
    for (int i = 0; i < m->output_count; i++) {
        const bool has_loss = m->outputs[i].has_loss;
        goal g = {.number = i,
                  .further = further,
                  .loss = has_loss ? &m->outputs[i].loss : NULL,
                  .output = outputs[m->outputs[i].node],
                  .target = b->plan->target,
                  .value = values[i],
                  .weight = b->plan->ops[0].out[2]}; /* GATHER's */
        if (m->output_count > 1)
            TRY(take_row(b, &target_at, &g));
        if (has_loss)
            TRY(add_loss(b, &g));
        TRY(add_metrics(b, &g));
        further |= has_loss;
    }
    return CORNU_OK;
}

/* ---- penalties --------------------------------------------------------------------------- */

/* A term of the loss: `weight` times the mean of these numbers. */
typedef struct activity {
    const char *name;
    tensor_ref value;
    double weight;
} activity;

typedef struct activities {
    activity *each;
    int count;
} activities;

static cornu_status add_activity(step_builder *b, tensor_ref y, activation_kind of, double weight,
                                 activities *a)
{
    activity *one = &a->each[a->count];
    if (!(weight > 0))
        return CORNU_OK;
    one->name = "activity";
    one->weight = weight * (double)shape_elements(&b->node->out);
    a->count++;
    return emit_activation(b, y, (activation){.kind = of}, &one->value);
}

/* The penalties on what layers give: as in Keras, sums over a sample, their mean over the batch. */
static cornu_status add_activities(step_builder *b, const tensor_ref *outputs, activities *a)
{
    const cornu_model *m = b->plan->model;
    bool *needed = NULL;
    cornu_status status = CORNU_OK;
    TRY(memory_new(2 * (size_t)m->node_count + (size_t)m->weight_count, sizeof *a->each, "plan",
                   &a->each));
    TRY(memory_new((size_t)m->node_count, sizeof *needed, "plan", &needed));
    find_needed(b, needed);
    for (int i = 0; i < m->node_count; i++) {
        const regularizer *r = layer_activity(m->nodes[i].layer);
        if (!r || !needed[i])
            continue;
        b->node = &m->nodes[i];
        TRY_GOTO(add_activity(b, outputs[i], ACTIVATION_ABSOLUTE, r->l1, a));
        TRY_GOTO(add_activity(b, outputs[i], ACTIVATION_SQUARE, r->l2, a));
    }
done:
    free(needed);
    return status;
}

/* A weight that no loss depends on would have its penalty as its only gradient. */
static cornu_status check_penalty(const step_builder *b, int weight)
{
    const char *name = b->plan->model->variables[weight].name;
    if (b->plan->mode != PLAN_TRAIN || b->notes[weight].needs_gradient)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found a regularizer, and no output with a loss that depends on the "
                       "weight; expected a loss, or the layer with trainable: false",
                       name);
}

/* The call that describes what belongs to a weight: the first of its layer. */
static const model_node *node_of_weight(const cornu_model *m, int weight)
{
    int i = 0;
    while (weight >= m->layers[i]->first_variable + m->layers[i]->weight_count)
        i++;
    return &m->nodes[m->layers[i]->node];
}

static cornu_status add_orthogonal(step_builder *b, int weight, activity *one)
{
    const variable *v = &b->plan->model->variables[weight];
    tensor_ref w;
    TRY(check_penalty(b, weight));
    one->name = v->name;
    b->node = node_of_weight(b->plan->model, weight);
    b->as_one = true;
    cornu_status status = emit_whole_weight(b, weight, &v->shape, &w);
    if (status == CORNU_OK)
        status = orthogonal_emit(&v->regularizer, b, w, &one->value, &one->weight);
    b->as_one = false;
    return status;
}

/* The penalties on rows and columns that are not orthogonal: each a term that has a gradient, and
   counts once for all samples. */
static cornu_status add_orthogonals(step_builder *b, activities *a)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count; i++)
        if (is_orthogonal(&m->variables[i]))
            TRY(add_orthogonal(b, i, &a->each[a->count++]));
    return CORNU_OK;
}

/* Add them to the loss. */
static cornu_status add_activity_losses(step_builder *b, const activities *a)
{
    bool further = false;
    for (int i = 0; i < b->plan->model->output_count; i++)
        further |= b->plan->model->outputs[i].has_loss;
    for (int i = 0; i < a->count; i++) {
        op o = op_new(OP_LOSS);
        o.in[0] = o.in[1] = a->each[i].value;
        o.a.loss.id = LOSS_VALUES;
        o.a.loss.term = true;
        o.a.loss.further = further || i > 0;
        o.a.loss.weight = (float)a->each[i].weight;
        o.a.loss.slot = -1;
        if (b->plan->mode == PLAN_TRAIN && b->notes[o.in[0]].needs_gradient)
            TRY(builder_gradient(b, o.in[0], &o.out[0]));
        TRY(builder_add(b, &o, a->each[i].name));
    }
    return CORNU_OK;
}

/* The loss counts the penalties on the weights as they are before the updates. */
static cornu_status add_penalties(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count; i++) {
        op o = op_new(OP_PENALTY);
        o.a.penalty = builder_penalty(b, i);
        if (!penalty_any(o.a.penalty))
            continue;
        TRY(check_penalty(b, i));
        o.in[0] = i;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
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
    if (model_calls_metrics(p->model))
        touch(p, p->target, p->op_count);
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
    if (options->weighted == WEIGHTS_OF_OUTPUTS && m->output_count == 1)
        return status_fail(CORNU_INVALID, "output_weights: found a model of one output; expected "
                                          "several, or weights of the samples");
    if (m->input_count > 1 &&
        (augmentation_any(&options->augment) || standardization_any(&options->standardize)))
        return status_fail(CORNU_INVALID,
                           "augment: found changes of the samples, and a model of %d inputs; "
                           "expected one input, which is then the picture",
                           m->input_count);
    return model_check_graph(m);
}

static cornu_status add_operations(step_builder *b, tensor_ref *outputs, activities *a)
{
    plan *p = b->plan;
    tensor_ref values[MODEL_ENDS_MAX];
    for (int i = 0; i < MODEL_ENDS_MAX; i++)
        values[i] = NO_TENSOR;
    TRY(add_forward(b, outputs));
    if (p->mode != PLAN_PREDICT)
        TRY(add_all_traced(b, outputs, values));
    if (p->mode != PLAN_PREDICT)
        TRY(add_activities(b, outputs, a));
    if (p->mode != PLAN_PREDICT)
        TRY(add_orthogonals(b, a));
    int forward_count = p->op_count;
    TRY(add_output(b, outputs)); /* before losses, which are where the forward pass ends */
    if (p->mode != PLAN_PREDICT)
        TRY(add_goals(b, outputs, values));
    TRY(add_activity_losses(b, a));
    if (p->mode != PLAN_PREDICT)
        TRY(add_penalties(b));
    return p->mode == PLAN_TRAIN ? build_backward(b, forward_count) : CORNU_OK;
}

static cornu_status add_step(step_builder *b)
{
    plan *p = b->plan;
    tensor_ref *outputs; /* [node_count] */
    TRY(memory_new((size_t)p->model->node_count, sizeof *outputs, "plan", &outputs));
    activities a = {0};
    cornu_status status = add_operations(b, outputs, &a);
    free(a.each);
    free(outputs);
    TRY(status);
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

/* A variable is trained if the loss of an output depends on it. */
static cornu_status find_trained(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    bool *needed;
    TRY(memory_new((size_t)m->node_count, sizeof *needed, "plan", &needed));
    for (int i = 0; i < m->output_count; i++)
        needed[m->outputs[i].node] |= m->outputs[i].has_loss;
    model_find_before(m, needed);
    for (int i = 0; i < m->node_count; i++) {
        const layer *l = m->nodes[i].layer;
        for (int k = l->first_variable; needed[i] && k < l->first_variable + l->weight_count; k++)
            b->notes[k].needs_gradient = m->variables[k].trained;
    }
    free(needed);
    return CORNU_OK;
}

static cornu_status build(step_builder *b, size_t *plain_bytes)
{
    plan *p = b->plan;
    TRY(memory_new((size_t)p->model->weight_count, sizeof *p->gradients, "plan", &p->gradients));
    for (int i = 0; i < p->model->weight_count; i++)
        p->gradients[i] = NO_TENSOR;
    TRY(builder_add_variables(b));
    if (p->mode == PLAN_TRAIN)
        TRY(find_trained(b));
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
    TRY(plan_finish(p));
    *plain_bytes = p->arena_bytes;
    if (!p->recompute || p->scope == SCOPE_UPDATES)
        return CORNU_OK;
    TRY(pass_recompute(p));
    return plan_finish(p);
}

/* *plain_bytes: of the arena without recomputation. */
static cornu_status build_plan(const cornu_model *model, const plan_options *options,
                               size_t *plain_bytes, plan **out)
{
    step_builder b = {.options = options};
    TRY(memory_new(1, sizeof *b.plan, "plan", &b.plan));
    b.plan->model = model;
    b.plan->mode = options->mode;
    b.plan->scope = options->scope;
    b.plan->batch = options->batch;
    b.plan->weighted = options->mode == PLAN_PREDICT ? WEIGHTS_NONE : options->weighted;
    b.plan->exact_convolution = options->exact_convolution;
    b.plan->draws = options->mode == PLAN_TRAIN ? CORNU_DRAW_ALL : options->draws;
    b.plan->recompute = options->recompute && options->mode == PLAN_TRAIN;
    b.plan->input = b.plan->target = b.plan->output = b.plan->input_gradient = NO_TENSOR;
    cornu_status status = build(&b, plain_bytes);
    builder_free(&b);
    if (status != CORNU_OK) {
        plan_free(b.plan);
        return status;
    }
    *out = b.plan;
    return CORNU_OK;
}

cornu_status plan_build(const cornu_model *model, const plan_options *options, plan **out)
{
    size_t plain_bytes = 0;
    plan_options plain = *options;
    *out = NULL;
    TRY(check_options(model, options));
    TRY(build_plan(model, options, &plain_bytes, out));
    if (!(*out)->recompute || (*out)->arena_bytes <= plain_bytes)
        return CORNU_OK;
    /* Fewer bytes live at a time, but their places leave gaps. */
    plan_free(*out);
    *out = NULL;
    plain.recompute = false;
    TRY(build_plan(model, &plain, &plain_bytes, out));
    (*out)->recompute = true;
    return CORNU_OK;
}

/* Is it a slot that has all axes of its weight? */
static bool is_like_its_weight(const cornu_model *model, const variable *v)
{
    return v->is_slot && v->shape.rank == model->variables[v->of].shape.rank;
}

cornu_status plan_variable_forms(const cornu_model *model, tensor_form **out)
{
    plan *p = NULL;
    *out = NULL;
    const plan_options options = {.mode = PLAN_PREDICT, .batch = 1, .whole = true};
    cornu_status status = plan_build(model, &options, &p);
    if (status == CORNU_OK)
        status = memory_new((size_t)model->variable_count + 1, sizeof **out, "variables", out);
    for (int i = 0; status == CORNU_OK && i < p->tensor_count; i++)
        if (p->tensors[i].role == TENSOR_VARIABLE)
            (*out)[p->tensors[i].variable] = p->tensors[i].form;
    for (int i = 0; status == CORNU_OK && i < model->variable_count; i++)
        if (is_like_its_weight(model, &model->variables[i]))
            (*out)[i] = (*out)[model->variables[i].of];
    plan_free(p);
    return status;
}

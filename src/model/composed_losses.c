/* Losses that are made of the plan's operations (LOSS_COMPOSED): networks, as a traced loss is. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include "model/traced_loss.h"
#include <stdio.h>
#include <stdlib.h>

/* A loss being written as a model section. */
typedef struct composition {
    const loss *loss;
    text section;
    char axes[96]; /* options of the sums */
} composition;

static void add_sum(composition *c, const char *name, const char *of)
{
    text_add(&c->section, "  - Sum: {name: %s, inputs: %s, %s}\n", name, of, c->axes);
}

/* first * second, summed. */
static void add_sum_of_two(composition *c, const char *name, const char *first, const char *second)
{
    text_add(&c->section, "  - Multiply: {name: %s_each, inputs: [%s, %s]}\n", name, first, second);
    text_add(&c->section, "  - Sum: {name: %s, inputs: %s_each, %s}\n", name, name, c->axes);
}

static void add_scaled(composition *c, const char *name, const char *of, double scale,
                       double offset)
{
    text_add(&c->section, "  - Rescaling: {name: %s, inputs: %s, scale: %.17g, offset: %.17g}\n",
             name, of, scale, offset);
}

/* 1 - factor numerator / (divisor + epsilon) */
static void add_share(composition *c, const char *numerator, const char *divisor, double factor)
{
    add_scaled(c, "divisor", divisor, 1, 1e-7);
    text_add(&c->section, "  - TrueDivide: {name: share, inputs: [%s, divisor]}\n", numerator);
    add_scaled(c, "loss", "share", -factor, 1);
}

/* 1 - 2 sum(t o) / (sum(t) + sum(o) + epsilon) */
static void compose_dice(composition *c)
{
    add_sum_of_two(c, "both", "y_true", "y_pred");
    add_sum(c, "of_true", "y_true");
    add_sum(c, "of_pred", "y_pred");
    text_add(&c->section, "  - Add: {name: all, inputs: [of_true, of_pred]}\n");
    add_share(c, "both", "all", 2);
}

/* 1 - sum(t o) / (sum(t o) + alpha sum(t (1 - o)) + beta sum(o (1 - t)) + epsilon) */
static void compose_tversky(composition *c)
{
    add_scaled(c, "not_true", "y_true", -1, 1);
    add_scaled(c, "not_pred", "y_pred", -1, 1);
    add_sum_of_two(c, "both", "y_true", "y_pred");
    add_sum_of_two(c, "missed", "y_true", "not_pred");
    add_sum_of_two(c, "wrong", "y_pred", "not_true");
    add_scaled(c, "some_missed", "missed", c->loss->reals[0], 0);
    add_scaled(c, "some_wrong", "wrong", c->loss->reals[1], 0);
    text_add(&c->section, "  - Add: {name: all, inputs: [both, some_missed, some_wrong]}\n");
    add_share(c, "both", "all", 1);
}

static cornu_status fail_axis(const doc *at, int64_t found, int rank)
{
    return doc_fail(at,
                    "axis: found %lld; expected null (all samples of a batch together), or axes of "
                    "a sample, each once: 1 to %d, or -%d to -1",
                    (long long)found, rank, rank);
}

/* The sums go over all samples of a batch, or along the axes for each. */
static cornu_status write_axes(composition *c, const doc *at, const shape *output)
{
    const int_list *axis = &c->loss->axis;
    bool seen[SHAPE_MAX + 1] = {false};
    size_t used;
    if (axis->count < 0) {
        snprintf(c->axes, sizeof c->axes, "axis: null");
        return CORNU_OK;
    }
    used = (size_t)snprintf(c->axes, sizeof c->axes, "keepdims: true, axis: [");
    for (int i = 0; i < axis->count; i++) {
        const int64_t n = axis->value[i] + (axis->value[i] < 0 ? output->rank + 1 : 0);
        if (n < 1 || n > output->rank || seen[n])
            return fail_axis(at, axis->value[i], output->rank);
        seen[n] = true;
        used += (size_t)snprintf(c->axes + used, sizeof c->axes - used, "%s%lld", i ? ", " : "",
                                 (long long)n);
    }
    snprintf(c->axes + used, sizeof c->axes - used, "]");
    return axis->count > 0 ? CORNU_OK : doc_fail(at, "axis: found none; expected null, or axes");
}

static void write_shape(text *t, const shape *s)
{
    for (int i = 0; i < s->rank; i++)
        text_add(t, "%s%lld", i ? ", " : "", (long long)s->dim[i]);
}

static void write_section(composition *c, const shape *output)
{
    text *t = &c->section;
    text_add(t, "name: %s\ninputs: {y_true: [", loss_kind_of(c->loss->id)->name);
    write_shape(t, output);
    text_add(t, "], y_pred: [");
    write_shape(t, output);
    text_add(t, "]}\nlayers:\n");
    (c->loss->id == LOSS_DICE ? compose_dice : compose_tversky)(c);
    text_add(t, "outputs: [loss]\n");
}

static cornu_status make_network(const text *section, cornu_model **out)
{
    doc *d = NULL;
    cornu_status status = CORNU_OK;
    if (section->failed)
        return status_fail(CORNU_OUT_OF_MEMORY, "a loss: not enough memory");
    TRY_GOTO(doc_parse(section->data, section->length, "a loss", &d));
    status = model_from_section(d, out);
done:
    doc_free(d);
    return status;
}

static cornu_status make_circle(const doc *at, const loss *l, const shape *output,
                                traced_loss **out)
{
    char shown[128];
    if (output->rank != 1)
        return doc_fail(at, "circle: found an output of shape %s; expected a row of numbers",
                        shape_show(output, true, shown));
    TRY(memory_new(1, sizeof **out, "a loss", out));
    (*out)->own = *l;
    (*out)->targets = TARGET_LABEL;
    (*out)->reduction = l->reduction;
    (*out)->written = loss_to_json(l);
    return (*out)->written ? CORNU_OK
                           : status_fail(CORNU_OUT_OF_MEMORY, "a loss: not enough memory");
}

cornu_status traced_loss_compose(const doc *at, const loss *l, const shape *output,
                                 traced_loss **out)
{
    composition c = {.loss = l};
    *out = NULL;
    if (l->id == LOSS_CIRCLE)
        return make_circle(at, l, output, out);
    TRY(write_axes(&c, at, output));
    TRY(memory_new(1, sizeof **out, "a loss", out));
    (*out)->reduction = l->reduction;
    write_section(&c, output);
    cornu_status status = make_network(&c.section, &(*out)->network);
    text_free(&c.section);
    TRY(status);
    (*out)->written = loss_to_json(l);
    return (*out)->written ? CORNU_OK
                           : status_fail(CORNU_OUT_OF_MEMORY, "a loss: not enough memory");
}

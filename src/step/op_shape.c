/* An operation's sizes as text, for tables that people read. */
#include "step/plan.h"
#include <stdio.h>
#include <string.h>

static void add(char *text, const char *before, int64_t value)
{
    size_t length = strlen(text);
    snprintf(text + length, OP_SHAPE_TEXT - length, "%s%lld", before, (long long)value);
}

static void add_dimensions(char *text, const tensor *t)
{
    for (int i = 0; i < t->shape.rank; i++)
        add(text, i ? "x" : "", t->shape.dim[i]);
    if (t->shape.rank == 0)
        add(text, "", 1);
}

char *op_shape_show(const plan *p, const op *o, char *text)
{
    const tensor *in = o->in[0] == NO_TENSOR ? NULL : &p->tensors[o->in[0]];
    const tensor *out = o->out[0] == NO_TENSOR ? NULL : &p->tensors[o->out[0]];
    text[0] = 0;
    if (in)
        add_dimensions(text, in);
    if (!out || (in && shape_equal(&in->shape, &out->shape)))
        return text;
    size_t length = strlen(text);
    snprintf(text + length, OP_SHAPE_TEXT - length, "%s", in ? " -> " : "");
    add_dimensions(text, out);
    return text;
}

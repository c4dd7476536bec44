/* Marks the tensors that are kernels of products: devices may pack those in a layout of their
   own. */
#include "step/builder.h"

static void mark(plan *p, tensor_ref t, tensor_form form)
{
    if (t != NO_TENSOR)
        p->tensors[t].form = form;
}

/* Mark the kernel that a product reads, or the kernel's gradient that it writes. */
static void mark_product(plan *p, const op *o)
{
    switch (o->kind) {
    case OP_DENSE_FORWARD:
    case OP_DENSE_BACKWARD_DATA:
        mark(p, o->in[1], FORM_DENSE_KERNEL);
        break;
    case OP_DENSE_BACKWARD_WEIGHTS:
        mark(p, o->out[0], FORM_DENSE_KERNEL);
        break;
    case OP_CONV2D_FORWARD:
    case OP_CONV2D_BACKWARD_DATA:
        mark(p, o->in[1], FORM_CONV_KERNEL);
        break;
    case OP_CONV2D_BACKWARD_WEIGHTS:
        mark(p, o->out[0], FORM_CONV_KERNEL);
        break;
    default:
        break;
    }
}

/* Each gradient has the form of its weight, also where it is a sum, and what is added to it. */
static void mark_gradients(plan *p)
{
    for (int i = 0; p->model && i < p->model->weight_count; i++)
        mark(p, p->gradients[i], p->tensors[i].form);
    for (int i = p->op_count - 1; i >= 0; i--) {
        const op *o = &p->ops[i];
        if (o->kind != OP_ADD || p->tensors[o->out[0]].form == FORM_PLAIN)
            continue;
        mark(p, o->in[0], p->tensors[o->out[0]].form);
        mark(p, o->in[1], p->tensors[o->out[0]].form);
    }
}

/* Outputs of what the optimizer does, behind the first, are slots: like the weight, or its
   gradient, but for those that lack one of the weight's axes. */
static void mark_slots(plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        for (int k = 1; k < OP_OUTPUTS_MAX && op_is_of_step(p->ops[i].kind); k++)
            if (p->ops[i].kind != OP_FACTORED_UPDATE || k == FACTORED_VELOCITY)
                mark(p, p->ops[i].out[k], p->tensors[p->ops[i].out[0]].form);
}

void pass_forms(plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        mark_product(p, &p->ops[i]);
    mark_gradients(p);
    mark_slots(p);
}

void forms_of_updates(plan *p, const tensor_form *forms)
{
    for (int i = 0; i < p->model->weight_count; i++) {
        mark(p, i, forms[i]);
        mark(p, p->gradients[i], forms[i]);
    }
    mark_slots(p);
}

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

/* Outputs of what the optimizer does, behind the first, are slots: like the weight, or its
 * gradient.
 */
static void mark_slots(plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        for (int k = 1; k < OP_OUTPUTS_MAX && op_is_of_step(p->ops[i].kind); k++)
            mark(p, p->ops[i].out[k], p->tensors[p->ops[i].out[0]].form);
}

void pass_forms(plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        mark_product(p, &p->ops[i]);
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

/* The passes that turn a model into a finished plan, in order; each is one file of passes/. */
#ifndef STEP_BUILD_H
#define STEP_BUILD_H

#include "step/plan.h"

/* Fuse an activation into the dense or convolution before it, where its derivative is computable
   from its output. */
cornu_status pass_fuse_activation(plan *p);
/* Set every tensor's form. */
void pass_forms(plan *p);
/* The same for SCOPE_UPDATES, which has no products. */
cornu_status forms_of_updates(plan *p);
/* Find the groups of operations that may run as one. All tensors of a group live from its first
   operation on (tensor.first does not change; pass_memory sees to it). */
cornu_status pass_groups(plan *p);
/* Assign every buffer its offset in the arena; buffers whose lives do not overlap share memory. */
cornu_status pass_memory(plan *p);
/* FLOPs and bytes of every operation and of the plan. */
void plan_cost(plan *p);

#endif

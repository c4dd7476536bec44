/* Fused groups: operations of a plan that a device may run as one, so that what they hand to each
   other alone is never written. Passes find them once for all devices (passes/groups.c); a kernel
   says which kind it takes. Groups overlap: a device takes the first for which it has a kernel. */
#ifndef STEP_GROUPS_H
#define STEP_GROUPS_H

typedef enum group_kind {
    GROUP_NONE, /* an operation alone */
#define GROUP(id, name) GROUP_##id,
#include "step/groups.def"
#undef GROUP
    GROUP_COUNT
} group_kind;

typedef enum group_role {
    ROLE_FPROP,
    ROLE_POOL,
    ROLE_ACTIVATION,
    ROLE_LOSS,
    ROLE_METRICS, /* the first of them; they go to the group's end */
    ROLE_WGRAD,
    ROLE_DGRAD,
    ROLE_UPDATE_KERNEL,
    ROLE_UPDATE_BIAS,
    ROLE_COUNT
} group_role;

/* Operations of a group. */
enum { GROUP_OPS_MAX = 5 };

typedef struct op_group {
    group_kind kind;
    int first, count;       /* operations of the plan */
    int member[ROLE_COUNT]; /* the operation's number; -1: not there */
    /* CONV_POOL and CONV_BACKWARD: the group in the other pass that alone, besides this one, reads
       the convolution's output; which need not be written, then, if the two agree on something
       shorter. An index into plan.groups; -1: none. */
    int partner;
    /* DENSE_BACKWARD: the DENSE_FORWARD that alone reads the kernel, so that the update can be
       deferred to the next step's; -1: none. */
    int absorber;
} op_group;

/* "convolution + max-pool" */
extern const char *const group_names[GROUP_COUNT];

#endif

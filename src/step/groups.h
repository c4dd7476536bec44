/* Fused groups: operations of a plan that a device may run as one, so that tensors used only within
   the group are never written. A pass finds them once for all devices (passes/groups.c); a kernel
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
    ROLE_METRICS, /* the first metric; they extend to the end of the group */
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
    int member[ROLE_COUNT]; /* index of the operation; -1: absent */
    /* CONV_POOL and CONV_BACKWARD: the group of the other pass that is the only other reader of the
       convolution's output. If the two kernels agree on a shorter form, the output need not be
       written. An index into plan.groups; -1: none. */
    int partner;
    /* DENSE_BACKWARD: the DENSE_FORWARD that is the only reader of the kernel, so that the update
       can be deferred to its next run; -1: none. */
    int absorber;
} op_group;

/* "convolution + max-pool" */
extern const char *const group_names[GROUP_COUNT];

#endif

/* Which kernel runs each operation of a plan, by one rule on all devices: the candidates of the
   operation's kind are asked in the order of the device's list, and the first that accepts is
   taken. A kernel may run a group of operations; it is a candidate where such a group begins. A
   refusal is kept as text for `cornu explain`. Linked into the library and into each plug-in. */
#ifndef DEVICE_SELECT_H
#define DEVICE_SELECT_H

#include "device/device.h"

/* The part of a kernel that selection reads. */
typedef struct kernel_info {
    const char *name;   /* "indirect" */
    const char *device; /* before the '/' of its full name; NULL: the selecting device's */
    /* The kind of group that it runs, which is there whenever the kernel is asked anything; it is
       given the group's first operation and finds the others by plan_group. GROUP_NONE: it runs a
       single operation. */
    group_kind group;
} kernel_info;

/* The first member of a device's own struct of kernels, which then also has these fields itself. */
#define KERNEL_INFO             \
    union {                     \
        kernel_info info;       \
        struct {                \
            const char *name;   \
            const char *device; \
            group_kind group;   \
        };                      \
    }

/* A device, as selection sees it. */
typedef struct selector selector;
struct selector {
    device *device;
    const char *name;   /* in messages: "cuda:0" */
    const char *prefix; /* before the '/' of kernels' full names: "cuda" */
    const char
        *forced; /* device_options.kernel: kernels of this name are asked first; NULL: none */
    /* Candidate `i` for operations of this kind; NULL past the last. */
    const kernel_info *(*candidate)(const selector *s, op_kind kind, int i);
    /* May the kernel run the operation? *why: a reason in a few words (a constant). */
    bool (*accepts)(const selector *s, const kernel_info *k, const plan *p, const op *o,
                    const char **why);
    /* Make the state that the kernel needs; *scratch_bytes is 0 before. CORNU_UNSUPPORTED is a
       refusal with the present message as its reason; any other failure ends the selection. A
       failure leaves *state alone. */
    cornu_status (*prepare)(const selector *s, const kernel_info *k, const plan *p, const op *o,
                            void **state, size_t *scratch_bytes);
    void (*release)(const selector *s, const kernel_info *k, void *state);
};

/* The kernels of one plan. */
typedef struct selection {
    int op_count;
    const kernel_info **kernels; /* [op_count]: NULL where an operation runs in another's kernel */
    const op_group **groups;     /* [op_count]: the group that the kernel runs; NULL: `op` alone */
    void **states;               /* [op_count]: made by selector.prepare */
    kernel_choice *choices;      /* [op_count] */
    char **names;                /* [op_count]: memory of choices[].kernel */
    int *asked;                  /* [op_count]: candidates that have been asked */
    int replaced; /* kernels that others have taken the place of since they were chosen */
} selection;

cornu_status selection_new(const plan *p, selection *out);
/* Also after selection_new has failed; `c` may be all 0. */
void selection_free(const selector *s, selection *c);

/* The operation after the one, or the group, that runs at `i`. */
static inline int selection_next(const selection *c, int i)
{
    return i + (c->groups[i] ? c->groups[i]->count : 1);
}
/* The largest scratch memory that a kernel asked for. */
size_t selection_scratch(const selection *c);

/* The first operation for which the device has no candidate; NULL: it has one for each. */
const op *select_lacks(const selector *s, const plan *p);
/* Choose the kernel of operation `i`; the other operations of its group then run in it.
   CORNU_UNSUPPORTED where all candidates refuse. */
cornu_status select_kernel(const selector *s, const plan *p, selection *c, int i);
/* Prepare the kernel of operation `i`, which is chosen now unless it was before. A kernel that
   refuses is replaced: the operations of its group may then need kernels of their own, which
   preparing them in order chooses. */
cornu_status select_prepare(const selector *s, const plan *p, selection *c, int i);
/* The kernel of operation `i` does not work, for the reason in the present message: choose the next
   candidate that accepts. */
cornu_status select_replace(const selector *s, const plan *p, selection *c, int i);
/* From now on operation `i` runs in the kernel of operation `first`, which counts its cost. */
cornu_status select_fuse(const selector *s, selection *c, int first, int i);
/* Say so: its choice is called "with N". */
cornu_status selection_call_fused(selection *c, int first, int i);

#endif

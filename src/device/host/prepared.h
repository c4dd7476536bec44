/* What the files of this room share: a plan made ready. */
#ifndef DEVICE_HOST_PREPARED_H
#define DEVICE_HOST_PREPARED_H

#include "device/host/host.h"

struct prepared {
    const plan *plan;
    int op_count;
    const kernel **kernels;  /* [op_count]: NULL where an operation runs within a group */
    const op_group **groups; /* [op_count]: that the kernel runs; NULL: the operation alone */
    void **states;           /* [op_count] */
    size_t *bytes;   /* [tensor_count]: what a buffer takes of the arena; 0: it has no place */
    size_t *offsets; /* [tensor_count]: in the arena */
    size_t arena_bytes;
    float **tensors; /* [tensor_count]: where each lies while the arena stays where it is */
    const unsigned char *arena;
    int moves;      /* the device's, when they were found */
    float **placed; /* [tensor_count]: those that lie elsewhere; NULL: none */
    void (*done)(void *context,
                 int ops); /* who is told of operations that are done; NULL: nobody */
    void *watcher;
    size_t scratch_bytes;   /* the most that a kernel needs */
    int deferred, absorber; /* an operation whose work waits for `absorber` of the next step; -1 */
    kernel_choice *choices; /* [op_count] */
    char **names;           /* [op_count]: the choices' "DEVICE/KERNEL" */
};

static inline host_device *host_of(device *d)
{
    return (host_device *)(void *)d;
}

/* The number of the operation that runs behind `i`. */
static inline int prepared_next(const prepared *p, int i)
{
    return i + (p->groups[i] ? p->groups[i]->count : 1);
}

/* run.c: do what was deferred; before anybody reads or writes variables, and before another plan's
   step. */
void host_flush(host_device *h);
/* variables.c: is this tensor kept in panels? */
bool host_in_panels(const host_device *h, const tensor *t);
/* variables.c: from the device's layout into the plain one. */
void host_give_values(const float *from, float *to, const shape *s, bool panels);
/* prepare.c: arena and scratch memory are there. */
cornu_status host_ensure_memory(host_device *h, const prepared *r);

#endif

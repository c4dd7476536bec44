/* What the files of this room share: a plan made ready. */
#ifndef DEVICE_HOST_PREPARED_H
#define DEVICE_HOST_PREPARED_H

#include "device/host/host.h"

struct prepared {
    const plan *plan;
    selection chosen;
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
};

static inline host_device *host_of(device *d)
{
    return (host_device *)(void *)d;
}

/* The kernel that runs operation `i`. */
static inline const kernel *prepared_kernel(const prepared *p, int i)
{
    return (const kernel *)(const void *)p->chosen.kernels[i];
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

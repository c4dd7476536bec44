/* A prepared plan, shared by the files of this folder. */
#ifndef DEVICE_HOST_PREPARED_H
#define DEVICE_HOST_PREPARED_H

#include "device/host/host.h"

struct prepared {
    const plan *plan;
    selection chosen;
    size_t *bytes;   /* [tensor_count] bytes of a buffer in the arena; 0: not allocated */
    size_t *offsets; /* [tensor_count]: in the arena */
    size_t arena_bytes;
    float **tensors; /* [tensor_count] addresses, valid until the arena moves */
    const unsigned char *arena;
    int moves;      /* the device's, when they were found */
    float **placed; /* [tensor_count] addresses of tensors outside; NULL: none */
    void (*done)(void *context, int ops); /* called when operations are done; NULL: none */
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

/* host.c: run the deferred work; call before variables are read or written, and before another
   plan's step. */
void host_flush(host_device *h);
/* host.c: is this tensor kept in panels? */
bool host_in_panels(const host_device *h, const tensor *t);
/* host.c: from the device's layout into the plain one. */
void host_give_values(const float *from, float *to, const shape *s, bool panels);
/* prepare.c: arena and scratch memory are there. */
cornu_status host_ensure_memory(host_device *h, const prepared *r);

#endif

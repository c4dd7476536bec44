/* oneDNN's descriptors of the plan's convolutions (onednn_describe.c) and its calls
   (onednn_scope.c), for onednn_conv.c. */
#ifndef DEVICE_CPU_CONV_ONEDNN_CONV_H
#define DEVICE_CPU_CONV_ONEDNN_CONV_H

#include "device/cpu/conv/onednn_api.h"
#include "device/host/host.h"
#include <signal.h>

/* CORNU_OUT_OF_MEMORY or CORNU_DEVICE; the message says what oneDNN failed to do. */
cornu_status onednn_fail(const char *what, dnnl_status_t code);

#define ONEDNN_TRY(what, call)               \
    do {                                     \
        dnnl_status_t code_ = (call);        \
        if (code_ != dnnl_success)           \
            return onednn_fail(what, code_); \
    } while (0)

/* The tensors of an operation by role; absent ones are NULL. */
typedef struct onednn_roles {
    const tensor *x, *w, *b, *y;
} onednn_roles;

onednn_roles onednn_roles_of(const plan *p, const op *o);
/* The plan's own [kh][kw][in/groups][out], or the same dimensions in a format of oneDNN's choice.
   With groups, out is [groups][out/groups]. The caller destroys *out. */
dnnl_status_t onednn_weights_desc(const onednn_roles *r, int64_t groups, bool plain,
                                  onednn_desc *out);
/* The primitive descriptor of `o` over `samples` samples. */
dnnl_status_t onednn_describe(dnnl_engine_t engine, const plan *p, const op *o, int64_t samples,
                              dnnl_primitive_desc_t *out);

/* Set around every call that creates or runs a oneDNN object, on the calling thread:
   - oneDNN runs on one thread: its own threading would split sums by the number of threads;
   - signals are blocked: its matrix product for small sizes (oneDNN 2.6) moves the stack pointer
     into a buffer on the heap, and the kernel would write a handler's frame over the memory below.
   Both settings are restored afterwards. */
typedef struct onednn_scope {
    int threads;
    sigset_t signals;
} onednn_scope;
onednn_scope onednn_begin(void);
void onednn_end(const onednn_scope *before);

#endif

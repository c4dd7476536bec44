/* The primary contexts that this process keeps. */
#include "device/cuda/plugin/core.h"
#include <pthread.h>

enum { DEVICES_MOST = 64 };

typedef struct kept_context {
    CUcontext context; /* NULL: none is kept */
    int users;         /* open devices */
    bool lost;
} kept_context;

static kept_context contexts[DEVICES_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

cornu_status cuda_context_take(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    cornu_status status = CORNU_OK;
    if (g->number >= DEVICES_MOST)
        return status_fail(CORNU_UNSUPPORTED, "device %s: found number %d; expected less than %d",
                           g->name, g->number, DEVICES_MOST);
    kept_context *kept = &contexts[g->number];
    pthread_mutex_lock(&lock);
    if (!kept->context) {
        status = CU(g, cuDevicePrimaryCtxRetain(&kept->context, c->id));
        if (status != CORNU_OK)
            kept->context = NULL;
    }
    if (status == CORNU_OK) {
        kept->users++;
        c->context = kept->context;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void cuda_context_let_go(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    if (!c->context)
        return;
    kept_context *kept = &contexts[g->number];
    pthread_mutex_lock(&lock);
    kept->users--;
    kept->lost |= c->context_lost;
    if (kept->lost && kept->users == 0) {
        (void)CU(g, cuDevicePrimaryCtxRelease(c->id));
        *kept = (kept_context){0};
    }
    pthread_mutex_unlock(&lock);
    c->context = NULL;
}

#include "device/cpu/conv/onednn_conv.h"
#include <omp.h>

onednn_scope onednn_begin(void)
{
    onednn_scope before = {.threads = omp_get_max_threads()};
    sigset_t waiting;
    sigfillset(&waiting);
    /* Faults of the thread itself cannot be delayed. */
    sigdelset(&waiting, SIGSEGV);
    sigdelset(&waiting, SIGBUS);
    sigdelset(&waiting, SIGILL);
    sigdelset(&waiting, SIGFPE);
    pthread_sigmask(SIG_BLOCK, &waiting, &before.signals);
    if (before.threads != 1)
        omp_set_num_threads(1);
    return before;
}

void onednn_end(const onednn_scope *before)
{
    if (before->threads != 1)
        omp_set_num_threads(before->threads);
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
}

/* The process's signals are the caller's. */
#ifndef DEVICE_OPENCL_PLUGIN_SIGNALS_H
#define DEVICE_OPENCL_PLUGIN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

enum { OPENCL_SIGNALS = 32 }; /* and above them those that a program makes use of as it likes */

typedef struct opencl_signals {
    struct sigaction action[OPENCL_SIGNALS];
    bool known[OPENCL_SIGNALS];
    sigset_t mask; /* signal mask of the calling thread */
} opencl_signals;

/* Around what may compile or start threads: keep, the call, restore. */
void opencl_signals_keep(opencl_signals *s);
void opencl_signals_restore(const opencl_signals *s);

#endif

/* Protects the caller's signal handling from drivers, which contain compilers and threads. Some
   compilers (LLVM in PoCL) replace the caller's handlers, also for Ctrl-C: these are restored.
   And a driver's thread must not receive a signal for which the caller may wait in another
   thread: signals are blocked while drivers start threads, which inherit this. */
#include "device/opencl/plugin/signals.h"

void opencl_signals_keep(opencl_signals *s)
{
    sigset_t blocked;
    sigfillset(&blocked);
    for (int i = 1; i < OPENCL_SIGNALS; i++)
        s->known[i] = sigaction(i, NULL, &s->action[i]) == 0;
    static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
        sigdelset(&blocked, of_faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &s->mask);
}

void opencl_signals_restore(const opencl_signals *s)
{
    for (int i = 1; i < OPENCL_SIGNALS; i++)
        if (s->known[i] && i != SIGKILL && i != SIGSTOP)
            (void)sigaction(i, &s->action[i], NULL);
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}

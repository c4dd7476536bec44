/* Drivers bring compilers and threads along. Some compilers (LLVM's, in PoCL) put their own
   handlers in place of the caller's, also of Ctrl-C's: those are put back. And a thread that a
   driver starts must not be the one that gets a signal, which the caller may wait for in a thread
   of its own: it inherits that signals are blocked. */
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

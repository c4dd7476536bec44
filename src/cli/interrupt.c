#include "cli/cli.h"
#include <signal.h>

/* A signal handler has no other way to say something than a global. */
static volatile sig_atomic_t asked;

static void on_signal(int signal_number)
{
    (void)signal_number;
    asked = 1;
    signal(SIGINT, SIG_DFL); /* the second one ends the process */
    signal(SIGTERM, SIG_DFL);
}

void interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupt_asked(void)
{
    return asked != 0;
}

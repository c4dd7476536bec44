/* The processes of a sweep. Between fork and exec only async-signal-safe functions are called,
   as other threads may have held any lock. */
#include "cli/trials.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- command lines ---------------------------------------------------------------------- */

void words_add(words *w, const char *word)
{
    char *copy = w->count < COMMAND_WORDS ? strdup(word) : NULL;
    w->failed |= !copy;
    if (copy)
        w->item[w->count++] = copy;
}

void words_add_option(words *w, const char *name, const char *value)
{
    char dashed[64];
    snprintf(dashed, sizeof dashed, "--%s", name);
    words_add(w, dashed);
    if (value)
        words_add(w, value);
}

void words_free(words *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->item[i]);
    *w = (words){.count = 0};
}

void words_print(FILE *f, const words *w)
{
    for (int i = 0; i < w->count; i++)
        print_word(f, w->item[i]);
}

/* ---- starting --------------------------------------------------------------------------- */

static const char alone[] = "CORNU_RANKS=off"; /* the launcher's are this process, not its runs */

/* Copy of this process's environment with the variable of `alone`; NULL if there is no memory. */
static char **make_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **all = calloc(count + 2, sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        if (strncmp(environ[i], alone, strcspn(alone, "=") + 1) != 0)
            all[kept++] = environ[i];
    if (all)
        all[kept] = (char *)(size_t)alone;
    return all;
}

/* Run in a separate process group, as a Ctrl-C is for the sweep, which passes it on; the process
   does not outlive the sweep. */
static _Noreturn void become_trial(const words *w, char **environment, int errors, pid_t parent)
{
    static const char line[] = "cornu: /proc/self/exe: cannot be started\n";
    sigset_t none;
    sigemptyset(&none);
    int nowhere = open("/dev/null", O_RDWR);
    bool ready = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
                 getppid() == parent && dup2(nowhere, STDIN_FILENO) >= 0 &&
                 dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0;
    (void)close_range(STDERR_FILENO + 1, ~0u, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (ready)
        execve("/proc/self/exe", w->item, environment);
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(STATUS_FAILURE);
}

void trial_start(trial_job *job, int trial, const words *w)
{
    int ends[2] = {-1, -1};
    char **environment = make_environment();
    pid_t parent = getpid();
    *job = (trial_job){.trial = trial, .errors = -1};
    errno = ENOMEM;
    if (!w->failed && environment && pipe2(ends, O_CLOEXEC) == 0 &&
        fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        job->pid = fork();
    else
        job->pid = -1;
    if (job->pid == 0)
        become_trial(w, environment, ends[1], parent);
    if (job->pid < 0)
        job->size = (size_t)snprintf(job->said, sizeof job->said, "cannot start a process: %s",
                                     strerror(errno));
    free(environment);
    if (ends[1] >= 0)
        close(ends[1]);
    job->errors = ends[0];
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* Keep the end of its error output. */
static void listen_to(trial_job *job)
{
    char more[TRIAL_WHY];
    ssize_t n;
    while (job->errors >= 0 && (n = read(job->errors, more, sizeof more - 1)) > 0) {
        size_t added = (size_t)n, room = sizeof job->said - 1;
        size_t kept = job->size + added > room ? room - added : job->size;
        memmove(job->said, job->said + job->size - kept, kept);
        memcpy(job->said + kept, more, added);
        job->size = kept + added;
        job->said[job->size] = 0;
    }
}

void trials_wait(trial_job *jobs, int count)
{
    struct pollfd *from = calloc((size_t)count, sizeof *from);
    for (int i = 0; from && i < count; i++)
        from[i] = (struct pollfd){.fd = jobs[i].pid > 0 ? jobs[i].errors : -1, .events = POLLIN};
    (void)poll(from, from ? (nfds_t)count : 0, 100);
    for (int i = 0; i < count; i++)
        if (jobs[i].pid > 0)
            listen_to(&jobs[i]);
    free(from);
}

/* The last line that it said, without the program's name. */
static const char *last_line(trial_job *job)
{
    static const char program[] = "cornu: ";
    char *text = job->said;
    while (job->size > 0 && strchr("\n\r ", text[job->size - 1]))
        text[--job->size] = 0;
    char *newline = strrchr(text, '\n');
    text = newline ? newline + 1 : text;
    return strncmp(text, program, sizeof program - 1) == 0 ? text + sizeof program - 1 : text;
}

static void explain_end(trial_job *job, int status, trial_result *r)
{
    const char *line = last_line(job);
    if (WIFSIGNALED(status))
        snprintf(r->why, sizeof r->why, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (*line)
        snprintf(r->why, sizeof r->why, "%s", line);
    else
        snprintf(r->why, sizeof r->why, "ended with status %d", WEXITSTATUS(status));
}

bool trial_ended(trial_job *job, bool asked, trial_result *r)
{
    int status = 0;
    if (job->pid > 0 && waitpid(job->pid, &status, WNOHANG) != job->pid)
        return false;
    listen_to(job);
    bool stopped = WIFEXITED(status) ? is_interrupted(WEXITSTATUS(status))
                                     : asked; /* before it was ready to answer */
    bool done = job->pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK;
    r->state = done ? TRIAL_DONE : stopped ? TRIAL_STOPPED : TRIAL_FAILED;
    if (r->state == TRIAL_FAILED)
        explain_end(job, status, r);
    if (job->errors >= 0)
        close(job->errors);
    *job = (trial_job){.errors = -1};
    return true;
}

void trial_signal(const trial_job *job, int number)
{
    if (job->pid > 0)
        kill(job->pid, number);
}

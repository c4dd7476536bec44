/* Ctrl-C, SIGTERM and SIGHUP. A thread waits for them, so that they are answered at once, whatever
   the other threads are doing, and by code that may do more than a signal handler. */
#include "base/memory.h"
#include "cli/cli.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static atomic_bool asked;

/* The thread that holds the lock decides what happens next: no file is begun while it is held. */
static struct {
    pthread_mutex_t lock;
    progress *progress;
    interrupt_plan plan;
    int signals, number; /* how many, and the last that counted */
    bool offered;        /* the last line said that another signal ends the process */
    /* The model file that is being written. */
    bool saving;
    char path[PATH_SIZE], temporary[PATH_SIZE];
    int64_t done, total;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- answers ---------------------------------------------------------------------------- */

/* Wait until the name of a temporary file that has just been made is known. */
static void await_temporary(void)
{
    for (int i = 0; i < 100 && state.saving && !*state.temporary; i++) {
        pthread_mutex_unlock(&state.lock);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        pthread_mutex_lock(&state.lock);
    }
}

static void end_process(void)
{
    char line[PATH_SIZE + 64] = "stopped";
    await_temporary();
    if (state.saving && *state.temporary) {
        bool left = unlink(state.temporary) == 0; /* else it has its final name by now */
        snprintf(line, sizeof line, "stopped; %s is %s", state.path,
                 left ? "left as it was" : "saved");
    } else if (state.saving) { /* a device or pipe */
        snprintf(line, sizeof line, "stopped within %s", state.path);
    } else if (state.plan.say) {
        snprintf(line, sizeof line, "stopped without saving");
    }
    progress_answer(state.progress, line);
    _exit(interrupt_status(STATUS_INTERRUPTED));
}

/* The first signal during a save does not abandon the save. */
static void describe_saving(char *line, size_t size)
{
    char done[16], total[16];
    memory_human((double)state.done, done);
    memory_human((double)state.total, total);
    char *unit = strchr(done, ' ');
    if (unit && strcmp(unit, strchr(total, ' ')) == 0)
        *unit = 0; /* "120 of 510 MB" */
    int length = snprintf(line, size, "writing %s, %s of %s", state.path, done, total);
    state.offered = state.signals > 1;
    if (!state.offered)
        snprintf(line + length, size - (size_t)length, ", then stopping");
    else
        snprintf(line + length, size - (size_t)length,
                 "; press Ctrl-C again to stop; %s is left as it was", state.path);
}

static void answer(void)
{
    char line[2 * PATH_SIZE + 256];
    state.signals++;
    if (state.offered)
        end_process();
    state.offered = true;
    if (state.saving)
        describe_saving(line, sizeof line);
    else if (state.plan.say)
        state.plan.say(state.plan.user, line, sizeof line);
    else
        snprintf(line, sizeof line, "stopping, press Ctrl-C again to end at once");
    atomic_store(&asked, true);
    progress_answer(state.progress, line);
}

static void *watch(void *signals)
{
    int number;
    for (;;) {
        if (sigwait(signals, &number) != 0)
            continue;
        pthread_mutex_lock(&state.lock);
        if (number != SIGHUP || state.signals == 0) {
            state.number = number;
            answer();
        }
        pthread_mutex_unlock(&state.lock);
    }
    return NULL;
}

/* ---- for the commands ------------------------------------------------------------------- */

void interrupt_watch(progress *p)
{
    static sigset_t signals;
    pthread_t thread;
    struct sigaction hangup;
    state.progress = p;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* threads that are made later block them, too */
    if (pthread_create(&thread, NULL, watch, &signals) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* they end the process, as they would */
}

void interrupt_set_plan(const interrupt_plan *plan)
{
    static const interrupt_plan none;
    pthread_mutex_lock(&state.lock);
    state.plan = plan ? *plan : none;
    pthread_mutex_unlock(&state.lock);
}

void interrupt_saving(const cornu_saving *now)
{
    pthread_mutex_lock(&state.lock);
    if (now->complete || !state.saving)
        state.offered = false; /* the last line's offer for the next signal is no longer valid */
    state.saving = !now->complete;
    snprintf(state.path, sizeof state.path, "%s", now->path);
    snprintf(state.temporary, sizeof state.temporary, "%s", now->temporary ? now->temporary : "");
    state.done = now->done;
    state.total = now->total;
    pthread_mutex_unlock(&state.lock);
}

void interrupt_hold(void)
{
    pthread_mutex_lock(&state.lock);
}

void interrupt_release(void)
{
    pthread_mutex_unlock(&state.lock);
}

void interrupt_forget(void)
{
    interrupt_set_plan(NULL);
    interrupt_hold();
    state.progress = NULL;
    interrupt_release();
}

int interrupt_status(int status)
{
    return status == STATUS_INTERRUPTED && state.number ? 128 + state.number : status;
}

bool is_interrupted(int status)
{
    return status == STATUS_INTERRUPTED || status == 128 + SIGTERM || status == 128 + SIGHUP;
}

bool interrupt_asked(void *user)
{
    (void)user;
    return atomic_load(&asked);
}

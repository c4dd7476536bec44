#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faulty.h"
#include "support/made.h"
#include "support/scratch.h"
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static const char recipe[] = "model:\n"
                             "  input: [28, 28, 1]\n"
                             "  layers: [{Conv2D: {filters: 6, kernel_size: 3, activation: relu}}, "
                             "MaxPooling2D, Flatten, {Dense: {units: 10, activation: softmax}}]\n"
                             "compile: {optimizer: adam, loss: categorical_crossentropy, "
                             "metrics: [accuracy]}\n"
                             "fit: {batch_size: 10, epochs: 3, validation: test}\n";

static char *cache; /* that of the environment: made_open hides it */

int faulty_open(void **state)
{
    if (!cache)
        cache = strdup(getenv("XDG_CACHE_HOME"));
    if (made_open(state))
        return -1;
    setenv("XDG_CACHE_HOME", cache, 1);
    scratch_write("net.yaml", recipe, sizeof recipe - 1);
    made_mnist("mnist", 60, 20, 0);
    return 0;
}

static const char *const variables[] = {
    "OPENCL_SHIM_FAIL", "OPENCL_SHIM_COUNTS", "OPENCL_SHIM_NO_SOURCE", "OPENCL_SHIM_NO_OPTIONS",
    "OPENCL_SHIM_SKIP", "OPENCL_SHIM_MEMORY", "OPENCL_SHIM_LATE",      "OPENCL_SHIM_SAYS_MEMORY"};

int faulty_close(void **state)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("XDG_CACHE_HOME", cache, 1);
    return scratch_close(state);
}

void faulty_set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

void faulty_empty_cache(void)
{
    static int number;
    char name[32];
    snprintf(name, sizeof name, "cache-%d", number++);
    setenv("XDG_CACHE_HOME", scratch_path(name), 1);
}

/* Ends what hangs. */
static void wait_for(pid_t pid)
{
    enum { TICKS = 30000 };
    siginfo_t info;
    for (int i = 0; i < TICKS; i++) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(pid, SIGKILL);
}

program faulty_run(const char *const *arguments)
{
    program p = program_start(arguments);
    wait_for(p.pid);
    program_finish(&p);
    return p;
}

void faulty_expect_error(const program *p, const char *const *texts)
{
    if (p->status != 1 && p->status != 2)
        fail_msg("found status %d, \"%s\"; expected an error", p->status, p->err);
    if (count_lines(p->err) != 1)
        fail_msg("found \"%s\"; expected one line", p->err);
    for (; *texts; texts++)
        if (!strstr(p->err, *texts))
            fail_msg("found \"%s\"; expected \"%s\" in it", p->err, *texts);
}

static void look_into(const char *folder)
{
    char path[4096];
    DIR *stream = opendir(folder);
    for (struct dirent *e; stream && (e = readdir(stream));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (strstr(e->d_name, ".cornu-"))
            fail_msg("%s/%s was left behind", folder, e->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_type == DT_DIR)
            look_into(path);
    }
    if (stream)
        closedir(stream);
}

void faulty_expect_nothing_hidden(void)
{
    char *folder = strdup(scratch_path(""));
    look_into(folder);
    free(folder);
}

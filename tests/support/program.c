#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/program.h"
#include "support/scratch.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *read_all(FILE *f)
{
    size_t size = 0, room = 1 << 16;
    char *data = malloc(room + 1);
    fflush(f);
    for (ssize_t n; (n = pread(fileno(f), data + size, room - size, (off_t)size)) > 0;) {
        size += (size_t)n;
        if (size == room)
            data = realloc(data, (room *= 2) + 1);
    }
    data[size] = 0;
    return data;
}

static void set_limits(const program_limits *l)
{
    cpu_set_t allowed;
    if (l->cpu_seconds)
        setrlimit(RLIMIT_CPU, &(struct rlimit){l->cpu_seconds, l->cpu_seconds + 1});
    if (l->address_space)
        setrlimit(RLIMIT_AS, &(struct rlimit){l->address_space, l->address_space});
    if (l->file_size)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){l->file_size, l->file_size});
    if (!l->cpus || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && ++kept > l->cpus)
            CPU_CLR(cpu, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/* CORNU_TEST_PROGRAM: for tests on another machine than the build's. */
static const char *program_path(void)
{
    const char *other = getenv("CORNU_TEST_PROGRAM");
    return other ? other : PROGRAM;
}

program program_start_within(const char *const *arguments, int out, const program_limits *limits)
{
    program p = {.out_file = tmpfile(), .err_file = tmpfile()};
    const char *line[64] = {"cornu"};
    for (int i = 0; arguments[i] && i < 62; i++)
        line[i + 1] = arguments[i];
    p.pid = fork();
    if (p.pid == 0) {
        if (chdir(scratch_path("")) != 0)
            _exit(99);
        dup2(out >= 0 ? out : fileno(p.out_file), STDOUT_FILENO);
        dup2(fileno(p.err_file), STDERR_FILENO);
        set_limits(limits);
        execv(program_path(), (char *const *)(void *)line);
        _exit(99);
    }
    return p;
}

program program_start_into(const char *const *arguments, int out)
{
    return program_start_within(arguments, out, &(program_limits){.cpus = 0});
}

program program_start(const char *const *arguments)
{
    return program_start_into(arguments, -1);
}

void program_finish(program *p)
{
    int status = 0;
    wait4(p->pid, &status, 0, &p->usage);
    p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    p->out = read_all(p->out_file);
    p->err = read_all(p->err_file);
}

program program_run(const char *const *arguments)
{
    program p = program_start(arguments);
    program_finish(&p);
    return p;
}

void program_must_succeed(const program *p)
{
    if (p->status != 0 || *p->err)
        fail_msg("status %d, \"%s\"; expected 0, \"\"", p->status, p->err);
}

void program_free(program *p)
{
    free(p->out);
    free(p->err);
    fclose(p->out_file);
    fclose(p->err_file);
}

bool program_says(program *p, const char *text)
{
    for (int i = 0; i < 6000; i++) {
        char *out = read_all(p->out_file);
        bool said = strstr(out, text) != NULL;
        free(out);
        if (said)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

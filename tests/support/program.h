/* Running the built program in the scratch folder. */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct program {
    pid_t pid;
    FILE *out_file, *err_file;
    int status; /* exit status, or 128 + signal */
    char *out, *err;
    struct rusage usage; /* of it and the processes that it waited for */
} program;

/* Limits for a program; 0: none. */
typedef struct program_limits {
    rlim_t cpu_seconds;
    rlim_t address_space; /* bytes */
    rlim_t file_size;     /* bytes of any file: stands in for a full disk */
    int cpus;             /* maximum number, out of those that this process may use */
} program_limits;

/* Start `cornu ARGUMENTS` (NULL-ended, without the program's name). */
program program_start(const char *const *arguments);
/* The same with standard output redirected to this descriptor. */
program program_start_into(const char *const *arguments, int out);
/* The same within limits; `out` may be -1. */
program program_start_within(const char *const *arguments, int out, const program_limits *limits);
/* Wait, and read its output. */
void program_finish(program *p);
program program_run(const char *const *arguments);
/* Fail the running cmocka test unless it ended with status 0 and nothing on standard error. */
void program_must_succeed(const program *p);
void program_free(program *p);
/* Has it written `text` on standard output by now? Waits up to a minute. */
bool program_says(program *p, const char *text);
int count_lines(const char *text);

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif

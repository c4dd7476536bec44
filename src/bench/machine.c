/* The report's description of the machine. */
#include "bench/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Remove every `what` from `line`. */
static void strip(char *line, const char *what)
{
    size_t length = strlen(what);
    for (char *found = strstr(line, what); found; found = strstr(found, what))
        memmove(found, found + length, strlen(found + length) + 1);
}

/* The value of the first line of /proc/cpuinfo that begins with `key`. */
static bool cpuinfo(const char *key, char *value, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        value[strcspn(value, "\n")] = 0;
        found = *value != 0;
    }
    fclose(f);
    return found;
}

#ifdef __clang__
static const char compiler[] = "clang " __clang_version__;
#else
static const char compiler[] = "GCC " __VERSION__;
#endif

void bench_machine_read(bench_machine *machine)
{
    *machine = (bench_machine){
        .cores = threads_default(), .memory_bytes = memory_total(), .compiler = compiler};
    struct utsname names;
    if (uname(&names) == 0) {
        snprintf(machine->system, sizeof machine->system, "%s %.60s", names.sysname, names.release);
        snprintf(machine->cpu, sizeof machine->cpu, "%s", names.machine);
    }
    cpuinfo("model name", machine->cpu, sizeof machine->cpu);
    static const char *const noise[] = {"(R)", "(r)", "(TM)", "(tm)", " CPU", " Processor"};
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        strip(machine->cpu, noise[i]);
}

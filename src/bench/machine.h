/* The machine, and the compiler of this library, as the report describes them. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdint.h>

typedef struct bench_machine {
    char cpu[128], system[128];
    int cores; /* physical cores that this process may use */
    int64_t memory_bytes;
    const char *compiler; /* its name, "GCC" or "clang", and version */
} bench_machine;

void bench_machine_read(bench_machine *machine);
#endif

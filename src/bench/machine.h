/* What the report says of the machine, and of the compiler that made this library. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdint.h>

typedef struct bench_machine {
    char cpu[128], system[128];
    int cores; /* physical, that this process may use */
    int64_t memory_bytes;
    const char *compiler; /* its name, "GCC" or "clang", and version */
} bench_machine;

void bench_machine_read(bench_machine *machine);
#endif

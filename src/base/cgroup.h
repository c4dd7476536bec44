/* Limits of this process's Linux control group (versions 1 and 2), with those of all parent groups.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdint.h>

/* Bytes left, and bytes in all; INT64_MAX without a limit. Page cache that the kernel would drop
   first counts as left. */
int64_t cgroup_memory_left(void);
int64_t cgroup_memory_limit(void);
/* CPU time per second in cores, e.g. 1.5; 0 without a limit. */
double cgroup_cpus(void);

#endif

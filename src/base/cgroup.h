/* What the Linux control group of this process allows (versions 1 and 2, and every parent group).
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdint.h>

/* Bytes left, and bytes in all; INT64_MAX where there is no limit. Page cache that the kernel would
   give up first counts as left. */
int64_t cgroup_memory_left(void);
int64_t cgroup_memory_limit(void);
/* CPU time per second in cores, e.g. 1.5; 0 where there is no limit. */
double cgroup_cpus(void);

#endif

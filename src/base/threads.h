/* The pool of worker threads. The caller says into how many tasks the work is divided. Each thread
   begins with a range of consecutive tasks, and then steals from the other threads' ranges. Which
   thread runs a task, and when, is not defined, and a task's results must not depend on it. Results
   have the same bits for any number of threads as long as that number decides at most which outputs
   are computed together, and never how a sum is split (device/cpu/cpu.h: the bit rule). */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include "base/status.h"

typedef struct threads threads;

/* `count` threads including the caller; 0: threads_default(). The workers spin a few microseconds
   for new work, then sleep. */
cornu_status threads_open(int count, threads **pool);
void threads_close(threads *pool);
int threads_count(const threads *pool);
/* Physical cores that this process may use (affinity and cgroup quota respected), at least 1. */
int threads_default(void);

/* Called once for every task 0..count-1; `worker` is 0..threads_count-1, for scratch memory. */
typedef void threads_work(void *context, int64_t task, int worker);
/* Run `count` tasks and return when they are done. Not reentrant. While a task runs, denormal
   numbers count as 0. */
void threads_run(threads *pool, int64_t count, threads_work *work, void *context);

/* The range [begin, end) of 0..total-1 that belongs to task `task` of `count`, divided at multiples
   of `grain`. */
static inline void threads_range(int64_t total, int64_t count, int64_t task, int64_t grain,
                                 int64_t *begin, int64_t *end)
{
    int64_t grains = (total + grain - 1) / grain;
    int64_t first = grains * task / count * grain, last = grains * (task + 1) / count * grain;
    *begin = first < total ? first : total;
    *end = last < total ? last : total;
}

#endif

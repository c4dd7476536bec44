/* One job at a time: `count` tasks. Each thread has a range of tasks and takes them from its front;
   then it steals from the back of the other threads' ranges. As long as all threads run, each gets
   the same range in every job, and the data it wrote in one job is in its caches for the next.

   A range's tasks are one 64-bit number: the job's number (upper half) and the range's front and
   back. A thread takes a task by compare-and-swap on it. The job cannot end until the thread has
   counted that task as done, so the job's other fields, written before the ranges, are still valid.
   Hence a worker that was delayed, however long, can neither take part in a finished job nor delay
   a job of which it took no task.

   The cost of a small job is the number of times that a cache line goes from core to core, about
   0.15 microseconds each. All that a worker needs is therefore in the cache line of its range,
   which it polls. */
#include "base/threads.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/memory.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, SPIN_NANOSECONDS = 40000, CACHE_LINE = 64 };

/* A thread's range of the job: tasks front to back - 1. */
typedef struct task_range {
    _Alignas(CACHE_LINE) _Atomic uint64_t tasks; /* job << 32 | front << 16 | back */
    /* the same in all ranges: */
    _Atomic(threads_work *) work;
    _Atomic(void *) context;
    _Atomic int64_t first; /* number of the job's task 0 */
} task_range;

enum { TASKS_MOST = UINT16_MAX }; /* of a job */

typedef struct worker {
    threads *pool;
    pthread_t thread;
    int index; /* from 1; 0 is the caller */
} worker;

struct threads {
    int count;     /* including the caller */
    int started;   /* workers that were started */
    pid_t process; /* the process that owns the threads: a fork has none */
    bool spin;
    worker *workers;    /* [count - 1] */
    task_range *ranges; /* [count] */
    pthread_mutex_t lock;
    pthread_cond_t work_there, work_done;
    uint32_t job; /* number of the current job; only the caller uses it */

    /* Tasks of the job not yet counted as done. The caller counts its own only before it sleeps. */
    _Alignas(CACHE_LINE) _Atomic uint32_t left;
    atomic_bool caller_sleeps;
    _Alignas(CACHE_LINE) atomic_int sleepers;
    atomic_bool closing;
};

/* Denormals (below 1e-38) become 0 while tasks run: the moments of a unit that no longer learns
   decay into that range, where each operation costs some hundred cycles. */
static inline unsigned flush_denormals_begin(void)
{
#if defined(__SSE__)
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040u); /* flush to zero, denormals are zero */
    return before;
#else
    return 0;
#endif
}

static inline void flush_denormals_end(unsigned before)
{
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr(before);
#else
    (void)before;
#endif
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Prefetch a cache line for writing. */
static inline void prefetch_range(const task_range *r)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("prefetchw %0" : : "m"(r->tasks));
#else
    __builtin_prefetch(r, 1);
#endif
}

/* Take a task of the range: the first, or the last (stealing). False where none is left. */
static bool take(task_range *r, bool last, uint32_t *task)
{
    uint64_t tasks = atomic_load_explicit(&r->tasks, memory_order_acquire);
    for (;;) {
        uint32_t front = tasks >> 16 & TASKS_MOST, back = tasks & TASKS_MOST;
        if (front >= back)
            return false;
        *task = last ? back - 1 : front;
        if (atomic_compare_exchange_weak_explicit(&r->tasks, &tasks,
                                                  last ? tasks - 1 : tasks + (1u << 16),
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
}

/* Take and run a range's tasks until none is left. Returns their number. */
static uint32_t run_range(task_range *r, bool last, int index)
{
    uint32_t count = 0, task;
    for (; take(r, last, &task); count++) {
        threads_work *work = atomic_load_explicit(&r->work, memory_order_relaxed);
        void *context = atomic_load_explicit(&r->context, memory_order_relaxed);
        work(context, atomic_load_explicit(&r->first, memory_order_relaxed) + task, index);
    }
    return count;
}

/* `count` tasks are done. */
static void count_done(threads *pool, uint32_t count)
{
    if (count == 0 || atomic_fetch_sub(&pool->left, count) != count ||
        !atomic_load(&pool->caller_sleeps))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->work_done);
    pthread_mutex_unlock(&pool->lock);
}

static uint32_t job_of(const task_range *r)
{
    return (uint32_t)(atomic_load_explicit(&r->tasks, memory_order_acquire) >> 32);
}

/* Wait for a job other than `seen`; false when the pool closes. */
static bool wait_for_job(threads *pool, const task_range *mine, uint32_t seen)
{
    int64_t until = pool->spin ? clock_nanoseconds() + SPIN_NANOSECONDS : 0;
    do {
        for (int i = 0; i < 16; i++) {
            prefetch_range(mine);
            if (job_of(mine) != seen)
                return true;
            if (pool->spin)
                pause_briefly();
        }
    } while (pool->spin && clock_nanoseconds() < until &&
             !atomic_load_explicit(&pool->closing, memory_order_relaxed));
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(
        &pool->sleepers,
        1); /* from here on either run_job sees the sleeper, or the sleeper sees the job */
    while (job_of(mine) == seen && !atomic_load(&pool->closing))
        pthread_cond_wait(&pool->work_there, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
    return !atomic_load(&pool->closing);
}

static void *worker_main(void *argument)
{
    const worker *me = argument;
    threads *pool = me->pool;
    task_range *mine = &pool->ranges[me->index];
    uint32_t seen = 0;
    flush_denormals_begin();
    while (wait_for_job(pool, mine, seen)) {
        seen = job_of(mine);
        for (int i = 0; i < pool->count; i++)
            count_done(pool,
                       run_range(&pool->ranges[(me->index + i) % pool->count], i > 0, me->index));
    }
    return NULL;
}

/* `mine`: number of tasks that the caller has run. */
static void wait_for_workers(threads *pool, uint32_t mine)
{
    int64_t until = pool->spin ? clock_nanoseconds() + SPIN_NANOSECONDS : 0;
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(&pool->left, memory_order_acquire) == mine)
                return;
            if (pool->spin)
                pause_briefly();
        }
    } while (pool->spin && clock_nanoseconds() < until);
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    atomic_fetch_sub(&pool->left, mine);
    while (atomic_load(&pool->left) > 0)
        pthread_cond_wait(&pool->work_done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

static void run_job(threads *pool, int64_t first, uint32_t count, threads_work *work, void *context)
{
    const uint64_t job = ++pool->job;
    atomic_store_explicit(&pool->left, count, memory_order_relaxed);
    for (int i = pool->count - 1; i >= 0; i--) {
        task_range *r = &pool->ranges[i];
        int64_t front, back;
        threads_range(count, pool->count, i, 1, &front, &back);
        atomic_store_explicit(&r->work, work, memory_order_relaxed);
        atomic_store_explicit(&r->context, context, memory_order_relaxed);
        atomic_store_explicit(&r->first, first, memory_order_relaxed);
        atomic_store_explicit(&r->tasks, job << 32 | (uint64_t)front << 16 | (uint64_t)back,
                              memory_order_release);
    }
    if (atomic_fetch_add(&pool->sleepers, 0) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->work_there);
        pthread_mutex_unlock(&pool->lock);
    }
    uint32_t mine = 0;
    for (int i = 0; i < pool->count; i++)
        mine += run_range(&pool->ranges[i], i > 0, 0);
    wait_for_workers(pool, mine);
}

void threads_run(threads *pool, int64_t count, threads_work *work, void *context)
{
    unsigned before = flush_denormals_begin();
    if (pool->count == 1 || count == 1) {
        for (int64_t i = 0; i < count; i++)
            work(context, i, 0);
    } else {
        for (int64_t first = 0; first < count; first += TASKS_MOST) {
            int64_t left = count - first;
            run_job(pool, first, (uint32_t)(left < TASKS_MOST ? left : TASKS_MOST), work, context);
        }
    }
    flush_denormals_end(before);
}

/* The process's affinity as a set of `*cpus` bits; NULL on failure. Release with CPU_FREE. */
static cpu_set_t *affinity(int *cpus)
{
    for (*cpus = 1024; *cpus <= 1 << 20; *cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)*cpus);
        if (!set)
            return NULL;
        if (sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)*cpus), set) == 0)
            return set;
        CPU_FREE(set);
        if (errno != EINVAL)
            return NULL;
    }
    return NULL;
}

/* The lowest CPU number on the same physical core ("0,32" or "0-1"). */
static int core_leader(int cpu)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "re");
    if (!f)
        return cpu;
    int leader = cpu;
    if (fscanf(f, "%d", &leader) != 1)
        leader = cpu;
    fclose(f);
    return leader;
}

static int limit_by_quota(int cores)
{
    double quota = ceil(cgroup_cpus());
    if (quota >= 1 && quota < cores)
        cores = (int)quota;
    return cores > 0 ? cores : 1;
}

int threads_default(void)
{
    int cpus = 0, cores = 0;
    cpu_set_t *set = affinity(&cpus);
    if (!set)
        return 1;
    size_t size = CPU_ALLOC_SIZE((size_t)cpus);
    cpu_set_t *leaders = CPU_ALLOC((size_t)cpus);
    if (!leaders) {
        CPU_FREE(set);
        return 1;
    }
    CPU_ZERO_S(size, leaders);
    for (int cpu = 0; cpu < cpus; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, size, set))
            continue;
        int leader = core_leader(cpu);
        if (leader >= 0 && leader < cpus)
            CPU_SET_S((size_t)leader, size, leaders);
    }
    cores = CPU_COUNT_S(size, leaders);
    CPU_FREE(leaders);
    CPU_FREE(set);
    return limit_by_quota(cores);
}

/* Logical CPUs (hyper-threads included) that the process may use at the same time. */
static int usable_cpus(void)
{
    int cpus = 0;
    cpu_set_t *set = affinity(&cpus);
    if (!set)
        return 1;
    int count = CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)cpus), set);
    CPU_FREE(set);
    return limit_by_quota(count);
}

static cornu_status choose_count(int *count)
{
    const char *setting = *count == 0 ? env_get(ENV_THREADS) : NULL;
    if (setting) {
        char *end;
        errno = 0;
        long value = strtol(setting, &end, 10);
        if (errno || *end || value < 1 || value > THREADS_MAX)
            return status_fail(CORNU_INVALID,
                               "CORNU_THREADS: found \"%s\"; expected a whole number from 1 to %d",
                               setting, THREADS_MAX);
        *count = (int)value;
    } else if (*count == 0) {
        *count = threads_default();
        *count = *count > THREADS_MAX ? THREADS_MAX : *count;
    }
    if (*count < 1 || *count > THREADS_MAX)
        return status_fail(CORNU_INVALID, "threads: found %d; expected a whole number from 1 to %d",
                           *count, THREADS_MAX);
    return CORNU_OK;
}

static cornu_status start_workers(threads *pool)
{
    /* Signals are delivered to the caller's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    for (int i = 0; i < pool->count - 1 && !error; i++) {
        worker *w = &pool->workers[i];
        *w = (worker){.pool = pool, .index = i + 1};
        error = pthread_create(&w->thread, NULL, worker_main, w);
        if (!error) {
            char name[16];
            snprintf(name, sizeof name, "cornu-%hu", (unsigned short)(i + 1));
            pthread_setname_np(w->thread, name);
            pool->started++;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return status_fail(CORNU_OUT_OF_MEMORY, "threads: cannot start thread %d of %d: %s",
                           pool->started + 2, pool->count, strerror(error));
    return CORNU_OK;
}

cornu_status threads_open(int count, threads **out)
{
    *out = NULL;
    TRY(choose_count(&count));
    threads *pool;
    TRY(memory_new_aligned(sizeof *pool, "threads", &pool));
    pool->count = count;
    pool->process = getpid();
    pool->spin = count <= usable_cpus();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work_there, NULL);
    pthread_cond_init(&pool->work_done, NULL);
    cornu_status status = memory_new((size_t)count, sizeof(worker), "threads", &pool->workers);
    if (status == CORNU_OK)
        status = memory_new_aligned((size_t)count * sizeof(task_range), "threads", &pool->ranges);
    if (status == CORNU_OK)
        status = start_workers(pool);
    if (status != CORNU_OK) {
        threads_close(pool);
        return status;
    }
    *out = pool;
    return CORNU_OK;
}

void threads_close(threads *pool)
{
    if (!pool || pool->process != getpid())
        return; /* in a fork's copy the workers' state is unknown */
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->closing, true);
    pthread_cond_broadcast(&pool->work_there);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->work_done);
    pthread_cond_destroy(&pool->work_there);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    memory_free_aligned(pool->ranges);
    memory_free_aligned(pool);
}

int threads_count(const threads *pool)
{
    return pool->count;
}

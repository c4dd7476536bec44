/* The communication thread of a process: it runs one job after the other, and meanwhile
   exchanges heartbeats with its neighbours. */
#ifndef PARALLEL_ENGINE_H
#define PARALLEL_ENGINE_H

#include "base/threads.h"
#include "parallel/ranks.h"
#include <pthread.h>

enum {
    RANKS_MOST = 1024,
    NEIGHBOURS_MOST = 10, /* 1 << NEIGHBOURS_MOST is RANKS_MOST */
    RANKS_LINE = 1024,
    RANKS_NAME = 96,
    BUCKET = 1 << 20, /* maximum floats per bucket */
    EXCHANGES = RANKS_BUCKETS
};

/* A heartbeat, or the last one. */
typedef enum beat_kind { BEAT_ALIVE, BEAT_LEAVES, BEAT_FAILED } beat_kind;
typedef struct beat {
    int32_t kind;
    char line[RANKS_LINE]; /* BEAT_FAILED: what happened */
} beat;

/* One of the ranks at distance 1, 2, 4, ...: this rank exchanges messages with these. */
typedef struct neighbour {
    int rank;
    beat in, out;
    bool listens, sends; /* a message is under way */
    bool left;           /* its last heartbeat has arrived */
    double seen, sent;   /* times; seen is that of its last message, too */
} neighbour;

/* A job's function, which the thread calls. */
typedef cornu_status engine_work(cornu_ranks *r, void *context);
typedef struct job {
    engine_work *work;
    void *context;
    bool done;
    struct job *next;
} job;

/* An all-reduce whose numbers may still be computed, or its second half, an all-gather. */
typedef struct addition {
    job job;
    float *values;
    ranks_numbers numbers;
    bool gathers;  /* an all-gather */
    int64_t ready; /* under the lock: number of values that are ready */
    bool joins;    /* this rank takes part */
    bool all;      /* all ranks take part */
} addition;

/* Messages to and from a rank. */
typedef struct exchange {
    int with;
    bool sends, receives; /* a message is under way */
} exchange;

/* A block of the same size on each rank, which the ranks of one host can read. */
typedef struct ranks_block {
    float *own; /* NULL: no block */
    size_t bytes;
    bool is_shared;                       /* a mapped file, else private memory */
    int file;                             /* of this rank */
    const float *others[NEIGHBOURS_MOST]; /* the neighbours' blocks; NULL: cannot be read */
    bool any_read;                        /* any rank reads another's block */
} ranks_block;

struct cornu_ranks {
    const char *(*open)(ranks_transport **out);
    ranks_transport *transport;
    int rank, count, neighbour_count;
    char (*names)[RANKS_NAME]; /* [count]; NULL: the count is too large, or not a power of two */
    bool agreed;               /* all ranks know of the failure, so none has to be notified */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* the fields below, up to `adding`, are under the lock */
    job *jobs; /* to be run, in order */
    bool closing, ended;
    cornu_status failed; /* permanent, with the line `failure` */
    char failure[RANKS_LINE];

    addition adding;
    ranks_block block; /* made and freed while no job runs */

    /* fields below are used by the thread only */
    neighbour neighbours[NEIGHBOURS_MOST];
    double looked;
    threads *adder; /* a pool of one thread: same kernels as in the other pools */
    exchange exchanges[EXCHANGES];
    float *scratch;   /* [EXCHANGES][BUCKET / 2]: received floats */
    uint16_t *packed; /* [EXCHANGES][BUCKET / 2]: bfloat16 to send */
};

/* Run `work` on the thread and wait for it. If it fails, the communicator has failed. */
cornu_status engine_run(cornu_ranks *r, engine_work *work, void *context);
/* engine_run in two calls; the job must stay valid until engine_end. */
void engine_begin(cornu_ranks *r, job *j);
cornu_status engine_end(cornu_ranks *r, const job *j);

/* ---- within `work` ---- */

/* Send and receive at the same time. */
cornu_status engine_exchange(cornu_ranks *r, int with, const void *out, size_t out_size, void *in,
                             size_t in_size);
cornu_status engine_share(cornu_ranks *r, const void *own, void *all,
                          size_t size); /* ranks_share */
/* engine_exchange in two calls, with number `slot` (below EXCHANGES), which both ranks use for
   the same messages; at most TRANSPORT_MOST bytes. Call engine_pause if there is no other work
   and nothing has arrived since the last test. */
cornu_status engine_begin_exchange(cornu_ranks *r, int slot, int with, const void *out,
                                   size_t out_size, void *in, size_t in_size);
cornu_status engine_test_exchange(cornu_ranks *r, int slot, bool *done);
cornu_status engine_pause(cornu_ranks *r, double since);
/* The neighbour's memory, at distance 1 << k, that corresponds to `own`, if that is in the block
   and can be read; else NULL. */
const void *engine_other(const cornu_ranks *r, int k, const void *own);
/* True if any rank reads these numbers in another rank's memory. */
bool engine_any_reads(const cornu_ranks *r, const float *own);
/* True if *value, which other threads change under the lock, is at least `least`. */
bool engine_reached(cornu_ranks *r, const int64_t *value, int64_t least);
/* Wait until engine_reached is true. */
cornu_status engine_await(cornu_ranks *r, const int64_t *value, int64_t least);

/* ---- for ranks.c ---- */

void *engine_thread(void *ranks);
/* Only the first failure is kept; both functions return it. */
cornu_status engine_fail(cornu_ranks *r, cornu_status status, const char *line);
cornu_status engine_failure(cornu_ranks *r);
/* Call under the lock: waits until something has changed, at most `seconds`. */
void engine_wait(cornu_ranks *r, double seconds);

#endif

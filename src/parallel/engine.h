/* The thread that has all messages of a process: it runs one job after the other, and exchanges
   signs of life with some of the others meanwhile. */
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
    BUCKET = 1 << 20, /* floats of a bucket, at most */
    EXCHANGES = RANKS_BUCKETS
};

/* A sign of life, or the last one. */
typedef enum beat_kind { BEAT_ALIVE, BEAT_LEAVES, BEAT_FAILED } beat_kind;
typedef struct beat {
    int32_t kind;
    char line[RANKS_LINE]; /* BEAT_FAILED: what happened */
} beat;

/* One of the ranks at distance 1, 2, 4, ...: those that messages are exchanged with. */
typedef struct neighbour {
    int rank;
    beat in, out;
    bool listens, sends; /* a message is under way */
    bool left;           /* it has said its last */
    double seen, sent;   /* of the clock; seen: its last, too */
} neighbour;

/* What is to be done by the thread. */
typedef cornu_status engine_work(cornu_ranks *r, void *context);
typedef struct job {
    engine_work *work;
    void *context;
    bool done;
    struct job *next;
} job;

/* A sum whose numbers are still being made, or the second half of one. */
typedef struct addition {
    job job;
    float *values;
    ranks_numbers numbers;
    bool gathers;  /* parts that have been added */
    int64_t ready; /* under the lock: of the values, from the first; -1: not even what is shared */
    bool joins;    /* this rank does */
    bool all;      /* all do */
} addition;

/* Messages to and from a rank. */
typedef struct exchange {
    int with;
    bool sends, receives; /* a message is under way */
} exchange;

/* Of all ranks alike: memory that those of a host can read of each other. */
typedef struct ranks_block {
    float *own; /* NULL: there is none */
    size_t bytes;
    bool is_shared;                       /* a file's (else of this process alone), */
    int file;                             /* this one's */
    const float *others[NEIGHBOURS_MOST]; /* the neighbours'; NULL: cannot be read */
    bool any_read;                        /* on any rank */
} ranks_block;

struct cornu_ranks {
    const char *(*open)(ranks_transport **out);
    ranks_transport *transport;
    int rank, count, neighbour_count;
    char (*names)[RANKS_NAME]; /* [count]; NULL: they are too many, or no power of two */
    bool agreed;               /* that something is wrong: nobody has to be told */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* below, under the lock */
    job *jobs; /* to be run, in order */
    bool closing, ended;
    cornu_status failed; /* with the line, and for good */
    char failure[RANKS_LINE];

    addition adding;
    ranks_block block; /* made and freed while no job runs */

    /* the thread's own */
    neighbour neighbours[NEIGHBOURS_MOST];
    double looked;
    threads *adder; /* of one thread: numbers are added as in the other pools */
    exchange exchanges[EXCHANGES];
    float *scratch;   /* [EXCHANGES][BUCKET / 2]: what comes in */
    uint16_t *packed; /* [EXCHANGES][BUCKET / 2]: what is sent as bfloat16 */
};

/* Run `work` on the thread and wait for it. Where it fails, so has the whole. */
cornu_status engine_run(cornu_ranks *r, engine_work *work, void *context);
/* The two halves of it; the job stays where it is until the second. */
void engine_begin(cornu_ranks *r, job *j);
cornu_status engine_end(cornu_ranks *r, const job *j);

/* ---- within `work` ---- */

/* Send and receive at once. */
cornu_status engine_exchange(cornu_ranks *r, int with, const void *out, size_t out_size, void *in,
                             size_t in_size);
cornu_status engine_share(cornu_ranks *r, const void *own, void *all,
                          size_t size); /* ranks_share */
/* The two halves of it, of number `slot` (below EXCHANGES), which both ranks use for the same
   messages; at most TRANSPORT_MOST bytes. engine_pause where there is nothing else to do and
   nothing has come in since then. */
cornu_status engine_begin_exchange(cornu_ranks *r, int slot, int with, const void *out,
                                   size_t out_size, void *in, size_t in_size);
cornu_status engine_test_exchange(cornu_ranks *r, int slot, bool *done);
cornu_status engine_pause(cornu_ranks *r, double since);
/* What the neighbour at distance 1 << k has in the place of `own`, where that lies in the block and
   can be read; else NULL. */
const void *engine_other(const cornu_ranks *r, int k, const void *own);
/* Does any rank read these numbers in another's memory? */
bool engine_any_reads(const cornu_ranks *r, const float *own);
/* Is *value, which others change under the lock, at least so much? */
bool engine_reached(cornu_ranks *r, const int64_t *value, int64_t least);
/* Wait until it is. */
cornu_status engine_await(cornu_ranks *r, const int64_t *value, int64_t least);

/* ---- for ranks.c ---- */

void *engine_thread(void *ranks);
/* The first failure counts, and is what both return. */
cornu_status engine_fail(cornu_ranks *r, cornu_status status, const char *line);
cornu_status engine_failure(cornu_ranks *r);
/* Under the lock: until something has changed, at most so long. */
void engine_wait(cornu_ranks *r, double seconds);

#endif

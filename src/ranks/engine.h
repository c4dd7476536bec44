/* The thread that has all messages of a process: it runs one job after the other, and exchanges
   signs of life with some of the others meanwhile. */
#ifndef RANKS_ENGINE_H
#define RANKS_ENGINE_H

#include "base/threads.h"
#include "ranks/ranks.h"
#include <pthread.h>

enum {
    RANKS_MOST = 1024,
    NEIGHBOURS_MOST = 10, /* 1 << NEIGHBOURS_MOST is RANKS_MOST */
    RANKS_LINE = 1024,
    RANKS_NAME = 96,
    BUCKET = 1 << 20 /* floats that are added at a time */
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

typedef struct job job;

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

    /* the thread's own */
    neighbour neighbours[NEIGHBOURS_MOST];
    double looked;
    threads *adder; /* of one thread: numbers are added as in the other pools */
    float *scratch; /* [BUCKET / 2] */
};

/* Run `work` on the thread and wait for it. Where it fails, so has the whole. */
typedef cornu_status engine_work(cornu_ranks *r, void *context);
cornu_status engine_run(cornu_ranks *r, engine_work *work, void *context);
/* Within `work`. Send and receive at once; ranks_share. */
cornu_status engine_exchange(cornu_ranks *r, int with, const void *out, size_t out_size, void *in,
                             size_t in_size);
cornu_status engine_share(cornu_ranks *r, const void *own, void *all, size_t size);

#endif

/* The state of a loader: for loader.c, which reads, and loader_known.c, which reports the
   results. */
#ifndef DATA_FOLDERS_LOADER_STATE_H
#define DATA_FOLDERS_LOADER_STATE_H

#include "data/folders/loader.h"
#include "data/folders/pixels.h"
#include "data/images/image_budget.h"
#include <cornu/images.h>
#include <pthread.h>
#include <sys/types.h>

enum { WORKERS_MOST = 256 };

typedef enum sample_state {
    SAMPLE_EMPTY,
    SAMPLE_DECODING,
    SAMPLE_READY,
    SAMPLE_UNUSABLE
} sample_state;

typedef struct sample {
    uint8_t state;   /* sample_state */
    bool read, told; /* its file could be read once; its problem has been reported */
} sample;

/* The result of reading a file that all ranks know; one of them has read it. */
typedef enum rank_finding { FILE_UNKNOWN, FILE_READABLE, FILE_LOST } rank_finding;

struct loader {
    image_files files;
    int64_t count;
    data_request request;
    pixels pixels;
    image_budget budget; /* shared by all workers */
    skips skipped;
    pthread_t workers[WORKERS_MOST];
    int worker_count;
    pid_t process; /* the process that owns the workers: a fork has none */

    bool finished;  /* every file has been read */
    uint8_t *found; /* rank_finding [count], for the caller's thread alone; NULL: none yet */

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    /* The lock protects everything below. */
    bool closing;
    bool divided;    /* among ranks: only samples on one of the two lists are read */
    sample *samples; /* [count] */
    /* The samples needed next, in this order. */
    const void *wanted_by;
    const int64_t *list;
    int64_t list_begin, list_count;
    int64_t reached;      /* position in the list: next for loader_next */
    int64_t ahead;        /* position in the list: next for a worker */
    int64_t sweep;        /* position among all samples: next for a worker when the list is done; */
    const int64_t *later; /* for one rank: among these */
    int64_t later_begin, later_count;
    cornu_data_loading report;
};

/* Are decoded samples kept in memory? */
static inline bool keeps(const loader *l)
{
    return l->pixels.kind != PIXELS_PASSING;
}

static inline rank_finding found_of(const loader *l, int64_t at)
{
    return l->found ? (rank_finding)l->found[at] : FILE_UNKNOWN;
}

#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "support/rank_threads.h"
#include <cornu/parallel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message that was sent and not yet received. */
typedef struct parcel {
    int from, to, tag;
    size_t size;
    struct parcel *next;
    char bytes[];
} parcel;

typedef struct request {
    bool used, is_receive;
    void *bytes;
    size_t size;
    int from, tag;
} request;

typedef struct thread_transport {
    ranks_transport base; /* first member */
    request requests[TRANSPORT_REQUESTS];
} thread_transport;

static struct {
    pthread_mutex_t lock;
    parcel *parcels;
    bool cut[RANK_THREADS_MOST][RANK_THREADS_MOST];
    int count, opened;
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *send_bytes(ranks_transport *base, int number, const void *bytes, size_t size,
                              int to, int tag)
{
    thread_transport *t = (thread_transport *)base;
    parcel *p = malloc(sizeof *p + size), **last = &net.parcels;
    *p = (parcel){.from = base->rank, .to = to, .tag = tag, .size = size};
    memcpy(p->bytes, bytes, size);
    pthread_mutex_lock(&net.lock);
    while (*last)
        last = &(*last)->next;
    *last = p;
    pthread_mutex_unlock(&net.lock);
    t->requests[number] = (request){.used = true};
    return NULL;
}

static const char *receive_bytes(ranks_transport *base, int number, void *bytes, size_t size,
                                 int from, int tag)
{
    thread_transport *t = (thread_transport *)base;
    t->requests[number] = (request){true, true, bytes, size, from, tag};
    return NULL;
}

/* Take the oldest message that fits. */
static bool take(const ranks_transport *base, const request *r)
{
    bool found = false;
    pthread_mutex_lock(&net.lock);
    for (parcel **at = &net.parcels; !found && *at; at = &(*at)->next) {
        parcel *p = *at;
        if (p->from != r->from || p->to != base->rank || p->tag != r->tag)
            continue;
        if (net.cut[p->from][p->to])
            break;
        if (p->size <= r->size)
            memcpy(r->bytes, p->bytes, p->size);
        *at = p->next;
        free(p);
        found = true;
        break;
    }
    pthread_mutex_unlock(&net.lock);
    return found;
}

static const char *test_request(ranks_transport *base, int number, bool *done)
{
    thread_transport *t = (thread_transport *)base;
    request *r = &t->requests[number];
    *done = !r->is_receive || take(base, r);
    if (*done)
        *r = (request){0};
    return NULL;
}

static void close_transport(ranks_transport *base, bool together)
{
    (void)together;
    free(base);
}

static const char *open_transport(ranks_transport **out)
{
    thread_transport *t = calloc(1, sizeof *t);
    pthread_mutex_lock(&net.lock);
    t->base = (ranks_transport){.rank = net.opened++,
                                .count = net.count,
                                .send = send_bytes,
                                .receive = receive_bytes,
                                .test = test_request,
                                .close = close_transport};
    pthread_mutex_unlock(&net.lock);
    *out = &t->base;
    return NULL;
}

/* ---- running ---------------------------------------------------------------------------- */

typedef struct rank_thread {
    pthread_t thread;
    rank_work *work;
    void *context;
    int rank; /* -1: another rank failed before this one joined */
    rank_result result;
} rank_thread;

static void *run_rank(void *context)
{
    rank_thread *t = context;
    cornu_ranks *ranks;
    rank_result own = {.status = ranks_join(open_transport, &ranks)};
    t->rank = ranks ? cornu_ranks_number(ranks) : -1;
    double began = clock_seconds();
    if (own.status == CORNU_OK)
        own.status = t->work(ranks, t->context);
    own.seconds = clock_seconds() - began;
    snprintf(own.message, sizeof own.message, "%s", cornu_last_error());
    cornu_ranks_close(ranks);
    t->result = own;
    return NULL;
}

void rank_threads_run(int count, rank_work *work, void *context, rank_result *results)
{
    rank_thread threads[RANK_THREADS_MOST];
    net.count = count;
    net.opened = 0;
    memset(net.cut, 0, sizeof net.cut);
    bool joined[RANK_THREADS_MOST] = {false};
    for (int i = 0; i < count; i++) {
        threads[i] = (rank_thread){.work = work, .context = context};
        pthread_create(&threads[i].thread, NULL, run_rank, &threads[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i].thread, NULL);
        if (threads[i].rank >= 0) {
            results[threads[i].rank] = threads[i].result;
            joined[threads[i].rank] = true;
        }
    }
    for (int i = 0, rank = 0; i < count; i++) { /* the others take the remaining places */
        if (threads[i].rank >= 0)
            continue;
        while (joined[rank])
            rank++;
        results[rank++] = threads[i].result;
    }
    while (net.parcels) {
        parcel *p = net.parcels;
        net.parcels = p->next;
        free(p);
    }
}

void rank_threads_expect_one(const rank_result *results, int rank, int count, cornu_status expected)
{
    if (results[rank].status != expected)
        fail_msg("rank %d of %d: %s: %s (%.1f s)", rank, count,
                 cornu_status_name(results[rank].status), results[rank].message,
                 results[rank].seconds);
}

void rank_threads_expect(const rank_result *results, int count, cornu_status expected)
{
    for (int i = 0; i < count; i++)
        rank_threads_expect_one(results, i, count, expected);
}

void rank_threads_cut(int a, int b)
{
    pthread_mutex_lock(&net.lock);
    net.cut[a][b] = net.cut[b][a] = true;
    pthread_mutex_unlock(&net.lock);
}

#include "parallel/engine.h"
#include "base/clock.h"
#include "base/memory.h"
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A rank without a message for GONE_SECONDS is gone. The others: between two heartbeats; between
   two checks. */
static const double GONE_SECONDS = 5, BEAT_SECONDS = 0.5, LOOK_SECONDS = 0.001, IDLE_SECONDS = 0.1;
/* After a longer pause this thread itself was not running, so silence of the others means
   nothing. */
static const double ASLEEP_SECONDS = 2;
/* Messages of a rank that has left may still arrive for this time. */
static const double LEFT_SECONDS = 2;
/* Time for sending a failure to the others. */
static const double TELL_SECONDS = 1;
/* Wait for messages without yielding the core for this time; then poll at this interval. */
static const double SPIN_SECONDS = 200e-6;
enum { NAP_NANOSECONDS = 50000, TURN_NANOSECONDS = 100000 };

enum { REQUEST_BEATS = 2 * EXCHANGES }; /* two for each exchange, two for each neighbour */
#define REQUEST_OUT(slot) (2 * (slot))
#define REQUEST_IN(slot) (2 * (slot) + 1)
enum { TAG_BEAT = 1, TAG_DATA }; /* one for each exchange */

/* ---- failures --------------------------------------------------------------------------- */

/* Only the first failure is kept. */
cornu_status engine_fail(cornu_ranks *r, cornu_status status, const char *line)
{
    pthread_mutex_lock(&r->lock);
    if (r->failed == CORNU_OK) {
        r->failed = status;
        snprintf(r->failure, sizeof r->failure, "%s", line);
    }
    status = r->failed;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return status;
}

cornu_status engine_failure(cornu_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    cornu_status status = r->failed;
    pthread_mutex_unlock(&r->lock);
    return status;
}

static cornu_status fail_message(cornu_ranks *r, int with, const char *why)
{
    char line[RANKS_LINE];
    snprintf(line, sizeof line, "%s: a message to or from %s failed: %.600s",
             ranks_name(r, r->rank), ranks_name(r, with), why);
    return engine_fail(r, CORNU_NETWORK, line);
}

/* Call under the lock. */
void engine_wait(cornu_ranks *r, double seconds)
{
    int64_t end = clock_nanoseconds() + (int64_t)(seconds * 1e9);
    const struct timespec until = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    pthread_cond_timedwait(&r->changed, &r->lock, &until);
}

/* ---- heartbeats -------------------------------------------------------------------------- */

static int request_of(const cornu_ranks *r, const neighbour *n, bool in)
{
    return REQUEST_BEATS + 2 * (int)(n - r->neighbours) + in;
}

static cornu_status listen_to(cornu_ranks *r, neighbour *n)
{
    ranks_transport *t = r->transport;
    const char *why =
        t->receive(t, request_of(r, n, true), &n->in, sizeof n->in, n->rank, TAG_BEAT);
    n->listens = !why;
    return why ? fail_message(r, n->rank, why) : CORNU_OK;
}

static cornu_status send_beat(cornu_ranks *r, neighbour *n, beat_kind kind, const char *line)
{
    ranks_transport *t = r->transport;
    n->out = (beat){.kind = kind};
    snprintf(n->out.line, sizeof n->out.line, "%s", line);
    n->sent = clock_seconds();
    const char *why =
        t->send(t, request_of(r, n, false), &n->out, sizeof n->out, n->rank, TAG_BEAT);
    n->sends = !why;
    return why ? fail_message(r, n->rank, why) : CORNU_OK;
}

static cornu_status take_beat(cornu_ranks *r, neighbour *n)
{
    n->listens = false;
    n->seen = clock_seconds();
    n->in.line[RANKS_LINE - 1] = '\0';
    switch ((beat_kind)n->in.kind) {
    case BEAT_FAILED:
        return engine_fail(r, CORNU_RANK, n->in.line);
    case BEAT_LEAVES:
        n->left = true;
        return CORNU_OK;
    case BEAT_ALIVE:
        break;
    }
    return listen_to(r, n);
}

/* Test whether the message is still under way. */
static cornu_status test_beat(cornu_ranks *r, neighbour *n, bool in)
{
    bool done;
    const char *why = r->transport->test(r->transport, request_of(r, n, in), &done);
    if (why)
        return fail_message(r, n->rank, why);
    if (done && in)
        return take_beat(r, n);
    n->sends = in ? n->sends : !done;
    return CORNU_OK;
}

static cornu_status look_at(cornu_ranks *r, neighbour *n, double now)
{
    char line[RANKS_LINE];
    if (n->sends)
        TRY(test_beat(r, n, false));
    if (n->listens)
        TRY(test_beat(r, n, true));
    if (!n->sends && now - n->sent >= BEAT_SECONDS)
        TRY(send_beat(r, n, BEAT_ALIVE, ""));
    if (n->left || now - n->seen < GONE_SECONDS)
        return CORNU_OK;
    snprintf(line, sizeof line,
             "%s has not answered %s for %.0f s: its process has ended or hangs, or the network "
             "between them is cut",
             ranks_name(r, n->rank), ranks_name(r, r->rank), GONE_SECONDS);
    n->left = true;
    return engine_fail(r, CORNU_NETWORK, line);
}

static cornu_status look(cornu_ranks *r)
{
    double now = clock_seconds(), gap = now - r->looked;
    r->looked = now;
    for (int i = 0; i < r->neighbour_count; i++) {
        if (gap > ASLEEP_SECONDS)
            r->neighbours[i].seen += gap;
        TRY(look_at(r, &r->neighbours[i], now));
    }
    return engine_failure(r);
}

/* ---- messages --------------------------------------------------------------------------- */

static cornu_status send_receive(cornu_ranks *r, int slot, const void *out, size_t out_size,
                                 void *in, size_t in_size)
{
    ranks_transport *t = r->transport;
    exchange *x = &r->exchanges[slot];
    const char *why = NULL;
    if (in_size)
        why = t->receive(t, REQUEST_IN(slot), in, in_size, x->with, TAG_DATA + slot);
    x->receives = in_size && !why;
    if (!why && out_size)
        why = t->send(t, REQUEST_OUT(slot), out, out_size, x->with, TAG_DATA + slot);
    x->sends = out_size && !why;
    return why ? fail_message(r, x->with, why) : CORNU_OK;
}

cornu_status engine_begin_exchange(cornu_ranks *r, int slot, int with, const void *out,
                                   size_t out_size, void *in, size_t in_size)
{
    r->exchanges[slot].with = with;
    return send_receive(r, slot, out, out_size, in, in_size);
}

static cornu_status test_message(cornu_ranks *r, int with, int request, bool *under_way)
{
    bool done = false;
    if (!*under_way)
        return CORNU_OK;
    const char *why = r->transport->test(r->transport, request, &done);
    *under_way = !done;
    return why ? fail_message(r, with, why) : CORNU_OK;
}

cornu_status engine_test_exchange(cornu_ranks *r, int slot, bool *done)
{
    exchange *x = &r->exchanges[slot];
    TRY(test_message(r, x->with, REQUEST_IN(slot), &x->receives));
    TRY(test_message(r, x->with, REQUEST_OUT(slot), &x->sends));
    *done = !x->receives && !x->sends;
    return CORNU_OK;
}

/* Messages that it sent before leaving have arrived by now. */
static cornu_status check_left(cornu_ranks *r, int with, double now)
{
    char line[RANKS_LINE];
    for (int i = 0; i < r->neighbour_count; i++) {
        const neighbour *n = &r->neighbours[i];
        if (n->rank != with || !n->left || now - n->seen < LEFT_SECONDS)
            continue;
        snprintf(line, sizeof line, "%s has ended, but %s still waits for it", ranks_name(r, with),
                 ranks_name(r, r->rank));
        return engine_fail(r, CORNU_NETWORK, line);
    }
    return CORNU_OK;
}

cornu_status engine_pause(cornu_ranks *r, double since)
{
    double now = clock_seconds();
    if (now - r->looked >= LOOK_SECONDS) {
        TRY(look(r));
        for (int slot = 0; slot < EXCHANGES; slot++)
            if (r->exchanges[slot].receives || r->exchanges[slot].sends)
                TRY(check_left(r, r->exchanges[slot].with, now));
    }
    if (now - since < SPIN_SECONDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
    return CORNU_OK;
}

static cornu_status end_exchange(cornu_ranks *r, int slot)
{
    double began = clock_seconds();
    for (;;) {
        bool done;
        TRY(engine_test_exchange(r, slot, &done));
        if (done)
            return CORNU_OK;
        TRY(engine_pause(r, began));
    }
}

cornu_status engine_exchange(cornu_ranks *r, int with, const void *out, size_t out_size, void *in,
                             size_t in_size)
{
    while (out_size || in_size) {
        size_t outs = out_size < TRANSPORT_MOST ? out_size : TRANSPORT_MOST;
        size_t ins = in_size < TRANSPORT_MOST ? in_size : TRANSPORT_MOST;
        TRY(engine_begin_exchange(r, 0, with, out, outs, in, ins));
        TRY(end_exchange(r, 0));
        out = (const char *)out + outs;
        in = (char *)in + ins;
        out_size -= outs;
        in_size -= ins;
    }
    return CORNU_OK;
}

/* Recursive doubling: after distance d each rank has the bytes of 2 d neighbours. */
cornu_status engine_share(cornu_ranks *r, const void *own, void *all, size_t size)
{
    char *items = all;
    memmove(items + (size_t)r->rank * size, own, size);
    for (int k = 0; k < r->neighbour_count; k++) {
        const int with = r->rank ^ 1 << k, first = -(1 << k);
        TRY(engine_exchange(r, with, items + (size_t)(r->rank & first) * size, size << k,
                            items + (size_t)(with & first) * size, size << k));
    }
    return CORNU_OK;
}

bool engine_reached(cornu_ranks *r, const int64_t *value, int64_t least)
{
    pthread_mutex_lock(&r->lock);
    bool reached = *value >= least;
    pthread_mutex_unlock(&r->lock);
    return reached;
}

/* Heartbeats continue during the wait. */
cornu_status engine_await(cornu_ranks *r, const int64_t *value, int64_t least)
{
    for (bool reached = false; !reached;) {
        TRY(look(r));
        pthread_mutex_lock(&r->lock);
        if (*value < least)
            engine_wait(r, IDLE_SECONDS);
        reached = *value >= least;
        pthread_mutex_unlock(&r->lock);
    }
    return CORNU_OK;
}

/* ---- the thread ------------------------------------------------------------------------- */

static cornu_status open_transport(cornu_ranks *r)
{
    const char *why = r->open(&r->transport);
    if (why)
        return engine_fail(r, CORNU_NETWORK, why);
    r->rank = r->transport->rank;
    r->count = r->transport->count;
    if (r->count < 1 || r->count > RANKS_MOST || (r->count & (r->count - 1)) != 0)
        return CORNU_OK; /* ranks_join refuses it on all ranks */
    TRY(memory_new((size_t)r->count, sizeof *r->names, "names of ranks", &r->names));
    for (int i = 0; i < r->count; i++)
        snprintf(r->names[i], sizeof *r->names, "rank %d", i);
    TRY(threads_open(1, &r->adder));
    TRY(memory_new_aligned((size_t)EXCHANGES * BUCKET / 2 * sizeof *r->scratch, "sums of ranks",
                           &r->scratch));
    TRY(memory_new_aligned((size_t)EXCHANGES * BUCKET / 2 * sizeof *r->packed, "sums of ranks",
                           &r->packed));
    r->looked = clock_seconds();
    for (int distance = 1; distance < r->count; distance *= 2) {
        neighbour *n = &r->neighbours[r->neighbour_count++];
        *n = (neighbour){.rank = r->rank ^ distance, .seen = r->looked};
        TRY(listen_to(r, n));
    }
    return CORNU_OK;
}

/* Send the failure, this rank's or a received one, to all neighbours, within the time limit. */
static void tell_failure(cornu_ranks *r)
{
    double began = clock_seconds();
    bool told[NEIGHBOURS_MOST] = {false}, under_way = r->transport != NULL;
    while (under_way && clock_seconds() - began < TELL_SECONDS) {
        under_way = false;
        for (int i = 0; i < r->neighbour_count; i++) {
            neighbour *n = &r->neighbours[i];
            if (n->sends && test_beat(r, n, false) != CORNU_OK)
                continue;
            if (!n->sends && !told[i] && !n->left)
                told[i] = send_beat(r, n, BEAT_FAILED, r->failure) == CORNU_OK;
            under_way |= n->sends;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* When this returns nothing is under way: each rank has sent its last heartbeat and received its
   neighbours'. */
static cornu_status leave(cornu_ranks *r)
{
    bool told[NEIGHBOURS_MOST] = {false}, under_way = true;
    while (under_way) {
        under_way = false;
        for (int i = 0; i < r->neighbour_count; i++) {
            neighbour *n = &r->neighbours[i];
            if (!told[i] && !n->sends) {
                TRY(send_beat(r, n, BEAT_LEAVES, ""));
                n->sent = INFINITY;
                told[i] = true;
            }
            under_way |= n->sends || !n->left;
        }
        TRY(look(r));
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return CORNU_OK;
}

/* The next job, at once or after a wait; NULL if there is none. */
static job *take_job(cornu_ranks *r, bool *ends)
{
    pthread_mutex_lock(&r->lock);
    if (!r->jobs && !r->closing && r->failed == CORNU_OK)
        engine_wait(r, IDLE_SECONDS);
    job *taken = r->jobs;
    *ends = r->failed != CORNU_OK || (!taken && r->closing);
    pthread_mutex_unlock(&r->lock);
    return taken;
}

static void end_job(cornu_ranks *r, job *j)
{
    pthread_mutex_lock(&r->lock);
    r->jobs = j->next;
    j->done = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static void run_jobs(cornu_ranks *r)
{
    bool ends;
    for (;;) {
        job *j = take_job(r, &ends);
        if (ends)
            return;
        cornu_status status = look(r);
        if (j && status == CORNU_OK) {
            status = j->work(r, j->context);
            if (status != CORNU_OK)
                (void)engine_fail(r, status, cornu_last_error());
            end_job(r, j);
        }
    }
}

/* When a step's threads occupy all cores, this thread, which runs seldom and briefly, should get
   a core as soon as a message arrives, not after their time slice of 3 ms: Linux (from 6.12)
   schedules threads with short slices first. Elsewhere nothing changes. Defined here because
   glibc before 2.41 has neither call (sched_setattr(2)). */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period; /* ns */
    } own = {0};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0 || own.policy != SCHED_OTHER)
        return;
    own.size = sizeof own;
    own.runtime = TURN_NANOSECONDS;
    (void)syscall(SYS_sched_setattr, 0, &own, 0);
}

void *engine_thread(void *context)
{
    cornu_ranks *r = context;
    ask_for_short_turns();
    cornu_status status = open_transport(r);
    if (status == CORNU_OK)
        run_jobs(r);
    else
        (void)engine_fail(r, status, cornu_last_error());
    bool together = engine_failure(r) == CORNU_OK && leave(r) == CORNU_OK;
    if (!together)
        tell_failure(r);
    if (r->transport)
        r->transport->close(r->transport, together);
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- for the other threads --------------------------------------------------------------- */

void engine_begin(cornu_ranks *r, job *j)
{
    job **last = &r->jobs;
    j->done = false;
    j->next = NULL;
    pthread_mutex_lock(&r->lock);
    while (*last)
        last = &(*last)->next;
    *last = j;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* After a failure, messages under way may still arrive until the thread has ended. */
cornu_status engine_end(cornu_ranks *r, const job *j)
{
    pthread_mutex_lock(&r->lock);
    while (!r->ended && !(j->done && r->failed == CORNU_OK))
        pthread_cond_wait(&r->changed, &r->lock);
    cornu_status status = r->failed;
    pthread_mutex_unlock(&r->lock);
    return status == CORNU_OK ? CORNU_OK : status_fail(status, "%s", r->failure);
}

cornu_status engine_run(cornu_ranks *r, engine_work *work, void *context)
{
    job own = {.work = work, .context = context};
    engine_begin(r, &own);
    return engine_end(r, &own);
}

const char *ranks_name(const cornu_ranks *r, int rank)
{
    return r->names[rank];
}

#include "data/folders/loader.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/folders/pixels.h"
#include "data/images/image.h"
#include <cornu/images.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

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

/* Bytes of pixels that are decoded ahead where pixels are not kept. */
#define AHEAD_BYTES ((int64_t)32 << 20)
/* Workers yield the cores to the training step where both need them. */
enum { WORKER_NICE = 10 };

/* ---- one file ----------------------------------------------------------------------------- */

/* Seconds of decoding, by step. */
typedef struct times {
    double decode, resize;
    bool loaded, earlier; /* loaded from the cache file; and from an earlier run */
} times;

/* Without the lock: no other thread touches a sample that is being decoded. */
static bool fill(loader *l, int64_t at, times *t)
{
    image_file *file = &l->files.items[at];
    const data_request *r = &l->request;
    uint8_t *to = l->pixels.at + at * l->pixels.sample;
    image from = {0};
    t->loaded = pixels_file_load(&l->pixels.file, at, to, &t->earlier);
    if (t->loaded)
        return true;
    double begin = clock_thread_seconds();
    cornu_status status = image_open_within(file->path, &l->budget, &from);
    double middle = clock_thread_seconds();
    if (status == CORNU_OK)
        status = image_resize_as(&from, r->images.keep_aspect_ratio, r->height, r->width,
                                 r->channels, r->filter, to);
    image_close(&from);
    if (status == CORNU_OK)
        pixels_file_keep(&l->pixels.file, at, to);
    else if (memory_copy_string(cornu_last_error(), &file->problem) != CORNU_OK)
        file->problem = NULL;
    t->decode = middle - begin;
    t->resize = clock_thread_seconds() - middle;
    return status == CORNU_OK;
}

/* With the lock: release the memory of a sample. A page is freed when the last of the samples on it
   is empty. */
static void empty_sample(loader *l, int64_t at)
{
    int64_t first = at, end = at + 1, pages = 4096 / l->pixels.sample + 1;
    l->samples[at].state = SAMPLE_EMPTY;
    while (first > 0 && at - first < pages && l->samples[first - 1].state == SAMPLE_EMPTY)
        first--;
    while (end < l->count && end - at <= pages && l->samples[end].state == SAMPLE_EMPTY)
        end++;
    pixels_drop(&l->pixels, first * l->pixels.sample, end * l->pixels.sample);
}

/* With the lock, which is released meanwhile. `for_file`: no thread waits for the sample; it is for
   the cache file, and its memory is released. */
static void decode(loader *l, int64_t at, bool for_file)
{
    times t = {0};
    sample *p = &l->samples[at];
    p->state = SAMPLE_DECODING;
    pthread_mutex_unlock(&l->lock);
    bool usable = fill(l, at, &t);
    pthread_mutex_lock(&l->lock);
    cornu_data_loading *r = &l->report;
    r->cached += t.earlier;
    r->decoded += usable && !t.loaded;
    r->decode_seconds += t.decode;
    r->resize_seconds += t.resize;
    p->state = usable ? SAMPLE_READY : SAMPLE_UNUSABLE;
    if (for_file && usable)
        empty_sample(l, at);
    pthread_cond_broadcast(&l->done);
}

/* ---- workers ------------------------------------------------------------------------------ */

/* The next sample on the list that is not decoded, or -1. */
static int64_t next_listed(loader *l)
{
    int64_t window = keeps(l) ? l->list_count : l->reached + AHEAD_BYTES / l->pixels.sample + 2;
    int64_t end = window < l->list_count ? window : l->list_count;
    if (l->ahead < l->reached)
        l->ahead = l->reached;
    while (l->ahead < end) {
        int64_t at = l->list_begin + l->list[l->ahead++];
        if (l->samples[at].state == SAMPLE_EMPTY)
            return at;
    }
    return -1;
}

/* The next of all samples, or of those that a rank will need later; or -1. */
static int64_t next_swept(loader *l)
{
    if (!l->divided)
        return l->sweep < l->count ? l->sweep++ : -1;
    return l->sweep < l->later_count ? l->later_begin + l->later[l->sweep++] : -1;
}

/* The next of these that memory or the cache file would keep, or -1. */
static int64_t next_kept(loader *l)
{
    bool in_file = pixels_file_takes(&l->pixels.file);
    for (int64_t at; (keeps(l) || in_file) && (at = next_swept(l)) >= 0;) {
        if (l->samples[at].state == SAMPLE_EMPTY &&
            (keeps(l) || !pixels_file_has(&l->pixels.file, at)))
            return at;
    }
    return -1;
}

static void *work(void *context)
{
    loader *l = context;
    (void)nice(WORKER_NICE); /* applies to this thread alone on Linux */
    pthread_mutex_lock(&l->lock);
    while (!l->closing) {
        int64_t at = next_listed(l);
        bool listed = at >= 0;
        if (!listed)
            at = next_kept(l);
        if (at >= 0)
            decode(l, at, !listed && !keeps(l));
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* With fewer threads than asked for, or none, the thread that needs a sample decodes it. */
static void start_workers(loader *l)
{
    int wanted = l->request.images.workers ? l->request.images.workers : threads_default();
    sigset_t all, before; /* signals are delivered to the caller's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (l->worker_count < wanted && l->worker_count < WORKERS_MOST &&
           pthread_create(&l->workers[l->worker_count], NULL, work, l) == 0)
        l->worker_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- opening ------------------------------------------------------------------------------ */

cornu_status loader_open(image_files *files, const data_request *request, skips *skipped,
                         const char *name, loader **out)
{
    cornu_status status;
    loader *l;
    TRY(memory_new(1, sizeof *l, "loader", &l));
    l->request = *request;
    l->skipped = *skipped;
    l->skipped.options = &l->request.options;
    l->skipped.strict = request->images.strict;
    l->skipped.listed = request->images.background;
    skipped->first = NULL;
    l->files = *files;
    *files = (image_files){0};
    l->count = (int64_t)l->files.count;
    l->report.files = l->count;
    l->divided = request->options.ranks != NULL;
    l->pixels.file.fd = -1;
    image_budget_open(&l->budget, IMAGE_BUDGET_SPARE, memory_available() / 4);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    TRY_GOTO(memory_new((size_t)l->count, sizeof *l->samples, "list of images", &l->samples));
    TRY_GOTO(pixels_open(&(pixels_wanted){.files = &l->files, .request = &l->request, .name = name},
                         &l->pixels));
    l->process = getpid();
    start_workers(l);
    *out = l;
    return CORNU_OK;
done:
    loader_close(l);
    return status;
}

void loader_close(loader *l)
{
    if (!l || (l->worker_count > 0 && l->process != getpid()))
        return; /* in a fork's copy the workers' state is unknown */
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->worker_count; i++)
        pthread_join(l->workers[i], NULL);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->done);
    image_budget_close(&l->budget);
    pixels_close(&l->pixels);
    image_files_free(&l->files);
    free(l->skipped.first);
    free(l->samples);
    free(l->found);
    free(l);
}

const uint8_t *loader_pixels(const loader *l)
{
    return l->pixels.at;
}

/* ---- use ---------------------------------------------------------------------------------- */

void loader_want(loader *l, const void *who, int64_t begin, const int64_t *index, int64_t count)
{
    pthread_mutex_lock(&l->lock);
    l->wanted_by = who;
    l->list = index;
    l->list_begin = begin;
    l->list_count = count;
    l->reached = l->ahead = 0;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

bool loader_is_wanted_by(loader *l, const void *who)
{
    pthread_mutex_lock(&l->lock);
    bool found = l->wanted_by == who;
    pthread_mutex_unlock(&l->lock);
    return found;
}

/* With the lock: wait until the sample's file has been read. */
static sample await(loader *l, int64_t at)
{
    sample *p = &l->samples[at];
    double begin = 0;
    while (p->state == SAMPLE_EMPTY || p->state == SAMPLE_DECODING) {
        begin = begin > 0 ? begin : clock_seconds();
        if (p->state == SAMPLE_EMPTY)
            decode(l, at, false);
        else
            pthread_cond_wait(&l->done, &l->lock);
    }
    l->report.wait_seconds += begin > 0 ? clock_seconds() - begin : 0;
    sample found = *p;
    p->read = p->read || p->state == SAMPLE_READY;
    p->told = true;
    return found;
}

/* Report a file that cannot be used, once. */
static cornu_status tell(loader *l, int64_t at, const sample *found)
{
    const char *problem = loader_problem(l, at);
    if (found->read)
        return status_fail(CORNU_BAD_FILE, "%s (it could be read before: changed meanwhile?)",
                           problem);
    if (found_of(l, at) == FILE_READABLE)
        return status_fail(CORNU_BAD_FILE, "%s (another rank could read it)", problem);
    if (l->request.each_must_be_read)
        return status_fail(CORNU_BAD_FILE, "%s", problem);
    return found->told ? CORNU_OK : skips_add(&l->skipped, problem);
}

static cornu_status ask_to_go_on(const loader *l)
{
    if (!data_should_stop(&l->request.options))
        return CORNU_OK;
    return status_fail(CORNU_STOPPED, "stopped while waiting for %s",
                       l->files.items[l->list_begin + l->list[l->reached]].path);
}

/* Is the next sample not decoded yet? */
static bool must_wait(loader *l)
{
    pthread_mutex_lock(&l->lock);
    int state = l->samples[l->list_begin + l->list[l->reached]].state;
    pthread_mutex_unlock(&l->lock);
    return state != SAMPLE_READY && state != SAMPLE_UNUSABLE;
}

cornu_status loader_next(loader *l, bool may_stop, bool *usable)
{
    if (may_stop && must_wait(l))
        TRY(ask_to_go_on(l));
    pthread_mutex_lock(&l->lock);
    int64_t at = l->list_begin + l->list[l->reached];
    sample found = await(l, at);
    l->reached++;
    if (!keeps(l))
        pthread_cond_signal(&l->work); /* there is room for one more */
    pthread_mutex_unlock(&l->lock);
    const char *failure = pixels_file_failure(&l->pixels.file);
    if (failure)
        data_notice(&l->request.options, "%s: cannot write: %s; this run goes on without it",
                    l->pixels.file.path, failure);
    *usable = found.state == SAMPLE_READY && found_of(l, at) != FILE_LOST;
    return found.state == SAMPLE_READY ? CORNU_OK : tell(l, at, &found);
}

void loader_release(loader *l, int64_t begin, const int64_t *index, int64_t count)
{
    if (keeps(l))
        return;
    pthread_mutex_lock(&l->lock);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = begin + index[i];
        if (l->samples[at].state == SAMPLE_READY)
            empty_sample(l, at);
    }
    pthread_mutex_unlock(&l->lock);
}

static cornu_status read_all(loader *l, const int64_t *all)
{
    loader_want(l, l, 0, all, l->count);
    for (int64_t i = 0; i < l->count; i++) {
        bool usable;
        TRY(ask_to_go_on(l));
        TRY(loader_next(l, true, &usable));
        loader_release(l, 0, all + i, 1);
    }
    return CORNU_OK;
}

cornu_status loader_finish(loader *l, const char *folder)
{
    int64_t *all;
    if (l->finished)
        return CORNU_OK;
    TRY(memory_new((size_t)l->count, sizeof *all, "list of images", &all));
    for (int64_t i = 0; i < l->count; i++)
        all[i] = i;
    cornu_status status = read_all(l, all);
    loader_want(l, NULL, 0, NULL, 0);
    free(all);
    TRY(status);
    return loader_end(l, folder);
}

cornu_status loader_end(loader *l, const char *folder)
{
    l->finished = true;
    return skips_finish(&l->skipped, folder);
}

/* ---- what is known of the files --------------------------------------------------------- */

/* ---- several ranks ------------------------------------------------------------------------ */

cornu_status loader_divide(loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->divided = true;
    pthread_mutex_unlock(&l->lock);
    if (l->found)
        return CORNU_OK;
    return memory_new((size_t)l->count, sizeof *l->found, "list of images", &l->found);
}

void loader_want_later(loader *l, int64_t begin, const int64_t *index, int64_t count)
{
    pthread_mutex_lock(&l->lock);
    l->later = index;
    l->later_begin = begin;
    l->later_count = count;
    l->sweep = 0;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

bool loader_is_strict(const loader *l)
{
    return l->request.images.strict && !l->request.each_must_be_read;
}

bool loader_is_finished(const loader *l)
{
    return l->finished;
}

bool loader_is_known(const loader *l, int64_t number)
{
    return found_of(l, number) != FILE_UNKNOWN;
}

bool loader_is_lost(const loader *l, int64_t number)
{
    return found_of(l, number) == FILE_LOST;
}

const char *loader_problem(const loader *l, int64_t number)
{
    const image_file *file = &l->files.items[number];
    return file->problem ? file->problem : file->path;
}

cornu_status loader_know(loader *l, int64_t number, const char *problem)
{
    l->found[number] = problem ? FILE_LOST : FILE_READABLE;
    if (!problem)
        return CORNU_OK;
    pthread_mutex_lock(&l->lock);
    bool told = l->samples[number].told;
    l->samples[number].told = true;
    pthread_mutex_unlock(&l->lock);
    return told ? CORNU_OK : skips_add(&l->skipped, problem);
}

/* ---- results of reading ------------------------------------------------------------------- */

/* With the lock. */
static bool is_unusable(const loader *l, int64_t at)
{
    return l->samples[at].state == SAMPLE_UNUSABLE || found_of(l, at) == FILE_LOST;
}

bool loader_is_whole(loader *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t known = 0;
    while (known < l->count && (l->samples[known].state == SAMPLE_READY || is_unusable(l, known)))
        known++;
    pthread_mutex_unlock(&l->lock);
    return keeps(l) && known == l->count;
}

/* With the lock. */
static int64_t left_of_all(const loader *l)
{
    int64_t left = l->count - l->report.decoded - l->report.cached;
    for (int64_t i = 0; i < l->count; i++)
        left -= l->samples[i].state == SAMPLE_UNUSABLE;
    return left;
}

/* With the lock. The samples that later passes need from this rank are not known yet. */
static int64_t left_of_list(const loader *l)
{
    int64_t left = 0;
    for (int64_t i = l->reached; i < l->list_count; i++)
        left += l->samples[l->list_begin + l->list[i]].state < SAMPLE_READY;
    return left;
}

int64_t loader_left(loader *l)
{
    bool kept = keeps(l) || pixels_file_takes(&l->pixels.file);
    if (!kept || (l->finished && !l->divided))
        return 0;
    pthread_mutex_lock(&l->lock);
    int64_t left = l->divided ? left_of_list(l) : left_of_all(l);
    pthread_mutex_unlock(&l->lock);
    return left > 0 ? left : 0;
}

/* With the lock. Ranks must agree on it: results of this rank alone do not count yet. */
static bool is_out(const loader *l, int64_t at)
{
    return l->divided && !l->finished ? found_of(l, at) == FILE_LOST : is_unusable(l, at);
}

int64_t loader_usable(loader *l, int64_t begin, int64_t end)
{
    int64_t usable = 0;
    pthread_mutex_lock(&l->lock);
    for (int64_t i = begin; i < end; i++)
        usable += !is_out(l, i) || l->request.each_must_be_read;
    pthread_mutex_unlock(&l->lock);
    return usable;
}

int64_t loader_number_of(loader *l, int64_t begin, int64_t end, int64_t number)
{
    pthread_mutex_lock(&l->lock);
    int64_t at = begin;
    while (at < end && (is_unusable(l, at) || number-- > 0))
        at++;
    pthread_mutex_unlock(&l->lock);
    return at < end ? at : -1;
}

const char *loader_file(const loader *l, int64_t number)
{
    return l->files.items[number].path;
}

void loader_report(loader *l, cornu_data_loading *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->report;
    pthread_mutex_unlock(&l->lock);
    out->workers = l->worker_count;
    out->skipped = l->skipped.count;
}

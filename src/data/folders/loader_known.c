/* The results of a loader's reading: known to this process, and to all ranks of a run. */
#include "base/memory.h"
#include "data/folders/loader_state.h"
#include <cornu/images.h>

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
    return l->request.options.strict && !l->request.each_must_be_read;
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

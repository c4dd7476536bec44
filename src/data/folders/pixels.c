#include "data/folders/pixels.h"

#include "base/memory.h"
#include "data/folders/cache_option.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static cornu_status open_memory(size_t bytes, pixels *p)
{
    if (p->kind == PIXELS_IN_MEMORY)
        return memory_new_aligned(bytes, "samples", &p->at);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return status_fail(CORNU_OUT_OF_MEMORY, "samples: cannot reserve %zu bytes: %s", bytes,
                           strerror(errno));
    p->at = map;
    p->map_bytes = bytes;
    return CORNU_OK;
}

void pixels_drop(pixels *p, int64_t begin, int64_t end)
{
    int64_t first = (begin + PAGE - 1) / PAGE * PAGE, last = end / PAGE * PAGE;
    if (p->kind == PIXELS_PASSING && last > first)
        (void)madvise(p->at + first, (size_t)(last - first), MADV_DONTNEED);
}

static cornu_status fail_memory(const pixels_wanted *w, int64_t count, int64_t bytes)
{
    char need[16], left[16];
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "%s: %lld samples need %s of memory; %s are free (a smaller --cache keeps "
                       "them in a file)",
                       w->name, (long long)count, memory_human((double)bytes, need),
                       memory_human((double)memory_available(), left));
}

/* Half of the free memory; if that is unknown, no limit. */
static int64_t automatic_limit(void)
{
    int64_t available = memory_available();
    return available < 0 ? INT64_MAX : available / 2 + 1; /* 0 would be CACHE_OFF */
}

cornu_status pixels_open(const pixels_wanted *w, pixels *p)
{
    const data_request *r = w->request;
    bool only_memory = r->cache_limit == CACHE_MEMORY;
    bool automatic = only_memory || r->cache_limit == CACHE_AUTO;
    int64_t limit = automatic ? automatic_limit() : r->cache_limit;
    int64_t count = (int64_t)w->files->count;
    *p = (pixels){.file.fd = -1, .sample = r->height * r->width * r->channels};
    if (count > INT64_MAX / 2 / p->sample)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %lld samples of %lld bytes are more than fit",
                           w->name, (long long)count, (long long)p->sample);
    int64_t bytes = count * p->sample;
    if (only_memory && bytes > limit)
        limit = CACHE_OFF;
    bool in_file = limit != CACHE_OFF && bytes > limit;
    /* With "file" also in memory, if they fit: each sample is then read only once. */
    bool in_memory =
        in_file ? limit == CACHE_FILE && bytes <= automatic_limit() : limit != CACHE_OFF;
    p->kind = in_memory ? PIXELS_IN_MEMORY : PIXELS_PASSING;
    int64_t available = memory_available();
    if (p->kind == PIXELS_IN_MEMORY && available >= 0 && bytes > available)
        return fail_memory(w, count, bytes);
    TRY(open_memory((size_t)bytes, p));
    if (!in_file)
        return CORNU_OK;
    return limit == CACHE_FILE ? pixels_file_open(w, p->sample, &p->file)
                               : pixels_file_try(w, p->sample, &p->file);
}

void pixels_close(pixels *p)
{
    if (p->map_bytes)
        munmap(p->at, p->map_bytes);
    else
        memory_free_aligned(p->at);
    pixels_file_close(&p->file);
    *p = (pixels){.file.fd = -1};
}

#include "data/folders/pixels.h"
#include "base/files.h"
#include "base/memory.h"
#include "data/images/image.h"
#include "data/sha256.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- the option `cache` ----------------------------------------------------------------- */

static bool unit_of(const char *name, double *bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"B", 1},         {"kB", 1e3},           {"MB", 1e6},
                 {"GB", 1e9},      {"TB", 1e12},          {"KiB", 1024},
                 {"MiB", 1048576}, {"GiB", 1073741824.0}, {"TiB", 1.0995e12}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(name, units[i].name)) {
            *bytes = units[i].bytes;
            return true;
        }
    return false;
}

cornu_status cache_option_read(const char *cache, int64_t *limit)
{
    double unit = 0;
    char *end;
    *limit = CACHE_AUTO;
    if (!cache)
        return CORNU_OK;
    static const struct {
        const char *name;
        int64_t limit;
    } names[] = {{"file", CACHE_FILE}, {"memory", CACHE_MEMORY}, {"off", CACHE_OFF}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(cache, names[i].name)) {
            *limit = names[i].limit;
            return CORNU_OK;
        }
    double number = strtod(cache, &end);
    bool size = end > cache && unit_of(end, &unit) && number > 0 && number * unit < 1e18;
    if (!size)
        return status_fail(CORNU_INVALID,
                           "cache: found \"%s\"; expected off, file, memory, or a size such as 4GB",
                           cache);
    *limit = (int64_t)(number * unit);
    return CORNU_OK;
}

/* ---- the cache file --------------------------------------------------------------------- */

/* ---- the file ----------------------------------------------------------------------------- */

/* Header, entries, then the pixels, from a multiple of PAGE on. Numbers are in this machine's byte
   order: the file is not portable. */
enum { PAGE = 4096 };
static const char magic[16] = "cornu pixels 1\n";

typedef struct header {
    char magic[16];
    int64_t count, height, width, channels;
    char filter[16];
} header;

struct pixels_entry {
    uint64_t key;  /* of the file that was decoded; 0: none yet */
    uint32_t crc;  /* of the pixels */
    uint32_t done; /* ENTRY_DONE once they are complete; in memory also: */
};
enum { ENTRY_DONE = 1, ENTRY_CHECKED = 2 };

static header header_of(const pixels_wanted *w)
{
    const data_request *r = w->request;
    header h = {.count = (int64_t)w->files->count,
                .height = r->height,
                .width = r->width,
                .channels = r->channels};
    memcpy(h.magic, magic, sizeof magic);
    snprintf(h.filter, sizeof h.filter, "%s%s", r->images.keep_aspect_ratio ? "+" : "",
             image_filter_title(r->filter));
    return h;
}

/* A hash of a file's path, size and modification time; never 0. */
static cornu_status make_key(const char *path, uint64_t *key)
{
    struct stat s = {0};
    char hex[65], *all;
    if (stat(path, &s) != 0)
        s.st_size = -1;
    TRY(memory_format(&all, "%s %jd %jd %ld", path, (intmax_t)s.st_size, (intmax_t)s.st_mtim.tv_sec,
                      s.st_mtim.tv_nsec));
    cornu_status status = sha256_of(all, strlen(all), hex);
    free(all);
    TRY(status);
    hex[16] = 0;
    *key = strtoull(hex, NULL, 16) | 1;
    return CORNU_OK;
}

static cornu_status make_keys(const image_files *files, pixels_file *f)
{
    TRY(memory_new(files->count, sizeof *f->keys, "list of images", &f->keys));
    for (size_t i = 0; i < files->count; i++)
        TRY(make_key(files->items[i].path, &f->keys[i]));
    return CORNU_OK;
}

static cornu_status fail_file(const char *path, const char *doing, int error)
{
    return status_fail(CORNU_IO, "%s: cannot %s: %s", path, doing, strerror(error));
}

static size_t pixels_offset(int64_t count)
{
    size_t head = sizeof(header) + (size_t)count * sizeof(pixels_entry);
    return (head + PAGE - 1) / PAGE * PAGE;
}

/* May the file be overwritten, and (*same) may it be used as it is? */
static cornu_status look_at(const char *path, int fd, const header *h, size_t bytes, bool *same)
{
    struct stat s;
    header found = {0};
    *same = false;
    if (fstat(fd, &s) != 0)
        return fail_file(path, "read", errno);
    if (S_ISREG(s.st_mode) && s.st_size == 0)
        return CORNU_OK;
    ssize_t got = S_ISREG(s.st_mode) ? pread(fd, &found, sizeof found, 0) : 0;
    if (got < (ssize_t)sizeof magic || memcmp(found.magic, magic, sizeof magic) != 0)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found a file that is no cache of pixels; expected one, or none",
                           path);
    *same = (size_t)s.st_size == bytes && memcmp(&found, h, sizeof found) == 0;
    return CORNU_OK;
}

/* Allocate the whole file at once, so that a full disk is reported here and not sample by sample.
   The header is written first: an unfinished file is then recognized as a cache, and rebuilt. */
static cornu_status make_file(const char *path, int fd, const header *h, size_t bytes)
{
    char size[16];
    if (ftruncate(fd, 0) != 0)
        return fail_file(path, "write", errno);
    ssize_t written = pwrite(fd, h, sizeof *h, 0);
    while (written < 0 && errno == EINTR)
        written = pwrite(fd, h, sizeof *h, 0);
    int error = written < 0 ? errno : written < (ssize_t)sizeof *h ? ENOSPC : 0;
    while (error == 0 && (error = posix_fallocate(fd, 0, (off_t)bytes)) == EINTR)
        error = 0;
    if (error == 0)
        return CORNU_OK;
    unlink(path);
    return status_fail(CORNU_IO,
                       "%s: cannot make room for %s of pixels: %s (a smaller image_size, --cache "
                       "with a size that memory has, or --cache off)",
                       path, memory_human((double)bytes, size), strerror(error));
}

/* No link is followed: its target may be any file. */
static cornu_status open_locked(const char *path, int *fd)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0666);
    if (*fd < 0 && errno == ELOOP)
        return status_fail(CORNU_BAD_FILE, "%s: found a link; expected a cache of pixels, or none",
                           path);
    if (*fd < 0)
        return fail_file(path, "open", errno);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        return status_fail(CORNU_IO,
                           "%s: found another process at work with it; expected another "
                           "folder to save to, or --cache off",
                           path);
    return CORNU_OK;
}

static cornu_status open_path(const char *path, const pixels_wanted *w, pixels_file *f)
{
    bool same;
    header h = header_of(w);
    size_t count = (size_t)h.count;
    f->begin = (int64_t)pixels_offset(h.count);
    size_t bytes = (size_t)f->begin + count * (size_t)f->sample;
    TRY(open_locked(path, &f->fd));
    TRY(look_at(path, f->fd, &h, bytes, &same));
    TRY(memory_new(count, sizeof *f->entries, "cache of pixels", &f->entries));
    TRY(make_keys(w->files, f));
    return same ? file_read_at(path, f->fd, sizeof h, f->entries, count * sizeof *f->entries)
                : make_file(path, f->fd, &h, bytes);
}

static void pixels_file_close(pixels_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    free(f->keys);
    free(f->entries);
    free(f->path);
    f->keys = NULL;
    f->entries = NULL;
    f->path = NULL;
}

/* FOLDER/NAME.pixels, beside the model file of the training. A file with the same sizes is reused,
   any other is rebuilt; a link, or a file that is no cache, is refused. */
static cornu_status pixels_file_open(const pixels_wanted *w, int64_t sample, pixels_file *f)
{
    char *name = NULL, size[16];
    const cornu_folder_options *o = &w->request->images;
    *f = (pixels_file){.fd = -1, .sample = sample};
    TRY(memory_format(&name, "%s.pixels", w->name));
    cornu_status status =
        path_join(o->cache_folder && *o->cache_folder ? o->cache_folder : ".", name, &f->path);
    if (status == CORNU_OK)
        status = open_path(f->path, w, f);
    if (status == CORNU_OK)
        data_notice(
            &w->request->options, "%s: %s of decoded pixels; remove it when you are done", f->path,
            memory_human((double)f->begin + (double)w->files->count * (double)f->sample, size));
    free(name);
    return status;
}

/* The same where the user did not ask for the file: if it cannot be made (a full disk, say), a
   notice says so and there is none. */
static cornu_status pixels_file_try(const pixels_wanted *w, int64_t sample, pixels_file *f)
{
    cornu_status status = pixels_file_open(w, sample, f);
    if (status != CORNU_IO)
        return status;
    data_notice(&w->request->options, "%s; this run goes on without it", cornu_last_error());
    pixels_file_close(f);
    return CORNU_OK;
}

/* ---- samples ------------------------------------------------------------------------------ */

/* All or nothing: after a truncation or a disk error the sample counts as missing. On failure errno
   has the reason. */
static bool transfer(const pixels_file *f, int64_t i, uint8_t *at, bool write)
{
    for (int64_t done = 0; done < f->sample;) {
        off_t offset = (off_t)(f->begin + i * f->sample + done);
        size_t left = (size_t)(f->sample - done);
        ssize_t n =
            write ? pwrite(f->fd, at + done, left, offset) : pread(f->fd, at + done, left, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return false;
        done += n;
    }
    return true;
}

static uint32_t checksum(const pixels_file *f, const uint8_t *at)
{
    return (uint32_t)crc32_z(0, at, (z_size_t)f->sample);
}

bool pixels_file_has(const pixels_file *f, int64_t i)
{
    return f->entries && f->entries[i].done >= ENTRY_DONE && f->entries[i].key == f->keys[i];
}

/* A sample from an earlier run is verified once; samples that this run verified or wrote are not
   verified again. */
bool pixels_file_load(pixels_file *f, int64_t i, uint8_t *at, bool *earlier)
{
    pixels_entry *e = f->entries ? &f->entries[i] : NULL;
    *earlier = e && e->done == ENTRY_DONE;
    if (!pixels_file_has(f, i))
        return *earlier = false;
    if (transfer(f, i, at, false) && (e->done == ENTRY_CHECKED || checksum(f, at) == e->crc)) {
        e->done = ENTRY_CHECKED;
        return true;
    }
    e->done = 0;
    return *earlier = false;
}

bool pixels_file_takes(const pixels_file *f)
{
    return f->fd >= 0 && atomic_load(&f->failed) == 0;
}

void pixels_file_keep(pixels_file *f, int64_t i, uint8_t *at)
{
    if (!pixels_file_takes(f))
        return;
    pixels_entry *e = &f->entries[i];
    *e = (pixels_entry){.key = f->keys[i], .crc = checksum(f, at), .done = ENTRY_DONE};
    off_t offset = (off_t)(sizeof(header) + (size_t)i * sizeof *e);
    errno = ENOSPC; /* for a partial write */
    bool kept =
        transfer(f, i, at, true) && pwrite(f->fd, e, sizeof *e, offset) == (ssize_t)sizeof *e;
    e->done = kept ? ENTRY_CHECKED : 0;
    if (!kept)
        atomic_store(&f->failed, errno);
}

const char *pixels_file_failure(pixels_file *f)
{
    int error = atomic_load(&f->failed);
    if (error == 0 || f->told)
        return NULL;
    f->told = true;
    return strerror(error);
}

/* ---- the pixels ------------------------------------------------------------------------- */

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

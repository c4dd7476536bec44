/* Shared memory for numbers that the ranks of one host read from each other instead of sending
   them. */
#include "base/memory.h"
#include "parallel/engine.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; glibc knows it from 2.37 on */
#endif

static const size_t HUGE_PAGE = (size_t)2 << 20;

/* The address of a rank's block for processes with the same kernel, process ids and network
   namespace: a separate network counts as another host. */
typedef struct block_claim {
    char kernel[40]; /* id of this boot; "": the block is private */
    uint64_t processes, network, device, inode;
    int64_t process, file, bytes;
} block_claim;

/* ---- this rank's ------------------------------------------------------------------------ */

static uint64_t name_space(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

static void read_kernel(char name[40])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(name, 40, f))
        name[0] = '\0';
    if (f)
        fclose(f);
}

/* A file larger than the process's limit would raise SIGXFSZ. */
static int new_file(size_t bytes)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < bytes)
        return -1;
    int file = memfd_create("cornu", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)bytes) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* Returns NULL on failure. The mapping begins at a multiple of the huge page size, which huge
   pages need.
 */
static void *map_file(int file, size_t bytes, int protection)
{
    char *room = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)room % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(room, before);
    munmap(room + before + bytes, HUGE_PAGE - before);
    if (mmap(room + before, bytes, protection, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
        return room + before;
    munmap(room + before, bytes);
    return NULL;
}

/* Linux gives huge pages to a file's memory only on request and only for pages that exist, at
   about 2 ms each. If it refuses, small pages are used. */
static void want_huge_pages(char *memory, size_t bytes)
{
    if (bytes <= HUGE_PAGE)
        return;
    for (size_t i = 0; i < bytes; i += HUGE_PAGE)
        memory[i] = 0;
    (void)madvise(memory, bytes, MADV_COLLAPSE);
}

/* The memory is zeroed. On failure the block has no memory. */
static void map_own(ranks_block *b, block_claim *claim)
{
    struct stat made;
    void *memory = NULL;
    b->file = new_file(b->bytes);
    if (b->file >= 0 && fstat(b->file, &made) == 0)
        memory = map_file(b->file, b->bytes, PROT_READ | PROT_WRITE);
    if (!memory)
        return;
    want_huge_pages(memory, b->bytes);
    b->own = memory;
    b->is_shared = true;
    *claim = (block_claim){.processes = name_space("/proc/self/ns/pid"),
                           .network = name_space("/proc/self/ns/net"),
                           .device = (uint64_t)made.st_dev,
                           .inode = (uint64_t)made.st_ino,
                           .process = getpid(),
                           .file = b->file,
                           .bytes = (int64_t)b->bytes};
    read_kernel(claim->kernel);
}

/* ---- the others' ------------------------------------------------------------------------ */

static bool same_host(const block_claim *a, const block_claim *b)
{
    return a->kernel[0] && strncmp(a->kernel, b->kernel, sizeof a->kernel) == 0 &&
           a->processes == b->processes && a->network == b->network;
}

/* NULL on failure: the block belongs to another host or another user. */
static const float *map_other(const block_claim *own, const block_claim *other)
{
    char path[64];
    struct stat found;
    const float *memory = NULL;
    if (!same_host(own, other) || own->bytes != other->bytes)
        return NULL;
    snprintf(path, sizeof path, "/proc/%jd/fd/%jd", (intmax_t)other->process,
             (intmax_t)other->file);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &found) == 0 && (uint64_t)found.st_dev == other->device &&
        (uint64_t)found.st_ino == other->inode && found.st_size == other->bytes)
        memory = map_file(file, (size_t)other->bytes, PROT_READ);
    close(file);
    return memory;
}

static void unmap_other(ranks_block *b, int k)
{
    if (b->others[k])
        munmap((void *)(uintptr_t)b->others[k], b->bytes);
    b->others[k] = NULL;
}

/* Either both of two ranks read each other's memory or neither does, as both must know what is
   sent. */
static cornu_status meet(cornu_ranks *r, void *context)
{
    const block_claim *own = context;
    ranks_block *b = &r->block;
    block_claim claims[RANKS_MOST];
    uint16_t mapped[RANKS_MOST], mine = 0;
    TRY(engine_share(r, own, claims, sizeof *own));
    for (int k = 0; k < r->neighbour_count; k++) {
        b->others[k] = map_other(own, &claims[r->rank ^ 1 << k]);
        mine |= (uint16_t)((b->others[k] != NULL) << k);
    }
    TRY(engine_share(r, &mine, mapped, sizeof mine));
    for (int k = 0; k < r->neighbour_count; k++)
        if (!(mapped[r->rank ^ 1 << k] >> k & 1))
            unmap_other(b, k);
    b->any_read = false;
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < r->neighbour_count; k++)
            b->any_read |= mapped[i] >> k & mapped[i ^ 1 << k] >> k & 1;
    return CORNU_OK;
}

/* ---- for others ------------------------------------------------------------------------- */

static cornu_status fill_block(cornu_ranks *r, const char *what)
{
    block_claim claim = {.bytes = -1};
    map_own(&r->block, &claim);
    if (!r->block.own)
        TRY(memory_new_aligned(r->block.bytes, what, &r->block.own));
    return engine_run(r, meet, &claim);
}

static void free_block(cornu_ranks *r)
{
    ranks_block *b = &r->block;
    for (int k = 0; k < r->neighbour_count; k++)
        unmap_other(b, k);
    if (b->is_shared)
        munmap(b->own, b->bytes);
    else
        memory_free_aligned(b->own);
    if (b->file >= 0)
        close(b->file);
    *b = (ranks_block){.file = -1};
}

cornu_status ranks_block_new(cornu_ranks *r, size_t bytes, const char *what, float **out)
{
    *out = NULL;
    if (!r)
        return memory_new_aligned(bytes, what, out);
    if (r->block.own)
        return status_fail(CORNU_INTERNAL, "%s: found another block of ranks; expected none", what);
    bytes = (bytes / HUGE_PAGE + 1) * HUGE_PAGE; /* untouched pages take no memory */
    r->block = (ranks_block){.bytes = bytes, .file = -1};
    cornu_status status = fill_block(r, what);
    if (status == CORNU_OK)
        *out = r->block.own;
    else
        free_block(r);
    return status;
}

void ranks_block_free(cornu_ranks *r, float *block)
{
    if (!r)
        memory_free_aligned(block);
    else if (block)
        free_block(r);
}

/* Offset of `own` in the block; a value beyond its end if it is outside. */
static uintptr_t place_of(const ranks_block *b, const void *own)
{
    return (uintptr_t)own - (uintptr_t)b->own;
}

const void *engine_other(const cornu_ranks *r, int k, const void *own)
{
    const ranks_block *b = &r->block;
    uintptr_t at = place_of(b, own);
    return b->others[k] && at < b->bytes ? (const char *)b->others[k] + at : NULL;
}

bool engine_any_reads(const cornu_ranks *r, const float *own)
{
    return r->block.any_read && place_of(&r->block, own) < r->block.bytes;
}

/* Device memory: one range of addresses, handed out with guards around each piece. Nobody can touch
   it but work that runs "on the device" (memory_open); fresh memory is full of NaN. */
#include "driver.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { ALIGNMENT = 256, GUARD = 256, GUARD_BYTE = 0xa5 };
static const size_t ARENA_BYTES = (size_t)1 << 36;

typedef struct block {
    struct block *next; /* by address */
    unsigned char *start;
    size_t size, room; /* asked for; with what follows up to the end guard's start */
    int device;
} block;

static unsigned char *arena;
static block *blocks;
static size_t highest; /* bytes of the arena in use at most so far */
static int open_count;

static size_t budget(void)
{
    return (size_t)simulated_number("SIMULATED_CUDA_MEMORY", 1l << 31);
}

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* What a real device has of its own accord: memory in use before anything is allocated is 0 here,
   so that tests can say exactly what fits. */
static size_t used_by(int device)
{
    size_t used = 0;
    for (block *b = blocks; b; b = b->next)
        if (b->device == device)
            used += b->room;
    return used;
}

/* ---- access -------------------------------------------------------------------------------- */

/* With a protection key where the processor has them, for changing the pages' own protection takes
   longer than most work. */
typedef enum protection { UNKNOWN, NONE, BY_KEY, BY_PAGES } protection;
static protection protected;
static int key;

static void choose_protection(void)
{
    protected = NONE;
    if (!simulated_number("SIMULATED_CUDA_PROTECT", 1))
        return;
    key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    protected = key >= 0 ? BY_KEY : BY_PAGES;
}

static void allow(bool access)
{
    if (protected == BY_KEY)
        pkey_set(key, access ? 0 : PKEY_DISABLE_ACCESS);
    else if (protected == BY_PAGES && highest > 0 &&
             mprotect(arena, highest, access ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        abort();
}

void memory_open(void)
{
    if (open_count++ == 0)
        allow(true);
}

void memory_close(void)
{
    if (--open_count == 0)
        allow(false);
}

static bool guard_is_whole(const unsigned char *guard, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (guard[i] != GUARD_BYTE)
            return false;
    return true;
}

static void check_block(const block *b)
{
    unsigned char *end = b->start + b->size;
    size_t after = b->room - b->size + GUARD;
    ASAN_UNPOISON_MEMORY_REGION(b->start - GUARD, GUARD);
    ASAN_UNPOISON_MEMORY_REGION(end, after);
    if (!guard_is_whole(b->start - GUARD, GUARD))
        simulated_complain("work wrote before the start of %zu bytes of device memory", b->size);
    if (!guard_is_whole(end, after))
        simulated_complain("work wrote past the end of %zu bytes of device memory", b->size);
    memset(b->start - GUARD, GUARD_BYTE, GUARD);
    memset(end, GUARD_BYTE, after);
    ASAN_POISON_MEMORY_REGION(b->start - GUARD, GUARD);
    ASAN_POISON_MEMORY_REGION(end, after);
}

void memory_check(void)
{
    memory_open();
    for (block *b = blocks; b; b = b->next)
        check_block(b);
    memory_close();
}

__attribute__((no_sanitize_address)) void memory_overrun(const void *params, size_t size)
{
    uintptr_t address;
    memory_open();
    for (size_t at = 0; at + sizeof address <= size; at += sizeof address) {
        memcpy(&address, (const char *)params + at, sizeof address);
        for (block *b = blocks; b; b = b->next)
            if (address - (uintptr_t)b->start < b->size)
                b->start[b->size] = (unsigned char)~GUARD_BYTE;
    }
    memory_close();
}

/* ---- allocation ---------------------------------------------------------------------------- */

static bool reserve_arena(void)
{
    if (arena)
        return true;
    choose_protection();
    int access = protected == BY_PAGES ? PROT_NONE : PROT_READ | PROT_WRITE;
    void *at = mmap(NULL, ARENA_BYTES, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED ||
        (protected == BY_KEY && pkey_mprotect(at, ARENA_BYTES, access, key) != 0))
        return false;
    arena = at;
    return true;
}

/* The first gap that holds GUARD, `room` and GUARD; *link: where the block goes into the list. */
static unsigned char *find_gap(size_t room, block ***link)
{
    unsigned char *at = arena;
    *link = &blocks;
    while (**link && (size_t)((**link)->start - GUARD - at) < room + 2 * GUARD) {
        at = (**link)->start + (**link)->room + GUARD;
        *link = &(**link)->next;
    }
    return (size_t)(at - arena) + room + 2 * GUARD <= ARENA_BYTES ? at + GUARD : NULL;
}

static CUresult allocate(CUdeviceptr *pointer, size_t size)
{
    block **link, *b;
    int device = device_current();
    size_t room = round_up(size, ALIGNMENT), used = used_by(device);
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (room < size || used > budget() || room > budget() - used || !reserve_arena())
        return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned char *start = find_gap(room, &link);
    if (!start || !(b = malloc(sizeof *b)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *b = (block){.next = *link, .start = start, .size = size, .room = room, .device = device};
    *link = b;
    size_t end = (size_t)(start - arena) + room + GUARD;
    highest = round_up(end > highest ? end : highest, 1 << 16);
    memory_open();
    ASAN_UNPOISON_MEMORY_REGION(start - GUARD, room + 2 * GUARD);
    memset(start, 0xff, size); /* as floats: NaN */
    memset(start - GUARD, GUARD_BYTE, GUARD);
    memset(start + size, GUARD_BYTE, room - size + GUARD);
    check_block(b);
    memory_close();
    *pointer = (CUdeviceptr)(uintptr_t)start;
    return CUDA_SUCCESS;
}

/* The driver too waits for the device before memory goes. */
static CUresult release(CUdeviceptr pointer)
{
    streams_run_all();
    for (block **link = &blocks; *link; link = &(*link)->next) {
        block *b = *link;
        if ((CUdeviceptr)(uintptr_t)b->start != pointer)
            continue;
        memory_open();
        check_block(b);
        memset(b->start, 0xff, b->size);
        ASAN_POISON_MEMORY_REGION(b->start, b->room);
        memory_close();
        *link = b->next;
        free(b);
        return CUDA_SUCCESS;
    }
    simulated_complain("cuMemFree: 0x%llx is no allocation's start", (unsigned long long)pointer);
    return CUDA_ERROR_INVALID_VALUE;
}

bool simulated_is_device(const void *address, size_t size)
{
    const unsigned char *at = address;
    bool is = false;
    simulated_enter("");
    for (const block *b = blocks; b && b->start <= at; b = b->next)
        is = is || (size_t)(at - b->start) + size <= b->size;
    simulated_leave();
    return is;
}

void simulated_spoil(void *workspace, size_t size)
{
    if (size > 0)
        memset(workspace, 0xff, size);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *pointer, size_t size)
{
    CUresult r = enter(__func__, UNSAFE_IN_CAPTURE);
    if (r == CUDA_SUCCESS)
        r = allocate(pointer, size);
    if (r == CUDA_SUCCESS)
        simulated_track((void *)(uintptr_t)*pointer, is_memory);
    return leave(r);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer)
{
    CUresult r = enter(__func__, UNSAFE_IN_CAPTURE);
    if (r == CUDA_SUCCESS)
        r = release(pointer);
    if (r == CUDA_SUCCESS)
        simulated_forget((void *)(uintptr_t)pointer);
    return leave(r);
}

CUresult CUDAAPI cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS) {
        size_t used = used_by(device_current());
        *total = budget();
        *free_bytes = used < *total ? *total - used : 0;
    }
    return leave(r);
}

/* ---- the host's pinned memory -------------------------------------------------------------- */

typedef struct pinned {
    struct pinned *next;
    unsigned char *start;
    size_t size;
} pinned;
static pinned *pinned_list;

static bool is_pinned_range(const void *address, size_t size)
{
    const unsigned char *at = address;
    for (const pinned *p = pinned_list; p; p = p->next)
        if (at >= p->start && (size_t)(at - p->start) + size <= p->size)
            return true;
    return false;
}

CUresult CUDAAPI cuMemHostAlloc(void **pointer, size_t size, unsigned int flags)
{
    CUresult r = enter(__func__, UNSAFE_IN_CAPTURE);
    if (r == CUDA_SUCCESS && (size == 0 || flags > 7))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        pinned *p = malloc(sizeof *p);
        void *start = p ? aligned_alloc(4096, round_up(size, 4096)) : NULL;
        if (start) {
            *p = (pinned){.next = pinned_list, .start = start, .size = size};
            pinned_list = p;
            memset(start, 0xff, size);
            simulated_track(start, is_pinned);
            *pointer = start;
        } else {
            free(p);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return leave(r);
}

CUresult CUDAAPI cuMemFreeHost(void *pointer)
{
    CUresult r = enter(__func__, UNSAFE_IN_CAPTURE);
    if (r == CUDA_SUCCESS && !simulated_is(pointer, is_pinned))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        streams_run_all();
        pinned **link = &pinned_list;
        while ((*link)->start != pointer)
            link = &(*link)->next;
        pinned *p = *link;
        *link = p->next;
        simulated_forget(pointer);
        free(p->start);
        free(p);
    }
    return leave(r);
}

/* ---- copies -------------------------------------------------------------------------------- */

typedef struct copy {
    void *to;
    const void *from; /* NULL: the data lies behind this struct, or the fill byte is `value` */
    size_t size;
    int value;
} copy;

static void do_copy(const void *data)
{
    const copy *c = data;
    memmove(c->to, c->from ? c->from : (const unsigned char *)data + sizeof *c, c->size);
}

static void do_fill(const void *data)
{
    const copy *c = data;
    memset(c->to, c->value, c->size);
}

static bool is_device_range(const char *call, CUdeviceptr pointer, size_t size)
{
    if (simulated_is_device((void *)(uintptr_t)pointer, size))
        return true;
    simulated_complain("%s: 0x%llx, %zu bytes: not within an allocation", call,
                       (unsigned long long)pointer, size);
    return false;
}

/* A graph would read the memory at each launch: it must stay where it is. */
static CUresult check_capture(const stream *s)
{
    if (!s)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture) {
        capture_break(s->capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

/* From pageable memory: the driver takes a copy of it before it returns. */
static CUresult copy_from_pageable(CUdeviceptr to, const void *from, size_t size, CUstream handle)
{
    CUresult r = check_capture(stream_find(handle));
    copy *c = r == CUDA_SUCCESS ? malloc(sizeof *c + size) : NULL;
    if (!c)
        return r != CUDA_SUCCESS ? r : CUDA_ERROR_OUT_OF_MEMORY;
    *c = (copy){.to = (void *)(uintptr_t)to, .size = size};
    memcpy(c + 1, from, size);
    r = simulated_enqueue(handle, do_copy, c, sizeof *c + size);
    free(c);
    return r;
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream handle)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    copy c = {.to = (void *)(uintptr_t)to, .from = from, .size = size};
    if (r == CUDA_SUCCESS && !is_device_range(__func__, to, size))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (r == CUDA_SUCCESS && is_pinned_range(from, size))
        r = simulated_enqueue(handle, do_copy, &c, sizeof c);
    else if (r == CUDA_SUCCESS)
        r = copy_from_pageable(to, from, size, handle);
    return leave(r);
}

/* To pageable memory: the driver returns when the copy is done. */
CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream handle)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    copy c = {.to = to, .from = (const void *)(uintptr_t)from, .size = size};
    stream *s = stream_find(handle);
    bool pageable = !is_pinned_range(to, size);
    if (r == CUDA_SUCCESS && !is_device_range(__func__, from, size))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && pageable)
        r = check_capture(s);
    if (r == CUDA_SUCCESS)
        r = simulated_enqueue(handle, do_copy, &c, sizeof c);
    if (r == CUDA_SUCCESS && pageable) {
        stream_run(s, s->added);
        r = failed_device();
    }
    return leave(r);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream handle)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    copy c = {.to = (void *)(uintptr_t)to, .from = (const void *)(uintptr_t)from, .size = size};
    if (r == CUDA_SUCCESS &&
        (!is_device_range(__func__, to, size) || !is_device_range(__func__, from, size)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = simulated_enqueue(handle, do_copy, &c, sizeof c);
    return leave(r);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream handle)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    copy c = {.to = (void *)(uintptr_t)to, .size = size, .value = value};
    if (r == CUDA_SUCCESS && !is_device_range(__func__, to, size))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = simulated_enqueue(handle, do_fill, &c, sizeof c);
    return leave(r);
}

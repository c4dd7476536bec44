#include "base/memory.h"
#include <cornu/tables.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Allocations from this size on are first compared with the available memory: Linux would grant
   them and kill the process when they are used. */
static const size_t CHECKED_BYTES = (size_t)64 << 20;
static const size_t HUGE_PAGE = (size_t)2 << 20;

static cornu_status out_of_memory(const char *what, double bytes)
{
    char needed[32];
    return status_fail(CORNU_OUT_OF_MEMORY, "%s: cannot allocate %s", what,
                       memory_human(bytes, needed));
}

static cornu_status check_available(const char *what, size_t bytes)
{
    if (bytes < CHECKED_BYTES)
        return CORNU_OK;
    int64_t available = memory_available();
    if (available >= 0 && bytes <= (size_t)available)
        return CORNU_OK;
    char needed[32], there[32];
    return status_fail(CORNU_OUT_OF_MEMORY, "%s: needs %s of memory; %s is free", what,
                       memory_human((double)bytes, needed), memory_human((double)available, there));
}

cornu_status memory_new(size_t count, size_t size, const char *what, void *out)
{
    void *memory = NULL;
    size_t bytes;
    memcpy(out, &memory, sizeof memory);
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return out_of_memory(what, (double)count * (double)size);
    TRY(check_available(what, bytes));
    memory = calloc(bytes ? bytes : 1, 1);
    if (!memory)
        return out_of_memory(what, (double)bytes);
    memcpy(out, &memory, sizeof memory);
    return CORNU_OK;
}

cornu_status memory_new_aligned(size_t bytes, const char *what, void *out)
{
    void *memory = NULL;
    memcpy(out, &memory, sizeof memory);
    if (bytes > PTRDIFF_MAX - HUGE_PAGE)
        return out_of_memory(what, (double)bytes);
    TRY(check_available(what, bytes));
    size_t alignment = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : 64;
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    rounded = rounded ? rounded : alignment;
    memory = aligned_alloc(alignment, rounded);
    if (!memory)
        return out_of_memory(what, (double)bytes);
    if (alignment == HUGE_PAGE) {
        (void)madvise(memory, rounded, MADV_HUGEPAGE); /* only a hint; refusal does no harm */
        memory_discard(memory, rounded);
    } else {
        memset(memory, 0, rounded);
    }
    memcpy(out, &memory, sizeof memory);
    return CORNU_OK;
}

void memory_free_aligned(void *memory)
{
    free(memory);
}

void memory_discard(void *memory, size_t bytes)
{
    if (bytes < 2 * HUGE_PAGE)
        return;
    /* The system gives whole pages as zeros when they are first touched. */
    size_t whole = bytes / HUGE_PAGE * HUGE_PAGE;
    if (madvise(memory, whole, MADV_DONTNEED) != 0)
        whole = 0;
    memset((char *)memory + whole, 0, bytes - whole);
}

cornu_status memory_copy_string(const char *string, char **out)
{
    size_t size = strlen(string) + 1;
    TRY(memory_new(size, 1, "string", out));
    memcpy(*out, string, size);
    return CORNU_OK;
}

cornu_status memory_replace_string(const char *string, char **to)
{
    char *copy = NULL;
    if (string)
        TRY(memory_copy_string(string, &copy));
    free(*to);
    *to = copy;
    return CORNU_OK;
}

cornu_status memory_format(char **out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(out, format, arguments);
    va_end(arguments);
    if (length < 0) {
        *out = NULL;
        return status_fail(CORNU_OUT_OF_MEMORY, "string: cannot allocate");
    }
    return CORNU_OK;
}

cornu_status memory_grow(void *items, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return CORNU_OK;
    size_t count = *capacity + *capacity / 2, bytes;
    count = count < 8 ? 8 : count;
    count = count < needed ? needed : count;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return out_of_memory("array", (double)count * (double)size);
    TRY(check_available("array", bytes));
    void *old, *new;
    memcpy(&old, items, sizeof old);
    new = realloc(old, bytes ? bytes : 1);
    if (!new)
        return out_of_memory("array", (double)bytes);
    memset((char *)new + *capacity *size, 0, bytes - *capacity * size);
    memcpy(items, &new, sizeof new);
    *capacity = count;
    return CORNU_OK;
}

/* A line of /proc/meminfo in bytes; -1 where it is missing. */
static int64_t meminfo(const char *name)
{
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f)
        return -1;
    char line[256];
    long long kibibytes = -1;
    size_t n = strlen(name);
    while (kibibytes < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            kibibytes = strtoll(line + n + 1, NULL, 10);
    fclose(f);
    return kibibytes < 0 ? -1 : (int64_t)kibibytes * 1024;
}

/* Bytes of this process's address space, and of those in memory; 0 where unknown. */
static void process_size(int64_t *addresses, int64_t *resident)
{
    long long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lld %lld", &size, &pages) != 2)
        size = pages = 0;
    if (f)
        fclose(f);
    *addresses = size * sysconf(_SC_PAGESIZE);
    *resident = pages * sysconf(_SC_PAGESIZE);
}

/* Bytes that this process has allocated, touched or not. */
static int64_t allocated(void)
{
    struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd);
}

/* Bytes of address space left under the process's own limit (ulimit -v). */
static int64_t addresses_left(int64_t taken)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur > INT64_MAX)
        return INT64_MAX;
    int64_t most = (int64_t)limit.rlim_cur;
    return taken < most ? most - taken : 0;
}

int64_t memory_available(void)
{
    int64_t free_bytes = meminfo("MemAvailable"), left = cgroup_memory_left();
    int64_t available = free_bytes >= 0 && free_bytes < left ? free_bytes : left;
    int64_t taken, resident;
    process_size(&taken, &resident);
    /* Allocated memory will be touched; the process's resident size tells how much of it was
       already. */
    int64_t untouched = allocated() - resident;
    if (available >= 0 && untouched > 0)
        available = untouched < available ? available - untouched : 0;
    int64_t addresses = addresses_left(taken);
    return addresses < available || (available < 0 && addresses < INT64_MAX) ? addresses
                                                                             : available;
}

int64_t memory_total(void)
{
    int64_t total = meminfo("MemTotal"), limit = cgroup_memory_limit();
    return total >= 0 && total < limit ? total : limit;
}

int64_t memory_unpacked_most(uint64_t size, int64_t times)
{
    int64_t counted = size < 1000000 ? 1000000 : (int64_t)size, most;
    return __builtin_mul_overflow(counted, times, &most) ? INT64_MAX : most;
}

char *memory_human(double bytes, char *out)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    /* 9.95 would be printed as "10.0" */
    snprintf(out, 16, unit > 0 && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return out;
}

void text_add(text *t, const char *format, ...)
{
    if (t->failed)
        return;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t room = t->capacity - t->length;
    int length = vsnprintf(t->data ? t->data + t->length : NULL, room, format, arguments);
    if (length < 0) {
        t->failed = true;
    } else if ((size_t)length >= room) {
        size_t needed = t->length + (size_t)length + 1;
        t->failed = memory_grow(&t->data, &t->capacity, needed, 1) != CORNU_OK;
        if (!t->failed)
            vsnprintf(t->data + t->length, t->capacity - t->length, format, again);
    }
    if (!t->failed)
        t->length += (size_t)length;
    va_end(again);
    va_end(arguments);
}

void text_add_printable(text *t, const char *line)
{
    size_t length = cornu_printable(line, NULL, 0);
    if (!t->failed)
        t->failed = memory_grow(&t->data, &t->capacity, t->length + length + 1, 1) != CORNU_OK;
    if (t->failed)
        return;
    cornu_printable(line, t->data + t->length, length + 1);
    t->length += length;
}

cornu_status text_take(text *t, char **out)
{
    *out = NULL;
    if (!t->failed && !t->data)
        t->failed = memory_grow(&t->data, &t->capacity, 1, 1) != CORNU_OK;
    if (t->failed) {
        text_free(t);
        return status_fail(CORNU_OUT_OF_MEMORY, "text: cannot allocate");
    }
    *out = t->data;
    *t = (text){0};
    return CORNU_OK;
}

void text_free(text *t)
{
    free(t->data);
    *t = (text){0};
}

/* ---- control groups --------------------------------------------------------------------- */

/* A reader of one folder of a group hierarchy. It returns the minimum of the folder's limit and
   `least`. */
typedef int64_t folder_reader(const char *folder, bool version2, int64_t least);

static bool read_line(const char *folder, const char *file, char *line, int size)
{
    char path[4400];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fgets(line, size, f) != NULL;
    fclose(f);
    return ok;
}

/* The number in a file; -1 where the file is missing or has no number ("max"). */
static int64_t read_number(const char *folder, const char *file)
{
    char line[128], *end;
    if (!read_line(folder, file, line, sizeof line))
        return -1;
    long long value = strtoll(line, &end, 10);
    return end == line || value < 0 ? -1 : (int64_t)value;
}

static int64_t read_statistic(const char *folder, const char *name)
{
    char path[4400], line[256];
    int length = snprintf(path, sizeof path, "%s/memory.stat", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return 0;
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    int64_t value = 0;
    size_t n = strlen(name);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            value = strtoll(line + n, NULL, 10);
    fclose(f);
    return value > 0 ? value : 0;
}

/* Version 1 writes "no limit" as a number near 2^63. */
static int64_t folder_limit(const char *folder, bool version2, int64_t least)
{
    int64_t limit = read_number(folder, version2 ? "memory.max" : "memory.limit_in_bytes");
    return limit >= 0 && limit < INT64_MAX / 2 && limit < least ? limit : least;
}

static int64_t folder_left(const char *folder, bool version2, int64_t least)
{
    int64_t limit = folder_limit(folder, version2, INT64_MAX);
    int64_t used = read_number(folder, version2 ? "memory.current" : "memory.usage_in_bytes");
    if (limit == INT64_MAX || used < 0)
        return least;
    int64_t cache = read_statistic(folder, version2 ? "inactive_file" : "total_inactive_file");
    int64_t left = limit - used + (cache < used ? cache : used);
    left = left > 0 ? left : 0;
    return left < least ? left : least;
}

/* CPU limit in thousandths of a core. */
static int64_t folder_cpus(const char *folder, bool version2, int64_t least)
{
    long long quota = -1, period = 0;
    if (version2) {
        char line[128];
        if (!read_line(folder, "cpu.max", line, sizeof line) ||
            sscanf(line, "%lld %lld", &quota, &period) != 2)
            return least;
    } else {
        quota = read_number(folder, "cpu.cfs_quota_us");
        period = read_number(folder, "cpu.cfs_period_us");
    }
    if (quota <= 0 || period <= 0 || quota > INT64_MAX / 1000)
        return least;
    int64_t cpus = quota * 1000 / period;
    return cpus < least ? cpus : least;
}

/* Walk from the process's own group up to the root. Inside a container the group's path may be the
   host's; folders that do not exist are skipped. */
static int64_t walk_up(const char *mount, const char *group, bool version2, folder_reader *reader,
                       int64_t least)
{
    char folder[4200];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return least;
    size_t root = strlen(mount);
    for (;;) {
        least = reader(folder, version2, least);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root)
            return least;
        *slash = 0;
    }
}

static bool has_controller(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == 0))
            return true;
    return false;
}

/* Lines of /proc/self/cgroup: "0::/group" (version 2) or "4:memory:/group". */
static int64_t least_of_groups(const char *controller, folder_reader *reader)
{
    int64_t least = INT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return least;
    char line[4096];
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = 0;
        *group++ = 0;
        if (*controllers == 0) {
            least = walk_up("/sys/fs/cgroup", group, true, reader, least);
            least = walk_up("/sys/fs/cgroup/unified", group, true, reader, least);
        } else if (has_controller(controllers, controller)) {
            char mount[128];
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%.60s", controllers);
            least = walk_up(mount, group, false, reader, least);
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
            least = walk_up(mount, group, false, reader, least);
        }
    }
    fclose(f);
    return least;
}

int64_t cgroup_memory_left(void)
{
    return least_of_groups("memory", folder_left);
}

int64_t cgroup_memory_limit(void)
{
    return least_of_groups("memory", folder_limit);
}

double cgroup_cpus(void)
{
    int64_t thousandths = least_of_groups("cpu", folder_cpus);
    return thousandths == INT64_MAX ? 0.0 : (double)thousandths / 1000.0;
}

#include "base/cgroup.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

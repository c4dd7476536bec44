#include "bench/energy.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char FOLDER[] = "/sys/class/powercap";

/* The first line of a small file; false, with errno, without one. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool got = fgets(line, size, f) != NULL;
    int error = errno;
    fclose(f);
    line[got ? strcspn(line, "\n") : 0] = 0;
    errno = error ? error : ENODATA;
    return got;
}

static bool read_number(const char *path, double *number)
{
    char line[64], end;
    return read_line(path, line, sizeof line) && sscanf(line, "%lf%c", number, &end) == 1 &&
           isfinite(*number) && *number >= 0;
}

/* A whole processor package, "intel-rapl:0" with the name "package-0": its cores and graphics are
   zones within it, and would be counted twice. */
static bool is_package(const char *folder, const char *zone)
{
    char path[ENERGY_PATH + 64], name[64];
    const char *colon = strchr(zone, ':');
    if (!colon || strchr(colon + 1, ':') || strncmp(zone, "intel-rapl:", 11) != 0)
        return false;
    snprintf(path, sizeof path, "%.400s/%.64s/name", folder, zone);
    return read_line(path, name, sizeof name) && strncmp(name, "package", 7) == 0;
}

static void add_zone(energy *e, const char *folder, const char *zone)
{
    char path[ENERGY_PATH];
    int i = e->count;
    snprintf(e->path[i], ENERGY_PATH, "%.400s/%.64s/energy_uj", folder, zone);
    snprintf(path, sizeof path, "%.400s/%.64s/max_energy_range_uj", folder, zone);
    if (!read_number(path, &e->range[i]))
        e->range[i] = 0;
    errno = 0;
    if (read_number(e->path[i], &e->last[i]))
        e->count++;
    else
        snprintf(e->why, sizeof e->why, "%.190s: cannot read: %.40s", e->path[i],
                 errno ? strerror(errno) : "no number");
}

void energy_open(energy *e, const char *folder)
{
    *e = (energy){0};
    folder = folder ? folder : FOLDER;
    DIR *d = opendir(folder);
    if (!d) {
        snprintf(e->why, sizeof e->why, "%.190s: %.60s", folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; (entry = readdir(d)) && e->count < ENERGY_ZONES_MOST;)
        if (is_package(folder, entry->d_name))
            add_zone(e, folder, entry->d_name);
    closedir(d);
    if (*e->why)
        e->count = 0; /* a partial sum would look like the total */
    else if (e->count == 0)
        snprintf(e->why, sizeof e->why, "%.190s: has no counter of a processor package", folder);
}

double energy_since(energy *e)
{
    double joules = 0;
    if (e->count == 0)
        return NAN;
    for (int i = 0; i < e->count; i++) {
        double now;
        if (!read_number(e->path[i], &now)) {
            snprintf(e->why, sizeof e->why, "%.190s: cannot be read any more", e->path[i]);
            e->count = 0;
            return NAN;
        }
        double since = now - e->last[i];
        if (since < 0) /* the counter wrapped around, or its range is unknown */
            since = e->range[i] > 0 ? since + e->range[i] : NAN;
        joules += since >= 0 ? since * 1e-6 : NAN;
        e->last[i] = now;
    }
    return joules;
}

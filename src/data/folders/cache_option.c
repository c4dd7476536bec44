#include "data/folders/cache_option.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

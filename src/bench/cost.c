/* Energy of the host, as Linux counts it, and money, as --price says. */
#include "bench/cost.h"
#include "base/number.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- energy --------------------------------------------------------------------------------- */

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

/* ---- money ---------------------------------------------------------------------------------- */

static cornu_status fail_price(const char *found)
{
    return status_fail(CORNU_INVALID,
                       "price: found \"%.60s\"; expected DEVICE=NUMBER/h, such as cpu=0.08/h or "
                       "gpu=0.53 EUR/h",
                       found);
}

/* The unit before or after the number, without surrounding blanks. */
static cornu_status keep_unit(price_list *out, const char *from, size_t length, bool first,
                              const char *found)
{
    char unit[PRICE_UNIT];
    for (; length > 0 && *from == ' '; from++)
        length--;
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length == 0)
        return CORNU_OK;
    if (length >= PRICE_UNIT)
        return fail_price(found);
    snprintf(unit, sizeof unit, "%.*s", (int)length, from);
    if (*out->unit && (strcmp(out->unit, unit) != 0 || out->unit_first != first))
        return status_fail(CORNU_INVALID,
                           "price: found \"%.60s\" beside prices in %s; expected one currency",
                           found, out->unit);
    snprintf(out->unit, sizeof out->unit, "%s", unit);
    out->unit_first = first;
    return CORNU_OK;
}

/* "cpu=$0.08/h" */
static cornu_status read_item(const char *item, price_list *out)
{
    char number[NUMBER_SIZE];
    price *p = &out->price[out->count];
    const char *equals = strchr(item, '='), *per = strrchr(item, '/');
    if (!equals || equals == item || equals - item >= (ptrdiff_t)sizeof p->device || !per ||
        per < equals || strcmp(per, "/h") != 0)
        return fail_price(item);
    const char *value = equals + 1, *begin = value + strcspn(value, "0123456789.-+");
    size_t digits = strspn(begin, "0123456789.");
    if (begin >= per || digits == 0 || digits >= sizeof number || begin + digits > per)
        return fail_price(item);
    snprintf(number, sizeof number, "%.*s", (int)digits, begin);
    if (!number_read(number, &p->per_hour) || !(p->per_hour >= 0) || !isfinite(p->per_hour))
        return fail_price(item);
    TRY(keep_unit(out, value, (size_t)(begin - value), true, item));
    TRY(keep_unit(out, begin + digits, (size_t)(per - begin) - digits, false, item));
    snprintf(p->device, sizeof p->device, "%.*s", (int)(equals - item), item);
    for (int i = 0; i < out->count; i++)
        if (strcmp(out->price[i].device, p->device) == 0)
            return status_fail(CORNU_INVALID, "price: found %s twice; expected one price of it",
                               p->device);
    out->count++;
    return CORNU_OK;
}

cornu_status price_parse(const char *text, price_list *out)
{
    *out = (price_list){0};
    while (text && *text) {
        char item[128];
        size_t length = strcspn(text, ",");
        if (length >= sizeof item || length == 0 || out->count == PRICES_MOST)
            return fail_price(text);
        snprintf(item, sizeof item, "%.*s", (int)length, text);
        TRY(read_item(item, out));
        text += length;
        if (*text == ',' && !*++text)
            return fail_price(",");
    }
    return CORNU_OK;
}

static const price *find(const price_list *list, const char *name, size_t length)
{
    for (int i = 0; i < list->count; i++)
        if (strlen(list->price[i].device) == length &&
            strncmp(list->price[i].device, name, length) == 0)
            return &list->price[i];
    return NULL;
}

double price_of(const price_list *list, const char *device, bool gpu)
{
    const price *p = find(list, device, strlen(device));
    if (!p)
        p = find(list, device, strcspn(device, ":"));
    if (!p && gpu)
        p = find(list, "gpu", 3);
    return p ? p->per_hour : NAN;
}

const char *price_show(const price_list *list, double amount, char *text)
{
    char number[32];
    if (!isfinite(amount)) {
        snprintf(text, 48, "-");
        return text;
    }
    int decimals = amount >= 99.5 ? 0 : amount >= 0.995 ? 2 : amount >= 0.0995 ? 3 : 4;
    snprintf(number, sizeof number, "%.*f", decimals, amount);
    if (list->unit_first)
        snprintf(text, 48, "%s%s", list->unit, number);
    else
        snprintf(text, 48, "%s%s%s", number, *list->unit ? " " : "", list->unit);
    return text;
}

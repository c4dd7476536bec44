#include "bench/price.h"
#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Options: which keys a map may have; and words. */
#include "model/config.h"
#include <string.h>

static const config_field *find_field(const config_field *fields, const char *key)
{
    for (const config_field *f = fields; f && f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

static bool is_listed(const config_field *f)
{
    return f->type < CONFIG_NEUTRAL && !(f->flags & CONFIG_ALIAS);
}

enum { LISTED_MAX = 64 };

static int listed_keys(const config_field *fields, const char **keys, int count)
{
    for (const config_field *f = fields; f && f->key && count < LISTED_MAX; f++)
        if (is_listed(f))
            keys[count++] = f->key;
    return count;
}

static cornu_status fail_key(const char *owner, const doc *at, const config_field *a,
                             const config_field *b)
{
    const char *keys[LISTED_MAX];
    int count = listed_keys(b, keys, listed_keys(a, keys, 0));
    if (count == 0)
        return doc_fail(at, "unknown option; %s takes none", owner);
    text known = {0};
    for (int i = 0; i < count; i++)
        text_add(&known, "%s%s", i ? ", " : "", keys[i]);
    int nearest = name_nearest(at->key, keys, count);
    bool named = nearest >= 0;
    cornu_status status = doc_fail(
        at, "unknown option; %s takes %s%s%s%s", owner, known.failed ? "others" : known.data,
        named ? " (did you mean " : "", named ? keys[nearest] : "", named ? "?)" : "");
    text_free(&known);
    return status;
}

cornu_status config_check_keys(const char *owner, const doc *map, const config_field *a,
                               const config_field *b)
{
    if (!map)
        return CORNU_OK;
    if (map->type != DOC_MAP) {
        char found[80];
        return doc_fail(map, "found %s; expected a map of options",
                        doc_show(map, found, sizeof found));
    }
    for (int i = 0; i < map->count; i++)
        if (!find_field(a, map->items[i]->key) && !find_field(b, map->items[i]->key))
            return fail_key(owner, map->items[i], a, b);
    return CORNU_OK;
}

cornu_status config_read_word(const config_field *f, const doc *d, void *out)
{
    (void)f;
    if (d->type != DOC_STRING || !*d->string || strlen(d->string) >= CONFIG_WORD_SIZE)
        return doc_fail_found(d, "a string of 1 to 47 bytes");
    memcpy(out, d->string, strlen(d->string) + 1);
    return CORNU_OK;
}

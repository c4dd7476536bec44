/* "seed=1..8" and "learning_rate=0.1,0.01": the runs of a sweep. */
#include "cli/trials.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_INT(flag, key, minimum, maximum) {flag, flag, key, minimum, maximum},
#define KEY_FLAG(...)
#define KEY_TEXT(...)
#define KEY_ROW(at, type, field, key, flag, value, standard, minimum, maximum, help) \
    KEY_##type(flag, key, minimum, maximum)

const trial_key trial_keys[TRIAL_KEYS] = {
    CORNU_FIT_OPTIONS(KEY_ROW, OPTION_NONE, ) /* with their ranges */
    {"learning_rate", "learning-rate", NULL, 0, 0},
};

/* ---- reading ---------------------------------------------------------------------------- */

static bool is_name_of(const trial_key *k, const char *name)
{
    return strcmp(name, k->name) == 0 || strcmp(name, k->option) == 0 ||
           (k->alias && strcmp(name, k->alias) == 0);
}

static int fail_key(const char *name)
{
    const char *names[TRIAL_KEYS + 1] = {NULL};
    char all[256] = "";
    for (int i = 0; i < TRIAL_KEYS; i++) {
        size_t length = strlen(all);
        names[i] = trial_keys[i].name;
        snprintf(all + length, sizeof all - length, "%s%s",
                 i == 0               ? ""
                 : i < TRIAL_KEYS - 1 ? ", "
                                      : " or ",
                 names[i]);
    }
    const char *nearest = nearest_name(name, names);
    if (nearest)
        return fail_usage(&command_train, "--sweep: found \"%s\"; did you mean %s?", name, nearest);
    return fail_usage(&command_train, "--sweep: found \"%s\"; expected %s, =, and values", name,
                      all);
}

static int fail_value(const trial_key *k, const char *found)
{
    if (k->maximum == 0)
        return fail_usage(&command_train,
                          "--sweep %s: found \"%s\"; expected numbers above 0 with commas between",
                          k->name, found);
    return fail_usage(&command_train,
                      "--sweep %s: found \"%s\"; expected whole numbers from %lld to %lld, or "
                      "FIRST..LAST, with commas between",
                      k->name, found, (long long)k->minimum, (long long)k->maximum);
}

static bool read_whole(const trial_key *k, const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    bool digits = *text && text[strspn(text, "0123456789")] == 0;
    return digits && errno == 0 && *number >= k->minimum && *number <= k->maximum;
}

static bool is_value(const trial_key *k, const char *text)
{
    int64_t whole;
    double real;
    return k->maximum ? read_whole(k, text, &whole) : read_real(text, &real);
}

/* Twice the same run would be twice the same file. Numbers of up to 2^53 differ as doubles do; of
   larger seeds the digits count. */
static bool is_same(const char *a, const char *b)
{
    bool large = strlen(a) > 15 || strlen(b) > 15;
    return large ? strcmp(a, b) == 0 : strtod(a, NULL) == strtod(b, NULL);
}

static int add_value(trial_list *l, const char *value)
{
    if (strlen(value) >= TRIAL_VALUE || !is_value(l->key, value))
        return fail_value(l->key, value);
    for (int i = 0; i < l->count; i++)
        if (is_same(l->value[i], value))
            return fail_usage(&command_train, "--sweep %s: found %s twice; expected it once",
                              l->key->name, value);
    if (l->count == TRIALS_MOST)
        return fail_usage(&command_train, "--sweep %s: found more than %d values; expected fewer",
                          l->key->name, TRIALS_MOST);
    snprintf(l->value[l->count++], TRIAL_VALUE, "%s", value);
    return STATUS_OK;
}

/* FIRST..LAST, of whole numbers. */
static int add_range(trial_list *l, const char *item, const char *dots)
{
    char begin[TRIAL_VALUE], value[TRIAL_VALUE];
    int64_t first, last;
    snprintf(begin, sizeof begin, "%.*s", (int)(dots - item), item);
    if (!read_whole(l->key, begin, &first) || !read_whole(l->key, dots + 2, &last) || last < first)
        return fail_value(l->key, item);
    int status = STATUS_OK;
    for (int64_t number = first; status == STATUS_OK; number++) {
        snprintf(value, sizeof value, "%lld", (long long)number);
        status = add_value(l, value);
        if (number == last) /* `last` may be the largest possible number */
            break;
    }
    return status;
}

static int add_list(trials *t, const char *asked)
{
    char text[512], *rest = text;
    int status = STATUS_OK;
    if ((size_t)snprintf(text, sizeof text, "%s", asked) >= sizeof text)
        return fail_usage(&command_train, "--sweep: found %zu characters; expected fewer than %zu",
                          strlen(asked), sizeof text);
    const char *name = strsep(&rest, "=");
    const trial_key *key = NULL;
    for (int i = 0; i < TRIAL_KEYS; i++)
        if (is_name_of(&trial_keys[i], name))
            key = &trial_keys[i];
    if (!key)
        return fail_key(name);
    for (int i = 0; i < t->lists; i++)
        if (t->list[i].key == key)
            return fail_usage(&command_train, "--sweep %s: found it twice; expected one list",
                              key->name);
    trial_list *l = &t->list[t->lists++];
    l->key = key;
    if (!rest)
        return fail_value(key, "");
    while (status == STATUS_OK && rest) {
        const char *item = strsep(&rest, ",");
        const char *dots = key->maximum ? strstr(item, "..") : NULL;
        status = dots ? add_range(l, item, dots) : add_value(l, item);
    }
    return status;
}

int trials_parse(trials *t, const text_list *asked)
{
    *t = (trials){.count = 1};
    for (int i = 0; i < asked->count; i++) {
        int status = add_list(t, asked->item[i]);
        if (status != STATUS_OK)
            return status;
        t->count *= t->list[t->lists - 1].count;
        if (t->count > TRIALS_MOST)
            return fail_usage(&command_train, "--sweep: found %d runs; expected at most %d",
                              t->count, TRIALS_MOST);
    }
    return STATUS_OK;
}

/* ---- asking ----------------------------------------------------------------------------- */

const char *trial_value(const trials *t, int trial, int list)
{
    for (int i = t->lists - 1; i > list; i--)
        trial /= t->list[i].count;
    return t->list[list].value[trial % t->list[list].count];
}

void trial_name(const trials *t, int trial, char mark, char name[TRIAL_NAME])
{
    size_t length = 0;
    *name = 0;
    for (int i = 0; i < t->lists; i++, length = strlen(name))
        snprintf(name + length, TRIAL_NAME - length, "%.*s%s=%s", i > 0, &mark,
                 t->list[i].key->name, trial_value(t, trial, i));
}

/* The begin of a file name's extension. */
static size_t ending_of(const char *path)
{
    static const char weights[] = ".weights.h5"; /* Keras's, in two */
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(path), tail = sizeof weights - 1;
    if (strlen(name) > tail && strcmp(path + length - tail, weights) == 0)
        return length - tail;
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - path) : length;
}

void trial_path(const trials *t, int trial, const char *path, const char *ending,
                char own[TRIAL_PATH])
{
    char name[TRIAL_NAME];
    size_t at = ending_of(path);
    trial_name(t, trial, '-', name);
    snprintf(own, TRIAL_PATH, "%.*s-%s%s", (int)at, path, name, ending ? ending : path + at);
}

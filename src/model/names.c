#include "base/memory.h"
#include "model/config.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_COMPARED = 63, FAR_AWAY = 1000, SLIPS_MAX = 3 };

static int minimum(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau 1964), three rows of the table at a time. */
static int name_distance(const char *a, const char *b)
{
    int rows[3][NAME_MAX_COMPARED + 1];
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > NAME_MAX_COMPARED || length_b > NAME_MAX_COMPARED)
        return FAR_AWAY;
    int na = (int)length_a, nb = (int)length_b;
    for (int j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = minimum(minimum(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                tolower((unsigned char)a[i - 2]) == y)
                row[j] = minimum(row[j], second[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

static bool is_keras_only(const char *name)
{
    static const char *const rows[] = {
#define KERAS_ONLY(row) row,
#include "model/layers/layers.def"
#define KERAS_ONLY(row) row,
#include "model/optimizers.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(name, rows[i]) == 0)
            return true;
    return false;
}

/* Is `beginning` the first word, or the first few, of `name`: validation of validation_data? */
static bool begins_with_words(const char *name, const char *beginning)
{
    size_t length = strlen(beginning);
    return length > 0 && strncasecmp(name, beginning, length) == 0 && name[length] == '_';
}

int name_nearest(const char *name, const char *const *names, int count)
{
    int best = -1, least = FAR_AWAY;
    if (is_keras_only(name))
        return -1;
    for (int i = 0; i < count; i++) {
        int distance = name_distance(name, names[i]);
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    size_t length = strlen(name);
    /* More than a few edits are no slip, however long the name: one of its words is a different
       one. */
    int allowed = minimum((int)length / 3, SLIPS_MAX);
    if (least <= (allowed < 1 ? 1 : allowed))
        return best;
    for (int i = 0; i < count; i++)
        if (begins_with_words(name, names[i]))
            return i;
    for (int i = 0; i < count && length >= 3; i++)
        if (strncasecmp(names[i], name, length) == 0)
            return i; /* a beginning of it */
    return -1;
}

cornu_status name_fail(const doc *at, const char *what, const char *name, const char *const *names,
                       int count)
{
    text known = {0};
    for (int i = 0; i < count; i++)
        text_add(&known, "%s%s", i ? ", " : "", names[i]);
    int nearest = name_nearest(name, names, count);
    cornu_status status;
    if (is_keras_only(name))
        status = doc_fail(at, "unknown %s \"%s\", which Keras has and cornu has not; cornu has %s",
                          what, name, known.failed ? "more" : known.data);
    else if (nearest >= 0)
        status = doc_fail(at, "unknown %s \"%s\"; did you mean %s? cornu has %s", what, name,
                          names[nearest], known.failed ? "more" : known.data);
    else
        status = doc_fail(at, "unknown %s \"%s\"; cornu has %s", what, name,
                          known.failed ? "more" : known.data);
    text_free(&known);
    return status;
}

void name_tell_layer(text *out, const char *name, const char *where, const char *const *names,
                     int count)
{
    enum { SHOWN_MAX = 8 };
    const int nearest = name_nearest(name, names, count);
    const int shown = count > SHOWN_MAX ? SHOWN_MAX - 1 : count;
    text_add(out, "found no layer \"%.80s\"%s; ", name, where);
    if (nearest >= 0) {
        text_add(out, "did you mean %s?", names[nearest]);
        return;
    }
    text_add(out, "there %s %s", PLURAL(count, "is", "are"), count == 0 ? "none" : "");
    for (int i = 0; i < shown; i++)
        text_add(out, "%s%s", i ? ", " : "", names[i]);
    if (count > shown)
        text_add(out, " and %d others", count - shown);
}

cornu_status name_fail_layer(const doc *at, const char *name, const char *where,
                             const char *const *names, int count)
{
    text told = {0};
    name_tell_layer(&told, name, where, names, count);
    cornu_status status = doc_fail(at, "%s", told.failed ? "found no such layer" : told.data);
    text_free(&told);
    return status;
}

static cornu_status fail_form(const doc *d, const char *what)
{
    char found[80];
    return doc_fail(d, "found %s; expected %s: NAME, or {NAME: {OPTION: VALUE}}",
                    d ? doc_show(d, found, sizeof found) : "nothing", what);
}

static bool is_of_keras(const char *module)
{
    static const char *const packages[] = {"keras", "tf_keras"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        size_t length = strlen(packages[i]);
        if (strncmp(module, packages[i], length) == 0 && (!module[length] || module[length] == '.'))
            return true;
    }
    return false;
}

cornu_status name_refuse_custom(const doc *at)
{
    const char *module = doc_string(doc_get(at, "module"));
    const char *name = doc_string(doc_get(at, "registered_name"));
    const char *class_name = doc_string(doc_get(at, "class_name"));
    bool own = name && class_name && strcmp(name, class_name) != 0;
    /* {module: builtins, class_name: function, config: relu} is only a name. */
    if (module && class_name && strcmp(module, "builtins") == 0 &&
        strcmp(class_name, "function") == 0)
        return CORNU_OK;
    if (class_name && strcmp(class_name, "Lambda") == 0)
        return doc_fail(at, "found a Lambda layer, which holds code; cornu runs none from a file");
    if (own || (module && !is_of_keras(module)))
        return doc_fail(at,
                        "found the custom object %s of %s; expected Keras's own, as cornu runs no "
                        "code from a file",
                        name         ? name
                        : class_name ? class_name
                                     : "without a name",
                        module ? module : "no module");
    return CORNU_OK;
}

cornu_status name_split(const doc *d, const char *what, const char **name, const doc **options)
{
    *options = NULL;
    if (d && d->type == DOC_STRING) {
        *name = d->string;
        return CORNU_OK;
    }
    if (!d || d->type != DOC_MAP)
        return fail_form(d, what);
    const doc *class_name = doc_get(d, "class_name");
    if (class_name) {
        static const char *const keys[] = {
            "module",       "class_name",       "config", "registered_name",
            "build_config", "shared_object_id", NULL};
        TRY(doc_only_keys(d, keys));
        TRY(name_refuse_custom(d));
        if (class_name->type != DOC_STRING)
            return fail_form(class_name, what);
        *name = class_name->string;
        *options = doc_get(d, "config");
    } else {
        if (d->count != 1)
            return fail_form(d, what);
        *name = d->items[0]->key;
        *options = d->items[0];
    }
    if (*options && (*options)->type == DOC_NULL)
        *options = NULL;
    if (*options && (*options)->type != DOC_MAP) {
        char found[80];
        return doc_fail(*options, "found %s; expected a map of options",
                        doc_show(*options, found, sizeof found));
    }
    return CORNU_OK;
}

cornu_status name_check(const doc *at, const char *what, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || length > NAME_LENGTH_MAX || strchr(name, '/'))
        return doc_fail(at, "found %s \"%.60s\"; expected 1 to %d characters without /", what, name,
                        NAME_LENGTH_MAX);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ')
            return doc_fail(at, "found a control character in the %s; expected text", what);
    return CORNU_OK;
}

/* Keras's expressions are Python's. POSIX's extended ones, which the C library reads, mean the same
   as long as they have no sign that is Python's alone; such signs are refused. */
#include "model/patterns.h"
#include "model/config.h"
#include <ctype.h>
#include <regex.h>
#include <string.h>

static bool is_repeat(char c)
{
    return c && strchr("*+?", c);
}

/* The first place of the text that the C library would read otherwise than Python; or NULL. */
static const char *foreign(const char *s)
{
    bool in_class = false;
    for (; *s; s++) {
        const bool last = in_class && *s == ']';
        if (in_class ? *s == '\\' || *s == '[' : *s == '{')
            return s;
        if (!in_class && *s == '\\' && (!s[1] || !ispunct((unsigned char)s[1])))
            return s;
        if (!in_class && (strncmp(s, "(?", 2) == 0 || (is_repeat(*s) && is_repeat(s[1]))))
            return s;
        if (!in_class && *s == '\\') {
            s++;
        } else if (!in_class && *s == '[') {
            in_class = true;
            s += s[1] == '^';
            s += s[1] == ']';
        } else if (last) {
            in_class = false;
        }
    }
    return NULL;
}

static cornu_status check(const doc *d)
{
    regex_t compiled;
    char found[80], why[80];
    if (d->type != DOC_STRING || !*d->string)
        return doc_fail(d, "found %s; expected a regular expression",
                        doc_show(d, found, sizeof found));
    const char *own = foreign(d->string);
    if (own)
        return doc_fail(
            d,
            "found \"%s\", of which cornu does not know what begins at \"%s\"; expected a "
            "regular expression of letters, . * + ? | ( ) [ ] ^ $ and these after a \\",
            d->string, own);
    const int error = regcomp(&compiled, d->string, REG_EXTENDED | REG_NOSUB);
    if (error != 0) {
        regerror(error, NULL, why, sizeof why);
        return doc_fail(d, "found \"%s\": %s; expected a regular expression", d->string, why);
    }
    regfree(&compiled);
    return CORNU_OK;
}

cornu_status config_read_patterns(const config_field *f, const doc *d, void *out)
{
    patterns *p = out;
    char found[80];
    size_t at = 0;
    (void)f;
    memset(p, 0, sizeof *p);
    if (d->type == DOC_NULL)
        return CORNU_OK;
    if (d->type != DOC_LIST)
        return doc_fail(d, "found %s; expected a list of regular expressions",
                        doc_show(d, found, sizeof found));
    for (int i = 0; i < d->count; i++) {
        TRY(check(d->items[i]));
        const size_t size = strlen(d->items[i]->string) + 1;
        if (size >= sizeof p->text - at)
            return doc_fail(d,
                            "found more than %d characters; expected fewer or shorter expressions",
                            PATTERNS_SIZE - 2);
        memcpy(p->text + at, d->items[i]->string, size);
        at += size;
    }
    return CORNU_OK;
}

bool patterns_find(const patterns *p, const char *name)
{
    bool found = false;
    for (const char *s = p->text; *s && !found; s += strlen(s) + 1) {
        regex_t compiled;
        if (regcomp(&compiled, s, REG_EXTENDED | REG_NOSUB) != 0)
            continue;
        found = regexec(&compiled, name, 0, NULL, 0) == 0;
        regfree(&compiled);
    }
    return found;
}

json_t *patterns_to_json(const patterns *p)
{
    json_t *list = json_array();
    for (const char *s = p->text; list && *s; s += strlen(s) + 1)
        if (json_array_append_new(list, json_string(s)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

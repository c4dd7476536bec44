/* One option parser for all subcommands: each gives a table. */
#include "cli/cli.h"
#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- suggestions ------------------------------------------------------------------------ */

enum { WORD_MOST = 64, SLIPS_MOST = 3 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* The number of letters replaced, left out, added or swapped with their neighbour (optimal
   string alignment); keeps three rows of the table. */
static int distance(const char *a, const char *b)
{
    int rows[3][WORD_MOST + 1];
    int n = (int)strlen(b), m = (int)strlen(a);
    if (n > WORD_MOST || m > WORD_MOST)
        return WORD_MOST;
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            row[j] =
                smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], second[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

/* True if `beginning` is the first word, or the first words, of `word`: batch of batch-size. */
static bool begins_with_words(const char *word, const char *beginning)
{
    size_t length = strlen(beginning);
    return strncmp(word, beginning, length) == 0 && (word[length] == '-' || word[length] == '_');
}

const char *nearest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    size_t length = strlen(word);
    int allowed = length < 6 ? 1 : smaller((int)length / 3, SLIPS_MOST);
    for (int i = 0; names[i]; i++) {
        int d = distance(word, names[i]);
        if (d <= allowed) {
            allowed = d - 1;
            best = names[i];
        }
    }
    for (int i = 0; names[i] && !best; i++)
        if (begins_with_words(word, names[i]))
            best = names[i];
    for (int i = 0; names[i] && !best && length >= 2; i++)
        if (strncmp(word, names[i], length) == 0)
            best = names[i];
    return best;
}

/* ---- parsing ---------------------------------------------------------------------------- */

static const option *find_option(const option *options, const char *name, size_t length)
{
    for (const option *o = options; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static int fail_unknown(const command *c, const option *options, const char *argument)
{
    const char *names[64];
    int count = 0;
    char word[WORD_MOST + 1];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(argument, "="), argument);
    const char *bare = word + strspn(word, "-");
    for (const option *o = options; o->name && count < 62; o++)
        names[count++] = o->name;
    names[count++] = "help";
    names[count] = NULL;
    const char *nearest = *bare ? nearest_name(bare, names) : NULL;
    if (nearest)
        return fail_usage(c, "%s: unknown option; did you mean --%s?", word, nearest);
    return fail_usage(c, "%s: unknown option", word);
}

static bool set_int(const command *c, const option *o, const char *value, int *status)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool whole = *value && *end == 0 && errno == 0 && strchr(" \t+", *value) == NULL;
    if (whole && number >= o->minimum && number <= o->maximum) {
        if (o->type == OPTION_SMALL)
            *(int *)o->target = (int)number;
        else
            *(int64_t *)o->target = number;
        return true;
    }
    if (o->maximum == INT64_MAX)
        *status = fail_usage(c, "--%s: found \"%s\"; expected a whole number from %lld on", o->name,
                             value, (long long)o->minimum);
    else
        *status = fail_usage(c, "--%s: found \"%s\"; expected a whole number from %lld to %lld",
                             o->name, value, (long long)o->minimum, (long long)o->maximum);
    return false;
}

bool read_real(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    bool decimal = *text && *end == 0 && text[strspn(text, "0123456789.eE+-")] == 0;
    return decimal && *value > 0 && *value <= DBL_MAX;
}

/* "90s", "10m", "1h30m", "2d": seconds, above 0. */
static bool read_time(const char *text, double *seconds)
{
    static const struct {
        char name;
        double seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    const size_t count = sizeof units / sizeof *units;
    size_t next = 0; /* the largest that may follow */
    *seconds = 0;
    while (*text) {
        size_t digits = strspn(text, "0123456789."), unit = next;
        char number[32], *end;
        while (unit < count && units[unit].name != text[digits])
            unit++;
        snprintf(number, sizeof number, "%.*s", (int)digits, text);
        if (digits == 0 || digits >= sizeof number || unit == count)
            return false;
        *seconds += strtod(number, &end) * units[unit].seconds;
        if (*end)
            return false;
        text += digits + 1;
        next = unit + 1;
    }
    return *seconds > 0;
}

static bool set_time(const command *c, const option *o, const char *value, int *status)
{
    real_number *number = o->target;
    number->text = value;
    if (read_time(value, &number->value))
        return true;
    *status = fail_usage(c, "--%s: found \"%s\"; expected a time, such as 90s, 10m or 1h30m",
                         o->name, value);
    return false;
}

static bool set_real(const command *c, const option *o, const char *value, int *status)
{
    real_number *number = o->target;
    number->text = value;
    if (read_real(value, &number->value))
        return true;
    *status = fail_usage(c, "--%s: found \"%s\"; expected a number above 0", o->name, value);
    return false;
}

static bool add_to_list(const command *c, const option *o, const char *value, int *status)
{
    text_list *list = o->target;
    const int most = sizeof list->item / sizeof *list->item;
    if (list->count < most) {
        list->item[list->count++] = value;
        return true;
    }
    *status = fail_usage(c, "--%s: found more than %d of them; expected fewer", o->name, most);
    return false;
}

static bool set_value(const command *c, const option *o, const char *value, int *status)
{
    if (o->type == OPTION_INT || o->type == OPTION_SMALL)
        return set_int(c, o, value, status);
    if (o->type == OPTION_REAL)
        return set_real(c, o, value, status);
    if (o->type == OPTION_TIME)
        return set_time(c, o, value, status);
    if (*value == 0) {
        *status = fail_usage(c, "--%s: found an empty value; expected %s", o->name, o->value);
        return false;
    }
    if (o->type == OPTION_LIST)
        return add_to_list(c, o, value, status);
    *(const char **)o->target = value;
    return true;
}

static bool is_output(const char *word)
{
    const char *ending = strrchr(word, '.');
    return ending && (strcasecmp(ending, ".json") == 0 || strcasecmp(ending, ".png") == 0);
}

static bool add_file(const command *c, const option *o, const char *value, int *status)
{
    output_files *files = o->target;
    const int most = sizeof files->file / sizeof *files->file;
    files->asked = true;
    if (!value)
        return true;
    if (is_output(value) && files->count < most) {
        files->file[files->count++] = value;
        return true;
    }
    if (files->count == most)
        *status =
            fail_usage(c, "--%s: found \"%s\"; expected at most %d files", o->name, value, most);
    else
        *status =
            fail_usage(c, "--%s: found \"%s\"; expected FILE.json or FILE.png", o->name, value);
    return false;
}

/* The option at argv[*at]; advances *at past its value. */
static bool read_option(const command *c, const option *options, int argc, char **argv, int *at,
                        int *status)
{
    const char *argument = argv[*at], *name = argument + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    const option *o = strncmp(argument, "--", 2) == 0 ? find_option(options, name, length) : NULL;
    if (!o) {
        *status = fail_unknown(c, options, argument);
        return false;
    }
    if (o->type == OPTION_FLAG) {
        if (value)
            *status = fail_usage(c, "--%s: found \"%s\"; expected no value", o->name, value);
        else
            *(bool *)o->target = true;
        return !value;
    }
    bool follows = *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0;
    if (!value && follows && (o->type != OPTION_FILES || is_output(argv[*at + 1])))
        value = argv[++*at];
    if (o->type == OPTION_FILES)
        return add_file(c, o, value, status);
    if (!value) {
        *status = fail_usage(c, "--%s: found nothing; expected %s", o->name, o->value);
        return false;
    }
    return set_value(c, o, value, status);
}

static bool check_operands(const command *c, const operands *found, int least, int most,
                           const char *what, int *status)
{
    if (found->count < least && found->count > 0)
        *status = fail_usage(c, "found \"%s\" alone; expected %s", found->item[0], what);
    else if (found->count < least)
        *status = fail_usage(c, "found nothing; expected %s", what);
    else if (most >= 0 && found->count > most && most == 0)
        *status = fail_usage(c, "found \"%s\"; expected only options", found->item[0]);
    else if (most >= 0 && found->count > most)
        *status = fail_usage(c, "found \"%s\" too many; expected %s", found->item[most], what);
    else
        return true;
    return false;
}

bool options_parse(const command *c, const option *options, int argc, char **argv, int least,
                   int most, const char *what, operands *out, int *status)
{
    bool only_operands = false;
    *out = (operands){.item = (const char **)(void *)argv};
    for (int i = 1; i < argc; i++) {
        char *argument = argv[i];
        if (only_operands || *argument != '-' || argument[1] == 0) {
            argv[out->count++] = argument; /* never overtakes i: argv[0] made room */
        } else if (strcmp(argument, "--") == 0) {
            only_operands = true;
        } else if (help_print(c, options, argument)) {
            *status = STATUS_OK;
            return false;
        } else if (!read_option(c, options, argc, argv, &i, status)) {
            return false;
        }
    }
    argv[out->count] = NULL; /* argc >= 1, so there is room */
    return check_operands(c, out, least, most, what, status);
}

/* ---- what was given ---------------------------------------------------------------------- */

static void visit_int(const option *o, option_visit *visit, void *user)
{
    char text[32];
    int64_t number = o->type == OPTION_INT ? *(const int64_t *)o->target : *(const int *)o->target;
    snprintf(text, sizeof text, "%lld", (long long)number);
    if (number)
        visit(user, o, text);
}

static void visit_list(const option *o, const char *const *items, int count, option_visit *visit,
                       void *user)
{
    for (int i = 0; i < count; i++)
        if (items[i])
            visit(user, o, items[i]);
}

static void visit_option(const option *o, option_visit *visit, void *user)
{
    const text_list *list = o->target;
    const output_files *files = o->target;
    switch (o->type) {
    case OPTION_FLAG:
        if (*(const bool *)o->target)
            visit(user, o, NULL);
        break;
    case OPTION_INT:
    case OPTION_SMALL:
        visit_int(o, visit, user);
        break;
    case OPTION_REAL:
    case OPTION_TIME:
        visit_list(o, &((const real_number *)o->target)->text, 1, visit, user);
        break;
    case OPTION_TEXT:
        visit_list(o, (const char *const *)o->target, 1, visit, user);
        break;
    case OPTION_LIST:
        visit_list(o, list->item, list->count, visit, user);
        break;
    case OPTION_FILES:
        visit_list(o, files->file, files->count, visit, user);
        break;
    }
}

void options_each(const option *options, option_visit *visit, void *user)
{
    for (const option *o = options; o->name; o++)
        visit_option(o, visit, user);
}

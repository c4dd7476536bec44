/* The files that predict's operands stand for: see predict.h. */
#include "cli/predict.h"
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool is_pattern(const char *word)
{
    struct stat s;
    return strpbrk(word, "*?[") && lstat(word, &s) != 0;
}

static bool is_standard_input(const char *word)
{
    return strcmp(word, "-") == 0;
}

int64_t count_files(const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (is_standard_input(words[i]) || is_folder(words[i]) || is_pattern(words[i]))
            return -1;
    return count;
}

/* ---- folders ---------------------------------------------------------------------------- */

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_real_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int visit_folder(const char *folder, visit_file *visit, void *user);

/* One of a folder's entries; a link to a folder is none, so that no loop can be walked. */
static int visit_entry(const char *folder, const char *name, visit_file *visit, void *user)
{
    char path[PATH_MAX];
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    if ((size_t)snprintf(path, sizeof path, "%s%s%s", folder, slash, name) >= sizeof path)
        return visit(user, path, strerror(ENAMETOOLONG));
    if (is_real_folder(path))
        return visit_folder(path, visit, user);
    return is_folder(path) ? STATUS_OK : visit(user, path, NULL);
}

static int visit_folder(const char *folder, visit_file *visit, void *user)
{
    struct dirent **entries;
    int status = STATUS_OK, count = scandir(folder, &entries, is_shown, by_bytes);
    if (count < 0)
        return visit(user, folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == STATUS_OK)
            status = visit_entry(folder, entries[i]->d_name, visit, user);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int visit_path(const char *path, visit_file *visit, void *user)
{
    return is_folder(path) ? visit_folder(path, visit, user) : visit(user, path, NULL);
}

/* ---- patterns --------------------------------------------------------------------------- */

static int visit_pattern(const char *pattern, visit_file *visit, void *user)
{
    glob_t found = {0};
    int status = STATUS_OK, failure = glob(pattern, 0, NULL, &found);
    if (failure)
        status = visit(user, pattern,
                       failure == GLOB_NOMATCH ? "no file matches it" : "cannot be looked for");
    for (size_t i = 0; i < found.gl_pathc && !failure && status == STATUS_OK; i++)
        status = visit_path(found.gl_pathv[i], visit, user);
    globfree(&found);
    return status;
}

/* ---- standard input --------------------------------------------------------------------- */

/* The next name into name[PATH_MAX]; false at the end. A longer one is cut, and *whole false. */
static bool next_name(int end, char *name, bool *whole)
{
    size_t length = 0;
    int c = getc_unlocked(stdin);
    *whole = true;
    if (c == EOF)
        return false;
    for (; c != EOF && c != end; c = getc_unlocked(stdin)) {
        *whole = length + 1 < PATH_MAX;
        if (*whole)
            name[length++] = (char)c;
    }
    name[length] = 0;
    return true;
}

static int visit_standard_input(bool ended_by_nul, visit_file *visit, void *user)
{
    char name[PATH_MAX];
    bool whole;
    int status = STATUS_OK;
    while (status == STATUS_OK && next_name(ended_by_nul ? 0 : '\n', name, &whole))
        if (*name)
            status = visit(user, name, whole ? NULL : strerror(ENAMETOOLONG));
    if (status == STATUS_OK && ferror(stdin))
        return fail(STATUS_FAILURE, "standard input: cannot read: %s", strerror(errno));
    return status;
}

/* ---- all -------------------------------------------------------------------------------- */

int walk_files(const char *const *words, int count, bool ended_by_nul, visit_file *visit,
               void *user)
{
    int status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = is_standard_input(words[i]) ? visit_standard_input(ended_by_nul, visit, user)
                 : is_pattern(words[i])      ? visit_pattern(words[i], visit, user)
                                             : visit_path(words[i], visit, user);
    return status;
}

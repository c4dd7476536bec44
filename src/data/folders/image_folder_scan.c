#include "base/files.h"
#include "base/memory.h"
#include "data/folders/image_folder.h"
#include "data/images/image.h"
#include "data/sha256.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- files and classes ------------------------------------------------------------------ */

/* ---- unusable files ---- */

cornu_status skips_add(skips *s, const char *line)
{
    const char *which = s->options->brief ? " (cornu data show FOLDER lists all such files)" : "";
    bool told = s->options->brief ? s->listed && !s->told : s->count < SKIPS_TOLD;
    if (told)
        data_notice(s->options, "%s; skipped%s", line, which);
    s->told |= told;
    s->count++;
    return s->first ? CORNU_OK : memory_copy_string(line, &s->first);
}

cornu_status skips_finish(skips *s, const char *folder)
{
    cornu_status status = CORNU_OK;
    if (s->count > SKIPS_TOLD)
        data_detail(s->options, "%s: %lld more %s skipped", folder,
                    (long long)(s->count - SKIPS_TOLD),
                    PLURAL(s->count - SKIPS_TOLD, "file", "files"));
    if (s->count > 0 && s->strict)
        status =
            status_fail(CORNU_BAD_FILE, "%s (strict: found %lld such %s in %s; expected none)",
                        s->first, (long long)s->count, PLURAL(s->count, "file", "files"), folder);
    free(s->first);
    s->first = NULL;
    return status;
}

/* ---- lists ---- */

void image_files_free(image_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].problem);
    }
    free(files->items);
    *files = (image_files){0};
}

void names_free(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (name_list){0};
}

static cornu_status names_add(name_list *list, const char *name)
{
    TRY(memory_grow(&list->names, &list->capacity, list->count + 1, sizeof(char *)));
    TRY(memory_copy_string(name, &list->names[list->count]));
    list->count++;
    return CORNU_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* By folder, then name, as Keras walks. */
static int by_folder(const void *a, const void *b)
{
    const char *left = ((const image_file *)a)->path, *right = ((const image_file *)b)->path;
    size_t m = (size_t)(path_base(left) - left), n = (size_t)(path_base(right) - right);
    /* The slash at a folder's end is left out: it would sort "a/" after "a-b". */
    int order = memcmp(left, right, (m < n ? m : n) - 1);
    if (order == 0 && m != n)
        order = m < n ? -1 : 1;
    return order ? order : strcmp(left + m, right + n);
}

/* ---- classes ---- */

/* Is `inner` `outer` or inside it? Both are real paths. */
static bool is_inside(const char *inner, const char *outer)
{
    size_t length = strlen(outer);
    return !strncmp(inner, outer, length) && (inner[length] == 0 || inner[length] == '/');
}

/* Would a walk of `path` come back to `folder`? */
static bool is_loop(const char *folder, const char *path)
{
    char *real_folder = realpath(folder, NULL), *real_path = realpath(path, NULL);
    bool loop = real_folder && real_path && is_inside(real_folder, real_path);
    free(real_folder);
    free(real_path);
    return loop;
}

static cornu_status add_class_name(const char *folder, const char *name,
                                   const cornu_data_options *options, name_list *classes)
{
    char *path = NULL;
    TRY(path_join(folder, name, &path));
    cornu_status status = CORNU_OK;
    if (!folder_exists(path))
        ; /* a file beside the class folders belongs to no class */
    else if (*name == '.')
        data_detail(options, "%s: hidden folder; not taken as a class", path);
    else if (is_loop(folder, path))
        data_detail(options, "%s: link to a folder that holds it; not taken as a class", path);
    else
        status = names_add(classes, name);
    free(path);
    return status;
}

static cornu_status fail_open(const char *folder)
{
    return status_fail(errno == ENOENT ? CORNU_NOT_FOUND : CORNU_IO, "%s: cannot read: %s", folder,
                       strerror(errno));
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

cornu_status images_list_classes(const char *folder, const cornu_data_options *options,
                                 name_list *classes)
{
    cornu_status status = CORNU_OK;
    DIR *stream = opendir(folder);
    if (!stream)
        return fail_open(folder);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (!is_dots(entry->d_name))
            TRY_GOTO(add_class_name(folder, entry->d_name, options, classes));
    if (classes->count)
        qsort(classes->names, classes->count, sizeof(char *), by_bytes);
done:
    closedir(stream);
    return status;
}

/* ---- a class's files ---- */

typedef struct walk {
    skips *skipped;
    image_files *files;
    name_list folders; /* still to be read */
    int label;
    int64_t hidden;
} walk;

static cornu_status skip(walk *w, const char *path, const char *why)
{
    char *line = NULL;
    TRY(memory_format(&line, "%s: %s", path, why));
    cornu_status status = skips_add(w->skipped, line);
    free(line);
    return status;
}

/* The kind of an entry: DT_REG, DT_DIR (not through a link), DT_LNK (a link to a folder, or to
   nothing), or DT_UNKNOWN for all others. */
static int kind_of(const struct dirent *entry, const char *path)
{
    struct stat s;
    if (entry->d_type == DT_REG || entry->d_type == DT_DIR)
        return entry->d_type;
    if (stat(path, &s) == 0 && S_ISREG(s.st_mode))
        return DT_REG;
    if (lstat(path, &s) != 0)
        return DT_UNKNOWN;
    return S_ISDIR(s.st_mode) ? DT_DIR : S_ISLNK(s.st_mode) ? DT_LNK : DT_UNKNOWN;
}

static cornu_status add_file(walk *w, const char *path)
{
    char *copy = NULL, why[64];
    const char *unread = image_unread_format_of(path);
    if (unread) {
        snprintf(why, sizeof why, "%s, which cornu does not read", unread);
        return skip(w, path, why);
    }
    if (!image_format_of(path))
        return skip(w, path, "no image");
    TRY(memory_grow(&w->files->items, &w->files->capacity, w->files->count + 1,
                    sizeof *w->files->items));
    TRY(memory_copy_string(path, &copy));
    w->files->items[w->files->count++] = (image_file){.path = copy, .label = w->label};
    return CORNU_OK;
}

static cornu_status add_entry(walk *w, const char *folder, const struct dirent *entry)
{
    char *path = NULL;
    TRY(path_join(folder, entry->d_name, &path));
    cornu_status status = CORNU_OK;
    int kind = kind_of(entry, path);
    if (*entry->d_name == '.')
        w->hidden++;
    else if (kind == DT_DIR)
        status = names_add(&w->folders, path);
    else if (kind == DT_REG)
        status = add_file(w, path);
    else if (kind == DT_LNK && folder_exists(path))
        status = skip(w, path, "link to a folder inside a class");
    else
        status = skip(w, path, kind == DT_LNK ? "link to nothing" : "no regular file");
    free(path);
    return status;
}

/* A folder inside a class that cannot be read is skipped; the class's own is an error. */
static cornu_status read_folder(walk *w, const char *folder, bool own)
{
    cornu_status status = CORNU_OK;
    DIR *stream = opendir(folder);
    if (!stream && own)
        return fail_open(folder);
    if (!stream)
        return skip(w, folder, strerror(errno));
    for (struct dirent *entry; status == CORNU_OK && (entry = readdir(stream));)
        if (!is_dots(entry->d_name))
            status = add_entry(w, folder, entry);
    closedir(stream);
    return status;
}

/* ---- the validation split ---- */

/* A number in [0, 1) from the file's path inside the data set alone: the first 52 bits of its
   SHA-256. So no file changes its split when others come or go, nor on another machine. */
static cornu_status fraction_of(const char *class_name, const char *inside, double *fraction)
{
    char hex[65], *path;
    TRY(memory_format(&path, "%s/%s", class_name, inside));
    cornu_status status = sha256_of(path, strlen(path), hex);
    free(path);
    TRY(status);
    hex[13] = 0;
    *fraction = (double)strtoull(hex, NULL, 16) / (double)(1ull << 52);
    return CORNU_OK;
}

cornu_status images_fraction(const char *inside, double *fraction)
{
    return fraction_of("", inside, fraction);
}

cornu_status images_scan_class(const char *folder, const char *class_name, int label,
                               double test_fraction, skips *skipped, image_files *files)
{
    walk w = {.skipped = skipped, .files = files, .label = label};
    size_t before = files->count;
    cornu_status status = read_folder(&w, folder, true);
    for (size_t i = 0; i < w.folders.count && status == CORNU_OK; i++)
        status = read_folder(&w, w.folders.names[i], false);
    names_free(&w.folders);
    TRY(status);
    if (files->count > before)
        qsort(files->items + before, files->count - before, sizeof *files->items, by_folder);
    else
        data_detail(skipped->options, "%s: class without images", folder);
    if (w.hidden > 0)
        data_detail(skipped->options, "%s: %lld hidden files and folders left out", folder,
                    (long long)w.hidden);
    for (size_t i = before; i < files->count && test_fraction > 0; i++) {
        double fraction;
        TRY(fraction_of(class_name, files->items[i].path + strlen(folder) + 1, &fraction));
        files->items[i].test = fraction < test_fraction;
    }
    return CORNU_OK;
}

/* ---- folders of classes ---- */

/* Is there an image directly in the folder, even one in a format that cornu does not read? */
static bool images_hold(const char *folder)
{
    bool found = false;
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && !found && (entry = readdir(stream));) {
        char *path = NULL;
        if (*entry->d_name != '.' && path_join(folder, entry->d_name, &path) == CORNU_OK)
            found = image_format_of(path) || image_unread_format_of(path);
        free(path);
    }
    if (stream)
        closedir(stream);
    return found;
}

bool images_are_classes(const char *folder)
{
    static const cornu_data_options silent = {.size = sizeof silent};
    name_list classes = {0};
    bool found = false;
    if (images_list_classes(folder, &silent, &classes) == CORNU_OK)
        for (size_t i = 0; i < classes.count && !found; i++) {
            char *path = NULL;
            found = path_join(folder, classes.names[i], &path) == CORNU_OK && images_hold(path);
            free(path);
        }
    names_free(&classes);
    return found;
}

/* ---- splits ----------------------------------------------------------------------------- */

/* In the order of preference for a test split. */
static const struct {
    const char *name;
    cornu_split split;
} split_names[] = {
    {"train", CORNU_TRAIN},  {"training", CORNU_TRAIN},  {"test", CORNU_TEST},
    {"testing", CORNU_TEST}, {"validation", CORNU_TEST}, {"val", CORNU_TEST},
    {"valid", CORNU_TEST},
};
enum { SPLIT_NAMES = sizeof split_names / sizeof *split_names };

static const cornu_data_options silent;

/* The folders inside a folder. */
typedef struct sisters {
    const char *folder;
    const cornu_data_options *options;
    name_list names;
} sisters;

/* The row of a folder's name; -1: not a split's name. */
static int row_of(const char *name)
{
    for (int row = 0; row < SPLIT_NAMES; row++)
        if (strcasecmp(name, split_names[row].name) == 0)
            return row;
    return -1;
}

/* Ask `question` about a folder in the folder; false without memory for its path. */
static bool ask(const sisters *s, const char *name, bool (*question)(const char *path))
{
    char *path = NULL;
    bool answer = path_join(s->folder, name, &path) == CORNU_OK && question(path);
    free(path);
    return answer;
}

static bool holds_folders(const char *path)
{
    name_list inside = {0};
    bool found = images_list_classes(path, &silent, &inside) == CORNU_OK && inside.count > 0;
    names_free(&inside);
    return found;
}

static bool holds_pictures(const char *path)
{
    return images_hold(path) || images_are_classes(path);
}

/* Is it the split of training samples? It must hold folders. */
static bool is_train(const sisters *s, const char *name)
{
    int row = row_of(name);
    return row >= 0 && split_names[row].split == CORNU_TRAIN && ask(s, name, holds_folders);
}

/* The first folder of pictures without a split's name; NULL: none. */
static const char *find_class(const sisters *s)
{
    for (size_t i = 0; i < s->names.count; i++)
        if (row_of(s->names.names[i]) < 0 && ask(s, s->names.names[i], holds_pictures))
            return s->names.names[i];
    return NULL;
}

static cornu_status fail_two(const sisters *s, const char *a, const char *b, const char *what)
{
    return status_fail(CORNU_INVALID, "%s: found the folders %s and %s; expected one of %s samples",
                       s->folder, a, b, what);
}

static cornu_status find_train(const sisters *s, const char **found)
{
    *found = NULL;
    for (size_t i = 0; i < s->names.count; i++) {
        if (!is_train(s, s->names.names[i]))
            continue;
        if (*found)
            return fail_two(s, *found, s->names.names[i], "training");
        *found = s->names.names[i];
    }
    return CORNU_OK;
}

/* The folder of a row that holds folders; a folder that does not is reported. */
static cornu_status find_row(const sisters *s, int row, const char **found)
{
    *found = NULL;
    for (size_t i = 0; i < s->names.count; i++) {
        const char *name = s->names.names[i];
        if (row_of(name) != row)
            continue;
        if (!ask(s, name, holds_folders))
            data_notice(s->options, "%s/%s: holds no folders of classes; not used", s->folder,
                        name);
        else if (*found)
            return fail_two(s, *found, name, split_names[row].name);
        else
            *found = name;
    }
    return CORNU_OK;
}

static cornu_status find_test(const sisters *s, const char **found)
{
    *found = NULL;
    for (int row = 0; row < SPLIT_NAMES; row++) {
        const char *name;
        if (split_names[row].split == CORNU_TRAIN)
            continue;
        TRY(find_row(s, row, &name));
        if (name && *found)
            data_notice(s->options, "%s/%s: not used, as the test samples are those of %s",
                        s->folder, name, *found);
        else if (name)
            *found = name;
    }
    return CORNU_OK;
}

static cornu_status find(const sisters *s, image_splits *out)
{
    const char *train, *test, *beside;
    TRY(find_train(s, &train));
    if (!train)
        return CORNU_OK;
    beside = find_class(s);
    if (beside) {
        data_notice(s->options,
                    "%s: %s is taken as a class, not as the training samples, because of %s beside "
                    "it",
                    s->folder, train, beside);
        return CORNU_OK;
    }
    TRY(find_test(s, &test));
    TRY(path_join(s->folder, train, &out->train));
    return test ? path_join(s->folder, test, &out->test) : CORNU_OK;
}

cornu_status splits_find(const char *folder, const cornu_data_options *options, image_splits *out)
{
    sisters s = {.folder = folder, .options = options};
    *out = (image_splits){0};
    cornu_status status = images_list_classes(folder, &silent, &s.names);
    if (status == CORNU_OK)
        status = find(&s, out);
    names_free(&s.names);
    if (status != CORNU_OK)
        splits_free(out);
    return status;
}

void splits_free(image_splits *splits)
{
    free(splits->train);
    free(splits->test);
    *splits = (image_splits){0};
}

bool images_present(const char *folder)
{
    image_splits splits;
    cornu_status status = splits_find(folder, &silent, &splits);
    bool found =
        status == CORNU_INVALID || splits.train != NULL; /* images_read reports the error */
    splits_free(&splits);
    return found;
}

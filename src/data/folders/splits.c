#include "data/folders/splits.h"

#include "base/files.h"
#include "base/memory.h"
#include "data/folders/image_folder.h"
#include <stdlib.h>
#include <strings.h>

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

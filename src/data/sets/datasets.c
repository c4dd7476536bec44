#include "data/sets/datasets.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE(...)      \
    {                   \
        3,              \
        {               \
            __VA_ARGS__ \
        }               \
    }
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define READERS(...) ((const data_reader *const[]){__VA_ARGS__, NULL})
#define FILES(...) ((const dataset_file[]){__VA_ARGS__, {NULL, NULL, NULL, 0}})
#define DATASET(name, title, samples, shape, classes, folders, system, readers, files, archive) \
    {                                                                                           \
        name,    title,   samples, shape,   (int)(sizeof classes / sizeof(char *)) - 1,         \
        classes, folders, system,  readers, files,                                              \
        archive},
static const dataset rows[] = {
#include "data/sets/datasets.def"
};
#undef DATASET
#define ROW_COUNT ((int)(sizeof rows / sizeof *rows))

const dataset *dataset_at(int index)
{
    return index >= 0 && index < ROW_COUNT ? &rows[index] : NULL;
}

/* Only letters and digits, in lower case, so that "Fashion-MNIST" is "fashion_mnist". */
static void normalize(const char *name, char *out, size_t size)
{
    size_t used = 0;
    for (; *name && used + 1 < size; name++)
        if (isalnum((unsigned char)*name))
            out[used++] = (char)tolower((unsigned char)*name);
    out[used] = 0;
}

const dataset *dataset_named(const char *name)
{
    char asked[64], own[64];
    if (!name || strchr(name, '/') || strlen(name) >= sizeof asked)
        return NULL;
    normalize(name, asked, sizeof asked);
    for (int i = 0; i < ROW_COUNT; i++) {
        normalize(rows[i].name, own, sizeof own);
        if (!strcmp(asked, own))
            return &rows[i];
    }
    return NULL;
}

static bool has_reader(const dataset *set, const data_reader *reader)
{
    for (const data_reader *const *r = set->readers; *r; r++)
        if (*r == reader)
            return true;
    return false;
}

const dataset *dataset_in_folder(const data_reader *reader, const char *folder,
                                 const dataset *otherwise)
{
    char full[PATH_MAX], tail[512], own[64];
    if (!realpath(folder, full))
        return otherwise;
    /* The last two names: torchvision keeps files in FashionMNIST/raw. */
    char *last = strrchr(full, '/'), *start = last;
    while (start && start > full && start[-1] != '/')
        start--;
    normalize(start ? start : full, tail, sizeof tail);
    const dataset *best = NULL;
    for (int i = 0; i < ROW_COUNT; i++) {
        normalize(rows[i].name, own, sizeof own);
        bool longer = !best || strlen(rows[i].name) > strlen(best->name);
        if (has_reader(&rows[i], reader) && longer && strstr(tail, own))
            best = &rows[i];
    }
    return best ? best : otherwise;
}

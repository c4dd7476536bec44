/* Finds data: a named set, which may be downloaded; and whatever a folder holds. */
#include "base/env.h"
#include "base/files.h"
#include "base/memory.h"
#include "data/folders/image_folder.h"
#include "data/sets/datasets.h"
#include <cornu/data.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- named sets ------------------------------------------------------------------------- */

enum { ROOTS = 4 };

/* An unpacked data set is little larger than its archive, as photographs compress badly; a result
   beyond this is refused. */
static int64_t unpack_limit(const dataset *set)
{
    return set->files[0].bytes * 4 + (16 << 20);
}

static cornu_status keras_cache(char **out)
{
    const char *keras = getenv("KERAS_HOME");
    if (keras && *keras)
        return path_join(keras, "datasets", out);
    return path_in_home(".keras/datasets", out);
}

cornu_status dataset_cache_folder(char **folder)
{
    if (env_get(ENV_DATA))
        return memory_copy_string(env_get(ENV_DATA), folder);
    TRY(cache_folder(folder));
    if (!*folder)
        return status_fail(CORNU_IO, "no folder to download to: HOME is not set; set CORNU_DATA");
    return CORNU_OK;
}

/* Does `folder` itself hold the set? `trusted`: the user named the folder, so another set with the
   same layout is accepted. */
static bool look_at(const dataset *set, const char *folder, bool trusted, data_location *location)
{
    for (const data_reader *const *reader = set->readers; *reader; reader++) {
        if (!(*reader)->present(folder, set))
            continue;
        const dataset *found = dataset_in_folder(*reader, folder, set);
        if (found == set || trusted) {
            location->set = found;
            location->reader = *reader;
            return true;
        }
    }
    return false;
}

/* Look for the set in `root`, in one of its usual folders there, or as an archive there. */
static cornu_status look_in(const dataset *set, const char *root, bool trusted,
                            data_location *location)
{
    char *at = NULL;
    if (!folder_exists(root))
        return CORNU_OK;
    if (look_at(set, root, trusted, location))
        return memory_copy_string(root, &location->folder);
    for (const char *const *name = set->folders; *name; name++) {
        TRY(path_join(root, *name, &at));
        if (look_at(set, at, trusted, location)) {
            location->folder = at;
            return CORNU_OK;
        }
        free(at);
    }
    if (!set->archive_folder)
        return CORNU_OK;
    TRY(path_join(root, set->files[0].name, &at));
    bool found = file_exists(at);
    free(at);
    if (!found)
        return CORNU_OK;
    location->set = set;
    return memory_copy_string(root, &location->folder);
}

/* The folders to search: only the one that the caller names, or else the usual ones. */
static cornu_status list_roots(const dataset *set, const char *folder, char *roots[ROOTS])
{
    if (folder)
        return memory_copy_string(folder, &roots[0]);
    if (env_get(ENV_DATA))
        TRY(memory_copy_string(env_get(ENV_DATA), &roots[0]));
    TRY(cache_folder(&roots[1]));
    TRY(keras_cache(&roots[2]));
    return set->system_folder ? memory_copy_string(set->system_folder, &roots[3]) : CORNU_OK;
}

cornu_status dataset_find(const dataset *set, const char *folder, data_location *location,
                          char **looked)
{
    cornu_status status;
    char *roots[ROOTS] = {NULL};
    text names = {0};
    *location = (data_location){0};
    TRY_GOTO(list_roots(set, folder, roots));
    for (int i = 0; i < ROOTS && !location->folder; i++) {
        if (!roots[i])
            continue;
        text_add(&names, "%s%s", names.length ? ", " : "", roots[i]);
        TRY_GOTO(look_in(set, roots[i], folder != NULL, location));
    }
    if (looked)
        status = text_take(&names, looked);
done:
    for (int i = 0; i < ROOTS; i++)
        free(roots[i]);
    text_free(&names);
    return status;
}

bool cornu_dataset_info_get(int index, cornu_dataset_info *info)
{
    const dataset *set = dataset_at(index);
    if (!set || !info)
        return false;
    cornu_dataset_info own = {
        .size = sizeof own, .name = set->name, .title = set->title, .url = set->files[0].url};
    for (const dataset_file *f = set->files; f->name; f++)
        own.bytes += f->bytes;
    data_location location = {0};
    if (dataset_find(set, NULL, &location, NULL) == CORNU_OK && location.folder &&
        strlen(location.folder) < sizeof own.folder)
        memcpy(own.folder, location.folder, strlen(location.folder) + 1);
    free(location.folder);
    return STRUCT_WRITE("cornu_dataset_info", info, &own) == CORNU_OK;
}

/* Unpack `archive` so that cache/FOLDER appears complete or not at all. */
static cornu_status unpack_set(const dataset *set, const cornu_data_options *options,
                               const char *archive, const char *cache, const char *folder)
{
    cornu_status status;
    char *temporary = NULL, *inside = NULL;
    TRY_GOTO(memory_format(&temporary, "%s/.%s.XXXXXX", cache, set->archive_folder));
    if (!mkdtemp(temporary)) { /* a name that did not exist and that cannot be guessed */
        status =
            status_fail(CORNU_IO, "%s: cannot make a folder in it: %s", cache, strerror(errno));
        free(temporary);
        temporary = NULL;
        goto done;
    }
    TRY_GOTO(archive_unpack(archive, temporary, unpack_limit(set), options));
    TRY_GOTO(path_join(temporary, set->archive_folder, &inside));
    if (!folder_exists(inside)) {
        status =
            status_fail(CORNU_BAD_FILE, "%s: holds no folder %s", archive, set->archive_folder);
        goto done;
    }
    if (rename(inside, folder) && errno != EEXIST && errno != ENOTEMPTY)
        status = status_fail(CORNU_IO, "%s: cannot make: %s", folder, strerror(errno));
done:
    if (temporary && folder_exists(temporary)) {
        cornu_status removed = status == CORNU_OK ? folder_remove(temporary) : CORNU_OK;
        if (status != CORNU_OK) { /* keep the first message */
            char message[1024];
            snprintf(message, sizeof message, "%s", cornu_last_error());
            folder_remove(temporary);
            status_fail(status, "%s", message);
        }
        status = status == CORNU_OK ? removed : status;
    }
    free(temporary);
    free(inside);
    return status;
}

/* Set the location to `folder` (taken), with the reader that fits. */
static cornu_status settle(const dataset *set, char *folder, data_location *location)
{
    *location = (data_location){.set = set, .folder = folder};
    for (const data_reader *const *reader = set->readers; *reader && !location->reader; reader++)
        if ((*reader)->present(folder, set))
            location->reader = *reader;
    if (location->reader)
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE, "%s: holds none of the files of %s", folder, set->name);
}

cornu_status dataset_unpack_found(const cornu_data_options *options, data_location *location)
{
    cornu_status status;
    const dataset *set = location->set;
    char *cache = NULL, *archive = NULL, *folder = NULL;
    TRY_GOTO(path_join(location->folder, set->files[0].name, &archive));
    TRY_GOTO(dataset_cache_folder(&cache));
    TRY_GOTO(path_join(cache, set->archive_folder, &folder));
    if (!folder_exists(folder)) {
        data_notice(options, "unpacking %s into %s", archive, folder);
        TRY_GOTO(download_check(&set->files[0], archive));
        TRY_GOTO(folder_make(cache));
        TRY_GOTO(unpack_set(set, options, archive, cache, folder));
    }
    free(location->folder);
    status = settle(set, folder, location);
    folder = NULL;
done:
    free(cache);
    free(archive);
    free(folder);
    return status;
}

cornu_status dataset_fetch(const dataset *set, const cornu_data_options *options,
                           data_location *location)
{
    cornu_status status;
    char *cache = NULL, *folder = NULL, *path = NULL;
    TRY_GOTO(dataset_cache_folder(&cache));
    const char *name = set->archive_folder ? set->archive_folder : set->folders[0];
    TRY_GOTO(path_join(cache, name, &folder));
    for (const dataset_file *f = set->files; f->name; f++) {
        free(path);
        path = NULL;
        TRY_GOTO(path_join(set->archive_folder ? cache : folder, f->name, &path));
        if (!file_exists(path))
            TRY_GOTO(download_file(f, path, options));
    }
    if (set->archive_folder) {
        TRY_GOTO(unpack_set(set, options, path, cache, folder));
        remove(path); /* its content is in the folder now */
    }
    status = settle(set, folder, location);
    folder = NULL;
done:
    free(cache);
    free(folder);
    free(path);
    return status;
}

/* ---- the data in a folder --------------------------------------------------------------- */

/* ---- the data sets in a folder ---- */

typedef struct location_list {
    data_location *items;
    size_t count, capacity;
} location_list;

static void locations_free(location_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].folder);
    free(list->items);
}

/* Add it once, though several readers may read its files, and the same files may belong to several
   sets. */
static cornu_status add_location(location_list *list, const dataset *set, const data_reader *reader,
                                 const char *folder)
{
    char *copy = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const data_location *p = &list->items[i];
        if (!strcmp(p->folder, folder) && (p->set == set || p->reader == reader))
            return CORNU_OK;
    }
    TRY(memory_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items));
    TRY(memory_copy_string(folder, &copy));
    list->items[list->count++] = (data_location){.set = set, .reader = reader, .folder = copy};
    return CORNU_OK;
}

/* The sets whose files are in `folder` itself. */
static cornu_status add_own(const char *folder, location_list *list)
{
    const dataset *set;
    if (images_present(folder))
        TRY(add_location(list, NULL, NULL, folder));
    for (int i = 0; (set = dataset_at(i)); i++)
        for (const data_reader *const *reader = set->readers; *reader; reader++)
            if ((*reader)->present(folder, set))
                TRY(add_location(list, dataset_in_folder(*reader, folder, set), *reader, folder));
    return CORNU_OK;
}

static cornu_status add_inside(const char *folder, const char *name, location_list *list)
{
    char *path = NULL;
    TRY(path_join(folder, name, &path));
    cornu_status status = folder_exists(path) ? add_own(path, list) : CORNU_OK;
    free(path);
    return status;
}

/* The sets in the folders of `folder`, and in the usual ones deeper down (MNIST/raw). */
static cornu_status add_children(const char *folder, location_list *list)
{
    static const cornu_data_options silent = {.size = sizeof silent};
    name_list names = {0};
    cornu_status status;
    TRY_GOTO(images_list_classes(folder, &silent, &names));
    for (size_t i = 0; i < names.count; i++)
        TRY_GOTO(add_inside(folder, names.names[i], list));
    for (int i = 0; dataset_at(i); i++)
        for (const char *const *name = dataset_at(i)->folders; *name; name++)
            if (strchr(*name, '/'))
                TRY_GOTO(add_inside(folder, *name, list));
done:
    names_free(&names);
    return status;
}

/* The data of `folder`; else of the folders in it; else classes of images. */
static cornu_status list_locations(const char *folder, location_list *list)
{
    TRY(add_own(folder, list));
    if (list->count == 0)
        TRY(add_children(folder, list));
    if (list->count == 0 && images_are_classes(folder))
        TRY(add_location(list, NULL, NULL, folder));
    return CORNU_OK;
}

/* ---- messages ---- */

/* "mnist (MNIST/raw), cifar10 and images (photos)"; locations outside `root` itself are named. */
static void name_locations(const location_list *list, const char *root, text *out)
{
    size_t length = strlen(root);
    for (size_t i = 0; i < list->count; i++) {
        const data_location *p = &list->items[i];
        const char *inside = p->folder + length + strspn(p->folder + length, "/");
        text_add(out, "%s%s",
                 i == 0                ? ""
                 : i + 1 < list->count ? ", "
                                       : " and ",
                 p->set ? p->set->name : "images");
        if (*inside)
            text_add(out, " (%s)", inside);
    }
    if (list->count == 0)
        text_add(out, "no data set");
}

cornu_status folder_fail(const char *folder, const char *expected)
{
    location_list list = {0};
    text found = {0};
    cornu_status status = list_locations(folder, &list);
    name_locations(&list, folder, &found);
    if (status == CORNU_OK)
        status = status_fail(CORNU_NOT_FOUND, "%s: found %s; expected %s", folder,
                             found.data ? found.data : "others", expected);
    text_free(&found);
    locations_free(&list);
    return status;
}

/* ---- the choice ---- */

/* Could the samples be the network's inputs? Images are resized. */
static bool could_fit(const data_location *p, const shape *input)
{
    if (!input || input->rank == 0)
        return true;
    return p->set ? shape_equal_but_ones(&p->set->x_shape, input)
                  : input->rank == 2 || input->rank == 3;
}

/* The only one that fits; NULL if none does, or several do. */
static const data_location *only_fitting(const location_list *list, const shape *input)
{
    const data_location *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (!could_fit(&list->items[i], input))
            continue;
        if (found)
            return NULL;
        found = &list->items[i];
    }
    return found;
}

static cornu_status take(const data_location *p, data_location *location)
{
    *location = (data_location){.set = p->set, .reader = p->reader};
    return memory_copy_string(p->folder, &location->folder);
}

static cornu_status choose(const location_list *list, const char *folder, const shape *input,
                           const cornu_data_options *options, data_location *location)
{
    text found = {0};
    cornu_status status;
    const data_location *only = list->count == 1 ? &list->items[0] : only_fitting(list, input);
    name_locations(list, folder, &found);
    const char *names = found.data ? found.data : "several data sets";
    if (only && list->count > 1)
        data_notice(options, "%s: holds %s; taking %s, the one that fits the model's input", folder,
                    names, only->folder);
    if (only)
        status = take(only, location);
    else
        status = status_fail(CORNU_INVALID, "%s: holds %s; expected the folder of one of them",
                             folder, names);
    text_free(&found);
    return status;
}

cornu_status folder_find(const char *folder, const shape *input, const cornu_data_options *options,
                         data_location *location)
{
    location_list list = {0};
    *location = (data_location){0};
    if (!folder_exists(folder))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file or folder", folder);
    cornu_status status = list_locations(folder, &list);
    if (status == CORNU_OK && list.count == 0)
        status = status_fail(CORNU_NOT_FOUND,
                             "%s: found no data set; expected IDX files, CIFAR's .bin files, or "
                             "train/CLASS/IMAGE or CLASS/IMAGE",
                             folder);
    else if (status == CORNU_OK)
        status = choose(&list, folder, input, options, location);
    locations_free(&list);
    return status;
}

cornu_status folder_find_hint(const char *name, const char *path, data_location *location)
{
    const dataset *set = dataset_named(name);
    const data_reader *reader = NULL;
    *location = (data_location){0};
    if (*path != '/')
        return CORNU_OK;
    for (const data_reader *const *r = set ? set->readers : NULL; r && *r && !reader; r++)
        if ((*r)->present(path, set))
            reader = *r;
    bool array = path_has_ending(path, ".npz") || path_has_ending(path, ".csv");
    bool file = !set && array && file_exists(path);
    bool images = !set && !file && (images_present(path) || images_are_classes(path));
    if (!reader && !file && !images)
        return CORNU_OK;
    *location = (data_location){.set = set, .reader = reader};
    return memory_copy_string(path, &location->folder);
}

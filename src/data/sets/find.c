/* Finds the named data sets, and downloads them. */
#include "base/env.h"
#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include "data/sets/download.h"
#include "data/sets/unpack.h"
#include <cornu/data.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    memset(info, 0, sizeof *info);
    info->name = set->name;
    info->title = set->title;
    info->url = set->files[0].url;
    for (const dataset_file *f = set->files; f->name; f++)
        info->bytes += f->bytes;
    data_location location = {0};
    if (dataset_find(set, NULL, &location, NULL) == CORNU_OK && location.folder &&
        strlen(location.folder) < sizeof info->folder)
        memcpy(info->folder, location.folder, strlen(location.folder) + 1);
    free(location.folder);
    return true;
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

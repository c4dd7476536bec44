/* Samples that may be decoded only when they are needed. */
#include "base/files.h"
#include "data/folders/loader.h"
#include <cornu/images.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* A digest includes the first bytes of this many files of a split. */
enum { LOOKED_INTO = 16, LOOKED_INTO_BYTES = 1 << 14 };

/* The number of a split's first sample: the training samples come first. */
static int64_t first_number(const cornu_data *data, cornu_split split)
{
    return split == CORNU_TEST ? data->block[CORNU_TRAIN].count : 0;
}

void data_want(const cornu_data *data, const void *who, cornu_split split, const int64_t *index,
               int64_t count)
{
    if (data->loader)
        loader_want(data->loader, who, first_number(data, split), index, count);
}

bool data_is_wanted_by(const cornu_data *data, const void *who)
{
    return !data->loader || loader_is_wanted_by(data->loader, who);
}

cornu_status data_next(const cornu_data *data, bool may_stop, bool *usable)
{
    *usable = true;
    return data->loader ? loader_next(data->loader, may_stop, usable) : CORNU_OK;
}

void data_release(const cornu_data *data, cornu_split split, const int64_t *index, int64_t count)
{
    if (data->loader)
        loader_release(data->loader, first_number(data, split), index, count);
}

cornu_status data_finish(const cornu_data *data)
{
    return data->loader ? loader_finish(data->loader, data->folder) : CORNU_OK;
}

cornu_status data_divide(const cornu_data *data)
{
    return data->loader ? loader_divide(data->loader) : CORNU_OK;
}

void data_want_later(const cornu_data *data, cornu_split split, const int64_t *index, int64_t count)
{
    if (data->loader)
        loader_want_later(data->loader, first_number(data, split), index, count);
}

bool data_must_be_whole(const cornu_data *data)
{
    return data->loader && (loader_is_strict(data->loader) || loader_is_finished(data->loader));
}

bool data_is_known(const cornu_data *data, cornu_split split, int64_t index)
{
    return !data->loader || loader_is_known(data->loader, first_number(data, split) + index);
}

bool data_is_lost(const cornu_data *data, cornu_split split, int64_t index)
{
    return data->loader && loader_is_lost(data->loader, first_number(data, split) + index);
}

const char *data_problem(const cornu_data *data, cornu_split split, int64_t index)
{
    return data->loader ? loader_problem(data->loader, first_number(data, split) + index) : "";
}

cornu_status data_know(const cornu_data *data, cornu_split split, int64_t index,
                       const char *problem)
{
    if (!data->loader)
        return CORNU_OK;
    return loader_know(data->loader, first_number(data, split) + index, problem);
}

cornu_status data_end(const cornu_data *data)
{
    return data->loader ? loader_end(data->loader, data->folder) : CORNU_OK;
}

/* The path of a folder's file within it, and the last name of other files: the folder may have
   another name on each machine. */
static const char *name_of(const cornu_data *data, const char *path)
{
    size_t length = strlen(data->folder);
    bool inside = length > 0 && strncmp(path, data->folder, length) == 0;
    return inside ? path + length + strspn(path + length, "/") : path_base(path);
}

/* Add the first bytes of a file, if it can be read. */
static uLong add_start(uLong digest, const char *path)
{
    char bytes[LOOKED_INTO_BYTES];
    uint64_t size = 0;
    int fd;
    if (file_open_regular(path, &fd, &size) != CORNU_OK)
        return digest;
    ssize_t got = read(fd, bytes, sizeof bytes);
    close(fd);
    return got > 0 ? crc32_z(digest, (const Bytef *)bytes, (size_t)got) : digest;
}

uint32_t data_files_digest(const cornu_data *data, cornu_split split)
{
    uLong digest = crc32_z(0, NULL, 0);
    int64_t begin = first_number(data, split);
    int64_t count = data->block[split].count, every = count / LOOKED_INTO + 1;
    for (int64_t i = 0; data->loader && i < count; i++) {
        struct stat s = {0};
        const char *path = loader_file(data->loader, begin + i), *name = name_of(data, path);
        int64_t size = stat(path, &s) == 0 ? (int64_t)s.st_size : -1;
        digest = crc32_z(digest, (const Bytef *)name, strlen(name) + 1);
        digest = crc32_z(digest, (const Bytef *)&size, sizeof size);
        if (i % every == 0)
            digest = add_start(digest, path);
    }
    return (uint32_t)digest;
}

bool data_is_whole(const cornu_data *data)
{
    return !data->loader || loader_is_whole(data->loader);
}

int64_t data_files_left(const cornu_data *data)
{
    return data->loader ? loader_left(data->loader) : 0;
}

int64_t data_usable(const cornu_data *data, cornu_split split, int64_t first, int64_t count)
{
    int64_t begin = first_number(data, split) + first;
    return data->loader ? loader_usable(data->loader, begin, begin + count) : count;
}

cornu_status data_check_there(const cornu_data *data)
{
    if (!data->stream)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: its samples come batch by batch, and cannot be "
                       "looked at one by one",
                       data->name);
}

cornu_status data_ready(const cornu_data *data, cornu_split split, int64_t index, int64_t *at)
{
    bool usable;
    int64_t count = data->block[split].count, begin = first_number(data, split);
    TRY(data_check_there(data));
    TRY(data_finish(data));
    int64_t found = index;
    if (data->loader && index >= 0)
        found = loader_number_of(data->loader, begin, begin + count, index) - begin;
    if (index < 0 || found < 0 || found >= count)
        return status_fail(CORNU_INVALID, "%s: sample %lld; expected 0 to %lld", data->name,
                           (long long)index, (long long)data_usable(data, split, 0, count) - 1);
    *at = found;
    data_want(data, at, split, at, 1);
    cornu_status status = data_next(data, true, &usable);
    data_want(data, NULL, split, NULL, 0);
    return status;
}

cornu_status cornu_data_loading_get(const cornu_data *data, cornu_data_loading *loading)
{
    if (!data || !loading)
        return status_fail(CORNU_INVALID,
                           "cornu_data_loading_get: found NULL; expected data and loading");
    cornu_data_loading own = {.size = sizeof own};
    if (data->loader)
        loader_report(data->loader, &own);
    return STRUCT_WRITE("cornu_data_loading", loading, &own);
}

const char *cornu_data_sample_file(const cornu_data *data, cornu_split split, int64_t index)
{
    if (!data || !data->loader || (split != CORNU_TRAIN && split != CORNU_TEST) || index < 0 ||
        index >= data->block[split].count)
        return NULL;
    return loader_file(data->loader, first_number(data, split) + index);
}

const char *cornu_data_readable_file(const cornu_data *data, cornu_split split, int64_t index)
{
    if (!data || !data->loader || (split != CORNU_TRAIN && split != CORNU_TEST) || index < 0 ||
        data_finish(data) != CORNU_OK)
        return NULL;
    int64_t begin = first_number(data, split), end = begin + data->block[split].count;
    int64_t number = loader_number_of(data->loader, begin, end, index);
    return number < begin || number >= end ? NULL : loader_file(data->loader, number);
}

/* Compiled programs, in the user's cache folder: a file each, named by a hash of what it depends
   on. The file begins with that in words and a checksum: a file that is damaged, or of something
   else, is as good as none. */
#include "base/env.h"
#include "base/files.h"
#include "device/opencl/plugin/core.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 256 << 20 };
static const char magic[] = "cornu compiled kernels 1";

/* FNV-1a, 64 bits (Fowler, Noll, Vo: "The FNV non-cryptographic hash algorithm"): it finds
   damage, not malice; a user with write access here could also replace the program. */
static uint64_t hash(uint64_t value, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        value = (value ^ at[i]) * UINT64_C(0x100000001b3);
    return value;
}

static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

/* The key as text, which begins the file. */
static cornu_status header_of(const opencl_cache_key *key, char **out)
{
    uint64_t source = hash(hash_start, key->source, strlen(key->source));
    return memory_format(out, "%s\n%s %016" PRIx64 "\n%s\n%s", magic, key->unit, source,
                         key->options, key->device);
}

static cornu_status path_of(const char *header, char **out)
{
    char *folder = NULL, *name = NULL;
    cornu_status status = CORNU_OK;
    *out = NULL;
    TRY_GOTO(cache_folder(&folder));
    if (!folder)
        goto done; /* no home: no cache */
    TRY_GOTO(memory_format(&name, "%s/opencl", folder));
    TRY_GOTO(folder_make(name));
    TRY_GOTO(memory_format(out, "%s/%016" PRIx64 ".bin", name,
                           hash(hash_start, header, strlen(header))));
done:
    free(folder);
    free(name);
    return status;
}

/* header, 0, checksum of the binary, binary */
static bool unpack(const char *header, char *data, size_t size, unsigned char **binary,
                   size_t *bytes)
{
    size_t before = strlen(header) + 1 + sizeof(uint64_t);
    uint64_t sum;
    if (size <= before || memcmp(data, header, strlen(header) + 1) != 0)
        return false;
    memcpy(&sum, data + before - sizeof sum, sizeof sum);
    if (hash(hash_start, data + before, size - before) != sum)
        return false;
    memmove(data, data + before, size - before);
    *binary = (unsigned char *)data;
    *bytes = size - before;
    return true;
}

void opencl_cache_read(const opencl_cache_key *key, unsigned char **binary, size_t *bytes)
{
    char *header = NULL, *path = NULL, *data = NULL;
    size_t size = 0;
    *binary = NULL;
    if (header_of(key, &header) == CORNU_OK && path_of(header, &path) == CORNU_OK && path &&
        file_exists(path) && file_read(path, FILE_MOST, &data, &size) == CORNU_OK &&
        !unpack(header, data, size, binary, bytes)) {
        log_line("%s: damaged; the kernels are compiled again", path);
        free(data);
    }
    free(header);
    free(path);
}

static cornu_status write_file(const char *path, const char *header, const unsigned char *binary,
                               size_t bytes)
{
    file_write w;
    uint64_t sum = hash(hash_start, binary, bytes);
    TRY(file_write_open_regular(path, &w));
    cornu_status status = file_write_bytes(&w, header, strlen(header) + 1);
    if (status == CORNU_OK)
        status = file_write_bytes(&w, &sum, sizeof sum);
    if (status == CORNU_OK)
        status = file_write_bytes(&w, binary, bytes);
    if (status == CORNU_OK)
        return file_write_commit(&w);
    file_write_abandon(&w);
    return status;
}

void opencl_cache_write(const opencl_cache_key *key, const unsigned char *binary, size_t bytes)
{
    char *header = NULL, *path = NULL;
    cornu_status status = header_of(key, &header);
    if (status == CORNU_OK)
        status = path_of(header, &path);
    if (status == CORNU_OK && path)
        status = write_file(path, header, binary, bytes);
    if (status != CORNU_OK)
        log_line("compiled kernels are not kept: %s", cornu_last_error());
    free(header);
    free(path);
}

/* Keras's .keras: a ZIP archive of config.json, metadata.json and model.weights.h5, each stored
   without compression. Assets (no layer of cornu has any) and weights in NumPy's pickled form are
   refused.
 */
#include "base/memory.h"
#include "format/archive.h"
#include "format/hdf5/hdf5.h"
#include <stdlib.h>
#include <string.h>

/* All members together unpack to at most UNPACKED_TIMES the file's size (memory_unpacked_most). */
enum { UNPACKED_TIMES = 20, MEMBERS = 3 };

static const char *const names[MEMBERS] = {"config.json", "metadata.json", "model.weights.h5"};
enum { CONFIG, METADATA, WEIGHTS };

typedef struct contents {
    char *member[MEMBERS]; /* followed by a zero byte */
    size_t size[MEMBERS];
} contents;

/* ---- reading ---------------------------------------------------------------------------- */

static int find_name(const char *name)
{
    for (int i = 0; i < MEMBERS; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static cornu_status check_name(const char *path, const char *name, const contents *c)
{
    int i = find_name(name);
    if (strcmp(name, "model.weights.npz") == 0)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found model.weights.npz, which is pickled and could run code; "
                           "expected model.weights.h5",
                           path);
    if (i < 0)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found the member %.200s; expected config.json, metadata.json and "
                           "model.weights.h5 alone",
                           path, name);
    if (c->member[i])
        return status_fail(CORNU_BAD_FILE, "%s: found %s twice; expected it once", path, name);
    return CORNU_OK;
}

static cornu_status read_bytes(const char *path, zip_t *archive, zip_uint64_t index,
                               const zip_stat_t *s, contents *c)
{
    int i = find_name(s->name);
    zip_file_t *member = zip_fopen_index(archive, index, 0);
    if (!member)
        return archive_fail(CORNU_BAD_FILE, path, s->name, zip_get_error(archive));
    cornu_status status;
    TRY_GOTO(memory_new(s->size + 1, 1, path, &c->member[i]));
    c->size[i] = s->size;
    TRY_GOTO(archive_read(path, s->name, member, c->member[i], s->size));
    TRY_GOTO(archive_end(path, s->name, member));
done:
    zip_fclose(member);
    return status;
}

static cornu_status read_member(const char *path, zip_t *archive, zip_uint64_t index,
                                archive_allowance *left, contents *c)
{
    zip_stat_t s;
    if (zip_stat_index(archive, index, 0, &s) != 0)
        return archive_fail(CORNU_BAD_FILE, path, NULL, zip_get_error(archive));
    TRY(archive_check(path, &s, left));
    TRY(check_name(path, s.name, c));
    int64_t available = memory_available();
    if (available >= 0 && s.size > (uint64_t)available)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %s: needs %ju bytes of memory; %jd are free",
                           path, s.name, (uintmax_t)s.size, (intmax_t)available);
    return read_bytes(path, archive, index, &s, c);
}

static cornu_status read_members(const char *path, contents *c)
{
    archive_allowance left;
    zip_t *archive;
    TRY(archive_open_regular(path, UNPACKED_TIMES, &left, &archive));
    zip_int64_t count = zip_get_num_entries(archive, 0);
    cornu_status status = CORNU_OK;
    for (zip_int64_t i = 0; i < count && status == CORNU_OK; i++)
        status = read_member(path, archive, (zip_uint64_t)i, &left, c);
    zip_discard(archive);
    for (int i = 0; i < MEMBERS && status == CORNU_OK; i++)
        if (!c->member[i])
            status = status_fail(CORNU_BAD_FILE, "%s: found no %s; expected one", path, names[i]);
    return status;
}

static cornu_status take_members(tensor_file *file, contents *c)
{
    for (int i = CONFIG; i <= METADATA; i++) {
        if (strlen(c->member[i]) != c->size[i])
            return status_fail(CORNU_BAD_FILE, "%s: %s: found a zero byte; expected JSON",
                               file->path, names[i]);
        TRY(tensor_file_add_metadata(file, names[i], c->member[i]));
    }
    void *weights = c->member[WEIGHTS];
    c->member[WEIGHTS] = NULL;
    return hdf5_read_image(file, weights, c->size[WEIGHTS]);
}

cornu_status keras_archive_read(tensor_file *file)
{
    contents c = {0};
    cornu_status status = read_members(file->path, &c);
    if (status == CORNU_OK)
        status = take_members(file, &c);
    for (int i = 0; i < MEMBERS; i++)
        free(c.member[i]);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

static cornu_status add_member(const char *path, zip_t *archive, const char *name, const void *data,
                               size_t size)
{
    return archive_add(path, name, archive, name, zip_source_buffer(archive, data, size, 0));
}

static cornu_status write_archive(file_write *w, const keras_members *m)
{
    zip_t *archive;
    cornu_status status;
    TRY(archive_create(w, &archive));
    TRY_GOTO(add_member(w->path, archive, names[METADATA], m->metadata, strlen(m->metadata)));
    TRY_GOTO(add_member(w->path, archive, names[CONFIG], m->config, strlen(m->config)));
    TRY_GOTO(add_member(w->path, archive, names[WEIGHTS], m->weights, m->weights_size));
done:
    return archive_finish(w, archive, status);
}

cornu_status keras_archive_write(const char *path, const keras_members *members,
                                 const file_watch *watch)
{
    file_write w;
    size_t bytes = strlen(members->config) + strlen(members->metadata) + members->weights_size;
    TRY(file_write_open_watched(path, (int64_t)bytes, watch, &w));
    cornu_status status = write_archive(&w, members);
    if (status == CORNU_OK)
        status = file_write_commit(&w);
    file_write_abandon(&w);
    return status;
}

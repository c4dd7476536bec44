/* HDF5 written by libhdf5, in a build that has it (CORNU_HDF5). */
#include "format/hdf5/hdf5.h"
#if CORNU_HDF5
#include "base/memory.h"
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- libhdf5 ---------------------------------------------------------------------------- */

/* The caller's own error handler of libhdf5, which is off meanwhile: libhdf5 would print. */
typedef struct hdf5_quiet {
    H5E_auto2_t report;
    void *user;
} hdf5_quiet;

/* libhdf5 checks whether a file with the given name exists, even for an image in memory: below
   /dev/null, which is no folder, there can be none. */
#define HDF5_NO_FILE "/dev/null/hdf5"

enum { HDF5_WHY = 200 };

/* CORNU_UNSUPPORTED where libhdf5 was built for one thread at a time. */
static cornu_status hdf5_begin(const char *path, hdf5_quiet *quiet)
{
    hbool_t safe = 0;
    if (H5open() < 0 || H5is_library_threadsafe(&safe) < 0 || !safe)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found a libhdf5 for one thread at a time; expected a thread-safe "
                           "one, such as Debian's",
                           path);
    H5Eget_auto2(H5E_DEFAULT, &quiet->report, &quiet->user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return CORNU_OK;
}

static void hdf5_end(const hdf5_quiet *quiet)
{
    H5Eset_auto2(H5E_DEFAULT, quiet->report, quiet->user);
}

cornu_status hdf5_check(const char *path)
{
    hdf5_quiet quiet;
    TRY(hdf5_begin(path, &quiet));
    hdf5_end(&quiet);
    return CORNU_OK;
}

static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *reason)
{
    (void)n;
    if (error->desc && *error->desc)
        snprintf(reason, HDF5_WHY, "%s", error->desc);
    return 0;
}

/* Copy the innermost reason of libhdf5's last error into `reason`; returns it. */
static const char *hdf5_why(char reason[HDF5_WHY])
{
    snprintf(reason, HDF5_WHY, "damaged HDF5");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_reason, reason);
    return reason;
}

/* ---- an image of a file ----------------------------------------------------------------- */

/* An object's header holds so many bytes of an attribute; longer lists continue under NAME0, NAME1,
   ... as Keras writes and reads them. */
enum { HEADER_MAX = 64512 };

typedef struct writing {
    const char *path;
    hid_t file, links; /* links: missing groups of a path are created */
} writing;

static cornu_status fail_library(const writing *w, const char *name, const char *action)
{
    char why[HDF5_WHY];
    return status_fail(CORNU_INTERNAL, "%s: %s: cannot %s: %s", w->path, name, action,
                       hdf5_why(why));
}

/* ---- tensors ---------------------------------------------------------------------------- */

static hid_t type_of(element_type type)
{
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_U8LE,
                           H5T_STD_I8LE,   H5T_STD_I32LE,  H5T_STD_I64LE};
    return types[type];
}

static cornu_status write_elements(const writing *w, const file_tensor *t, hid_t dataset)
{
    void *fetched = NULL;
    const void *data = t->data;
    size_t bytes = (size_t)t->count * element_size(t->type);
    cornu_status status = CORNU_OK;
    if (bytes == 0)
        return CORNU_OK;
    if (!data) {
        TRY(memory_new(bytes, 1, t->name, &fetched));
        status = t->fetch(t->source, t->number, fetched, bytes);
        data = fetched;
    }
    if (status == CORNU_OK &&
        H5Dwrite(dataset, type_of(t->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = fail_library(w, t->name, "write it");
    free(fetched);
    return status;
}

/* Contiguous, allocated at once, and without the creation time, which would differ in each file. */
static hid_t creation(void)
{
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(p, 0);
    H5Pset_layout(p, H5D_CONTIGUOUS);
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(p, H5D_FILL_TIME_NEVER);
    return p;
}

static cornu_status write_tensor(const writing *w, const file_tensor *t)
{
    hsize_t shape[TENSOR_RANK_MAX];
    for (int i = 0; i < t->rank; i++)
        shape[i] = (hsize_t)t->shape[i];
    hid_t space = t->rank ? H5Screate_simple(t->rank, shape, NULL) : H5Screate(H5S_SCALAR);
    hid_t created = creation();
    hid_t dataset =
        H5Dcreate2(w->file, t->name, type_of(t->type), space, w->links, created, H5P_DEFAULT);
    cornu_status status =
        dataset < 0 ? fail_library(w, t->name, "make it") : write_elements(w, t, dataset);
    H5Dclose(dataset);
    H5Pclose(created);
    H5Sclose(space);
    return status;
}

/* ---- attributes ------------------------------------------------------------------------- */

static cornu_status open_group(const writing *w, const char *name, hid_t *group)
{
    *group = *name ? H5Gopen2(w->file, name, H5P_DEFAULT) : H5Gopen2(w->file, "/", H5P_DEFAULT);
    if (*group < 0)
        *group = H5Gcreate2(w->file, name, w->links, H5P_DEFAULT, H5P_DEFAULT);
    return *group < 0 ? fail_library(w, name, "make the group") : CORNU_OK;
}

static cornu_status write_value(const writing *w, hid_t group, const char *name, hid_t type,
                                hid_t space, const void *value)
{
    hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cornu_status status = CORNU_OK;
    if (attribute < 0 || (value && H5Awrite(attribute, type, value) < 0))
        status = fail_library(w, name, "write the attribute");
    H5Aclose(attribute);
    return status;
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

static cornu_status write_text(const writing *w, hid_t group, const hdf5_attribute *a)
{
    hid_t space = H5Screate(H5S_SCALAR), type = text_type(H5T_VARIABLE);
    cornu_status status = write_value(w, group, a->name, type, space, &a->value);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}

/* Texts of equal length: they need no space outside the header. */
static cornu_status write_texts(const writing *w, hid_t group, const char *name,
                                const char *const *list, int count, size_t width)
{
    char *texts;
    hsize_t many = (hsize_t)count;
    TRY(memory_new((size_t)count + 1, width, w->path, &texts));
    for (int i = 0; i < count; i++)
        memcpy(texts + (size_t)i * width, list[i], strlen(list[i]));
    hid_t space = H5Screate_simple(1, &many, NULL), type = text_type(width);
    cornu_status status = write_value(w, group, name, type, space, count ? texts : NULL);
    H5Tclose(type);
    H5Sclose(space);
    free(texts);
    return status;
}

static cornu_status write_list(const writing *w, hid_t group, const hdf5_attribute *a)
{
    size_t width = 1;
    for (int i = 0; i < a->count; i++)
        width = strlen(a->list[i]) > width ? strlen(a->list[i]) : width;
    int most = (int)(HEADER_MAX / width);
    if (a->count <= most)
        return write_texts(w, group, a->name, a->list, a->count, width);
    if (most == 0)
        return status_fail(CORNU_INVALID, "%s: %s: found a name of %zu bytes; expected at most %d",
                           w->path, a->name, width, HEADER_MAX);
    cornu_status status = CORNU_OK;
    for (int i = 0, begin = 0; status == CORNU_OK && begin < a->count; i++, begin += most) {
        char *name;
        int count = a->count - begin < most ? a->count - begin : most;
        TRY(memory_format(&name, "%s%d", a->name, i));
        status = write_texts(w, group, name, a->list + begin, count, width);
        free(name);
    }
    return status;
}

static cornu_status write_attribute(const writing *w, const hdf5_attribute *a)
{
    hid_t group;
    cornu_status status = CORNU_OK;
    TRY(open_group(w, a->group, &group));
    if (a->name)
        status = a->value ? write_text(w, group, a) : write_list(w, group, a);
    H5Gclose(group);
    return status;
}

/* ---- files ------------------------------------------------------------------------------ */

static cornu_status write_all(const writing *w, const file_tensor *tensors, int count,
                              const hdf5_attribute *attributes, int attribute_count)
{
    for (int i = 0; i < count; i++)
        TRY(write_tensor(w, &tensors[i]));
    for (int i = 0; i < attribute_count; i++)
        TRY(write_attribute(w, &attributes[i]));
    return CORNU_OK;
}

static cornu_status take_image(const writing *w, void **image, size_t *size)
{
    ssize_t bytes =
        H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(w->file, NULL, 0);
    if (bytes < 0)
        return fail_library(w, "/", "end the file");
    TRY(memory_new((size_t)bytes, 1, w->path, image));
    *size = (size_t)bytes;
    if (H5Fget_file_image(w->file, *image, *size) == bytes)
        return CORNU_OK;
    free(*image);
    *image = NULL;
    return fail_library(w, "/", "end the file");
}

/* In memory alone: no file of this name is opened. The memory grows by `room` bytes at a time. The
   oldest version of each structure, which every reader knows, has no times of groups; HDF5 2's
   default version has them. */
static cornu_status open_memory(writing *w, size_t room)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    w->links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(w->links, 1);
    H5Pset_fapl_core(access, room, 0);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    w->file = H5Fcreate(HDF5_NO_FILE, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return w->file < 0 ? fail_library(w, "/", "make the file") : CORNU_OK;
}

cornu_status hdf5_image(const char *path, const file_tensor *tensors, int count,
                        const hdf5_attribute *attributes, int attribute_count, void **image,
                        size_t *size)
{
    writing w = {.path = path, .file = -1};
    hdf5_quiet quiet;
    size_t room = 1 << 16;
    cornu_status status;
    *image = NULL;
    TRY(tensors_check(path, tensors, count, true));
    for (int i = 0; i < count; i++)
        room += (size_t)tensors[i].count * element_size(tensors[i].type) + 1024;
    TRY(hdf5_begin(path, &quiet));
    TRY_GOTO(open_memory(&w, room));
    TRY_GOTO(write_all(&w, tensors, count, attributes, attribute_count));
    status = take_image(&w, image, size);
done:
    if (w.file >= 0)
        H5Fclose(w.file);
    H5Pclose(w.links);
    hdf5_end(&quiet);
    return status;
}

#else

cornu_status hdf5_check(const char *path)
{
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: this cornu was built without libhdf5 (CORNU_HDF5=OFF), which writes "
                       "such files; expected .safetensors",
                       path);
}

cornu_status hdf5_image(const char *path, const file_tensor *tensors, int count,
                        const hdf5_attribute *attributes, int attribute_count, void **image,
                        size_t *size)
{
    (void)tensors, (void)count, (void)attributes, (void)attribute_count, (void)size;
    *image = NULL;
    return hdf5_check(path);
}

#endif

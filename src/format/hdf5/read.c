/* Reading HDF5: see hdf5.h. */
#include "base/memory.h"
#include "format/hdf5/hdf5.h"
#include "format/hdf5/library.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text may be read more than once, where several attributes refer to it. Of a list of texts each
   could be the same large one, and libhdf5 reads a list at once: so many bytes at most. */
enum {
    TEXT_TIMES = 4,
    TEXT_SLACK = 1 << 16,
    CONVERTED_TIMES = 8,
    LIST_MAX = 20000,
    LIST_BYTES_MAX = 256 << 20
};

typedef struct walk {
    tensor_file *file;
    const uint8_t *image;
    size_t size;
    uint64_t text, converted; /* bytes that may still be read */
    uint64_t longest;         /* that a text of any length can be */
    int objects, depth;
    const char *path;    /* of the object at hand */
    cornu_status status; /* of a callback that failed */
} walk;

static cornu_status fail_library(const walk *w, const char *action)
{
    char why[HDF5_WHY];
    return status_fail(CORNU_BAD_FILE, "%s: %s: cannot %s: %s", w->file->path,
                       *w->path ? w->path : "/", action, hdf5_why(why));
}

static cornu_status fail_found(const walk *w, const char *found, const char *expected)
{
    return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected %s", w->file->path,
                       *w->path ? w->path : "/", found, expected);
}

/* ---- attributes ------------------------------------------------------------------------- */

static cornu_status take_text(walk *w, uint64_t bytes)
{
    if (bytes > w->text)
        return fail_found(w, "attributes of more bytes than the file", "less");
    w->text -= bytes;
    return CORNU_OK;
}

static cornu_status add_text(walk *w, const char *name, const char *value)
{
    char *key;
    TRY(memory_format(&key, "%s@%s", w->path, name));
    cornu_status status = tensor_file_add_metadata(w->file, key, value);
    free(key);
    return status;
}

/* One text of any length. */
static cornu_status read_long_text(walk *w, hid_t attribute, hid_t type, const char *name)
{
    char *value = NULL;
    if (H5Aread(attribute, type, &value) < 0)
        return fail_library(w, "read an attribute");
    cornu_status status = take_text(w, value ? strlen(value) : 0);
    if (status == CORNU_OK)
        status = add_text(w, name, value ? value : "");
    H5free_memory(value);
    return status;
}

/* A list of texts as one JSON list: `many`, or texts of one length each (`one`), which are filled
   up with zeros. */
static cornu_status add_list(walk *w, const char *name, char *const *many, const char *one,
                             size_t each, size_t count)
{
    json_t *list = json_array();
    bool complete = list;
    for (size_t i = 0; complete && i < count; i++) {
        const char *item = many ? many[i] : one + i * each;
        size_t length = !item ? 0 : many ? strlen(item) : strnlen(item, each);
        complete = json_array_append_new(list, json_stringn(item ? item : "", length)) == 0;
    }
    char *value = complete ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    if (!value)
        return fail_found(w, "a list of names that are no UTF-8", "UTF-8");
    cornu_status status = add_text(w, name, value);
    free(value);
    return status;
}

static cornu_status read_long_texts(walk *w, hid_t attribute, hid_t type, hid_t space,
                                    const char *name, size_t count)
{
    char **texts;
    uint64_t bytes = 0;
    if (count > LIST_MAX || count * w->longest > LIST_BYTES_MAX)
        return fail_found(w, "a list of too many or too long texts", "less");
    TRY(memory_new(count + 1, sizeof *texts, w->file->path, &texts));
    if (count > 0 && H5Aread(attribute, type, texts) < 0) {
        free(texts);
        return fail_library(w, "read an attribute");
    }
    for (size_t i = 0; i < count; i++)
        bytes += texts[i] ? strlen(texts[i]) : 0;
    cornu_status status = take_text(w, bytes);
    if (status == CORNU_OK)
        status = add_list(w, name, texts, NULL, 0, count);
    if (count > 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    free(texts);
    return status;
}

static cornu_status read_short_texts(walk *w, hid_t attribute, hid_t type, const char *name,
                                     bool list, size_t count)
{
    char *texts;
    uint64_t bytes;
    size_t each = H5Tget_size(type);
    if (each == 0 || count > LIST_MAX || __builtin_mul_overflow(each, count, &bytes))
        return fail_found(w, "an attribute of too many texts", "less");
    TRY(take_text(w, bytes));
    TRY(memory_new(bytes + 1, 1, w->file->path, &texts));
    cornu_status status = CORNU_OK;
    if (bytes > 0 && H5Aread(attribute, type, texts) < 0)
        status = fail_library(w, "read an attribute");
    else
        status = list ? add_list(w, name, NULL, texts, each, count) : add_text(w, name, texts);
    free(texts);
    return status;
}

static cornu_status read_attribute(walk *w, hid_t attribute, const char *name)
{
    cornu_status status = CORNU_OK;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    bool scalar = rank == 0 && count == 1;
    if (type < 0 || rank < 0 || count < 0)
        status = fail_library(w, "read an attribute");
    else if (H5Tget_class(type) != H5T_STRING || rank > 1)
        status = CORNU_OK;
    else if (H5Tis_variable_str(type) > 0)
        status = scalar ? read_long_text(w, attribute, type, name)
                        : read_long_texts(w, attribute, type, space, name, (size_t)count);
    else
        status = read_short_texts(w, attribute, type, name, !scalar, (size_t)count);
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

static herr_t each_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
    walk *w = data;
    (void)info;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    w->status =
        attribute < 0 ? fail_library(w, "open an attribute") : read_attribute(w, attribute, name);
    H5Aclose(attribute);
    return w->status == CORNU_OK ? 0 : -1;
}

static cornu_status read_attributes(walk *w, hid_t object)
{
    hsize_t at = 0;
    w->status = CORNU_OK;
    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &at, each_attribute, w) < 0 &&
        w->status == CORNU_OK)
        return fail_library(w, "list the attributes");
    return w->status;
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* Only data that lie in this file, in one piece, as Keras writes them. Asked for before anything
   else: the shape of a virtual tensor may depend on other files. */
static cornu_status check_storage(walk *w, hid_t dataset, bool *compact)
{
    cornu_status status = CORNU_OK;
    hid_t created = H5Dget_create_plist(dataset);
    H5D_layout_t layout = created < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(created);
    int external = created < 0 ? -1 : H5Pget_external_count(created);
    *compact = layout == H5D_COMPACT;
    if (layout == H5D_LAYOUT_ERROR || external < 0)
        status = fail_library(w, "read how it is stored");
    else if (layout == H5D_VIRTUAL)
        status = fail_found(w, "a virtual dataset (data of other files)", "data in this file");
    else if (external > 0)
        status = fail_found(w, "an external dataset (data in other files)", "data in this file");
    else if (layout == H5D_CHUNKED)
        status = fail_found(w, "chunked or packed data", "them in one piece, as Keras writes them");
    H5Pclose(created);
    return status;
}

static cornu_status read_shape(walk *w, hid_t space, file_tensor *t)
{
    hsize_t dimensions[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || H5Sget_simple_extent_type(space) == H5S_NULL)
        return fail_found(w, "a dataset without a shape", "one");
    if (rank > TENSOR_RANK_MAX)
        return fail_found(w, "more than 8 dimensions", "at most 8");
    if (H5Sget_simple_extent_dims(space, dimensions, NULL) < 0)
        return fail_library(w, "read the shape");
    t->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (dimensions[i] > INT64_MAX)
            return fail_found(w, "a dimension of more than 2^63", "less");
        t->shape[i] = (int64_t)dimensions[i];
    }
    return CORNU_OK;
}

/* What the elements become in memory, and whether they are that already. */
static cornu_status choose_type(walk *w, hid_t type, file_tensor *t, hid_t *memory, bool *same)
{
    size_t size = H5Tget_size(type);
    H5T_class_t class = H5Tget_class(type);
    bool real = class == H5T_FLOAT && size <= 8;
    if (!real && !(class == H5T_INTEGER && size <= 8))
        return fail_found(w, "elements that are no numbers", "floats or whole numbers");
    t->type = !real ? ELEMENT_I64 : size == 8 ? ELEMENT_F64 : ELEMENT_F32;
    *memory = !real ? H5T_NATIVE_INT64 : size == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    *same = H5Tequal(type, *memory) > 0;
    return CORNU_OK;
}

/* Where the elements lie in the image. */
static cornu_status find_data(walk *w, hid_t dataset, size_t bytes, const void **data)
{
    haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF || offset > w->size || bytes > w->size - offset)
        return fail_found(w, "data that are not in the file", "them within it");
    *data = w->image + offset;
    return CORNU_OK;
}

static cornu_status convert_data(walk *w, hid_t dataset, hid_t memory, size_t bytes,
                                 const void **data)
{
    void *converted;
    if (bytes > w->converted)
        return fail_found(w, "more elements to convert than the file has bytes", "less");
    w->converted -= bytes;
    TRY(tensor_file_reserve(w->file, w->path, bytes, &converted));
    if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, converted) < 0)
        return fail_library(w, "read the data");
    *data = converted;
    return CORNU_OK;
}

static cornu_status read_tensor(walk *w, hid_t dataset, hid_t space, hid_t type, bool compact)
{
    file_tensor t = {0};
    hid_t memory = H5I_INVALID_HID;
    bool same = false;
    size_t bytes;
    const void *unused;
    TRY(read_shape(w, space, &t));
    TRY(choose_type(w, type, &t, &memory, &same));
    TRY(tensor_measure(w->file->path, w->path, &t, &bytes));
    if (bytes > 0 && !compact)
        TRY(find_data(w, dataset, (size_t)t.count * H5Tget_size(type), same ? &t.data : &unused));
    if (bytes > 0 && !t.data)
        TRY(convert_data(w, dataset, memory, bytes, &t.data));
    return tensor_file_add(w->file, w->path, &t);
}

static cornu_status read_dataset(walk *w, hid_t dataset)
{
    bool compact;
    TRY(check_storage(w, dataset, &compact));
    cornu_status status;
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    if (space < 0 || type < 0)
        status = fail_library(w, "read its shape and type");
    else
        status = read_tensor(w, dataset, space, type, compact);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}

/* ---- groups ----------------------------------------------------------------------------- */

static cornu_status read_object(walk *w, hid_t object);

static const char *link_name(H5L_type_t type)
{
    return type == H5L_TYPE_EXTERNAL ? "a link to another file"
           : type == H5L_TYPE_SOFT   ? "a soft link"
                                     : "a link of an unknown kind";
}

static cornu_status read_member(walk *w, hid_t group, const char *name, H5L_type_t type)
{
    if (type != H5L_TYPE_HARD)
        return fail_found(w, link_name(type), "groups and tensors");
    if (w->objects++ >= HDF5_OBJECTS_MAX || w->depth >= HDF5_DEPTH_MAX)
        return fail_found(w, "too many or too deep groups, or a cycle",
                          "at most 20000 objects in 12 levels");
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0)
        return fail_library(w, "open it");
    w->depth++;
    cornu_status status = read_object(w, object);
    w->depth--;
    H5Oclose(object);
    return status;
}

static herr_t each_member(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    walk *w = data;
    const char *outer = w->path;
    char *path;
    w->status = memory_format(&path, "%s%s%s", outer, *outer ? "/" : "", name);
    if (w->status == CORNU_OK) {
        w->path = path;
        w->status = read_member(w, group, name, info->type);
        free(path);
    }
    w->path = outer;
    return w->status == CORNU_OK ? 0 : -1;
}

static cornu_status read_group(walk *w, hid_t group)
{
    hsize_t at = 0;
    w->status = CORNU_OK;
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, each_member, w) < 0 &&
        w->status == CORNU_OK)
        return fail_library(w, "list its members");
    return w->status;
}

static cornu_status read_object(walk *w, hid_t object)
{
    H5I_type_t kind = H5Iget_type(object);
    if (kind != H5I_GROUP && kind != H5I_DATASET)
        return fail_found(w, "an object that is neither group nor tensor", "one of the two");
    TRY(read_attributes(w, object));
    return kind == H5I_GROUP ? read_group(w, object) : read_dataset(w, object);
}

/* ---- files ------------------------------------------------------------------------------ */

/* Offsets and lengths of 8 bytes, as everybody writes them, and nothing before the first header. */
static cornu_status check_header(const walk *w)
{
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    const uint8_t *h = w->image;
    bool begins = w->size >= 48 && memcmp(h, signature, sizeof signature) == 0;
    const uint8_t *sizes = begins && h[8] >= 2 ? h + 9 : h + 13;
    if (!begins || h[8] > 3 || sizes[0] != 8 || sizes[1] != 8)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found another beginning; expected HDF5 with offsets of 8 bytes",
                           w->file->path);
    return CORNU_OK;
}

/* Texts of any length lie in collections, which begin with a signature and their size; none is
   longer than its collection. */
static uint64_t longest_text(const uint8_t *image, size_t size)
{
    static const uint8_t signature[8] = {'G', 'C', 'O', 'L', 1};
    uint64_t longest = 0, length;
    const uint8_t *end = image + size, *at = image;
    while ((at = memmem(at, (size_t)(end - at), signature, sizeof signature))) {
        at += sizeof signature;
        if ((size_t)(end - at) < sizeof length)
            break;
        memcpy(&length, at, sizeof length);
        length = length < size ? length : size;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static cornu_status read_root(walk *w, hid_t opened)
{
    if (opened < 0)
        return fail_library(w, "open it as HDF5");
    hid_t root = H5Gopen2(opened, "/", H5P_DEFAULT);
    cornu_status status = root < 0 ? fail_library(w, "open its root") : read_object(w, root);
    H5Gclose(root);
    return status;
}

/* libhdf5 would copy the bytes thrice; it is given the caller's each time, which it only reads. */
static void *lend(size_t size, H5FD_file_image_op_t operation, void *image)
{
    (void)size, (void)operation;
    return image;
}

static void *copy_nothing(void *to, const void *from, size_t size, H5FD_file_image_op_t operation,
                          void *image)
{
    (void)size, (void)operation, (void)image;
    return to == from ? to : NULL;
}

static void *grow_nothing(void *bytes, size_t size, H5FD_file_image_op_t operation, void *image)
{
    (void)bytes, (void)size, (void)operation, (void)image;
    return NULL;
}

static herr_t free_nothing(void *bytes, H5FD_file_image_op_t operation, void *image)
{
    (void)bytes, (void)operation, (void)image;
    return 0;
}

static void *same_image(void *image)
{
    return image;
}

static herr_t keep_image(void *image)
{
    (void)image;
    return 0;
}

static hid_t open_image(void *image, size_t size)
{
    H5FD_file_image_callbacks_t c = {.image_malloc = lend,
                                     .image_memcpy = copy_nothing,
                                     .image_realloc = grow_nothing,
                                     .image_free = free_nothing,
                                     .udata_copy = same_image,
                                     .udata_free = keep_image,
                                     .udata = image};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = H5I_INVALID_HID;
    if (H5Pset_fapl_core(access, 1 << 16, 0) >= 0 && H5Pset_file_image_callbacks(access, &c) >= 0 &&
        H5Pset_file_image(access, image, size) >= 0)
        file = H5Fopen(HDF5_NO_FILE, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

static void release_image(void *image)
{
    free(image);
}

cornu_status hdf5_read_image(tensor_file *file, void *image, size_t size)
{
    tensor_storage *s = file->storage;
    s->held = image;
    s->release = release_image;
    walk w = {.file = file,
              .image = image,
              .size = size,
              .text = (uint64_t)size * TEXT_TIMES + TEXT_SLACK,
              .converted = (uint64_t)size * CONVERTED_TIMES,
              .longest = longest_text(image, size),
              .path = ""};
    hdf5_quiet quiet;
    TRY(check_header(&w));
    TRY(hdf5_begin(file->path, &quiet));
    hid_t opened = open_image(image, size);
    cornu_status status = read_root(&w, opened);
    H5Fclose(opened);
    hdf5_end(&quiet);
    return status == CORNU_OK ? tensor_file_check_names(file) : status;
}

cornu_status hdf5_read(tensor_file *file)
{
    uint64_t size;
    int fd;
    uint8_t *image = NULL;
    TRY(file_open_regular(file->path, &fd, &size));
    cornu_status status = memory_new(size + 1, 1, file->path, &image);
    if (status == CORNU_OK)
        status = file_read_at(file->path, fd, 0, image, size);
    close(fd);
    if (status == CORNU_OK)
        return hdf5_read_image(file, image, size);
    free(image);
    return status;
}

#include "format/tensor_file.h"
#include "base/memory.h"
#include "format/reader.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tensor_file_close(tensor_file *file)
{
    if (!file)
        return;
    for (int i = 0; i < file->count; i++)
        free(file->tensors[i].name);
    for (int i = 0; i < file->metadata_count; i++) {
        free(file->metadata[i].key);
        free(file->metadata[i].value);
    }
    tensor_storage *s = file->storage;
    if (s) {
        for (size_t i = 0; i < s->block_count; i++)
            memory_free_aligned(s->blocks[i]);
        free(s->blocks);
        free(s->offsets);
        if (s->fd >= 0)
            close(s->fd);
        if (s->held)
            s->release(s->held);
    }
    free(s);
    free(file->tensors);
    free(file->metadata);
    free(file->path);
    free(file);
}

cornu_status tensor_read(const file_tensor *t, void *to)
{
    size_t bytes = (size_t)t->count * element_size(t->type);
    if (bytes > 0 && !t->data)
        return t->fetch(t->source, t->number, to, bytes);
    if (bytes > 0)
        memcpy(to, t->data, bytes);
    return CORNU_OK;
}

const file_tensor *tensor_file_find(const tensor_file *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *tensor_file_metadata(const tensor_file *file, const char *key)
{
    for (int i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}

size_t element_size(element_type type)
{
    static const size_t sizes[] = {4, 8, 1, 1, 4, 8};
    return (unsigned)type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}

const char *element_name(element_type type)
{
    static const char *const names[] = {"float32", "float64", "uint8", "int8", "int32", "int64"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

cornu_status tensor_measure(const char *path, const char *name, file_tensor *t, size_t *bytes)
{
    int64_t count = 1, size;
    bool empty = false, overflow = false;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0)
            return status_fail(CORNU_BAD_FILE, "%s: %s: found dimension %jd; expected 0 or more",
                               path, name, (intmax_t)t->shape[i]);
        empty = empty || t->shape[i] == 0;
        /* Zero times a huge number is still refused: callers multiply some of the dimensions
           alone. */
        overflow = overflow || __builtin_mul_overflow(count, t->shape[i] ? t->shape[i] : 1, &count);
    }
    if (overflow || __builtin_mul_overflow(count, (int64_t)element_size(t->type), &size))
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found a shape of more than 2^63 bytes; expected less", path,
                           name);
    t->count = empty ? 0 : count;
    *bytes = empty ? 0 : (size_t)size;
    return CORNU_OK;
}

cornu_status tensor_file_reserve(tensor_file *file, const char *name, size_t bytes, void *out)
{
    tensor_storage *s = file->storage;
    int64_t available = memory_available();
    if (available >= 0 && bytes > (uint64_t)available) {
        char needed[32], there[32];
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %s: needs %s of memory; %s is free",
                           file->path, name, memory_human((double)bytes, needed),
                           memory_human((double)available, there));
    }
    TRY(memory_grow(&s->blocks, &s->block_capacity, s->block_count + 1, sizeof *s->blocks));
    TRY(memory_new_aligned(bytes, file->path, &s->blocks[s->block_count]));
    *(void **)out = s->blocks[s->block_count++];
    return CORNU_OK;
}

cornu_status tensor_file_add(tensor_file *file, const char *name, const file_tensor *t)
{
    tensor_storage *s = file->storage;
    TRY(memory_grow(&file->tensors, &s->tensor_capacity, (size_t)file->count + 1,
                    sizeof *file->tensors));
    file_tensor added = *t;
    TRY(memory_copy_string(name, &added.name));
    file->tensors[file->count++] = added;
    return CORNU_OK;
}

cornu_status tensor_file_add_metadata(tensor_file *file, const char *key, const char *value)
{
    tensor_storage *s = file->storage;
    metadata_entry entry = {0};
    TRY(memory_grow(&file->metadata, &s->metadata_capacity, (size_t)file->metadata_count + 1,
                    sizeof entry));
    cornu_status status = memory_copy_string(key, &entry.key);
    if (status == CORNU_OK)
        status = memory_copy_string(value, &entry.value);
    if (status == CORNU_OK)
        file->metadata[file->metadata_count++] = entry;
    else
        free(entry.key);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(file_tensor *const *)a)->name, (*(file_tensor *const *)b)->name);
}

/* Sorted, so that a file with very many names costs no quadratic time. */
static cornu_status check_unique(const char *path, const file_tensor *tensors, int count,
                                 cornu_status code)
{
    if (count < 2)
        return CORNU_OK;
    const file_tensor **sorted;
    TRY(memory_new((size_t)count, sizeof *sorted, path, &sorted));
    for (int i = 0; i < count; i++)
        sorted[i] = &tensors[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_names);
    cornu_status status = CORNU_OK;
    for (int i = 1; i < count && status == CORNU_OK; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status = status_fail(code, "%s: found two tensors named %s; expected one", path,
                                 sorted[i]->name);
    free(sorted);
    return status;
}

cornu_status tensor_file_check_names(const tensor_file *file)
{
    return check_unique(file->path, file->tensors, file->count, CORNU_BAD_FILE);
}

cornu_status tensors_check(const char *path, const file_tensor *tensors, int count, bool fetches)
{
    for (int i = 0; i < count; i++) {
        const file_tensor *t = &tensors[i];
        file_tensor measured = *t;
        size_t bytes;
        if (!t->name || !*t->name)
            return status_fail(CORNU_INVALID, "%s: tensor %d has no name", path, i);
        if (t->rank < 0 || t->rank > TENSOR_RANK_MAX || element_size(t->type) == 0)
            return status_fail(CORNU_INVALID, "%s: %s: found rank %d; expected 0 to %d", path,
                               t->name, t->rank, TENSOR_RANK_MAX);
        if (tensor_measure(path, t->name, &measured, &bytes) != CORNU_OK)
            return CORNU_INVALID;
        if (measured.count != t->count || (bytes > 0 && !t->data && !(fetches && t->fetch)))
            return status_fail(CORNU_INVALID,
                               "%s: %s: found %jd elements; expected the product of its shape, %jd",
                               path, t->name, (intmax_t)t->count, (intmax_t)measured.count);
    }
    return check_unique(path, tensors, count, CORNU_INVALID);
}

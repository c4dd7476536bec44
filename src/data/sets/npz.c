/* NumPy archives: x_train, y_train[, x_test, y_test]. Bytes and 32-bit floats stay in the file's
   memory; all other types are converted once. */
#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include "format/tensor_file.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static const char *const x_names[2] = {"x_train", "x_test"};
static const char *const y_names[2] = {"y_train", "y_test"};

static bool is_integer(element_type type)
{
    return type != ELEMENT_F32 && type != ELEMENT_F64;
}

/* One element of any integer type; the data may be unaligned. */
static int64_t integer_at(const file_tensor *t, int64_t i)
{
    const char *at = (const char *)t->data + (size_t)i * element_size(t->type);
    int64_t wide;
    int32_t narrow;
    switch (t->type) {
    case ELEMENT_U8:
        return *(const uint8_t *)at;
    case ELEMENT_I8:
        return *(const int8_t *)at;
    case ELEMENT_I32:
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    default:
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
}

static float float_at(const file_tensor *t, int64_t i)
{
    const char *at = (const char *)t->data + (size_t)i * element_size(t->type);
    double wide;
    float narrow;
    if (is_integer(t->type))
        return (float)integer_at(t, i);
    if (t->type == ELEMENT_F32) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return (float)wide;
}

/* "x_train[3, 0, 2]" for element `i`. */
static const char *show_element(const file_tensor *t, int64_t i, char *out, size_t size)
{
    int64_t at[8];
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    int used = snprintf(out, size, "%s[", t->name);
    for (int d = 0; d < t->rank && used > 0 && (size_t)used < size; d++)
        used +=
            snprintf(out + used, size - (size_t)used, "%s%lld", d ? ", " : "", (long long)at[d]);
    if (used > 0 && (size_t)used + 1 < size)
        memcpy(out + used, "]", 2);
    return out;
}

static cornu_status to_floats(const char *path, const file_tensor *t, float *out)
{
    char shown[160];
    for (int64_t i = 0; i < t->count; i++) {
        float value = float_at(t, i);
        if (!isfinite(value))
            return status_fail(CORNU_BAD_FILE, "%s: %s is %f; expected a finite 32-bit number",
                               path, show_element(t, i, shown, sizeof shown), (double)value);
        if (out)
            out[i] = value;
    }
    return CORNU_OK;
}

static cornu_status read_inputs(const char *path, const file_tensor *x, cornu_split split,
                                double scale, cornu_data *data)
{
    if (x->type != ELEMENT_U8 && is_integer(x->type))
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: %s is of type %s; expected uint8, float32 or float64", path,
                           x->name, element_name(x->type));
    if (x->rank < 2 || x->rank - 1 > SHAPE_MAX || x->count == 0)
        return status_fail(
            CORNU_BAD_FILE,
            "%s: %s has %d dimensions and %lld elements; expected 2 to %d dimensions, "
            "samples first, and none of them 0",
            path, x->name, x->rank, (long long)x->count, SHAPE_MAX + 1);
    sample_block *block = &data->block[split];
    bool pixels = x->type == ELEMENT_U8;
    shape s = {.rank = x->rank - 1};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = x->shape[i + 1];
    bool aligned = (uintptr_t)x->data % alignof(float) == 0;
    if (pixels || (x->type == ELEMENT_F32 && aligned)) {
        *block = (sample_block){.count = x->shape[0],
                                .x_shape = s,
                                .x_type = pixels ? SAMPLE_U8 : SAMPLE_F32,
                                .x = x->data};
        if (!pixels)
            TRY(to_floats(path, x, NULL));
    } else {
        float *values;
        TRY(data_reserve_inputs(data, split, x->shape[0], &s, SAMPLE_F32, &values));
        TRY(to_floats(path, x, values));
    }
    block->x_scale = scale >= 0 ? (float)scale : pixels ? 1.0f / 255.0f : 1.0f;
    return CORNU_OK;
}

/* Integers (n) or (n, 1) are class numbers; all others are values. */
static cornu_status read_targets(const char *path, const file_tensor *y, cornu_split split,
                                 cornu_data *data)
{
    sample_block *block = &data->block[split];
    if (y->rank < 1 || y->rank - 1 > SHAPE_MAX || y->shape[0] != block->count)
        return status_fail(CORNU_BAD_FILE, "%s: %s has %lld targets; expected %lld, one a sample",
                           path, y->name, y->rank > 0 ? (long long)y->shape[0] : 0LL,
                           (long long)block->count);
    if (y->count == 0)
        return status_fail(CORNU_BAD_FILE, "%s: %s is empty; expected %lld targets", path, y->name,
                           (long long)block->count);
    if (!is_integer(y->type) || y->count != y->shape[0]) {
        float *values;
        shape s = {.rank = y->rank - 1};
        for (int i = 0; i < s.rank; i++)
            s.dim[i] = y->shape[i + 1];
        if (s.rank == 0)
            s = (shape){1, {1}};
        TRY(data_reserve_targets(data, split, &s, SAMPLE_F32, &values));
        return to_floats(path, y, values);
    }
    int32_t *labels;
    shape none = {0};
    TRY(data_reserve_targets(data, split, &none, SAMPLE_I32, &labels));
    for (int64_t i = 0; i < y->count; i++) {
        int64_t label = integer_at(y, i);
        /* No data set has 2^24 classes: such a number is no class number. */
        if (label < 0 || label >= 1 << 24)
            return status_fail(CORNU_BAD_FILE, "%s: %s[%lld] is %lld; expected a class from 0 up",
                               path, y->name, (long long)i, (long long)label);
        labels[i] = (int32_t)label;
        if (label >= data->class_count)
            data->class_count = (int)label + 1;
    }
    return CORNU_OK;
}

static cornu_status read_split(const char *path, const tensor_file *file, cornu_split split,
                               double scale, cornu_data *data)
{
    const file_tensor *x = tensor_file_find(file, x_names[split]);
    const file_tensor *y = tensor_file_find(file, y_names[split]);
    if (!x && !y && split == CORNU_TEST)
        return CORNU_OK;
    if (!x || !y) {
        text found = {0};
        for (int i = 0; i < file->count && i < 8; i++)
            text_add(&found, "%s%s", i ? ", " : "", file->tensors[i].name);
        cornu_status status = status_fail(
            CORNU_BAD_FILE, "%s: has no array %s (found: %s); expected x_train, y_train%s", path,
            x ? y_names[split] : x_names[split], found.data ? found.data : "nothing",
            split == CORNU_TEST ? ", x_test, y_test" : "[, x_test, y_test]");
        text_free(&found);
        return status;
    }
    TRY(read_inputs(path, x, split, scale, data));
    return read_targets(path, y, split, data);
}

static cornu_status check_alike(const char *path, const cornu_data *data)
{
    const sample_block *train = &data->block[0], *test = &data->block[1];
    char a[128], b[128];
    if (test->count == 0)
        return CORNU_OK;
    if (!shape_equal(&train->x_shape, &test->x_shape))
        return status_fail(
            CORNU_BAD_FILE, "%s: x_test has samples of %s; expected %s as in x_train", path,
            shape_show(&test->x_shape, false, a), shape_show(&train->x_shape, false, b));
    if (train->x_type != test->x_type)
        return status_fail(CORNU_BAD_FILE, "%s: x_test is %s; expected %s as x_train", path,
                           test->x_type == SAMPLE_U8 ? "uint8" : "floats",
                           train->x_type == SAMPLE_U8 ? "uint8" : "floats");
    if (train->y_type != test->y_type || !shape_equal(&train->y_shape, &test->y_shape))
        return status_fail(CORNU_BAD_FILE,
                           "%s: y_test has targets of %s %s; expected %s %s as in "
                           "y_train",
                           path, shape_show(&test->y_shape, false, a),
                           test->y_type == SAMPLE_I32 ? "integers" : "values",
                           shape_show(&train->y_shape, false, b),
                           train->y_type == SAMPLE_I32 ? "integers" : "values");
    return CORNU_OK;
}

cornu_status data_read_npz(const char *path, double scale, cornu_data *data)
{
    TRY(tensor_file_open(path, &data->arrays));
    data->class_count = 0;
    TRY(read_split(path, data->arrays, CORNU_TRAIN, scale, data));
    TRY(read_split(path, data->arrays, CORNU_TEST, scale, data));
    return check_alike(path, data);
}

/* ---- a named set's .npz ---- */

static bool npz_present(const char *folder, const dataset *set)
{
    char *path = NULL;
    bool found = path_join(folder, set->files[0].name, &path) == CORNU_OK && file_exists(path);
    free(path);
    return found;
}

/* The arrays must be those of the set: its classes and its shape (in the file the channel may be
   missing). */
static cornu_status check_set(const char *path, const dataset *set, int found_classes,
                              cornu_data *data)
{
    char found[128], expected[128];
    for (int split = 0; split < 2; split++) {
        sample_block *block = &data->block[split];
        shape *s = &block->x_shape;
        if (block->count == 0)
            return status_fail(CORNU_BAD_FILE, "%s: has no %s; expected both splits of %s", path,
                               x_names[split], set->name);
        if (s->rank == 2 && set->x_shape.dim[2] == 1)
            s->dim[s->rank++] = 1;
        if (!shape_equal(s, &set->x_shape))
            return status_fail(CORNU_BAD_FILE, "%s: %s has samples of %s; expected %s", path,
                               x_names[split], shape_show(s, false, found),
                               shape_show(&set->x_shape, false, expected));
        if (block->y_type != SAMPLE_I32 || found_classes > set->class_count)
            return status_fail(CORNU_BAD_FILE, "%s: %s holds %s; expected classes 0 to %d", path,
                               y_names[split],
                               block->y_type == SAMPLE_I32 ? "larger class numbers" : "values",
                               set->class_count - 1);
    }
    return CORNU_OK;
}

static cornu_status npz_set_read(const char *folder, const dataset *set,
                                 const data_request *request, cornu_data *data)
{
    char *path = NULL;
    int classes = data->class_count; /* data_read_npz counts again; the names are for these */
    TRY(path_join(folder, set->files[0].name, &path));
    cornu_status status = data_read_npz(path, request->scale, data);
    int found = data->class_count;
    data->class_count = classes;
    if (status == CORNU_OK)
        status = check_set(path, set, found, data);
    free(path);
    return status;
}

const data_reader npz_set_reader = {"an .npz file", npz_present, npz_set_read};

/* Pictures: data sets of image files, batches of samples, single images. */
#include "extension.h"
#include <cornu/images.h>
#include <cornu/parallel.h>
#include <string.h>

/* A file that cannot be read is an OSError, as Pillow's errors are. */
static PyObject *fail_picture(cornu_status status)
{
    if (status != CORNU_BAD_FILE)
        return fail(status);
    PyErr_SetString(PyExc_OSError, cornu_last_error());
    return NULL;
}

/* ---- lists of strings ---- */

void strings_close(strings *s)
{
    Py_XDECREF(s->kept);
    PyMem_Free(s->items);
}

bool strings_open(PyObject *list, strings *s)
{
    *s = (strings){0};
    if (list == Py_None)
        return true;
    s->count = PySequence_Size(list);
    s->kept = s->count < 0 ? NULL : PyList_New(s->count);
    s->items = s->kept ? PyMem_Calloc((size_t)s->count + 1, sizeof *s->items) : NULL;
    if (s->kept && !s->items)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; s->items && i < s->count; i++) {
        PyObject *item = PySequence_GetItem(list, i), *bytes = NULL;
        bool encoded = item && PyUnicode_FSConverter(item, &bytes);
        Py_XDECREF(item);
        if (!encoded || PyList_SetItem(s->kept, i, bytes) != 0)
            return false;
        s->items[i] = PyBytes_AsString(bytes);
    }
    return s->items != NULL;
}

/* ---- data sets ---- */

static cornu_status open_files(const strings *paths, const Py_buffer *labels, const strings *names,
                               const cornu_data_options *options, cornu_data **data)
{
    const cornu_image_files files = {.size = sizeof files,
                                     .count = paths->count,
                                     .paths = paths->items,
                                     .labels = labels ? labels->buf : NULL,
                                     .class_names = names->items,
                                     .class_count = (int)names->count,
                                     .fewer_classes = true}; /* as in Keras */
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_data_from_files(&files, options, data);
    Py_END_ALLOW_THREADS;
    return status;
}

/* One int32 a path, or None. */
static bool get_labels(PyObject *object, Py_ssize_t count, Py_buffer *labels, bool *has)
{
    *has = object != Py_None;
    if (!*has)
        return true;
    if (PyObject_GetBuffer(object, labels, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
        return *has = false;
    if (is_format(labels, 'i') && labels->len == count * 4)
        return true;
    PyErr_SetString(PyExc_ValueError, "labels: expected one int32 a path");
    return false;
}

/* data_from_files(paths, labels, class_names, height, width, channels, interpolation,
   keep_aspect_ratio): decoded in the background, and kept in memory where that has room. A file
   that cannot be read is an error when its sample is needed. */
PyObject *module_data_from_files(PyObject *module, PyObject *arguments)
{
    PyObject *path_list, *label_array, *name_list;
    long long height, width, channels;
    const char *interpolation;
    int aspect;
    if (!PyArg_ParseTuple(arguments, "OOOLLLsp", &path_list, &label_array, &name_list, &height,
                          &width, &channels, &interpolation, &aspect))
        return NULL;
    cornu_ranks *ranks = state_of(module)->ranks;
    const cornu_data_options options = {
        .size = sizeof options,
        .ranks = cornu_ranks_count(ranks) > 1 ? ranks : NULL,
        .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                          .height = height,
                                          .width = width,
                                          .channels = channels,
                                          .interpolation = interpolation,
                                          .keep_aspect_ratio = aspect,
                                          .strict = true,
                                          .background = true,
                                          .cache = "memory"}};
    strings paths, names = {0};
    Py_buffer labels;
    bool has_labels = false;
    cornu_data *data = NULL;
    cornu_status status = CORNU_OK;
    bool right = strings_open(path_list, &paths) && strings_open(name_list, &names) &&
                 get_labels(label_array, paths.count, &labels, &has_labels);
    if (right)
        status = open_files(&paths, has_labels ? &labels : NULL, &names, &options, &data);
    if (has_labels)
        PyBuffer_Release(&labels);
    strings_close(&paths);
    strings_close(&names);
    if (!right)
        return NULL;
    return status == CORNU_OK ? wrap_data(module, data) : fail_picture(status);
}

/* batch(index, section, seed, epoch, values): samples by number (int64) of the training split into
   a float32 array; section None: as they are stored. */
PyObject *data_batch(PyObject *object, PyObject *arguments)
{
    data_object *self = (data_object *)object;
    PyObject *index_array, *value_array;
    cornu_batch_options options = {.size = sizeof options};
    unsigned long long seed;
    long long epoch;
    Py_buffer index, values;
    if (!PyArg_ParseTuple(arguments, "OzKLO", &index_array, &options.section, &seed, &epoch,
                          &value_array))
        return NULL;
    options.seed = seed;
    options.epoch = epoch;
    if (PyObject_GetBuffer(index_array, &index, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
        return NULL;
    if ((!is_format(&index, 'l') && !is_format(&index, 'q')) ||
        !get_floats(value_array, &values, true)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "index: expected int64");
        PyBuffer_Release(&index);
        return NULL;
    }
    cornu_status status = CORNU_OK;
    bool free_to_work = begin_data(self, NULL);
    if (free_to_work) {
        Py_BEGIN_ALLOW_THREADS;
        status = cornu_data_batch(self->data, CORNU_TRAIN, index.buf, index.len / 8, &options,
                                  values.buf, values.len / 4);
        Py_END_ALLOW_THREADS;
        end_data(self);
    }
    PyBuffer_Release(&index);
    PyBuffer_Release(&values);
    if (!free_to_work)
        return NULL;
    return status == CORNU_OK ? Py_NewRef(Py_None) : fail_picture(status);
}

/* ---- single images ---- */

/* read_image(path, file, height, width, channels, interpolation, keep_aspect_ratio): (shape,
   bytearray). `file` is the bytes of one, or None. */
PyObject *module_read_image(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *path, *result = NULL;
    Py_buffer file = {0};
    cornu_image_options o = {.size = sizeof o};
    long long height, width, channels;
    int aspect;
    uint8_t *pixels = NULL;
    int64_t shape[3];
    if (!PyArg_ParseTuple(arguments, "O&z*LLLsp", PyUnicode_FSConverter, &path, &file, &height,
                          &width, &channels, &o.interpolation, &aspect))
        return NULL;
    o.height = height;
    o.width = width;
    o.channels = channels;
    o.keep_aspect_ratio = aspect;
    const char *name = PyBytes_AsString(path);
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_image_load(name, file.buf, (size_t)file.len, &o, &pixels, shape);
    Py_END_ALLOW_THREADS;
    if (status == CORNU_OK)
        result =
            Py_BuildValue("(NN)", shape_tuple(shape, 3),
                          PyByteArray_FromStringAndSize(
                              (const char *)pixels, (Py_ssize_t)(shape[0] * shape[1] * shape[2])));
    else
        fail_picture(status);
    cornu_free(pixels);
    Py_DECREF(path);
    if (file.obj)
        PyBuffer_Release(&file);
    return result;
}

/* write_png(path, height, width, channels, values): float32 in 0 to 1. */
PyObject *module_write_png(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *path, *array;
    long long height, width, channels, count;
    Py_buffer values;
    if (!PyArg_ParseTuple(arguments, "O&LLLO", PyUnicode_FSConverter, &path, &height, &width,
                          &channels, &array))
        return NULL;
    cornu_status status = CORNU_OK;
    bool right = get_floats(array, &values, false);
    if (right && (__builtin_mul_overflow(height, width, &count) ||
                  __builtin_mul_overflow(count, channels, &count) || values.len / 4 != count)) {
        PyErr_SetString(PyExc_ValueError, "values: expected height x width x channels");
        PyBuffer_Release(&values);
        right = false;
    }
    if (right) {
        const char *name = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS;
        status = cornu_image_write_png(name, height, width, channels, values.buf);
        Py_END_ALLOW_THREADS;
        PyBuffer_Release(&values);
    }
    Py_DECREF(path);
    return right ? none_or_fail(status) : NULL;
}

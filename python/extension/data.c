/* A cornu_data. */
#include "extension.h"

PyObject *wrap_data(PyObject *module, cornu_data *data)
{
    PyTypeObject *type = state_of(module)->data_type;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    data_object *self = (data_object *)allocate(type, 0);
    if (!self) {
        cornu_data_close(data);
        return NULL;
    }
    self->data = data;
    return (PyObject *)self;
}

static void data_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    cornu_data_close(((data_object *)object)->data);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* One split's (x, y), each a buffer: x of float32 or uint8, y of int32 (classes) or float32. */
typedef struct split_buffers {
    Py_buffer x, y;
    bool has_x, has_y;
} split_buffers;

static void release_split(split_buffers *b)
{
    if (b->has_x)
        PyBuffer_Release(&b->x);
    if (b->has_y)
        PyBuffer_Release(&b->y);
}

static bool read_split(PyObject *x, PyObject *y, split_buffers *b, cornu_arrays *out)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
    b->has_x = PyObject_GetBuffer(x, &b->x, flags) == 0;
    b->has_y = b->has_x && PyObject_GetBuffer(y, &b->y, flags) == 0;
    if (!b->has_y)
        return false;
    *out = (cornu_arrays){.rank = b->x.ndim - 1};
    if (b->x.ndim < 2 || b->x.ndim > 5 || b->y.ndim < 1 || b->y.shape[0] != b->x.shape[0]) {
        PyErr_SetString(PyExc_ValueError, "found arrays whose first dimensions differ, or too few "
                                          "or many dimensions; expected samples first");
        return false;
    }
    out->count = b->x.shape[0];
    for (int i = 1; i < b->x.ndim; i++)
        out->shape[i - 1] = b->x.shape[i];
    if (is_format(&b->x, 'f'))
        out->values = b->x.buf;
    else if (is_format(&b->x, 'B'))
        out->pixels = b->x.buf;
    if (is_format(&b->y, 'i'))
        out->labels = b->y.buf;
    else if (is_format(&b->y, 'f'))
        out->targets = b->y.buf;
    out->target_size = out->targets && out->count ? b->y.len / 4 / out->count : 0;
    if ((out->values || out->pixels) && (out->labels || out->targets))
        return true;
    PyErr_Format(PyExc_TypeError,
                 "found buffers of formats \"%s\" and \"%s\"; expected float32 or uint8, and int32 "
                 "or float32",
                 b->x.format, b->y.format);
    return false;
}

/* data_from_arrays(x, y, test_x, test_y), the latter two None where there are none. */
PyObject *module_data_from_arrays(PyObject *module, PyObject *arguments)
{
    PyObject *x, *y, *test_x, *test_y;
    split_buffers train = {0}, test = {0};
    cornu_arrays train_arrays, test_arrays;
    cornu_data *data = NULL;
    cornu_status status = CORNU_OK;
    if (!PyArg_ParseTuple(arguments, "OOOO", &x, &y, &test_x, &test_y))
        return NULL;
    bool has_test = test_x != Py_None;
    bool right = read_split(x, y, &train, &train_arrays) &&
                 (!has_test || read_split(test_x, test_y, &test, &test_arrays));
    if (right) {
        Py_BEGIN_ALLOW_THREADS;
        status = cornu_data_from_arrays(&train_arrays, has_test ? &test_arrays : NULL, &data);
        Py_END_ALLOW_THREADS;
    }
    release_split(&train);
    release_split(&test);
    if (!right)
        return NULL;
    return status == CORNU_OK ? wrap_data(module, data) : fail(status);
}

/* data_open(what, folder, allow_download, on_notice) */
PyObject *module_data_open(PyObject *module, PyObject *arguments)
{
    const char *what, *folder;
    int download;
    PyObject *notice;
    call c = {0};
    cornu_data *data = NULL;
    if (!PyArg_ParseTuple(arguments, "szpO", &what, &folder, &download, &notice))
        return NULL;
    c.on_notice = given(notice);
    cornu_data_options options = {.folder = folder,
                                  .allow_download = download,
                                  .on_notice = c.on_notice ? on_notice : NULL,
                                  .should_stop = should_stop,
                                  .user = &c};
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_data_open(what, &options, &data);
    Py_END_ALLOW_THREADS;
    if (!call_succeeded(&c, status)) {
        cornu_data_close(data);
        return NULL;
    }
    return wrap_data(module, data);
}

static PyObject *copy_of(const void *from, int64_t bytes)
{
    return PyByteArray_FromStringAndSize(from, (Py_ssize_t)bytes);
}

/* view(test): (samples, shape, x, x is of bytes, y, y is of classes, numbers of a target); x and y
   are bytearrays of their own. */
static PyObject *data_view(PyObject *object, PyObject *arguments)
{
    int test;
    cornu_arrays a;
    if (!PyArg_ParseTuple(arguments, "p", &test))
        return NULL;
    cornu_status status =
        cornu_data_view(((data_object *)object)->data, test ? CORNU_TEST : CORNU_TRAIN, &a);
    if (status != CORNU_OK)
        return fail(status);
    int64_t numbers = a.count;
    for (int i = 0; i < a.rank; i++)
        numbers *= a.shape[i];
    bool bytes = a.pixels != NULL, classes = a.labels != NULL;
    int64_t targets = a.count * (classes ? 1 : a.target_size);
    return Py_BuildValue("(LNNONOL)", (long long)a.count, shape_tuple(a.shape, a.rank),
                         bytes ? copy_of(a.pixels, numbers) : copy_of(a.values, numbers * 4),
                         bytes ? Py_True : Py_False,
                         classes ? copy_of(a.labels, targets * 4) : copy_of(a.targets, targets * 4),
                         classes ? Py_True : Py_False, (long long)a.target_size);
}

static PyObject *data_info(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_data *d = ((data_object *)object)->data;
    cornu_data_info i;
    cornu_status status = cornu_data_info_get(d, &i);
    if (status != CORNU_OK)
        return fail(status);
    return Py_BuildValue("{szszs(LL)sNsi}", "name", i.name, "folder", i.folder, "count",
                         (long long)i.count[0], (long long)i.count[1], "shape",
                         shape_tuple(i.shape, i.rank), "classes", i.class_count);
}

static PyMethodDef data_methods[] = {
    {"info", data_info, METH_NOARGS, NULL},
    {"view", data_view, METH_VARARGS, NULL},
    {"batch", data_batch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot data_slots[] = {
    {Py_tp_methods, data_methods},
    {Py_tp_dealloc, data_dealloc},
    {Py_tp_doc, (void *)"A cornu_data."},
    {0, NULL},
};

PyType_Spec data_spec = {
    .name = "cornu._cornu.Data",
    .basicsize = sizeof(data_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = data_slots,
};

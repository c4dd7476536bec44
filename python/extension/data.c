/* A cornu_data. */
#include "extension.h"
#include <cornu/data.h>

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
    data_object *self = (data_object *)object;
    PyObject_GC_UnTrack(object);
    cornu_data_close(self->data);
    release_arrays(&self->buffers);
    Py_XDECREF(self->next);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* A stream's function may refer back to it. Other objects of such a cycle can be cleared, so
   this one need not be. */
static int data_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((data_object *)object)->next);
    return 0;
}

/* data_from_arrays(x, y, weights): the arrays are read in place, as long as the data exists. */
PyObject *module_data_from_arrays(PyObject *module, PyObject *arguments)
{
    PyObject *x, *y, *weights;
    array_buffers buffers = {0};
    cornu_arrays arrays = {.size = sizeof arrays};
    cornu_data *data = NULL;
    cornu_status status = CORNU_OK;
    if (!PyArg_ParseTuple(arguments, "OOO", &x, &y, &weights))
        return NULL;
    bool right = get_arrays(x, y, weights, &buffers, &arrays);
    if (right) {
        Py_BEGIN_ALLOW_THREADS;
        status = cornu_data_in_place(&arrays, NULL, &data);
        Py_END_ALLOW_THREADS;
    }
    PyObject *out = NULL;
    if (right)
        out = status == CORNU_OK ? wrap_data(module, data) : fail(status);
    if (out)
        ((data_object *)out)->buffers = buffers;
    else
        release_arrays(&buffers);
    return out;
}

/* The next batch of Python's function; called without the GIL. */
static cornu_status stream_next(void *user, cornu_arrays *batch)
{
    data_object *self = user;
    PyObject *x, *y, *weights;
    cornu_status status = CORNU_STOPPED;
    PyGILState_STATE gil = PyGILState_Ensure();
    release_arrays(&self->buffers);
    PyObject *got = PyObject_CallNoArgs(self->next);
    if (got == Py_None)
        status = CORNU_OK;
    else if (got && !PyTuple_Check(got))
        PyErr_SetString(PyExc_TypeError, "found no tuple; expected (x, y, weights)");
    else if (got && PyArg_ParseTuple(got, "OOO", &x, &y, &weights) &&
             get_arrays(x, y, weights, &self->buffers, batch))
        status = CORNU_OK;
    if (status != CORNU_OK)
        keep_exception(self->at_work);
    Py_XDECREF(got);
    PyGILState_Release(gil);
    return status;
}

/* data_stream(next, x, y, weights, batches): `next` returns (x, y, weights) or, at the end of a
   pass, None; x, y and weights are an example of a batch, with the maximum number of samples. */
PyObject *module_data_stream(PyObject *module, PyObject *arguments)
{
    PyObject *next, *x, *y, *weights, *out = NULL;
    long long batches;
    array_buffers like = {0};
    cornu_arrays form = {.size = sizeof form};
    cornu_stream stream = {.size = sizeof stream, .like = &form, .next = stream_next};
    cornu_data *data = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOOL", &next, &x, &y, &weights, &batches))
        return NULL;
    out = wrap_data(module, NULL);
    stream.batches = batches;
    stream.user = out;
    if (!out || !get_arrays(x, y, weights, &like, &form)) {
        release_arrays(&like);
        Py_XDECREF(out);
        return NULL;
    }
    cornu_status status = cornu_data_stream(&stream, &data);
    release_arrays(&like);
    if (status != CORNU_OK) {
        Py_DECREF(out);
        return fail(status);
    }
    ((data_object *)out)->data = data;
    ((data_object *)out)->next = Py_NewRef(next);
    return out;
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
    cornu_data_options options = {.size = sizeof options,
                                  .folder = folder,
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
    cornu_arrays a = {.size = sizeof a};
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
    cornu_data_info i = {.size = sizeof i};
    cornu_status status = cornu_data_info_get(d, &i);
    if (status != CORNU_OK)
        return fail(status);
    return Py_BuildValue("{sNsNs(LL)sNsi}", "name", PyUnicode_DecodeFSDefault(i.name), "folder",
                         PyUnicode_DecodeFSDefault(i.folder), "count", (long long)i.count[0],
                         (long long)i.count[1], "shape", shape_tuple(i.shape, i.rank), "classes",
                         i.class_count);
}

static PyObject *data_set_scale(PyObject *object, PyObject *arguments)
{
    data_object *self = (data_object *)object;
    double scale;
    if (!PyArg_ParseTuple(arguments, "d", &scale) || !begin_data(self, NULL))
        return NULL;
    cornu_status status = cornu_data_set_scale(self->data, scale);
    end_data(self);
    return none_or_fail(status);
}

static PyMethodDef data_methods[] = {
    {"set_scale", data_set_scale, METH_VARARGS, NULL},
    {"info", data_info, METH_NOARGS, NULL},
    {"view", data_view, METH_VARARGS, NULL},
    {"batch", data_batch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot data_slots[] = {
    {Py_tp_methods, data_methods},
    {Py_tp_dealloc, data_dealloc},
    {Py_tp_traverse, data_traverse},
    {Py_tp_doc, (void *)"A cornu_data."},
    {0, NULL},
};

PyType_Spec data_spec = {
    .name = "cornu._cornu.Data",
    .basicsize = sizeof(data_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
    .slots = data_slots,
};

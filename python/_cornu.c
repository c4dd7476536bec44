/* cornu._cornu: the public C API for Python, call by call. Python's stable ABI (3.11 and later),
   and nothing of the library but cornu.h. All that has the shape of Keras is Python, in the
   package.

   - Arrays come in by the buffer protocol, C-contiguous, and are read where they lie.
   - The GIL is free while the library trains, evaluates, predicts, reads and writes.
   - A callback's exception stops the work after the step and is raised then; so does a signal's. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <cornu/cornu.h>
#include <math.h>
#include <string.h>
#include <time.h>

typedef struct model_object {
    PyObject_HEAD cornu_model *model;
    bool busy; /* a call without the GIL is under way */
} model_object;

typedef struct data_object {
    PyObject_HEAD cornu_data *data;
} data_object;

typedef struct module_state {
    PyTypeObject *model_type, *data_type;
    PyObject *error; /* cornu.Error, with .status */
} module_state;

static struct PyModuleDef module_definition;

static module_state *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* ---- errors ------------------------------------------------------------------------------- */

static PyObject *exception_type(cornu_status status)
{
    switch (status) {
    case CORNU_INVALID:
        return PyExc_ValueError;
    case CORNU_NOT_FOUND:
        return PyExc_FileNotFoundError;
    case CORNU_OUT_OF_MEMORY:
        return PyExc_MemoryError;
    case CORNU_UNSUPPORTED:
        return PyExc_NotImplementedError;
    case CORNU_IO:
    case CORNU_NETWORK:
        return PyExc_OSError;
    case CORNU_BAD_FILE:
        return PyExc_ValueError;
    default:
        return PyExc_RuntimeError;
    }
}

/* Raise the thread's last error; NULL. Call it before anything else calls the library. */
static PyObject *fail(cornu_status status)
{
    PyErr_SetString(exception_type(status), cornu_last_error());
    return NULL;
}

/* A string that the library gave away. */
static PyObject *take_text(cornu_status status, char *text)
{
    if (status != CORNU_OK)
        return fail(status);
    PyObject *out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    cornu_free(text);
    return out;
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* A C-contiguous buffer of items of `format` ('f', 'B', 'i') and at least `count` of them. */
static bool get_buffer(PyObject *object, Py_buffer *view, char format, int64_t count, bool writable)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) != 0)
        return false;
    const char *found = view->format ? view->format : "B";
    found += strchr("@=<", *found) != NULL && *found;
    if (found[0] != format || found[1] != 0) {
        PyErr_Format(PyExc_TypeError, "found a buffer of format \"%s\"; expected \"%c\"",
                     view->format ? view->format : "B", format);
    } else if (count >= 0 && view->len / view->itemsize != count) {
        PyErr_Format(PyExc_ValueError, "found %zd values; expected %lld",
                     view->len / view->itemsize, (long long)count);
    } else {
        return true;
    }
    PyBuffer_Release(view);
    return false;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

/* What the library's callbacks need while it works without the GIL. */
typedef struct call {
    PyObject *on_step, *on_epoch_begin, *on_epoch, *on_notice; /* NULL: none */
    PyObject *type, *value, *traceback; /* of the first exception within one of them */
    bool failed, stop;
    double asked; /* when signals were looked at last */
} call;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_exception(call *c)
{
    if (!c->failed)
        PyErr_Fetch(&c->type, &c->value, &c->traceback);
    else
        PyErr_Clear();
    c->failed = true;
}

/* Takes the reference to `arguments`. A callback that returns True ends the run. */
static void call_python(call *c, PyObject *function, PyObject *arguments)
{
    PyObject *result = arguments ? PyObject_CallObject(function, arguments) : NULL;
    if (!result)
        keep_exception(c);
    else if (result == Py_True)
        c->stop = true;
    Py_XDECREF(result);
    Py_XDECREF(arguments);
}

/* {"loss": 0.5, "accuracy": 0.8, "val_loss": ...}; NULL with an exception. */
static PyObject *logs_of(const cornu_progress *p)
{
    PyObject *logs = PyDict_New();
    for (int which = 0; logs && which < 2; which++) {
        const cornu_scores *s = which ? p->validation : p->scores;
        for (int i = 0; s && logs && i < s->count; i++) {
            PyObject *key = PyUnicode_FromFormat("%s%s", which ? "val_" : "", s->name[i]);
            PyObject *value = PyFloat_FromDouble(s->value[i]);
            if (!key || !value || PyDict_SetItem(logs, key, value) != 0)
                Py_CLEAR(logs);
            Py_XDECREF(key);
            Py_XDECREF(value);
        }
    }
    return logs;
}

static void report(call *c, PyObject *function, const cornu_progress *p)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *logs = c->failed ? NULL : logs_of(p);
    if (logs)
        call_python(c, function,
                    Py_BuildValue("(LLLLddN)", (long long)p->epoch, (long long)p->epochs,
                                  (long long)p->step, (long long)p->steps, p->seconds,
                                  p->learning_rate, logs));
    else if (!c->failed)
        keep_exception(c);
    PyGILState_Release(gil);
}

static void on_step(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_step, p);
}

static void on_epoch_begin(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_epoch_begin, p);
}

static void on_epoch(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_epoch, p);
}

static void on_notice(void *user, const char *line)
{
    call *c = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!c->failed)
        call_python(c, c->on_notice, Py_BuildValue("(s)", line));
    PyGILState_Release(gil);
}

/* Signals are looked at twenty times a second: taking the GIL after each step would be felt. */
static bool should_stop(void *user)
{
    call *c = user;
    if (c->failed || c->stop)
        return true;
    if (now() - c->asked < 0.05)
        return false;
    c->asked = now();
    PyGILState_STATE gil = PyGILState_Ensure();
    if (PyErr_CheckSignals() != 0)
        keep_exception(c);
    PyGILState_Release(gil);
    return c->failed;
}

static PyObject *given(PyObject *object)
{
    return object == Py_None ? NULL : object;
}

/* The exception of a callback or signal, else of the status; NULL for neither. A run that a
   callback ended is no failure. */
static bool call_succeeded(call *c, cornu_status status)
{
    if (c->failed) {
        PyErr_Restore(c->type, c->value, c->traceback);
        return false;
    }
    if (status == CORNU_OK || (status == CORNU_STOPPED && c->stop))
        return true;
    fail(status);
    return false;
}

/* One call at a time: the others would find a model in the middle of a step. */
static bool begin_work(model_object *self)
{
    if (!self->model) {
        PyErr_SetString(PyExc_RuntimeError, "the model is closed");
        return false;
    }
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the model is at work in another call");
        return false;
    }
    self->busy = true;
    return true;
}

static void end_work(model_object *self)
{
    self->busy = false;
}

/* ---- models ------------------------------------------------------------------------------- */

static PyObject *wrap_model(PyObject *module, cornu_model *model)
{
    PyTypeObject *type = state_of(module)->model_type;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    model_object *self = (model_object *)allocate(type, 0);
    if (!self) {
        cornu_model_close(model);
        return NULL;
    }
    self->model = model;
    return (PyObject *)self;
}

static void model_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    cornu_model_close(((model_object *)object)->model);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *module_open(PyObject *module, PyObject *arguments)
{
    const char *what;
    cornu_model *model;
    if (!PyArg_ParseTuple(arguments, "s", &what))
        return NULL;
    cornu_status status = cornu_model_open(what, &model);
    return status == CORNU_OK ? wrap_model(module, model) : fail(status);
}

static PyObject *module_parse(PyObject *module, PyObject *arguments)
{
    const char *text, *name;
    cornu_model *model;
    if (!PyArg_ParseTuple(arguments, "ss", &text, &name))
        return NULL;
    cornu_status status = cornu_model_parse(text, name, &model);
    return status == CORNU_OK ? wrap_model(module, model) : fail(status);
}

static PyObject *model_compile(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    const char *options;
    if (!PyArg_ParseTuple(arguments, "s", &options) || !begin_work(self))
        return NULL;
    cornu_status status = cornu_model_compile(self->model, options);
    end_work(self);
    return status == CORNU_OK ? Py_NewRef(Py_None) : fail(status);
}

static PyObject *model_initialize(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "K", &seed) || !begin_work(self))
        return NULL;
    cornu_status status = cornu_model_initialize(self->model, seed);
    end_work(self);
    return status == CORNU_OK ? Py_NewRef(Py_None) : fail(status);
}

static PyObject *model_summary(PyObject *object, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    cornu_status status = cornu_model_summary(((model_object *)object)->model, &text);
    return take_text(status, text);
}

static PyObject *model_config(PyObject *object, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    cornu_status status = cornu_model_config(((model_object *)object)->model, &text);
    return take_text(status, text);
}

static PyObject *model_compile_config(PyObject *object, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    cornu_status status = cornu_model_compile_config(((model_object *)object)->model, &text);
    return take_text(status, text);
}

static PyObject *shape_tuple(const int64_t *shape, int rank)
{
    PyObject *out = PyTuple_New(rank);
    for (int i = 0; out && i < rank; i++)
        if (PyTuple_SetItem(out, i, PyLong_FromLongLong(shape[i])) != 0)
            Py_CLEAR(out);
    return out;
}

/* (input shape, output shape), without the batch. */
static PyObject *model_shapes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_model *m = ((model_object *)object)->model;
    int64_t in[8], out[8];
    int in_rank, out_rank;
    cornu_status status = cornu_model_input_shape(m, in, &in_rank);
    if (status == CORNU_OK)
        status = cornu_model_output_shape(m, out, &out_rank);
    if (status != CORNU_OK)
        return fail(status);
    return Py_BuildValue("(NN)", shape_tuple(in, in_rank), shape_tuple(out, out_rank));
}

/* [(name, shape, trainable)] */
static PyObject *model_weights(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_model *m = ((model_object *)object)->model;
    int count = cornu_model_weight_count(m);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        cornu_weight_info w;
        PyObject *row = NULL;
        cornu_status status = cornu_model_weight_info(m, i, &w);
        if (status == CORNU_OK)
            row = Py_BuildValue("(sNO)", w.name, shape_tuple(w.shape, w.rank),
                                w.trainable ? Py_True : Py_False);
        else
            fail(status);
        if (!row || PyList_SetItem(list, i, row) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *model_weight(model_object *self, PyObject *arguments, bool set)
{
    int index;
    PyObject *array;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "iO", &index, &array) ||
        !get_buffer(array, &view, 'f', -1, !set))
        return NULL;
    cornu_status status = CORNU_OK;
    bool free_to_work = begin_work(self);
    int64_t count = view.len / view.itemsize;
    if (free_to_work) {
        status = set ? cornu_model_set_weight(self->model, index, view.buf, count)
                     : cornu_model_get_weight(self->model, index, view.buf, count);
        end_work(self);
    }
    PyBuffer_Release(&view);
    if (!free_to_work)
        return NULL;
    return status == CORNU_OK ? Py_NewRef(Py_None) : fail(status);
}

static PyObject *model_get_weight(PyObject *self, PyObject *arguments)
{
    return model_weight((model_object *)self, arguments, false);
}

static PyObject *model_set_weight(PyObject *self, PyObject *arguments)
{
    return model_weight((model_object *)self, arguments, true);
}

static PyObject *model_path(model_object *self, PyObject *arguments,
                            cornu_status (*work)(cornu_model *model, const char *path))
{
    PyObject *path;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    cornu_status status = CORNU_OK;
    bool free_to_work = begin_work(self);
    if (free_to_work) {
        const char *name = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS;
        status = work(self->model, name);
        Py_END_ALLOW_THREADS;
        end_work(self);
    }
    Py_DECREF(path);
    if (!free_to_work)
        return NULL;
    return status == CORNU_OK ? Py_NewRef(Py_None) : fail(status);
}

static cornu_status save(cornu_model *model, const char *path)
{
    return cornu_model_save(model, path);
}

static PyObject *model_save(PyObject *self, PyObject *arguments)
{
    return model_path((model_object *)self, arguments, save);
}

static PyObject *model_load_weights(PyObject *self, PyObject *arguments)
{
    return model_path((model_object *)self, arguments, cornu_model_load_weights);
}

static PyObject *model_position(PyObject *object, PyObject *unused)
{
    (void)unused;
    cornu_position p;
    cornu_status status = cornu_model_position(((model_object *)object)->model, &p);
    if (status != CORNU_OK)
        return fail(status);
    return Py_BuildValue("{sLsLsLsL}", "iterations", (long long)p.iterations, "epoch",
                         (long long)p.epoch, "step", (long long)p.step, "epochs",
                         (long long)p.epochs);
}

static PyObject *model_classes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_model *m = ((model_object *)object)->model;
    int count = cornu_model_class_count(m);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++)
        if (PyList_SetItem(list, i, PyUnicode_FromString(cornu_model_class_name(m, i))) != 0)
            Py_CLEAR(list);
    return list;
}

/* explain(device, batch, run) */
static PyObject *model_explain(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    cornu_explain_options options = {0};
    long long batch = 0;
    int run = 0;
    char *text = NULL;
    call c = {0};
    if (!PyArg_ParseTuple(arguments, "zLp", &options.device, &batch, &run) || !begin_work(self))
        return NULL;
    options.batch = batch;
    options.run = run;
    options.should_stop = should_stop;
    options.user = &c;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_explain(self->model, &options, &text);
    Py_END_ALLOW_THREADS;
    end_work(self);
    if (!call_succeeded(&c, status)) {
        cornu_free(text);
        return NULL;
    }
    return take_text(CORNU_OK, text);
}

/* ---- data --------------------------------------------------------------------------------- */

static PyObject *wrap_data(PyObject *module, cornu_data *data)
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

static bool is_format(const Py_buffer *view, char format)
{
    const char *found = view->format ? view->format : "B";
    found += strchr("@=<", *found) != NULL && *found;
    return found[0] == format && found[1] == 0;
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
static PyObject *module_data_from_arrays(PyObject *module, PyObject *arguments)
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
static PyObject *module_data_open(PyObject *module, PyObject *arguments)
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

/* ---- training ----------------------------------------------------------------------------- */

static PyObject *history_lists(const cornu_history *h)
{
    PyObject *out = PyDict_New();
    for (int c = 0; out && c < cornu_history_columns(h); c++) {
        PyObject *list = PyList_New(cornu_history_epochs(h));
        for (int e = 0; list && e < cornu_history_epochs(h); e++)
            if (PyList_SetItem(list, e, PyFloat_FromDouble(cornu_history_value(h, e, c))) != 0)
                Py_CLEAR(list);
        if (!list || PyDict_SetItemString(out, cornu_history_name(h, c), list) != 0)
            Py_CLEAR(out);
        Py_XDECREF(list);
    }
    return out;
}

/* fit(data, fit_section, device, precision, exact_convolution, threads, each_step, on_step,
   on_epoch, on_notice) */
static PyObject *model_fit(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    data_object *data;
    cornu_fit_options o = {0};
    PyObject *step, *begin, *epoch, *notice;
    int exact, each;
    call c = {0};
    cornu_history *history = NULL;
    if (!PyArg_ParseTuple(arguments, "OszzpipOOOO", &data, &o.section, &o.device, &o.precision,
                          &exact, &o.threads, &each, &step, &begin, &epoch, &notice))
        return NULL;
    PyTypeObject *expected = state_of(PyType_GetModule(Py_TYPE(object)))->data_type;
    if (!PyObject_TypeCheck((PyObject *)data, expected)) {
        PyErr_SetString(PyExc_TypeError, "fit: expected data");
        return NULL;
    }
    if (!begin_work(self))
        return NULL;
    c.on_step = given(step);
    c.on_epoch_begin = given(begin);
    c.on_epoch = given(epoch);
    c.on_notice = given(notice);
    o.exact_convolution = exact;
    o.each_step = each;
    o.on_step = c.on_step ? on_step : NULL;
    o.on_epoch_begin = c.on_epoch_begin ? on_epoch_begin : NULL;
    o.on_epoch = c.on_epoch ? on_epoch : NULL;
    o.on_notice = c.on_notice ? on_notice : NULL;
    o.should_stop = should_stop;
    o.user = &c;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_fit(self->model, data->data, &o, &history);
    Py_END_ALLOW_THREADS;
    end_work(self);
    PyObject *out = NULL;
    if (call_succeeded(&c, status))
        out = history ? history_lists(history) : PyDict_New();
    cornu_history_close(history);
    return out;
}

static PyObject *scores_dict(const cornu_scores *s)
{
    PyObject *out = PyDict_New();
    for (int i = 0; out && i < s->count; i++) {
        PyObject *value = PyFloat_FromDouble(s->value[i]);
        if (!value || PyDict_SetItemString(out, s->name[i], value) != 0)
            Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

/* evaluate(data, test, device, precision, exact_convolution, threads, batch, on_step) */
static PyObject *model_evaluate(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    data_object *data;
    cornu_run_options o = {0};
    cornu_scores scores;
    PyObject *step;
    int exact, test;
    long long batch;
    call c = {0};
    if (!PyArg_ParseTuple(arguments, "OpzzpiLO", &data, &test, &o.device, &o.precision, &exact,
                          &o.threads, &batch, &step))
        return NULL;
    PyTypeObject *expected = state_of(PyType_GetModule(Py_TYPE(object)))->data_type;
    if (!PyObject_TypeCheck((PyObject *)data, expected)) {
        PyErr_SetString(PyExc_TypeError, "evaluate: expected data");
        return NULL;
    }
    if (!begin_work(self))
        return NULL;
    c.on_step = given(step);
    o.exact_convolution = exact;
    o.batch = batch;
    o.split = test ? CORNU_TEST : CORNU_TRAIN;
    o.on_step = c.on_step ? on_step : NULL;
    o.should_stop = should_stop;
    o.user = &c;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_evaluate(self->model, data->data, &o, &scores);
    Py_END_ALLOW_THREADS;
    end_work(self);
    return call_succeeded(&c, status) ? scores_dict(&scores) : NULL;
}

/* predict(inputs, outputs, count, device, precision, exact_convolution, threads, batch) */
static PyObject *model_predict(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    PyObject *inputs, *outputs;
    cornu_run_options o = {0};
    Py_buffer in, out;
    long long count, batch;
    int exact;
    call c = {0};
    if (!PyArg_ParseTuple(arguments, "OOLzzpiL", &inputs, &outputs, &count, &o.device, &o.precision,
                          &exact, &o.threads, &batch) ||
        !get_buffer(inputs, &in, 'f', -1, false))
        return NULL;
    if (!get_buffer(outputs, &out, 'f', -1, true)) {
        PyBuffer_Release(&in);
        return NULL;
    }
    o.exact_convolution = exact;
    o.batch = batch;
    o.should_stop = should_stop;
    o.user = &c;
    cornu_status status = CORNU_OK;
    bool free_to_work = begin_work(self);
    if (free_to_work) {
        Py_BEGIN_ALLOW_THREADS;
        status = cornu_predict(self->model, in.buf, count, &o, out.buf);
        Py_END_ALLOW_THREADS;
        end_work(self);
    }
    PyBuffer_Release(&in);
    PyBuffer_Release(&out);
    if (!free_to_work || !call_succeeded(&c, status))
        return NULL;
    return Py_NewRef(Py_None);
}

/* ---- the module --------------------------------------------------------------------------- */

static PyObject *module_tables(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    char *text = NULL;
    cornu_status status = cornu_tables(&text);
    return take_text(status, text);
}

static PyObject *module_versions(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    char *text = NULL;
    cornu_status status = cornu_versions(&text);
    return take_text(status, text);
}

/* [{"name", "description", "available", "reason", "memory", ...}] */
static PyObject *module_devices(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    cornu_device_info d;
    for (int i = 0; list && cornu_device_info_get(i, &d); i++) {
        PyObject *row =
            Py_BuildValue("{ss ss ss ss ss ss ss sO sL sL si}", "name", d.name, "description",
                          d.description, "libraries", d.libraries, "reason", d.reason, "bus_id",
                          d.bus_id, "capability", d.capability, "driver", d.driver, "available",
                          d.available ? Py_True : Py_False, "memory", (long long)d.memory_bytes,
                          "memory_free", (long long)d.memory_free_bytes, "threads", d.threads);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *module_workloads(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && cornu_workload_name(i); i++) {
        PyObject *name = PyUnicode_FromString(cornu_workload_name(i));
        if (!name || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyMethodDef model_methods[] = {
    {"compile", model_compile, METH_VARARGS, NULL},
    {"initialize", model_initialize, METH_VARARGS, NULL},
    {"summary", model_summary, METH_NOARGS, NULL},
    {"config", model_config, METH_NOARGS, NULL},
    {"compile_config", model_compile_config, METH_NOARGS, NULL},
    {"shapes", model_shapes, METH_NOARGS, NULL},
    {"weights", model_weights, METH_NOARGS, NULL},
    {"get_weight", model_get_weight, METH_VARARGS, NULL},
    {"set_weight", model_set_weight, METH_VARARGS, NULL},
    {"save", model_save, METH_VARARGS, NULL},
    {"load_weights", model_load_weights, METH_VARARGS, NULL},
    {"position", model_position, METH_NOARGS, NULL},
    {"classes", model_classes, METH_NOARGS, NULL},
    {"explain", model_explain, METH_VARARGS, NULL},
    {"fit", model_fit, METH_VARARGS, NULL},
    {"evaluate", model_evaluate, METH_VARARGS, NULL},
    {"predict", model_predict, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_methods, model_methods},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_doc, (void *)"A cornu_model."},
    {0, NULL},
};

static PyType_Spec model_spec = {
    .name = "cornu._cornu.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = model_slots,
};

static PyMethodDef data_methods[] = {
    {"info", data_info, METH_NOARGS, NULL},
    {"view", data_view, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot data_slots[] = {
    {Py_tp_methods, data_methods},
    {Py_tp_dealloc, data_dealloc},
    {Py_tp_doc, (void *)"A cornu_data."},
    {0, NULL},
};

static PyType_Spec data_spec = {
    .name = "cornu._cornu.Data",
    .basicsize = sizeof(data_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = data_slots,
};

static PyMethodDef module_methods[] = {
    {"open", module_open, METH_VARARGS, NULL},
    {"parse", module_parse, METH_VARARGS, NULL},
    {"data_from_arrays", module_data_from_arrays, METH_VARARGS, NULL},
    {"data_open", module_data_open, METH_VARARGS, NULL},
    {"tables", module_tables, METH_NOARGS, NULL},
    {"versions", module_versions, METH_NOARGS, NULL},
    {"devices", module_devices, METH_NOARGS, NULL},
    {"workloads", module_workloads, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    module_state *s = state_of(module);
    s->model_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &model_spec, NULL);
    s->data_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &data_spec, NULL);
    if (!s->model_type || !s->data_type)
        return -1;
    return PyModule_AddStringConstant(module, "version", cornu_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *s = state_of(module);
    Py_VISIT(s->model_type);
    Py_VISIT(s->data_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    module_state *s = state_of(module);
    Py_CLEAR(s->model_type);
    Py_CLEAR(s->data_type);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "cornu._cornu",
    .m_size = sizeof(module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__cornu(void)
{
    return PyModuleDef_Init(&module_definition);
}

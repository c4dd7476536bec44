/* Errors, buffers and callbacks between Python and the library. */
#include "extension.h"
#include <cornu/trainer.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

PyObject *fail(cornu_status status)
{
    PyErr_SetString(exception_type(status), cornu_last_error());
    return NULL;
}

PyObject *none_or_fail(cornu_status status)
{
    return status == CORNU_OK ? Py_NewRef(Py_None) : fail(status);
}

PyObject *take_text(cornu_status status, char *text)
{
    if (status != CORNU_OK)
        return fail(status);
    PyObject *out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    cornu_free(text);
    return out;
}
PyObject *shape_tuple(const int64_t *shape, int rank)
{
    PyObject *out = PyTuple_New(rank);
    for (int i = 0; out && i < rank; i++)
        if (PyTuple_SetItem(out, i, PyLong_FromLongLong(shape[i])) != 0)
            Py_CLEAR(out);
    return out;
}

bool is_format(const Py_buffer *view, char format)
{
    const char *found = view->format ? view->format : "B";
    found += strchr("@=<", *found) != NULL && *found;
    return found[0] == format && found[1] == 0;
}

bool get_floats(PyObject *object, Py_buffer *view, bool writable)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) != 0)
        return false;
    if (is_format(view, 'f'))
        return true;
    PyErr_Format(PyExc_TypeError, "found a buffer of format \"%s\"; expected \"f\"",
                 view->format ? view->format : "B");
    PyBuffer_Release(view);
    return false;
}

/* ---- arrays ---- */

static bool get_samples(const Py_buffer *view, cornu_arrays *out)
{
    *out = (cornu_arrays){
        .size = sizeof(cornu_arrays), .rank = view->ndim - 1, .scale = 1, .fewer_classes = true};
    if (view->ndim < 2 || view->ndim > 5) {
        PyErr_Format(PyExc_ValueError,
                     "found an array of %d dimensions; expected 2 to 5, samples "
                     "first",
                     view->ndim);
        return false;
    }
    out->count = view->shape[0];
    for (int i = 1; i < view->ndim; i++)
        out->shape[i - 1] = view->shape[i];
    if (is_format(view, 'f'))
        out->values = view->buf;
    else if (is_format(view, 'B'))
        out->pixels = view->buf;
    else
        PyErr_Format(PyExc_TypeError, "found samples of format \"%s\"; expected float32 or uint8",
                     view->format);
    return out->values || out->pixels;
}

static bool get_targets(const Py_buffer *view, cornu_arrays *out)
{
    if (view->ndim < 1 || view->shape[0] != out->count) {
        PyErr_SetString(PyExc_ValueError, "found targets of another length; expected one a sample");
        return false;
    }
    if (is_format(view, 'i'))
        out->labels = view->buf;
    else if (is_format(view, 'f'))
        out->targets = view->buf;
    else
        PyErr_Format(PyExc_TypeError, "found targets of format \"%s\"; expected int32 or float32",
                     view->format);
    out->target_size = out->targets && out->count ? view->len / 4 / out->count : 0;
    return out->labels || out->targets;
}

bool get_arrays(PyObject *x, PyObject *y, PyObject *weights, array_buffers *b, cornu_arrays *out)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
    b->has_x = PyObject_GetBuffer(x, &b->x, flags) == 0;
    if (!b->has_x || !get_samples(&b->x, out))
        return false;
    if (y != Py_None) {
        b->has_y = PyObject_GetBuffer(y, &b->y, flags) == 0;
        if (!b->has_y || !get_targets(&b->y, out))
            return false;
    }
    if (weights == Py_None)
        return true;
    if (PyLong_Check(weights)) {
        out->output_weights = PyLong_AsLongLong(weights);
        return !PyErr_Occurred();
    }
    b->has_weights = get_floats(weights, &b->weights, false);
    if (!b->has_weights)
        return false;
    out->weights = b->weights.buf;
    if (b->weights.len == out->count * (int64_t)sizeof(float))
        return true;
    PyErr_SetString(PyExc_ValueError, "found weights of another length; expected one a sample");
    return false;
}

void release_arrays(array_buffers *b)
{
    if (b->has_x)
        PyBuffer_Release(&b->x);
    if (b->has_y)
        PyBuffer_Release(&b->y);
    if (b->has_weights)
        PyBuffer_Release(&b->weights);
    *b = (array_buffers){0};
}

/* ---- callbacks ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void keep_exception(call *c)
{
    if (!c->failed)
        PyErr_Fetch(&c->type, &c->value, &c->traceback);
    else
        PyErr_Clear();
    c->failed = true;
}

/* Steals the reference to `arguments`. A callback that returns True ends the run. */
static void call_python(call *c, PyObject *function, PyObject *arguments)
{
    unsigned long before = c->model ? c->model->within : 0;
    if (c->model)
        c->model->within = PyThread_get_thread_ident();
    PyObject *result = arguments ? PyObject_CallObject(function, arguments) : NULL;
    if (c->model)
        c->model->within = before;
    if (!result)
        keep_exception(c);
    else if (result == Py_True)
        c->stop = true;
    Py_XDECREF(result);
    Py_XDECREF(arguments);
}

/* So many scores, from number `i` on, are the values NAME[0], NAME[1], ... of one metric; 0: it has
   one. *length: of NAME. */
static int count_values(const cornu_scores *s, int i, int *length)
{
    const char *name = s->all_name[i], *bracket = strrchr(name, '[');
    int count = 0;
    *length = bracket ? (int)(bracket - name) : 0;
    for (char end[16]; bracket && i + count < s->all_count; count++) {
        snprintf(end, sizeof end, "[%d]", count);
        const char *next = s->all_name[i + count];
        if (strncmp(next, name, (size_t)*length) != 0 || strcmp(next + *length, end) != 0)
            break;
    }
    return count;
}

/* numpy.array(values[count]); NULL with an exception. */
static PyObject *array_of(const double *values, int count)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *list = PyList_New(count), *out = NULL;
    for (int i = 0; list && i < count; i++) {
        PyObject *value = PyFloat_FromDouble(values[i]);
        if (!value || PyList_SetItem(list, i, value) != 0)
            Py_CLEAR(list);
    }
    if (numpy && list)
        out = PyObject_CallMethod(numpy, "array", "Os", list, "float32");
    Py_XDECREF(list);
    Py_XDECREF(numpy);
    return out;
}

bool add_scores(PyObject *logs, const char *prefix, const cornu_scores *s)
{
    bool added = true;
    for (int i = 0, count, length; added && i<s->all_count; i += count> 0 ? count : 1) {
        count = count_values(s, i, &length);
        PyObject *name = count > 0 ? PyUnicode_FromStringAndSize(s->all_name[i], length)
                                   : PyUnicode_FromString(s->all_name[i]);
        PyObject *key = name ? PyUnicode_FromFormat("%s%U", prefix, name) : NULL;
        PyObject *value =
            count > 0 ? array_of(s->all_value + i, count) : PyFloat_FromDouble(s->all_value[i]);
        added = key && value && PyDict_SetItem(logs, key, value) == 0;
        Py_XDECREF(name);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return added;
}

/* {"loss": 0.5, "accuracy": 0.8, "val_loss": ...}; NULL with an exception. */
static PyObject *logs_of(const cornu_progress *p)
{
    PyObject *logs = PyDict_New();
    if (logs && p->scores && !add_scores(logs, "", p->scores))
        Py_CLEAR(logs);
    if (logs && p->validation && !add_scores(logs, "val_", p->validation))
        Py_CLEAR(logs);
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

void on_step(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_step, p);
}

void on_epoch_begin(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_epoch_begin, p);
}

void on_epoch(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_epoch, p);
}

void on_validation(void *user, const cornu_progress *p)
{
    call *c = user;
    report(c, c->on_validation, p);
}

void on_notice(void *user, const char *line)
{
    call *c = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!c->failed)
        call_python(c, c->on_notice, Py_BuildValue("(s)", line));
    PyGILState_Release(gil);
}

static PyObject *memory(const void *values, int64_t count, size_t size, int how)
{
    return PyMemoryView_FromMemory((char *)(uintptr_t)values, (Py_ssize_t)count * (Py_ssize_t)size,
                                   how);
}

void on_outputs(void *user, const cornu_batch_outputs *b)
{
    call *c = user;
    const int64_t n = b->count;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!c->failed)
        call_python(c, c->on_outputs,
                    Py_BuildValue("(OLNNN)", b->begins ? Py_True : Py_False, (long long)n,
                                  memory(b->outputs, n * b->output_size, sizeof(float), PyBUF_READ),
                                  memory(b->targets, n * b->target_size, sizeof(float), PyBUF_READ),
                                  memory(b->values, b->value_count, sizeof(double), PyBUF_WRITE)));
    PyGILState_Release(gil);
}

bool should_stop(void *user)
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

PyObject *given(PyObject *object)
{
    return object == Py_None ? NULL : object;
}

bool call_succeeded(call *c, cornu_status status)
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

bool begin_reading(model_object *self)
{
    if (self->busy && self->within != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "the model is at work in another call");
        return false;
    }
    self->busy = true;
    return true;
}

bool begin_work(model_object *self)
{
    cornu_status status = CORNU_OK;
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, self->within ? "the model is in training"
                                                         : "the model is at work in another call");
        return false;
    }
    self->busy = true;
    if (!self->trainer)
        return true;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_trainer_pull(self->trainer);
    Py_END_ALLOW_THREADS;
    if (status == CORNU_OK) {
        close_trainer(self);
        return true;
    }
    self->busy = false;
    return fail(status) != NULL;
}

void end_work(model_object *self)
{
    self->busy = self->within != 0;
}

bool begin_data(data_object *self, call *c)
{
    unsigned long thread = PyThread_get_thread_ident();
    if (self->users > 0 && (self->next || self->thread != thread)) {
        PyErr_SetString(PyExc_RuntimeError, "the data is at work in another call");
        return false;
    }
    if (self->users++ == 0)
        self->at_work = c;
    self->thread = thread;
    return true;
}

void end_data(data_object *self)
{
    if (--self->users == 0)
        self->at_work = NULL;
}

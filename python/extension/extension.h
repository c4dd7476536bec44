/* Declarations shared by the files of cornu._cornu, which wraps the public C API call by call.
   It uses Python's stable ABI (3.11 and later) and only the library's public headers. The Keras
   interface is written in Python, in the package.

   - Arrays are passed by the buffer protocol, C-contiguous, and are read in place.
   - The GIL is released while the library trains, evaluates, predicts, reads and writes.
   - An exception of a callback or a signal handler stops the work after the step, and is raised
     then. */
#ifndef CORNU_PYTHON_EXTENSION_H
#define CORNU_PYTHON_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <cornu/cornu.h>
#include <cornu/options.h>
#include <cornu/trainer.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct model_object {
    PyObject_HEAD cornu_model *model;
    bool busy;              /* a call without the GIL is under way */
    unsigned long within;   /* the thread that is in one of its callbacks; else 0 */
    cornu_trainer *trainer; /* for train_on_batch and similar calls: has the weights; or NULL */
    pid_t process;          /* whose threads the trainer has */
} model_object;

/* Arrays that are read in place. */
typedef struct array_buffers {
    Py_buffer x, y, weights;
    bool has_x, has_y, has_weights;
} array_buffers;

typedef struct data_object {
    PyObject_HEAD cornu_data *data;
    int users;             /* calls under way that use it, one within a callback of the other */
    unsigned long thread;  /* theirs */
    array_buffers buffers; /* arrays of the samples, or of a stream's current batch */
    PyObject *next;        /* a stream: gives (x, y, weights), or None at the end of a pass */
    struct call *at_work;  /* the call that currently reads it, or NULL */
} data_object;

typedef struct module_state {
    PyTypeObject *model_type, *data_type;
    cornu_ranks *ranks; /* NULL: one process */
} module_state;

module_state *state_of(PyObject *module);

/* ---- call.c: errors, buffers, callbacks ---- */

/* Raise the thread's last error; NULL. Call it before anything else calls the library. */
PyObject *fail(cornu_status status);
/* None, or the error. */
PyObject *none_or_fail(cornu_status status);
/* A string that the library gave away. */
PyObject *take_text(cornu_status status, char *text);
PyObject *shape_tuple(const int64_t *shape, int rank);

/* Put scores into a dictionary, by prefix and name; the values of a metric of several are an array.
   False with an exception. */
bool add_scores(PyObject *logs, const char *prefix, const cornu_scores *s);

/* Encoded strings; they stay alive in `kept`, bytes objects. */
typedef struct strings {
    PyObject *kept;
    const char **items;
    Py_ssize_t count;
} strings;
/* Read a list of paths or names; None is an empty list. Always close it, whatever this returns. */
bool strings_open(PyObject *list, strings *s);
void strings_close(strings *s);

/* True if the buffer's items have this format: 'f', 'B', 'i'. */
bool is_format(const Py_buffer *view, char format);
/* A C-contiguous buffer of floats. */
bool get_floats(PyObject *object, Py_buffer *view, bool writable);

/* x [samples, ...] of float32 or uint8; y of int32 (classes) or float32, weights of float32, or
   None. An int in place of weights: so many numbers at the end of y's rows are weights. False with
   an exception; release in both cases. */
bool get_arrays(PyObject *x, PyObject *y, PyObject *weights, array_buffers *b, cornu_arrays *out);
void release_arrays(array_buffers *b);

/* The state of the library's callbacks while it works without the GIL. */
typedef struct call {
    model_object *model; /* model that may be used within callbacks; or NULL */
    /* NULL: none */
    PyObject *on_step, *on_epoch_begin, *on_epoch, *on_validation, *on_notice, *on_outputs;
    PyObject *type, *value, *traceback; /* the first exception in a callback */
    bool failed, stop;
    double asked; /* when signals were looked at last */
} call;

void on_step(void *user, const cornu_progress *p);
void on_epoch_begin(void *user, const cornu_progress *p);
void on_epoch(void *user, const cornu_progress *p);
void on_validation(void *user, const cornu_progress *p);
void on_notice(void *user, const char *line);
/* on_outputs(begins, samples, outputs, targets, values): memory of floats, and of doubles, which
   the function sets. */
void on_outputs(void *user, const cornu_batch_outputs *batch);
/* Signals are looked at twenty times a second: taking the GIL after each step would be felt. */
bool should_stop(void *user);
/* The present exception ends the work. */
void keep_exception(call *c);
/* NULL for None. */
PyObject *given(PyObject *object);
/* False with the exception of a callback or signal, else of the status. A run that a callback ended
   is no failure. */
bool call_succeeded(call *c, cornu_status status);
/* One call at a time: the others would find a model in the middle of a step. The trainer's weights
   come back to the model, and it is closed. */
bool begin_work(model_object *self);
/* The same for what only reads weights or runs the model as it is: the trainer stays, and a
   callback of the call under way may do it, too. */
bool begin_reading(model_object *self);
void end_work(model_object *self);
/* Check that this call may use the Data: only one thread at a time, and for a stream, whose
   batches come only once, only one call. */
bool begin_data(data_object *self, call *c);
void end_data(data_object *self);

/* ---- options.c: keywords ---- */

typedef enum keyword_type {
    KEYWORD_INT,   /* int64_t or uint64_t */
    KEYWORD_SMALL, /* int */
    KEYWORD_FLAG,  /* bool */
    KEYWORD_TEXT,  /* const char *, as long as the caller's str lives */
    KEYWORD_OBJECT /* PyObject *, borrowed */
} keyword_type;

typedef struct keyword {
    const char *name; /* NULL ends a table */
    keyword_type type;
    size_t at; /* offset in the call's struct */
} keyword;
/* A row of cornu/options.h: the field of its name of the member `options` of the struct `of`. */
#define KEYWORD_OPTION(of, type, field, ...) {#field, KEYWORD_##type, offsetof(of, options.field)},
#define KEYWORD_WHERE(of, type, field, ...) \
    {#field, KEYWORD_##type, offsetof(of, options.where.field)},
#define KEYWORD_NONE(...)

/* Read the given keywords, by the table, into the call's struct; None counts as not given. False
   with an exception that names `what`. */
bool read_keywords(const char *what, PyObject *given, const keyword *rows, void *options);
PyObject *module_fit_options(PyObject *module, PyObject *unused);

/* A new Data, which owns `data`. */
PyObject *wrap_data(PyObject *module, cornu_data *data);

/* ---- model.c, data.c, pictures.c, ranks.c, training.c: types and functions ---- */

extern PyType_Spec model_spec, data_spec;
PyObject *module_open(PyObject *module, PyObject *arguments);
PyObject *module_ranks_open(PyObject *module, PyObject *unused);
PyObject *module_ranks_close(PyObject *module, PyObject *unused);
PyObject *module_parse(PyObject *module, PyObject *arguments);
PyObject *module_data_from_arrays(PyObject *module, PyObject *arguments);
PyObject *module_data_stream(PyObject *module, PyObject *arguments);
PyObject *module_data_open(PyObject *module, PyObject *arguments);
PyObject *module_data_from_files(PyObject *module, PyObject *arguments);
PyObject *module_read_image(PyObject *module, PyObject *arguments);
PyObject *module_write_png(PyObject *module, PyObject *arguments);
PyObject *data_batch(PyObject *object, PyObject *arguments);
PyObject *model_explain(PyObject *object, PyObject *arguments, PyObject *keywords);
PyObject *model_fit(PyObject *object, PyObject *arguments, PyObject *keywords);
PyObject *model_evaluate(PyObject *object, PyObject *arguments, PyObject *keywords);
PyObject *model_predict(PyObject *object, PyObject *arguments, PyObject *keywords);
PyObject *model_on_batch(PyObject *object, PyObject *arguments, PyObject *keywords);
PyObject *model_reset_metrics(PyObject *object, PyObject *unused);
void close_trainer(model_object *self);

#endif

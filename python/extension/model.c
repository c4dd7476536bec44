/* A cornu_model. */
#include "extension.h"
#include <cornu/exchange.h>
#include <cornu/model.h>
#include <cornu/tables.h>
#include <stdlib.h>
#include <string.h>

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
    close_trainer((model_object *)object);
    cornu_model_close(((model_object *)object)->model);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

PyObject *module_open(PyObject *module, PyObject *arguments)
{
    PyObject *what;
    cornu_model *model;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &what))
        return NULL;
    const char *name = PyBytes_AsString(what);
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_model_open(name, &model);
    Py_END_ALLOW_THREADS;
    Py_DECREF(what);
    return status == CORNU_OK ? wrap_model(module, model) : fail(status);
}

PyObject *module_parse(PyObject *module, PyObject *arguments)
{
    const char *text, *name;
    cornu_model *model;
    if (!PyArg_ParseTuple(arguments, "ss", &text, &name))
        return NULL;
    cornu_status status = cornu_model_parse(text, name, &model);
    return status == CORNU_OK ? wrap_model(module, model) : fail(status);
}

static PyObject *call_with_options(PyObject *object, PyObject *arguments,
                                   cornu_status (*apply)(cornu_model *model, const char *options))
{
    model_object *self = (model_object *)object;
    const char *options;
    if (!PyArg_ParseTuple(arguments, "s", &options) || !begin_work(self))
        return NULL;
    cornu_status status = apply(self->model, options);
    end_work(self);
    return none_or_fail(status);
}

static PyObject *model_compile(PyObject *object, PyObject *arguments)
{
    return call_with_options(object, arguments, cornu_model_compile);
}

/* change_loss(options): replace loss and metrics; the optimizer keeps its state. */
static PyObject *model_change_loss(PyObject *object, PyObject *arguments)
{
    return call_with_options(object, arguments, cornu_model_change_loss);
}

static PyObject *model_initialize(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "K", &seed) || !begin_work(self))
        return NULL;
    cornu_status status = cornu_model_initialize(self->model, seed);
    end_work(self);
    return none_or_fail(status);
}

/* set_data(section): the data section of a recipe. */
static PyObject *model_set_data(PyObject *object, PyObject *arguments)
{
    return call_with_options(object, arguments, cornu_model_set_data);
}

static PyObject *model_set_learning_rate(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    double rate;
    if (!PyArg_ParseTuple(arguments, "d", &rate) || !begin_reading(self))
        return NULL;
    cornu_status status = cornu_model_set_learning_rate(self->model, rate);
    end_work(self);
    return none_or_fail(status);
}

static PyObject *text_of(PyObject *object, cornu_status (*tell)(const cornu_model *, char **))
{
    char *text = NULL;
    cornu_status status = tell(((model_object *)object)->model, &text);
    return take_text(status, text);
}

static PyObject *model_summary(PyObject *object, PyObject *arguments)
{
    cornu_summary_options options = {.size = sizeof options, .expand_nested = 0};
    char *text = NULL;
    if (!PyArg_ParseTuple(arguments, "p", &options.expand_nested))
        return NULL;
    cornu_status status = cornu_model_summary_as(((model_object *)object)->model, &options, &text);
    return take_text(status, text);
}

static PyObject *model_config(PyObject *object, PyObject *unused)
{
    (void)unused;
    return text_of(object, cornu_model_config);
}

static PyObject *model_compile_config(PyObject *object, PyObject *unused)
{
    (void)unused;
    return text_of(object, cornu_model_compile_config);
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

static PyObject *end_tuple(const cornu_end_info *i)
{
    return Py_BuildValue("(sNLO)", i->name, shape_tuple(i->shape, i->rank),
                         (long long)i->target_count, i->classes ? Py_True : Py_False);
}

/* (inputs, outputs): of each (name, shape without the batch, numbers of its target, whether those
   are class numbers) */
static PyObject *model_ends(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_model *m = ((model_object *)object)->model;
    const int counts[] = {cornu_model_input_count(m), cornu_model_output_count(m)};
    PyObject *ends[2] = {PyList_New(0), PyList_New(0)};
    bool complete = ends[0] && ends[1];
    for (int side = 0; side < 2; side++)
        for (int i = 0; complete && i < counts[side]; i++) {
            cornu_end_info info = {.size = sizeof info};
            cornu_status status = (side ? cornu_model_output : cornu_model_input)(m, i, &info);
            PyObject *end = status == CORNU_OK ? end_tuple(&info) : fail(status);
            complete = end && PyList_Append(ends[side], end) == 0;
            Py_XDECREF(end);
        }
    if (complete)
        return Py_BuildValue("(NN)", ends[0], ends[1]);
    Py_XDECREF(ends[0]);
    Py_XDECREF(ends[1]);
    return NULL;
}

/* set_trainable(name, flag): of a layer, or (None) of the model and all its layers. */
static PyObject *model_set_trainable(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    const char *name;
    int trainable;
    if (!PyArg_ParseTuple(arguments, "zp", &name, &trainable) ||
        !(self->within ? begin_reading : begin_work)(self))
        return NULL;
    cornu_status status = cornu_model_set_trainable(self->model, name, trainable != 0);
    end_work(self);
    return none_or_fail(status);
}

/* [(name, shape, trainable, statistic)] of `count` variables from number `first` on. */
static PyObject *describe_weights(const cornu_model *m, int first, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        cornu_weight_info w = {.size = sizeof w};
        PyObject *row = NULL;
        cornu_status status = cornu_model_weight_info(m, first + i, &w);
        if (status == CORNU_OK)
            row = Py_BuildValue("(sNOO)", w.name, shape_tuple(w.shape, w.rank),
                                w.trainable ? Py_True : Py_False, w.statistic ? Py_True : Py_False);
        else
            fail(status);
        if (!row || PyList_SetItem(list, i, row) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *model_weights(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_model *m = ((model_object *)object)->model;
    return describe_weights(m, 0, cornu_model_weight_count(m));
}

/* The optimizer's variables, whose numbers follow the weights'. */
static PyObject *model_optimizer_slots(PyObject *object, PyObject *unused)
{
    (void)unused;
    const cornu_model *m = ((model_object *)object)->model;
    return describe_weights(m, cornu_model_weight_count(m), cornu_model_slot_count(m));
}

static PyObject *change_averages(PyObject *object, cornu_status (*change)(cornu_model *model))
{
    model_object *self = (model_object *)object;
    if (!begin_reading(self))
        return NULL;
    cornu_status status = change(self->model);
    end_work(self);
    return none_or_fail(status);
}

static PyObject *model_swap_averages(PyObject *object, PyObject *unused)
{
    (void)unused;
    return change_averages(object, cornu_model_swap_averages);
}

static PyObject *model_take_averages(PyObject *object, PyObject *unused)
{
    (void)unused;
    return change_averages(object, cornu_model_take_averages);
}

static PyObject *model_weight(model_object *self, PyObject *arguments, bool set)
{
    int index;
    PyObject *array;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "iO", &index, &array) || !get_floats(array, &view, !set))
        return NULL;
    cornu_status status = CORNU_OK;
    bool free_to_work = begin_reading(self);
    int64_t count = view.len / view.itemsize;
    if (free_to_work) {
        status = set ? cornu_model_set_weight(self->model, index, view.buf, count)
                     : cornu_model_get_weight(self->model, index, view.buf, count);
        end_work(self);
    }
    PyBuffer_Release(&view);
    if (!free_to_work)
        return NULL;
    return none_or_fail(status);
}

static PyObject *model_get_weight(PyObject *self, PyObject *arguments)
{
    return model_weight((model_object *)self, arguments, false);
}

static PyObject *model_set_weight(PyObject *self, PyObject *arguments)
{
    return model_weight((model_object *)self, arguments, true);
}

typedef cornu_status path_work(cornu_model *model, const char *path, const void *how);

/* Steals the reference to `path`. */
static PyObject *model_path(model_object *self, PyObject *path, bool (*begin)(model_object *self),
                            path_work *work, const void *how)
{
    cornu_status status = CORNU_OK;
    bool free_to_work = begin(self);
    if (free_to_work) {
        const char *name = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS;
        status = work(self->model, name, how);
        Py_END_ALLOW_THREADS;
        end_work(self);
    }
    Py_DECREF(path);
    if (!free_to_work)
        return NULL;
    return none_or_fail(status);
}

static cornu_status save(cornu_model *model, const char *path, const void *how)
{
    (void)how;
    return cornu_model_save(model, path);
}

static PyObject *model_save(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    return model_path((model_object *)self, path, begin_reading, save, NULL);
}

static cornu_status export(cornu_model *model, const char *path, const void *how)
{
    return cornu_model_export_onnx(model, path, how);
}

/* export(path, preprocess): an ONNX file. */
static PyObject *model_export(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    int preprocess;
    if (!PyArg_ParseTuple(arguments, "O&p", PyUnicode_FSConverter, &path, &preprocess))
        return NULL;
    const cornu_export_options options = {.size = sizeof options, .preprocess = preprocess != 0};
    return model_path((model_object *)self, path, begin_reading, export, &options);
}

static cornu_status load_weights(cornu_model *model, const char *path, const void *how)
{
    return cornu_model_load_weights_as(model, path, how);
}

/* Called once, without the interpreter's lock. */
static void keep_line(void *user, const char *line)
{
    *(char **)user = strdup(line);
}

/* load_weights(path, names, by_name, skip_mismatch): names None or "torch". What the library says
   of layers that stay as they are, or None. */
static PyObject *model_load_weights(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    char *line = NULL;
    int by_name, skip_mismatch;
    cornu_weights_options options = {.size = sizeof options, .on_notice = keep_line, .user = &line};
    if (!PyArg_ParseTuple(arguments, "O&zpp", PyUnicode_FSConverter, &path, &options.names,
                          &by_name, &skip_mismatch))
        return NULL;
    options.by_name = by_name != 0;
    options.skip_mismatch = skip_mismatch != 0;
    PyObject *result = model_path((model_object *)self, path, begin_work, load_weights, &options);
    if (result && line) {
        Py_DECREF(result);
        result = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
    }
    free(line);
    return result;
}

static cornu_status save_weights(cornu_model *model, const char *path, const void *how)
{
    return cornu_model_save_weights(model, path, how);
}

/* save_weights(path, names): write only the weights. */
static PyObject *model_save_weights(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    cornu_weights_options options = {.size = sizeof options, .names = NULL};
    if (!PyArg_ParseTuple(arguments, "O&z", PyUnicode_FSConverter, &path, &options.names))
        return NULL;
    return model_path((model_object *)self, path, begin_reading, save_weights, &options);
}

static PyObject *model_position(PyObject *object, PyObject *unused)
{
    (void)unused;
    cornu_position p = {.size = sizeof p};
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
    model_object *self = (model_object *)object;
    if (!begin_reading(self))
        return NULL;
    int count = cornu_model_class_count(self->model);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *name = PyUnicode_DecodeFSDefault(cornu_model_class_name(self->model, i));
        if (!name || PyList_SetItem(list, i, name) != 0)
            Py_CLEAR(list);
    }
    end_work(self);
    return list;
}

/* set_classes(names): a list, or None. */
static PyObject *model_set_classes(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    PyObject *list;
    strings names = {0};
    if (!PyArg_ParseTuple(arguments, "O", &list))
        return NULL;
    if (!strings_open(list, &names) || !begin_work(self)) {
        strings_close(&names);
        return NULL;
    }
    cornu_status status = cornu_model_set_class_names(self->model, names.items, (int)names.count);
    end_work(self);
    strings_close(&names);
    return none_or_fail(status);
}

#define WITH_KEYWORDS(function) \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS, NULL

static PyMethodDef model_methods[] = {
    {"compile", model_compile, METH_VARARGS, NULL},
    {"change_loss", model_change_loss, METH_VARARGS, NULL},
    {"set_learning_rate", model_set_learning_rate, METH_VARARGS, NULL},
    {"set_trainable", model_set_trainable, METH_VARARGS, NULL},
    {"set_data", model_set_data, METH_VARARGS, NULL},
    {"initialize", model_initialize, METH_VARARGS, NULL},
    {"summary", model_summary, METH_VARARGS, NULL},
    {"config", model_config, METH_NOARGS, NULL},
    {"compile_config", model_compile_config, METH_NOARGS, NULL},
    {"shapes", model_shapes, METH_NOARGS, NULL},
    {"ends", model_ends, METH_NOARGS, NULL},
    {"weights", model_weights, METH_NOARGS, NULL},
    {"slots", model_optimizer_slots, METH_NOARGS, NULL},
    {"swap_averages", model_swap_averages, METH_NOARGS, NULL},
    {"take_averages", model_take_averages, METH_NOARGS, NULL},
    {"get_weight", model_get_weight, METH_VARARGS, NULL},
    {"set_weight", model_set_weight, METH_VARARGS, NULL},
    {"save", model_save, METH_VARARGS, NULL},
    {"export", model_export, METH_VARARGS, NULL},
    {"load_weights", model_load_weights, METH_VARARGS, NULL},
    {"save_weights", model_save_weights, METH_VARARGS, NULL},
    {"position", model_position, METH_NOARGS, NULL},
    {"classes", model_classes, METH_NOARGS, NULL},
    {"set_classes", model_set_classes, METH_VARARGS, NULL},
    {"explain", WITH_KEYWORDS(model_explain)},
    {"fit", WITH_KEYWORDS(model_fit)},
    {"evaluate", WITH_KEYWORDS(model_evaluate)},
    {"predict", WITH_KEYWORDS(model_predict)},
    {"on_batch", WITH_KEYWORDS(model_on_batch)},
    {"reset_metrics", model_reset_metrics, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_methods, model_methods},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_doc, (void *)"A cornu_model."},
    {0, NULL},
};

PyType_Spec model_spec = {
    .name = "cornu._cornu.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = model_slots,
};

/* What models do: explain, fit, evaluate, predict. */
#include "extension.h"
#include <unistd.h>

/* explain(device, batch, run) */
PyObject *model_explain(PyObject *object, PyObject *arguments)
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

/* begin_data, where it is one; `object` is a model. */
static bool begin_with(PyObject *object, PyObject *data, call *c)
{
    if (PyObject_TypeCheck(data, state_of(PyType_GetModule(Py_TYPE(object)))->data_type))
        return begin_data((data_object *)data, c);
    PyErr_SetString(PyExc_TypeError, "found something else; expected data");
    return false;
}

/* The model and both data sets, or none of them; `validation` may be None. */
static bool begin_fit(PyObject *object, PyObject *data, PyObject *validation, call *c)
{
    if (!begin_with(object, data, c))
        return false;
    if (validation == Py_None || begin_with(object, validation, c)) {
        if (begin_work((model_object *)object))
            return true;
        if (validation != Py_None)
            end_data((data_object *)validation);
    }
    end_data((data_object *)data);
    return false;
}

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

/* on_states(text): what callbacks remember, also where an exception ended the run. */
static bool tell_states(PyObject *on_states, const cornu_history *h)
{
    const char *text = cornu_history_callbacks(h);
    PyObject *done = text && on_states != Py_None ? PyObject_CallFunction(on_states, "s", text)
                                                  : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done;
}

/* fit(data, validation, section, states, shard_optimizer, device, threads, exact, each_step,
   on_step, on_epoch_begin, on_epoch, on_validation, on_notice, on_states); validation: data, or
   None; states: what callbacks go on from, or None; on_states may be None. */
PyObject *model_fit(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    PyObject *data, *validation;
    cornu_fit_options o = {0};
    PyObject *step, *begin, *epoch, *validating, *notice, *states;
    int divides, exact, each;
    call c = {0};
    cornu_history *history = NULL;
    if (!PyArg_ParseTuple(arguments, "OOszpzippOOOOOO", &data, &validation, &o.section,
                          &o.callback_state, &divides, &o.device, &o.threads, &exact, &each, &step,
                          &begin, &epoch, &validating, &notice, &states))
        return NULL;
    o.exact_convolution = exact;
    o.shard_optimizer = divides;
    o.ranks = state_of(PyType_GetModule(Py_TYPE(object)))->ranks;
    if (!begin_fit(object, data, validation, &c))
        return NULL;
    if (validation != Py_None)
        o.validation_data = ((data_object *)validation)->data;
    c.on_step = given(step);
    c.on_epoch_begin = given(begin);
    c.on_epoch = given(epoch);
    c.on_validation = given(validating);
    c.on_notice = given(notice);
    c.model = self;
    o.on_validation_step = c.on_validation ? on_validation : NULL;
    o.each_step = each;
    o.on_step = c.on_step ? on_step : NULL;
    o.on_epoch_begin = c.on_epoch_begin ? on_epoch_begin : NULL;
    o.on_epoch = c.on_epoch ? on_epoch : NULL;
    o.on_notice = c.on_notice ? on_notice : NULL;
    o.should_stop = should_stop;
    o.user = &c;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_fit(self->model, ((data_object *)data)->data, &o, &history);
    Py_END_ALLOW_THREADS;
    end_work(self);
    if (validation != Py_None)
        end_data((data_object *)validation);
    end_data((data_object *)data);
    PyObject *out = NULL;
    bool told = tell_states(states, history);
    if (call_succeeded(&c, status) && told)
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

/* The report as JSON, after writing it into each of the files; steals `report`. */
static PyObject *take_report(cornu_report *report, PyObject *files)
{
    PyObject *out = NULL;
    char *json = NULL;
    cornu_status status = CORNU_OK;
    for (Py_ssize_t i = 0; status == CORNU_OK && i < PyTuple_Size(files); i++) {
        PyObject *path;
        if (!PyUnicode_FSConverter(PyTuple_GetItem(files, i), &path))
            goto done;
        status = cornu_report_write(report, PyBytes_AsString(path));
        Py_DECREF(path);
    }
    if (status == CORNU_OK)
        status = cornu_report_json(report, &json);
    out = status == CORNU_OK ? PyUnicode_FromString(json) : fail(status);
done:
    cornu_free(json);
    cornu_report_close(report);
    return out;
}

/* evaluate(data, device, threads, exact, batch, steps, each_step, on_step, files, top_k,
   on_notice): the scores; with a tuple of files, and not None, the report as JSON */
PyObject *model_evaluate(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    PyObject *data, *files = Py_None;
    cornu_run_options o = {0};
    cornu_scores scores;
    cornu_report *report = NULL;
    PyObject *step, *notice = Py_None;
    int exact, each;
    long long batch, steps, top = 0;
    call c = {0};
    if (!PyArg_ParseTuple(arguments, "OzipLLpO|OLO", &data, &o.device, &o.threads, &exact, &batch,
                          &steps, &each, &step, &files, &top, &notice))
        return NULL;
    if (files != Py_None && !PyTuple_Check(files)) {
        PyErr_SetString(PyExc_TypeError, "files: expected a tuple");
        return NULL;
    }
    o.exact_convolution = exact;
    if (!begin_with(object, data, &c))
        return NULL;
    if (!begin_reading(self)) {
        end_data((data_object *)data);
        return NULL;
    }
    c.on_step = given(step);
    c.on_notice = given(notice);
    c.model = self;
    o.on_notice = c.on_notice ? on_notice : NULL;
    o.batch = batch;
    o.steps = steps;
    o.each_step = each;
    o.top_k = top;
    o.on_step = c.on_step ? on_step : NULL;
    o.should_stop = should_stop;
    o.user = &c;
    const bool reports = files != Py_None;
    const cornu_data *of = ((data_object *)data)->data;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = reports ? cornu_evaluate_report(self->model, of, &o, &scores, &report)
                     : cornu_evaluate(self->model, of, &o, &scores);
    Py_END_ALLOW_THREADS;
    end_work(self);
    end_data((data_object *)data);
    if (!call_succeeded(&c, status))
        return NULL;
    return reports ? take_report(report, files) : scores_dict(&scores);
}

/* ---- batch by batch ---- */

void close_trainer(model_object *self)
{
    cornu_trainer *trainer = self->trainer;
    self->trainer = NULL;
    cornu_trainer_close(trainer);
}

/* The model's trainer, opened where there is none: the GIL is not needed. The copy of one that a
   fork made has no threads; another takes over from it. */
static cornu_status open_trainer(model_object *self, const cornu_run_options *o)
{
    if (self->trainer && self->process != getpid()) {
        cornu_status status = cornu_trainer_pull(self->trainer);
        if (status != CORNU_OK)
            return status;
        close_trainer(self);
    }
    self->process = getpid();
    return self->trainer ? CORNU_OK : cornu_trainer_open(self->model, o, &self->trainer);
}

static bool begin_batch(model_object *self)
{
    if (!self->within)
        return begin_reading(self);
    PyErr_SetString(PyExc_RuntimeError, "the model is in training");
    return false;
}

/* on_batch(x, y, weights, train, device, threads, exact): the means of loss and metrics so far, as
   a dict. Device, threads and convolutions are as at the first such call. */
PyObject *model_on_batch(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    PyObject *x, *y, *weights;
    cornu_run_options o = {0};
    array_buffers buffers = {0};
    cornu_arrays batch;
    cornu_scores scores;
    int train, exact;
    if (!PyArg_ParseTuple(arguments, "OOOpzip", &x, &y, &weights, &train, &o.device, &o.threads,
                          &exact))
        return NULL;
    o.exact_convolution = exact;
    if (!get_arrays(x, y, weights, &buffers, &batch) || !begin_batch(self)) {
        release_arrays(&buffers);
        return NULL;
    }
    cornu_status status = CORNU_OK;
    Py_BEGIN_ALLOW_THREADS;
    status = open_trainer(self, &o);
    if (status == CORNU_OK)
        status = (train ? cornu_trainer_train : cornu_trainer_test)(self->trainer, &batch, &scores);
    Py_END_ALLOW_THREADS;
    end_work(self);
    release_arrays(&buffers);
    return status == CORNU_OK ? scores_dict(&scores) : fail(status);
}

PyObject *model_reset_metrics(PyObject *object, PyObject *unused)
{
    (void)unused;
    model_object *self = (model_object *)object;
    if (!begin_batch(self))
        return NULL;
    cornu_status status = self->trainer ? cornu_trainer_reset(self->trainer) : CORNU_OK;
    end_work(self);
    return none_or_fail(status);
}

/* ---- outputs ---- */

static int64_t elements(const int64_t *shape, int rank)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    return count;
}

/* Both buffers must hold the same number of samples. */
static bool count_samples(const cornu_model *m, const Py_buffer *in, const Py_buffer *out,
                          int64_t *count)
{
    int64_t shape[8], inputs, outputs;
    int rank;
    cornu_status status = cornu_model_input_shape(m, shape, &rank);
    inputs = status == CORNU_OK ? elements(shape, rank) : 1;
    if (status == CORNU_OK)
        status = cornu_model_output_shape(m, shape, &rank);
    if (status != CORNU_OK)
        return fail(status) != NULL;
    outputs = elements(shape, rank);
    *count = in->len / 4 / inputs;
    if (*count * inputs * 4 == in->len && *count * outputs * 4 == out->len)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "found %zd and %zd bytes; expected samples of %lld and %lld floats", in->len,
                 out->len, (long long)inputs, (long long)outputs);
    return false;
}

/* predict(inputs, outputs, device, threads, exact, batch, keep): as many samples as both have room
   for; with `keep` by the trainer, which stays open for the next ones. */
PyObject *model_predict(PyObject *object, PyObject *arguments)
{
    model_object *self = (model_object *)object;
    PyObject *inputs, *outputs;
    cornu_run_options o = {0};
    Py_buffer in, out;
    long long batch;
    int exact, keep;
    int64_t count = 0;
    call c = {0};
    if (!PyArg_ParseTuple(arguments, "OOzipLp", &inputs, &outputs, &o.device, &o.threads, &exact,
                          &batch, &keep) ||
        !get_floats(inputs, &in, false))
        return NULL;
    o.exact_convolution = exact;
    if (!get_floats(outputs, &out, true)) {
        PyBuffer_Release(&in);
        return NULL;
    }
    o.batch = batch;
    o.should_stop = should_stop;
    o.user = &c;
    cornu_status status = CORNU_OK;
    bool free_to_work = count_samples(self->model, &in, &out, &count) && begin_reading(self);
    keep = keep && !self->within;
    if (free_to_work) {
        Py_BEGIN_ALLOW_THREADS;
        if (keep)
            status = open_trainer(self, &o);
        if (keep && status == CORNU_OK)
            status = cornu_trainer_predict(self->trainer, in.buf, count, out.buf);
        else if (status == CORNU_OK)
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

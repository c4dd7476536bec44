/* Methods of models: explain, fit, evaluate, predict. */
#include "extension.h"
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <unistd.h>

/* explain(**options) */
typedef struct explain_call {
    cornu_explain_options options;
    call c;
} explain_call;

PyObject *model_explain(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    static const keyword rows[] = {
        CORNU_WHERE_OPTIONS(KEYWORD_WHERE, explain_call) /* where to run */
        {"batch", KEYWORD_INT, offsetof(explain_call, options.batch)},
        {"run", KEYWORD_FLAG, offsetof(explain_call, options.run)},
        {"recompute", KEYWORD_FLAG, offsetof(explain_call, options.recompute)},
        {"ranks", KEYWORD_SMALL, offsetof(explain_call, options.ranks)},
        {"shard_optimizer", KEYWORD_FLAG, offsetof(explain_call, options.shard_optimizer)},
        {"gradient_dtype", KEYWORD_TEXT, offsetof(explain_call, options.gradient_dtype)},
        {NULL, KEYWORD_INT, 0}};
    model_object *self = (model_object *)object;
    explain_call e = {.options = {.size = sizeof e.options, .should_stop = should_stop}};
    char *text = NULL;
    if (!PyArg_ParseTuple(arguments, "") || !read_keywords("explain", keywords, rows, &e) ||
        !begin_work(self))
        return NULL;
    e.options.user = &e.c;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_explain(self->model, &e.options, &text);
    Py_END_ALLOW_THREADS;
    end_work(self);
    if (!call_succeeded(&e.c, status)) {
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
    PyObject *done =
        text && on_states ? PyObject_CallFunction(on_states, "s", text) : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done;
}

typedef struct fit_call {
    cornu_fit_options options;
    call c;
    PyObject *on_states; /* gets what callbacks remember */
} fit_call;

static const keyword fit_keywords[] = {
    CORNU_WHERE_OPTIONS(KEYWORD_WHERE, fit_call)              /* where to run */
    CORNU_FIT_OPTIONS(KEYWORD_OPTION, KEYWORD_NONE, fit_call) /* how to train */
    {"section", KEYWORD_TEXT, offsetof(fit_call, options.section)},
    {"callback_state", KEYWORD_TEXT, offsetof(fit_call, options.callback_state)},
    {"each_step", KEYWORD_FLAG, offsetof(fit_call, options.each_step)},
    {"on_step", KEYWORD_OBJECT, offsetof(fit_call, c.on_step)},
    {"on_epoch_begin", KEYWORD_OBJECT, offsetof(fit_call, c.on_epoch_begin)},
    {"on_epoch", KEYWORD_OBJECT, offsetof(fit_call, c.on_epoch)},
    {"on_validation", KEYWORD_OBJECT, offsetof(fit_call, c.on_validation)},
    {"on_outputs", KEYWORD_OBJECT, offsetof(fit_call, c.on_outputs)},
    {"on_notice", KEYWORD_OBJECT, offsetof(fit_call, c.on_notice)},
    {"on_states", KEYWORD_OBJECT, offsetof(fit_call, on_states)},
    {NULL, KEYWORD_INT, 0}};

static void connect(fit_call *f, model_object *self)
{
    cornu_fit_options *o = &f->options;
    f->c.model = self;
    o->on_validation_step = f->c.on_validation ? on_validation : NULL;
    o->on_outputs = f->c.on_outputs ? on_outputs : NULL;
    o->on_step = f->c.on_step ? on_step : NULL;
    o->on_epoch_begin = f->c.on_epoch_begin ? on_epoch_begin : NULL;
    o->on_epoch = f->c.on_epoch ? on_epoch : NULL;
    o->on_notice = f->c.on_notice ? on_notice : NULL;
    o->should_stop = should_stop;
    o->user = &f->c;
}

/* fit(data, validation, **options); validation: data, or None. */
PyObject *model_fit(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    model_object *self = (model_object *)object;
    PyObject *data, *validation;
    fit_call f = {.options.size = sizeof f.options};
    cornu_history *history = NULL;
    if (!PyArg_ParseTuple(arguments, "OO", &data, &validation) ||
        !read_keywords("fit", keywords, fit_keywords, &f) ||
        !begin_fit(object, data, validation, &f.c))
        return NULL;
    connect(&f, self);
    f.options.ranks = state_of(PyType_GetModule(Py_TYPE(object)))->ranks;
    if (validation != Py_None)
        f.options.validation_data = ((data_object *)validation)->data;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cornu_fit(self->model, ((data_object *)data)->data, &f.options, &history);
    Py_END_ALLOW_THREADS;
    end_work(self);
    if (validation != Py_None)
        end_data((data_object *)validation);
    end_data((data_object *)data);
    PyObject *out = NULL;
    bool told = tell_states(f.on_states, history);
    if (call_succeeded(&f.c, status) && told)
        out = history ? history_lists(history) : PyDict_New();
    cornu_history_close(history);
    return out;
}

static PyObject *scores_dict(const cornu_scores *s)
{
    PyObject *out = PyDict_New();
    if (out && !add_scores(out, "", s))
        Py_CLEAR(out);
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

/* The arguments of evaluation and prediction. */
typedef struct run_call {
    cornu_run_options options;
    call c;
    PyObject *files; /* evaluate: a tuple of names */
    bool keep;       /* predict: by the trainer, which stays open for the next ones, or: */
    int64_t draws;   /* options.draws */
} run_call;

static const keyword evaluate_keywords[] = {
    CORNU_WHERE_OPTIONS(KEYWORD_WHERE, run_call) /* where to run */
    {"batch", KEYWORD_INT, offsetof(run_call, options.batch)},
    {"steps", KEYWORD_INT, offsetof(run_call, options.steps)},
    {"each_step", KEYWORD_FLAG, offsetof(run_call, options.each_step)},
    {"top_k", KEYWORD_INT, offsetof(run_call, options.top_k)},
    {"on_step", KEYWORD_OBJECT, offsetof(run_call, c.on_step)},
    {"on_notice", KEYWORD_OBJECT, offsetof(run_call, c.on_notice)},
    {"on_outputs", KEYWORD_OBJECT, offsetof(run_call, c.on_outputs)},
    {"files", KEYWORD_OBJECT, offsetof(run_call, files)},
    {NULL, KEYWORD_INT, 0}};

/* evaluate(data, **options): the scores; with a tuple of files the report as JSON, which is written
   into each of them */
PyObject *model_evaluate(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    model_object *self = (model_object *)object;
    PyObject *data;
    run_call r = {.options = {.size = sizeof r.options, .should_stop = should_stop}};
    cornu_scores scores = {.size = sizeof scores};
    cornu_report *report = NULL;
    if (!PyArg_ParseTuple(arguments, "O", &data) ||
        !read_keywords("evaluate", keywords, evaluate_keywords, &r))
        return NULL;
    if (r.files && !PyTuple_Check(r.files)) {
        PyErr_SetString(PyExc_TypeError, "files: expected a tuple");
        return NULL;
    }
    if (!begin_with(object, data, &r.c))
        return NULL;
    if (!begin_reading(self)) {
        end_data((data_object *)data);
        return NULL;
    }
    r.c.model = self;
    r.options.on_step = r.c.on_step ? on_step : NULL;
    r.options.on_notice = r.c.on_notice ? on_notice : NULL;
    r.options.on_outputs = r.c.on_outputs ? on_outputs : NULL;
    r.options.user = &r.c;
    const cornu_data *of = ((data_object *)data)->data;
    cornu_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = r.files ? cornu_evaluate_report(self->model, of, &r.options, &scores, &report)
                     : cornu_evaluate(self->model, of, &r.options, &scores);
    Py_END_ALLOW_THREADS;
    end_work(self);
    end_data((data_object *)data);
    if (!call_succeeded(&r.c, status))
        return NULL;
    return r.files ? take_report(report, r.files) : scores_dict(&scores);
}

/* ---- batch by batch ---- */

void close_trainer(model_object *self)
{
    cornu_trainer *trainer = self->trainer;
    self->trainer = NULL;
    cornu_trainer_close(trainer);
}

/* The model's trainer, opened if there is none; does not need the GIL. A copy made by fork has
   no threads, so a new trainer replaces it. */
static cornu_status open_trainer(model_object *self, const cornu_where *where)
{
    if (self->trainer && self->process != getpid()) {
        cornu_status status = cornu_trainer_pull(self->trainer);
        if (status != CORNU_OK)
            return status;
        close_trainer(self);
    }
    self->process = getpid();
    return self->trainer ? CORNU_OK : cornu_trainer_open(self->model, where, &self->trainer);
}

static bool begin_batch(model_object *self)
{
    if (!self->within)
        return begin_reading(self);
    PyErr_SetString(PyExc_RuntimeError, "the model is in training");
    return false;
}

static const keyword batch_keywords[] = {
    CORNU_WHERE_OPTIONS(KEYWORD_WHERE, run_call){"on_outputs", KEYWORD_OBJECT,
                                                 offsetof(run_call, c.on_outputs)},
    {NULL, KEYWORD_INT, 0}};

/* on_batch(x, y, weights, train, **where): the means of loss and metrics so far, as a dict. Where
   to run is as at the first such call. */
PyObject *model_on_batch(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    model_object *self = (model_object *)object;
    PyObject *x, *y, *weights;
    run_call r = {.options.size = sizeof r.options, .keep = true};
    array_buffers buffers = {0};
    cornu_arrays batch = {.size = sizeof batch};
    cornu_scores scores = {.size = sizeof scores};
    int train;
    if (!PyArg_ParseTuple(arguments, "OOOp", &x, &y, &weights, &train) ||
        !read_keywords("on_batch", keywords, batch_keywords, &r))
        return NULL;
    if (!get_arrays(x, y, weights, &buffers, &batch) || !begin_batch(self)) {
        release_arrays(&buffers);
        return NULL;
    }
    cornu_status status = CORNU_OK;
    Py_BEGIN_ALLOW_THREADS;
    status = open_trainer(self, &r.options.where);
    if (status == CORNU_OK) {
        cornu_trainer_on_outputs(self->trainer, r.c.on_outputs ? on_outputs : NULL, &r.c);
        status = (train ? cornu_trainer_train : cornu_trainer_test)(self->trainer, &batch, &scores);
        cornu_trainer_on_outputs(self->trainer, NULL, NULL);
    }
    Py_END_ALLOW_THREADS;
    end_work(self);
    release_arrays(&buffers);
    return call_succeeded(&r.c, status) ? scores_dict(&scores) : NULL;
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

static const keyword predict_keywords[] = {
    CORNU_WHERE_OPTIONS(KEYWORD_WHERE, run_call) /* where to run */
    {"batch", KEYWORD_INT, offsetof(run_call, options.batch)},
    {"keep", KEYWORD_FLAG, offsetof(run_call, keep)},
    {"draws", KEYWORD_INT, offsetof(run_call, draws)},
    {"seed", KEYWORD_INT, offsetof(run_call, options.seed)},
    {"draw", KEYWORD_INT, offsetof(run_call, options.draw)},
    {NULL, KEYWORD_INT, 0}};

/* predict(inputs, outputs, **options): predicts as many samples as both arrays have room for. */
PyObject *model_predict(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    model_object *self = (model_object *)object;
    PyObject *inputs, *outputs;
    run_call r = {.options = {.size = sizeof r.options, .should_stop = should_stop}};
    Py_buffer in, out;
    int64_t count = 0;
    if (!PyArg_ParseTuple(arguments, "OO", &inputs, &outputs) ||
        !read_keywords("predict", keywords, predict_keywords, &r) ||
        !get_floats(inputs, &in, false))
        return NULL;
    if (!get_floats(outputs, &out, true)) {
        PyBuffer_Release(&in);
        return NULL;
    }
    r.options.user = &r.c;
    cornu_status status = CORNU_OK;
    bool free_to_work = count_samples(self->model, &in, &out, &count) && begin_reading(self);
    bool keep = r.keep && !self->within && !r.draws;
    r.options.draws = (cornu_draws)r.draws;
    if (free_to_work) {
        Py_BEGIN_ALLOW_THREADS;
        if (keep)
            status = open_trainer(self, &r.options.where);
        if (keep && status == CORNU_OK)
            status = cornu_trainer_predict(self->trainer, in.buf, count, out.buf);
        else if (status == CORNU_OK)
            status = cornu_predict(self->model, in.buf, count, &r.options, out.buf);
        Py_END_ALLOW_THREADS;
        end_work(self);
    }
    PyBuffer_Release(&in);
    PyBuffer_Release(&out);
    if (!free_to_work || !call_succeeded(&r.c, status))
        return NULL;
    return Py_NewRef(Py_None);
}

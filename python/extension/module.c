/* The module cornu._cornu. */
#include "extension.h"
#include <cornu/tables.h>

/* The version of the CUDA plug-in that the package was built with. */
#ifndef CORNU_BUILT_CUDA
#define CORNU_BUILT_CUDA ""
#define CORNU_BUILT_CUDNN ""
#endif

module_state *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

static PyObject *text_of(cornu_status (*tell)(char **))
{
    char *text = NULL;
    cornu_status status = tell(&text);
    return take_text(status, text);
}

static PyObject *module_tables(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return text_of(cornu_tables);
}

static PyObject *module_versions(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return text_of(cornu_versions);
}

/* [{"name", "description", "available", "reason", "memory", ...}] */
static PyObject *module_devices(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    cornu_device_info d = {.size = sizeof d};
    for (int i = 0; list && cornu_device_info_get(i, &d); i++) {
        PyObject *row = Py_BuildValue(
            "{ss ss ss ss ss ss ss sO sO sL sL si}", "name", d.name, "description", d.description,
            "libraries", d.libraries, "reason", d.reason, "bus_id", d.bus_id, "capability",
            d.capability, "driver", d.driver, "available", d.available ? Py_True : Py_False, "gpu",
            d.gpu ? Py_True : Py_False, "memory", (long long)d.memory_bytes, "memory_free",
            (long long)d.memory_free_bytes, "threads", d.threads);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *module_schedule_rate(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *schedule;
    long long step;
    double rate;
    if (!PyArg_ParseTuple(arguments, "sL", &schedule, &step))
        return NULL;
    cornu_status status = cornu_schedule_rate(schedule, step, &rate);
    return status == CORNU_OK ? PyFloat_FromDouble(rate) : fail(status);
}

/* application(name, options): Keras's configuration as JSON */
static PyObject *module_application(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *name, *options;
    char *json = NULL;
    if (!PyArg_ParseTuple(arguments, "ss", &name, &options))
        return NULL;
    cornu_status status = cornu_application_config(name, options, &json);
    return take_text(status, json);
}

/* initializer_values(initializer, seed, array): fills the array */
static PyObject *module_initializer_values(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *initializer;
    unsigned long long seed;
    PyObject *array;
    Py_buffer view;
    int64_t shape[8];
    if (!PyArg_ParseTuple(arguments, "sKO", &initializer, &seed, &array) ||
        !get_floats(array, &view, true))
        return NULL;
    for (int i = 0; i < view.ndim && i < 8; i++)
        shape[i] = view.shape[i];
    cornu_status status = cornu_initializer_values(initializer, shape, view.ndim, seed, view.buf,
                                                   view.len / (Py_ssize_t)sizeof(float));
    PyBuffer_Release(&view);
    return none_or_fail(status);
}

static PyMethodDef module_methods[] = {
    {"open", module_open, METH_VARARGS, NULL},
    {"parse", module_parse, METH_VARARGS, NULL},
    {"data_from_arrays", module_data_from_arrays, METH_VARARGS, NULL},
    {"data_stream", module_data_stream, METH_VARARGS, NULL},
    {"data_open", module_data_open, METH_VARARGS, NULL},
    {"data_from_files", module_data_from_files, METH_VARARGS, NULL},
    {"read_image", module_read_image, METH_VARARGS, NULL},
    {"write_png", module_write_png, METH_VARARGS, NULL},
    {"tables", module_tables, METH_NOARGS, NULL},
    {"application", module_application, METH_VARARGS, NULL},
    {"schedule_rate", module_schedule_rate, METH_VARARGS, NULL},
    {"initializer_values", module_initializer_values, METH_VARARGS, NULL},
    {"versions", module_versions, METH_NOARGS, NULL},
    {"devices", module_devices, METH_NOARGS, NULL},
    {"fit_options", module_fit_options, METH_NOARGS, NULL},
    {"ranks_open", module_ranks_open, METH_NOARGS, NULL},
    {"ranks_close", module_ranks_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    module_state *s = state_of(module);
    s->model_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &model_spec, NULL);
    s->data_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &data_spec, NULL);
    if (!s->model_type || !s->data_type)
        return -1;
    if (PyModule_AddStringConstant(module, "built_cuda", CORNU_BUILT_CUDA) != 0 ||
        PyModule_AddStringConstant(module, "built_cudnn", CORNU_BUILT_CUDNN) != 0)
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

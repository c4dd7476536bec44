/* The keywords of a call become the fields of one of the library's structs, as cornu/options.h has
   them. */
#include "extension.h"
#include <limits.h>
#include <string.h>

static bool read_whole(PyObject *value, int64_t least, int64_t most, const char *name,
                       int64_t *number)
{
    long long found = PyLong_AsLongLong(value);
    if (found == -1 && PyErr_Occurred())
        return false;
    if (found < least || found > most) {
        PyErr_Format(PyExc_OverflowError, "%s: found %lld; expected a smaller number", name, found);
        return false;
    }
    *number = found;
    return true;
}

/* It lives as long as the caller's str. */
static bool read_string(PyObject *value, const char *name, const char **string)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text && strlen(text) == (size_t)size) {
        *string = text;
        return true;
    }
    if (text)
        PyErr_Format(PyExc_ValueError, "%s: found a zero within; expected text", name);
    return false;
}

static bool read_keyword(const keyword *k, PyObject *value, void *options)
{
    void *field = (char *)options + k->at;
    int64_t number = 0;
    int truth;
    if (value == Py_None)
        return true;
    switch (k->type) {
    case KEYWORD_INT:
        return read_whole(value, LLONG_MIN, LLONG_MAX, k->name, field);
    case KEYWORD_SMALL:
        if (!read_whole(value, INT_MIN, INT_MAX, k->name, &number))
            return false;
        *(int *)field = (int)number;
        return true;
    case KEYWORD_FLAG:
        truth = PyObject_IsTrue(value);
        *(bool *)field = truth == 1;
        return truth >= 0;
    case KEYWORD_TEXT:
        return read_string(value, k->name, field);
    case KEYWORD_OBJECT:
        *(PyObject **)field = value;
        return true;
    }
    return false;
}

bool read_keywords(const char *what, PyObject *given, const keyword *rows, void *options)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (given && PyDict_Next(given, &at, &name, &value)) {
        const keyword *k = rows;
        while (k->name && PyUnicode_CompareWithASCIIString(name, k->name) != 0)
            k++;
        if (!k->name)
            PyErr_Format(PyExc_TypeError, "%s: got an unexpected keyword argument %R", what, name);
        if (!k->name || !read_keyword(k, value, options))
            return false;
    }
    return true;
}

/* ---- the table, for Python --------------------------------------------------------------- */

typedef struct option_row {
    const char *field, *key, *type;
} option_row;

#define OPTION_ROW(at, type, field, key, ...) {#field, key, #type},
#define OPTION_NONE(...)

/* [(name, type, is it a key of the fit section?)]: the options of fit, as Python calls them. */
PyObject *module_fit_options(PyObject *module, PyObject *unused)
{
    static const option_row rows[] = {CORNU_FIT_OPTIONS(OPTION_ROW, OPTION_NONE, )};
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof rows / sizeof *rows; i++) {
        const char *key = rows[i].key;
        PyObject *row = Py_BuildValue("(ssO)", key ? key : rows[i].field, rows[i].type,
                                      key ? Py_True : Py_False);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

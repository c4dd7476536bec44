/* Several processes that train together; see cornu_ranks_open. */
#include "extension.h"
#include <cornu/parallel.h>

/* (number, count) of this process. */
PyObject *module_ranks_open(PyObject *module, PyObject *unused)
{
    (void)unused;
    module_state *s = state_of(module);
    cornu_status status = CORNU_OK;
    Py_BEGIN_ALLOW_THREADS;
    if (!s->ranks)
        status = cornu_ranks_open(&s->ranks);
    Py_END_ALLOW_THREADS;
    if (status != CORNU_OK)
        return fail(status);
    return Py_BuildValue("ii", cornu_ranks_number(s->ranks), cornu_ranks_count(s->ranks));
}

PyObject *module_ranks_close(PyObject *module, PyObject *unused)
{
    (void)unused;
    module_state *s = state_of(module);
    cornu_ranks *ranks = s->ranks;
    s->ranks = NULL;
    Py_BEGIN_ALLOW_THREADS;
    cornu_ranks_close(ranks);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

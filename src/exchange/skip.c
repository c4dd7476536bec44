/* Layers that are skipped when weights are read from a file. */
#include "base/memory.h"
#include "exchange/weights.h"
#include <string.h>

static char plain(char c)
{
    return c == '.' ? '/' : c;
}

/* True if the name in a file or a model is `called`, or of something in it: "dense/kernel",
   "backbone/dense/kernel", "classifier.6.bias". PyTorch's names have points. */
static bool is_of(const char *name, size_t length, const char *called, bool torch)
{
    size_t i = 0;
    while (i < length && called[i] &&
           (torch ? plain(name[i]) == plain(called[i]) : name[i] == called[i]))
        i++;
    return called[i] == 0 && (i == length || name[i] == '/' || (torch && name[i] == '.'));
}

bool skip_has(const char *const *skip, const char *name)
{
    for (; skip && *skip; skip++)
        if (is_of(name, strlen(name), *skip, false))
            return true;
    return false;
}

bool skip_has_module(const char *const *skip, const char *name, size_t length)
{
    for (; skip && *skip; skip++)
        if (is_of(name, length, *skip, true))
            return true;
    return false;
}

static bool is_there(const char *called, const tensor_file *f, const cornu_model *m)
{
    bool found = false;
    for (int i = 0; i < m->weight_count && !found; i++)
        found = is_of(m->variables[i].name, strlen(m->variables[i].name), called, false);
    for (int i = 0; f && i < f->count && !found; i++)
        found = is_of(f->tensors[i].name, strlen(f->tensors[i].name), called, true);
    return found;
}

static cornu_status fail_unknown(const char *called, const cornu_model *m)
{
    text names = {0};
    for (int i = 0; i < m->layer_count; i++)
        if (m->layers[i]->weight_count > 0)
            text_add(&names, "%s%s", names.length ? ", " : "", m->layers[i]->name);
    cornu_status status =
        status_fail(CORNU_INVALID, "skip: found %.200s; expected a layer with weights: %s", called,
                    names.data ? names.data : "there is none");
    text_free(&names);
    return status;
}

cornu_status skip_check(const char *const *skip, const tensor_file *f, const cornu_model *m)
{
    for (; skip && *skip; skip++)
        if (!is_there(*skip, f, m))
            return fail_unknown(*skip, m);
    return CORNU_OK;
}

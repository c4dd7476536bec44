/* Layers that are skipped when weights are read from a file. */
#include "base/memory.h"
#include "exchange/weights.h"
#include <string.h>

bool skip_has(const char *const *skip, const char *name, size_t length)
{
    for (; skip && *skip; skip++)
        if (strlen(*skip) == length && strncmp(*skip, name, length) == 0)
            return true;
    return false;
}

/* Layers' names are without a slash. */
bool skip_has_weight(const char *const *skip, const char *weight)
{
    return skip_has(skip, weight, strcspn(weight, "/"));
}

/* True if the tensor is a weight of the layer `called` in a file: "dense/kernel",
   "classifier.6.bias". */
static bool is_of(const char *tensor, const char *called)
{
    size_t length = strlen(called);
    return strncmp(tensor, called, length) == 0 && (tensor[length] == '/' || tensor[length] == '.');
}

static bool is_there(const char *called, const tensor_file *f, const cornu_model *m)
{
    bool found = false;
    for (int i = 0; i < m->weight_count && !found; i++)
        found = is_of(m->variables[i].name, called);
    for (int i = 0; f && i < f->count && !found; i++)
        found = is_of(f->tensors[i].name, called);
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

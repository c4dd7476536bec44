/* The optimizer Muon: which weights its own step is for. */
#include "model/config.h"
#include "model/inner_layers.h"
#include "model/model.h"
#include "model/state.h"
#include "model/submodels.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A path names a model, a layer, inner layers and the weight. */
enum { PATH_SIZE = 12 * (NAME_LENGTH_MAX + 1) };

/* The layer that has the weight. */
static const layer *layer_of(const cornu_model *m, int weight)
{
    for (int i = 0; i < m->layer_count; i++) {
        const int first = m->layers[i]->first_variable;
        if (weight >= first && weight < first + m->layers[i]->weight_count)
            return m->layers[i];
    }
    return NULL;
}

/* Does Keras's path name a cell, "lstm/lstm_cell/kernel", where cornu's name is "lstm/kernel"? */
static bool has_hidden_cell(const layer *of, const variable *v)
{
    const char *last = v->part ? strrchr(v->part, '/') : NULL;
    last = last ? last + 1 : v->part;
    return last && strcmp(last, "cell") == 0 && !(of->place && strcmp(of->place, last) == 0);
}

/* Keras's path of the weight: with the name of the Sequential around its layer, if there is one,
   and without those of all other models. */
static void find_path(const cornu_model *m, int weight, char path[PATH_SIZE])
{
    const char *name = m->variables[weight].name;
    const layer *l = layer_of(m, weight);
    const size_t length = l ? strlen(l->name) : 0;
    if (!l || strncmp(name, l->name, length) != 0) {
        snprintf(path, PATH_SIZE, "%s", name);
        return;
    }
    const bool functional = submodel_is_functional(m, l->owner);
    const char *around = l->owner < 0 ? m->name : model_own_name(m->submodels[l->owner].name);
    const layer *inner = layer_of_weight(l, weight - l->first_variable);
    const char *own = strrchr(name, '/');
    const bool cell = has_hidden_cell(inner, &m->variables[weight]);
    snprintf(path, PATH_SIZE, "%s%s%s%.*s%s%s%s%s", functional ? "" : around, functional ? "" : "/",
             l->owner < 0 ? l->name : model_own_name(l->name),
             (int)(own - name - (ptrdiff_t)length), name + length, cell ? "/" : "",
             cell ? inner->kind->base_name : "", cell ? "_cell" : "", own);
}

bool model_has_matrix_step(const cornu_model *m, int weight)
{
    const optimizer *o = &m->optimizer;
    char path[PATH_SIZE];
    if (o->id != OPTIMIZER_MUON || m->variables[weight].shape.rank != 2)
        return false;
    find_path(m, weight, path);
    return !(o->exclude_embeddings && strcasestr(path, "embedding")) &&
           !patterns_find(&o->exclude_layers, path);
}

/* A network as PyTorch's modules: see torch.h. */
#include "base/memory.h"
#include "exchange/torch/torch.h"
#include <stdlib.h>
#include <string.h>

const char *torch_role_name(torch_role role)
{
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    return names[role];
}

const char *torch_kind_name(torch_kind kind)
{
    static const char *const names[] = {"Conv2d", "Linear", "BatchNorm", "LayerNorm",
                                        "a module of another kind"};
    return names[kind];
}

torch_kind torch_kind_of(int rank, bool means)
{
    if (means)
        return TORCH_BATCH_NORM;
    return rank == 4   ? TORCH_CONV
           : rank == 2 ? TORCH_LINEAR
           : rank == 1 ? TORCH_LAYER_NORM
                       : TORCH_OTHER;
}

static int role_of(const char *name)
{
    static const struct {
        const char *ending;
        torch_role role;
    } roles[] = {{"/kernel", TORCH_WEIGHT},    {"/gamma", TORCH_WEIGHT},
                 {"/bias", TORCH_BIAS},        {"/beta", TORCH_BIAS},
                 {"/moving_mean", TORCH_MEAN}, {"/moving_variance", TORCH_VARIANCE}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (path_has_ending(name, roles[i].ending))
            return (int)roles[i].role;
    return -1;
}

static cornu_status make_module(const cornu_model *m, const layer *l, const int64_t flat[3],
                                torch_module *out)
{
    *out = (torch_module){.layer = l, .variable = {-1, -1, -1, -1}};
    memcpy(out->flat, flat, sizeof out->flat);
    for (int i = l->first_variable; i < l->first_variable + l->weight_count; i++) {
        int role = role_of(m->variables[i].name);
        if (role < 0)
            return status_fail(CORNU_UNSUPPORTED,
                               "%s: found a weight that no module of PyTorch's has; expected a "
                               "kernel, a bias or what normalizations have",
                               m->variables[i].name);
        out->variable[role] = i;
    }
    int first =
        out->variable[TORCH_WEIGHT] >= 0 ? out->variable[TORCH_WEIGHT] : out->variable[TORCH_BIAS];
    out->kind = torch_kind_of(first >= 0 ? m->variables[first].shape.rank : 0,
                              out->variable[TORCH_MEAN] >= 0);
    return CORNU_OK;
}

/* ---- the order of what was an image ------------------------------------------------------- */

/* True if channels first and channels last differ. */
static bool has_order(const shape *s)
{
    return s->rank == 3 && s->dim[2] > 1 && s->dim[0] * s->dim[1] > 1;
}

static cornu_status fail_reshape(const layer *l)
{
    char from[128], to[128];
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found a Reshape from %s to %s, whose numbers PyTorch has in another "
                       "order; expected no images of several channels before or behind it",
                       l->name, shape_show(&l->in, false, from), shape_show(&l->out, false, to));
}

/* Follow the order of elements through a Flatten or a Reshape. */
static cornu_status follow(const layer *l, int64_t flat[3])
{
    bool reshapes = strcmp(l->kind->name, "Reshape") == 0, was_flat = flat[2] > 0;
    if ((!reshapes && strcmp(l->kind->name, "Flatten") != 0) || shape_equal(&l->in, &l->out))
        return CORNU_OK;
    if (has_order(&l->in) && l->out.rank == 1) {
        memcpy(flat, l->in.dim, 3 * sizeof *flat);
        return CORNU_OK;
    }
    bool back = was_flat && l->out.rank == 3 && memcmp(flat, l->out.dim, 3 * sizeof *flat) == 0;
    if (!back && (was_flat || has_order(&l->in) || has_order(&l->out)))
        return fail_reshape(l);
    memset(flat, 0, 3 * sizeof *flat);
    return CORNU_OK;
}

/* A layer's module, if it has weights, and the order of its output. */
static cornu_status add_module(const cornu_model *m, const layer *l, int64_t flat[3],
                               torch_module *modules, int *count)
{
    if (l->weight_count == 0)
        return follow(l, flat);
    TRY(make_module(m, l, flat, &modules[*count]));
    if (modules[(*count)++].kind == TORCH_LINEAR)
        memset(flat, 0, 3 * sizeof *flat);
    return CORNU_OK;
}

cornu_status torch_modules(const cornu_model *m, torch_module **out, int *count)
{
    int64_t flat[3] = {0};
    *count = 0;
    TRY(memory_new((size_t)m->layer_count + 1, sizeof **out, "modules", out));
    cornu_status status = CORNU_OK;
    for (int i = 0; status == CORNU_OK && i < m->layer_count; i++)
        status = add_module(m, m->layers[i], flat, *out, count);
    if (status != CORNU_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- tensors ------------------------------------------------------------------------------ */

shape torch_shape(const cornu_model *m, int index)
{
    const shape *s = &m->variables[index].shape;
    const int64_t *d = s->dim;
    if (s->rank == 4)
        return (shape){4, {d[3], d[2], d[0], d[1]}};
    return s->rank == 2 ? (shape){2, {d[1], d[0]}} : *s;
}

weight_order torch_order(const cornu_model *m, const torch_module *module, torch_role role)
{
    int rank = m->variables[module->variable[role]].shape.rank;
    weight_order order = {.form = rank == 4   ? WEIGHT_KERNEL
                                  : rank == 2 ? WEIGHT_TRANSPOSED
                                              : WEIGHT_SAME};
    bool of_outputs = module->kind == TORCH_LINEAR && role == TORCH_BIAS;
    if (!of_outputs)
        memcpy(order.flat, module->flat, sizeof order.flat);
    return order;
}

torch_role torch_key(const torch_module *module)
{
    if (module->variable[TORCH_MEAN] >= 0)
        return TORCH_MEAN;
    return module->variable[TORCH_WEIGHT] >= 0 ? TORCH_WEIGHT : TORCH_BIAS;
}

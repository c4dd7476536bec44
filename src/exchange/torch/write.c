/* A state_dict of a network's weights: see torch.h. */
#include "base/memory.h"
#include "exchange/torch/torch.h"
#include <stdlib.h>
#include <string.h>

typedef struct content {
    const cornu_model *model;
    const torch_module *modules;
    file_tensor *tensors; /* and which module and role each is: */
    int *module;
    torch_role *role;
    int count;
} content;

/* Elements of tensor `number` when its turn comes. */
static cornu_status fetch(void *source, int number, void *to, size_t bytes)
{
    const content *c = source;
    const torch_module *module = &c->modules[c->module[number]];
    torch_role role = c->role[number];
    float *out = to;
    if (module->variable[role] < 0) { /* the half of an affine module that the layer lacks */
        for (size_t i = 0; i < bytes / sizeof *out; i++)
            out[i] = role == TORCH_WEIGHT ? 1 : 0;
        return CORNU_OK;
    }
    const variable *v = &c->model->variables[module->variable[role]];
    weight_order order = torch_order(c->model, module, role);
    for (int64_t i = 0; i < v->count; i++)
        out[weight_order_index(&order, &v->shape, i)] = v->value[i];
    return CORNU_OK;
}

static cornu_status add(content *c, int module, torch_role role, const shape *s)
{
    file_tensor *t = &c->tensors[c->count];
    *t = (file_tensor){.type = ELEMENT_F32,
                       .rank = s->rank,
                       .count = shape_elements(s),
                       .fetch = fetch,
                       .source = c,
                       .number = c->count};
    memcpy(t->shape, s->dim, (size_t)s->rank * sizeof *t->shape);
    c->module[c->count] = module;
    c->role[c->count++] = role;
    return memory_format(&t->name, "%s.%s", c->modules[module].layer->name, torch_role_name(role));
}

/* A normalization of PyTorch's has both factor and summand, or neither. */
static cornu_status add_module(content *c, int number)
{
    const torch_module *m = &c->modules[number];
    bool normalizes = m->kind == TORCH_BATCH_NORM || m->kind == TORCH_LAYER_NORM;
    bool affine = m->variable[TORCH_WEIGHT] >= 0 || m->variable[TORCH_BIAS] >= 0;
    for (int role = 0; role < TORCH_ROLES; role++) {
        bool idle = role <= TORCH_BIAS && normalizes && affine;
        int like = m->variable[role] >= 0 ? m->variable[role] : m->layer->first_variable;
        shape s = torch_shape(c->model, like);
        if (m->variable[role] >= 0 || idle)
            TRY(add(c, number, (torch_role)role, &s));
    }
    return CORNU_OK;
}

static cornu_status write_content(content *c, int modules, const char *path)
{
    const metadata_entry format = {(char *)(uintptr_t) "format", (char *)(uintptr_t) "pt"};
    size_t most = (size_t)modules * TORCH_ROLES + 1;
    TRY(memory_new(most, sizeof *c->tensors, "tensors", &c->tensors));
    TRY(memory_new(most, sizeof *c->module, "tensors", &c->module));
    TRY(memory_new(most, sizeof *c->role, "tensors", &c->role));
    for (int i = 0; i < modules; i++)
        TRY(add_module(c, i));
    return safetensors_write(path, c->tensors, c->count, &format, 1);
}

cornu_status torch_write(const cornu_model *m, const char *path)
{
    torch_module *modules;
    int count;
    TRY(torch_modules(m, &modules, &count));
    content c = {.model = m, .modules = modules};
    cornu_status status = write_content(&c, count, path);
    for (int i = 0; i < c.count; i++)
        free(c.tensors[i].name);
    free(c.tensors);
    free(c.module);
    free(c.role);
    free(modules);
    return status;
}

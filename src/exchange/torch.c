#include "exchange/torch.h"
#include "base/memory.h"
#include "exchange/weights.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules ---------------------------------------------------------------------------- */

static const char *torch_role_name(torch_role role)
{
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    return names[role];
}

static const char *torch_kind_name(torch_kind kind)
{
    static const char *const names[] = {"Conv2d",    "Conv1d",    "Linear",
                                        "BatchNorm", "LayerNorm", "a module of another kind"};
    return names[kind];
}

/* The kind by the rank of its weight (0: none) and whether it has running means. */
static torch_kind torch_kind_of(int rank, bool means)
{
    if (means)
        return TORCH_BATCH_NORM;
    return rank == 4   ? TORCH_CONV
           : rank == 3 ? TORCH_CONV_1D
           : rank == 2 ? TORCH_LINEAR
           : rank == 1 ? TORCH_LAYER_NORM
                       : TORCH_OTHER;
}

static int role_of(const char *name)
{
    static const struct {
        const char *ending;
        torch_role role;
    } roles[] = {{"/kernel", TORCH_WEIGHT},
                 {"/gamma", TORCH_WEIGHT},
                 {"/scale", TORCH_WEIGHT},
                 {"/bias", TORCH_BIAS},
                 {"/beta", TORCH_BIAS},
                 {"/moving_mean", TORCH_MEAN},
                 {"/moving_variance", TORCH_VARIANCE}};
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
        /* A kernel of more axes would be taken for a convolution's. */
        if (role < 0 ||
            (m->variables[i].shape.rank > 2 && (strcmp(l->kind->name, "EinsumDense") == 0 ||
                                                strcmp(l->kind->name, "TimeDistributed") == 0)))
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

/* Has the model layers of signals, (steps, channels)? They are (channels, steps) there. */
static bool has_signals(const cornu_model *m)
{
    for (int i = 0; i < m->layer_count; i++)
        if (m->layers[i]->kind->rank == LAYER_SIGNAL)
            return true;
    return false;
}

/* The image that this shape is, height, width and channels: a signal has a height of 1. Elsewhere
   (steps, features) are a sequence, in the same order there. */
static shape image_of(const cornu_model *m, const shape *s)
{
    return s->rank == 2 && has_signals(m) ? (shape){3, {1, s->dim[0], s->dim[1]}} : *s;
}

/* True if channels first and channels last differ. */
static bool has_order(const shape *s)
{
    return s->rank == 3 && s->dim[2] > 1 && s->dim[0] * s->dim[1] > 1;
}

static cornu_status fail_order(const layer *l, const shape *in, const shape *out)
{
    char from[128], to[128];
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found a %s from %s to %s, whose numbers PyTorch has in another "
                       "order; expected no images of several channels before or behind it",
                       l->name, l->kind->name, shape_show(in, false, from),
                       shape_show(out, false, to));
}

static bool is_a(const layer *l, const char *kind)
{
    return strcmp(l->kind->name, kind) == 0;
}

/* Follow the order of elements through a Flatten or a Reshape. */
static cornu_status follow_shape(const cornu_model *m, const model_node *n, int64_t flat[3])
{
    const shape *in = &m->nodes[n->inputs[0]].out, *out = &n->out;
    const shape image = image_of(m, in), next = image_of(m, out);
    const bool was_flat = flat[2] > 0;
    if (shape_equal(in, out))
        return CORNU_OK;
    if (has_order(&image) && out->rank == 1) {
        memcpy(flat, image.dim, 3 * sizeof *flat);
        return CORNU_OK;
    }
    const bool back = was_flat && next.rank == 3 && memcmp(flat, next.dim, 3 * sizeof *flat) == 0;
    if (!back && (was_flat || has_order(&image) || has_order(&next)))
        return fail_order(n->layer, in, out);
    memset(flat, 0, 3 * sizeof *flat);
    return CORNU_OK;
}

/* The order of this node's elements, whose input has the order `flat`. */
static cornu_status follow(const cornu_model *m, const model_node *n, int64_t flat[3])
{
    const shape *in = &m->nodes[n->inputs[0]].out, image = image_of(m, in);
    if (is_a(n->layer, "Flatten") || is_a(n->layer, "Reshape"))
        return follow_shape(m, n, flat);
    if ((is_a(n->layer, "Permute") || is_a(n->layer, "Transpose")) && has_order(&image))
        return fail_order(n->layer, in, &n->out);
    if (is_a(n->layer, "TimeDistributed") && in->rank > 2)
        return fail_order(n->layer, in, &n->out);
    if (flat[2] > 0 && !is_a(n->layer, "Dense") &&
        (n->out.rank != 1 || n->out.dim[0] != flat[0] * flat[1] * flat[2] ||
         is_a(n->layer, "GroupNormalization")))
        return fail_order(n->layer, in, &n->out);
    return CORNU_OK;
}

/* The order of a node's input; where several are merged, they must have one. */
static cornu_status input_order(const model_node *n, int64_t (*orders)[3], int64_t flat[3])
{
    memcpy(flat, orders[n->inputs[0]], sizeof *orders);
    for (int i = 1; i < n->input_count; i++)
        if (memcmp(flat, orders[n->inputs[i]], sizeof *orders) != 0)
            return status_fail(CORNU_UNSUPPORTED,
                               "%s: merges flattened images with others, whose numbers PyTorch has "
                               "in another order; expected to merge them before they are flattened",
                               n->layer->name);
    if (n->layer->kind->merges && flat[2] > 0 &&
        flat[0] * flat[1] * flat[2] != shape_elements(&n->out))
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: makes another number of outputs of flattened images, whose numbers "
                           "PyTorch has in another order; expected to merge them before they are "
                           "flattened",
                           n->layer->name);
    return CORNU_OK;
}

static torch_module *module_of(const layer *l, torch_module *modules, int count)
{
    for (int i = 0; i < count; i++)
        if (modules[i].layer == l)
            return &modules[i];
    return NULL;
}

/* A layer has one module, so all its calls must read numbers of one order. */
static cornu_status check_order(const torch_module *module, const int64_t flat[3])
{
    if (memcmp(module->flat, flat, sizeof module->flat) == 0)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: is called on flattened images and on others, whose numbers PyTorch has "
                       "in another order; expected calls on one kind",
                       module->layer->name);
}

/* The module of a node's layer, if it has weights, and the order of the node's output. */
static cornu_status add_module(const cornu_model *m, const model_node *n, int64_t flat[3],
                               torch_module *modules, int *count)
{
    TRY(follow(m, n, flat));
    if (n->layer->weight_count == 0)
        return CORNU_OK;
    torch_module *module = module_of(n->layer, modules, *count);
    if (module) {
        TRY(check_order(module, flat));
    } else {
        module = &modules[(*count)++];
        TRY(make_module(m, n->layer, flat, module));
    }
    if (module->kind == TORCH_LINEAR)
        memset(flat, 0, 3 * sizeof *flat);
    return CORNU_OK;
}

/* The modules of the model, in order. CORNU_UNSUPPORTED if a Reshape gives an image another
   order than PyTorch's, or a layer has variables that no module has. The caller frees *out. */
static cornu_status torch_modules(const cornu_model *m, torch_module **out, int *count)
{
    int64_t(*flat)[3] = NULL; /* [node_count] */
    *count = 0;
    TRY(memory_new((size_t)m->layer_count + 1, sizeof **out, "modules", out));
    cornu_status status = memory_new((size_t)m->node_count, sizeof *flat, "modules", &flat);
    for (int i = 1; status == CORNU_OK && i < m->node_count; i++) {
        if (m->nodes[i].output > 0) /* a state, which is no image */
            continue;
        status = input_order(&m->nodes[i], flat, flat[i]);
        if (status == CORNU_OK)
            status = add_module(m, &m->nodes[i], flat[i], *out, count);
    }
    free(flat);
    if (status != CORNU_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* Shape and order of elements of this variable in PyTorch. Its kernels are those of plans, which
   see a group for each channel of a depthwise convolution. */
static shape torch_shape(const cornu_model *m, int index)
{
    const variable *v = &m->variables[index];
    const int64_t *d = v->plan_shape.dim;
    if (v->shape.rank == 4)
        return (shape){4, {d[3], d[2], d[0], d[1]}};
    if (v->shape.rank == 3)
        return (shape){3, {d[3], d[2], d[1]}};
    return v->shape.rank == 2 ? (shape){2, {d[1], d[0]}} : v->shape;
}

/* The shape whose elements have that order. */
static const shape *ordered_shape(const variable *v)
{
    return v->shape.rank > 2 ? &v->plan_shape : &v->shape;
}

static weight_order torch_order(const cornu_model *m, const torch_module *module, torch_role role)
{
    int rank = m->variables[module->variable[role]].shape.rank;
    weight_order order = {.form = rank > 2    ? WEIGHT_KERNEL
                                  : rank == 2 ? WEIGHT_TRANSPOSED
                                              : WEIGHT_SAME};
    bool of_outputs = module->kind == TORCH_LINEAR && role == TORCH_BIAS;
    if (!of_outputs)
        memcpy(order.flat, module->flat, sizeof order.flat);
    return order;
}

/* The tensor that decides which layer a module is: the weight, or the mean. */
static torch_role torch_key(const torch_module *module)
{
    if (module->variable[TORCH_MEAN] >= 0)
        return TORCH_MEAN;
    return module->variable[TORCH_WEIGHT] >= 0 ? TORCH_WEIGHT : TORCH_BIAS;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Tensors whose names begin alike: "features.0" with its weight and bias. */
typedef struct group {
    const char *name; /* [length], prefix of a tensor's name; "" for a name without dot */
    size_t length;
    const file_tensor *tensor[TORCH_ROLES]; /* or NULL */
    torch_kind kind;
    bool used;
} group;

typedef struct state_dict {
    const tensor_file *file;
    cornu_model *model;
    group *groups; /* [group_count], in natural order of their names */
    int group_count;
    torch_module *modules;
    group **found; /* [module_count]: each module's group */
    int module_count;
} state_dict;

/* "(64, 3, 3, 3)" into out[128]. */
static char *show(const file_tensor *t, char *out)
{
    shape s = {.rank = t->rank <= SHAPE_MAX ? t->rank : SHAPE_MAX};
    memcpy(s.dim, t->shape, (size_t)s.rank * sizeof *s.dim);
    return shape_show(&s, false, out);
}

static bool has_shape(const file_tensor *t, const shape *s)
{
    return t->rank == s->rank && memcmp(t->shape, s->dim, (size_t)s->rank * sizeof *s->dim) == 0;
}

/* ---- names -------------------------------------------------------------------------------- */

/* The part of the name after the last dot. */
static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static size_t prefix_length(const char *name)
{
    const char *last = last_part(name);
    return last > name ? (size_t)(last - name) - 1 : 0;
}

static size_t digits(const char *name, size_t length)
{
    size_t count = 0;
    while (count < length && isdigit((unsigned char)name[count]))
        count++;
    return count;
}

/* Compare numbers within names by value: "features.10" comes after "features.3". */
static int compare_naturally(const char *a, size_t n, const char *b, size_t m)
{
    size_t i = 0, j = 0;
    while (i < n && j < m) {
        size_t di = digits(a + i, n - i), dj = digits(b + j, m - j);
        if (di > 0 && dj > 0) {
            if (di != dj)
                return di < dj ? -1 : 1;
            int order = memcmp(a + i, b + j, di);
            if (order != 0)
                return order;
            i += di;
            j += dj;
        } else if (a[i] != b[j]) {
            return (unsigned char)a[i] < (unsigned char)b[j] ? -1 : 1;
        } else {
            i++;
            j++;
        }
    }
    return (i < n) - (j < m);
}

static int compare_tensors(const void *a, const void *b)
{
    const char *x = (*(const file_tensor *const *)a)->name;
    const char *y = (*(const file_tensor *const *)b)->name;
    int order = compare_naturally(x, prefix_length(x), y, prefix_length(y));
    return order != 0 ? order : strcmp(x, y);
}

/* True if the names differ only in numbers. */
static bool same_but_numbers(const group *a, const group *b)
{
    size_t i = 0, j = 0;
    while (i < a->length && j < b->length) {
        size_t di = digits(a->name + i, a->length - i), dj = digits(b->name + j, b->length - j);
        if ((di > 0) != (dj > 0) || (di == 0 && a->name[i] != b->name[j]))
            return false;
        i += di ? di : 1;
        j += dj ? dj : 1;
    }
    return i == a->length && j == b->length;
}

/* "backbone.conv" of the layer "backbone/conv" */
static bool is_called(const group *g, const char *name)
{
    size_t i = 0;
    while (i < g->length && (name[i] == g->name[i] || (name[i] == '/' && g->name[i] == '.')))
        i++;
    return i == g->length && name[i] == 0;
}

/* ---- groups ------------------------------------------------------------------------------- */

static int role_of_tensor(const char *name)
{
    for (int role = 0; role < TORCH_ROLES; role++)
        if (strcmp(last_part(name), torch_role_name((torch_role)role)) == 0)
            return role;
    return -1;
}

/* BatchNorm's count of steps, which computes nothing. */
static bool is_count(const char *name)
{
    return strcmp(last_part(name), "num_batches_tracked") == 0;
}

static cornu_status add_tensor(state_dict *d, const file_tensor *t)
{
    size_t length = prefix_length(t->name);
    group *g = d->group_count > 0 ? &d->groups[d->group_count - 1] : NULL;
    int role = role_of_tensor(t->name);
    if (role < 0)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found the tensor %s; expected names that end in weight, bias, "
                           "running_mean or running_var",
                           d->file->path, t->name);
    if (t->type != ELEMENT_F32 && t->type != ELEMENT_F64)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected float32 or float64",
                           d->file->path, t->name, element_name(t->type));
    if (!g || g->length != length || memcmp(g->name, t->name, length) != 0) {
        g = &d->groups[d->group_count++];
        *g = (group){.name = t->name, .length = length};
    }
    g->tensor[role] = t;
    return CORNU_OK;
}

static cornu_status make_groups(state_dict *d)
{
    const file_tensor **sorted;
    int count = 0;
    cornu_status status = CORNU_OK;
    TRY(memory_new((size_t)d->file->count + 1, sizeof *d->groups, "tensors", &d->groups));
    TRY(memory_new((size_t)d->file->count + 1, sizeof *sorted, "tensors", &sorted));
    for (int i = 0; i < d->file->count; i++)
        if (!is_count(d->file->tensors[i].name))
            sorted[count++] = &d->file->tensors[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_tensors);
    for (int i = 0; status == CORNU_OK && i < count; i++)
        status = add_tensor(d, sorted[i]);
    free(sorted);
    for (int i = 0; i < d->group_count; i++) {
        group *g = &d->groups[i];
        const file_tensor *first =
            g->tensor[TORCH_WEIGHT] ? g->tensor[TORCH_WEIGHT] : g->tensor[TORCH_BIAS];
        g->kind = torch_kind_of(first ? first->rank : 0,
                                g->tensor[TORCH_MEAN] || g->tensor[TORCH_VARIANCE]);
    }
    return status;
}

/* ---- which module is which layer ---------------------------------------------------------- */

static bool fits(const state_dict *d, const group *g, const torch_module *m)
{
    torch_role key = torch_key(m);
    shape s = torch_shape(d->model, m->variable[key]);
    return g->kind == m->kind && g->tensor[key] && has_shape(g->tensor[key], &s);
}

/* Match modules by name, if the file has each layer's name. */
static bool find_by_names(state_dict *d)
{
    for (int i = 0; i < d->module_count; i++) {
        d->found[i] = NULL;
        for (int j = 0; j < d->group_count && !d->found[i]; j++)
            if (is_called(&d->groups[j], d->modules[i].layer->name))
                d->found[i] = &d->groups[j];
        if (!d->found[i])
            return false;
    }
    return true;
}

static cornu_status fail_none(const state_dict *d, const torch_module *m)
{
    char found[128], expected[128];
    torch_role key = torch_key(m);
    shape s = torch_shape(d->model, m->variable[key]);
    const char *whose = d->model->variables[m->variable[key]].name;
    shape_show(&s, false, expected);
    for (int i = 0; i < d->group_count; i++) {
        const group *g = &d->groups[i];
        if (!g->used && g->kind == m->kind && g->tensor[key])
            return status_fail(CORNU_BAD_FILE, "%s: %s: found shape %s; expected %s, of %s",
                               d->file->path, g->tensor[key]->name, show(g->tensor[key], found),
                               expected, whose);
    }
    return status_fail(CORNU_BAD_FILE, "%s: found no %s for %s; expected one with a %s of shape %s",
                       d->file->path, torch_kind_name(m->kind), whose, torch_role_name(key),
                       expected);
}

/* The first that is left of this kind and shape; others must follow it by number. */
static cornu_status find_next(const state_dict *d, const torch_module *m, group **out)
{
    *out = NULL;
    for (int i = 0; i < d->group_count; i++) {
        group *g = &d->groups[i];
        if (g->used || !fits(d, g, m))
            continue;
        if (!*out)
            *out = g;
        else if (!same_but_numbers(*out, g))
            return status_fail(CORNU_BAD_FILE,
                               "%s: found %.*s and %.*s, both of the shape of %s; expected names "
                               "that differ in numbers alone, or all layers of the recipe called "
                               "as the modules are",
                               d->file->path, (int)(*out)->length, (*out)->name, (int)g->length,
                               g->name, m->layer->name);
    }
    return *out ? CORNU_OK : fail_none(d, m);
}

static cornu_status find_all(state_dict *d)
{
    bool named = find_by_names(d);
    for (int i = 0; i < d->module_count; i++) {
        if (!named)
            TRY(find_next(d, &d->modules[i], &d->found[i]));
        d->found[i]->used = true;
    }
    for (int i = 0; i < d->group_count; i++)
        for (int role = 0; role < TORCH_ROLES && !d->groups[i].used; role++)
            if (d->groups[i].tensor[role])
                return status_fail(CORNU_BAD_FILE,
                                   "%s: found %s; expected no more than the weights of the model's "
                                   "%d layers that have some",
                                   d->file->path, d->groups[i].tensor[role]->name, d->module_count);
    return CORNU_OK;
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* All elements as doubles or floats, as the file has them. */
static cornu_status read_all(const file_tensor *t, void *out)
{
    void **values = out;
    TRY(memory_new((size_t)t->count + 1, element_size(t->type), t->name, values));
    cornu_status status = tensor_read(t, *values);
    if (status != CORNU_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

static float element_at(const file_tensor *t, const void *values, int64_t i)
{
    return t->type == ELEMENT_F32 ? ((const float *)values)[i] : (float)((const double *)values)[i];
}

/* A factor of 1 or a summand of 0 that the layer does not have changes nothing. */
static cornu_status check_idle(const state_dict *d, const torch_module *m, torch_role role,
                               const file_tensor *t)
{
    float idle = role == TORCH_WEIGHT ? 1 : 0;
    void *values;
    cornu_status status = CORNU_OK;
    TRY(read_all(t, &values));
    for (int64_t i = 0; status == CORNU_OK && i < t->count; i++)
        if (element_at(t, values, i) < idle || element_at(t, values, i) > idle)
            status =
                status_fail(CORNU_BAD_FILE, "%s: %s: found %g; expected %g alone, as %s has no %s",
                            d->file->path, t->name, (double)element_at(t, values, i), (double)idle,
                            m->layer->name, torch_role_name(role));
    free(values);
    return status;
}

static cornu_status check_tensor(const state_dict *d, const torch_module *m, const group *g,
                                 torch_role role)
{
    char found[128], expected[128];
    int index = m->variable[role];
    const file_tensor *t = g->tensor[role];
    if (index < 0)
        return t ? check_idle(d, m, role, t) : CORNU_OK;
    shape s = torch_shape(d->model, index);
    if (!t)
        return status_fail(CORNU_BAD_FILE, "%s: found no %.*s%s%s; expected one of shape %s, of %s",
                           d->file->path, (int)g->length, g->name, g->length ? "." : "",
                           torch_role_name(role), shape_show(&s, false, expected),
                           d->model->variables[index].name);
    if (!has_shape(t, &s))
        return status_fail(CORNU_BAD_FILE, "%s: %s: found shape %s%s; expected %s, of %s",
                           d->file->path, t->name, show(t, found),
                           t->rank > SHAPE_MAX ? " and more" : "", shape_show(&s, false, expected),
                           d->model->variables[index].name);
    return CORNU_OK;
}

static cornu_status copy_tensor(const state_dict *d, const torch_module *m, torch_role role,
                                const file_tensor *t)
{
    const variable *v = &d->model->variables[m->variable[role]];
    weight_order order = torch_order(d->model, m, role);
    void *values;
    TRY(read_all(t, &values));
    for (int64_t i = 0; i < v->count; i++)
        v->value[i] = element_at(t, values, weight_order_index(&order, ordered_shape(v), i));
    free(values);
    return CORNU_OK;
}

/* All checks come before the first weight changes. */
static cornu_status take_all(const state_dict *d)
{
    for (int i = 0; i < d->module_count; i++)
        for (int role = 0; role < TORCH_ROLES; role++)
            TRY(check_tensor(d, &d->modules[i], d->found[i], (torch_role)role));
    TRY(model_start_weights(d->model));
    for (int i = 0; i < d->module_count; i++)
        for (int role = 0; role < TORCH_ROLES; role++)
            if (d->modules[i].variable[role] >= 0)
                TRY(copy_tensor(d, &d->modules[i], (torch_role)role, d->found[i]->tensor[role]));
    return CORNU_OK;
}

/* A layer that is left out counts as if neither the model nor the file had it. */
static void leave_out(state_dict *d, const char *const *skip)
{
    int kept = 0;
    for (int i = 0; i < d->module_count; i++)
        if (!skip_has(skip, d->modules[i].layer->name))
            d->modules[kept++] = d->modules[i];
    d->module_count = kept;
    for (int i = 0; i < d->group_count; i++)
        d->groups[i].used = skip_has_module(skip, d->groups[i].name, d->groups[i].length);
}

cornu_status torch_read(const tensor_file *f, cornu_model *m, const char *const *skip)
{
    state_dict d = {.file = f, .model = m};
    cornu_status status = skip_check(skip, f, m);
    if (status == CORNU_OK)
        status = torch_modules(m, &d.modules, &d.module_count);
    if (status == CORNU_OK)
        status = memory_new((size_t)d.module_count + 1, sizeof(group *), "modules", &d.found);
    if (status == CORNU_OK)
        status = make_groups(&d);
    if (status == CORNU_OK)
        leave_out(&d, skip);
    if (status == CORNU_OK)
        status = find_all(&d);
    if (status == CORNU_OK)
        status = take_all(&d);
    free(d.modules);
    free(d.found);
    free(d.groups);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

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
        out[weight_order_index(&order, ordered_shape(v), i)] = v->value[i];
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
    TRY(memory_format(&t->name, "%s.%s", c->modules[module].layer->name, torch_role_name(role)));
    for (char *slash = t->name; (slash = strchr(slash, '/'));) /* of a submodel */
        *slash = '.';
    return CORNU_OK;
}

/* A normalization of PyTorch's has both factor and summand, or neither. */
static cornu_status add_tensors(content *c, int number)
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
        TRY(add_tensors(c, i));
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

/* Weights from a state_dict: see torch.h. The names of a file's tensors divide it into modules,
   then each layer finds its module. */
#include "base/memory.h"
#include "exchange/torch/torch.h"
#include "exchange/weight_skip.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_called(const group *g, const char *name)
{
    return strlen(name) == g->length && memcmp(name, g->name, g->length) == 0;
}

/* ---- groups ------------------------------------------------------------------------------- */

static int role_of(const char *name)
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
    int role = role_of(t->name);
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
        v->value[i] = element_at(t, values, weight_order_index(&order, &v->shape, i));
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
        if (!skip_has_weight(skip, d->modules[i].layer->name))
            d->modules[kept++] = d->modules[i];
    d->module_count = kept;
    for (int i = 0; i < d->group_count; i++)
        d->groups[i].used = skip_has(skip, d->groups[i].name, d->groups[i].length);
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

/* Loads weights one by one, with the by_name and skip_mismatch of Keras's load_weights: see
   weight_match.h. */
#include "exchange/weight_match.h"
#include "base/memory.h"
#include "exchange/keras/keras.h"
#include "exchange/weight_skip.h"
#include <cornu/exchange.h>
#include <stdlib.h>
#include <string.h>

/* ---- one weight -------------------------------------------------------------------------- */

cornu_status weight_check(const tensor_file *f, const variable *v, const file_tensor *t)
{
    char expected[128], found[128];
    if (!t)
        return status_fail(CORNU_BAD_FILE, "%s: found no %s; expected one of shape %s", f->path,
                           v->name, shape_show(&v->shape, false, expected));
    shape s = {.rank = t->rank <= SHAPE_MAX ? t->rank : 0};
    memcpy(s.dim, t->shape, (size_t)s.rank * sizeof *s.dim);
    if (t->rank > SHAPE_MAX || !shape_equal(&s, &v->shape))
        return status_fail(CORNU_BAD_FILE, "%s: %s: found shape %s%s; expected %s", f->path,
                           v->name, shape_show(&s, false, found),
                           t->rank > SHAPE_MAX ? " and more" : "",
                           shape_show(&v->shape, false, expected));
    if (t->type != ELEMENT_F32 && t->type != ELEMENT_F64)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected float32 or float64", f->path,
                           v->name, element_name(t->type));
    return CORNU_OK;
}

cornu_status weight_copy(variable *v, const file_tensor *t)
{
    double *values;
    if (t->type == ELEMENT_F32)
        return tensor_read(t, v->value);
    TRY(memory_new((size_t)v->count, sizeof *values, t->name, &values));
    cornu_status status = tensor_read(t, values);
    for (int64_t i = 0; status == CORNU_OK && i < v->count; i++)
        v->value[i] = (float)values[i];
    free(values);
    return status;
}

/* ---- layers ------------------------------------------------------------------------------ */

typedef struct match {
    const tensor_file *f;
    const cornu_model *m;
    const cornu_weights_options *o;
    bool *fits;           /* [m->weight_count] */
    int layers, taken;    /* layers with weights; layers with some weights loaded */
    text absent, misfits; /* unchanged layers, and unchanged weights with the reason */
} match;

static int weights_in_file(const match *c, const layer *l)
{
    size_t length = strlen(l->name);
    int count = 0;
    for (int i = 0; i < c->f->count; i++)
        count += strncmp(c->f->tensors[i].name, l->name, length) == 0 &&
                 c->f->tensors[i].name[length] == '/';
    return count;
}

/* The last error's, without the file's name, which is said once. */
static const char *reason(const match *c)
{
    const char *message = cornu_last_error();
    size_t length = strlen(c->f->path);
    bool named = strncmp(message, c->f->path, length) == 0 && message[length] == ':';
    return named ? message + length + 2 : message;
}

static cornu_status leave(match *c, cornu_status status)
{
    if (status != CORNU_BAD_FILE)
        return status;
    if (!c->o->skip_mismatch)
        return status_fail(CORNU_BAD_FILE, "%s: %s (with skip_mismatch it stays as it is)",
                           c->f->path, reason(c));
    text_add(&c->misfits, "%s%s", c->misfits.length ? "; " : "", reason(c));
    return CORNU_OK;
}

static cornu_status check_count(const match *c, const layer *l, int found)
{
    if (found == l->weight_count)
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE, "%s: layer %s: found %d %s; expected %d", c->f->path,
                       l->name, found, PLURAL(found, "weight", "weights"), l->weight_count);
}

/* By name a fitting weight is loaded even if another weight of the layer does not fit, as in
   Keras; by order a layer is loaded completely or not at all. */
static cornu_status check_layer(match *c, const layer *l)
{
    bool *fits = &c->fits[l->first_variable];
    int count = 0;
    for (int i = 0; i < l->weight_count; i++) {
        const variable *v = &c->m->variables[l->first_variable + i];
        cornu_status status = weight_check(c->f, v, tensor_file_find(c->f, v->name));
        fits[i] = status == CORNU_OK;
        count += fits[i];
        if (!fits[i])
            TRY(leave(c, status));
    }
    if (!c->o->by_name && count < l->weight_count)
        memset(fits, 0, (size_t)l->weight_count * sizeof *fits);
    c->taken += c->o->by_name ? count > 0 : count == l->weight_count;
    return CORNU_OK;
}

static cornu_status check(match *c)
{
    for (int i = 0; i < c->m->layer_count; i++) {
        const layer *l = c->m->layers[i];
        int found = weights_in_file(c, l);
        if (l->weight_count == 0 || skip_has(c->o->skip, l->name, strlen(l->name)))
            continue;
        c->layers++;
        if (found == 0) {
            text_add(&c->absent, "%s%s", c->absent.length ? ", " : "", l->name);
            continue;
        }
        cornu_status status = check_count(c, l, found);
        TRY(status == CORNU_OK ? check_layer(c, l) : leave(c, status));
    }
    if (c->taken > 0)
        return CORNU_OK;
    if (c->misfits.length)
        return status_fail(CORNU_BAD_FILE, "%s: found weights that fit no layer: %s", c->f->path,
                           c->misfits.data ? c->misfits.data : "");
    return status_fail(CORNU_BAD_FILE,
                       "%s: found no weights for any layer of %.600s; expected those of at least "
                       "one",
                       c->f->path, c->absent.data ? c->absent.data : "the model");
}

static void tell(const match *c)
{
    text line = {0};
    if (!c->o->on_notice)
        return;
    text_add(&line, "%s: found weights for %d of %d layers", c->f->path, c->taken, c->layers);
    if (c->absent.length)
        text_add(&line, "; not in the file, and as before: %s", c->absent.data);
    if (c->misfits.length)
        text_add(&line, "; of other shapes, and as before: %s", c->misfits.data);
    if (line.data && !line.failed)
        c->o->on_notice(c->o->user, line.data);
    text_free(&line);
}

static cornu_status take(const match *c, cornu_model *m)
{
    TRY(model_start_weights(m));
    for (int i = 0; i < m->weight_count; i++)
        if (c->fits[i])
            TRY(weight_copy(&m->variables[i], tensor_file_find(c->f, m->variables[i].name)));
    tell(c);
    return CORNU_OK;
}

/* Rename the file's tensors to the model's weights. */
static cornu_status read_names(tensor_file *f, const cornu_model *m, const cornu_weights_options *o)
{
    if (!keras_path_is(f->path))
        return o->by_name ? CORNU_OK
                          : status_fail(CORNU_INVALID,
                                        "%s: found skip_mismatch without by_name; expected both, "
                                        "as its weights go by names",
                                        f->path);
    TRY(keras_read_metadata(f));
    return keras_read_partners(f, m, o->by_name);
}

cornu_status weight_match_read(tensor_file *f, cornu_model *m, const cornu_weights_options *o)
{
    match c = {.f = f, .m = m, .o = o};
    TRY(read_names(f, m, o));
    TRY(skip_check(o->skip, f, m));
    TRY(memory_new((size_t)m->weight_count + 1, sizeof *c.fits, "layers", &c.fits));
    cornu_status status = check(&c);
    if (status == CORNU_OK)
        status = take(&c, m);
    free(c.fits);
    text_free(&c.absent);
    text_free(&c.misfits);
    return status;
}

#include "exchange/weights.h"
#include "base/memory.h"
#include "exchange/checkpoint.h"
#include "exchange/keras/keras.h"
#include "exchange/onnx.h"
#include "exchange/torch.h"
#include "format/tensor_file.h"
#include <cornu/exchange.h>
#include <stdlib.h>
#include <string.h>

/* ---- cornu's and Keras's ----------------------------------------------------------------- */

static bool is_state(const char *name)
{
    return strncmp(name, "optimizer/", 10) == 0 || strncmp(name, "callbacks/", 10) == 0;
}

/* All checks come before the first weight changes. */
static cornu_status check_weights(const tensor_file *f, const cornu_model *m,
                                  const char *const *skip)
{
    for (int i = 0; i < m->weight_count; i++)
        if (!skip_has(skip, m->variables[i].name))
            TRY(weight_check(f, &m->variables[i], tensor_file_find(f, m->variables[i].name)));
    for (int i = 0; i < f->count; i++)
        if (!is_state(f->tensors[i].name) && !model_variable(m, f->tensors[i].name) &&
            !skip_has(skip, f->tensors[i].name))
            return status_fail(CORNU_BAD_FILE,
                               "%s: found %s; expected only weights of the model, "
                               "such as %s",
                               f->path, f->tensors[i].name,
                               m->weight_count ? m->variables[0].name : "none");
    return CORNU_OK;
}

static cornu_status take_weights(tensor_file *f, cornu_model *model, const char *const *skip)
{
    if (keras_path_is(f->path)) { /* the optimizer's state stays where it is, as of other files */
        TRY(keras_read_metadata(f));
        TRY(keras_read_weight_names(f, model));
    }
    TRY(skip_check(skip, f, model));
    TRY(check_weights(f, model, skip));
    TRY(model_start_weights(model));
    for (int i = 0; i < model->weight_count; i++)
        if (!skip_has(skip, model->variables[i].name))
            TRY(weight_copy(&model->variables[i], tensor_file_find(f, model->variables[i].name)));
    return CORNU_OK;
}

/* ---- ONNX's ------------------------------------------------------------------------------ */

/* The weights of a chain, which has no names that last, in its order. */
static cornu_status take_in_order(const cornu_model *from, const char *path, cornu_model *to,
                                  const char *const *skip)
{
    char found[128], expected[128];
    TRY(skip_check(skip, NULL, to));
    if (model_branches(from) || model_branches(to))
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found a network that branches, whose weights have neither names "
                           "that last nor one order; expected a chain of layers (the file itself "
                           "can be opened as a model and trained)",
                           path);
    if (from->weight_count != to->weight_count)
        return status_fail(CORNU_BAD_FILE, "%s: found %d %s; expected the model's %d", path,
                           from->weight_count, PLURAL(from->weight_count, "weight", "weights"),
                           to->weight_count);
    for (int i = 0; i < to->weight_count; i++) {
        const variable *a = &from->variables[i], *b = &to->variables[i];
        if (!skip_has(skip, b->name) && !shape_equal(&a->shape, &b->shape))
            return status_fail(CORNU_BAD_FILE,
                               "%s: weight %d, %s: found shape %s; expected %s, of %s", path, i + 1,
                               a->name, shape_show(&a->shape, false, found),
                               shape_show(&b->shape, false, expected), b->name);
    }
    TRY(model_start_weights(to));
    for (int i = 0; i < to->weight_count; i++)
        if (!skip_has(skip, to->variables[i].name))
            memcpy(to->variables[i].value, from->variables[i].value,
                   (size_t)to->variables[i].count * sizeof(float));
    return CORNU_OK;
}

static cornu_status load_onnx(const char *path, cornu_model *model, const char *const *skip)
{
    cornu_model *from;
    TRY(import_onnx(path, &from));
    cornu_status status = take_in_order(from, path, model, skip);
    cornu_model_close(from);
    return status;
}

/* ---- all --------------------------------------------------------------------------------- */

static bool matches(const cornu_weights_options *o)
{
    return o->by_name || o->skip_mismatch;
}

/* Refuse by_name and skip_mismatch for files whose layers have no names, or not Keras's. */
static cornu_status check_matching(const cornu_weights_options *o, const char *path)
{
    const char *asked = o->by_name ? "by_name" : "skip_mismatch";
    if (matches(o) && o->names)
        return status_fail(CORNU_INVALID, "names: found %.40s and %s; expected one of the two",
                           o->names, asked);
    if (matches(o) && path_has_ending(path, ".onnx"))
        return status_fail(CORNU_INVALID,
                           "%s: found %s; expected neither by_name nor skip_mismatch for an ONNX "
                           "file, whose weights go by their order",
                           path, asked);
    return CORNU_OK;
}

static cornu_status check_names(const char *names, const char *path, bool *torch)
{
    *torch = names != NULL;
    if (names && strcmp(names, "torch") != 0)
        return status_fail(CORNU_INVALID, "names: found %.40s; expected torch", names);
    if (names && !path_has_ending(path, ".safetensors"))
        return status_fail(
            CORNU_INVALID,
            "%s: found another name; expected one in .safetensors for names as torch "
            "has them",
            path);
    return CORNU_OK;
}

cornu_status cornu_model_load_weights(cornu_model *model, const char *path)
{
    return cornu_model_load_weights_as(model, path, NULL);
}

cornu_status cornu_model_load_weights_as(cornu_model *model, const char *path,
                                         const cornu_weights_options *options)
{
    cornu_weights_options own, *const o = &own;
    tensor_file *f;
    bool torch;
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_load_weights: found NULL; expected a model and a path");
    TRY(model_check_free(model));
    TRY(STRUCT_READ("cornu_weights_options", options, &own));
    TRY(check_matching(o, path));
    TRY(check_names(o->names, path, &torch));
    if (path_has_ending(path, ".onnx"))
        return load_onnx(path, model, o->skip);
    TRY(tensor_file_open(path, &f));
    cornu_status status = torch        ? torch_read(f, model, o->skip)
                          : matches(o) ? weight_match_read(f, model, o)
                                       : take_weights(f, model, o->skip);
    tensor_file_close(f);
    return status;
}

cornu_status cornu_model_save_weights(const cornu_model *model, const char *path,
                                      const cornu_weights_options *options)
{
    cornu_weights_options own, *const o = &own;
    bool torch;
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_save_weights: found NULL; expected a model and a path");
    TRY(STRUCT_READ("cornu_weights_options", options, &own));
    TRY(check_names(o->names, path, &torch));
    TRY(checkpoint_check(path, "cornu_model_save_weights"));
    if (!model->initialized)
        return status_fail(CORNU_INVALID,
                           "%s: found a model without weights; expected one that was initialized, "
                           "loaded or trained",
                           path);
    const live_weights *live = model->live;
    if (live)
        TRY(live->pull(live->context, 0, model->weight_count));
    return torch ? torch_write(model, path) : checkpoint_write_weights(model, path, NULL);
}

/* ---- single weights, and the layers that a file and a model have in common -------------- */

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
    if (t->type != ELEMENT_F32 && t->type != ELEMENT_F64 && !weight_is_count(t))
        return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected float32 or float64", f->path,
                           v->name, element_name(t->type));
    return CORNU_OK;
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
        if (l->weight_count == 0 || skip_has(c->o->skip, l->name))
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
    if (!c->o->on_notice || (!c->absent.length && !c->misfits.length))
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

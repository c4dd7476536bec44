/* cornu_model_load_weights, _save_weights: files of several kinds that have only weights. */
#include "base/memory.h"
#include "exchange/checkpoint.h"
#include "exchange/keras/keras.h"
#include "exchange/onnx.h"
#include "exchange/torch/torch.h"
#include "exchange/weight_match.h"
#include "exchange/weight_skip.h"
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
        if (!skip_has_weight(skip, m->variables[i].name))
            TRY(weight_check(f, &m->variables[i], tensor_file_find(f, m->variables[i].name)));
    for (int i = 0; i < f->count; i++)
        if (!is_state(f->tensors[i].name) && !model_variable(m, f->tensors[i].name) &&
            !skip_has_weight(skip, f->tensors[i].name))
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
        if (!skip_has_weight(skip, model->variables[i].name))
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
    if (from->weight_count != to->weight_count)
        return status_fail(CORNU_BAD_FILE, "%s: found %d %s; expected the model's %d", path,
                           from->weight_count, PLURAL(from->weight_count, "weight", "weights"),
                           to->weight_count);
    for (int i = 0; i < to->weight_count; i++) {
        const variable *a = &from->variables[i], *b = &to->variables[i];
        if (!skip_has_weight(skip, b->name) && !shape_equal(&a->shape, &b->shape))
            return status_fail(CORNU_BAD_FILE,
                               "%s: weight %d, %s: found shape %s; expected %s, of %s", path, i + 1,
                               a->name, shape_show(&a->shape, false, found),
                               shape_show(&b->shape, false, expected), b->name);
    }
    TRY(model_start_weights(to));
    for (int i = 0; i < to->weight_count; i++)
        if (!skip_has_weight(skip, to->variables[i].name))
            memcpy(to->variables[i].value, from->variables[i].value,
                   (size_t)to->variables[i].count * sizeof(float));
    return CORNU_OK;
}

static cornu_status load_onnx(const char *path, cornu_model *model, const char *const *skip)
{
    cornu_model *chain;
    TRY(import_onnx(path, &chain));
    cornu_status status = take_in_order(chain, path, model, skip);
    cornu_model_close(chain);
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
    static const cornu_weights_options defaults;
    const cornu_weights_options *o = options ? options : &defaults;
    tensor_file *f;
    bool torch;
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_load_weights: found NULL; expected a model and a path");
    TRY(CHECK_RESERVE("cornu_weights_options", o));
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
    static const cornu_weights_options defaults;
    const cornu_weights_options *o = options ? options : &defaults;
    bool torch;
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_save_weights: found NULL; expected a model and a path");
    TRY(CHECK_RESERVE("cornu_weights_options", o));
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

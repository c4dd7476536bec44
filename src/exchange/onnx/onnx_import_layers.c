/* Helpers for all operators: layers of the model so far, and their weights. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Onnx__NodeProto *node(const onnx_import *im)
{
    return im->nodes[im->at];
}

/* ---- the model so far --------------------------------------------------------------------- */

cornu_status onnx_add_layer(onnx_import *im, const char *kind, const char *format, ...)
{
    char text_of[512];
    doc *options;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text_of, sizeof text_of, format, arguments);
    va_end(arguments);
    TRY(doc_parse(text_of, strlen(text_of), im->path, &options));
    cornu_status status = model_add_layer(im->model, kind, options);
    doc_free(options);
    return status == CORNU_OK ? status : onnx_import_fail(im, "%s", cornu_last_error());
}

/* Weight `number` of the layer that was added last comes from this tensor. */
cornu_status onnx_add_source(onnx_import *im, int number, const Onnx__TensorProto *t,
                             weight_form form)
{
    const cornu_model *m = im->model;
    const layer *l = m->layers[m->layer_count - 1];
    int index = l->first_variable + number;
    if (number >= l->weight_count || m->variables[index].count != onnx_floats(t))
        return onnx_import_fail(im,
                                "found a constant of %lld floats; expected %lld, in the file "
                                "itself, for %s",
                                (long long)onnx_floats(t),
                                number < l->weight_count ? (long long)m->variables[index].count : 0,
                                number < l->weight_count ? m->variables[index].name : l->name);
    im->room -= onnx_floats(t);
    if (im->room < 0)
        return onnx_import_fail(im, "found constants that are read so often that the weights would "
                                    "be more than four times the file; expected fewer");
    TRY(memory_grow(&im->sources, &im->source_capacity, im->source_count + 1, sizeof *im->sources));
    weight_source *s = &im->sources[im->source_count++];
    *s = (weight_source){.variable = index, .tensor = t, .order.form = form};
    if (im->order == ORDER_FLAT)
        memcpy(s->order.flat, im->flat, sizeof s->order.flat);
    return CORNU_OK;
}

const Onnx__NodeProto *onnx_next_is(const onnx_import *im, size_t ahead, const char *kind,
                                    const char *reads, const char **other)
{
    if (im->at + ahead >= im->node_count)
        return NULL;
    const Onnx__NodeProto *n = im->nodes[im->at + ahead];
    if (!n->op_type || strcmp(n->op_type, kind) != 0 || n->n_output < 1)
        return NULL;
    for (size_t i = 0; i < n->n_input && i < 2; i++)
        if (strcmp(n->input[i], reads) == 0) {
            *other = onnx_input_name(n, 1 - i);
            return n;
        }
    return NULL;
}

cornu_status onnx_done(onnx_import *im, size_t ahead)
{
    im->at += ahead;
    im->value = node(im)->output[0];
    return CORNU_OK;
}

cornu_status onnx_want_image(const onnx_import *im)
{
    if (im->order == ORDER_FIRST)
        return CORNU_OK;
    return onnx_import_fail(im, "found an input that is no image (batch, channels, height, width); "
                                "expected one");
}

static bool keeps_rank(const onnx_import *im, const Onnx__TensorProto *t)
{
    return t->n_dims <= (size_t)im->model->output.rank + 1;
}

bool onnx_is_row(const onnx_import *im, const Onnx__TensorProto *t, int64_t count)
{
    return onnx_floats(t) == count && t->n_dims >= 1 && t->dims[t->n_dims - 1] == count &&
           keeps_rank(im, t);
}

bool onnx_is_number(const onnx_import *im, const char *name, double *value)
{
    const Onnx__TensorProto *t = onnx_constant_of(im, name);
    if (onnx_floats(t) != 1 || !keeps_rank(im, t))
        return false;
    *value = (double)onnx_float_at(t, 0);
    return isfinite(*value);
}

bool onnx_is_near(const onnx_import *im, const char *name, double value)
{
    double found;
    return onnx_is_number(im, name, &found) && fabs(found - value) < 1e-6;
}

cornu_status onnx_add_reshape(onnx_import *im, const shape *target)
{
    char list[160] = "";
    for (int i = 0; i < target->rank; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%lld", i ? ", " : "",
                 (long long)target->dim[i]);
    return onnx_add_layer(im, "Reshape", "{target_shape: [%s]}", list);
}

/* Zeros around the image, where the window's padding is no "same". */
cornu_status onnx_add_padding(onnx_import *im, const window2d *w, bool same)
{
    if (same || (w->before[0] | w->before[1] | w->after[0] | w->after[1]) == 0)
        return CORNU_OK;
    return onnx_add_layer(im, "ZeroPadding2D", "{padding: [[%lld, %lld], [%lld, %lld]]}",
                          (long long)w->before[0], (long long)w->after[0], (long long)w->before[1],
                          (long long)w->after[1]);
}

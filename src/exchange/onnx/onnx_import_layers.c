/* What operators of several kinds need to become layers with weights. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <stdio.h>
#include <string.h>

cornu_status onnx_add_part(onnx_import *im, int number, const Onnx__TensorProto *t,
                           const weight_order *order, int64_t summand)
{
    const layer *l = im->model->layers[im->model->layer_count - 1];
    im->room -= im->model->variables[l->first_variable + number].count;
    if (im->room < 0)
        return onnx_import_fail(im, "found constants that are read so often that the weights would "
                                    "be more than four times the file; expected fewer");
    TRY(memory_grow(&im->sources, &im->source_capacity, im->source_count + 1, sizeof *im->sources));
    im->sources[im->source_count++] = (weight_source){
        .layer = l, .number = number, .tensor = t, .order = *order, .summand = summand};
    return CORNU_OK;
}

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
    weight_order order = {.form = form};
    if (im->x.order == ORDER_FLAT)
        memcpy(order.flat, im->x.flat, sizeof order.flat);
    return onnx_add_part(im, number, t, &order, 0);
}

cornu_status onnx_want_image(const onnx_import *im)
{
    if (im->x.order == ORDER_FIRST)
        return CORNU_OK;
    return onnx_import_fail(im, "found an input that is no image (batch, channels, height, width); "
                                "expected one");
}

cornu_status onnx_add_reshape(onnx_import *im, const shape *target)
{
    char list[160] = "";
    for (int i = 0; i < target->rank; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%lld", i ? ", " : "",
                 (long long)target->dim[i]);
    return onnx_add_layer(im, "Reshape", "{target_shape: [%s]}", list);
}

cornu_status onnx_add_padding(onnx_import *im, const window2d *w, bool same)
{
    if (same || (w->before[0] | w->before[1] | w->after[0] | w->after[1]) == 0)
        return CORNU_OK;
    return onnx_add_layer(im, "ZeroPadding2D", "{padding: [[%lld, %lld], [%lld, %lld]]}",
                          (long long)w->before[0], (long long)w->after[0], (long long)w->before[1],
                          (long long)w->after[1]);
}

const char *onnx_added_bias(const onnx_import *im, int64_t units, size_t from_end, int *sum)
{
    const char *other = "";
    *sum = onnx_reader(im, im->at, "Add", &other);
    if (*sum < 0)
        return "";
    const Onnx__TensorProto *t = onnx_constant_of(im, other);
    bool fits = onnx_floats(t) == units && t->n_dims >= from_end &&
                t->n_dims <= (size_t)im->x.shape.rank + 1 && t->dims[t->n_dims - from_end] == units;
    return fits ? other : "";
}

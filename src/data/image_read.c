/* Single pictures for the caller. */
#include "base/memory.h"
#include "data/data.h"
#include "data/image.h"
#include "model/model.h"
#include <stdlib.h>

static cornu_status read_scaled(const char *path, const shape *s, const image_filter *filter,
                                double scale, float *values)
{
    image from = {0};
    uint8_t *pixels = NULL;
    int64_t count = shape_elements(s);
    cornu_status status;
    TRY_GOTO(image_open(path, &from));
    TRY_GOTO(memory_new((size_t)count, 1, "image", &pixels));
    TRY_GOTO(image_fit(&from, s->dim[0], s->dim[1], s->dim[2], filter, pixels));
    for (int64_t i = 0; i < count; i++)
        values[i] = scale < 0 ? (float)pixels[i] / 255.0f : (float)pixels[i] * (float)scale;
done:
    free(pixels);
    image_close(&from);
    return status;
}

cornu_status cornu_image_read(const char *path, int64_t height, int64_t width, int64_t channels,
                              float *values)
{
    if (!path || !values || height < 1 || width < 1 || height > IMAGE_PIXELS_MAX / width ||
        (channels != 1 && channels != 3))
        return status_fail(CORNU_INVALID,
                           "cornu_image_read: found size %lldx%lldx%lld; expected 1 or more, and 1 "
                           "or 3 channels",
                           (long long)height, (long long)width, (long long)channels);
    return read_scaled(path, &(shape){3, {height, width, channels}}, NULL, -1, values);
}

cornu_status cornu_model_read_image(const cornu_model *model, const char *path, float *values)
{
    char found[128];
    data_spec spec;
    if (!model || !path || !values)
        return status_fail(CORNU_INVALID, "cornu_model_read_image: found NULL; expected a model, a "
                                          "path and room for values");
    const shape *s = &model->input;
    if (s->rank != 3 || (s->dim[2] != 1 && s->dim[2] != 3))
        return status_fail(CORNU_INVALID,
                           "the model's input is %s; expected (height, width, 1 or 3) of images",
                           shape_show(s, false, found));
    TRY(data_spec_read(model->data, &spec));
    double scale = spec.scale > 0 ? spec.scale : (double)model_pixel_scale(model);
    return read_scaled(path, s, image_filter_named(spec.interpolation), scale, values);
}

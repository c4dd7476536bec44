/* Reading single pictures for the caller. */
#include "base/memory.h"
#include "data/data.h"
#include "data/images/image.h"
#include "model/model.h"
#include <cornu/images.h>
#include <stdlib.h>
#include <string.h>

static cornu_status picture_of(const shape *s, const char *what, shape *picture)
{
    char found[128];
    if (shape_picture(s, picture))
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "%s: found %s, which is no picture; expected " SHAPE_PICTURES,
                       what, shape_show(s, false, found));
}

static cornu_status give_picture(const shape *s, const char *what, int64_t out[3])
{
    shape picture;
    TRY(picture_of(s, what, &picture));
    memcpy(out, picture.dim, 3 * sizeof *out);
    return CORNU_OK;
}

cornu_status cornu_model_picture_shape(const cornu_model *model, int64_t out[3])
{
    if (!model || !out)
        return status_fail(CORNU_INVALID, "cornu_model_picture_shape: found NULL; expected a model "
                                          "and a place for the shape");
    return give_picture(&model->input, "the model's input", out);
}

cornu_status cornu_data_picture_shape(const cornu_data *data, int64_t out[3])
{
    if (!data || !out)
        return status_fail(CORNU_INVALID, "cornu_data_picture_shape: found NULL; expected data and "
                                          "a place for the shape");
    return give_picture(&data->block[data->block[0].count > 0 ? 0 : 1].x_shape, data->name, out);
}

static bool is_size(int64_t height, int64_t width, int64_t channels, int64_t most)
{
    return height >= 1 && width >= 1 && height <= most / width && (channels == 1 || channels == 3);
}

static cornu_status check_options(const cornu_image_options *o, const image_filter *filter)
{
    bool own = o->height == 0 && o->width == 0;
    TRY(CHECK_RESERVE("cornu_image_options", o));
    if (!filter)
        return status_fail(CORNU_INVALID, "interpolation: found \"%s\"; expected " IMAGE_FILTERS,
                           o->interpolation);
    if ((own || is_size(o->height, o->width, 1, IMAGE_PIXELS_MAX)) &&
        (o->channels == 0 || o->channels == 1 || o->channels == 3))
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "image size: found %lldx%lldx%lld; expected 1 or more, and 1 or 3 channels",
                       (long long)o->height, (long long)o->width, (long long)o->channels);
}

static cornu_status open_given(const char *path, const void *file, size_t size, image *out)
{
    if (!file)
        return image_open(path, out);
    cornu_status status = image_decode(file, size, out);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", path);
}

cornu_status cornu_image_load(const char *path, const void *file, size_t size,
                              const cornu_image_options *options, uint8_t **pixels,
                              int64_t sizes[3])
{
    cornu_status status;
    image from = {0};
    uint8_t *made = NULL;
    const cornu_image_options o = options ? *options : (cornu_image_options){0};
    const image_filter *filter = image_filter_named(o.interpolation);
    if (!path || !pixels || !sizes)
        return status_fail(CORNU_INVALID, "cornu_image_load: found NULL; expected a path and "
                                          "places for pixels and shape");
    *pixels = NULL;
    TRY(check_options(&o, filter));
    TRY_GOTO(open_given(path, file, size, &from));
    sizes[0] = o.height ? o.height : from.height;
    sizes[1] = o.width ? o.width : from.width;
    sizes[2] = o.channels ? o.channels : from.channels;
    TRY_GOTO(memory_new((size_t)(sizes[0] * sizes[1] * sizes[2]), 1, "image", &made));
    TRY_GOTO(
        image_resize_as(&from, o.keep_aspect_ratio, sizes[0], sizes[1], sizes[2], filter, made));
    *pixels = made;
    made = NULL;
done:
    free(made);
    image_close(&from);
    return status;
}

static cornu_status read_scaled(const char *path, const cornu_image_reading *reading,
                                const image_filter *filter, float *values)
{
    image from = {0};
    uint8_t *pixels = NULL;
    const int64_t *s = reading->shape;
    int64_t count = s[0] * s[1] * s[2];
    cornu_status status;
    TRY_GOTO(image_open(path, &from));
    TRY_GOTO(memory_new((size_t)count, 1, "image", &pixels));
    TRY_GOTO(image_resize_as(&from, reading->keep_aspect_ratio, s[0], s[1], s[2], filter, pixels));
    for (int64_t i = 0; i < count; i++)
        values[i] = reading->scale < 0 ? (float)pixels[i] / 255.0f
                                       : (float)pixels[i] * (float)reading->scale;
done:
    free(pixels);
    image_close(&from);
    return status;
}

cornu_status cornu_image_read(const char *path, int64_t height, int64_t width, int64_t channels,
                              float *values)
{
    if (!path || !values || !is_size(height, width, channels, IMAGE_PIXELS_MAX))
        return status_fail(CORNU_INVALID,
                           "cornu_image_read: found size %lldx%lldx%lld; expected 1 or more, and 1 "
                           "or 3 channels",
                           (long long)height, (long long)width, (long long)channels);
    const cornu_image_reading plain = {.shape = {height, width, channels}, .scale = -1};
    return read_scaled(path, &plain, NULL, values);
}

cornu_status cornu_model_image_reading(const cornu_model *model, cornu_image_reading *reading)
{
    data_spec spec;
    if (!model || !reading)
        return status_fail(CORNU_INVALID, "cornu_model_image_reading: found NULL; expected a model "
                                          "and a place for what its recipe says");
    *reading = (cornu_image_reading){.scale = 0};
    TRY(give_picture(&model->input, "the model's input", reading->shape));
    TRY(data_spec_read(model->data, &spec));
    reading->interpolation = image_filter_title(image_filter_named(spec.interpolation));
    reading->keep_aspect_ratio = spec.keep_aspect_ratio;
    reading->scale = spec.scale > 0 ? spec.scale : (double)model_pixel_scale(model);
    return CORNU_OK;
}

cornu_status cornu_image_read_as(const cornu_image_reading *reading, const char *path,
                                 float *values)
{
    if (!reading || !path || !values)
        return status_fail(CORNU_INVALID,
                           "cornu_image_read_as: found NULL; expected how to read, a "
                           "path and room for values");
    TRY(CHECK_RESERVE("cornu_image_reading", reading));
    const int64_t *s = reading->shape;
    const image_filter *filter = image_filter_named(reading->interpolation);
    if (!is_size(s[0], s[1], s[2], INT64_MAX / 4) || !filter || !(reading->scale > 0))
        return status_fail(CORNU_INVALID,
                           "cornu_image_read_as: found size %lldx%lldx%lld, interpolation \"%s\", "
                           "scale %g; expected what cornu_model_image_reading says",
                           (long long)s[0], (long long)s[1], (long long)s[2],
                           reading->interpolation ? reading->interpolation : "", reading->scale);
    return read_scaled(path, reading, filter, values);
}

cornu_status cornu_model_read_image(const cornu_model *model, const char *path, float *values)
{
    cornu_image_reading reading;
    if (!model || !path || !values)
        return status_fail(CORNU_INVALID, "cornu_model_read_image: found NULL; expected a model, a "
                                          "path and room for values");
    TRY(cornu_model_image_reading(model, &reading));
    return cornu_image_read_as(&reading, path, values);
}

/* Reading single pictures for the caller. */
#include "base/memory.h"
#include "data/data.h"
#include "data/images/image.h"
#include "model/model.h"
#include <cornu/images.h>
#include <math.h>
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

static bool is_size(int64_t height, int64_t width)
{
    return height >= 1 && width >= 1 && height <= IMAGE_PIXELS_MAX / width;
}

static cornu_status check_options(const cornu_image_options *o, const image_filter *filter)
{
    bool own = o->height == 0 && o->width == 0;
    if (!(o->scale >= 0 && isfinite(o->scale)))
        return status_fail(CORNU_INVALID,
                           "scale: found %g; expected a number above 0, or 0 for 1/255", o->scale);
    if (!filter)
        return status_fail(CORNU_INVALID, "interpolation: found \"%s\"; expected " IMAGE_FILTERS,
                           o->interpolation);
    if ((own || is_size(o->height, o->width)) &&
        (o->channels == 0 || o->channels == 1 || o->channels == 3))
        return CORNU_OK;
    return status_fail(
        CORNU_INVALID,
        "image size: found %lldx%lldx%lld; expected 1 or more, at most %d pixels, and "
        "1 or 3 channels",
        (long long)o->height, (long long)o->width, (long long)o->channels, IMAGE_PIXELS_MAX);
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
    cornu_image_options o;
    if (!path || !pixels || !sizes)
        return status_fail(CORNU_INVALID, "cornu_image_load: found NULL; expected a path and "
                                          "places for pixels and shape");
    *pixels = NULL;
    TRY(STRUCT_READ("cornu_image_options", options, &o));
    const image_filter *filter = image_filter_named(o.interpolation);
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

cornu_status cornu_image_read(const char *path, const cornu_image_options *options, float *values,
                              int64_t count)
{
    uint8_t *pixels = NULL;
    int64_t sizes[3];
    cornu_image_options o;
    if (!path || !values)
        return status_fail(CORNU_INVALID,
                           "cornu_image_read: found NULL; expected a path and room for values");
    TRY(STRUCT_READ("cornu_image_options", options, &o));
    TRY(cornu_image_load(path, NULL, 0, &o, &pixels, sizes));
    const bool fits = sizes[0] * sizes[1] * sizes[2] == count;
    for (int64_t i = 0; fits && i < count; i++)
        values[i] = o.scale > 0 ? (float)pixels[i] * (float)o.scale : (float)pixels[i] / 255.0f;
    free(pixels);
    return fits ? CORNU_OK
                : status_fail(CORNU_INVALID,
                              "%s: found room for %lld values; expected %lldx%lldx%lld", path,
                              (long long)count, (long long)sizes[0], (long long)sizes[1],
                              (long long)sizes[2]);
}

cornu_status cornu_model_image_options(const cornu_model *model, cornu_image_options *options)
{
    data_spec spec;
    int64_t sizes[3];
    if (!model || !options)
        return status_fail(CORNU_INVALID, "cornu_model_image_options: found NULL; expected a model "
                                          "and a place for what its recipe says");
    cornu_image_options own = {.size = sizeof own};
    TRY(give_picture(&model->input, "the model's input", sizes));
    TRY(data_spec_read(model->data, &spec));
    own.height = sizes[0];
    own.width = sizes[1];
    own.channels = sizes[2];
    own.interpolation = image_filter_title(image_filter_named(spec.interpolation));
    own.keep_aspect_ratio = spec.keep_aspect_ratio;
    own.scale = spec.scale > 0 ? spec.scale : (double)model_pixel_scale(model);
    return STRUCT_WRITE("cornu_image_options", options, &own);
}

/* The data section of a recipe, and its augment section. */
#include "base/files.h"
#include "data/data.h"
#include "data/images/image.h"
#include "data/sets/datasets.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <math.h>
#include <string.h>

/* ---- the data section ------------------------------------------------------------------- */

/* A number, or [height, width]. */
static cornu_status read_image_size(const doc *section, data_spec *spec)
{
    const doc *size = doc_get(section, "image_size");
    if (!size || size->type == DOC_NULL)
        return CORNU_OK;
    bool list = size->type == DOC_LIST && size->count == 2;
    for (int i = 0; i < 2; i++) {
        const doc *side = list ? size->items[i] : size;
        if (side->type != DOC_INT || side->integer < 1 || side->integer > 10000)
            return doc_fail(size, "expected one size or [height, width], each 1 to 10000");
        spec->image_size[i] = side->integer;
    }
    return CORNU_OK;
}

static cornu_status read_interpolation(const doc *section, data_spec *spec)
{
    TRY(doc_read_string(section, "interpolation", &spec->interpolation));
    if (!image_filter_named(spec->interpolation))
        return doc_fail(doc_get(section, "interpolation"), "found \"%s\"; expected " IMAGE_FILTERS,
                        spec->interpolation);
    return CORNU_OK;
}

/* Options for folders only. */
static cornu_status read_folder_options(const doc *section, data_spec *spec)
{
    TRY(read_image_size(section, spec));
    TRY(doc_read_int(section, "channels", 1, 3, &spec->channels));
    if (spec->channels == 2)
        return doc_fail(doc_get(section, "channels"), "found 2; expected 1 or 3");
    TRY(read_interpolation(section, spec));
    TRY(doc_read_bool(section, "keep_aspect_ratio", &spec->keep_aspect_ratio));
    TRY(doc_read_real(section, "validation_split", &spec->validation_split));
    if (!(spec->validation_split >= 0 && spec->validation_split < 1))
        return doc_fail(doc_get(section, "validation_split"),
                        "found %g; expected a share of at least 0 and below 1",
                        spec->validation_split);
    TRY(doc_read_bool(section, "strict", &spec->strict));
    TRY(doc_read_int(section, "workers", 1, 256, &spec->workers));
    if (!spec->name && !spec->file)
        return CORNU_OK;
    if (spec->image_size[0] || spec->channels || spec->interpolation || spec->keep_aspect_ratio ||
        spec->validation_split > 0)
        return doc_fail(section, "image_size, channels, interpolation, keep_aspect_ratio and "
                                 "validation_split are for folders of images only");
    return CORNU_OK;
}

/* Read which of a table's columns are the file names, and the numbers. */
static cornu_status read_columns(const doc *section, data_spec *spec)
{
    TRY(doc_read_string(section, "x", &spec->x));
    TRY(doc_read_string(section, "y", &spec->y));
    if (spec->table && !path_has_ending(spec->table, ".csv"))
        return doc_fail(doc_get(section, "table"), "found \"%s\"; expected a .csv file",
                        spec->table);
    if (spec->table && (!spec->x || !spec->y))
        return doc_fail(section, "%s is missing; a table needs it: the column of the %s",
                        spec->x ? "y" : "x",
                        spec->x ? "numbers that are to be predicted" : "pictures' file names");
    if (!spec->table && (spec->x || spec->y))
        return doc_fail(doc_get(section, spec->x ? "x" : "y"),
                        "found no table; expected one beside it");
    return CORNU_OK;
}

static cornu_status read_source(const doc *section, data_spec *spec)
{
    TRY(doc_read_string(section, "name", &spec->name));
    TRY(doc_read_string(section, "file", &spec->file));
    TRY(doc_read_string(section, "folder", &spec->folder));
    TRY(doc_read_string(section, "table", &spec->table));
    if (!!spec->name + !!spec->file + !!spec->folder + !!spec->table > 1)
        return doc_fail(section,
                        "found more than one of name, file, folder and table; expected one");
    if (spec->name && !dataset_named(spec->name))
        return doc_fail(doc_get(section, "name"),
                        "unknown data set \"%s\"; expected mnist, fashion_mnist, cifar10 or "
                        "cifar100 (files are given with file:, folders with folder:)",
                        spec->name);
    if (spec->file && !path_has_ending(spec->file, ".npz"))
        return doc_fail(doc_get(section, "file"), "found \"%s\"; expected an .npz file",
                        spec->file);
    return read_columns(section, spec);
}

cornu_status data_spec_read(const doc *section, data_spec *spec)
{
    static const char *const known[] = {"name",
                                        "file",
                                        "folder",
                                        "table",
                                        "x",
                                        "y",
                                        "scale",
                                        "fewer_classes",
                                        "image_size",
                                        "channels",
                                        "interpolation",
                                        "keep_aspect_ratio",
                                        "validation_split",
                                        "strict",
                                        "workers",
                                        "augment",
                                        NULL};
    *spec = (data_spec){.scale = -1};
    if (!section || section->type == DOC_NULL)
        return CORNU_OK;
    if (section->type == DOC_STRING) {
        const char *what = section->string;
        if (dataset_named(what))
            spec->name = what;
        else if (path_has_ending(what, ".npz"))
            spec->file = what;
        else
            spec->folder = what;
        return CORNU_OK;
    }
    if (section->type != DOC_MAP)
        return doc_fail(section, "found %s; expected a data set's name, a path or a map",
                        doc_type_name(section->type));
    TRY(doc_only_keys(section, known));
    TRY(read_source(section, spec));
    TRY(data_scale_read(section, "scale", &spec->scale));
    TRY(doc_read_bool(section, "fewer_classes", &spec->fewer_classes));
    TRY(read_folder_options(section, spec));
    return augment_spec_read(doc_get(section, "augment"), spec);
}

cornu_status data_samples_for(const cornu_data *data, cornu_split split, const cornu_model *model,
                              sample_block *out)
{
    data_spec spec;
    *out = data->block[split];
    if (data->scaled)
        return CORNU_OK;
    TRY(data_spec_read(model->data, &spec));
    if (spec.scale > 0)
        out->x_scale = (float)spec.scale;
    else if (out->x_type == SAMPLE_U8)
        out->x_scale = model_pixel_scale(model);
    return CORNU_OK;
}

cornu_status cornu_model_set_data(cornu_model *model, const char *section)
{
    doc *d = NULL;
    data_spec spec;
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_model_set_data: found no model; expected one");
    if (section)
        TRY(doc_parse(section, strlen(section), "data", &d));
    cornu_status status = data_spec_read(d, &spec);
    if (status != CORNU_OK) {
        doc_free(d);
        return status;
    }
    doc_free(model->own_data);
    model->data = model->own_data = d;
    return CORNU_OK;
}

cornu_status data_standardization(const cornu_model *model, standardization *out)
{
    data_spec spec;
    TRY(data_spec_read(model->data, &spec));
    *out = spec.standardize;
    const feature_statistics *s = &model->training.features;
    if (!out->featurewise_center)
        return CORNU_OK;
    out->channels = s->channels;
    memcpy(out->mean, s->mean, sizeof out->mean);
    memcpy(out->std, s->std, sizeof out->std);
    return CORNU_OK;
}

/* ---- augment ---------------------------------------------------------------------------- */

static const double SHIFT_BELOW = 10000, ZOOM_MOST = 100, BRIGHTNESS_MOST = 100;

static bool is_number(const doc *d)
{
    return d->type == DOC_INT || d->type == DOC_REAL;
}

static const doc *given(const doc *map, const char *key)
{
    const doc *d = doc_get(map, key);
    return d && d->type != DOC_NULL ? d : NULL;
}

/* ---- numbers ------------------------------------------------------------------------------ */

typedef struct number_key {
    const char *key;
    size_t offset;       /* offset in augmentation */
    double least, below; /* least <= value < below */
} number_key;

static const number_key number_keys[] = {
    {"rotation_range", offsetof(augmentation, rotation_range), 0, 360.1},
    {"shear_range", offsetof(augmentation, shear_range), 0, 90},
    {"channel_shift_range", offsetof(augmentation, channel_shift_range), 0, 1e6},
    {"cval", offsetof(augmentation, cval), -1e6, 1e6},
};

static cornu_status read_numbers(const doc *map, augmentation *augment)
{
    for (size_t i = 0; i < sizeof number_keys / sizeof *number_keys; i++) {
        const number_key *k = &number_keys[i];
        double value = 0;
        TRY(doc_read_real(map, k->key, &value));
        if (!(value >= k->least && value < k->below))
            return doc_fail(doc_get(map, k->key), "found %g; expected %g or more and less than %g",
                            value, k->least, k->below);
        *(float *)((char *)augment + k->offset) = (float)value;
    }
    return CORNU_OK;
}

/* ---- ranges ------------------------------------------------------------------------------- */

/* Two numbers, least <= low <= high <= most. */
static cornu_status read_pair(const doc *d, double least, double most, double pair[2])
{
    char shown[64];
    bool fits =
        d->type == DOC_LIST && d->count == 2 && is_number(d->items[0]) && is_number(d->items[1]);
    if (fits) {
        pair[0] = d->items[0]->real;
        pair[1] = d->items[1]->real;
        fits = pair[0] >= least && pair[0] <= pair[1] && pair[1] <= most;
    }
    if (!fits)
        return doc_fail(d, "found %s; expected [low, high] with %g <= low <= high <= %g",
                        doc_show(d, shown, sizeof shown), least, most);
    return CORNU_OK;
}

static cornu_status read_zoom(const doc *map, augmentation *augment)
{
    const doc *d = given(map, "zoom_range");
    double pair[2] = {1, 1};
    if (!d)
        return CORNU_OK;
    if (d->type == DOC_LIST) {
        TRY(read_pair(d, 0.01, ZOOM_MOST, pair));
    } else {
        double fraction = 0;
        TRY(doc_read_real(map, "zoom_range", &fraction));
        if (!(fraction >= 0 && fraction < 1))
            return doc_fail(d, "found %g; expected 0 or more and less than 1, or [low, high]",
                            fraction);
        pair[0] = 1 - fraction;
        pair[1] = 1 + fraction;
    }
    augment->zoom_range[0] = (float)(pair[0] - 1);
    augment->zoom_range[1] = (float)(pair[1] - 1);
    return CORNU_OK;
}

static cornu_status read_brightness(const doc *map, augmentation *augment)
{
    const doc *d = given(map, "brightness_range");
    double pair[2];
    if (!d)
        return CORNU_OK;
    TRY(read_pair(d, 0, BRIGHTNESS_MOST, pair));
    augment->brightens = true;
    augment->brightness_range[0] = (float)pair[0];
    augment->brightness_range[1] = (float)pair[1];
    return CORNU_OK;
}

/* ---- shifts ------------------------------------------------------------------------------- */

static cornu_status fail_shift(const doc *d)
{
    char shown[64];
    return doc_fail(d,
                    "found %s; expected 0 or more and less than %g: a share of the side below 1, "
                    "else pixels; or a list of up to %d such numbers",
                    doc_show(d, shown, sizeof shown), SHIFT_BELOW, AUGMENT_SHIFTS_MOST);
}

static cornu_status read_choices(const doc *d, shift_range *s)
{
    if (d->count < 1 || d->count > AUGMENT_SHIFTS_MOST)
        return fail_shift(d);
    s->listed = true;
    s->choices = d->count;
    for (int i = 0; i < d->count; i++) {
        const doc *item = d->items[i];
        if (!is_number(item) || !(fabs(item->real) < SHIFT_BELOW))
            return fail_shift(d);
        s->value[i] = (float)item->real;
        s->pixels |= item->real >= 1;
    }
    return CORNU_OK;
}

/* As Keras: 0.1 is up to a tenth of the side, 7.0 up to 7 pixels, 7 one of the integers 0 to 6, [1,
   4] one of these; in either direction. */
static cornu_status read_shift(const doc *map, const char *key, shift_range *s)
{
    const doc *d = given(map, key);
    if (!d)
        return CORNU_OK;
    if (d->type == DOC_LIST)
        return read_choices(d, s);
    if (!is_number(d) || !(d->real >= 0 && d->real < SHIFT_BELOW))
        return fail_shift(d);
    s->pixels = d->real >= 1;
    if (d->type == DOC_INT && d->integer > 0)
        s->choices = (int32_t)d->integer;
    else
        s->most = (float)d->real;
    return CORNU_OK;
}

/* ---- other options ------------------------------------------------------------------------ */

static cornu_status read_fill_mode(const doc *map, augmentation *augment)
{
    static const char *const names[] = {"nearest", "constant", "reflect", "wrap"};
    const char *name = "nearest";
    TRY(doc_read_string(map, "fill_mode", &name));
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            augment->fill = (fill_mode)i;
            return CORNU_OK;
        }
    return doc_fail(doc_get(map, "fill_mode"),
                    "found \"%s\"; expected nearest, constant, reflect or wrap", name);
}

static cornu_status read_standardization(const doc *map, standardization *s)
{
    TRY(doc_read_bool(map, "samplewise_center", &s->samplewise_center));
    TRY(doc_read_bool(map, "samplewise_std_normalization", &s->samplewise_std));
    TRY(doc_read_bool(map, "featurewise_center", &s->featurewise_center));
    TRY(doc_read_bool(map, "featurewise_std_normalization", &s->featurewise_std));
    s->samplewise_center |= s->samplewise_std; /* as Keras does */
    s->featurewise_center |= s->featurewise_std;
    return CORNU_OK;
}

cornu_status data_scale_read(const doc *map, const char *key, double *scale)
{
    const doc *d = doc_get(map, key);
    if (!d || d->type == DOC_NULL)
        return CORNU_OK;
    TRY(doc_read_real(map, key, scale));
    if (!(*scale > 0 && isfinite((float)*scale)))
        return doc_fail(d, "found %g; expected more than 0", *scale);
    return CORNU_OK;
}

static cornu_status read_rescale(const doc *map, data_spec *spec)
{
    double scale = -1;
    TRY(data_scale_read(map, "rescale", &scale));
    if (scale > 0 && spec->scale > 0)
        return doc_fail(doc_get(map, "rescale"), "found both scale and rescale; expected one");
    if (scale > 0)
        spec->scale = scale;
    return CORNU_OK;
}

/* Keras's options that cornu accepts only at the value without effect. */
static cornu_status read_missing(const doc *map)
{
    bool whitening = false;
    int64_t order = 1;
    TRY(doc_read_bool(map, "zca_whitening", &whitening));
    if (whitening)
        return doc_fail(doc_get(map, "zca_whitening"),
                        "found true; expected false (cornu has none)");
    return doc_read_int(map, "interpolation_order", 1, 1, &order);
}

cornu_status augment_spec_read(const doc *map, data_spec *spec)
{
    static const char *const known[] = {"rotation_range",
                                        "width_shift_range",
                                        "height_shift_range",
                                        "shear_range",
                                        "zoom_range",
                                        "channel_shift_range",
                                        "brightness_range",
                                        "horizontal_flip",
                                        "vertical_flip",
                                        "fill_mode",
                                        "cval",
                                        "rescale",
                                        "samplewise_center",
                                        "samplewise_std_normalization",
                                        "featurewise_center",
                                        "featurewise_std_normalization",
                                        "interpolation_order",
                                        "zca_whitening",
                                        NULL};
    augmentation *a = &spec->augment;
    if (!map || map->type == DOC_NULL)
        return CORNU_OK;
    if (map->type != DOC_MAP)
        return doc_fail(map, "found %s; expected a map of ranges and flips",
                        doc_type_name(map->type));
    TRY(doc_only_keys(map, known));
    TRY(read_numbers(map, a));
    TRY(read_zoom(map, a));
    TRY(read_shift(map, "width_shift_range", &a->width_shift_range));
    TRY(read_shift(map, "height_shift_range", &a->height_shift_range));
    TRY(read_brightness(map, a));
    TRY(read_fill_mode(map, a));
    TRY(doc_read_bool(map, "horizontal_flip", &a->horizontal_flip));
    TRY(doc_read_bool(map, "vertical_flip", &a->vertical_flip));
    TRY(read_standardization(map, &spec->standardize));
    TRY(read_rescale(map, spec));
    return read_missing(map);
}

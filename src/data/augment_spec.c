/* The augment section of a recipe: the options of Keras's ImageDataGenerator. */
#include "data/data.h"
#include <math.h>
#include <string.h>

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

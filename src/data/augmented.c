/* A sample augmented as a recipe says, for looking at. */
#include "data/data.h"
#include "device/gather_sample.h"
#include "model/model.h"

/* The block as images: a last dimension of 1 channel may be missing. */
static cornu_status as_images(const cornu_data *data, cornu_split split, sample_block *images)
{
    char shown[128];
    *images = data->block[split];
    shape *s = &images->x_shape;
    if (s->rank == 2)
        s->dim[s->rank++] = 1;
    if (s->rank != 3)
        return status_fail(CORNU_INVALID,
                           "%s: found samples of %s; expected images (height, width, channels)",
                           data->name, shape_show(s, false, shown));
    return CORNU_OK;
}

cornu_status cornu_data_changed_sample(const cornu_data *data, cornu_split split, int64_t index,
                                       const cornu_model *model, uint64_t seed, int64_t epoch,
                                       float *values, int64_t count)
{
    data_spec spec;
    sample_block images;
    if (!data || !model || !values || (split != CORNU_TRAIN && split != CORNU_TEST))
        return status_fail(CORNU_INVALID, "cornu_data_changed_sample: found a NULL argument or an "
                                          "unknown split");
    TRY(data_spec_read(model->data, &spec));
    if (!augmentation_any(&spec.augment))
        return status_fail(CORNU_INVALID,
                           "%s: found no random changes in data.augment; expected some",
                           model->source ? model->source : "the model");
    TRY(as_images(data, split, &images));
    if (count != shape_elements(&images.x_shape))
        return status_fail(CORNU_INVALID, "%s: room for %lld values; a sample has %lld", data->name,
                           (long long)count, (long long)shape_elements(&images.x_shape));
    TRY(data_ready(data, split, index, &index));
    step_input input = {.samples = &images, .seed = seed, .epoch = epoch};
    random_transform transform = gather_draw(&spec.augment, &input, index);
    gather_augmented(&images, index, &transform, values);
    data_release(data, split, &index, 1);
    for (int64_t i = 0; i < count; i++)
        values[i] *= images.x_scale;
    return CORNU_OK;
}

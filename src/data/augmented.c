/* Samples as a training step sees them, for inspection and for callers with their own steps. */
#include "base/threads.h"
#include "data/data.h"
#include "device/gather_sample.h"
#include "model/model.h"
#include <cornu/images.h>
#include <string.h>

/* The block as images: a last dimension of 1 channel may be missing. */
static cornu_status as_images(const cornu_data *data, cornu_split split, sample_block *images)
{
    char shown[128];
    TRY(data_check_there(data));
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

/* ---- a batch ------------------------------------------------------------------------------ */

typedef struct batch {
    data_spec spec;
    sample_block images;
    step_input input;
    const int64_t *index;
    int64_t elements; /* per image */
    float *values;    /* [count][elements] */
} batch;

static cornu_status read_section(const char *section, data_spec *spec)
{
    doc *d = NULL;
    if (section)
        TRY(doc_parse(section, strlen(section), "section", &d));
    cornu_status status = data_spec_read(d, spec);
    doc_free(d);
    TRY(status);
    if (spec->standardize.featurewise_center)
        return status_fail(CORNU_UNSUPPORTED, "featurewise_center: found true; expected false, as "
                                              "the statistics are a model's");
    return CORNU_OK;
}

static cornu_status open_batch(const cornu_data *data, cornu_split split, const int64_t *index,
                               int64_t count, const cornu_batch_options *options, batch *b)
{
    cornu_batch_options o;
    TRY(STRUCT_READ("cornu_batch_options", options, &o));
    TRY(read_section(o.section, &b->spec));
    TRY(as_images(data, split, &b->images));
    if (b->spec.scale > 0)
        b->images.x_scale = (float)b->spec.scale;
    b->input = (step_input){.samples = &b->images, .seed = o.seed, .epoch = o.epoch};
    b->index = index;
    b->elements = shape_elements(&b->images.x_shape);
    for (int64_t i = 0; i < count; i++)
        if (index[i] < 0 || index[i] >= b->images.count)
            return status_fail(CORNU_INVALID, "%s: sample %lld; expected 0 to %lld", data->name,
                               (long long)index[i], (long long)b->images.count - 1);
    return CORNU_OK;
}

/* Wait until all are decoded. */
static cornu_status await_batch(const cornu_data *data, const int64_t *index, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bool usable;
        TRY(data_next(data, true, &usable));
        if (!usable)
            return status_fail(CORNU_BAD_FILE, "%s: sample %lld: its file cannot be read",
                               data->name, (long long)index[i]);
    }
    return CORNU_OK;
}

static void change(void *context, int64_t task, int worker)
{
    (void)worker;
    batch *b = context;
    float *x = b->values + task * b->elements;
    random_transform transform = gather_draw(&b->spec.augment, &b->input, b->index[task]);
    gather_augmented(&b->images, b->index[task], &transform, x);
    gather_standardize(&b->spec.standardize, b->images.x_scale, b->images.x_shape.dim[2],
                       b->elements, x);
}

static cornu_status change_all(batch *b, int64_t count)
{
    threads *pool;
    TRY(threads_open(count > 1 ? 0 : 1, &pool));
    threads_run(pool, count, change, b);
    threads_close(pool);
    return CORNU_OK;
}

cornu_status cornu_data_batch(const cornu_data *data, cornu_split split, const int64_t *index,
                              int64_t count, const cornu_batch_options *options, float *values,
                              int64_t size)
{
    batch b = {.values = values};
    if (!data || !index || !values || count < 1 || (split != CORNU_TRAIN && split != CORNU_TEST))
        return status_fail(CORNU_INVALID, "cornu_data_batch: found a NULL argument, no samples or "
                                          "an unknown split");
    TRY(open_batch(data, split, index, count, options, &b));
    if (size / count != b.elements || size % count != 0)
        return status_fail(CORNU_INVALID, "%s: room for %lld values; %lld samples have %lld each",
                           data->name, (long long)size, (long long)count, (long long)b.elements);
    data_want(data, &b, split, index, count);
    cornu_status status = await_batch(data, index, count);
    if (status == CORNU_OK)
        status = change_all(&b, count);
    data_release(data, split, index, count);
    data_want(data, NULL, split, NULL, 0);
    return status;
}

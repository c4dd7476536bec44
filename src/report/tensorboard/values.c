#include "report/tensorboard/values.h"

#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- pictures ----------------------------------------------------------------------------- */

static const color white = {255, 255, 255};

bool tensorboard_has_pictures(const cornu_data *data)
{
    int64_t size[3];
    return !data->stream && cornu_data_picture_shape(data, size) == CORNU_OK;
}

typedef struct sampling {
    const cornu_data *data;
    int64_t shape[3]; /* height, width, channels */
    cornu_data_values range;
    float *values; /* [shape] */
} sampling;

static cornu_status draw_sample(const sampling *s, int64_t index, event_picture *out)
{
    canvas c;
    TRY(sample_picture(s->data, CORNU_TRAIN, index, &s->range, s->values,
                       s->shape[0] * s->shape[1] * s->shape[2]));
    TRY(canvas_open(s->shape[0], s->shape[1], white, &c));
    canvas_picture(&c, (box){0, 0, s->shape[0], s->shape[1]}, s->shape[0], s->shape[1], s->shape[2],
                   s->values);
    cornu_status status = canvas_encode_png(&c, &out->png, &out->size);
    canvas_close(&c);
    return status;
}

static cornu_status add_samples(event_file *f, const sampling *s, int64_t samples,
                                event_picture *pictures, int64_t count)
{
    int drawn = 0;
    for (int64_t i = 0; i < count; i++) {
        cornu_status status = draw_sample(s, samples * i / count, &pictures[drawn]);
        if (status != CORNU_OK && status != CORNU_BAD_FILE)
            return status;
        drawn += status == CORNU_OK;
    }
    if (drawn == 0)
        return CORNU_OK;
    return event_file_pictures(f, "samples", 0, s->shape[0], s->shape[1], pictures, drawn);
}

cornu_status tensorboard_add_samples(event_file *f, const cornu_data *data, int64_t samples,
                                     int64_t count)
{
    sampling s = {.data = data};
    event_picture *pictures;
    if (count > samples)
        count = samples;
    TRY(cornu_data_picture_shape(data, s.shape));
    TRY(cornu_data_values_get(data, CORNU_TRAIN, &s.range));
    TRY(memory_new((size_t)(s.shape[0] * s.shape[1] * s.shape[2]), sizeof *s.values, "picture",
                   &s.values));
    cornu_status status = memory_new((size_t)count, sizeof *pictures, "pictures", &pictures);
    if (status == CORNU_OK) {
        status = add_samples(f, &s, samples, pictures, count);
        for (int64_t i = 0; i < count; i++)
            free(pictures[i].png);
        free(pictures);
    }
    free(s.values);
    return status;
}

cornu_status tensorboard_add_matrix(event_file *f, const cornu_report *r, int64_t step)
{
    canvas c;
    event_picture picture;
    TRY(report_draw(r, &c));
    cornu_status status = canvas_encode_png(&c, &picture.png, &picture.size);
    if (status == CORNU_OK) {
        status = event_file_pictures(f, "confusion_matrix", step, c.height, c.width, &picture, 1);
        free(picture.png);
    }
    canvas_close(&c);
    return status;
}

/* ---- settings ----------------------------------------------------------------------------- */

static cornu_status fail_memory(void)
{
    return status_fail(CORNU_OUT_OF_MEMORY, "not enough memory for hyperparameters");
}

/* {"class_name": C, "config": {K: V}} as KEY: C and PREFIX K: V, an object within it with KEY and a
   dot for a prefix; what is null is left out, as it has no value. */
static cornu_status flatten(json_t *out, const char *key, const char *prefix, const json_t *object)
{
    const char *name;
    const json_t *value;
    const json_t *class_name = json_object_get(object, "class_name");
    if (class_name && json_object_set(out, key, (json_t *)(uintptr_t)class_name) != 0)
        return fail_memory();
    json_object_foreach(json_object_get(object, "config"), name, value)
    {
        char *full, *within;
        cornu_status status = CORNU_OK;
        TRY(memory_format(&full, "%s%s", prefix, name));
        if (json_is_object(value)) {
            status = memory_format(&within, "%s.", full);
            if (status == CORNU_OK) {
                status = flatten(out, full, within, value);
                free(within);
            }
        } else if ((json_is_number(value) || json_is_boolean(value) || json_is_string(value)) &&
                   json_object_set(out, full, (json_t *)(uintptr_t)value) != 0)
            status = fail_memory();
        free(full);
        TRY(status);
    }
    return CORNU_OK;
}

static cornu_status add_settings(event_file *f, const cornu_model *m, const json_t *compile,
                                 json_t *all)
{
    const position *p = &m->training.position;
    const json_t *function = json_object_get(compile, "loss");
    if (json_object_set_new(all, "batch_size", json_integer(p->batch)) != 0 ||
        json_object_set_new(all, "epochs", json_integer(p->epochs)) != 0 ||
        json_object_set_new(all, "seed", json_integer((json_int_t)p->seed)) != 0 ||
        (json_is_string(function) &&
         json_object_set(all, "loss", (json_t *)(uintptr_t)function) != 0))
        return fail_memory();
    TRY(flatten(all, "loss", "loss.", function));
    TRY(flatten(all, "optimizer", "", json_object_get(compile, "optimizer")));
    return event_file_settings(f, all);
}

cornu_status tensorboard_add_settings(event_file *f, const cornu_model *model)
{
    json_t *all = json_object(), *compile = model_compile_to_json(model);
    cornu_status status = all && compile ? add_settings(f, model, compile, all) : fail_memory();
    json_decref(all);
    json_decref(compile);
    return status;
}

#include "data/data.h"
#include "base/memory.h"
#include "data/folders/loader.h"
#include "format/tensor_file.h"
#include <cornu/data.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cornu_data_close(cornu_data *data)
{
    if (!data)
        return;
    loader_close(data->loader);
    for (size_t i = 0; i < sizeof data->storage / sizeof *data->storage; i++)
        memory_free_aligned(data->storage[i]);
    free(data->stream);
    if (data->arrays)
        tensor_file_close(data->arrays);
    if (data->class_names)
        for (int i = 0; i < data->class_count; i++)
            free(data->class_names[i]);
    free(data->class_names);
    free(data->name);
    free(data->folder);
    free(data->origin);
    free(data);
}

/* Memory for `count` items of `elements` numbers. A refusal says how much is missing. */
static cornu_status reserve(const cornu_data *data, int64_t count, const shape *s, sample_type type,
                            const char *what, void **out)
{
    char show[128], need[16], free_text[16];
    int64_t elements = shape_elements(s), size = (int64_t)sample_size(type);
    const char *name = data->name ? data->name : "data";
    if (elements < 0 || (elements > 0 && count > SHAPE_ELEMENTS_MAX / elements))
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %lld samples of %s are more than fit", name,
                           (long long)count, shape_show(s, false, show));
    int64_t bytes = count * elements * size, available = memory_available();
    if (available >= 0 && bytes > available)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %lld %s of %s need %s of memory; %s are free",
                           name, (long long)count, what, shape_show(s, false, show),
                           memory_human((double)bytes, need),
                           memory_human((double)available, free_text));
    return memory_new_aligned(bytes > 0 ? (size_t)bytes : 1, what, out);
}

cornu_status data_reserve_inputs(cornu_data *data, cornu_split split, int64_t count,
                                 const shape *x_shape, sample_type type, void *x)
{
    void *memory = NULL;
    TRY(reserve(data, count, x_shape, type, "samples", &memory));
    data->storage[3 * split] = memory;
    sample_block *block = &data->block[split];
    block->count = count;
    block->x_shape = *x_shape;
    block->x_type = type;
    block->x = memory;
    block->x_scale = type == SAMPLE_U8 ? 1.0f / 255.0f : 1.0f;
    *(void **)x = memory;
    return CORNU_OK;
}

cornu_status data_reserve_targets(cornu_data *data, cornu_split split, const shape *y_shape,
                                  sample_type type, void *y)
{
    void *memory = NULL;
    sample_block *block = &data->block[split];
    TRY(reserve(data, block->count, y_shape, type, "targets", &memory));
    data->storage[3 * split + 1] = memory;
    block->y_shape = *y_shape;
    block->y_type = type;
    block->y = memory;
    *(void **)y = memory;
    return CORNU_OK;
}

cornu_status data_set_classes(cornu_data *data, const char *const *names, int count)
{
    TRY(memory_new((size_t)count, sizeof(char *), "class names", &data->class_names));
    data->class_count = count;
    for (int i = 0; i < count; i++)
        TRY(memory_copy_string(names[i], &data->class_names[i]));
    return CORNU_OK;
}

cornu_status cornu_data_info_get(const cornu_data *data, cornu_data_info *info)
{
    cornu_data_info own = {.size = sizeof own};
    if (!data || !info)
        return status_fail(CORNU_INVALID,
                           "cornu_data_info_get: found NULL; expected data and info");
    own.name = data->name ? data->name : "";
    own.folder = data->folder ? data->folder : "";
    for (int i = 0; i < 2; i++)
        own.count[i] =
            data->stream ? 0 : data_usable(data, (cornu_split)i, 0, data->block[i].count);
    const shape *s = &data->block[data->block[0].count > 0 ? 0 : 1].x_shape;
    own.rank = s->rank;
    memcpy(own.shape, s->dim, (size_t)s->rank * sizeof *s->dim);
    own.class_count = data->class_count;
    own.generated = data->generated;
    return STRUCT_WRITE("cornu_data_info", info, &own);
}

cornu_status cornu_data_view(const cornu_data *data, cornu_split split, cornu_arrays *arrays)
{
    if (!data || !arrays || (split != CORNU_TRAIN && split != CORNU_TEST))
        return status_fail(CORNU_INVALID,
                           "cornu_data_view: found no data, arrays or split; expected all three");
    const sample_block *b = &data->block[split];
    cornu_arrays own = {.size = sizeof own, .count = b->count, .rank = b->x_shape.rank};
    if (data->loader || data->stream || b->x_shape.rank > 4)
        return status_fail(CORNU_UNSUPPORTED, "%s: its samples do not lie in memory as arrays",
                           data->name ? data->name : "data");
    memcpy(own.shape, b->x_shape.dim, (size_t)b->x_shape.rank * sizeof *own.shape);
    if (b->x_type == SAMPLE_U8)
        own.pixels = b->x;
    else
        own.values = b->x;
    if (b->y_type == SAMPLE_I32)
        own.labels = b->y;
    else
        own.targets = b->y;
    own.target_size = own.targets ? shape_elements(&b->y_shape) : 0;
    own.weights = b->weight;
    own.output_weights = b->output_weights;
    return STRUCT_WRITE("cornu_arrays", arrays, &own);
}

const char *cornu_data_class_name(const cornu_data *data, int index)
{
    if (!data || !data->class_names || index < 0 || index >= data->class_count)
        return NULL;
    return data->class_names[index];
}

cornu_status cornu_data_sample(const cornu_data *data, cornu_split split, int64_t index,
                               float *values, int64_t count, int *label)
{
    if (!data || !values || (split != CORNU_TRAIN && split != CORNU_TEST))
        return status_fail(CORNU_INVALID,
                           "cornu_data_sample: found a NULL argument or an unknown split");
    const sample_block *block = &data->block[split];
    int64_t elements = shape_elements(&block->x_shape);
    if (count != elements)
        return status_fail(CORNU_INVALID, "%s: room for %lld values; a sample has %lld", data->name,
                           (long long)count, (long long)elements);
    TRY(data_ready(data, split, index, &index));
    const uint8_t *pixels = (const uint8_t *)block->x + index * elements;
    const float *floats = (const float *)block->x + index * elements;
    for (int64_t i = 0; i < elements; i++)
        values[i] = (block->x_type == SAMPLE_U8 ? (float)pixels[i] : floats[i]) * block->x_scale;
    if (label)
        *label = block->y && block->y_type == SAMPLE_I32 ? ((const int32_t *)block->y)[index] : -1;
    data_release(data, split, &index, 1);
    return CORNU_OK;
}

/* ---- from the caller's arrays ---- */

/* Does the product of the sizes stay within the limit? No code computes it before this check. */
static bool numbers_fit(int64_t count, const int64_t *sizes, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (count > SHAPE_ELEMENTS_MAX / sizes[i])
            return false;
        count *= sizes[i];
    }
    return count <= SHAPE_ELEMENTS_MAX;
}

static cornu_status check_numbers_fit(const cornu_arrays *a, const char *split)
{
    if (!numbers_fit(a->count, a->shape, a->rank) ||
        (a->targets && !numbers_fit(a->count, &a->target_size, 1)))
        return status_fail(CORNU_INVALID,
                           "%s: found %lld samples of more numbers than an array has; expected at "
                           "most %lld numbers in all",
                           split, (long long)a->count, (long long)SHAPE_ELEMENTS_MAX);
    return CORNU_OK;
}

static cornu_status check_output_weights(const cornu_arrays *a, const char *split)
{
    const int64_t numbers = a->targets ? a->target_size : 0;
    if (a->output_weights == 0)
        return CORNU_OK;
    if (a->output_weights < 0 || a->output_weights >= numbers)
        return status_fail(CORNU_INVALID,
                           "%s.output_weights: found %lld, of targets of %lld numbers; expected "
                           "weights after the numbers of each target, or 0",
                           split, (long long)a->output_weights, (long long)numbers);
    if (a->weights)
        return status_fail(CORNU_INVALID,
                           "%s: found weights and output_weights; expected one of them", split);
    return CORNU_OK;
}

static cornu_status check_arrays(const cornu_arrays *a, const char *split)
{
    if (a->count < 1)
        return status_fail(CORNU_INVALID, "%s.count: found %lld; expected at least 1", split,
                           (long long)a->count);
    if (a->rank < 1 || a->rank > 4)
        return status_fail(CORNU_INVALID, "%s.rank: found %d; expected 1 to 4", split, a->rank);
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] < 1)
            return status_fail(CORNU_INVALID, "%s.shape[%d]: found %lld; expected at least 1",
                               split, i, (long long)a->shape[i]);
    if (!a->pixels == !a->values)
        return status_fail(CORNU_INVALID, "%s: found %s of pixels and values; expected one of them",
                           split, a->pixels ? "both" : "none");
    if (a->labels && a->targets)
        return status_fail(CORNU_INVALID, "%s: found labels and targets; expected one of them",
                           split);
    if (!(a->scale >= 0 && isfinite(a->scale)))
        return status_fail(CORNU_INVALID, "%s.scale: found %g; expected a number above 0, or 0",
                           split, a->scale);
    if (a->targets && a->target_size < 1)
        return status_fail(CORNU_INVALID, "%s.target_size: found %lld; expected at least 1", split,
                           (long long)a->target_size);
    TRY(check_output_weights(a, split));
    return check_numbers_fit(a, split);
}

static cornu_status check_finite(const float *values, int64_t count, const char *split,
                                 const char *field)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return status_fail(CORNU_INVALID, "%s.%s[%lld]: found %f; expected a finite number",
                               split, field, (long long)i, (double)values[i]);
    return CORNU_OK;
}

cornu_status data_block_of(const cornu_arrays *a, const char *what, sample_block *out)
{
    TRY(check_arrays(a, what));
    *out = (sample_block){.count = a->count,
                          .x_shape.rank = a->rank,
                          .x_type = a->pixels ? SAMPLE_U8 : SAMPLE_F32,
                          .x = a->pixels ? (const void *)a->pixels : a->values,
                          .x_scale = !a->pixels     ? 1.0f
                                     : a->scale > 0 ? (float)a->scale
                                                    : 1.0f / 255.0f,
                          .y_type = a->targets ? SAMPLE_F32 : SAMPLE_I32,
                          .y = a->targets ? (const void *)a->targets : a->labels,
                          .weight = a->weights,
                          .output_weights = a->output_weights};
    memcpy(out->x_shape.dim, a->shape, (size_t)a->rank * sizeof *a->shape);
    if (a->targets)
        out->y_shape = (shape){1, {a->target_size}};
    return CORNU_OK;
}

/* Check for numbers that no training could use, and count the classes. */
static cornu_status check_numbers(cornu_data *data, const cornu_arrays *a, const char *name)
{
    int64_t elements = a->count;
    for (int i = 0; i < a->rank; i++)
        elements *= a->shape[i];
    if (a->values)
        TRY(check_finite(a->values, elements, name, "values"));
    if (a->targets)
        TRY(check_finite(a->targets, a->count * a->target_size, name, "targets"));
    if (a->weights)
        TRY(check_finite(a->weights, a->count, name, "weights"));
    for (int64_t i = 0; a->labels && i < a->count; i++) {
        if (a->labels[i] < 0 || a->labels[i] == INT32_MAX)
            return status_fail(CORNU_INVALID,
                               "%s.labels[%lld]: found %d; expected a class number from 0", name,
                               (long long)i, a->labels[i]);
        if (a->labels[i] >= data->class_count)
            data->class_count = a->labels[i] + 1;
    }
    return CORNU_OK;
}

static cornu_status copy_arrays(cornu_data *data, cornu_split split, const cornu_arrays *a)
{
    sample_block *block = &data->block[split];
    const sample_block of = *block;
    const int64_t x_numbers = of.count * shape_elements(&of.x_shape);
    void *x, *y;
    TRY(data_reserve_inputs(data, split, of.count, &of.x_shape, of.x_type, &x));
    memcpy(x, of.x, (size_t)x_numbers * sample_size(of.x_type));
    if (of.y) {
        TRY(data_reserve_targets(data, split, &of.y_shape, of.y_type, &y));
        memcpy(y, of.y, (size_t)(of.count * shape_elements(&of.y_shape)) * sizeof(float));
    }
    if (!a->weights)
        return CORNU_OK;
    size_t bytes = (size_t)of.count * sizeof(float);
    TRY(memory_new_aligned(bytes, "weights of the samples", &data->storage[3 * split + 2]));
    memcpy(data->storage[3 * split + 2], a->weights, bytes);
    block->weight = data->storage[3 * split + 2];
    return CORNU_OK;
}

static cornu_status take_arrays(cornu_data *data, cornu_split split, const cornu_arrays *arrays,
                                bool copies)
{
    const char *name = split == CORNU_TRAIN ? "train" : "test";
    cornu_arrays a;
    TRY(STRUCT_READ(name, arrays, &a));
    TRY(data_block_of(&a, name, &data->block[split]));
    data->scaled |= a.scale > 0;
    data->fewer_classes |= a.fewer_classes;
    TRY(check_numbers(data, &a, name));
    return copies ? copy_arrays(data, split, &a) : CORNU_OK;
}

/* Have the targets the same form? Weights after them do not count. */
static bool targets_alike(const sample_block *a, const sample_block *b)
{
    return !a->y == !b->y && a->y_type == b->y_type &&
           shape_elements(&a->y_shape) - a->output_weights ==
               shape_elements(&b->y_shape) - b->output_weights;
}

/* Both splits must have the same shape and types, as one network reads them. */
static cornu_status check_alike(const cornu_data *data)
{
    const sample_block *train = &data->block[0], *test = &data->block[1];
    char a[128], b[128];
    if (!shape_equal(&train->x_shape, &test->x_shape) || train->x_type != test->x_type)
        return status_fail(CORNU_INVALID, "test: samples of %s %s; expected %s %s as in train",
                           shape_show(&test->x_shape, false, a),
                           test->x_type == SAMPLE_U8 ? "pixels" : "values",
                           shape_show(&train->x_shape, false, b),
                           train->x_type == SAMPLE_U8 ? "pixels" : "values");
    if (!targets_alike(train, test))
        return status_fail(CORNU_INVALID, "test: found other targets; expected those of train");
    return CORNU_OK;
}

static cornu_status from_arrays(const cornu_arrays *train, const cornu_arrays *test, bool copies,
                                cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    if (!train || !out)
        return status_fail(
            CORNU_INVALID,
            "arrays: found NULL; expected those of the training split, and a place for the data");
    *out = NULL;
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(memory_copy_string("arrays", &data->name));
    TRY_GOTO(memory_copy_string("", &data->folder));
    TRY_GOTO(take_arrays(data, CORNU_TRAIN, train, copies));
    if (test) {
        TRY_GOTO(take_arrays(data, CORNU_TEST, test, copies));
        TRY_GOTO(check_alike(data));
    }
    *out = data;
    data = NULL;
done:
    cornu_data_close(data);
    return status;
}

cornu_status cornu_data_from_arrays(const cornu_arrays *train, const cornu_arrays *test,
                                    cornu_data **data)
{
    return from_arrays(train, test, true, data);
}

cornu_status cornu_data_in_place(const cornu_arrays *train, const cornu_arrays *test,
                                 cornu_data **data)
{
    return from_arrays(train, test, false, data);
}

cornu_status cornu_data_set_scale(cornu_data *data, double scale)
{
    if (!data)
        return status_fail(CORNU_INVALID, "cornu_data_set_scale: found no data; expected some");
    if (!(scale > 0 && isfinite(scale)))
        return status_fail(CORNU_INVALID, "scale: found %g; expected a number above 0", scale);
    for (int split = 0; split < 2; split++)
        data->block[split].x_scale = (float)scale;
    data->scaled = true;
    return CORNU_OK;
}

/* ---- batches from the caller, one by one ------------------------------------------------ */

cornu_status cornu_data_stream(const cornu_stream *source, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    cornu_stream own;
    cornu_arrays like;
    if (!source || !out)
        return status_fail(CORNU_INVALID, "cornu_data_stream: found NULL; expected a stream");
    *out = NULL;
    TRY(STRUCT_READ("cornu_stream", source, &own));
    if (!own.next || !own.like)
        return status_fail(CORNU_INVALID,
                           "cornu_data_stream: found NULL; expected a stream with next and like");
    TRY(STRUCT_READ("like", own.like, &like));
    if (own.batches < 0 || own.batches > INT32_MAX)
        return status_fail(CORNU_INVALID, "batches: found %jd; expected 0 to %d",
                           (intmax_t)own.batches, INT32_MAX);
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(memory_copy_string("stream", &data->name));
    TRY_GOTO(memory_copy_string("", &data->folder));
    TRY_GOTO(memory_new(1, sizeof *data->stream, "stream", &data->stream));
    own.like = NULL; /* the caller may free it now */
    data->stream->source = own;
    TRY_GOTO(data_block_of(&like, "like", &data->block[CORNU_TRAIN]));
    data->scaled = like.scale > 0;
    *out = data;
    data = NULL;
done:
    cornu_data_close(data);
    return status;
}

static cornu_status check_batch(const sample_block *like, const sample_block *batch)
{
    char found[128], expected[128];
    if (!shape_equal(&like->x_shape, &batch->x_shape) || like->x_type != batch->x_type)
        return status_fail(CORNU_INVALID,
                           "a batch of the stream: found %s of shape %s; expected "
                           "%s of shape %s as in the first",
                           batch->x_type == SAMPLE_U8 ? "pixels" : "values",
                           shape_show(&batch->x_shape, false, found),
                           like->x_type == SAMPLE_U8 ? "pixels" : "values",
                           shape_show(&like->x_shape, false, expected));
    if (!targets_alike(like, batch) || samples_weighting(like) != samples_weighting(batch))
        return status_fail(CORNU_INVALID, "a batch of the stream: found other targets or weights; "
                                          "expected those of the first");
    return CORNU_OK;
}

cornu_status data_stream_next(const cornu_data *data, sample_block *batch)
{
    const struct stream *s = data->stream;
    const sample_block *like = &data->block[CORNU_TRAIN];
    const float x_scale = batch->x_scale;
    cornu_arrays given = {.size = sizeof given}, arrays;
    cornu_status status = s->source.next(s->source.user, &given);
    batch->count = 0;
    if (status == CORNU_STOPPED)
        return status_fail(CORNU_STOPPED, "stopped by the stream of batches");
    if (status != CORNU_OK)
        return status_fail(status, "the stream's next failed (%s)", cornu_status_name(status));
    TRY(STRUCT_READ("a batch of the stream", &given, &arrays));
    if (arrays.count == 0)
        return CORNU_OK;
    TRY(data_block_of(&arrays, "a batch of the stream", batch));
    batch->x_scale = x_scale;
    return check_batch(like, batch);
}

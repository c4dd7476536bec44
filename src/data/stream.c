/* Batches that the caller supplies one by one. */
#include "data/stream.h"
#include "base/memory.h"
#include <cornu/data.h>

cornu_status cornu_data_stream(const cornu_stream *source, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    if (!source || !out || !source->next)
        return status_fail(CORNU_INVALID,
                           "cornu_data_stream: found NULL; expected a stream with next");
    *out = NULL;
    TRY(CHECK_RESERVE("cornu_stream", source));
    if (source->batches < 0 || source->batches > INT32_MAX)
        return status_fail(CORNU_INVALID, "batches: found %jd; expected 0 to %d",
                           (intmax_t)source->batches, INT32_MAX);
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(memory_copy_string("stream", &data->name));
    TRY_GOTO(memory_copy_string("", &data->folder));
    TRY_GOTO(memory_new(1, sizeof *data->stream, "stream", &data->stream));
    data->stream->source = *source;
    TRY_GOTO(data_block_of(&source->like, "like", &data->block[CORNU_TRAIN]));
    data->scaled = source->like.scale > 0;
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
    if (!like->y != !batch->y || like->y_type != batch->y_type ||
        !shape_equal(&like->y_shape, &batch->y_shape) || !like->weight != !batch->weight)
        return status_fail(CORNU_INVALID, "a batch of the stream: found other targets or weights; "
                                          "expected those of the first");
    return CORNU_OK;
}

cornu_status data_stream_next(const cornu_data *data, sample_block *batch)
{
    const struct stream *s = data->stream;
    const sample_block *like = &data->block[CORNU_TRAIN];
    const float x_scale = batch->x_scale;
    cornu_arrays arrays = {0};
    cornu_status status = s->source.next(s->source.user, &arrays);
    batch->count = 0;
    if (status == CORNU_STOPPED)
        return status_fail(CORNU_STOPPED, "stopped by the stream of batches");
    if (status != CORNU_OK)
        return status_fail(status, "the stream's next failed (%s)", cornu_status_name(status));
    if (arrays.count == 0)
        return CORNU_OK;
    TRY(data_block_of(&arrays, "a batch of the stream", batch));
    batch->x_scale = x_scale;
    return check_batch(like, batch);
}

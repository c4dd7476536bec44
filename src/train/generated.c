#include "train/generated.h"
#include "base/memory.h"
#include "train/session.h"
#include <cornu/data.h>
#include <stdlib.h>

cornu_status generated_batch_open(const cornu_model *model, int64_t batch, generated_batch *out)
{
    shape x;
    const shape *y = &model->output;
    int64_t outputs = y->rank > 0 ? y->dim[y->rank - 1] : 1;
    int classes = (int)(outputs > 1 ? outputs : 2);
    *out = (generated_batch){0};
    shape_picture(&model->input, &x);
    TRY(cornu_data_generate(x.dim, x.rank, classes, batch, 1, &out->data));
    TRY(data_check_samples(model, &out->data->block[CORNU_TRAIN], "generated data"));
    TRY(data_samples_for(out->data, CORNU_TRAIN, model, &out->samples));
    TRY(memory_new((size_t)batch, sizeof *out->index, "order of samples", &out->index));
    for (int64_t i = 0; i < batch; i++)
        out->index[i] = i;
    return CORNU_OK;
}

void generated_batch_close(generated_batch *b)
{
    free(b->index);
    cornu_data_close(b->data);
    *b = (generated_batch){0};
}

step_input generated_batch_input(const cornu_model *model, const generated_batch *b)
{
    return (step_input){.samples = &b->samples,
                        .index = b->index,
                        .seed = model->training.position.seed,
                        .learning_rate = (float)session_learning_rate(model)};
}

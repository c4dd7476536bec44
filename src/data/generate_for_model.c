/* Generated samples that a model takes. Pixels and class numbers where it has one input and learns
   classes of whole samples; else rows of floats: whole numbers for an Embedding, values in [0, 1)
   for everything else. Pictures have their channel, which random changes need. */
#include "base/memory.h"
#include "base/philox.h"
#include "data/data.h"
#include "model/model.h"
#include <stdlib.h>

/* Numbers of a sample that are drawn alike. */
typedef struct drawn {
    int64_t count;
    int64_t below; /* whole numbers from 0 to below - 1; 0: values in [0, 1) */
} drawn;

/* below[node]: the rows of the smallest table that looks up what comes from this node; 0: none
   does. Each node comes after its inputs, so the last is asked first. */
static void find_tables(const cornu_model *model, int64_t *below)
{
    for (int i = model->node_count - 1; i >= 0; i--) {
        const model_node *n = &model->nodes[i];
        int64_t rows = below[i];
        if (n->layer->kind == &layer_Embedding)
            rows = model->variables[n->layer->first_variable].shape.dim[0];
        for (int k = 0; rows > 0 && k < n->input_count; k++) {
            int64_t *of = &below[n->inputs[k]];
            *of = *of > 0 && *of < rows ? *of : rows;
        }
    }
}

static cornu_status inputs_of(const cornu_model *model, drawn *inputs)
{
    int64_t *below;
    TRY(memory_new((size_t)model->node_count, sizeof *below, "nodes", &below));
    find_tables(model, below);
    for (int i = 0; i < model->input_count; i++)
        inputs[i] = (drawn){.count = shape_elements(model_input_shape(model, i)),
                            .below = below[model->inputs[i]]};
    free(below);
    return CORNU_OK;
}

static void targets_of(const cornu_model *model, drawn *targets)
{
    for (int i = 0; i < model->output_count; i++) {
        const shape target = model_target_shape(model, i), *s = model_output_shape(model, i);
        targets[i] = (drawn){.count = shape_elements(&target)};
        if (model->outputs[i].target == TARGET_CLASSES || model->outputs[i].target == TARGET_LABEL)
            targets[i].below = s->rank > 0 ? s->dim[s->rank - 1] : 1;
        else if (data_expects_signs(model, i))
            targets[i].below = 2; /* 0 and 1 */
    }
}

/* Do pixels and a class number for each sample fit? */
static bool takes_classes(const cornu_model *model, const drawn *inputs)
{
    const shape *y = &model->output;
    return model->input_count == 1 && model->output_count == 1 && inputs[0].below == 0 &&
           (y->rank == 0 || shape_elements(y) == y->dim[y->rank - 1]);
}

static int64_t numbers_of(const drawn *parts, int count)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++)
        all += parts[i].count;
    return all;
}

static void draw(const drawn *parts, int count, int64_t rows, random_stream *random, float *out)
{
    for (int64_t row = 0; row < rows; row++)
        for (int i = 0; i < count; i++)
            for (int64_t k = 0; k < parts[i].count; k++)
                *out++ = parts[i].below > 0 ? (float)random_below(random, (uint32_t)parts[i].below)
                                            : random_uniform(random);
}

static cornu_status generate_rows(const cornu_model *model, const drawn *inputs, int64_t count,
                                  uint64_t seed, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    drawn targets[MODEL_ENDS_MAX];
    float *x, *y;
    targets_of(model, targets);
    shape sample, row = {1, {numbers_of(targets, model->output_count)}};
    shape_picture(&model->input, &sample);
    TRY_GOTO(data_generated_new(&data));
    TRY_GOTO(data_reserve_inputs(data, CORNU_TRAIN, count, &sample, SAMPLE_F32, &x));
    TRY_GOTO(data_reserve_targets(data, CORNU_TRAIN, &row, SAMPLE_F32, &y));
    random_stream random = random_open(seed, RANDOM_GENERATE, 0);
    draw(inputs, model->input_count, count, &random, x);
    random = random_open(seed, RANDOM_GENERATE, 1);
    draw(targets, model->output_count, count, &random, y);
    data->block[CORNU_TEST] = data->block[CORNU_TRAIN];
    *out = data;
    data = NULL;
done:
    cornu_data_close(data);
    return status;
}

cornu_status data_generate_for_model(const cornu_model *model, int64_t count, uint64_t seed,
                                     cornu_data **out)
{
    drawn inputs[MODEL_ENDS_MAX];
    *out = NULL;
    TRY(inputs_of(model, inputs));
    if (!takes_classes(model, inputs))
        return generate_rows(model, inputs, count, seed, out);
    shape x;
    shape_picture(&model->input, &x);
    const int64_t outputs = shape_elements(&model->output);
    return cornu_data_generate(x.dim, x.rank, (int)(outputs > 1 ? outputs : 2), count, seed, out);
}

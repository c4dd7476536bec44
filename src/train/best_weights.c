#include "base/memory.h"
#include "train/checkpoint.h"

cornu_status best_weights_new(cornu_model *model)
{
    if (model->training.best_weights)
        return CORNU_OK;
    size_t count = (size_t)model->weight_count, pointers = count * sizeof(float *), floats = 0;
    for (size_t i = 0; i < count; i++)
        floats += (size_t)model->variables[i].count;
    float **best;
    TRY(memory_new(1, pointers + floats * sizeof(float), "best weights", &best));
    float *values = (float *)(void *)(best + count);
    for (size_t i = 0; i < count; i++) {
        best[i] = values;
        values += model->variables[i].count;
    }
    model->training.best_weights = best;
    return CORNU_OK;
}

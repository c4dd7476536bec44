#include "model/training_state.h"
#include "base/memory.h"
#include <stdlib.h>

position position_start(uint64_t seed)
{
    return (position){.seed = seed, .learning_rate_factor = 1};
}

void training_state_forget_callbacks(training_state *t)
{
    json_decref(t->callback_state);
    t->callback_state = NULL;
    free(t->best_weights);
    t->best_weights = NULL;
}

void training_state_free(training_state *t)
{
    training_state_forget_callbacks(t);
    free(t->data_name);
    free(t->data_path);
    free(t->tuning);
    *t = (training_state){0};
}

cornu_status training_state_check_slots(const training_state *t)
{
    if (!t->position.slots_divided)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "optimizer: found its state divided among ranks (shard-optimizer); expected "
                       "the end of an epoch or, where a rank has failed, the file saved before");
}

cornu_status training_state_set_data(training_state *t, const char *name, const char *path)
{
    TRY(memory_replace_string(name, &t->data_name));
    return memory_replace_string(path, &t->data_path);
}

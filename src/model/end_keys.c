/* The names of inputs and outputs that Keras has in dictionaries. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

static void keys_free(char **keys)
{
    for (int i = 0; keys && keys[i]; i++)
        free(keys[i]);
    free(keys);
}

void model_forget_input_keys(cornu_model *m)
{
    keys_free(m->input_keys);
    m->input_keys = NULL;
}

void model_forget_output_keys(cornu_model *m)
{
    keys_free(m->output_keys);
    m->output_keys = NULL;
}

static cornu_status set_keys(const doc *const *entries, int count, char ***keys)
{
    char **copy;
    cornu_status status;
    TRY(memory_new((size_t)count + 1, sizeof *copy, "names", &copy));
    for (int i = 0; i < count; i++) {
        TRY_GOTO(name_check(entries[i], "key", entries[i]->key));
        TRY_GOTO(memory_copy_string(entries[i]->key, &copy[i]));
    }
    keys_free(*keys);
    *keys = copy;
    return CORNU_OK;
done:
    keys_free(copy);
    return status;
}

cornu_status model_set_input_keys(cornu_model *m, const doc *const *entries, int count)
{
    return set_keys(entries, count, &m->input_keys);
}

cornu_status model_set_output_keys(cornu_model *m, const doc *const *entries, int count)
{
    return set_keys(entries, count, &m->output_keys);
}

/* The names of inputs and outputs that Keras has in dictionaries. */
#include "base/memory.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

static void keys_free(char **keys)
{
    for (int i = 0; keys && keys[i]; i++)
        free(keys[i]);
    free(keys);
}

void model_forget_keys(cornu_model *m)
{
    keys_free(m->input_keys);
    keys_free(m->output_keys);
    m->input_keys = m->output_keys = NULL;
}

static cornu_status check_key(const doc *entry)
{
    enum { LENGTH_MAX = 200 };
    const size_t length = strlen(entry->key);
    bool printable = true;
    for (size_t i = 0; i < length; i++)
        printable = printable && (unsigned char)entry->key[i] >= ' ' && entry->key[i] != '/';
    if (length > 0 && length <= LENGTH_MAX && printable)
        return CORNU_OK;
    return doc_fail(entry, "found the name \"%.60s\"; expected 1 to %d characters without /",
                    entry->key, LENGTH_MAX);
}

static cornu_status set_keys(const doc *const *entries, int count, char ***keys)
{
    char **copy;
    cornu_status status;
    TRY(memory_new((size_t)count + 1, sizeof *copy, "names", &copy));
    for (int i = 0; i < count; i++) {
        TRY_GOTO(check_key(entries[i]));
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

#include "exchange/weight_values.h"
#include "base/memory.h"
#include <stdlib.h>

bool weight_is_count(const file_tensor *t)
{
    return t->type == ELEMENT_I64 && t->rank == 0;
}

cornu_status weight_copy(variable *v, const file_tensor *t)
{
    double *values;
    if (t->type == ELEMENT_F32)
        return tensor_read(t, v->value);
    if (weight_is_count(t)) {
        int64_t whole;
        TRY(tensor_read(t, &whole));
        v->value[0] = (float)whole;
        return CORNU_OK;
    }
    TRY(memory_new((size_t)v->count, sizeof *values, t->name, &values));
    cornu_status status = tensor_read(t, values);
    for (int64_t i = 0; status == CORNU_OK && i < v->count; i++)
        v->value[i] = (float)values[i];
    free(values);
    return status;
}

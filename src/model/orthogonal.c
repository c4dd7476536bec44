/* The penalty on rows, or columns, of a weight that are not orthogonal. */
#include "model/layers/layers.h"
#include "model/regularizers.h"

cornu_status orthogonal_check(const regularizer *r, const char *name, const shape *s)
{
    char shown[128];
    if (s->rank != 2)
        return status_fail(
            CORNU_INVALID,
            "%s: inputs to OrthogonalRegularizer must have rank 2; found a weight of "
            "shape %s",
            name, shape_show(s, false, shown));
    if (s->dim[r->mode == ORTHOGONAL_COLUMNS] < 2)
        return status_fail(
            CORNU_INVALID,
            "%s: OrthogonalRegularizer: found a weight of shape %s; expected at least "
            "two %s",
            name, shape_show(s, false, shown), r->mode == ORTHOGONAL_COLUMNS ? "columns" : "rows");
    return CORNU_OK;
}

cornu_status orthogonal_emit(const regularizer *r, step_builder *b, tensor_ref w, tensor_ref *value,
                             double *factor)
{
    static const int exchanged[2] = {2, 1};
    const activation absolute = {.kind = ACTIVATION_ABSOLUTE};
    tensor_ref mask, rows = w;
    if (r->mode == ORTHOGONAL_COLUMNS)
        TRY(emit_transpose(b, w, exchanged, &rows));
    const int64_t n = emit_shape(b, rows).dim[0];
    TRY(layer_normalize_rows(b, rows, &rows));
    TRY(emit_matmul(b, rows, false, rows, true, value));
    TRY(layer_beside_diagonal(b, n, &mask));
    TRY(emit_binary(b, BINARY_KEEP, *value, mask, value));
    *factor = r->factor * (double)n / (double)(n - 1); /* the sum is of n (n - 1) products */
    return emit_activation(b, *value, absolute, value);
}

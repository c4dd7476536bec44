/* The axes of constraints. */
#include "model/constraints.h"

/* along[i]: the norms are over dimension i. */
static cornu_status find_axes(const constraint *c, const char *name, const shape *s,
                              bool along[SHAPE_MAX])
{
    char shown[128];
    for (int i = 0; i < c->axis.count; i++) {
        const int64_t axis = c->axis.value[i];
        if (axis < -s->rank || axis >= s->rank)
            return status_fail(
                CORNU_INVALID,
                "%s: constraint: axis: found %lld for a weight of shape %s; expected "
                "%d to %d",
                name, (long long)axis, shape_show(s, false, shown), -s->rank, s->rank - 1);
        along[axis < 0 ? axis + s->rank : axis] = true;
    }
    return CORNU_OK;
}

cornu_status constraint_extents(const constraint *c, const char *name, const shape *s,
                                int64_t extents[3])
{
    bool along[SHAPE_MAX] = {false};
    int at = 0; /* of extents */
    extents[0] = extents[1] = extents[2] = 1;
    if (c->kind == CONSTRAINT_NON_NEG) {
        extents[2] = shape_elements(s);
        return CORNU_OK;
    }
    TRY(find_axes(c, name, s, along));
    for (int i = 0; i < s->rank; i++) {
        if (along[i] == (at != 1))
            at++;
        if (at > 2)
            return status_fail(
                CORNU_INVALID,
                "%s: constraint: axis: found axes with others between them; expected "
                "neighbours, such as [0, 1, 2]",
                name);
        extents[at] *= s->dim[i];
    }
    return CORNU_OK;
}

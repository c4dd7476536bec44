#include "model/number_array.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void number_array_free(number_array *a)
{
    free(a->values);
    *a = (number_array){.values = NULL};
}

/* ---- reading ---------------------------------------------------------------------------- */

static cornu_status fail_number(const doc *d)
{
    return doc_fail_found(d, "a finite number, or lists of equal lengths of them");
}

static bool get_number(const doc *d, float *out)
{
    if (d->type == DOC_BOOL)
        *out = d->boolean;
    else if (d->type == DOC_INT || d->type == DOC_REAL)
        *out = (float)d->real;
    else
        return false;
    return isfinite(*out);
}

/* The shape by the first item of each list. */
static cornu_status find_shape(const doc *d, shape *out)
{
    const doc *at = d;
    for (out->rank = 0; at->type == DOC_LIST; at = at->items[0]) {
        if (at->count == 0)
            return doc_fail(at, "found an empty list; expected numbers");
        if (out->rank == SHAPE_MAX)
            return doc_fail(d, "found lists in more than %d levels; expected at most %d axes",
                            SHAPE_MAX, SHAPE_MAX);
        out->dim[out->rank++] = at->count;
    }
    const int64_t count = shape_elements(out);
    if (count >= 0 && count <= NUMBER_ARRAY_MOST)
        return CORNU_OK;
    char shown[128];
    return doc_fail(d, "found an array of shape %s; expected at most %d numbers",
                    shape_show(out, false, shown), NUMBER_ARRAY_MOST);
}

/* Read what is below `axis` axes; *to moves past the numbers. */
static cornu_status read_values(const doc *d, const shape *s, int axis, float **to)
{
    if (axis == s->rank)
        return get_number(d, (*to)++) ? CORNU_OK : fail_number(d);
    if (d->type != DOC_LIST || d->count != s->dim[axis])
        return fail_number(d);
    for (int i = 0; i < d->count; i++)
        TRY(read_values(d->items[i], s, axis + 1, to));
    return CORNU_OK;
}

cornu_status number_array_read(const doc *d, number_array *out)
{
    const char *class_name = doc_string(doc_get(d, "class_name"));
    number_array a = {.values = NULL};
    if (class_name &&
        (strcmp(class_name, "__numpy__") == 0 || strcmp(class_name, "__tensor__") == 0))
        d = doc_get(doc_get(d, "config"), "value") ? doc_get(doc_get(d, "config"), "value") : d;
    TRY(find_shape(d, &a.shape));
    TRY(memory_new((size_t)shape_elements(&a.shape), sizeof *a.values, "array", &a.values));
    float *to = a.values;
    cornu_status status = read_values(d, &a.shape, 0, &to);
    if (status == CORNU_OK) {
        number_array_free(out);
        *out = a;
    } else {
        number_array_free(&a);
    }
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

static json_t *list_of(const shape *s, int axis, const float **from)
{
    if (axis == s->rank)
        return json_real((double)*(*from)++);
    json_t *list = json_array();
    for (int64_t i = 0; list && i < s->dim[axis]; i++)
        if (json_array_append_new(list, list_of(s, axis + 1, from)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *number_array_to_list(const number_array *a)
{
    const float *from = a->values;
    return list_of(&a->shape, 0, &from);
}

json_t *number_array_to_json(const number_array *a)
{
    json_t *values = number_array_to_list(a);
    if (!values || a->shape.rank == 0)
        return values;
    return json_pack("{s:s, s:{s:o, s:s}}", "class_name", "__numpy__", "config", "value", values,
                     "dtype", "float32");
}

/* ---- beside a tensor ---------------------------------------------------------------------- */

cornu_status number_array_beside(const number_array *a, const shape *x, shape *out)
{
    char found[128], beside[128];
    const shape *s = &a->shape;
    const int more = s->rank - x->rank;
    if (more > 1 || (more == 1 && s->dim[0] != 1))
        return status_fail(CORNU_INVALID,
                           "found an array of shape %s beside a tensor of shape %s; expected no "
                           "more axes, and length 1 in the place of the batch",
                           shape_show(s, false, found), shape_show(x, true, beside));
    *out = (shape){.rank = x->rank};
    for (int i = 0; i < x->rank; i++)
        out->dim[i] = i + more < 0 ? 1 : s->dim[i + more];
    return CORNU_OK;
}

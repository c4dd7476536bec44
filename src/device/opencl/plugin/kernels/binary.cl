#include "device/opencl/plugin/kernels/common.h"

/* Operations of two tensors, element by element. */
#include "device/opencl/plugin/kernels/shared.h"
#include "device/rules/binary.h"
#include "model/kinds.h"

static inline float binary(int kind, float a, float b)
{
    switch (kind) {
#define BINARY(id, name, rule, ...) \
    case BINARY_##id:               \
        return binary_##rule(a, b);
#include "model/binaries.def"
    }
    return NAN;
}

static inline float binary_back(int kind, int of, float a, float b, float dy)
{
    switch (kind) {
#define BINARY(id, name, rule, ...) \
    case BINARY_##id:               \
        return of == 0 ? binary_##rule##_da(a, b, dy) : binary_##rule##_db(a, b, dy);
#include "model/binaries.def"
    }
    return NAN;
}

/* A number for each dimension, the innermost last (device/broadcast.h), as parameters. */
#define EACH_DIMENSION(name)                                                            \
    const long name##_0, const long name##_1, const long name##_2, const long name##_3, \
        const long name##_4
#define DIMENSIONS(name)                                 \
    {                                                    \
        name##_0, name##_1, name##_2, name##_3, name##_4 \
    }

/* The tensors' elements at a place. */
typedef struct binary_place {
    long a, b, y;
} binary_place;

typedef struct binary_steps {
    long a[BINARY_DIMENSIONS], b[BINARY_DIMENSIONS], y[BINARY_DIMENSIONS];
} binary_steps;

/* Move to place number i of these dimensions. */
static inline binary_place move(binary_place at, const long *size, const binary_steps *steps,
                                long i)
{
    for (int d = BINARY_DIMENSIONS - 1; d >= 0; d--) {
        long index;
        if (size[d] == 1)
            continue;
        i = divide(i, size[d], &index);
        at.a += index * steps->a[d];
        at.b += index * steps->b[d];
        at.y += index * steps->y[d];
    }
    return at;
}

/* y may be a or b where none of its elements is repeated */
KERNEL(binary_forward, WORK_ITEMS)
(IN(float, a), IN(float, b), OUT(float, y), const long count, const int kind, EACH_DIMENSION(size),
 EACH_DIMENSION(a), EACH_DIMENSION(b), EACH_DIMENSION(y))
{
    const long size[] = DIMENSIONS(size);
    const binary_steps steps = {DIMENSIONS(a), DIMENSIONS(b), DIMENSIONS(y)};
    const binary_place first = {0, 0, 0};
    AT(a);
    AT(b);
    AT(y);
    for (EACH(i, count)) {
        const binary_place at = move(first, size, &steps, i);
        y[i] = binary(kind, a[at.a], b[at.b]);
    }
}

/* Each of `count` elements of dx, which are in the dimensions `kept`, is a sum of `terms`, which
   are in `repeated`. */
#define BACKWARD                                                                                   \
    IN(float, a), IN(float, b), IN(float, dy), OUT(float, dx), const long count, const long terms, \
        const int kind, const int of, EACH_DIMENSION(kept), EACH_DIMENSION(repeated),              \
        EACH_DIMENSION(a), EACH_DIMENSION(b), EACH_DIMENSION(y)
#define TERM(k)                                               \
    const binary_place at = move(begin, repeated, &steps, k); \
    sum = sum2_plus(sum, binary_back(kind, of, a[at.a], b[at.b], dy[at.y]))

KERNEL(binary_backward, WORK_ITEMS)(BACKWARD)
{
    const long kept[] = DIMENSIONS(kept), repeated[] = DIMENSIONS(repeated);
    const binary_steps steps = {DIMENSIONS(a), DIMENSIONS(b), DIMENSIONS(y)};
    const binary_place first = {0, 0, 0};
    AT(a);
    AT(b);
    AT(dy);
    AT(dx);
    for (EACH(i, count)) {
        const binary_place begin = move(first, kept, &steps, i);
        sum2 sum = sum2_of(0.0f);
        for (long k = 0; k < terms; k++) {
            TERM(k);
        }
        dx[i] = sum2_value(sum2_settled(sum));
    }
}

/* a group for each element */
KERNEL(binary_backward_sums, WORK_ITEMS)(BACKWARD)
{
    local sum2 partials[WORK_ITEMS];
    const long kept[] = DIMENSIONS(kept), repeated[] = DIMENSIONS(repeated);
    const binary_steps steps = {DIMENSIONS(a), DIMENSIONS(b), DIMENSIONS(y)};
    const binary_place first = {0, 0, 0};
    AT(a);
    AT(b);
    AT(dy);
    AT(dx);
    for (long i = get_group_id(0); i < count; i += get_num_groups(0)) {
        const binary_place begin = move(first, kept, &steps, i);
        sum2 sum = sum2_of(0.0f);
        for (long k = get_local_id(0); k < terms; k += WORK_ITEMS) {
            TERM(k);
        }
        sum = group_sum2(sum2_settled(sum), partials);
        if (get_local_id(0) == 0)
            dx[i] = sum2_value(sum);
    }
}

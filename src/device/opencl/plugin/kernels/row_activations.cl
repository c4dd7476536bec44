#include "device/opencl/plugin/kernels/common.h"

/* Softmax and other activations of rows, by the rules of device/rules/row_activations.h. */
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/kernels/row_rules.h"

#include "device/rules/row_activations.h"

/* Forward dy is NULL. */
#define ROW_ACTIVATION(name, rule)                                                        \
    KERNEL(name, WORK_ITEMS)                                                              \
    (IN(float, x_or_y), IN(float, dy), OUT(float, result), const long rows, const long n, \
     const int lanes)                                                                     \
    {                                                                                     \
        EXCHANGE(exchange);                                                               \
        AT(x_or_y);                                                                       \
        AT(dy);                                                                           \
        AT(result);                                                                       \
        for (ROUNDS(first, rows, lanes)) {                                                \
            long row = first + get_local_id(0) / lanes;                                   \
            row_view r = view_of(exchange, row, rows, n, lanes);                          \
            r.output = x_or_y + row * n;                                                  \
            r.target = dy ? dy + row * n : dy;                                            \
            r.gradient = result + row * n;                                                \
            rule(&r);                                                                     \
        }                                                                                 \
    }
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, name, other_name, rule, ...) \
    ROW_ACTIVATION(row_##id, activate_row_##rule)           \
    ROW_ACTIVATION(row_##id##_back, activate_row_##rule##_back)
#include "model/activations.def"

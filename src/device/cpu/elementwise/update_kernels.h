/* The optimizers' rules (device/rules/optimizers.h) on ranges of elements, for UPDATE and for
   kernels that pass gradients on while they are in cache. */
#ifndef DEVICE_CPU_ELEMENTWISE_UPDATE_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_UPDATE_KERNELS_H

#include "device/rules/optimizer_constants.h"
#include <stdint.h>

/* Update w[count] and its slots by gradient g; slot[i] is NULL where the configuration has none. */
typedef void update_range(const optimizer_constants *c, const float *g, float *w,
                          float *const slot[], int64_t count);

/* One form of one rule, compiled separately; UPDATE_FORM_ANY reads the form from the constants. */
enum { UPDATE_FORM_ANY = -1 };
typedef struct update_kernel {
    int optimizer, form; /* optimizer_id, optimizer_constants.form */
    update_range *range;
} update_kernel;

typedef struct update_kernels {
    const update_kernel *list; /* all forms of each optimizer, UPDATE_FORM_ANY last */
    /* The sum of l1 |w| + l2 w^2; and that of the squares of g and its slopes. In doubles. */
    double (*penalty)(const float *w, int64_t count, float l1, float l2);
    double (*penalized_squares)(const float *g, const float *w, int64_t count, float l1, float l2);
} update_kernels;

#endif

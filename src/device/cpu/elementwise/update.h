/* An optimizer's rule, prepared for one step of one variable. */
#ifndef DEVICE_CPU_ELEMENTWISE_UPDATE_H
#define DEVICE_CPU_ELEMENTWISE_UPDATE_H

#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/update_kernels.h"

typedef struct cpu_update_step {
    update_range *rule;
    optimizer_constants constants;
    float *w, *slot[OPTIMIZER_SLOTS_MAX]; /* NULL where the optimizer has none */
} cpu_update_step;

/* `o`: an UPDATE of the plan of `r`, which may run the group that contains it. */
cpu_update_step cpu_update_begin(const op_run *r, const op *o, cpu_isa isa);
/* Update elements first...first + count - 1 of the variable; g[count] are their gradients. */
void cpu_update_range(const cpu_update_step *u, const float *g, int64_t first, int64_t count);

#endif

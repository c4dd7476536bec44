/* Where the elements of a weight are that is packed in panels. */
#ifndef DEVICE_CPU_ELEMENTWISE_PLACES_H
#define DEVICE_CPU_ELEMENTWISE_PLACES_H

#include "device/cpu/cpu.h"
#include "device/host/host.h"

/* Where the elements from `plain` on are in panels of [in][units], or in rows where units is 0.
   Lowers the count to how many of them stand side by side. */
static inline int64_t cpu_place(int64_t in, int64_t units, int64_t plain, int64_t *count)
{
    if (units == 0)
        return plain;
    const int64_t row = plain / units, unit = plain % units;
    const int64_t panel = unit / PANEL_COLUMNS * PANEL_COLUMNS;
    const int64_t width = cpu_least(PANEL_COLUMNS, units - panel);
    *count = cpu_least(*count, panel + width - unit);
    return panel * in + row * width + unit - panel;
}

#endif

#include "device/host/panels.h"
#include <string.h>

static int64_t width_at(int64_t column, int64_t units)
{
    return units - column < PANEL_COLUMNS ? units - column : PANEL_COLUMNS;
}

void panels_pack(const float *plain, int64_t in, int64_t units, float *panels)
{
    for (int64_t n = 0; n < units; n += PANEL_COLUMNS) {
        int64_t width = width_at(n, units);
        for (int64_t k = 0; k < in; k++, panels += width)
            memcpy(panels, plain + k * units + n, (size_t)width * sizeof *panels);
    }
}

void panels_unpack(const float *panels, int64_t in, int64_t units, float *plain)
{
    for (int64_t n = 0; n < units; n += PANEL_COLUMNS) {
        int64_t width = width_at(n, units);
        for (int64_t k = 0; k < in; k++, panels += width)
            memcpy(plain + k * units + n, panels, (size_t)width * sizeof *panels);
    }
}

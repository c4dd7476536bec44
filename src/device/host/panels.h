/* The layout in which a device may keep the kernels W [in][units] of dense layers: panels of
   PANEL_COLUMNS columns, the last one narrower. Element (k, n) of a panel of width w that begins
   at column p is at p * in + k * w + n - p: the elements are those of the plain layout in
   another order, so that elementwise operations need not know the layout. */
#ifndef DEVICE_HOST_PANELS_H
#define DEVICE_HOST_PANELS_H

#include <stdint.h>

enum { PANEL_COLUMNS = 48 };

void panels_pack(const float *plain, int64_t in, int64_t units, float *panels);
void panels_unpack(const float *panels, int64_t in, int64_t units, float *plain);

#endif

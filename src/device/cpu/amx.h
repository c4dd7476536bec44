/* The eight AMX tiles: each is a register that holds a matrix. */
#ifndef DEVICE_CPU_AMX_H
#define DEVICE_CPU_AMX_H

#include <stdint.h>

/* The configuration for ldtilecfg: all AMX tiles at their largest size, 16 rows of 64 bytes. */
static const struct {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_tiles_whole = {.palette = 1,
                     .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                     .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

#endif

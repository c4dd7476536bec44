/* Sizes of winograd.cl. C and OpenCL C. */
#ifndef DEVICE_OPENCL_WINOGRAD_H
#define DEVICE_OPENCL_WINOGRAD_H

#define WINOGRAD_STEP 4       /* rows and columns of a tile's outputs */
#define WINOGRAD_POSITIONS 36 /* (4 + 3 - 1)^2 */
/* Channels that a work-item takes: a GPU's has registers for one; a CPU's vectors are filled. */
#define WINOGRAD_VECTOR(item_n) ((item_n) > 8 ? (item_n) : 1)
/* Work-items of a work-group: the number for the channels, times the number of tiles. */
#define WINOGRAD_ITEMS(item_n) ((item_n) > 8 ? 4 : 32)
#define WINOGRAD_TILES 8

#endif

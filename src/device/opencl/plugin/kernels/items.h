/* Definitions shared by kernels and their launches on the host. C and OpenCL C. */
#ifndef DEVICE_OPENCL_ITEMS_H
#define DEVICE_OPENCL_ITEMS_H

/* Work-items of a work-group of every kernel that is no product. */
#define WORK_ITEMS 256

/* gather.cl: elements of a sample that a group takes; a multiple of 4 */
#define GATHER_PIECE (4 * WORK_ITEMS)

/* dense.cl, reduce_many_slices: neighbouring numbers that a group makes, WORK_ITEMS / 8 work-items
   each: 32 bytes, which is what a GPU's memory is read by */
#define REDUCE_NUMBERS 8

#endif

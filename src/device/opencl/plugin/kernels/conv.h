/* A convolution as a product whose A is gathered from an image while it is read. C and OpenCL C.

   A has a row for each position, a column for each tap of its window: (kernel row, kernel column,
   channel of the group). Of the forward pass, positions are y's, the image is x. Of the gradient of
   x, positions are x's, the image is dy, and a tap goes the other way: it meets an output where
   what remains is a multiple of the stride. The weights' gradient has A', of the forward pass. */
#ifndef DEVICE_OPENCL_CONV_H
#define DEVICE_OPENCL_CONV_H

/* PRODUCT_K_GROUPS of both gradients, which have few tiles. */
#define CONV_GRADIENT_K_GROUPS(gemm_m, gemm_n, item_m, item_n) \
    ((item_n) > 8 || (gemm_m) / (item_m) * ((gemm_n) / (item_n)) > 64 ? 1 : 2)

/* height, width, channels: of the image, channels of all groups. rows, columns: positions of a
   sample. stride: from one position's window to the next. offset: begin of the first window.
   step: from tap to tap. shrink: divisor of the resulting coordinate. taps: per row of the
   kernel. tap_channels: channels of the group per tap; if work-items have more than 8 columns, a
   row of the kernel whose numbers are adjacent in the image is one tap. bias_row: 1: the sums of
   B's columns, which are the bias's gradient, become one more row of C; else 0. *_multiplier and
   *_shift divide by a number: window_divide. */
/* clang-format off */
#define WINDOW_FIELDS(X)                                                             \
    X(height) X(width) X(channels) X(rows) X(columns)                                \
    X(rows_multiplier) X(rows_shift) X(columns_multiplier) X(columns_shift)          \
    X(stride_rows) X(stride_columns) X(offset_rows) X(offset_columns)                \
    X(step_rows) X(step_columns) X(shrink_rows) X(shrink_columns)                    \
    X(shrink_rows_multiplier) X(shrink_rows_shift)                                   \
    X(shrink_columns_multiplier) X(shrink_columns_shift)                             \
    X(taps) X(taps_multiplier) X(taps_shift)                                         \
    X(tap_channels) X(tap_channels_multiplier) X(tap_channels_shift)                 \
    X(bias_row)
/* clang-format on */

typedef struct conv_window {
#define FIELD(name) int name;
    WINDOW_FIELDS(FIELD)
#undef FIELD
} conv_window;

#endif

/* Single operations on random tensors: the table of shapes, and a way to run one with any kernel.
 */
#ifndef SUPPORT_OP_CASES_H
#define SUPPORT_OP_CASES_H

#include "device/host/host.h"

/* One operation with its tensors' shapes; rank 0: the tensor is absent. */
typedef struct op_case {
    op_kind kind;
    char label[160]; /* "conv2d_forward 3x7x9x3 -> 5, kernel 3x2, ..." */
    shape in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    op_attributes a;
    float step;     /* inputs are multiples of this (so that equal values occur); 0: any */
    bool absolute;  /* inputs are without their signs */
    bool separable; /* RESAMPLE: maps move rows and columns apart */
} op_case;

/* The whole table; every kind of operation is in it. Ends the test program if memory runs out. */
const op_case *op_cases(int *count);
/* A group's teardown. */
int op_cases_free(void **state);

/* Floating-point operations of the case, by ops.def. */
double op_case_flops(const op_case *c);
/* Has it at most CORNU_TEST_MFLOP million of them? Without that variable every case does. */
bool op_case_is_small(const op_case *c);

/* If the reference kernel makes NaN of a NaN, every kernel must, so that training notices it. */
enum { NAN_KINDS = 13 };
extern const op_kind nan_kinds[NAN_KINDS];

/* The outputs of an operation. */
enum { OP_TABLE_MOST = 16384 };
typedef struct op_outputs {
    double table[OP_TABLE_MOST];   /* of a TALLY, which begins at number 1 of all */
    float *values[OP_OUTPUTS_MAX]; /* NULL where absent */
    int64_t count[OP_OUTPUTS_MAX];
    step_results results;
} op_outputs;

/* Run the case with kernel `k`. Inputs depend on the case alone; with `nan`, element number count /
   2 of the first input is NaN. Outputs hold garbage before. Release with op_outputs_free. */
cornu_status op_case_run(const op_case *c, const kernel *k, threads *pool, bool nan,
                         op_outputs *out);
/* The same with these inputs. */
cornu_status op_case_run_with(const op_case *c, const kernel *k, threads *pool,
                              const float *const inputs[OP_INPUTS_MAX], op_outputs *out);
void op_outputs_free(op_outputs *o);
/* Scratch memory of a kernel, all NaN: a kernel must not rely on its content. Release with
   memory_free_aligned. */
cornu_status op_scratch_new(size_t bytes, void **out);
/* The same as a plan of this one operation, on a device that has `write`; also the name of the
   chosen kernel. */
cornu_status op_case_run_on(const op_case *c, device *d, bool nan, char kernel_name[64],
                            op_outputs *out);
/* Report outputs that have other bits when the case runs a second time; returns their number. */
int op_case_check_twice(const op_case *c, device *d);
/* Report every output that differs from the expected one by more than `tolerance`; returns their
   number. */
int op_outputs_compare(const op_case *c, const char *kernel, double tolerance,
                       const op_outputs *found, const op_outputs *expected);
/* The same for a product in 32 bits, dense or a convolution's, by the bound of its arithmetic: the
   error of each sum of k products is at most that of rounding k partial sums, which grows with the
   sum of the products' magnitudes, whatever their order; plus `activated` times the largest
   result. */
int op_outputs_compare_sums(const op_case *c, const char *kernel, double activated,
                            const op_outputs *found, const op_outputs *expected);
/* If a kernel may spread NaN (kernel.tolerance), only missing NaN count: replace the other places
   by the expected values. */
void op_outputs_forgive_nan(op_outputs *found, const op_outputs *expected);
/* Run all kernels of the device's list except the reference on one case, and compare with the
   expected outputs (NULL: with none). `note` is added to the messages. Returns failures; *tried
   counts the kernels that ran. */
int op_case_check(const op_case *c, host_device *h, const char *note, bool nan,
                  const op_outputs *expected, int *tried);
/* Would the kernel accept it? */
bool op_case_accepted(const op_case *c, const kernel *k, const char **why);

#endif

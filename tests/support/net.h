/* A small network on a device, for tests: from recipe text to tensors that can be read. Every
   function fails the running cmocka test, with cornu's message, where something goes wrong. */
#ifndef SUPPORT_NET_H
#define SUPPORT_NET_H

#include "device/device.h"

/* A model from a recipe's text; its weights are drawn from seed 1. Close with cornu_model_close. */
cornu_model *net_model(const char *yaml);
/* What a sample of a merging layer has before it: layers a and b, which both read the input. */
#define NET_BRANCHES                              \
    "{Activation: {activation: tanh, name: a}}, " \
    "{Rescaling: {scale: -0.5, offset: 0.78, name: b, inputs: input_layer}}, "
/* The model section of a recipe, with one layer of layer_kinds by one of its samples. */
void net_sample(const layer_kind *kind, const char *sample, char *yaml, size_t size);
/* A model of it, trained with sgd on mean_squared_error. */
cornu_model *net_layer(const layer_kind *kind, const char *sample);
/* Has the sample a recurrence, in the layer or in one within it? */
bool net_is_recurrent(const layer_kind *kind, const char *sample);

/* A model's plan. Free with plan_free. */
plan *net_plan(const cornu_model *model, plan_mode mode, int64_t batch);

typedef struct net {
    cornu_model *model; /* the caller owns it */
    device *device;
    plan *plan;
    prepared *prepared;
    float *x, *y; /* [batch][input], [batch][target] of the next run; y NULL in PLAN_PREDICT */
    int64_t x_count, y_count;
    sample_block samples; /* views of x and y */
    int64_t *index;       /* 0, 1, ... batch - 1 */
    step_input input;
} net;

/* Build and prepare a plan on device `name` with the model's current weights. Inputs and targets
   are filled with distinct numbers in -1..1 (class numbers if the loss needs them). */
net *net_open(cornu_model *model, const char *name, const plan_options *options);
/* The same with one kernel preferred, and a number of threads. */
net *net_open_with(cornu_model *model, const char *name, const plan_options *plan_options_,
                   const device_options *device_options_);
void net_close(net *n);
/* Run one step on x and y; returns its loss (0 in PLAN_PREDICT). */
double net_run(net *n);
/* The samples' memory moved: call this before the next run. */
void net_samples(net *n, const sample_block *samples);
/* A tensor's values in fresh memory (free). */
float *net_read(net *n, tensor_ref t);
float *net_read_variable(net *n, const char *name);
void net_write_variable(net *n, int number, const float *values);

/* Numbers in -1..1, no two equal and none 0, in an order drawn from `seed`. */
void net_fill(float *values, int64_t count, uint64_t seed);
/* Largest |a - b| over the largest |a| (over 1e-30 where all of a is 0). */
double net_difference(const float *a, const float *b, int64_t count);
/* Number of operations of this kind, and the index of the first (-1: none). */
int net_count(const plan *p, op_kind kind, int *first);
/* The kernel of each operation of the net's plan, in fresh memory (free). */
kernel_choice *net_choices(const net *n);
/* Does no operation of the plan run by the kernel that CORNU_TEST_KERNEL names? False if it names
   none. */
bool net_misses_kernel(device *d, prepared *prepared_, const plan *p);

/* The names of the usable devices, "cpu" first; NULL past the end. If CORNU_TEST_DEVICES names some
   ("cuda:0"), those alone; the program fails if one of them is absent. */
const char *net_device(int index);
/* The first of them with a memory of its own ("cuda:0", "opencl:0"), whose name is kept; NULL if
   there is none. */
const char *net_accelerator(void);
/* Open a device by its name; with the kernel that CORNU_TEST_KERNEL names, if any, unless `options`
   force one. */
device *net_device_open(const char *name, const device_options *options);
/* Does the device lack a kernel for an operation of the model's training, or of this kind? */
bool net_lacks(const device *d, const cornu_model *model);
bool net_lacks_kind(const device *d, op_kind kind);

#endif

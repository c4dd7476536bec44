/* The options of a run as tables with one row per option. The readers of recipes, command lines
   and keywords of other languages are made from these tables; cornu.h says what each option
   does. A table is a macro that calls the caller's macros for its rows, with `at` as first
   argument:

     CORNU_WHERE_OPTIONS(OPTION, at)     where to run: the fields of cornu_where
     CORNU_FIT_OPTIONS(OPTION, KEY, at)  how to train: fields of cornu_fit_options, and what the fit
                                         section of a recipe takes
     CORNU_FILE_OPTIONS(OPTION, at)      what cornu_fit writes: fields of cornu_fit_options

     OPTION(at, type, field, key, flag, value, standard, minimum, maximum, help)
     KEY(at, type, key, standard, minimum, maximum)    only in a recipe

   type      INT (int64_t or uint64_t), SMALL (int), FLAG (bool), TEXT (const char *);
             OWN: the key's value has a form of its own
   field     in the struct; the value 0 or NULL means that the option is not given
   key       in the recipe's fit section, NULL: none. Python calls the option by its key, or by its
             field where it has none
   flag      of cornu train; value is the placeholder for its value in --help
   standard  the default value (0: none)
   minimum, maximum  for numbers   */
#ifndef CORNU_OPTIONS_H
#define CORNU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CORNU_SHARDS_MAX 1024

/* clang-format off */
#define CORNU_WHERE_OPTIONS(OPTION, at) \
    OPTION(at, TEXT, device, NULL, "device", "D", 0, 0, 0, "cpu (default), gpu, cuda:0, opencl:0, reference") \
    OPTION(at, TEXT, precision, NULL, "precision", "P", 0, 0, 0, "of products: fp32 (default); on GPUs tf32, bf16") \
    OPTION(at, FLAG, exact_convolution, NULL, "exact-conv", NULL, 0, 0, 0, "no Winograd convolutions") \
    OPTION(at, SMALL, threads, NULL, "threads", "N", 0, 1, 1024, "number of threads; does not change the result")

#define CORNU_FIT_OPTIONS(OPTION, KEY, at) \
    OPTION(at, INT, epochs, "epochs", "epochs", "N", 1, 1, INT32_MAX, "epochs in all") \
    OPTION(at, INT, batch, "batch_size", "batch", "N", 32, 1, INT32_MAX, "samples of a step") \
    KEY(at, INT, initial_epoch, 0, 0, INT32_MAX) \
    OPTION(at, INT, steps_per_epoch, "steps_per_epoch", "steps", "N", 0, 1, INT32_MAX, "steps of an epoch") \
    KEY(at, INT, validation_steps, 0, 1, INT32_MAX) \
    KEY(at, OWN, validation_freq, 0, 0, 0) \
    KEY(at, INT, validation_batch_size, 0, 1, INT32_MAX) \
    KEY(at, OWN, validation, 0, 0, 0) \
    KEY(at, OWN, validation_split, 0, 0, 0) \
    KEY(at, FLAG, shuffle, true, 0, 0) \
    OPTION(at, INT, shards, "shards", "shards", "N", 0, 1, CORNU_SHARDS_MAX, \
           "divide each batch into N, a power of two, and add their gradients") \
    OPTION(at, TEXT, gradient_dtype, "gradient_dtype", "gradient-dtype", "T", 0, 0, 0, \
           "of the shards' gradients: fp32 (default); bf16 (half the bytes, rounded)") \
    OPTION(at, FLAG, shard_optimizer, NULL, "shard-optimizer", NULL, 0, 0, 0, \
           "each rank updates its part of the weights") \
    OPTION(at, FLAG, recompute, "recompute", "recompute", NULL, 0, 0, 0, \
           "compute activations again in the backward pass: less memory, more time, same bits") \
    OPTION(at, INT, seed, "seed", "seed", "N", 1, 1, INT64_MAX, "same seed, same bits") \
    KEY(at, OWN, class_weight, 0, 0, 0) \
    KEY(at, OWN, callbacks, 0, 0, 0)

#define CORNU_FILE_OPTIONS(OPTION, at) \
    OPTION(at, TEXT, save, NULL, "save", "FILE", 0, 0, 0, "write the model here: at the end, each epoch, on Ctrl-C") \
    OPTION(at, TEXT, log, NULL, "log", "FILE", 0, 0, 0, "write a CSV row an epoch") \
    OPTION(at, FLAG, log_steps, NULL, "log-steps", NULL, 0, 0, 0, "write a row a step instead") \
    OPTION(at, TEXT, tensorboard, NULL, "tensorboard", "DIR", 0, 0, 0, "write event files for TensorBoard here") \
    OPTION(at, TEXT, output, NULL, "output", "DIR", 0, 0, 0, "folder for the files that the recipe itself names")
/* clang-format on */

#endif

/* The command train: one run, or a sweep of them. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli/cli.h"

typedef struct train_options {
    const char *what; /* recipe or workload; NULL only with resume */
    const char *data, *init, *names, *resume, *html, *classes;
    int64_t jobs;
    real_number learning_rate, max_time, fraction;
    text_list sweep, skip, freeze;
    cornu_fit_options fit; /* options that are passed to the library unchanged */
    data_choice files;
    bool plot, quiet, no_save, exact;
} train_options;

/* Open the recipe or the model file (both must describe the same network, if both are given) and
   its data, and adapt the model to the command line and the data. */
int train_open(const train_options *options, progress *p, cornu_model **model, cornu_data **data);
/* Apply the command line's options to a model whose layers are final. */
int train_prepare(const train_options *options, cornu_model *model);
/* True for a built-in workload that may be adapted to other data. */
bool train_adapts(const train_options *options);
/* Print a notice for each option without effect on this recipe and data. */
void train_say_unused(const train_options *options, const cornu_data *data, progress *p);
/* All runs of options->sweep; `table` are the command's options, as they were read. */
int train_sweep(const command *c, const train_options *options, const option *table);

#endif

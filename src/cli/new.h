/* The command new: inspects a data set, and writes a recipe for it. */
#ifndef CLI_NEW_H
#define CLI_NEW_H

#include "cli/cli.h"

/* The facts of the data that decide how its recipe looks. */
typedef struct new_data {
    const char *what; /* as in --data */
    cornu_data *data;
    double split; /* share for validation if there is no test split; or 0 */
    cornu_data_info info;
    bool pictures;         /* a folder of them; else arrays of one shape */
    int64_t height, width; /* medians of the inspected pictures */
    bool grey;             /* all that were looked at */
    bool one_shape;        /* all of the same proportions */
} new_data;

/* The names of the recipe, and its chosen settings. */
typedef struct new_recipe {
    const char *name;      /* "flowers" */
    const char *file;      /* "flowers.yaml" */
    int64_t height, width; /* size of the network's input */
    int channels, blocks;  /* blocks: convolution and pooling */
    int64_t batch;
    bool tests; /* the data has a test split */
} new_recipe;

/* Choose the recipe's settings for the data. */
void new_choose(const new_data *d, new_recipe *r);
/* Write the recipe. False if writing fails, or if the data's name is not possible in a recipe. */
bool new_write(const new_data *d, const new_recipe *r, FILE *f);

#endif

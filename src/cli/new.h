/* The command new: what a data set is like, and a recipe for it. */
#ifndef CLI_NEW_H
#define CLI_NEW_H

#include "cli/cli.h"

/* The facts of the data that decide how its recipe looks. */
typedef struct new_data {
    const char *what; /* as --data has it */
    cornu_data *data;
    double split; /* the share that is set apart, as there is no test split; or 0 */
    cornu_data_info info;
    bool pictures;         /* a folder of them; else arrays of one shape */
    int64_t height, width; /* of pictures the medians of those looked at */
    bool grey;             /* all that were looked at */
    bool one_shape;        /* all of the same proportions */
} new_data;

/* The names of the recipe, and what is chosen for it. */
typedef struct new_recipe {
    const char *name;      /* "flowers" */
    const char *file;      /* "flowers.yaml" */
    int64_t height, width; /* of the network's input */
    int channels, blocks;  /* blocks: convolution and pooling */
    int64_t batch;
    bool tests; /* the data has a test split */
} new_recipe;

/* Choose what the recipe says for the data. */
void new_choose(const new_data *d, new_recipe *r);
/* Write it. False where `f` takes nothing, or the data's name cannot stand in a recipe. */
bool new_write(const new_data *d, const new_recipe *r, FILE *f);

#endif

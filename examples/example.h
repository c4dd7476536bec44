/* What every example needs beside its network: its arguments, its data, and a look at the result.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <cornu/cornu.h>
#include <cornu/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NAME [--data FOLDER] [--generated] [--steps N] [--epochs N] */
typedef struct example {
    const char *folder; /* where the data set lies; NULL: where cornu finds it */
    bool generated;     /* random pixels instead, to try the program without any data */
    cornu_fit_options fit;
} example;

static inline bool example_arguments(int argc, char **argv, example *e)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--generated") == 0)
            e->generated = true;
        else if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            e->folder = argv[++i];
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            e->fit.steps_per_epoch = strtoll(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--epochs") == 0 && i + 1 < argc)
            e->fit.epochs = strtoll(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: %s [--data FOLDER] [--generated] [--steps N] [--epochs N]\n",
                    argv[0]);
            return false;
        }
    }
    if (e->generated) { /* enough to see that it runs */
        e->fit.epochs = 1;
        e->fit.batch = 8;
    }
    return true;
}

/* The named data set, or 64 random samples of the model's shapes. */
static inline cornu_status example_data(const example *e, const cornu_model *model,
                                        const char *name, cornu_data **data)
{
    int64_t in[8], out[8];
    int rank, out_rank;
    if (!e->generated)
        return cornu_data_open(
            name, &(cornu_data_options){.size = sizeof(cornu_data_options), .folder = e->folder},
            data);
    cornu_status status = cornu_model_input_shape(model, in, &rank);
    if (status == CORNU_OK)
        status = cornu_model_output_shape(model, out, &out_rank);
    if (status == CORNU_OK)
        status = cornu_data_generate(in, rank, (int)out[0], 64, 1, data);
    return status;
}

/* For fit options: a line an epoch. */
static inline void example_print_epoch(void *user, const cornu_progress *p)
{
    (void)user;
    printf("epoch %d/%d:", (int)p->epoch + 1, (int)p->epochs);
    for (int i = 0; i < p->scores->all_count; i++)
        printf(" %s %.4f", p->scores->all_name[i], p->scores->all_value[i]);
    printf(" (%.1f s)\n", p->seconds);
}

/* Loss and metrics on the test samples, then the first 20 of them with their predicted classes. */
static inline cornu_status example_finish(cornu_model *model, const cornu_data *data)
{
    enum { SAMPLES = 20 };
    cornu_scores scores = {.size = sizeof scores};
    cornu_data_info info = {.size = sizeof info};
    int64_t shape[8], inputs = 1;
    int rank, classes = 0, truth[SAMPLES];
    float *pixels = NULL, *outputs = NULL;
    cornu_status status = cornu_evaluate(
        model, data,
        &(cornu_run_options){.size = sizeof(cornu_run_options), .split = CORNU_TEST, .batch = 16},
        &scores);
    if (status != CORNU_OK || (status = cornu_data_info_get(data, &info)) != CORNU_OK ||
        (status = cornu_model_output_shape(model, shape, &rank)) != CORNU_OK)
        return status;
    printf("test:");
    for (int i = 0; i < scores.all_count; i++)
        printf(" %s %.4f", scores.all_name[i], scores.all_value[i]);
    for (int i = 0; i < info.rank; i++)
        inputs *= info.shape[i];
    classes = (int)shape[0];
    pixels = calloc((size_t)(SAMPLES * inputs), sizeof *pixels);
    outputs = calloc((size_t)(SAMPLES * classes), sizeof *outputs);
    if (pixels == NULL || outputs == NULL)
        status = CORNU_OUT_OF_MEMORY;
    for (int i = 0; i < SAMPLES && status == CORNU_OK; i++)
        status = cornu_data_sample(data, CORNU_TEST, i, pixels + i * inputs, inputs, &truth[i]);
    if (status == CORNU_OK)
        status = cornu_predict(model, pixels, SAMPLES, NULL, outputs);
    for (int i = 0; i < SAMPLES && status == CORNU_OK; i++) {
        int best = 0;
        for (int k = 1; k < classes; k++)
            if (outputs[i * classes + k] > outputs[i * classes + best])
                best = k;
        const char *name = cornu_data_class_name(data, best);
        printf(i % 5 == 0 ? "\n  " : ", ");
        if (name != NULL)
            printf("%s", name);
        else
            printf("class %d", best);
        printf(best == truth[i] ? "" : " (wrong)");
    }
    printf("\n");
    free(pixels);
    free(outputs);
    return status;
}

/* Says what failed, if anything did, and closes what is open. Returns the program's exit status. */
static inline int example_end(cornu_status status, cornu_data *data, cornu_model *model)
{
    if (status != CORNU_OK)
        fprintf(stderr, "%s\n", cornu_last_error());
    cornu_data_close(data);
    cornu_model_close(model);
    return status != CORNU_OK;
}

#endif

#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

typedef struct prediction {
    cornu_model *model;
    cornu_run_options options;
    cornu_output_info info;
    int64_t top, limit;      /* classes printed; samples of a data set, 0: all */
    int64_t inputs, outputs; /* elements of one sample */
    int64_t most;            /* samples at a time */
    float *x, *y, *values;   /* [most][inputs], [most][outputs], [most][classes] */
    cornu_class_value *best; /* [top] */
    int64_t done;            /* samples */
    double seconds;          /* that reading and predicting them took */
} prediction;

/* Floats read and predicted at a time: 64 MB. */
static const int64_t BATCH_FLOATS = 16 << 20;

static int64_t elements(const int64_t *shape, int rank)
{
    int64_t product = 1;
    for (int i = 0; i < rank; i++)
        product *= shape[i];
    return product;
}

static int measure(prediction *p)
{
    int64_t shape[8];
    int rank, status = report(cornu_model_input_shape(p->model, shape, &rank));
    if (status != STATUS_OK)
        return status;
    p->inputs = elements(shape, rank);
    status = report(cornu_model_output_shape(p->model, shape, &rank));
    if (status != STATUS_OK)
        return status;
    p->outputs = elements(shape, rank);
    int64_t larger = p->inputs > p->outputs ? p->inputs : p->outputs;
    p->most = BATCH_FLOATS / larger < 1 ? 1 : BATCH_FLOATS / larger;
    return report(cornu_model_output_info(p->model, &p->info));
}

/* At most `samples` will be predicted (-1: not known yet). */
static int make_room(prediction *p, int64_t samples)
{
    if (samples >= 0 && samples < p->most)
        p->most = samples > 0 ? samples : 1;
    if (p->top > p->info.classes)
        p->top = p->info.classes;
    int status = report(cornu_predict_check(p->model, p->most, &p->options));
    if (status != STATUS_OK)
        return status;
    p->x = malloc((size_t)(p->most * p->inputs) * sizeof *p->x);
    p->y = malloc((size_t)(p->most * p->outputs) * sizeof *p->y);
    p->values = malloc((size_t)(p->most * p->info.classes) * sizeof *p->values);
    p->best = malloc((size_t)p->top * sizeof *p->best);
    if (!p->x || !p->y || !p->values || !p->best)
        return fail(STATUS_FAILURE, "predict: not enough memory");
    return STATUS_OK;
}

static void close_prediction(prediction *p)
{
    free(p->x);
    free(p->y);
    free(p->values);
    free(p->best);
    cornu_model_close(p->model);
}

static int predict_batch(prediction *p, int64_t count)
{
    int status = report(cornu_predict(p->model, p->x, count, &p->options, p->y));
    if (status == STATUS_OK)
        status = report(cornu_model_class_values(p->model, p->y, count, p->values));
    if (status == STATUS_OK)
        p->done += count;
    return status;
}

/* ---- lines ------------------------------------------------------------------------------ */

/* "  cat 0.9312  bird 0.0412", the largest first; numbers that are no probabilities say so. */
static void print_top(const prediction *p, int64_t sample)
{
    static const char *const kinds[] = {[CORNU_OUTPUT_PROBABILITY] = "",
                                        [CORNU_OUTPUT_LOGIT] = "logit ",
                                        [CORNU_OUTPUT_VALUE] = "value "};
    int64_t count =
        cornu_model_top_classes(p->model, p->values + sample * p->info.classes, p->top, p->best);
    for (int64_t k = 0; k < count; k++) {
        const cornu_class_value *b = &p->best[k];
        if (p->info.classes == 1)
            print("  ");
        else if (b->name)
            print("  %s ", b->name);
        else
            print("  %lld ", (long long)b->index);
        print("%s%.4f", kinds[p->info.kind], (double)b->value);
    }
    print("%s\n", count > 0 ? "" : "  no number (NaN)");
}

/* ---- images ----------------------------------------------------------------------------- */

static int predict_images(prediction *p, const operands *found)
{
    cornu_image_reading reading;
    int result = STATUS_OK, status = report(cornu_model_image_reading(p->model, &reading));
    if (status == STATUS_OK)
        status = make_room(p, found->count - 1);
    for (int next = 1; next < found->count && status == STATUS_OK;) {
        if (interrupt_asked(NULL))
            return fail(STATUS_INTERRUPTED, "predict: stopped before %s", found->item[next]);
        const char **names = &found->item[next];
        int64_t count = 0, kept = 0;
        double began = seconds_now();
        for (; count < p->most && next < found->count; count++, next++) {
            cornu_status one = cornu_image_read_as(&reading, names[count], p->x + kept * p->inputs);
            if (one == CORNU_OK)
                names[kept++] = names[count];
            else
                result = report(one); /* a line for each bad file; the others go on */
        }
        if (kept > 0)
            status = predict_batch(p, kept);
        p->seconds += seconds_now() - began;
        for (int64_t i = 0; i < kept && status == STATUS_OK; i++) {
            print("%s", names[i]);
            print_top(p, i);
        }
    }
    return status == STATUS_OK ? result : status;
}

/* ---- data sets -------------------------------------------------------------------------- */

/* "12  (cat)": the sample's number and the class that it is. */
static void print_truth(const prediction *p, const cornu_data *data, int64_t number, int label)
{
    const char *name = label >= 0 ? cornu_data_class_name(data, label) : NULL;
    if (!name && label >= 0)
        name = cornu_model_class_name(p->model, label);
    print("%lld", (long long)number);
    if (name)
        print("  (%s)", name);
    else if (label >= 0)
        print("  (%d)", label);
}

static int read_samples(prediction *p, const cornu_data *data, cornu_split split, int64_t begin,
                        int64_t count, int *labels)
{
    int status = STATUS_OK;
    for (int64_t i = 0; i < count && status == STATUS_OK; i++)
        status = report(
            cornu_data_sample(data, split, begin + i, p->x + i * p->inputs, p->inputs, &labels[i]));
    return status;
}

static int predict_samples(prediction *p, const cornu_data *data, cornu_split split, int64_t all)
{
    int status = make_room(p, all);
    int *labels = status == STATUS_OK ? malloc((size_t)p->most * sizeof *labels) : NULL;
    if (!labels && status == STATUS_OK)
        status = fail(STATUS_FAILURE, "predict: not enough memory");
    for (int64_t begin = 0; status == STATUS_OK && begin < all; begin += p->most) {
        int64_t left = all - begin, count = left < p->most ? left : p->most;
        double began = seconds_now();
        status = read_samples(p, data, split, begin, count, labels);
        if (status == STATUS_OK)
            status = predict_batch(p, count);
        p->seconds += seconds_now() - began;
        for (int64_t i = 0; i < count && status == STATUS_OK; i++) {
            print_truth(p, data, begin + i, labels[i]);
            print_top(p, i);
        }
    }
    free(labels);
    return status;
}

static int predict_data(prediction *p, const char *where)
{
    progress silent = {.quiet = true};
    cornu_data *data = NULL;
    cornu_data_info info;
    int status = report(cornu_predict_check(p->model, 1, &p->options)); /* before reading data */
    if (status == STATUS_OK)
        status = open_data(p->model, where, false, NULL, &silent, &data);
    if (status == STATUS_OK)
        status = report(cornu_data_info_get(data, &info));
    if (status == STATUS_OK) {
        cornu_split split = info.count[CORNU_TEST] > 0 ? CORNU_TEST : CORNU_TRAIN;
        int64_t all = info.count[split];
        status = predict_samples(p, data, split, p->limit && p->limit < all ? p->limit : all);
    }
    cornu_data_close(data);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

static int predict(prediction *p, const char *where, const operands *found)
{
    int status = open_model_file(&command_predict, found->item[0], &p->model);
    if (status == STATUS_OK)
        status = measure(p);
    if (status == STATUS_OK)
        status = found->count > 1 ? predict_images(p, found) : predict_data(p, where);
    if (p->done > 0)
        print_rate(p->done, p->seconds);
    close_prediction(p);
    return status;
}

static int run(int argc, char **argv)
{
    const char *where = NULL;
    device_choice on = {.device = NULL};
    int64_t batch = 0, top = 3, count = 0;
    const option options[] = {
        DATA_OPTION(where),
        {"count", "N", "of --data, only the first N samples", OPTION_INT, &count, 1, INT64_MAX},
        {"top", "K", "print the K likeliest classes (3)", OPTION_INT, &top, 1, 1000000},
        DEVICE_OPTIONS(on),
        {"batch", "N", "samples of a step", OPTION_INT, &batch, 1, INT32_MAX},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_predict, options, argc, argv, 1, -1, "a MODEL", &found, &status))
        return status;
    if (where && found.count > 1)
        return fail_usage(&command_predict, "found --data and \"%s\"; expected one of them",
                          found.item[1]);
    if (count && found.count > 1)
        return fail_usage(&command_predict, "--count: found images; expected a data set");
    if (!device_is_there(&on, &status))
        return status;
    prediction p = {.top = top,
                    .limit = count,
                    .options = {.device = on.device,
                                .precision = on.precision,
                                .exact_convolution = on.exact_convolution,
                                .threads = (int)on.threads,
                                .batch = batch,
                                .should_stop = interrupt_asked}};
    interrupt_watch(NULL);
    return predict(&p, where, &found);
}

const command command_predict = {
    "predict", "classes of images or of a data set's test samples",
    "MODEL IMAGE... [--top K]\nMODEL [--data DIR|FILE|NAME] [--count N] "
    "[--top K]",
    "A line an image: its file, then the likeliest classes and their probabilities. A line a\n"
    "sample of a data set (its test samples, if it has some): its number, (its true class), then\n"
    "the same. One sigmoid output is the probability of the second class. Outputs that are no\n"
    "probabilities are called logit, or value. Without --data and images: of what the model was\n"
    "trained on, else of its recipe's set. The last line says how long it took.\n",
    run};

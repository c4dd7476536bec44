#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

typedef struct prediction {
    cornu_model *model;
    cornu_run_options options;
    int64_t top;
    int64_t shape[8];
    int rank;
    int64_t inputs, outputs; /* elements of one sample */
    int64_t most;            /* samples at a time */
    float *x, *y;            /* [most][inputs], [most][outputs] */
} prediction;

/* Floats read and predicted at a time: 64 MB. */
static const int64_t CHUNK_FLOATS = 16 << 20;

static int open_prediction(prediction *p, const char *path)
{
    int64_t shape[8];
    int rank;
    int status = open_model_file(&command_predict, path, &p->model);
    if (status == STATUS_OK)
        status = report(cornu_model_input_shape(p->model, p->shape, &p->rank));
    if (status == STATUS_OK)
        status = report(cornu_model_output_shape(p->model, shape, &rank));
    if (status != STATUS_OK)
        return status;
    p->inputs = p->outputs = 1;
    for (int i = 0; i < p->rank; i++)
        p->inputs *= p->shape[i];
    for (int i = 0; i < rank; i++)
        p->outputs *= shape[i];
    int64_t larger = p->inputs > p->outputs ? p->inputs : p->outputs;
    p->most = CHUNK_FLOATS / larger < 1 ? 1 : CHUNK_FLOATS / larger;
    p->x = malloc((size_t)(p->most * p->inputs) * sizeof *p->x);
    p->y = malloc((size_t)(p->most * p->outputs) * sizeof *p->y);
    if (!p->x || !p->y)
        return fail(STATUS_FAILURE, "predict: not enough memory");
    return STATUS_OK;
}

static void close_prediction(prediction *p)
{
    free(p->x);
    free(p->y);
    cornu_model_close(p->model);
}

/* "cat", or "3" where classes have no names. */
static const char *class_name(const prediction *p, int64_t index, char *text, size_t size)
{
    const char *name = cornu_model_class_name(p->model, (int)index);
    if (name)
        return name;
    snprintf(text, size, "%lld", (long long)index);
    return text;
}

/* The `top` largest outputs, largest first: "  cat 0.9312  bird 0.0412". */
static void print_top(const prediction *p, const float *outputs)
{
    char number[32];
    int64_t before = -1;
    for (int64_t k = 0; k < p->top && k < p->outputs; k++) {
        int64_t best = -1;
        for (int64_t i = 0; i < p->outputs; i++) {
            /* after the one printed before: smaller, or equal and further on */
            bool left = before < 0 || outputs[i] < outputs[before] ||
                        (outputs[i] == outputs[before] && i > before);
            if (left && (best < 0 || outputs[i] > outputs[best]))
                best = i;
        }
        if (best < 0)
            break; /* NaN */
        print("  %s %.4f", class_name(p, best, number, sizeof number), (double)outputs[best]);
        before = best;
    }
    print("\n");
}

static int predict_chunk(prediction *p, int64_t count)
{
    return report(cornu_predict(p->model, p->x, count, &p->options, p->y));
}

/* ---- images ----------------------------------------------------------------------------- */

static int predict_images(prediction *p, const operands *found)
{
    int status = STATUS_OK, result = STATUS_OK;
    if (p->rank != 3 || (p->shape[2] != 1 && p->shape[2] != 3))
        return fail(STATUS_FAILURE, "predict: the model takes no images; expected an input of "
                                    "(height, width, 1 or 3)");
    for (int next = 1; next < found->count && status == STATUS_OK;) {
        if (interrupt_asked(NULL))
            return fail(STATUS_INTERRUPTED, "predict: stopped before %s", found->item[next]);
        const char **names = &found->item[next];
        int64_t count = 0, kept = 0;
        for (; count < p->most && next < found->count; count++, next++) {
            cornu_status one =
                cornu_model_read_image(p->model, names[count], p->x + kept * p->inputs);
            if (one == CORNU_OK)
                names[kept++] = names[count];
            else
                result = report(one); /* a line for each bad file; the others go on */
        }
        if (kept > 0)
            status = predict_chunk(p, kept);
        for (int64_t i = 0; i < kept && status == STATUS_OK; i++) {
            print("%s", names[i]);
            print_top(p, p->y + i * p->outputs);
        }
    }
    return status == STATUS_OK ? result : status;
}

/* ---- data sets -------------------------------------------------------------------------- */

static int predict_data(prediction *p, const char *where)
{
    progress silent = {.quiet = true};
    cornu_data *data = NULL;
    cornu_data_info info;
    char number[32];
    int status = open_data(p->model, where, false, NULL, &silent, &data);
    if (status != STATUS_OK)
        return status;
    status = report(cornu_data_info_get(data, &info));
    cornu_split split = info.count[CORNU_TEST] > 0 ? CORNU_TEST : CORNU_TRAIN;
    int *labels = malloc((size_t)p->most * sizeof *labels);
    if (!labels && status == STATUS_OK)
        status = fail(STATUS_FAILURE, "predict: not enough memory");
    for (int64_t begin = 0; status == STATUS_OK && begin < info.count[split]; begin += p->most) {
        int64_t left = info.count[split] - begin, count = left < p->most ? left : p->most;
        for (int64_t i = 0; i < count && status == STATUS_OK; i++)
            status = report(cornu_data_sample(data, split, begin + i, p->x + i * p->inputs,
                                              p->inputs, &labels[i]));
        if (status == STATUS_OK)
            status = predict_chunk(p, count);
        for (int64_t i = 0; i < count && status == STATUS_OK; i++) {
            print("%lld", (long long)(begin + i));
            if (labels[i] >= 0)
                print("  (%s)", class_name(p, labels[i], number, sizeof number));
            print_top(p, p->y + i * p->outputs);
        }
    }
    free(labels);
    cornu_data_close(data);
    return status;
}

static int run(int argc, char **argv)
{
    const char *where = NULL;
    device_choice on = {.device = NULL};
    int64_t batch = 0, top = 3;
    const option options[] = {
        {"data", "DIR|NAME", "predict a data set's test samples", OPTION_TEXT, &where, 0, 0},
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
    if (!where && found.count == 1)
        return fail_usage(&command_predict, "found only a MODEL; expected an IMAGE or --data, too");
    if (!device_is_there(&on, &status))
        return status;
    prediction p = {.top = top,
                    .options = {.device = on.device,
                                .precision = on.precision,
                                .exact_convolution = on.exact_convolution,
                                .threads = (int)on.threads,
                                .batch = batch,
                                .should_stop = interrupt_asked}};
    interrupt_watch(NULL);
    status = open_prediction(&p, found.item[0]);
    if (status == STATUS_OK)
        status = where ? predict_data(&p, where) : predict_images(&p, &found);
    close_prediction(&p);
    return status;
}

const command command_predict = {
    "predict", "classes of images or of a data set's test samples",
    "MODEL.safetensors IMAGE... [--top K]\nMODEL.safetensors --data DIR|NAME [--top K]",
    "A line an image: its file, then the likeliest classes and their outputs. A line a sample of\n"
    "a data set: its number, (its true class), then the same.\n",
    run};

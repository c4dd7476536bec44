/* A model of two inputs and two outputs, built layer by layer: a picture and four numbers about it
   tell what it shows and a number. The data are made here; there is nothing to load. */
#include "example.h"
#include <cornu/model.h>

enum { SAMPLES = 256, PIXELS = 8 * 8, FACTS = 4, KINDS = 3 };

static cornu_status build(cornu_model **model)
{
    static const char *const layers[][2] = {
        {"Conv2D", "{filters: 8, kernel_size: 3, activation: relu}"},
        {"Flatten", NULL},
        {"Dense", "{units: 16, activation: relu, name: picture}"},
        {"InputLayer", "{shape: [4], name: facts}"},
        {"Dense", "{units: 16, activation: relu, name: numbers}"},
        {"Concatenate", "{inputs: [picture, numbers], name: both}"},
        {"Dense", "{units: 3, activation: softmax, name: kind}"},
        {"Dense", "{units: 1, inputs: both, name: price}"},
    };
    cornu_status status = cornu_model_new((int64_t[]){8, 8, 1}, 3, model);
    for (size_t i = 0; status == CORNU_OK && i < sizeof layers / sizeof *layers; i++)
        status = cornu_model_add(*model, layers[i][0], layers[i][1]);
    if (status == CORNU_OK)
        status = cornu_model_name_outputs(*model, "[kind, price]");
    if (status == CORNU_OK)
        status = cornu_model_compile(
            *model, "{optimizer: adam, loss_weights: {price: 0.5}, metrics: {kind: [accuracy]}, "
                    "loss: {kind: sparse_categorical_crossentropy, price: mse}}");
    return status;
}

typedef struct samples {
    float pictures[SAMPLES][PIXELS], facts[SAMPLES][FACTS];
    float kinds[SAMPLES], prices[SAMPLES]; /* a class number is a float here */
    float x[SAMPLES][PIXELS + FACTS], y[SAMPLES][2];
} samples;

/* A bright row of the picture is its kind; the price goes with that and with the first number. */
static cornu_status make_samples(samples *s)
{
    for (int i = 0; i < SAMPLES; i++) {
        int kind = i * 7 % KINDS;
        for (int k = 0; k < PIXELS; k++)
            s->pictures[i][k] = (k / 8 == 2 * kind ? 0.8f : 0.1f) + 0.01f * (float)((i + k) % 9);
        for (int k = 0; k < FACTS; k++)
            s->facts[i][k] = 0.1f * (float)((i * 3 + k * 5) % 10);
        s->kinds[i] = (float)kind;
        s->prices[i] = (float)kind + s->facts[i][0];
    }
    /* A sample is one row: the first input's numbers, then the second's; so is a target. */
    cornu_status status = cornu_rows_join((const float *const[]){s->pictures[0], s->facts[0]},
                                          (int64_t[]){PIXELS, FACTS}, 2, SAMPLES, s->x[0]);
    if (status == CORNU_OK)
        status = cornu_rows_join((const float *const[]){s->kinds, s->prices}, (int64_t[]){1, 1}, 2,
                                 SAMPLES, s->y[0]);
    return status;
}

/* Some predictions beside what they should be. */
static cornu_status show(cornu_model *model, const samples *s)
{
    enum { SHOWN = 5 };
    float rows[SHOWN][KINDS + 1], kinds[SHOWN][KINDS], prices[SHOWN];
    cornu_status status = cornu_predict(model, s->x[0], SHOWN, NULL, rows[0]);
    if (status == CORNU_OK)
        status = cornu_rows_split(rows[0], (int64_t[]){KINDS, 1}, 2, SHOWN,
                                  (float *const[]){kinds[0], prices});
    for (int i = 0; status == CORNU_OK && i < SHOWN; i++)
        printf("kind %d with %.2f, price %.2f (%.2f)\n", (int)s->kinds[i],
               (double)kinds[i][(int)s->kinds[i]], (double)prices[i], (double)s->prices[i]);
    return status;
}

int main(int argc, char **argv)
{
    static samples s;
    example e = {
        .fit = {.size = sizeof e.fit, .epochs = 20, .batch = 16, .on_epoch = example_print_epoch}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = build(&model);
    if (status == CORNU_OK)
        status = make_samples(&s);
    const cornu_arrays arrays = {.size = sizeof arrays,
                                 .count = SAMPLES,
                                 .rank = 1,
                                 .shape = {PIXELS + FACTS},
                                 .values = s.x[0],
                                 .targets = s.y[0],
                                 .target_size = 2};
    if (status == CORNU_OK)
        status = cornu_data_in_place(&arrays, NULL, &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = show(model, &s);
    return example_end(status, data, model);
}

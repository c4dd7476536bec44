/* MNIST by four convolutions, built from a table of layers and options. */
#include "example.h"

static const struct {
    const char *layer, *options;
} network[] = {
    {"Conv2D", "{filters: 32, kernel_size: 3, padding: same, activation: relu}"},
    {"Conv2D", "{filters: 32, kernel_size: 3, padding: same, activation: relu}"},
    {"MaxPooling2D", "{pool_size: 2}"},
    {"Conv2D", "{filters: 64, kernel_size: 3, padding: same, activation: relu}"},
    {"Conv2D", "{filters: 64, kernel_size: 3, padding: same, activation: relu}"},
    {"MaxPooling2D", "{pool_size: 2}"},
    {"Flatten", NULL},
    {"Dense", "{units: 1024, activation: relu}"},
    {"Dropout", "{rate: 0.5}"},
    {"Dense", "{units: 10, activation: softmax}"},
};

int main(int argc, char **argv)
{
    example e = {
        .fit = {.size = sizeof e.fit, .epochs = 5, .batch = 50, .on_epoch = example_print_epoch}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = cornu_model_new((int64_t[]){28, 28, 1}, 3, &model);
    for (size_t i = 0; status == CORNU_OK && i < sizeof network / sizeof *network; i++)
        status = cornu_model_add(model, network[i].layer, network[i].options);
    if (status == CORNU_OK)
        status = cornu_model_compile(
            model, "{optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [accuracy]}");
    if (status == CORNU_OK)
        status = example_data(&e, model, "mnist", &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = example_finish(model, data);
    return example_end(status, data, model);
}

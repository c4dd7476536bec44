/* CIFAR-10 by three dense layers, built layer by layer. The last one is a sigmoid under a
   categorical cross-entropy: as in Keras, the loss is then computed from the logits under the
   sigmoid. */
#include "example.h"

static cornu_status build(cornu_model **model)
{
    cornu_status status = cornu_model_new((int64_t[]){32, 32, 3}, 3, model);
    if (status == CORNU_OK)
        status = cornu_model_add(*model, "Flatten", NULL);
    if (status == CORNU_OK)
        status = cornu_model_add(*model, "Dense", "{units: 3000, activation: relu}");
    if (status == CORNU_OK)
        status = cornu_model_add(*model, "Dense", "{units: 1000, activation: relu}");
    if (status == CORNU_OK)
        status = cornu_model_add(*model, "Dense", "{units: 10, activation: sigmoid}");
    if (status == CORNU_OK)
        status =
            cornu_model_compile(*model, "{optimizer: {SGD: {learning_rate: 0.01}}, "
                                        "loss: categorical_crossentropy, metrics: [accuracy]}");
    return status;
}

int main(int argc, char **argv)
{
    example e = {
        .fit = {.size = sizeof e.fit, .epochs = 10, .batch = 32, .on_epoch = example_print_epoch}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = build(&model);
    if (status == CORNU_OK)
        status = example_data(&e, model, "cifar10", &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = example_finish(model, data);
    return example_end(status, data, model);
}

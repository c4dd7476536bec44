/* CIFAR-10 by the residual network of resnet20.h. */
#include "resnet20.h"
#include "example.h"

int main(int argc, char **argv)
{
    example e = {
        .fit = {.size = sizeof e.fit, .epochs = 20, .batch = 32, .on_epoch = example_print_epoch}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = resnet20_build(&model);
    if (status == CORNU_OK)
        status = example_data(&e, model, "cifar10", &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = example_finish(model, data);
    return example_end(status, data, model);
}

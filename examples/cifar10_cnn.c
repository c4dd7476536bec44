/* CIFAR-10 by six linear convolutions: plan, training with validation, a model file, and
   predictions by the model read back from that file. */
#include "example.h"
#include <cornu/tables.h>

/* Show how each operation of a training step will run. */
static cornu_status print_plan(cornu_model *model)
{
    char *plan = NULL;
    cornu_status status = cornu_explain(model, NULL, &plan);
    if (status == CORNU_OK)
        fputs(plan, stdout);
    cornu_free(plan);
    return status;
}

int main(int argc, char **argv)
{
    example e = {.fit = {.size = sizeof e.fit,
                         .on_epoch = example_print_epoch,
                         .save = "cifar10_cnn.safetensors"}};
    cornu_model *model = NULL, *trained = NULL;
    cornu_data *data = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = cornu_model_open("cifar10-cnn", &model);
    if (status == CORNU_OK)
        status = print_plan(model);
    if (status == CORNU_OK)
        status = example_data(&e, model, "cifar10", &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = cornu_model_open(e.fit.save, &trained);
    if (status == CORNU_OK)
        status = example_finish(trained, data);
    if (e.generated) /* nothing worth keeping was learnt */
        remove(e.fit.save);
    cornu_model_close(trained);
    return example_end(status, data, model);
}

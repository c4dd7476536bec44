/* CIFAR-100 by three dense layers, from a recipe that the program carries as text. The history
   keeps what each epoch scored. */
#include "example.h"

static const char recipe[] = "model:\n"
                             "  input: [32, 32, 3]\n"
                             "  layers:\n"
                             "    - Flatten\n"
                             "    - Dense: {units: 512, activation: relu}\n"
                             "    - Dense: {units: 256, activation: relu}\n"
                             "    - Dense: {units: 100, activation: softmax}\n"
                             "compile:\n"
                             "  optimizer: adam\n"
                             "  loss: categorical_crossentropy\n"
                             "  metrics: [accuracy]\n"
                             "fit: {epochs: 100, batch_size: 32}\n";

int main(int argc, char **argv)
{
    example e = {.fit = {.size = sizeof e.fit}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    cornu_history *history = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = cornu_model_parse(recipe, "cifar100_mlp.c", &model);
    if (status == CORNU_OK)
        status = example_data(&e, model, "cifar100", &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, &history);
    for (int epoch = 0; status == CORNU_OK && epoch < cornu_history_epochs(history); epoch++)
        for (int i = 0; i < cornu_history_columns(history); i++)
            printf("%s %.4f%s", cornu_history_name(history, i),
                   cornu_history_value(history, epoch, i),
                   i + 1 < cornu_history_columns(history) ? ", " : "\n");
    if (status == CORNU_OK)
        status = example_finish(model, data);
    cornu_history_close(history);
    return example_end(status, data, model);
}

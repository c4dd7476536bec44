/* A folder of photographs, one folder a class: photos_cnn --data FOLDER, where FOLDER may hold
   train/ and test/. The built-in workload augments the photographs as its recipe says, and gets an
   output for each class. */
#include "example.h"
#include <cornu/model.h>
#include <cornu/tables.h>

static cornu_status open_photos(const example *e, cornu_model *model, cornu_data **data)
{
    const cornu_data_options options = {
        .size = sizeof options, .folder = e->folder, .other_data = true};
    if (e->generated)
        return example_data(e, model, NULL, data);
    cornu_status status = cornu_data_open_for_model(model, &options, data);
    return status == CORNU_OK ? cornu_model_adapt(model, *data, NULL) : status;
}

int main(int argc, char **argv)
{
    example e = {.fit = {.size = sizeof e.fit, .on_epoch = example_print_epoch}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    char *summary = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    /* Random pixels lie in memory as they are: the same network without augmentation. */
    cornu_status status = cornu_model_open(e.generated ? "photos-cnn-ready" : "photos-cnn", &model);
    if (status == CORNU_OK)
        status = open_photos(&e, model, &data);
    if (status == CORNU_OK)
        status = cornu_model_summary(model, &summary);
    if (status == CORNU_OK)
        fputs(summary, stdout);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = example_finish(model, data);
    cornu_free(summary);
    return example_end(status, data, model);
}

#include "cli/cli.h"

static int run(int argc, char **argv)
{
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    if (!options_parse(&command_convert, options, argc, argv, 2, 2, "two model files, IN and OUT",
                       &found, &status))
        return status;
    status = open_model_file(&command_convert, found.item[0], &model);
    if (status == STATUS_OK)
        status = report(cornu_model_save(model, found.item[1]));
    if (status == STATUS_OK)
        print("wrote %s\n", found.item[1]);
    cornu_model_close(model);
    return status;
}

const command command_convert = {
    "convert", "a model file in another format", "IN OUT",
    "By their endings: .safetensors (cornu's own), .keras, .h5, .hdf5 (Keras's), and for OUT\n"
    ".weights.h5 (Keras's, of weights and the optimizer's state alone).\n"
    "Training goes on from OUT as from IN.\n",
    run};

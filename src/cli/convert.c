#include "cli/cli.h"
#include <stddef.h>

typedef struct conversion {
    const char *in, *out;
    const char *recipe; /* IN holds weights alone, of this network; or NULL */
    const char *names;  /* of IN's weights with a recipe, else of OUT's; or NULL */
} conversion;

static int open_in(const conversion *c, cornu_model **model)
{
    const cornu_weights_options options = {.names = c->names};
    if (!c->recipe)
        return open_model_file(&command_convert, c->in, model);
    int status = report(cornu_model_open(c->recipe, model));
    return status == STATUS_OK ? report(cornu_model_load_weights_as(*model, c->in, &options))
                               : status;
}

static int write_out(const conversion *c, const cornu_model *model)
{
    const cornu_weights_options options = {.names = c->names};
    bool weights = c->names && !c->recipe;
    int status = report(weights ? cornu_model_save_weights(model, c->out, &options)
                                : cornu_model_save(model, c->out));
    if (status == STATUS_OK)
        print("wrote %s\n", c->out);
    return status;
}

static int run(int argc, char **argv)
{
    conversion c = {.in = NULL};
    const option options[] = {
        {"recipe", "RECIPE", "the network whose weights IN holds, and nothing else", OPTION_TEXT,
         &c.recipe, 0, 0},
        {"names", "torch", "IN (with --recipe; else OUT) is a state_dict of PyTorch's", OPTION_TEXT,
         &c.names, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    if (!options_parse(&command_convert, options, argc, argv, 2, 2, "two files, IN and OUT", &found,
                       &status))
        return status;
    c.in = found.item[0];
    c.out = found.item[1];
    if (!is_model_name(c.out))
        return fail_usage(&command_convert,
                          "%s: found another name; expected one that ends in .safetensors, .keras, "
                          ".h5 or .hdf5 (cornu export writes .onnx)",
                          c.out);
    if (!can_write(c.out, &status))
        return status;
    status = open_in(&c, &model);
    if (status == STATUS_OK)
        status = write_out(&c, model);
    cornu_model_close(model);
    return status;
}

const command command_convert = {
    "convert",
    "a model file in another format",
    "IN OUT [--names torch]\nWEIGHTS OUT --recipe RECIPE [--names torch]",
    "By their endings: .safetensors (cornu's own), .keras, .h5, .hdf5 (Keras's), and for OUT\n"
    ".weights.h5 (Keras's, of weights and the optimizer's state alone).\n"
    "Training goes on from OUT as from IN. With --names torch OUT holds weights alone, which\n"
    "PyTorch's load_state_dict takes: LAYER.weight, LAYER.bias. With --recipe IN holds weights\n"
    "alone (--names torch: a state_dict saved as .safetensors), and OUT is a model of both.\n",
    run,
    .alone = true};

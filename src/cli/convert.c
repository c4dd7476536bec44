#include "cli/cli.h"
#include <cornu/exchange.h>
#include <stddef.h>

typedef struct conversion {
    const char *in, *out;
    const char *recipe; /* the network of IN, if IN has only weights; or NULL */
    const char *names;  /* names of the weights in IN with a recipe, else in OUT; or NULL */
    bool preprocess;    /* within OUT, an ONNX file */
} conversion;

static int open_in(const conversion *c, cornu_model **model)
{
    const cornu_weights_options options = {.size = sizeof options, .names = c->names};
    if (!c->recipe)
        return open_model_file(&command_convert, c->in, model);
    int status = exit_status(cornu_model_open(c->recipe, model));
    return status == STATUS_OK ? exit_status(cornu_model_load_weights_as(*model, c->in, &options))
                               : status;
}

static cornu_status save(const conversion *c, const cornu_model *model)
{
    const cornu_weights_options weights = {.size = sizeof weights, .names = c->names};
    const cornu_export_options network = {.size = sizeof network, .preprocess = c->preprocess};
    if (c->names && !c->recipe)
        return cornu_model_save_weights(model, c->out, &weights);
    return is_onnx_name(c->out) ? cornu_model_export_onnx(model, c->out, &network)
                                : cornu_model_save(model, c->out);
}

static int write_out(const conversion *c, const cornu_model *model)
{
    int status = exit_status(save(c, model));
    if (status == STATUS_OK)
        print("wrote %s\n", c->out);
    return status;
}

static int check_out(const conversion *c)
{
    if (!is_model_name(c->out) && !is_onnx_name(c->out))
        return fail_usage(&command_convert,
                          "%s: found another name; expected one that ends in .safetensors, .keras, "
                          ".h5, .hdf5 or .onnx",
                          c->out);
    if (c->preprocess && !is_onnx_name(c->out))
        return fail_usage(&command_convert,
                          "%s: found --preprocess; expected it with a name in .onnx, since other "
                          "files keep the recipe that says how pixels are read",
                          c->out);
    return STATUS_OK;
}

static int run(int argc, char **argv)
{
    conversion c = {.in = NULL};
    const option options[] = {
        {"recipe", "RECIPE", "the network whose weights IN holds, and nothing else", OPTION_TEXT,
         &c.recipe, 0, 0},
        {"names", "torch", "IN (with --recipe; else OUT) is a state_dict of PyTorch's", OPTION_TEXT,
         &c.names, 0, 0},
        {"preprocess", NULL,
         "OUT, in .onnx, takes uint8 pixels, which it scales and standardizes itself", OPTION_FLAG,
         &c.preprocess, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    if (!options_parse(&command_convert, options, argc, argv, 2, 2, "two files, IN and OUT", &found,
                       &status))
        return status;
    c.in = found.item[0];
    c.out = found.item[1];
    status = check_out(&c);
    if (status != STATUS_OK)
        return status;
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
    "a model file in another format: Keras's, ONNX, safetensors",
    "IN OUT [--names torch]\nIN OUT.onnx [--preprocess]\n"
    "WEIGHTS OUT --recipe RECIPE [--names torch]",
    "By their endings: .safetensors (cornu's own), .keras, .h5, .hdf5 (Keras's), .onnx, and for\n"
    "OUT .weights.h5 (Keras's, of weights and the optimizer's state alone).\n"
    "Training goes on from OUT as from IN, unless one of them is ONNX: that is the network with\n"
    "its weights, for prediction by any runtime. It has opset 17 and takes any number of samples\n"
    "at a time: \"input\", images as (height, width, channels), to \"output\". Names of classes "
    "are\n"
    "in its metadata. \"cornu export\" is another name of this command.\n"
    "With --names torch OUT holds weights alone, which PyTorch's load_state_dict takes:\n"
    "LAYER.weight, LAYER.bias. With --recipe IN holds weights alone (--names torch: a state_dict\n"
    "saved as .safetensors), and OUT is a model of both.\n",
    run,
    .alone = true};

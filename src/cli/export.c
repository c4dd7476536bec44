#include "cli/cli.h"
#include <string.h>
#include <strings.h>

static bool is_onnx(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcasecmp(path + length - 5, ".onnx") == 0;
}

static int run(int argc, char **argv)
{
    cornu_export_options out = {.preprocess = false};
    const option options[] = {{"preprocess", NULL,
                               "the input is uint8 pixels, scaled and standardized in the file",
                               OPTION_FLAG, &out.preprocess, 0, 0},
                              {.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    if (!options_parse(&command_export, options, argc, argv, 2, 2, "a MODEL and a FILE.onnx",
                       &found, &status))
        return status;
    const char *path = found.item[1];
    if (!is_onnx(path))
        return fail_usage(&command_export, "%s: found another name; expected one in .onnx", path);
    if (!can_write(path, &status))
        return status;
    status = open_model_file(&command_export, found.item[0], &model);
    if (status == STATUS_OK)
        status = report(cornu_model_export_onnx(model, path, &out));
    if (status == STATUS_OK)
        print("wrote %s\n", path);
    cornu_model_close(model);
    return status;
}

const command command_export = {
    "export",
    "a network with its weights as an ONNX file",
    "MODEL.safetensors FILE.onnx [--preprocess]",
    "The file has opset 17 and takes any number of samples at a time: \"input\", images as\n"
    "(height, width, channels), to \"output\". Names of classes are in its metadata.\n",
    run,
    .alone = true};

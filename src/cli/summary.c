#include "cli/cli.h"

static int run(int argc, char **argv)
{
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    char *table = NULL;
    if (!options_parse(&command_summary, options, argc, argv, 1, 1, "one RECIPE, WORKLOAD or MODEL",
                       &found, &status))
        return status;
    status = report(cornu_model_open(found.item[0], &model));
    if (status == STATUS_OK)
        status = report(cornu_model_summary(model, &table));
    if (status == STATUS_OK)
        print_lines(table);
    cornu_free(table);
    cornu_model_close(model);
    return status;
}

const command command_summary = {"summary",
                                 "layers, parameters, FLOPs and memory of a network",
                                 "RECIPE|WORKLOAD|MODEL",
                                 NULL,
                                 run,
                                 .alone = true};

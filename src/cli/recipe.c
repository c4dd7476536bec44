#include "cli/cli.h"
#include <cornu/tables.h>

static int list(void)
{
    for (int i = 0; cornu_workload_name(i); i++)
        print("%s\n", cornu_workload_name(i));
    return STATUS_OK;
}

static int show(const char *name)
{
    char *yaml = NULL;
    const char *names[64] = {NULL};
    for (int i = 0; i < 63 && cornu_workload_name(i); i++)
        names[i] = cornu_workload_name(i);
    if (cornu_workload_recipe(name, &yaml) != CORNU_OK) {
        const char *nearest = nearest_name(name, names);
        return fail(STATUS_FAILURE, "%s: found no workload of this name%s%s%s (see cornu recipe)",
                    name, nearest ? "; did you mean " : "", nearest ? nearest : "",
                    nearest ? "?" : "");
    }
    print_lines(yaml);
    cornu_free(yaml);
    return STATUS_OK;
}

static int run(int argc, char **argv)
{
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_recipe, options, argc, argv, 0, 1, "one WORKLOAD", &found, &status))
        return status;
    return found.count ? show(found.item[0]) : list();
}

const command command_recipe = {
    "recipe",
    "print a published workload's recipe, to copy and change",
    "[WORKLOAD]",
    "cornu recipe photos-cnn > mine.yaml makes a recipe of your own of it, which cornu train\n"
    "mine.yaml trains (docs/recipes.md). Without WORKLOAD the workloads are listed. For a folder\n"
    "of your own pictures cornu new NAME --data FOLDER writes a recipe that fits it.\n",
    run,
    .alone = true};

#include "cli/cli.h"
#include <cornu/tables.h>

static int run(int argc, char **argv)
{
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    char *table = NULL;
    if (!options_parse(&command_version, options, argc, argv, 0, 0, "", &found, &status))
        return status;
    status = report(cornu_versions(&table));
    if (status == STATUS_OK)
        print_lines(table);
    cornu_free(table);
    return status;
}

const command command_version = {
    "version", "versions of everything, for bug reports", "", NULL, run, .alone = false};

#include "cli/cli.h"
#include <cornu/tables.h>

static int run(int argc, char **argv)
{
    cornu_explain_options o = {.threads = 0};
    const option options[] = {
        WHERE_OPTIONS(o) /* where to run */
        {"batch", "N", "samples of a step", OPTION_INT, &o.batch, 1, INT32_MAX},
        {"ranks", "N", "the step of one of N ranks, with what they send", OPTION_SMALL, &o.ranks, 1,
         1024},
        {"shard-optimizer", NULL, "of --ranks: each updates its part of the weights", OPTION_FLAG,
         &o.shard_optimizer, 0, 0},
        {"gradient-dtype", "T", "of --ranks: fp32 (default); bf16 (half the bytes, rounded)",
         OPTION_TEXT, &o.gradient_dtype, 0, 0},
        {"run", NULL, "time each operation and relate it to the limit", OPTION_FLAG, &o.run, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    char *table = NULL;
    if (!options_parse(&command_explain, options, argc, argv, 1, 1, "one RECIPE or WORKLOAD",
                       &found, &status) ||
        !device_is_there(o.device, o.precision, &status))
        return status;
    status = report(cornu_model_open(found.item[0], &model));
    if (status == STATUS_OK)
        status = report(cornu_explain(model, &o, &table));
    if (status == STATUS_OK)
        print_lines(table);
    cornu_free(table);
    cornu_model_close(model);
    return status;
}

const command command_explain = {
    "explain",
    "the operations of a training step: kernels, costs, times",
    "RECIPE|WORKLOAD [--device D] [--run] [--OPTION...]",
    "A line an operation: the kernel that runs it, why faster ones refused, its FLOPs and\n"
    "the bytes of what it reads and writes, as it is defined (1 MB is 1,000,000 bytes).\n"
    "\"with 12\": it is fused into operation 12's kernel. With --run also its time, and the\n"
    "share of that which this machine's measured FMA rate or memory bandwidth would need\n"
    "for what the kernel does. What empty kernels would take in the place of a GPU's is\n"
    "not in it: the launches have a line of their own.\n"
    "With --ranks, lines without a number are what ranks send each other as soon as the\n"
    "operations above are done.\n",
    run,
    .alone = true};

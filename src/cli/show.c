/* The commands that print what the library knows: devices, summary, explain, recipe, env,
   version. */
#include "base/memory.h"
#include "cli/cli.h"
#include <cornu/model.h>
#include <cornu/tables.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices -------------------------------------------------------------------------------- */

static int print_json(void)
{
    json_t *list = json_array();
    cornu_device_info d = {.size = sizeof d};
    for (int i = 0; cornu_device_info_get(i, &d); i++)
        json_array_append_new(
            list,
            json_pack("{ss ss ss ss ss ss sb ss sI sI si sb}", "name", d.name, "description",
                      d.description, "bus_id", d.bus_id, "capability", d.capability, "driver",
                      d.driver, "libraries", d.libraries, "available", (int)d.available, "reason",
                      d.reason, "memory_bytes", (json_int_t)d.memory_bytes, "memory_free_bytes",
                      (json_int_t)d.memory_free_bytes, "threads", d.threads, "gpu", (int)d.gpu));
    json_t *all = json_pack("{ss so}", "cornu", cornu_version(), "devices", list);
    char *string = all ? json_dumps(all, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    if (string)
        print_lines(string);
    print("\n");
    int status = string ? STATUS_OK : fail(STATUS_FAILURE, "devices: not enough memory");
    free(string);
    json_decref(all);
    return status;
}

/* The second line up to the memory: driver and bus id of a GPU, threads of a CPU. */
static void print_details(const cornu_device_info *d)
{
    if (*d->bus_id)
        print("compute capability %s, bus %s, driver %s, ", d->capability, d->bus_id, d->driver);
    else if (*d->driver)
        print("driver %s, ", d->driver);
    else
        print("%d %s, ", d->threads, d->threads == 1 ? "thread" : "threads");
}

static void print_table(void)
{
    cornu_device_info d = {.size = sizeof d};
    char memory[16], all[16];
    for (int i = 0; cornu_device_info_get(i, &d); i++) {
        if (!d.available && !*d.description) {
            print("%-10s not available: %s\n", d.name, d.reason);
            continue;
        }
        print("%-10s %s\n%-10s ", d.name, d.description, "");
        if (!d.available) {
            print("not available: %s\n", d.reason);
            continue;
        }
        print_details(&d);
        print("%s of %s memory free%s%s\n", memory_human((double)d.memory_free_bytes, memory),
              memory_human((double)d.memory_bytes, all), *d.libraries ? ", " : "", d.libraries);
        if (*d.reason)
            print("%-10s %s\n", "", d.reason);
    }
}

static void print_names(void)
{
    char names[512], *rest = names;
    devices_here(names, sizeof names);
    for (const char *name; (name = strsep(&rest, " ")) != NULL;)
        print("%s\n", name);
}

static int run_devices(int argc, char **argv)
{
    bool json = false, names = false;
    const option options[] = {
        {"json", NULL, "as JSON", OPTION_FLAG, &json, 0, 0},
        {"names", NULL, "only what --device takes here, a line each", OPTION_FLAG, &names, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_devices, options, argc, argv, 0, 0, "", &found, &status))
        return status;
    if (json && names)
        return fail_usage(&command_devices, "found --json and --names; expected one of them");
    if (json)
        return print_json();
    if (names)
        print_names();
    else
        print_table();
    return STATUS_OK;
}

const command command_devices = {"devices",          "what --device may name on this machine",
                                 "[--json|--names]", NULL,
                                 run_devices,        .alone = false};

/* ---- a model -------------------------------------------------------------------------------- */

static int run_summary(int argc, char **argv)
{
    bool expand_nested = false;
    const option options[] = {
        {"expand-nested", NULL, "below a model within the model, the rows of its layers",
         OPTION_FLAG, &expand_nested, 0, 0},
        {.name = NULL},
    };
    operands found;
    int status;
    cornu_model *model = NULL;
    char *table = NULL;
    if (!options_parse(&command_summary, options, argc, argv, 1, 1, "one RECIPE, WORKLOAD or MODEL",
                       &found, &status))
        return status;
    status = exit_status(cornu_model_open(found.item[0], &model));
    if (status == STATUS_OK)
        status = exit_status(
            cornu_model_summary_as(model,
                                   &(cornu_summary_options){.size = sizeof(cornu_summary_options),
                                                            .expand_nested = expand_nested},
                                   &table));
    if (status == STATUS_OK)
        print_lines(table);
    cornu_free(table);
    cornu_model_close(model);
    return status;
}

const command command_summary = {"summary",
                                 "layers, parameters, FLOPs and memory of a network",
                                 "RECIPE|WORKLOAD|MODEL [--expand-nested]",
                                 NULL,
                                 run_summary,
                                 .alone = true};

/* ---- its operations ------------------------------------------------------------------------- */

static int run_explain(int argc, char **argv)
{
    cornu_explain_options o = {.size = sizeof o, .where.threads = 0};
    const option options[] = {
        WHERE_OPTIONS(o.where) /* where to run */
        {"batch", "N", "samples of a step", OPTION_INT, &o.batch, 1, INT32_MAX},
        {"ranks", "N", "the step of one of N ranks, with what they send", OPTION_SMALL, &o.ranks, 1,
         1024},
        {"shard-optimizer", NULL, "of --ranks: each updates its part of the weights", OPTION_FLAG,
         &o.shard_optimizer, 0, 0},
        {"gradient-dtype", "T", "of --ranks: fp32 (default); bf16 (half the bytes, rounded)",
         OPTION_TEXT, &o.gradient_dtype, 0, 0},
        {"recompute", NULL, "the step of train --recompute", OPTION_FLAG, &o.recompute, 0, 0},
        {"run", NULL, "time each operation and relate it to the limit", OPTION_FLAG, &o.run, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    cornu_model *model = NULL;
    char *table = NULL;
    if (!options_parse(&command_explain, options, argc, argv, 1, 1, "one RECIPE or WORKLOAD",
                       &found, &status) ||
        !device_is_there(o.where.device, o.where.precision, &status))
        return status;
    status = exit_status(cornu_model_open(found.item[0], &model));
    if (status == STATUS_OK)
        status = exit_status(cornu_explain(model, &o, &table));
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
    "\"with 12\": it is fused into operation 12's kernel. With --run also its time, and "
    "the\n"
    "share of that which this machine's measured FMA rate or memory bandwidth would need\n"
    "for what the kernel does. What empty kernels would take in the place of a GPU's is\n"
    "not in it: the launches have a line of their own.\n"
    "With --ranks, lines without a number are what ranks send each other as soon as the\n"
    "operations above are done.\n",
    run_explain,
    .alone = true};

/* ---- workloads ------------------------------------------------------------------------------ */

static int list_workloads(void)
{
    for (int i = 0; cornu_workload_name(i); i++)
        print("%s\n", cornu_workload_name(i));
    return STATUS_OK;
}

static int show_workload(const char *name)
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

static int run_recipe(int argc, char **argv)
{
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_recipe, options, argc, argv, 0, 1, "one WORKLOAD", &found, &status))
        return status;
    return found.count ? show_workload(found.item[0]) : list_workloads();
}

const command command_recipe = {
    "recipe",
    "print a published workload's recipe, to copy and change",
    "[WORKLOAD]",
    "cornu recipe photos-cnn > mine.yaml makes a recipe of your own of it, which cornu train\n"
    "mine.yaml trains (docs/recipes.md). Without WORKLOAD the workloads are listed. For a folder\n"
    "of your own pictures cornu new NAME --data FOLDER writes a recipe that fits it.\n",
    run_recipe,
    .alone = true};

/* ---- environment and versions --------------------------------------------------------------- */

/* A command without options, which prints a table of the library's. */
static int print_table_of(const command *c, cornu_status (*make)(char **), int argc, char **argv)
{
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    char *lines = NULL;
    if (!options_parse(c, options, argc, argv, 0, 0, "", &found, &status))
        return status;
    status = exit_status(make(&lines));
    if (status == STATUS_OK)
        print_lines(lines);
    cornu_free(lines);
    return status;
}

static int run_env(int argc, char **argv)
{
    return print_table_of(&command_env, cornu_environment, argc, argv);
}

const command command_env = {
    "env", "the environment variables that cornu reads", "", NULL, run_env, .alone = false};

static int run_version(int argc, char **argv)
{
    return print_table_of(&command_version, cornu_versions, argc, argv);
}

const command command_version = {
    "version", "versions of everything, for bug reports", "", NULL, run_version, .alone = false};

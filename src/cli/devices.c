#include "cli/cli.h"
#include <cornu/tables.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int print_json(void)
{
    json_t *list = json_array();
    cornu_device_info d;
    for (int i = 0; cornu_device_info_get(i, &d); i++)
        json_array_append_new(
            list,
            json_pack("{ss ss ss ss ss ss sb ss sI sI si sb}", "name", d.name, "description",
                      d.description, "bus_id", d.bus_id, "capability", d.capability, "driver",
                      d.driver, "libraries", d.libraries, "available", (int)d.available, "reason",
                      d.reason, "memory_bytes", (json_int_t)d.memory_bytes, "memory_free_bytes",
                      (json_int_t)d.memory_free_bytes, "threads", d.threads, "gpu", (int)d.gpu));
    json_t *all = json_pack("{ss so}", "cornu", cornu_version(), "devices", list);
    char *text = all ? json_dumps(all, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    if (text)
        print_lines(text);
    print("\n");
    int status = text ? STATUS_OK : fail(STATUS_FAILURE, "devices: not enough memory");
    free(text);
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
    cornu_device_info d;
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
        print("%s of %s memory free%s%s\n", show_bytes((double)d.memory_free_bytes, memory),
              show_bytes((double)d.memory_bytes, all), *d.libraries ? ", " : "", d.libraries);
        if (*d.reason)
            print("%-10s %s\n", "", d.reason);
    }
}

const char *devices_here(char *names, size_t size)
{
    cornu_device_info d;
    bool gpu = false;
    size_t length = 0;
    *names = 0;
    for (int i = 0; cornu_device_info_get(i, &d); i++) {
        bool is_gpu = d.gpu || strncmp(d.name, "cuda", 4) == 0;
        bool first = d.available && is_gpu && !gpu;
        gpu |= first;
        if (d.available && length < size)
            length += (size_t)snprintf(names + length, size - length, "%s%s%s",
                                       length > 0 ? " " : "", first ? "gpu " : "", d.name);
    }
    return names;
}

static void print_names(void)
{
    char names[512], *rest = names;
    devices_here(names, sizeof names);
    for (const char *name; (name = strsep(&rest, " ")) != NULL;)
        print("%s\n", name);
}

static int run(int argc, char **argv)
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

const command command_devices = {
    "devices",     "what --device may name on this machine", "[--json|--names]", NULL, run,
    .alone = false};

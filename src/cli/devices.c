#include "cli/cli.h"
#include <jansson.h>
#include <stdlib.h>

static int print_json(void)
{
    json_t *list = json_array();
    cornu_device_info d;
    for (int i = 0; cornu_device_info_get(i, &d); i++)
        json_array_append_new(list,
                              json_pack("{ss ss ss sb ss sI sI si}", "name", d.name, "description",
                                        d.description, "libraries", d.libraries, "available",
                                        (int)d.available, "reason", d.reason, "memory_bytes",
                                        (json_int_t)d.memory_bytes, "memory_free_bytes",
                                        (json_int_t)d.memory_free_bytes, "threads", d.threads));
    json_t *all = json_pack("{ss so}", "cornu", cornu_version(), "devices", list);
    char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    if (text)
        printf("%s\n", text);
    int status = text ? STATUS_OK : fail(STATUS_FAILURE, "devices: not enough memory");
    free(text);
    json_decref(all);
    return status;
}

static void print_table(void)
{
    cornu_device_info d;
    bool cuda = false;
    char memory[16], all[16];
    for (int i = 0; cornu_device_info_get(i, &d); i++) {
        cuda |= d.name[0] == 'c' && d.name[1] == 'u';
        printf("%-10s %s\n", d.name, d.description);
        if (!d.available) {
            printf("%-10s not available: %s\n", "", d.reason);
            continue;
        }
        printf("%-10s %d %s, %s of %s memory free%s%s\n", "", d.threads,
               d.threads == 1 ? "thread" : "threads",
               show_bytes((double)d.memory_free_bytes, memory),
               show_bytes((double)d.memory_bytes, all), *d.libraries ? ", " : "", d.libraries);
    }
    if (!cuda)
        printf("cuda       not in this build\n");
}

static int run(int argc, char **argv)
{
    bool json = false;
    const option options[] = {{"json", NULL, "as JSON", OPTION_FLAG, &json, 0, 0}, {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_devices, options, argc, argv, 0, 0, "", &found, &status))
        return status;
    if (json)
        return print_json();
    print_table();
    return STATUS_OK;
}

const command command_devices = {"devices", "what --device may name on this machine", "[--json]",
                                 NULL, run};

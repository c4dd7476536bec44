/* cornu_tables: all names for recipes and scripts, for programs that make classes, help or
   completion from them. */
#include "model/compile.h"
#include "model/config.h"
#include "model/model.h"
#include "train/callbacks.h"
#include <cornu/tables.h>

static const struct {
    const char *name;
    json_t *(*table)(void);
} tables[] = {
    {"layers", layer_table},
    {"activations", activation_table},
    {"initializers", initializer_table},
    {"losses", loss_table},
    {"metrics", metric_table},
    {"optimizers", optimizer_table},
    {"schedules", schedule_table},
    {"callbacks", callback_table},
};

cornu_status cornu_tables(char **json)
{
    if (!json)
        return status_fail(CORNU_INVALID, "cornu_tables: found no place for the text");
    *json = NULL;
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (json_object_set_new(all, tables[i].name, tables[i].table()) != 0) {
            json_decref(all);
            return status_fail(CORNU_OUT_OF_MEMORY, "tables: not enough memory");
        }
    cornu_status status = config_print(all, json);
    json_decref(all);
    return status;
}

/* All names for recipes and scripts, for programs that make classes, help or completion from them;
   and what rows of them compute by themselves: a schedule's rates, an initializer's values. */
#include "model/applications/applications.h"
#include "model/compile.h"
#include "model/config.h"
#include "model/model.h"
#include "train/callbacks.h"
#include <cornu/tables.h>
#include <string.h>

static const struct {
    const char *name;
    json_t *(*table)(void);
} tables[] = {
    {"layers", layer_table},
    {"activations", activation_table},
    {"initializers", initializer_table},
    {"regularizers", regularizer_table},
    {"constraints", constraint_table},
    {"losses", loss_table},
    {"metrics", metric_table},
    {"optimizers", optimizer_table},
    {"schedules", schedule_table},
    {"callbacks", callback_table},
    {"applications", application_table},
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

cornu_status cornu_schedule_rate(const char *schedule_text, int64_t step, double *rate)
{
    doc *d = NULL;
    schedule s;
    if (!schedule_text || !rate || step < 0)
        return status_fail(CORNU_INVALID,
                           "cornu_schedule_rate: found no %s; expected a schedule, a step of at "
                           "least 0 and a place for the rate",
                           !schedule_text ? "schedule"
                           : rate         ? "such step"
                                          : "place");
    TRY(doc_parse(schedule_text, strlen(schedule_text), "schedule", &d));
    cornu_status status = schedule_read(d, &s);
    if (status == CORNU_OK)
        *rate = schedule_at(&s, step);
    doc_free(d);
    return status;
}

static cornu_status take_shape(const int64_t *sizes, int rank, int64_t count, shape *out)
{
    if (rank < 0 || rank > SHAPE_MAX)
        return status_fail(CORNU_INVALID, "found %d dimensions; expected 0 to %d", rank, SHAPE_MAX);
    *out = (shape){.rank = rank};
    for (int i = 0; i < rank; i++) {
        if (sizes[i] < 1)
            return status_fail(CORNU_INVALID, "found a dimension of %lld; expected at least 1",
                               (long long)sizes[i]);
        out->dim[i] = sizes[i];
    }
    if (shape_elements(out) != count)
        return status_fail(CORNU_INVALID, "found room for %lld values; expected %lld",
                           (long long)count, (long long)shape_elements(out));
    return CORNU_OK;
}

const char *cornu_application_name(int index)
{
    return application_name(index);
}

cornu_status cornu_application_config(const char *name, const char *options, char **json)
{
    doc *d = NULL;
    json_t *config = NULL;
    if (!name || !json)
        return status_fail(CORNU_INVALID, "cornu_application_config: found no %s; expected one",
                           name ? "place for the text" : "name");
    *json = NULL;
    if (options)
        TRY(doc_parse(options, strlen(options), name, &d));
    const doc *given = d && d->type != DOC_NULL ? d : NULL;
    cornu_status status = given && given->type != DOC_MAP
                              ? doc_fail_found(given, "a map of options")
                              : application_config(name, NULL, given, true, &config);
    if (status == CORNU_OK)
        status = config_print(config, json);
    json_decref(config);
    doc_free(d);
    return status;
}

cornu_status cornu_initializer_values(const char *initializer_text, const int64_t *sizes, int rank,
                                      uint64_t seed, float *values, int64_t count)
{
    doc *d = NULL;
    shape s;
    initializer i;
    cornu_status status;
    if (!initializer_text || !values || (rank > 0 && !sizes))
        return status_fail(CORNU_INVALID, "cornu_initializer_values: found no %s; expected one",
                           !initializer_text ? "initializer"
                           : values          ? "shape"
                                             : "place for the values");
    TRY(take_shape(sizes, rank, count, &s));
    TRY(doc_parse(initializer_text, strlen(initializer_text), "initializer", &d));
    TRY_GOTO(initializer_read(d, &i));
    TRY_GOTO(initializer_check(&i, "values", &s));
    memset(values, 0, (size_t)count * sizeof *values);
    random_stream r = random_open(seed, RANDOM_INITIALIZE, 0);
    TRY_GOTO(initializer_fill(&i, &s, &r, values));
done:
    doc_free(d);
    return status;
}

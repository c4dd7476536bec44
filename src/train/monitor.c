#include "base/memory.h"
#include "train/callbacks.h"
#include <math.h>
#include <string.h>

cornu_status monitor_read(monitor *m, const doc *options)
{
    const char *mode = "auto";
    m->name = "val_loss";
    TRY(doc_read_string(options, "monitor", &m->name));
    TRY(doc_read_string(options, "mode", &mode));
    TRY(doc_read_real(options, "min_delta", &m->min_delta));
    m->min_delta = fabs(m->min_delta);
    if (!isfinite(m->min_delta))
        return doc_fail(doc_get(options, "min_delta"), "found %g; expected a finite number",
                        m->min_delta);
    if (strcmp(mode, "min") == 0)
        m->direction = -1;
    else if (strcmp(mode, "max") == 0)
        m->direction = 1;
    else if (strcmp(mode, "auto") != 0)
        return doc_fail(doc_get(options, "mode"), "found \"%s\"; expected auto, min or max", mode);
    return CORNU_OK;
}

/* The loss, or a metric that is one: all others are better when they are more. */
static bool less_is_better(const char *name, const cornu_model *m)
{
    const char *bare = strncmp(name, "val_", 4) == 0 ? name + 4 : name;
    for (int i = 0; i < m->metric_count; i++)
        if (strcmp(metric_name(&m->metrics[i]), bare) == 0)
            return metric_kind_of(m->metrics[i].id)->is_loss;
    return strstr(name, "loss") != NULL;
}

cornu_status monitor_find(monitor *m, const char *callback, const fit_state *f)
{
    const fit_logs *logs = &f->logs;
    text t = {0};
    for (int i = 0; i < logs->count; i++) {
        text_add(&t, "%s%s", i ? ", " : "", logs->name[i]);
        if (strcmp(m->name, logs->name[i]) != 0)
            continue;
        m->column = i;
        if (m->direction == 0)
            m->direction = less_is_better(m->name, f->model) ? -1 : 1;
        text_free(&t);
        return CORNU_OK;
    }
    cornu_status status = status_fail(
        CORNU_INVALID, "%s: monitor: found %s; expected one of %s%s", callback, m->name,
        t.data ? t.data : "", strncmp(m->name, "val_", 4) ? "" : " (val_ values need validation)");
    text_free(&t);
    return status;
}

double monitor_value(const monitor *m, const fit_state *f)
{
    return f->logs.value[m->column];
}

bool monitor_known(const monitor *m, const fit_state *f)
{
    return !f->not_validated || strncmp(m->name, "val_", 4) != 0;
}

bool monitor_improves(const monitor *m, double value, double reference)
{
    return m->direction < 0 ? value + m->min_delta < reference : value - m->min_delta > reference;
}

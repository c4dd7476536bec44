#include "base/memory.h"
#include "base/number.h"
#include "train/fit_run.h"
#include <stdlib.h>
#include <string.h>

/* The logs without learning_rate: loss, METRIC..., val_loss, val_METRIC... */
static int logged(const fit_run *run)
{
    return run->state.logs.count - 1;
}

cornu_status fit_log_open(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->model->training.position;
    text header = {0};
    char *line;
    if (!o->log)
        return CORNU_OK;
    text_add(&header, o->log_steps ? "step,loss" : "epoch");
    for (int i = 0; !o->log_steps && i < logged(run); i++)
        csv_add_name(&header, run->state.logs.name[i]);
    text_add(&header, o->log_steps ? "" : ",seconds");
    TRY(text_take(&header, &line));
    double last = (double)(o->log_steps ? p->iterations : p->epoch);
    cornu_status status =
        csv_open(&(csv_location){.path = o->log}, line, o->resume, last, &run->log);
    free(line);
    return status;
}

cornu_status fit_log_step(fit_run *run, double value)
{
    char row[64 + NUMBER_SIZE], number[NUMBER_SIZE];
    if (!run->log || !run->options->log_steps)
        return CORNU_OK;
    snprintf(row, sizeof row, "%jd,%s", (intmax_t)run->model->training.position.iterations,
             number_print(number, "%.9g", value));
    return csv_add(run->log, row);
}

cornu_status fit_log_epoch(fit_run *run, double seconds)
{
    text row = {0};
    char *line, number[NUMBER_SIZE];
    if (!run->log || run->options->log_steps)
        return CORNU_OK;
    text_add(&row, "%jd", (intmax_t)run->state.epoch + 1);
    for (int i = 0; i < logged(run); i++)
        text_add(&row, ",%s", number_print(number, "%.9g", run->state.logs.value[i]));
    text_add(&row, ",%s", number_print(number, "%.3f", seconds));
    TRY(text_take(&row, &line));
    cornu_status status = csv_add(run->log, line);
    free(line);
    return status;
}

/* The data that a workload is timed on. */
#include "base/memory.h"
#include "bench/contender.h"
#include <stdlib.h>

/* Generated sets are this many batches: few enough that training on them shows. */
enum { GENERATED_BATCHES = 8 };

static cornu_status generate(const cornu_model *model, int64_t batch, cornu_data **out)
{
    const shape *x = &model->input, *y = &model->output;
    int64_t classes = y->rank > 0 ? y->dim[y->rank - 1] : 1;
    return cornu_data_generate(x->dim, x->rank, (int)(classes > 1 ? classes : 2),
                               batch * GENERATED_BATCHES, 1, out);
}

/* May the workload go on with other data after this failure? */
static bool is_mendable(cornu_status status, const bench_options *options)
{
    return status == CORNU_NOT_FOUND || status == CORNU_NETWORK || status == CORNU_OUT_OF_MEMORY ||
           (status == CORNU_INVALID && options->data); /* --data names another workload's data */
}

/* CORNU_NOT_FOUND where neither the workload's own data nor its substitute are here. */
static cornu_status find_real(const bench_workload *w, const cornu_model *model,
                              const bench_options *options, bench_report *report, cornu_data **out)
{
    cornu_data_options find = {.folder = options->data,
                               .allow_download = options->full,
                               .on_progress = options->on_progress,
                               .should_stop = options->should_stop,
                               .user = options->user};
    cornu_status status = cornu_data_open_for_model(model, &find, out);
    if (status == CORNU_OK || !is_mendable(status, options))
        return status;
    if (status != CORNU_NOT_FOUND && status != CORNU_INVALID)
        TRY(bench_note(report, "%s: %s", w->name, cornu_last_error()));
    if (!w->substitute)
        return CORNU_NOT_FOUND;
    find.allow_download = false;
    return cornu_data_open(w->substitute, &find, out);
}

cornu_status bench_data_open(const bench_workload *w, const cornu_model *model, int64_t batch,
                             const bench_options *options, bench_report *report, bench_data **out)
{
    cornu_status status;
    bench_data *d = NULL;
    TRY_GOTO(memory_new(1, sizeof *d, "data", &d));
    status = find_real(w, model, options, report, &d->data);
    if (status == CORNU_NOT_FOUND)
        status = generate(model, batch, &d->data);
    if (status != CORNU_OK)
        goto done;
    d->real = !d->data->generated;
    d->users = 1;
    TRY_GOTO(session_check_data(model, &d->data->block[CORNU_TRAIN], d->data->name));
    *out = d;
    return CORNU_OK;
done:
    if (d)
        cornu_data_close(d->data);
    free(d);
    return status;
}

void bench_data_close(bench_data *data)
{
    if (!data || --data->users > 0)
        return;
    cornu_data_close(data->data);
    free(data);
}

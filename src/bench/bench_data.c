/* The data on which a workload is timed. */
#include "base/memory.h"
#include "bench/contender.h"
#include "data/sets/datasets.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <stdio.h>
#include <stdlib.h>

static const double SHOW_SECONDS = 0.2;
/* Pictures stay in memory, whatever their size: bench leaves no cache file behind. Data that do not
   fit are replaced. */
static const char IN_MEMORY[] = "900TB";

/* Batches of a generated set: few enough that training on them shows in the loss. */
enum { GENERATED_BATCHES = 8 };

static cornu_status generate(const cornu_model *model, int64_t batch, cornu_data **out)
{
    const shape *x = &model->input, *y = &model->output;
    int64_t classes = y->rank > 0 ? y->dim[y->rank - 1] : 1;
    return cornu_data_generate(x->dim, x->rank, (int)(classes > 1 ? classes : 2),
                               batch * GENERATED_BATCHES, 1, out);
}

/* May the workload use other data after this failure? */
static bool is_mendable(cornu_status status)
{
    return status == CORNU_NOT_FOUND || status == CORNU_NETWORK || status == CORNU_OUT_OF_MEMORY;
}

cornu_status bench_data_check(const bench_workload *w, const bench_options *options)
{
    const cornu_data_options find = {.folder = options->data};
    cornu_model *model;
    data_location place = {0};
    TRY(cornu_model_open(w->name, &model));
    cornu_status status = data_find_for_model(model, &find);
    cornu_model_close(model);
    if (status != CORNU_OK && w->substitute &&
        dataset_find(dataset_named(w->substitute), options->data, &place, NULL) == CORNU_OK &&
        place.folder)
        status = CORNU_OK;
    free(place.folder);
    return status;
}

/* If --data holds neither the workload's data nor its substitute, but other workloads' data, a note
   says so, and the workload's data are searched elsewhere. */
static cornu_status open_inside(const bench_workload *w, const cornu_model *model,
                                cornu_data_options *find, bench_report *report, cornu_data **out)
{
    cornu_status status = cornu_data_open_for_model(model, find, out);
    if (status != CORNU_NOT_FOUND && status != CORNU_INVALID)
        return status;
    char message[1024];
    snprintf(message, sizeof message, "%s", cornu_last_error());
    if (w->substitute && cornu_data_open(w->substitute, find, out) == CORNU_OK)
        return CORNU_OK;
    TRY(bench_note(report, "%s: --data: %s", w->name, message));
    find->folder = NULL;
    return cornu_data_open_for_model(model, find, out);
}

/* ---- callbacks during opening and decoding ---- */

static void show_decoding(bench_data *d)
{
    char line[256];
    cornu_data_loading l;
    double now = clock_seconds();
    if (!d->data || !d->options->on_notice || now < d->shown + SHOW_SECONDS ||
        cornu_data_loading_get(d->data, &l) != CORNU_OK)
        return;
    d->shown = now;
    snprintf(line, sizeof line, "%s: decoding pictures, %lld of %lld", d->workload->name,
             (long long)l.decoded, (long long)l.files);
    d->options->on_notice(d->options->user, line);
}

static bool should_stop(void *user)
{
    bench_data *d = user;
    show_decoding(d);
    return d->options->should_stop && d->options->should_stop(d->options->user);
}

/* CORNU_NOT_FOUND if neither the workload's own data nor its substitute are here. */
static cornu_status find_real(bench_data *d, const cornu_model *model, bench_report *report)
{
    const bench_workload *w = d->workload;
    const bench_options *options = d->options;
    cornu_data_options find = {.folder = options->data,
                               .background = true,
                               .cache = IN_MEMORY,
                               .should_stop = should_stop,
                               .user = d};
    cornu_status status = find.folder ? open_inside(w, model, &find, report, &d->data)
                                      : cornu_data_open_for_model(model, &find, &d->data);
    if (status == CORNU_OK || !is_mendable(status))
        return status;
    if (status != CORNU_NOT_FOUND)
        TRY(bench_note(report, "%s: %s", w->name, cornu_last_error()));
    if (!w->substitute)
        return CORNU_NOT_FOUND;
    return cornu_data_open(w->substitute, &find, &d->data);
}

/* Decode the pictures of a folder. */
static cornu_status decode_all(bench_data *d, bench_report *report)
{
    cornu_data_loading loading;
    const cornu_data *data = d->data;
    if (!data->loader)
        return CORNU_OK;
    TRY(data_finish(data)); /* even if the workers have finished: it reports the skipped files */
    TRY(cornu_data_loading_get(data, &loading));
    if (data_usable(data, CORNU_TRAIN, 0, data->block[CORNU_TRAIN].count) == 0)
        return status_fail(CORNU_BAD_FILE, "%s: found no readable images (%lld file%s skipped)",
                           data->folder, (long long)loading.skipped,
                           PLURAL(loading.skipped, "", "s"));
    if (loading.skipped == 0)
        return CORNU_OK;
    return bench_note(report, "%s: %s: %lld file%s skipped", d->workload->name, data->name,
                      (long long)loading.skipped, PLURAL(loading.skipped, "", "s"));
}

cornu_status bench_data_open(const bench_workload *w, const cornu_model *model, int64_t batch,
                             const bench_options *options, bench_report *report, bench_data **out)
{
    cornu_status status;
    bench_data *d = NULL;
    TRY_GOTO(memory_new(1, sizeof *d, "data", &d));
    d->workload = w;
    d->options = options;
    status = find_real(d, model, report);
    if (status == CORNU_OK)
        status = decode_all(d, report);
    else if (status == CORNU_NOT_FOUND)
        status = generate(model, batch, &d->data);
    if (status != CORNU_OK)
        goto done;
    d->real = !d->data->generated;
    d->users = 1;
    TRY_GOTO(data_check_samples(model, &d->data->block[CORNU_TRAIN], d->data->name));
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

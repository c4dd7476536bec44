#include "bench/events.h"
#include "base/files.h"
#include "base/memory.h"
#include "bench/columns.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if CORNU_TENSORBOARD
#include "format/tensorboard/event_file.h"
#endif

#if CORNU_TENSORBOARD

cornu_status bench_events_check(const char *folder)
{
    return folder_make(folder);
}

/* ---- files -------------------------------------------------------------------------------- */

static cornu_status open_file(const char *shown, event_file **out)
{
    TRY(folder_make(shown));
    int folder = open(shown, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return file_fail(shown, "open", errno);
    cornu_status status = event_file_open(folder, shown, out);
    close(folder);
    return status;
}

/* Writes the content of a file of its own. */
typedef cornu_status writer(event_file *f, const bench_report *report, const bench_result *r);

static cornu_status write_file(const char *shown, writer *write, const bench_report *report,
                               const bench_result *r)
{
    event_file *f;
    TRY(open_file(shown, &f));
    cornu_status status = write(f, report, r);
    event_file_close(f);
    return status;
}

/* ---- a result ----------------------------------------------------------------------------- */

static cornu_status write_rounds(event_file *f, const bench_result *r)
{
    for (int i = 0; r->ms && i < r->step_ms.rounds; i++)
        TRY(event_file_scalar(f, "rounds/ms_per_step", i + 1, r->ms[i]));
    for (int i = 0; i < r->losses; i++)
        TRY(event_file_scalar(f, "training/loss", r->loss_step[i], r->loss[i]));
    return CORNU_OK;
}

/* At step = batch: over several batches the figures form curves. */
static cornu_status write_figures(event_file *f, const bench_result *r)
{
    const struct {
        const char *tag;
        double value;
    } figures[] = {{"result/ms_per_step", r->step_ms.median},
                   {"result/samples_per_second", r->samples_per_second},
                   {"result/epoch_seconds", r->epoch_seconds},
                   {"result/share_of_limit", r->share_of_limit},
                   {"result/joules_per_epoch", r->joules_per_epoch}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (isfinite(figures[i].value))
            TRY(event_file_scalar(f, figures[i].tag, r->batch, figures[i].value));
    return CORNU_OK;
}

static cornu_status write_settings(event_file *f, const bench_report *report, const bench_result *r)
{
    const bench_device *d = bench_device_of(report, r->device);
    json_t *all =
        json_pack("{ss ss ss ss sI si sb ss ss}", "workload", r->workload, "device", r->device,
                  "hardware", d ? d->info.description : report->machine.cpu, "precision",
                  r->precision ? r->precision : "fp32", "batch", (json_int_t)r->batch, "threads",
                  report->limits.threads, "exact_convolution", report->settings.exact_convolution,
                  "data", bench_data_shown(report, r), "cornu", cornu_version());
    if (!all)
        return status_fail(CORNU_OUT_OF_MEMORY, "report: cannot allocate");
    cornu_status status = event_file_settings(f, all);
    json_decref(all);
    return status;
}

static cornu_status write_result(event_file *f, const bench_report *report, const bench_result *r)
{
    TRY(write_settings(f, report, r));
    TRY(write_rounds(f, r));
    TRY(write_figures(f, r));
    if (r->graph)
        TRY(event_file_operations(f, "operations", 0, r->graph, r->graph_size));
    return event_file_end(f);
}

/* ---- all together ------------------------------------------------------------------------- */

static bool is_same_run(const bench_result *a, const bench_result *b)
{
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->device, b->device) == 0;
}

/* The number of results of its workload on its device; is it the first of them? */
static int count_batches(const bench_report *report, const bench_result *r, bool *first)
{
    int count = 0;
    *first = true;
    for (int i = 0; i < report->count; i++) {
        const bench_result *other = &report->results[i];
        if (*other->failed || !is_same_run(other, r))
            continue;
        *first = *first && (count > 0 || other == r);
        count++;
    }
    return count;
}

static cornu_status write_all_batches(event_file *f, const bench_report *report,
                                      const bench_result *r)
{
    for (int i = 0; i < report->count; i++)
        if (!*report->results[i].failed && is_same_run(&report->results[i], r))
            TRY(write_figures(f, &report->results[i]));
    return CORNU_OK;
}

static cornu_status write_runs(const bench_report *report, const bench_result *r,
                               const char *folder)
{
    char *run, batch[32] = "";
    bool first;
    int batches = count_batches(report, r, &first);
    if (batches > 1)
        snprintf(batch, sizeof batch, "/batch-%jd", (intmax_t)r->batch);
    TRY(memory_format(&run, "%s/%s/%s%s", folder, r->workload, r->device, batch));
    cornu_status status = write_file(run, write_result, report, r);
    run[strlen(run) - strlen(batch)] = 0;
    if (status == CORNU_OK && batches > 1 && first)
        status = write_file(run, write_all_batches, report, r);
    free(run);
    return status;
}

static cornu_status write_table(event_file *f, const bench_report *report, const bench_result *r)
{
    text t = {0};
    char *table;
    (void)r;
    bench_markdown(report, &t);
    TRY(text_take(&t, &table));
    cornu_status status = event_file_text(f, "comparison", 0, table);
    free(table);
    return status;
}

cornu_status bench_write_events(const bench_report *report, const char *folder)
{
    TRY(write_file(folder, write_table, report, NULL));
    for (int i = 0; i < report->count; i++)
        if (!*report->results[i].failed)
            TRY(write_runs(report, &report->results[i], folder));
    return CORNU_OK;
}

#else

cornu_status bench_events_check(const char *folder)
{
    (void)folder;
    return status_fail(CORNU_UNSUPPORTED,
                       "tensorboard: found a cornu that was built without it "
                       "(CORNU_TENSORBOARD=OFF); expected one with it, which needs protobuf-c");
}

cornu_status bench_write_events(const bench_report *report, const char *folder)
{
    (void)report;
    return bench_events_check(folder);
}

#endif

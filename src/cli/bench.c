#include "bench/bench.h"
#include "bench/sweep.h"
#include "cli/cli.h"
#include <string.h>

static void on_notice(void *user, const char *line)
{
    (void)user;
    progress_status(line);
}

static bool check_workloads(const operands *found, int *status)
{
    const char *names[64];
    int count = 0;
    for (const bench_workload *w = bench_workloads; w->name && count < 62; w++)
        names[count++] = w->name;
    names[count++] = "all";
    names[count] = NULL;
    for (int i = 0; i < found->count; i++) {
        bool known = false;
        for (int k = 0; k < count; k++)
            known |= strcmp(found->item[i], names[k]) == 0;
        if (known)
            continue;
        const char *nearest = nearest_name(found->item[i], names);
        if (nearest)
            *status = fail_usage(&command_bench, "%s: unknown workload; did you mean %s?",
                                 found->item[i], nearest);
        else
            *status = fail_usage(&command_bench, "%s: unknown workload", found->item[i]);
        return false;
    }
    return true;
}

static int bench(const bench_options *o, const char *json)
{
    bench_report report_ = {.count = 0};
    int status = report(bench_run(o, &report_));
    progress_status(NULL);
    if (status == STATUS_OK && o->batches)
        sweep_print(&report_, terminal_has_utf8(), stdout);
    else if (status == STATUS_OK)
        bench_print(&report_, stdout);
    if (status == STATUS_OK && json) {
        status = report(bench_write_json(&report_, json));
        if (status == STATUS_OK)
            print("JSON: %s\n", json);
    }
    bench_report_free(&report_);
    return status;
}

static int run(int argc, char **argv)
{
    progress p;
    bench_options o = {.on_notice = on_notice,
                       .on_progress = progress_download,
                       .should_stop = interrupt_asked,
                       .user = &p};
    const char *json = NULL, *sweep = NULL;
    int64_t batches[SWEEP_BATCHES_MOST + 1];
    device_choice on = {.device = NULL};
    const option options[] = {
        DEVICE_OPTIONS(on),
        {"quick", NULL, "under five minutes in any case", OPTION_FLAG, &o.quick, 0, 0},
        {"full", NULL, "also the recipe's whole schedule; downloads data", OPTION_FLAG, &o.full, 0,
         0},
        {"steps", "N", "steps of a round", OPTION_INT, &o.steps, 1, 1000000},
        {"batch", "N", "samples of a step; the recipe's without", OPTION_INT, &o.batch, 1, 1000000},
        {"sweep", "batch[=N,N,...]", "one batch after another (1 to 512): where which device wins",
         OPTION_TEXT, &sweep, 0, 0},
        {"data", "DIR", "folder of a data set, or one that holds several", OPTION_TEXT, &o.data, 0,
         0},
        {"json", "FILE", "write everything here, too", OPTION_TEXT, &json, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_bench, options, argc, argv, 0, -1, "", &found, &status) ||
        !check_workloads(&found, &status))
        return status;
    if (o.quick && o.full)
        return fail_usage(&command_bench, "found --quick and --full; expected one of them");
    if (o.steps && o.full)
        return fail_usage(&command_bench, "found --steps and --full; expected one of them");
    if (sweep && (o.batch || o.full))
        return fail_usage(&command_bench, "found --sweep and --%s; expected one of them",
                          o.batch ? "batch" : "full");
    if (sweep && sweep_parse(sweep, batches) != CORNU_OK)
        return fail_usage(&command_bench, "--%s", cornu_last_error());
    if (!devices_are_there(&on, &status))
        return status;
    if (!folder_is_there(o.data, &status) || !can_write(json, &status))
        return status;
    progress_open(&p, false);
    interrupt_watch(&p);
    o.device = on.device;
    o.precision = on.precision;
    o.exact_convolution = on.exact_convolution;
    o.threads = (int)on.threads;
    o.workloads = found.item;
    o.batches = sweep ? batches : NULL;
    o.operations = json != NULL;
    return bench(&o, json);
}

static const char details[] = "workloads:\n"
#define WORKLOAD(name, samples, epochs, substitute) "  " name "\n"
#include "bench/published.def"
#undef WORKLOAD
                              "Data that is not on this machine is replaced by generated pixels of "
                              "the same shape\n(MNIST by Fashion-MNIST), and the report says so.\n";

const command command_bench = {
    "bench", "time the published workloads beside the limit and the published times",
    "[WORKLOAD...|all] [--device D,...|all] [--quick|--full|--steps N|--sweep batch] [--OPTION...]",
    details, run};

#include "bench/bench.h"
#include "bench/baseline.h"
#include "bench/columns.h"
#include "bench/events.h"
#include "bench/html.h"
#include "bench/ranks.h"
#include "bench/sweep.h"
#include "cli/cli.h"
#include <cornu/parallel.h>
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

/* Files that a report becomes; NULL: not. "-": standard output, in place of the table. */
typedef struct outputs {
    const char *json, *html, *markdown, *csv, *tensorboard;
} outputs;

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static bool can_write_events(const outputs *to, int *status)
{
    *status = to->tensorboard ? report(bench_events_check(to->tensorboard)) : STATUS_OK;
    return *status == STATUS_OK;
}

/* Asked before anything is measured. */
static bool can_write_all(const outputs *to, int *status)
{
    if (is_stdout(to->markdown) && is_stdout(to->csv)) {
        *status =
            fail_usage(&command_bench, "found --markdown - and --csv -; expected one of them");
        return false;
    }
    return can_write(to->json, status) && can_write(to->html, status) &&
           (is_stdout(to->markdown) || can_write(to->markdown, status)) &&
           (is_stdout(to->csv) || can_write(to->csv, status)) && can_write_events(to, status);
}

static void say_written(const outputs *to, const char *what, const char *path)
{
    if (path && !is_stdout(to->markdown) && !is_stdout(to->csv))
        print("%s: %s\n", what, path);
}

static cornu_status write_all(const bench_report *r, const outputs *to)
{
    cornu_status status = CORNU_OK;
    if (to->json)
        status = bench_write_json(r->json, to->json);
    if (status == CORNU_OK && to->html)
        status = bench_write_html(r, to->html);
    if (status == CORNU_OK && to->markdown)
        status = bench_write_table(r, bench_markdown, to->markdown, stdout);
    if (status == CORNU_OK && to->csv)
        status = bench_write_table(r, bench_csv, to->csv, stdout);
    if (status == CORNU_OK && to->tensorboard)
        status = bench_write_events(r, to->tensorboard);
    return status;
}

static void say_what_follows(void *user, char *line, size_t size)
{
    (void)user;
    snprintf(line, size,
             "stopping: what was measured is told and written, press Ctrl-C again to "
             "end at once");
}

static int fail_interrupted(void)
{
    return fail(STATUS_INTERRUPTED,
                "bench: stopped; what was measured until then is told and written");
}

static int bench(const bench_options *o, const outputs *to)
{
    interrupt_set_plan(&(interrupt_plan){.say = say_what_follows});
    bench_report report_ = {.count = 0};
    int status = report(bench_run(o, &report_));
    progress_status(NULL);
    interrupt_set_plan(NULL); /* another signal while the report is written ends the process */
    if (status == STATUS_OK && o->batches)
        sweep_print(&report_, terminal_has_utf8(), stdout);
    else if (status == STATUS_OK && !is_stdout(to->markdown) && !is_stdout(to->csv))
        bench_print(&report_, stdout);
    if (status == STATUS_OK)
        status = report(write_all(&report_, to));
    if (status == STATUS_OK) {
        say_written(to, "JSON", to->json);
        say_written(to, "HTML", to->html);
        say_written(to, "Markdown", to->markdown);
        say_written(to, "CSV", to->csv);
        say_written(to, "TensorBoard", to->tensorboard);
        status = baseline_is_slower(&report_) ? STATUS_SLOWER : STATUS_OK;
    }
    if (status == STATUS_OK && report_.interrupted)
        status = fail_interrupted();
    bench_report_free(&report_);
    return status;
}

/* How the ranks train, and the requested output. */
typedef struct rank_choice {
    bool ranks, shard_optimizer;
    const char *forecast, *wire;
} rank_choice;

/* The first given option that needs --ranks; NULL: none. */
static const char *of_ranks_alone(const rank_choice *how)
{
    return how->forecast          ? "forecast"
           : how->wire            ? "wire"
           : how->shard_optimizer ? "shard-optimizer"
                                  : NULL;
}

/* Ranks that train together print their measurements once. */
static int bench_ranks(const bench_options *o, const char *json, const rank_choice *how)
{
    wire wires[WIRES_MOST];
    ranks_options of_ranks = {
        .bench = o, .forecast = wires, .wire = how->wire, .divides = how->shard_optimizer};
    ranks_report found = {.count = 0};
    if (how->forecast && wires_parse(how->forecast, wires, &of_ranks.forecasts) != CORNU_OK)
        return fail_usage(&command_bench, "--%s", cornu_last_error());
    interrupt_set_plan(&(interrupt_plan){.say = say_what_follows});
    int status = report(cornu_ranks_open(&of_ranks.ranks));
    if (status != STATUS_OK)
        return status;
    speak_for(of_ranks.ranks);
    status = report(ranks_bench(&of_ranks, &found));
    progress_status(NULL);
    if (status == STATUS_OK && is_speaker()) {
        ranks_print(&found, stdout);
        status = json ? report(ranks_write_json(&found, json)) : STATUS_OK;
        if (status == STATUS_OK && found.interrupted)
            status = fail_interrupted();
    }
    ranks_report_free(&found);
    speak_for(NULL);
    cornu_ranks_close(of_ranks.ranks);
    return status;
}

/* The first given option that only a comparison of devices has. */
static const char *of_devices(const bench_options *o, const outputs *to, const char *sweep)
{
    const struct {
        const char *name;
        bool given;
    } all[] = {{"full", o->full},
               {"sweep", sweep},
               {"baseline", o->baseline},
               {"html", to->html},
               {"markdown", to->markdown},
               {"csv", to->csv},
               {"tensorboard", to->tensorboard}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given)
            return all[i].name;
    return NULL;
}

static int run(int argc, char **argv)
{
    progress p;
    bench_options o = {.on_notice = on_notice,
                       .on_progress = progress_download,
                       .should_stop = interrupt_asked,
                       .user = &p};
    outputs to = {.json = NULL};
    const char *sweep = NULL;
    rank_choice how = {.ranks = false};
    int64_t batches[SWEEP_BATCHES_MOST + 1];
    const option options[] = {
        WHERE_OPTIONS(o) /* where to run */
        {"quick", NULL, "under five minutes in any case", OPTION_FLAG, &o.quick, 0, 0},
        {"full", NULL, "also the recipe's whole schedule; downloads data", OPTION_FLAG, &o.full, 0,
         0},
        {"steps", "N", "steps of a round", OPTION_INT, &o.steps, 1, 1000000},
        {"batch", "N", "samples of a step; the recipe's without", OPTION_INT, &o.batch, 1, 1000000},
        {"sweep", "batch[=N,N,...]", "one batch after another (1 to 512): where which device wins",
         OPTION_TEXT, &sweep, 0, 0},
        {"data", "DIR", "folder of a data set, or one that holds several", OPTION_TEXT, &o.data, 0,
         0},
        {"json", "FILE", "write everything here, too", OPTION_TEXT, &to.json, 0, 0},
        {"baseline", "FILE", "compare with this JSON of an earlier run; slower: exit status 3",
         OPTION_TEXT, &o.baseline, 0, 0},
        {"html", "FILE", "write a page with charts", OPTION_TEXT, &to.html, 0, 0},
        {"markdown", "FILE", "write the table as Markdown; -: print it", OPTION_TEXT, &to.markdown,
         0, 0},
        {"csv", "FILE", "write the table as CSV; -: print it", OPTION_TEXT, &to.csv, 0, 0},
        {"tensorboard", "DIR", "write event files for TensorBoard here", OPTION_TEXT,
         &to.tensorboard, 0, 0},
        {"ranks", NULL, "measure how these ranks train together; under mpirun", OPTION_FLAG,
         &how.ranks, 0, 0},
        {"forecast", "NET,...", "of --ranks: up to 1024 machines with 10GbE, IB, 1Gbit@200us",
         OPTION_TEXT, &how.forecast, 0, 0},
        {"wire", "W", "of --ranks: send gradients as fp32 (default) or bf16", OPTION_TEXT,
         &how.wire, 0, 0},
        {"shard-optimizer", NULL, "of --ranks: each updates its part of the weights", OPTION_FLAG,
         &how.shard_optimizer, 0, 0},
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
    if (!how.ranks && is_left_to_first("bench"))
        return STATUS_OK;
    if (how.ranks && of_devices(&o, &to, sweep))
        return fail_usage(&command_bench, "found --ranks and --%s; expected one of them",
                          of_devices(&o, &to, sweep));
    if (of_ranks_alone(&how) && !how.ranks)
        return fail_usage(&command_bench, "found --%s without --ranks", of_ranks_alone(&how));
    if (!devices_are_there(o.device, o.precision, &status))
        return status;
    if (!folder_is_there(o.data, &status) || !can_write_all(&to, &status))
        return status;
    progress_open(&p, false);
    interrupt_watch(&p);
    o.workloads = found.item;
    o.keeps_stopped = true;
    o.batches = sweep ? batches : NULL;
    o.graph = to.tensorboard != NULL;
    o.operations = to.json || to.html || o.graph;
    o.comparable = to.json || o.baseline;
    if (how.ranks)
        return bench_ranks(&o, to.json, &how);
    return bench(&o, &to);
}

static const char details[] = "workloads:\n"
#define WORKLOAD(name, samples, epochs, substitute) "  " name "\n"
#include "bench/published.def"
#undef WORKLOAD
                              "Data that is not on this machine is replaced by generated pixels of "
                              "the same shape\n(MNIST by Fashion-MNIST), and the report says so.\n";

const command command_bench = {
    "bench",
    "time the published workloads beside the limit and the published times",
    "[WORKLOAD...|all] [--device D,...|all] [--quick|--full|--steps N|--sweep batch] [--OPTION...]",
    details,
    run,
    .alone = false};

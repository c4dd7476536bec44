/* cornu bench and cornu advise: both compare devices, over several batches if asked to, and write
   what they found into files. */
#include "bench/bench.h"
#include "bench/advise.h"
#include "bench/baseline.h"
#include "bench/ranks.h"
#include "bench/report.h"
#include "bench/sweep.h"
#include "cli/cli.h"
#include <cornu/parallel.h>
#include <string.h>

/* ---- what both have ----------------------------------------------------------------------- */

enum { JSON, HTML, MARKDOWN, CSV, FORMATS };

typedef struct comparison {
    const command *command;
    progress progress;
    bench_options *bench;
    const char *sweep;
    int64_t batches[SWEEP_BATCHES_MOST + 1];
    const char *file[FORMATS]; /* NULL: none. "-": standard output, in place of the table */
} comparison;

#define COMPARISON_OPTIONS(c, of)                                                                  \
    WHERE_OPTIONS(of){"batch",    "N",         "samples of a step; the recipe's without",          \
                      OPTION_INT, &(of).batch, 1,                                                  \
                      INT32_MAX},                                                                  \
        {"sweep",                                                                                  \
         "batch[=N,N,...]",                                                                        \
         "one batch after another (1, 2, 4, ... 512): where which device wins",                    \
         OPTION_TEXT,                                                                              \
         &(c).sweep,                                                                               \
         0,                                                                                        \
         0},                                                                                       \
        {"recompute", NULL, "the steps of train --recompute", OPTION_FLAG, &(of).recompute, 0, 0}, \
        {"json", "FILE", "write everything here, too", OPTION_TEXT, &(c).file[JSON], 0, 0},        \
    {                                                                                              \
        "html", "FILE", "write a page with charts here, too", OPTION_TEXT, &(c).file[HTML], 0, 0   \
    }

static void on_notice(void *user, const char *line)
{
    (void)user;
    progress_status(line);
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Is the table left out, as a file takes its place on standard output? */
static bool is_replaced(const comparison *c)
{
    return is_stdout(c->file[MARKDOWN]) || is_stdout(c->file[CSV]);
}

/* What the options say is checked before anything is measured. */
static bool begin(comparison *c, int *status)
{
    bench_options *o = c->bench;
    if (c->sweep && sweep_parse(c->sweep, c->batches) != CORNU_OK) {
        *status = fail_usage(c->command, "--%s", cornu_last_error());
        return false;
    }
    if (!devices_are_there(o->device, o->precision, status))
        return false;
    for (int i = 0; i < FORMATS; i++)
        if (!is_stdout(c->file[i]) && !can_write(c->file[i], status))
            return false;
    o->batches = c->sweep ? c->batches : NULL;
    o->keeps_stopped = true;
    o->on_notice = on_notice;
    o->should_stop = interrupt_asked;
    progress_open(&c->progress, false);
    interrupt_watch(&c->progress);
    return true;
}

static void say_what_follows(void *user, char *line, size_t size)
{
    (void)user;
    snprintf(line, size,
             "stopping: what was measured is told and written, press Ctrl-C again to "
             "end at once");
}

static void measure_begin(void)
{
    interrupt_set_plan(&(interrupt_plan){.say = say_what_follows});
}

/* Another signal while the files are written ends the process. */
static void measure_end(void)
{
    progress_status(NULL);
    interrupt_set_plan(NULL);
}

static int fail_interrupted(const command *c)
{
    return fail(STATUS_INTERRUPTED, "%s: stopped; what was measured until then is told and written",
                c->name);
}

typedef cornu_status write_file(const void *report, int format, const char *path);

static int write_files(const comparison *c, const void *report, write_file *write)
{
    static const char *const titles[FORMATS] = {"JSON", "HTML", "Markdown", "CSV"};
    int status = STATUS_OK;
    for (int i = 0; i < FORMATS && status == STATUS_OK; i++) {
        if (!c->file[i])
            continue;
        status = exit_status(write(report, i, c->file[i]));
        if (status == STATUS_OK && !is_replaced(c))
            print("%s: %s\n", titles[i], c->file[i]);
    }
    return status;
}

/* ---- bench -------------------------------------------------------------------------------- */

static bool check_workloads(const operands *found, int *status)
{
    const char *names[64];
    int count = 0;
    for (const bench_workload *w = bench_workloads; w->name && count < 62; w++)
        names[count++] = w->name;
    names[count++] = "all";
    names[count] = NULL;
    for (int i = 0; i < found->count; i++) {
        bool known = bench_is_recipe(found->item[i]);
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

static cornu_status write_comparison(const void *report, int format, const char *path)
{
    const bench_report *r = report;
    if (format == JSON)
        return bench_write_json(r->json, path);
    if (format == HTML)
        return bench_write_html(r, path);
    return bench_write_table(r, format == MARKDOWN ? bench_markdown : bench_csv, path, stdout);
}

static int bench(const comparison *c)
{
    bench_report found = {.count = 0};
    measure_begin();
    int status = exit_status(bench_run(c->bench, &found));
    measure_end();
    if (status == STATUS_OK && c->sweep)
        sweep_print(&found, terminal_has_utf8(), stdout);
    else if (status == STATUS_OK && !is_replaced(c))
        bench_print(&found, stdout);
    if (status == STATUS_OK)
        status = write_files(c, &found, write_comparison);
    if (status == STATUS_OK)
        status = baseline_is_slower(&found) ? STATUS_SLOWER : STATUS_OK;
    if (status == STATUS_OK && found.interrupted)
        status = fail_interrupted(c->command);
    bench_report_free(&found);
    return status;
}

/* How the ranks train, and the requested output. */
typedef struct rank_choice {
    bool ranks, shard_optimizer;
    const char *forecast, *gradient_dtype;
} rank_choice;

/* The first given option that needs --ranks; NULL: none. */
static const char *of_ranks_alone(const rank_choice *how)
{
    return how->forecast          ? "forecast"
           : how->gradient_dtype  ? "gradient-dtype"
           : how->shard_optimizer ? "shard-optimizer"
                                  : NULL;
}

/* Ranks that train together print their measurements once. */
static int bench_ranks(const bench_options *o, const char *json, const rank_choice *how)
{
    wire wires[WIRES_MOST];
    ranks_options of_ranks = {.bench = o,
                              .forecast = wires,
                              .gradient_dtype = how->gradient_dtype,
                              .divides = how->shard_optimizer};
    ranks_report found = {.count = 0};
    if (how->forecast && wires_parse(how->forecast, wires, &of_ranks.forecasts) != CORNU_OK)
        return fail_usage(&command_bench, "--%s", cornu_last_error());
    measure_begin();
    int status = exit_status(cornu_ranks_open(&of_ranks.ranks));
    if (status != STATUS_OK)
        return status;
    speak_for(of_ranks.ranks);
    status = exit_status(ranks_bench(&of_ranks, &found));
    measure_end();
    if (status == STATUS_OK && is_speaker()) {
        ranks_print(&found, stdout);
        status = json ? exit_status(ranks_write_json(&found, json)) : STATUS_OK;
        if (status == STATUS_OK && found.interrupted)
            status = fail_interrupted(&command_bench);
    }
    ranks_report_free(&found);
    speak_for(NULL);
    cornu_ranks_close(of_ranks.ranks);
    return status;
}

/* The first given option that only a comparison of devices has. */
static const char *of_devices(const comparison *c)
{
    const struct {
        const char *name;
        bool given;
    } all[] = {{"sweep", c->sweep},
               {"baseline", c->bench->baseline},
               {"html", c->file[HTML]},
               {"markdown", c->file[MARKDOWN]},
               {"csv", c->file[CSV]}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given)
            return all[i].name;
    return NULL;
}

static bool check_bench(const comparison *c, const rank_choice *how, int *status)
{
    const command *own = &command_bench;
    const char *of_ranks = of_ranks_alone(how), *other = of_devices(c);
    *status = STATUS_OK;
    if (c->sweep && c->bench->batch)
        *status = fail_usage(own, "found --sweep and --batch; expected one of them");
    else if (!how->ranks && is_left_to_first("bench"))
        return false;
    else if (how->ranks && other)
        *status = fail_usage(own, "found --ranks and --%s; expected one of them", other);
    else if (of_ranks && !how->ranks)
        *status = fail_usage(own, "found --%s without --ranks", of_ranks);
    else if (is_stdout(c->file[MARKDOWN]) && is_stdout(c->file[CSV]))
        *status = fail_usage(own, "found --markdown - and --csv -; expected one of them");
    else
        return true;
    return false;
}

static int run(int argc, char **argv)
{
    bench_options o = {.device = NULL};
    comparison c = {.command = &command_bench, .bench = &o};
    rank_choice how = {.ranks = false};
    const option options[] = {
        COMPARISON_OPTIONS(c, o), /* and of bench alone: */
        {"quick", NULL, "under five minutes in any case", OPTION_FLAG, &o.quick, 0, 0},
        {"steps", "N", "steps of a round", OPTION_INT, &o.steps, 1, 1000000},
        {"data", "DIR", "folder of a data set, or one that holds several", OPTION_TEXT, &o.data, 0,
         0},
        {"baseline", "FILE", "compare with this JSON of an earlier run; slower: exit status 3",
         OPTION_TEXT, &o.baseline, 0, 0},
        {"markdown", "FILE", "write the table as Markdown; -: print it", OPTION_TEXT,
         &c.file[MARKDOWN], 0, 0},
        {"csv", "FILE", "write the table as CSV; -: print it", OPTION_TEXT, &c.file[CSV], 0, 0},
        {"ranks", NULL, "measure how these ranks train together; under mpirun", OPTION_FLAG,
         &how.ranks, 0, 0},
        {"forecast", "NET,...", "of --ranks: up to 1024 machines with 10GbE, IB, 1Gbit@200us",
         OPTION_TEXT, &how.forecast, 0, 0},
        {"gradient-dtype", "T", "of --ranks: send gradients as fp32 (default) or bf16", OPTION_TEXT,
         &how.gradient_dtype, 0, 0},
        {"shard-optimizer", NULL, "of --ranks: each updates its part of the weights", OPTION_FLAG,
         &how.shard_optimizer, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_bench, options, argc, argv, 0, -1, "", &found, &status) ||
        !check_workloads(&found, &status) || !check_bench(&c, &how, &status) ||
        !folder_is_there(o.data, &status) || !begin(&c, &status))
        return status;
    o.workloads = found.item;
    o.operations = c.file[JSON] || c.file[HTML];
    o.comparable = c.file[JSON] || o.baseline;
    return how.ranks ? bench_ranks(&o, c.file[JSON], &how) : bench(&c);
}

static const char details[] = "workloads:\n"
#define WORKLOAD(name, samples, epochs, substitute) "  " name "\n"
#include "bench/published.def"
#undef WORKLOAD
                              "A named data set that is not on this machine is replaced by "
                              "generated pixels of the\nsame shape (MNIST by Fashion-MNIST), and "
                              "the report says so.\n";

const command command_bench = {
    "bench",
    "time workloads beside the hardware's limit and the published times",
    "[RECIPE|WORKLOAD...|all] [--device D,...|all] [--quick|--steps N|--sweep batch] [--OPTION...]",
    details,
    run,
    .alone = false};

/* ---- advise ------------------------------------------------------------------------------- */

static cornu_status write_advice(const void *report, int format, const char *path)
{
    return format == JSON ? advise_write_json(report, path) : advise_write_html(report, path);
}

static int advise(const comparison *c, const advise_options *o)
{
    advise_report found;
    measure_begin();
    int status = exit_status(advise_run(o, &found));
    measure_end();
    if (status == STATUS_OK) {
        advise_print(&found, terminal_has_utf8(), stdout);
        status = write_files(c, &found, write_advice);
    }
    if (status == STATUS_OK && found.bench.interrupted)
        status = fail_interrupted(c->command);
    advise_report_free(&found);
    return status;
}

static int run_advise(int argc, char **argv)
{
    advise_options o = {.what = NULL};
    comparison c = {.command = &command_advise, .bench = &o.bench};
    int64_t seconds = 0;
    price_list prices;
    const option options[] = {
        COMPARISON_OPTIONS(c, o.bench), /* and of advise alone: */
        DATA_OPTION(o.bench.data),
        {"epochs", "N", "epochs in all; the recipe's without", OPTION_INT, &o.epochs, 1, INT32_MAX},
        {"price", "D=N/h,...", "what an hour costs: cpu=0.08/h,gpu=0.53 EUR/h", OPTION_TEXT,
         &o.price, 0, 0},
        {"seconds", "N", "measure for so long; 50 without", OPTION_INT, &seconds, 1, 3600},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_advise, options, argc, argv, 1, 1, "one RECIPE or WORKLOAD", &found,
                       &status))
        return status;
    if (price_parse(o.price, &prices) != CORNU_OK)
        return fail_usage(&command_advise, "--%s", cornu_last_error());
    if (!begin(&c, &status))
        return status;
    o.what = found.item[0];
    o.bench.seconds = (double)seconds;
    return advise(&c, &o);
}

const command command_advise = {
    "advise",
    "is a GPU worth it? time, energy and money of a training on each device",
    "RECIPE|WORKLOAD [--device all|D,...] [--price cpu=0.08/h,gpu=0.53/h] [--OPTION...]",
    "Measures, in about a minute, what a step takes on each device and with which batch, and "
    "forecasts\n"
    "the time to the end of the planned epochs, validations and the decoding of pictures "
    "included.\n"
    "Without --device all but reference are measured; GPUs that are not here are estimated from\n"
    "published figures. Energy is told where the processors (powercap, often for "
    "root alone) or the GPU (NVML) count\n"
    "it, money where --price says what an hour costs. Nothing is trained or kept.\n",
    run_advise,
    .alone = true};

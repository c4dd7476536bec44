#include "bench/advise.h"
#include "bench/sweep.h"
#include "cli/cli.h"
#include <string.h>

static void on_notice(void *user, const char *line)
{
    (void)user;
    progress_status(line);
}

static int write_files(const advise_report *r, const char *json, const char *html)
{
    int status = json ? report(advise_write_json(r, json)) : STATUS_OK;
    if (status == STATUS_OK && json)
        print("JSON: %s\n", json);
    if (status == STATUS_OK && html)
        status = report(advise_write_html(r, html));
    if (status == STATUS_OK && html)
        print("HTML: %s\n", html);
    return status;
}

static void say_what_follows(void *user, char *line, size_t size)
{
    (void)user;
    snprintf(line, size, "stopping: what was measured is told, press Ctrl-C again to end at once");
}

static int advise(const advise_options *o, const char *json, const char *html)
{
    advise_report found;
    interrupt_set_plan(&(interrupt_plan){.say = say_what_follows});
    int status = report(advise_run(o, &found));
    progress_status(NULL);
    interrupt_set_plan(NULL);
    if (status == STATUS_OK) {
        advise_print(&found, terminal_has_utf8(), stdout);
        status = write_files(&found, json, html);
    }
    if (status == STATUS_OK && found.bench.interrupted)
        status = fail(STATUS_INTERRUPTED, "advise: stopped; this is what was measured until then");
    advise_report_free(&found);
    return status;
}

static int run(int argc, char **argv)
{
    advise_options o = {.on_notice = on_notice, .should_stop = interrupt_asked};
    const char *json = NULL, *html = NULL, *sweep = NULL;
    int64_t batches[SWEEP_BATCHES_MOST + 1], seconds = 0;
    price_list prices;
    const option options[] = {
        WHERE_OPTIONS(o) DATA_OPTION(o.data),
        {"epochs", "N", "epochs in all; the recipe's without", OPTION_INT, &o.epochs, 1, INT32_MAX},
        {"batch", "N", "samples of a step; the recipe's without", OPTION_INT, &o.batch, 1,
         INT32_MAX},
        {"price", "D=N/h,...", "what an hour costs: cpu=0.08/h,gpu=0.53 EUR/h", OPTION_TEXT,
         &o.price, 0, 0},
        {"sweep", "batch=N,N,...", "the batches to try; without, 1, 2, 4, ... 512", OPTION_TEXT,
         &sweep, 0, 0},
        {"seconds", "N", "measure for so long; 50 without", OPTION_INT, &seconds, 1, 3600},
        {"json", "FILE", "write everything here, too", OPTION_TEXT, &json, 0, 0},
        {"html", "FILE", "write a page with a chart here, too", OPTION_TEXT, &html, 0, 0},
        {.name = NULL}};
    operands found;
    int status;
    progress p;
    if (!options_parse(&command_advise, options, argc, argv, 1, 1, "one RECIPE or WORKLOAD", &found,
                       &status))
        return status;
    if (price_parse(o.price, &prices) != CORNU_OK ||
        (sweep && sweep_parse(sweep, batches) != CORNU_OK))
        return fail_usage(&command_advise, "--%s", cornu_last_error());
    if (!devices_are_there(o.device, o.precision, &status) || !can_write(json, &status) ||
        !can_write(html, &status))
        return status;
    progress_open(&p, false);
    interrupt_watch(&p);
    o.what = found.item[0];
    o.batches = sweep ? batches : NULL;
    o.seconds = (double)seconds;
    return advise(&o, json, html);
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
    run,
    .alone = true};

#include "bench/tune.h"
#include "cli/cli.h"
#include <string.h>

static void on_notice(void *user, const char *line)
{
    (void)user;
    progress_status(line);
}

/* Print each stage's candidates with the values that they would replace. */
static void print_trials(const tune_report *r)
{
    print("now: %s (%s)\n", r->before.text, r->before.source);
    for (size_t i = 0; i < r->trial_count; i++) {
        const tune_trial *t = &r->trials[i];
        if (i == 0 || t->stage != t[-1].stage)
            print("time in place of %s:\n", t->from);
        if (*t->failure)
            print("     -  %s: %s\n", t->text, t->failure);
        else
            print("  %.2f  %s\n", t->ratio, t->text);
    }
}

static void print_rows(const tune_report *r)
{
    int operation = 9, sizes = 5;
    for (size_t i = 0; i < r->row_count; i++) {
        int o = (int)strlen(r->rows[i].operation), s = (int)strlen(r->rows[i].shape);
        operation = o > operation ? o : operation;
        sizes = s > sizes ? s : sizes;
    }
    print("%-*s  %-*s %10s %10s %7s\n", operation, "operation", sizes, "shape", "before ms",
          "after ms", "gain");
    for (size_t i = 0; i < r->row_count; i++) {
        const tune_row *row = &r->rows[i];
        print("%-*s  %-*s %10.3f %10.3f %6.2fx\n", operation, row->operation, sizes, row->shape,
              row->before * 1e3, row->after * 1e3, row->after > 0 ? row->before / row->after : 1);
    }
}

static void print_report(const char *on, const tune_report *r)
{
    print_trials(r);
    if (r->row_count)
        print_rows(r);
    if (*r->after.text)
        print("%s: %.2f times as fast with %s; kept in %s\n", on, 1 / r->ratio, r->after.text,
              r->after.source);
    else
        print("%s: nothing is faster than %s (%s); nothing is kept\n", on, r->before.text,
              r->before.source);
}

static int tune(const tune_options *o)
{
    tune_report r;
    cornu_status found = tune_run(o, &r);
    progress_status(NULL);
    if (found == CORNU_STOPPED && r.trial_count > 0)
        print_trials(&r); /* as far as it came; the message says that nothing is kept */
    int status = exit_status(found);
    if (status == STATUS_OK)
        print_report(o->device, &r);
    tune_report_free(&r);
    return status;
}

static int run(int argc, char **argv)
{
    tune_options o = {.on_notice = on_notice, .should_stop = interrupt_asked};
    int64_t rounds = 0;
    const option options[] = {
        {"device", "D", "gpu, opencl:0", OPTION_TEXT, &o.device, 0, 0},
        {"quick", NULL, "fewer candidates, measured less often", OPTION_FLAG, &o.quick, 0, 0},
        {"rounds", "N", "measure each candidate so often", OPTION_INT, &rounds, 1,
         TUNE_ROUNDS_MOST},
        {.name = NULL}};
    operands found;
    int status;
    progress p;
    if (!options_parse(&command_tune, options, argc, argv, 0, -1, "", &found, &status))
        return status;
    if (!o.device)
        return fail_usage(&command_tune, "found no --device; expected one, such as opencl:0");
    if (o.quick && rounds)
        return fail_usage(&command_tune, "found --quick and --rounds; expected one of them");
    if (!device_is_there(o.device, NULL, &status))
        return status;
    progress_open(&p, false);
    interrupt_watch(&p);
    o.rounds = (int)rounds;
    o.workloads = found.item;
    return tune(&o);
}

const command command_tune = {
    "tune",
    "find the fastest kernels for a device of OpenCL, and keep them",
    "[RECIPE|WORKLOAD...] --device D [--quick|--rounds N]",
    "Measures, in turns, how long the products and convolutions of the workloads take when they "
    "are\n"
    "divided among work-groups in other ways, and keeps the fastest for this device and driver in\n"
    "$XDG_CONFIG_HOME/cornu/tuning or ~/.config/cornu/tuning, a text file. Nothing else is tuned,\n"
    "and never without being asked. Sums are then added in another order: models are trained with\n"
    "the same bits on one machine and tuning file.\n",
    run,
    .alone = true};

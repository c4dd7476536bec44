/* Several ranks as to and as JSON. */
#include "base/memory.h"
#include "bench/ranks.h"
#include "bench/report.h"
#include "train/shards.h"
#include <math.h>

static const char *ms(double seconds, char to[16])
{
    double value = seconds * 1e3;
    snprintf(to, 16, "%.*f ms", value < 9.95 ? 2 : value < 99.5 ? 1 : 0, value);
    return to;
}

static const char *rate(double byte_seconds, char to[24])
{
    double megabytes = 1e-6 / byte_seconds;
    if (megabytes < 999)
        snprintf(to, 24, "%.0f MB/s", megabytes);
    else
        snprintf(to, 24, "%.1f GB/s", megabytes / 1e3);
    return to;
}

static double percent(double share)
{
    return 100 * share;
}

static void print_result(const ranks_report *report, const ranks_result *r, FILE *out)
{
    char a[16], b[16], bytes[16];
    double model = ranks_forecast(report, r, NULL, report->ranks);
    fprintf(out, "\n%s: batches of %jd, %jd a rank; %s of gradients\n", r->workload,
            (intmax_t)r->batch, (intmax_t)(r->batch / report->ranks),
            memory_human((double)r->values * sizeof(float), bytes));
    fprintf(out, "  step                 %10s   least %s\n", ms(r->step, a), ms(r->step_least, b));
    fprintf(out, "    own gradients      %10s   the slowest rank's %s\n", ms(r->made, a),
            ms(r->slowest, b));
    fprintf(out, "    waiting            %10s   %.0f %% of the step\n", ms(r->waited, a),
            percent(r->waited / r->step));
    fprintf(out, "    update             %10s", ms(r->applied, a));
    if (report->divided)
        fprintf(out, "   of a part of the weights %s, then the others' come", ms(r->updated, b));
    fputc('\n', out);
    fprintf(out, "  a rank's step alone  %10s   efficiency %.0f %%\n", ms(r->alone, a),
            percent(r->alone / r->step));
    fprintf(out, "  adding alone         %10s   ", ms(r->sum, a));
    if (r->rests)
        fprintf(out, "the update adds, from the others' memory\n");
    else
        fprintf(out, "%.0f %% hidden, of %.0f %% that could be\n", percent(ranks_hidden(r)),
                percent(ranks_hideable(report, r)));
    fprintf(out, "  by the model         %10s   %+.1f %%\n", ms(model, a),
            percent(model / r->step - 1));
}

static void print_forecast(const ranks_report *report, const ranks_result *r, FILE *out)
{
    char to[16];
    fprintf(out, "\n  %s, forecast; %jd samples a rank as above\n  ranks", r->workload,
            (intmax_t)(r->batch / report->ranks));
    for (int i = 0; i < report->forecasts; i++)
        fprintf(out, "  %19.19s", report->forecast[i].name);
    fputc('\n', out);
    for (int ranks = 1; ranks <= FORECAST_MOST; ranks *= 2) {
        fprintf(out, "  %5d", ranks);
        for (int i = 0; i < report->forecasts; i++) {
            double seconds = ranks_forecast(report, r, &report->forecast[i], ranks);
            fprintf(out, "  %11s %5.1f %%", ms(seconds, to), percent(r->alone / seconds));
        }
        fputc('\n', out);
    }
}

void ranks_print(const ranks_report *report, FILE *out)
{
    char to[24];
    fprintf(out, "%d ranks on %d host%s, %s; messages take %.0f us and %s\n", report->ranks,
            report->hosts, PLURAL(report->hosts, "", "s"), report->device,
            report->here.latency * 1e6, rate(report->here.byte_seconds, to));
    for (int i = 0; i < report->count; i++) {
        print_result(report, &report->results[i], out);
        if (report->forecasts > 0)
            print_forecast(report, &report->results[i], out);
    }
    if (report->interrupted)
        fprintf(out,
                "\nNote: interrupted: these are the figures of what was measured until then.\n");
    if (report->forecasts > 0)
        fputs("\n  In percent: a rank's step alone over this one, the efficiency. All ranks are "
              "taken to be\n  as fast as these, and the network to carry all their messages at "
              "once.\n",
              out);
}

static json_t *forecast_json(const ranks_report *report, const ranks_result *r, const wire *w)
{
    json_t *steps = json_array();
    for (int ranks = 1; ranks <= FORECAST_MOST; ranks *= 2) {
        double seconds = ranks_forecast(report, r, w, ranks);
        json_array_append_new(steps, json_pack("{si sf sf}", "ranks", ranks, "seconds", seconds,
                                               "efficiency", r->alone / seconds));
    }
    return json_pack("{ss sf sf so}", "name", w->name, "latency", w->latency, "bytes_per_second",
                     1 / w->byte_seconds, "steps", steps);
}

static json_t *result_json(const ranks_report *report, const ranks_result *r)
{
    json_t *forecasts = json_array();
    for (int i = 0; i < report->forecasts; i++)
        json_array_append_new(forecasts, forecast_json(report, r, &report->forecast[i]));
    json_t *hidden = r->rests ? json_null() : json_real(ranks_hidden(r));
    json_t *hideable = r->rests ? json_null() : json_real(ranks_hideable(report, r));
    return json_pack("{ss sI sI sf sf sf sf sf sf sf sf sf sf so so so}", "workload", r->workload,
                     "batch", (json_int_t)r->batch, "values", (json_int_t)r->values, "step_seconds",
                     r->step, "step_seconds_min", r->step_least, "made_seconds", r->made,
                     "slowest_seconds", r->slowest, "waited_seconds", r->waited, "applied_seconds",
                     r->applied, "updated_seconds", r->updated, "alone_seconds", r->alone,
                     "sum_seconds", r->sum, "model_seconds",
                     ranks_forecast(report, r, NULL, report->ranks), "hidden", hidden, "hideable",
                     hideable, "forecasts", forecasts);
}

cornu_status ranks_write_json(const ranks_report *report, const char *path)
{
    json_t *results = json_array();
    for (int i = 0; i < report->count; i++)
        json_array_append_new(results, result_json(report, &report->results[i]));
    json_t *all =
        json_pack("{ss sb si si ss ss sb sf sf so}", "cornu", CORNU_VERSION, "interrupted",
                  (int)report->interrupted, "ranks", report->ranks, "hosts", report->hosts,
                  "device", report->device, "gradient_dtype", gradient_dtype_name(report->bf16),
                  "shard_optimizer", report->divided, "latency", report->here.latency,
                  "bytes_per_second", 1 / report->here.byte_seconds, "results", results);
    cornu_status status = bench_write_json(all, path);
    json_decref(all);
    return status;
}

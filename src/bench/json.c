/* The report as JSON: one object with machine, limits, results[] and notes[]. */
#include "base/files.h"
#include "bench/published.h"
#include "bench/report.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* JSON has no NaN: a missing figure is null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *given(double value)
{
    return value > 0 ? number(value) : json_null();
}

static json_t *published_json(const char *workload)
{
    json_t *list = json_array();
    for (const published_figure *f = published_figures; f->workload; f++)
        if (strcmp(f->workload, workload) == 0)
            json_array_append_new(list, json_pack("{ss ss so so so ss}", "device", f->device_kind,
                                                  "hardware", f->hardware, "epoch_seconds",
                                                  given(f->epoch_seconds), "total_seconds",
                                                  given(f->total_seconds), "accuracy",
                                                  given(f->accuracy), "note", f->note));
    return list;
}

static json_t *list_json(const double *values, int count)
{
    json_t *list = json_array();
    for (int i = 0; values && i < count; i++)
        json_array_append_new(list, number(values[i]));
    return list;
}

/* The lists that a later run with --baseline needs for each round: its mean step and its fastest
   (ms), FLOP/s of the arithmetic probe before it, bytes/s of reading the model's variables before
   and after it (report.h). null: none. */
static json_t *times_json(const bench_result *r)
{
    const statistics *s = &r->step_ms;
    return json_pack("{so so so so so si so so so so}", "min", number(s->minimum), "median",
                     number(s->median), "p95", number(s->p95), "noise", number(s->noise),
                     "median_over_min", number(s->median / s->minimum), "rounds", s->rounds,
                     "samples", list_json(r->ms, s->rounds), "fastest",
                     list_json(r->fastest, s->rounds), "probes", list_json(r->probe, s->rounds),
                     "memory_probes", list_json(r->memory, s->rounds));
}

static json_t *losses_json(const bench_result *r)
{
    json_t *steps = json_array();
    for (int i = 0; i < r->losses; i++)
        json_array_append_new(steps, json_integer((json_int_t)r->loss_step[i]));
    return json_pack("{so so}", "step", steps, "loss", list_json(r->loss, r->losses));
}

static json_t *operations_json(const bench_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->operation_count; i++) {
        const bench_operation *o = &r->operations[i];
        json_array_append_new(list, json_pack("{ss ss ss ss so so so so ss}", "operation", o->name,
                                              "layer", o->layer, "shape", o->shape, "kernel",
                                              o->kernel, "ms", number(o->ms), "flops_run",
                                              number(o->flops), "bytes_run", number(o->bytes),
                                              "share_of_limit", number(o->share_of_limit),
                                              "bound_by", o->bound ? o->bound : ""));
    }
    return list;
}

static json_t *result_json(const bench_result *r)
{
    return json_pack(
        "{ss ss ss so sI sI so so so so si so so so so so so so so so so so so so ss ss ss so so "
        "so so so}",
        "workload", r->workload, "device", r->device, "precision",
        r->precision ? r->precision : "fp32", "error",
        *r->failed ? json_string(r->failed) : json_null(), "batch", (json_int_t)r->batch, "steps",
        (json_int_t)r->steps, "ms_per_step", times_json(r), "samples_per_second",
        number(r->samples_per_second), "epoch_seconds", number(r->epoch_seconds), "cold_seconds",
        number(r->cold_seconds), "launches", r->launches, "watts", number(r->watts),
        "joules_per_epoch", number(r->joules_per_epoch), "host_watts", number(r->host_watts),
        "validation_ms", number(r->validation_ms), "clock_mhz", number(r->clock_mhz), "loss_first",
        number(r->loss_first), "loss_last", number(r->loss_last), "flops_per_step",
        number(r->flops_per_step), "bytes_per_step", number(r->bytes_per_step), "flops_run",
        number(r->flops_run), "bytes_run", number(r->bytes_run), "working_set_bytes",
        number(r->working_set), "share_of_limit", number(r->share_of_limit), "bound_by",
        r->bound ? r->bound : "", "data", r->real_data ? "real" : "generated", "data_set",
        r->data_name, "probe_low", number(r->probe_low), "probe_median", number(r->probe_median),
        "published", published_json(r->workload), "losses", losses_json(r), "operations",
        operations_json(r));
}

static json_t *device_json(const bench_device *d)
{
    const cornu_device_info *i = &d->info;
    const device_limits *l = &d->limits;
    return json_pack("{ss ss ss ss ss ss s{so so so so so sf so}}", "name", i->name, "description",
                     i->description, "bus_id", i->bus_id, "capability", i->capability, "driver",
                     i->driver, "libraries", i->libraries, "limits", "fma_flops", given(l->fma),
                     "tf32_flops", given(l->tf32), "bf16_flops", given(l->bf16), "memory_bytes",
                     given(l->update), "cache_bytes", given(l->cache_update), "cache_size",
                     l->cache_bytes, "launch_seconds", given(l->launch_seconds));
}

/* null if nothing was compared. */
static json_t *baseline_json(const bench_comparison *b)
{
    static const char *const verdicts[] = {"not compared", "no change seen", "faster", "slower"};
    if (!*b->file)
        return json_null();
    json_t *differences = json_array(), *results = json_array();
    for (int i = 0; i < b->difference_count; i++)
        json_array_append_new(differences, json_string(b->differences[i]));
    for (int i = 0; i < b->count; i++) {
        const bench_change *c = &b->changes[i];
        json_array_append_new(
            results,
            json_pack("{ss ss ss so so so so so ss}", "workload", c->workload, "device", c->device,
                      "verdict", verdicts[c->verdict], "then_ms", number(c->before_ms), "now_ms",
                      number(c->after_ms), "ratio", number(c->ratio), "ratio_low", number(c->low),
                      "ratio_high", number(c->high), "why", c->why));
    }
    return json_pack("{ss ss ss so so}", "file", b->file, "cornu", b->version, "started",
                     b->started, "differences", differences, "results", results);
}

cornu_status bench_make_json(bench_report *report)
{
    const bench_machine *m = &report->machine;
    const device_limits *l = &report->limits;
    json_t *results = json_array(), *notes = json_array(), *devices = json_array();
    for (int i = 0; i < report->device_count; i++)
        json_array_append_new(devices, device_json(&report->devices[i]));
    for (int i = 0; i < report->count; i++)
        json_array_append_new(results, result_json(&report->results[i]));
    for (int i = 0; i < report->note_count; i++)
        json_array_append_new(notes, json_string(report->notes[i]));
    json_t *machine =
        json_pack("{ss ss si si ss sI ss*}", "cpu", m->cpu, "system", m->system, "cores", m->cores,
                  "threads", l->threads, "isa", l->isa, "memory_bytes", (json_int_t)m->memory_bytes,
                  "compiler", m->compiler);
    json_t *limits =
        json_pack("{so so so so}", "fma_flops", number(l->fma), "read_bytes", number(l->read),
                  "update_bytes", number(l->update), "cache_update_bytes", number(l->cache_update));
    json_t *settings =
        json_pack("{sb sb sI}", "quick", report->settings.quick, "exact_convolution",
                  report->settings.exact_convolution, "steps", (json_int_t)report->settings.steps);
    json_decref(report->json);
    report->json =
        json_pack("{ss ss sb so so so so so so so}", "cornu", cornu_version(), "started",
                  report->started, "interrupted", (int)report->interrupted, "machine", machine,
                  "settings", settings, "limits", limits, "devices", devices, "results", results,
                  "notes", notes, "baseline", baseline_json(&report->baseline));
    if (!report->json)
        return status_fail(CORNU_OUT_OF_MEMORY, "report: cannot allocate");
    return CORNU_OK;
}

cornu_status bench_write_json(const json_t *all, const char *path)
{
    file_write w;
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    if (!text) /* true for NULL as well */
        return status_fail(CORNU_OUT_OF_MEMORY, "report: cannot allocate");
    cornu_status status = file_write_open(path, &w);
    if (status == CORNU_OK) {
        status = file_write_bytes(&w, text, strlen(text));
        if (status == CORNU_OK)
            status = file_write_bytes(&w, "\n", 1);
        if (status == CORNU_OK)
            status = file_write_commit(&w);
        else
            file_write_abandon(&w);
    }
    free(text);
    return status;
}

#include "bench/report.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* A median that is this many times the minimum counts as noisy. */
static const double NOISY = 1.2;

const bench_device *bench_device_of(const bench_report *report, const char *name)
{
    for (int i = 0; i < report->device_count; i++)
        if (strcmp(report->devices[i].info.name, name) == 0)
            return &report->devices[i];
    return NULL;
}

const char *bench_device_kind(const bench_report *report, const char *name)
{
    const bench_device *d = bench_device_of(report, name);
    return d && d->info.gpu ? "gpu" : "cpu";
}

cornu_status bench_note(bench_report *report, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int i = 0; i < report->note_count; i++)
        if (strcmp(report->notes[i], line) == 0)
            return CORNU_OK;
    TRY(memory_grow(&report->notes, &report->note_capacity, (size_t)report->note_count + 1,
                    sizeof *report->notes));
    TRY(memory_copy_string(line, &report->notes[report->note_count]));
    report->note_count++;
    return CORNU_OK;
}

void bench_result_forget(bench_result *r)
{
    free(r->ms);
    free(r->fastest);
    free(r->probe);
    free(r->memory);
    free(r->loss);
    free(r->loss_step);
    free(r->operations);
    *r = (bench_result){0};
}

static void free_lines(char **lines, int count)
{
    for (int i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

void bench_report_free(bench_report *report)
{
    for (int i = 0; i < report->count; i++)
        bench_result_forget(&report->results[i]);
    free_lines(report->notes, report->note_count);
    free_lines(report->baseline.differences, report->baseline.difference_count);
    free(report->baseline.changes);
    free(report->results);
    json_decref(report->json);
    *report = (bench_report){0};
}

cornu_status bench_note_noise(bench_report *report)
{
    char line[512] = "";
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        const statistics *s = &r->step_ms;
        if (*r->failed || s->median <= NOISY * s->minimum)
            continue;
        size_t length = strlen(line);
        snprintf(line + length, sizeof line - length, "%s%s on %s %.2f times", *line ? ", " : "",
                 r->workload, r->device, s->median / s->minimum);
    }
    if (!*line)
        return CORNU_OK;
    return bench_note(report,
                      "medians far above their minima: %s; the machine was not quiet, and what it "
                      "can do is nearer the minimum",
                      line);
}

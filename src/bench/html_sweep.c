/* The page of a sweep: the best batch, and the batch from which another device wins. */
#include "bench/html.h"
#include "bench/sweep.h"
#include <math.h>
#include <string.h>

enum { LINE = 512 };

bool bench_html_is_sweep(const bench_report *report)
{
    for (int i = 1; i < report->count; i++) {
        const bench_result *r = &report->results[i], *first = r;
        while (first > report->results && strcmp(first[-1].workload, r->workload) == 0)
            first--;
        if (first->batch != r->batch && r->batch > 0 && first->batch > 0)
            return true;
    }
    return false;
}

/* The batch with which a device trains the most samples per second; NULL: none. */
static const bench_result *best_of(const bench_report *report, const char *workload)
{
    const bench_result *best = NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        bool counts = !*r->failed && strcmp(r->workload, workload) == 0;
        if (counts && (!best || r->samples_per_second > best->samples_per_second))
            best = r;
    }
    return best;
}

/* "cpu trains most samples a second, 5120, with batch 64; opencl:0 ..." */
static void say_answer(const bench_report *report, const char *workload, char *line, size_t size)
{
    const bench_result *best = best_of(report, workload);
    char rate[MARKUP_NUMBER];
    *line = 0;
    if (!best)
        return;
    snprintf(line, size, "%s is fastest on %s with batch %lld: %s samples a second.", workload,
             best->device, (long long)best->batch,
             markup_number(best->samples_per_second, 3, rate));
    sweep_say_winners(report, workload, line, size);
}

static void add_rows(const bench_report *report, const char *workload, text *t)
{
    static const page_column columns[] = {
        {"batch", false}, {"device", false}, {"ms a step", true}, {"samples/s", true}};
    page_table_begin(t, NULL, columns, 4);
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        char batch[24];
        if (*r->failed || strcmp(r->workload, workload) != 0)
            continue;
        snprintf(batch, sizeof batch, "%lld", (long long)r->batch);
        page_row_begin(t, batch);
        page_cell(t, r->device);
        page_number_cell(t, r->step_ms.median, 3);
        page_number_cell(t, r->samples_per_second, 3);
        page_row_end(t);
    }
    page_table_end(t);
}

cornu_status bench_html_batches(const bench_report *report, const char *workload, text *t)
{
    char left_out[2 * LINE];
    TRY(sweep_figure(report, workload, t));
    page_details_begin(t, "Each batch as a table");
    add_rows(report, workload, t);
    page_details_end(t);
    sweep_say_left_out(report, workload, left_out, sizeof left_out);
    if (*left_out)
        page_paragraph(t, left_out);
    return CORNU_OK;
}

cornu_status bench_html_sweep(const bench_report *report, text *t)
{
    char where[LINE], answer[2 * LINE] = "";
    int workloads = 0;
    for (int i = 0; i < report->count; i++)
        workloads += bench_html_first(report, i);
    if (workloads == 1)
        say_answer(report, report->results[0].workload, answer, sizeof answer);
    page_begin(t, "Which batch, and which device", workloads == 1 ? answer : NULL,
               bench_html_where(report, where, sizeof where));
    for (int i = 0; i < report->count; i++) {
        const char *workload = report->results[i].workload;
        if (!bench_html_first(report, i))
            continue;
        if (workloads > 1) {
            page_heading(t, 2, workload);
            say_answer(report, workload, answer, sizeof answer);
            page_paragraph(t, answer);
        }
        TRY(bench_html_batches(report, workload, t));
    }
    TRY(bench_html_machine(report, t));
    bench_html_notes(report, NULL, false, t);
    page_end(t);
    return CORNU_OK;
}

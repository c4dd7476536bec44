/* The report as a page, and its charts. */
#ifndef BENCH_HTML_H
#define BENCH_HTML_H

#include "bench/report.h"
#include "format/page/page.h"

/* Write one self-contained page, atomically. */
cornu_status bench_write_html(const bench_report *report, const char *path);

/* The answer in a sentence or two: the fastest device, and how much faster it is than the others
   and than published figures. */
void bench_html_answer(const bench_report *report, char *line, size_t size);
/* Were several batches measured? They have another page. */
bool bench_html_is_sweep(const bench_report *report);
cornu_status bench_html_sweep(const bench_report *report, text *t);
/* The section of one workload: the chart, the rows, and the batches that were left out. */
cornu_status bench_html_batches(const bench_report *report, const char *workload, text *t);
/* "cornu 1.0 on CPU, 2 threads, DATE" */
const char *bench_html_where(const bench_report *report, char *line, size_t size);

/* Sections of the page. */
void bench_html_baseline(const bench_report *report, text *t);
cornu_status bench_html_machine(const bench_report *report, text *t);
/* Caveats, then `more` of them (NULL-ended, or NULL), and with `failures` which devices failed and
   why. */
void bench_html_notes(const bench_report *report, const char *const *more, bool failures, text *t);
void bench_html_operations(const bench_report *report, text *t);
cornu_status bench_html_losses(const bench_report *report, text *t);
/* "cifar10-mlp on cpu" */
const char *bench_html_name(const bench_result *r, char *line, size_t size);
/* Is it the first result of its workload? */
bool bench_html_first(const bench_report *report, int index);

#endif

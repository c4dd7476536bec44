/* The report as a page, and its charts. */
#ifndef BENCH_HTML_H
#define BENCH_HTML_H

#include "bench/report.h"
#include "format/html/html.h"

/* Write one self-contained page, atomically. */
cornu_status bench_write_html(const bench_report *report, const char *path);

/* The answer in a sentence or two: the fastest device, and how much faster it is than the others
   and than published figures. */
void bench_html_answer(const bench_report *report, char *line, size_t size);
/* Were several batches measured? They have another page. */
bool bench_html_is_sweep(const bench_report *report);

/* The section of one workload: the chart, the rows, and the batches that were left out. */
cornu_status bench_html_batches(const bench_report *report, const char *workload, text *t);
/* Sections of the page. */
cornu_status bench_html_machine(const bench_report *report, text *t);
/* Caveats, then `more` of them (NULL-ended, or NULL), and with `failures` which devices failed and
   why. */
void bench_html_notes(const bench_report *report, const char *const *more, bool failures, text *t);

#endif

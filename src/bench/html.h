/* The report as a page, and its charts. */
#ifndef BENCH_HTML_H
#define BENCH_HTML_H

#include "bench/report.h"
#include "format/page/page.h"

/* One self-contained page, atomically. */
cornu_status bench_write_html(const bench_report *report, const char *path);
/* The chart of steps alone, for a README. */
cornu_status bench_write_svg(const bench_report *report, const char *path);

/* Sections of the page. */
void bench_html_operations(const bench_report *report, text *t);
cornu_status bench_html_losses(const bench_report *report, text *t);
/* "cifar10-mlp on cpu" */
const char *bench_html_name(const bench_result *r, char *line, size_t size);
/* Is it the first result of its workload? */
bool bench_html_first(const bench_report *report, int index);

#endif

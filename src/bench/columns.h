/* The columns of a comparison's results in HTML, Markdown and CSV. */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include "base/memory.h"
#include "bench/report.h"

typedef struct bench_column {
    const char *key;     /* in CSV */
    const char *heading; /* for people; NULL: only for programs */
    int digits;          /* digits shown to people; 0: a text */
    double (*number)(const bench_report *report, const bench_result *r); /* NAN: none */
    const char *(*text)(const bench_report *report, const bench_result *r);
} bench_column;
extern const bench_column bench_columns[]; /* key NULL at the end */
/* The column with the key (up to a "="); if there is none, the last, whose key is NULL. */
const bench_column *bench_column_named(const char *key);

/* "generated pixels", or the name of the data set. */
const char *bench_data_shown(const bench_report *report, const bench_result *r);
/* Does other data stand in for the workload's own? */
bool bench_is_substitute(const bench_result *r);
/* The fastest published epoch on this kind of device; 0: none. */
double bench_published_epoch(const char *workload, const char *kind);
/* The results as a table, appended to `t`. */
typedef void bench_table(const bench_report *report, text *t);
bench_table bench_csv, bench_markdown;
/* The same as a file, atomically, or ("-") on `out`. */
cornu_status bench_write_table(const bench_report *report, bench_table *table, const char *path,
                               FILE *out);

#endif

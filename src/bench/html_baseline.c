/* The section of the page that compares with an earlier run. */
#include "bench/baseline.h"
#include "bench/html.h"
#include <math.h>
#include <string.h>

enum { LINE = 512 };

static void add_change(const bench_change *c, text *t)
{
    char verdict[320], range[64];
    snprintf(range, sizeof range, "%+.1f to %+.1f", 100 * (c->low - 1), 100 * (c->high - 1));
    page_row_begin(t, c->workload);
    page_cell(t, c->device);
    page_number_cell(t, c->before_ms, 4);
    page_number_cell(t, c->after_ms, 4);
    page_number_cell(t, 100 * (c->ratio - 1), 2);
    page_cell(t, range);
    page_cell(t, baseline_show(c, verdict, sizeof verdict));
    page_row_end(t);
}

static void add_changes(const bench_comparison *b, text *t)
{
    static const page_column columns[] = {
        {"workload", false}, {"device", false},    {"then, ms", true}, {"now, ms", true},
        {"change, %", true}, {"99 % sure", false}, {"verdict", false}};
    page_table_begin(t,
                     "Medians of the rounds' fastest steps, then and now; the change less what "
                     "slower or faster memory explains, with an interval that is 99 % sure for all "
                     "rows together",
                     columns, 7);
    for (int i = 0; i < b->count; i++)
        if (b->changes[i].verdict != BENCH_NOT_COMPARED)
            add_change(&b->changes[i], t);
    page_table_end(t);
}

/* The rows that were not compared, one line per reason. */
static void add_not_compared(const bench_comparison *b, text *t)
{
    page_list_begin(t);
    for (int i = 0; i < b->count; i++) {
        const bench_change *first = &b->changes[i];
        text line = {0};
        bool said = first->verdict != BENCH_NOT_COMPARED;
        for (int k = 0; k < i; k++)
            said |= strcmp(b->changes[k].why, first->why) == 0;
        if (said)
            continue;
        text_add(&line, "Not compared: ");
        for (int k = i; k < b->count; k++)
            if (strcmp(b->changes[k].why, first->why) == 0)
                text_add(&line, "%s%s on %s", k > i ? ", " : "", b->changes[k].workload,
                         b->changes[k].device);
        text_add(&line, ": %s.", first->why);
        page_list_item(t, line.data ? line.data : "");
        t->failed |= line.failed;
        text_free(&line);
    }
    page_list_end(t);
}

void bench_html_baseline(const bench_report *report, text *t)
{
    const bench_comparison *b = &report->baseline;
    char line[LINE];
    if (!*b->file)
        return;
    page_heading(t, 2, "Against an earlier run");
    snprintf(line, sizeof line, "%s, written by cornu %s%s%s.", b->file, b->version,
             *b->started ? ", " : "", b->started);
    page_paragraph(t, line);
    if (b->difference_count > 0) {
        page_list_begin(t);
        for (int i = 0; i < b->difference_count; i++)
            page_list_item(t, b->differences[i]);
        page_list_end(t);
    }
    int compared = 0;
    for (int i = 0; i < b->count; i++)
        compared += b->changes[i].verdict != BENCH_NOT_COMPARED;
    if (compared > 0)
        add_changes(b, t);
    if (compared < b->count)
        add_not_compared(b, t);
}

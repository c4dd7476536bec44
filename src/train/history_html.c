/* A training run as a page: curves and their table, the network, machine and versions. */
#include "data/data.h"
#include "format/page/page.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MOST = 200, /* of the table; of a longer run every so many epochs, and the last */
    LINE = 512
};

typedef struct run_page {
    const cornu_history *history;
    const cornu_model *model;
    const cornu_data *data;
    int epochs, columns;
    int64_t before; /* epochs before the history's first */
    double *epoch;  /* [epochs]: 1, 2, ... */
    double *values; /* [columns][epochs] */
} run_page;

static cornu_status read_history(run_page *p)
{
    TRY(memory_new((size_t)p->epochs + 1, sizeof *p->epoch, "history", &p->epoch));
    TRY(memory_new((size_t)p->epochs * (size_t)p->columns + 1, sizeof *p->values, "history",
                   &p->values));
    for (int e = 0; e < p->epochs; e++) {
        p->epoch[e] = (double)(p->before + e + 1);
        for (int c = 0; c < p->columns; c++)
            p->values[c * p->epochs + e] = cornu_history_value(p->history, e, c);
    }
    return CORNU_OK;
}

static int column_named(const run_page *p, const char *name)
{
    for (int c = 0; c < p->columns; c++)
        if (strcmp(cornu_history_name(p->history, c), name) == 0)
            return c;
    return -1;
}

static double last_of(const run_page *p, int column)
{
    return column >= 0 && p->epochs > 0 ? p->values[(column + 1) * p->epochs - 1] : NAN;
}

/* ---- curves ----------------------------------------------------------------------------- */

static chart_line line_of(const run_page *p, int column, const char *name, int series)
{
    return (chart_line){.name = name,
                        .x = p->epoch,
                        .y = p->values + column * p->epochs,
                        .count = p->epochs,
                        .series = series};
}

/* A column and, where there is one, that of its validation. */
static void add_curve(const run_page *p, int column, text *t)
{
    const char *name = cornu_history_name(p->history, column);
    char validation[LINE], id[32], title[LINE];
    snprintf(validation, sizeof validation, "val_%.500s", name);
    snprintf(id, sizeof id, "curve%d", column);
    bool seconds = strcmp(name, "seconds") == 0;
    snprintf(title, sizeof title, "%.480s of each epoch", seconds ? "Seconds" : name);
    int other = column_named(p, validation);
    chart_line lines[] = {line_of(p, column, "training", 0),
                          other >= 0 ? line_of(p, other, "validation", 1) : (chart_line){0}};
    if (other < 0)
        lines[0].name = name;
    page_figure(t, &(chart){.id = id,
                            .title = title,
                            .description = "The table below has the same numbers.",
                            .x_title = "epoch",
                            .from_zero = seconds,
                            .line = lines,
                            .line_count = other >= 0 ? 2 : 1});
}

static void add_curves(const run_page *p, text *t)
{
    page_heading(t, 2, "Curves");
    page_figures_begin(t);
    for (int c = 0; c < p->columns; c++)
        if (strncmp(cornu_history_name(p->history, c), "val_", 4) != 0)
            add_curve(p, c, t);
    page_figures_end(t);
}

static void add_table(const run_page *p, text *t)
{
    page_column columns[64] = {{"epoch", false}};
    int shown = p->columns < 63 ? p->columns : 63, stride = (p->epochs + ROWS_MOST - 1) / ROWS_MOST;
    for (int c = 0; c < shown; c++)
        columns[c + 1] = (page_column){cornu_history_name(p->history, c), true};
    if (stride > 1)
        page_paragraph(t, "Of so many epochs the table has every few, and the last.");
    page_table_begin(t, "Epoch by epoch", columns, shown + 1);
    for (int e = 0; e < p->epochs; e++) {
        char number[MARKUP_NUMBER];
        if (e % stride != 0 && e != p->epochs - 1)
            continue;
        page_row_begin(t, markup_number(p->epoch[e], 1, number));
        for (int c = 0; c < shown; c++)
            page_number_cell(t, p->values[c * p->epochs + e], 4);
        page_row_end(t);
    }
    page_table_end(t);
}

/* ---- words ------------------------------------------------------------------------------ */

static void add_result(const run_page *p, text *t)
{
    char line[LINE], number[MARKUP_NUMBER], first[MARKUP_NUMBER];
    double seconds = 0;
    int column = column_named(p, "seconds"), loss_at = column_named(p, "loss");
    for (int e = 0; column >= 0 && e < p->epochs; e++)
        seconds += p->values[column * p->epochs + e];
    snprintf(line, sizeof line, "%d %s in %s s%s", p->epochs, p->epochs == 1 ? "epoch" : "epochs",
             markup_number(seconds, 3, number),
             p->before > 0 ? "; the run went on from a model file, and the epochs before are not "
                             "in this page"
                           : "");
    page_list_item(t, line);
    if (p->epochs > 0 && loss_at >= 0) {
        snprintf(line, sizeof line, "loss from %s to %s",
                 markup_number(p->values[loss_at * p->epochs], 4, first),
                 markup_number(last_of(p, loss_at), 4, number));
        page_list_item(t, line);
    }
}

static void add_data(const run_page *p, text *t)
{
    char line[LINE];
    cornu_data_info info;
    if (!p->data || cornu_data_info_get(p->data, &info) != CORNU_OK)
        return;
    snprintf(line, sizeof line, "data: %.200s, %lld training and %lld test %s%s", info.name,
             (long long)info.count[CORNU_TRAIN], (long long)info.count[CORNU_TEST],
             PLURAL(info.count[CORNU_TEST], "sample", "samples"),
             info.generated ? "; generated: random pixels, not pictures of anything" : "");
    page_list_item(t, line);
}

/* A stream has none. */
static void add_data_summary(const run_page *p, text *t)
{
    char *lines;
    if (!p->data || cornu_data_summary(p->data, &lines) != CORNU_OK)
        return;
    page_heading(t, 2, "Data");
    page_lines(t, "data", lines);
    cornu_free(lines);
}

static cornu_status add_texts(const run_page *p, text *t)
{
    char *lines;
    add_data_summary(p, t);
    TRY(cornu_model_summary(p->model, &lines));
    page_heading(t, 2, "Network");
    page_lines(t, "network", lines);
    cornu_free(lines);
    TRY(cornu_versions(&lines));
    page_heading(t, 2, "Machine and versions");
    page_lines(t, "machine and versions", lines);
    cornu_free(lines);
    return CORNU_OK;
}

static cornu_status add_page(run_page *p, text *t)
{
    char title[LINE];
    TRY(read_history(p));
    snprintf(title, sizeof title, "Training of %.400s", p->model->name ? p->model->name : "model");
    page_begin(t, title, NULL);
    page_list_begin(t);
    add_result(p, t);
    add_data(p, t);
    page_list_end(t);
    if (p->epochs > 0) {
        add_curves(p, t);
        add_table(p, t);
    }
    TRY(add_texts(p, t));
    page_end(t);
    return CORNU_OK;
}

cornu_status cornu_history_write_html(const cornu_history *history, const cornu_model *model,
                                      const cornu_data *data, const char *path)
{
    if (!history || !model || !path)
        return status_fail(CORNU_INVALID, "cornu_history_write_html: found NULL; expected a "
                                          "history, its model and a path");
    text t = {0};
    run_page p = {.history = history,
                  .model = model,
                  .data = data,
                  .epochs = cornu_history_epochs(history),
                  .columns = cornu_history_columns(history)};
    p.before = model->training.position.epoch - p.epochs;
    p.before = p.before > 0 ? p.before : 0;
    cornu_status status = add_page(&p, &t);
    free(p.epoch);
    free(p.values);
    if (status == CORNU_OK)
        return page_write(&t, path);
    text_free(&t);
    return status;
}

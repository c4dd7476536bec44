/* A training run as a page: results, curves and their table, the network, machine and versions. */
#include "base/memory.h"
#include "base/number.h"
#include "data/data.h"
#include "format/page/page.h"
#include "model/model.h"
#include <cornu/data.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MOST = 200, /* rows of the table; a longer run has every n-th epoch, and the last */
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

static int validation_of(const run_page *p, int column)
{
    char validation[LINE];
    snprintf(validation, sizeof validation, "val_%.500s", cornu_history_name(p->history, column));
    return column_named(p, validation);
}

static bool is_of_training(const run_page *p, int column)
{
    return strncmp(cornu_history_name(p->history, column), "val_", 4) != 0;
}

static bool is_about_the_run(const run_page *p, int column)
{
    const char *name = cornu_history_name(p->history, column);
    return strcmp(name, "seconds") == 0 || strcmp(name, "learning_rate") == 0;
}

/* "val_accuracy", "learning_rate", "seconds" as a title. */
static void title_of(const char *name, char *title, size_t size)
{
    bool seconds = strcmp(name, "seconds") == 0;
    snprintf(title, size, "%.480s", seconds ? "Seconds an epoch" : name);
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
    for (char *c = title; *c; c++)
        *c = *c == '_' ? ' ' : *c;
}

/* Draw a column and, if it exists, the column of its validation. */
static void add_curve(const run_page *p, int column, text *t)
{
    const char *name = cornu_history_name(p->history, column);
    char title[LINE];
    title_of(name, title, sizeof title);
    int other = validation_of(p, column);
    chart_line lines[] = {line_of(p, column, other >= 0 ? "training" : NULL, 0),
                          other >= 0 ? line_of(p, other, "validation", 1) : (chart_line){0}};
    chart_html(t, &(chart){.title = title,
                           .x_title = "epoch",
                           .from_zero = strcmp(name, "seconds") == 0,
                           .line = lines,
                           .line_count = other >= 0 ? 2 : 1});
}

/* Loss and metrics, or (`run`) rate and seconds. */
static void add_curves(const run_page *p, bool run, text *t)
{
    page_figures_begin(t);
    for (int c = 0; c < p->columns; c++)
        if (is_of_training(p, c) && is_about_the_run(p, c) == run)
            add_curve(p, c, t);
    page_figures_end(t);
}

static void add_table(const run_page *p, text *t)
{
    page_column columns[64] = {{"epoch", false}};
    int shown = p->columns < 63 ? p->columns : 63, stride = (p->epochs + ROWS_MOST - 1) / ROWS_MOST;
    for (int c = 0; c < shown; c++)
        columns[c + 1] = (page_column){cornu_history_name(p->history, c), true};
    page_details_begin(t, "Epoch by epoch as a table");
    page_table_begin(t, stride > 1 ? "Of so many epochs every few, and the last." : NULL, columns,
                     shown + 1);
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
    page_details_end(t);
}

/* ---- the answer ------------------------------------------------------------------------- */

/* The column that best shows the quality of the model: the first metric of the validation, or of
   the training, or else the loss. */
static int telling_column(const run_page *p)
{
    for (int c = 0; c < p->columns; c++)
        if (is_of_training(p, c) && !is_about_the_run(p, c) &&
            strcmp(cornu_history_name(p->history, c), "loss") != 0)
            return validation_of(p, c) >= 0 ? validation_of(p, c) : c;
    int only = column_named(p, "loss");
    return only >= 0 && validation_of(p, only) >= 0 ? validation_of(p, only) : only;
}

/* The epoch with the best value: the minimum of a loss or an error. */
static int best_epoch(const run_page *p, int column)
{
    const char *name = cornu_history_name(p->history, column);
    bool lower =
        strstr(name, "loss") || strstr(name, "error") || strstr(name, "mae") || strstr(name, "mse");
    int best = -1;
    for (int e = 0; e < p->epochs; e++) {
        double value = p->values[column * p->epochs + e];
        double than = best >= 0 ? p->values[column * p->epochs + best] : NAN;
        if (isfinite(value) && (best < 0 || (lower ? value < than : value > than)))
            best = e;
    }
    return best;
}

/* "3 epochs in 7.73 s: val_accuracy .91, at best .92 in epoch 2; loss from 1.2 to 0.4." */
static void say_answer(const run_page *p, char *line, size_t size)
{
    char time[24], last[MARKUP_NUMBER], other[MARKUP_NUMBER];
    int column = telling_column(p), at_loss = column_named(p, "loss");
    size_t at =
        (size_t)snprintf(line, size, "%d %s in %s", p->epochs, PLURAL(p->epochs, "epoch", "epochs"),
                         number_seconds(cornu_history_seconds(p->history), time));
    if (column >= 0 && p->epochs > 0) {
        int best = best_epoch(p, column);
        at += (size_t)snprintf(line + at, size - at, ": %.100s %s",
                               cornu_history_name(p->history, column),
                               markup_number(last_of(p, column), 4, last));
        if (best >= 0 && best != p->epochs - 1)
            at += (size_t)snprintf(
                line + at, size - at, " at the end, %s at best, after epoch %.0f",
                markup_number(p->values[column * p->epochs + best], 4, other), p->epoch[best]);
    }
    if (at_loss >= 0 && p->epochs > 1 && column != at_loss)
        at +=
            (size_t)snprintf(line + at, size - at, "%s loss from %s to %s", column >= 0 ? ";" : ":",
                             markup_number(p->values[at_loss * p->epochs], 4, other),
                             markup_number(last_of(p, at_loss), 4, last));
    snprintf(line + at, size - at, ".");
}

/* "data: ..., 60000 training and 10000 test samples" */
static void say_data(const run_page *p, char *line, size_t size)
{
    cornu_data_info info;
    *line = 0;
    if (p->data && cornu_data_info_get(p->data, &info) == CORNU_OK)
        snprintf(line, size, "Data: %.200s, %lld training and %lld test samples%s.", info.name,
                 (long long)info.count[CORNU_TRAIN], (long long)info.count[CORNU_TEST],
                 info.generated ? "; generated: random pixels, not pictures of anything" : "");
}

/* ---- words ------------------------------------------------------------------------------ */

/* A stream has none. */
static void add_data_summary(const run_page *p, text *t)
{
    char *lines;
    if (!p->data || cornu_data_summary(p->data, &lines) != CORNU_OK)
        return;
    page_heading(t, 2, "Data");
    page_facts(t, NULL, lines);
    cornu_free(lines);
}

static void add_network(const cornu_model *m, text *t)
{
    static const page_column columns[] = {
        {"layer", false}, {"kind", false}, {"output", false}, {"parameters", true}};
    char digits[32], line[LINE];
    int64_t all = 0;
    page_heading(t, 2, "Network");
    page_table_begin(t, NULL, columns, 4);
    for (int i = m->functional ? 0 : 1; i < m->layer_count; i++) {
        const layer *l = m->layers[i];
        char output[128];
        int64_t count = summary_parameters(m, l);
        all += count;
        shape_show(&l->out, true, output);
        page_row_begin(t, l->name);
        page_cell(t, l->kind->name);
        page_cell(t, output);
        page_count_cell(t, summary_number(count, digits));
        page_row_end(t);
    }
    page_table_end(t);
    snprintf(line, sizeof line, "%s parameters in all.", summary_number(all, digits));
    page_paragraph(t, line);
}

static cornu_status add_texts(const run_page *p, text *t)
{
    char *lines;
    add_data_summary(p, t);
    add_network(p->model, t);
    TRY(cornu_versions(&lines));
    page_heading(t, 2, "Machine and versions");
    page_details_begin(t, "The program, its libraries and the devices");
    page_facts(t, NULL, lines);
    page_details_end(t);
    cornu_free(lines);
    return CORNU_OK;
}

static void add_caveats(const run_page *p, text *t)
{
    char line[LINE], took[24];
    int column = column_named(p, "seconds");
    double epochs = 0;
    for (int e = 0; column >= 0 && e < p->epochs; e++)
        epochs += p->values[column * p->epochs + e];
    page_heading(t, 2, "What to keep in mind");
    page_list_begin(t);
    snprintf(line, sizeof line,
             "The epochs took %s of the whole time; the rest went into opening the device, making "
             "plans and writing files.",
             number_seconds(epochs, took));
    page_list_item(t, line);
    if (p->before > 0)
        page_list_item(t, "The run went on from a model file; the epochs before are not in this "
                          "page.");
    page_list_end(t);
}

static cornu_status add_page(run_page *p, text *t)
{
    char title[LINE], answer[LINE], data[LINE];
    TRY(read_history(p));
    snprintf(title, sizeof title, "Training of %.400s", p->model->name ? p->model->name : "model");
    say_answer(p, answer, sizeof answer);
    say_data(p, data, sizeof data);
    page_begin(t, title, answer, *data ? data : NULL);
    if (p->epochs > 0) {
        add_curves(p, false, t);
        add_curves(p, true, t);
        add_table(p, t);
    }
    TRY(add_texts(p, t));
    add_caveats(p, t);
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

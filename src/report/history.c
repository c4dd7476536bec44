/* A training run: a row an epoch, and as a page: results, curves and their table, the network,
   machine and versions. */
#include "base/memory.h"
#include "base/number.h"
#include "data/data.h"
#include "format/html/html.h"
#include "model/model.h"
#include "report/report.h"
#include <cornu/data.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cornu_history {
    char *names[HISTORY_COLUMNS_MAX];
    int columns, epochs;
    double *values; /* [epochs][columns] */
    double seconds; /* in all */
    size_t capacity;
    char *callbacks;
};

cornu_status history_open(const char *const *names, int columns, cornu_history **out)
{
    *out = NULL;
    cornu_history *h;
    TRY(memory_new(1, sizeof *h, "history", &h));
    cornu_status status = CORNU_OK;
    for (; h->columns < columns && status == CORNU_OK; h->columns++)
        status = memory_copy_string(names[h->columns], &h->names[h->columns]);
    if (status != CORNU_OK) {
        cornu_history_close(h);
        return status;
    }
    *out = h;
    return CORNU_OK;
}

cornu_status history_add(cornu_history *h, const double *row)
{
    size_t used = (size_t)h->epochs * (size_t)h->columns, columns = (size_t)h->columns;
    TRY(memory_grow(&h->values, &h->capacity, used + columns, sizeof *h->values));
    memcpy(h->values + used, row, columns * sizeof *row);
    h->epochs++;
    return CORNU_OK;
}

char **history_callbacks(cornu_history *h)
{
    return &h->callbacks;
}

const char *cornu_history_callbacks(const cornu_history *h)
{
    return h ? h->callbacks : NULL;
}

void history_took(cornu_history *h, double seconds)
{
    h->seconds = seconds;
}

double cornu_history_seconds(const cornu_history *h)
{
    return h ? h->seconds : 0;
}

int cornu_history_epochs(const cornu_history *h)
{
    return h ? h->epochs : 0;
}

int cornu_history_columns(const cornu_history *h)
{
    return h ? h->columns : 0;
}

const char *cornu_history_name(const cornu_history *h, int column)
{
    return h && column >= 0 && column < h->columns ? h->names[column] : NULL;
}

double cornu_history_value(const cornu_history *h, int epoch, int column)
{
    if (!h || epoch < 0 || epoch >= h->epochs || column < 0 || column >= h->columns)
        return NAN;
    return h->values[(size_t)epoch * (size_t)h->columns + (size_t)column];
}

void cornu_history_close(cornu_history *h)
{
    if (!h)
        return;
    for (int i = 0; i < h->columns; i++)
        free(h->names[i]);
    free(h->values);
    free(h->callbacks);
    free(h);
}

/* ---- as a page ------------------------------------------------------------------------------ */

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
    html_figures_begin(t);
    for (int c = 0; c < p->columns; c++)
        if (is_of_training(p, c) && is_about_the_run(p, c) == run)
            add_curve(p, c, t);
    html_figures_end(t);
}

static void add_table(const run_page *p, text *t)
{
    html_column columns[HISTORY_COLUMNS_MAX + 1] = {{"epoch", false}};
    const int stride = (p->epochs + ROWS_MOST - 1) / ROWS_MOST;
    for (int c = 0; c < p->columns; c++)
        columns[c + 1] = (html_column){cornu_history_name(p->history, c), true};
    html_details_begin(t, "Epoch by epoch as a table");
    html_table_begin(t, stride > 1 ? "Of so many epochs every few, and the last." : NULL, columns,
                     p->columns + 1);
    for (int e = 0; e < p->epochs; e++) {
        char number[MARKUP_NUMBER];
        if (e % stride != 0 && e != p->epochs - 1)
            continue;
        html_row_begin(t, markup_number(p->epoch[e], 1, number));
        for (int c = 0; c < p->columns; c++)
            html_number_cell(t, p->values[c * p->epochs + e], 4);
        html_row_end(t);
    }
    html_table_end(t);
    html_details_end(t);
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
    cornu_data_info info = {.size = sizeof info};
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
    html_heading(t, 2, "Data");
    html_facts(t, NULL, lines);
    cornu_free(lines);
}

static void add_network(const cornu_model *m, text *t)
{
    static const html_column columns[] = {
        {"layer", false}, {"kind", false}, {"output", false}, {"parameters", true}};
    char digits[32], line[LINE];
    int64_t all = 0;
    html_heading(t, 2, "Network");
    html_table_begin(t, NULL, columns, 4);
    for (int i = m->functional ? 0 : 1; i < m->layer_count; i++) {
        const layer *l = m->layers[i];
        char output[128];
        if (layer_is_input(l->kind) && l->owner >= 0)
            continue;
        int64_t count = summary_parameters(m, l);
        all += count;
        shape_show(&m->nodes[model_call(m, l, l->call_count - 1)].out, true, output);
        html_row_begin(t, l->name);
        html_cell(t, l->kind->name);
        html_cell(t, output);
        html_count_cell(t, summary_number(count, digits));
        html_row_end(t);
    }
    html_table_end(t);
    snprintf(line, sizeof line, "%s parameters in all.", summary_number(all, digits));
    html_paragraph(t, line);
}

static cornu_status add_texts(const run_page *p, text *t)
{
    char *lines;
    add_data_summary(p, t);
    add_network(p->model, t);
    TRY(cornu_versions(&lines));
    html_heading(t, 2, "Machine and versions");
    html_details_begin(t, "The program, its libraries and the devices");
    html_facts(t, NULL, lines);
    html_details_end(t);
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
    html_heading(t, 2, "What to keep in mind");
    html_list_begin(t);
    snprintf(line, sizeof line,
             "The epochs took %s of the whole time; the rest went into opening the device, making "
             "plans and writing files.",
             number_seconds(epochs, took));
    html_list_item(t, line);
    if (p->before > 0)
        html_list_item(t, "The run went on from a model file; the epochs before are not in this "
                          "page.");
    html_list_end(t);
}

static cornu_status add_page(run_page *p, text *t)
{
    char title[LINE], answer[LINE], data[LINE];
    TRY(read_history(p));
    snprintf(title, sizeof title, "Training of %.400s", p->model->name ? p->model->name : "model");
    say_answer(p, answer, sizeof answer);
    say_data(p, data, sizeof data);
    html_begin(t, title, answer, *data ? data : NULL);
    if (p->epochs > 0) {
        add_curves(p, false, t);
        add_curves(p, true, t);
        add_table(p, t);
    }
    TRY(add_texts(p, t));
    add_caveats(p, t);
    html_end(t);
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
        return html_write(&t, path);
    text_free(&t);
    return status;
}

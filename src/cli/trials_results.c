/* The results of a sweep's runs: read from their tables of epochs, printed as one table. */
#include "bench/show.h"
#include "cli/trials.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run's table of epochs ------------------------------------------------------------ */

enum { CELLS_MOST = 32 };

/* Positions of its columns; 0: missing. */
typedef struct log_columns {
    int count, metric, val_loss, val_metric;
} log_columns;

/* The next cell of a header, which may be in quotes. */
static const char *next_cell(const char *at, char *cell, size_t size)
{
    size_t length = 0;
    bool quoted = false;
    for (; *at && *at != '\n' && (quoted || *at != ','); at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (length + 1 < size)
            cell[length++] = *at;
    }
    cell[length] = 0;
    return *at == ',' ? at + 1 : NULL;
}

/* epoch, loss, METRIC..., val_loss, val_METRIC..., seconds */
static bool read_header(const char *line, log_columns *c, trial_result *r)
{
    char cell[64];
    *c = (log_columns){0};
    for (const char *at = line; at && c->count < CELLS_MOST; c->count++) {
        at = next_cell(at, cell, sizeof cell);
        if (strcmp(cell, "val_loss") == 0)
            c->val_loss = c->count;
        else if (c->count == 2 && strcmp(cell, "seconds") != 0) {
            c->metric = c->count;
            snprintf(r->metric_name, sizeof r->metric_name, "%.31s", cell);
        }
    }
    c->val_metric = c->val_loss && c->metric ? c->val_loss + 1 : 0;
    return c->count >= 3;
}

static bool read_numbers(const char *line, double *values, int count)
{
    char *end;
    for (int i = 0; i < count; i++, line = end + 1) {
        values[i] = strtod(line, &end);
        if (end == line || *end != (i + 1 < count ? ',' : '\n'))
            return false; /* it was truncated */
    }
    return true;
}

static void add_epoch(trial_result *r, const log_columns *c, const double *values)
{
    bool validated = c->val_loss && !isnan(values[c->val_loss]);
    double monitored = c->val_loss ? values[c->val_loss] : values[1];
    r->epochs = (int64_t)values[0];
    r->loss = values[1];
    r->metric = c->metric ? values[c->metric] : NAN;
    r->val_loss = validated ? values[c->val_loss] : r->val_loss;
    r->val_metric = validated && c->val_metric ? values[c->val_metric] : r->val_metric;
    r->seconds += values[c->count - 1];
    if (!isnan(monitored) && !(monitored >= r->best)) {
        r->best = monitored;
        r->best_epoch = r->epochs;
    }
}

bool trial_read_log(const char *path, trial_result *r)
{
    char *line = NULL;
    size_t room = 0;
    log_columns columns;
    double values[CELLS_MOST];
    FILE *f = fopen(path, "re");
    bool there = f && getline(&line, &room, f) > 0 && read_header(line, &columns, r);
    r->loss = r->metric = r->val_loss = r->val_metric = r->best = NAN;
    r->epochs = r->best_epoch = 0;
    r->seconds = 0;
    while (there && getline(&line, &room, f) > 0 && read_numbers(line, values, columns.count))
        add_epoch(r, &columns, values);
    free(line);
    if (f)
        fclose(f);
    return there;
}

bool trial_validates(const trial_result *r)
{
    return r->epochs > 0 && !isnan(r->val_loss);
}

/* ---- the columns ------------------------------------------------------------------------ */

enum { CELL = 32, COLUMNS_MOST = TRIAL_KEYS + 8 };

static void show_score(double value, char *cell)
{
    bool small = value != 0 && fabs(value) < 1e-3;
    if (isnan(value))
        snprintf(cell, CELL, "-");
    else
        snprintf(cell, CELL, small ? "%.2e" : "%.4f", value);
}

static void show_loss(const trial_result *r, char *cell)
{
    show_score(r->loss, cell);
}

static void show_metric(const trial_result *r, char *cell)
{
    show_score(r->metric, cell);
}

static void show_val_loss(const trial_result *r, char *cell)
{
    show_score(r->val_loss, cell);
}

static void show_val_metric(const trial_result *r, char *cell)
{
    show_score(r->val_metric, cell);
}

static void show_best(const trial_result *r, char *cell)
{
    show_score(r->best, cell);
}

static void show_epoch(const trial_result *r, char *cell)
{
    snprintf(cell, CELL, "%lld", (long long)r->best_epoch);
}

static void show_time(const trial_result *r, char *cell)
{
    duration_clock(r->seconds, cell);
}

/* The values of a column, so that one without values is left out. */
typedef enum column_kind { OF_ANY, OF_METRIC, OF_VALIDATION, OF_BOTH } column_kind;

/* In the order of the table; NULL as heading: the metric's name. */
static const struct {
    const char *group, *heading;
    column_kind kind;
    int keep; /* if there is no room, columns with the lowest value go first */
    void (*show)(const trial_result *r, char *cell);
} figures[] = {
    {"training", "loss", OF_ANY, 2, show_loss},
    {"training", NULL, OF_METRIC, 1, show_metric},
    {"validation", "loss", OF_VALIDATION, 4, show_val_loss},
    {"validation", NULL, OF_BOTH, 5, show_val_metric},
    {"best", "loss", OF_ANY, 7, show_best},
    {"best", "epoch", OF_ANY, 6, show_epoch},
    {"", "time", OF_ANY, 3, show_time},
};
enum { FIGURES = sizeof figures / sizeof *figures };

typedef struct column {
    const char *group, *heading;
    int list;   /* list of the trials; -1: */
    int figure; /* index into the table above */
    int width, keep;
} column;

typedef struct table {
    const trials *trials;
    const trial_result *results;
    column column[COLUMNS_MOST];
    int columns;
} table;

static void show_cell(const table *t, const column *c, int trial, char *cell)
{
    if (c->list >= 0)
        snprintf(cell, CELL, "%s", trial_value(t->trials, trial, c->list));
    else
        figures[c->figure].show(&t->results[trial], cell);
}

static void add_column(table *t, column c)
{
    char cell[CELL];
    c.width = (int)strlen(c.heading);
    for (int i = 0; i < t->trials->count; i++) {
        if (c.list < 0 && t->results[i].state != TRIAL_DONE)
            continue;
        show_cell(t, &c, i, cell);
        c.width = (int)strlen(cell) > c.width ? (int)strlen(cell) : c.width;
    }
    t->column[t->columns++] = c;
}

static bool begins_group(const table *t, int i)
{
    return i > 0 && strcmp(t->column[i].group, t->column[i - 1].group) != 0;
}

/* Two spaces between groups, one within. */
static int gap_before(const table *t, int i)
{
    return i == 0 ? 0 : begins_group(t, i) ? 2 : 1;
}

static int table_width(const table *t)
{
    int width = 0;
    for (int i = 0; i < t->columns; i++)
        width += gap_before(t, i) + t->column[i].width;
    return width;
}

static void drop_column(table *t)
{
    int least = 0;
    for (int i = 1; i < t->columns; i++)
        least = t->column[i].keep < t->column[least].keep ? i : least;
    t->columns--;
    memmove(t->column + least, t->column + least + 1,
            (size_t)(t->columns - least) * sizeof *t->column);
}

static void choose_columns(table *t)
{
    bool validates = false;
    const char *metric = NULL;
    for (int i = 0; i < t->trials->count; i++) {
        const trial_result *r = &t->results[i];
        bool has_metric = r->state == TRIAL_DONE && *r->metric_name;
        validates |= r->state == TRIAL_DONE && trial_validates(r);
        metric = has_metric && !metric ? r->metric_name : metric;
    }
    for (int i = 0; i < t->trials->lists; i++)
        add_column(t, (column){"", t->trials->list[i].key->name, i, -1, 0, FIGURES + 1});
    for (int i = 0; i < FIGURES; i++) {
        bool of_metric = figures[i].kind == OF_METRIC || figures[i].kind == OF_BOTH;
        bool of_validation = figures[i].kind == OF_VALIDATION || figures[i].kind == OF_BOTH;
        const char *heading = figures[i].heading ? figures[i].heading : metric;
        if ((!of_metric || metric) && (!of_validation || validates))
            add_column(t, (column){figures[i].group, heading, -1, i, 0, figures[i].keep});
    }
    while (table_width(t) > WRAP_WIDTH && t->columns > t->trials->lists)
        drop_column(t);
}

/* ---- the table -------------------------------------------------------------------------- */

/* The groups' names, each above its first column. */
static void print_groups(const table *t)
{
    int at = 0, printed = 0;
    for (int i = 0; i < t->columns; i++) {
        at += gap_before(t, i);
        if (begins_group(t, i) && *t->column[i].group) {
            print("%*s%s", at - printed, "", t->column[i].group);
            printed = at + (int)strlen(t->column[i].group);
        }
        at += t->column[i].width;
    }
    print("\n");
}

static void print_trial(const table *t, int trial)
{
    static const char *const states[] = {"not run", "", "stopped", "failed: "};
    const trial_result *r = &t->results[trial];
    int at = 0;
    for (int i = 0; i < t->columns; i++) {
        char cell[CELL], line[TRIAL_WHY + CELL];
        const column *c = &t->column[i];
        if (c->list < 0 && r->state != TRIAL_DONE) {
            snprintf(line, sizeof line, "%s%s", states[r->state],
                     r->state == TRIAL_FAILED ? r->why : "");
            print("  ");
            wrap_print_from(line, at + 2, 4, stdout);
            return;
        }
        show_cell(t, c, trial, cell);
        print("%*s%*s", gap_before(t, i), "", c->width, cell);
        at += gap_before(t, i) + c->width;
    }
    print("\n");
}

/* Completed runs by their best value, then the others. */
static bool is_before(const trial_result *a, const trial_result *b)
{
    if (a->state != b->state)
        return a->state == TRIAL_DONE || (b->state != TRIAL_DONE && a->state > b->state);
    return a->state == TRIAL_DONE && !isnan(a->best) && !(a->best >= b->best);
}

static void sort_trials(const trials *t, const trial_result *results, int *order)
{
    for (int i = 0; i < t->count; i++) {
        int at = i;
        for (; at > 0 && is_before(&results[i], &results[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

void trials_print(const trials *t, const trial_result *results, int *order)
{
    table shown = {.trials = t, .results = results};
    sort_trials(t, results, order);
    choose_columns(&shown);
    print("\n");
    print_groups(&shown);
    for (int i = 0; i < shown.columns; i++)
        print("%*s%*s", gap_before(&shown, i), "", shown.column[i].width, shown.column[i].heading);
    print("\n");
    for (int i = 0; i < t->count; i++)
        print_trial(&shown, order[i]);
}

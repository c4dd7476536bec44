/* cornu predict: the files that its operands stand for, and data sets, in batches. */
#include "cli/predict.h"
#include "base/clock.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---------------------------------------------------------------------------------- */

/* Called with each file's path, in order; `problem` is what is wrong with it, or NULL. Another
   status than STATUS_OK ends the walk. */
typedef int visit_file(void *user, const char *path, const char *problem);

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool is_pattern(const char *word)
{
    struct stat s;
    return strpbrk(word, "*?[") && lstat(word, &s) != 0;
}

static bool is_standard_input(const char *word)
{
    return strcmp(word, "-") == 0;
}

/* The number of files, if it is obvious from the operands; else -1. */
static int64_t count_files(const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (is_standard_input(words[i]) || is_folder(words[i]) || is_pattern(words[i]))
            return -1;
    return count;
}

/* ---- folders ---------------------------------------------------------------------------- */

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_real_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int visit_folder(const char *folder, visit_file *visit, void *user);

/* One of a folder's entries; a link to a folder is none, so that no loop can be walked. */
static int visit_entry(const char *folder, const char *name, visit_file *visit, void *user)
{
    char path[PATH_MAX];
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    if ((size_t)snprintf(path, sizeof path, "%s%s%s", folder, slash, name) >= sizeof path)
        return visit(user, path, strerror(ENAMETOOLONG));
    if (is_real_folder(path))
        return visit_folder(path, visit, user);
    return is_folder(path) ? STATUS_OK : visit(user, path, NULL);
}

static int visit_folder(const char *folder, visit_file *visit, void *user)
{
    struct dirent **entries;
    int status = STATUS_OK, count = scandir(folder, &entries, is_shown, by_bytes);
    if (count < 0)
        return visit(user, folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == STATUS_OK)
            status = visit_entry(folder, entries[i]->d_name, visit, user);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int visit_path(const char *path, visit_file *visit, void *user)
{
    return is_folder(path) ? visit_folder(path, visit, user) : visit(user, path, NULL);
}

/* ---- patterns --------------------------------------------------------------------------- */

static int visit_pattern(const char *pattern, visit_file *visit, void *user)
{
    glob_t found = {0};
    int status = STATUS_OK, failure = glob(pattern, 0, NULL, &found);
    if (failure)
        status = visit(user, pattern,
                       failure == GLOB_NOMATCH ? "no file matches it" : "cannot be looked for");
    for (size_t i = 0; i < found.gl_pathc && !failure && status == STATUS_OK; i++)
        status = visit_path(found.gl_pathv[i], visit, user);
    globfree(&found);
    return status;
}

/* ---- standard input --------------------------------------------------------------------- */

/* The next name into name[PATH_MAX]; false at the end. A longer one is cut, and *whole false. */
static bool next_name(int end, char *name, bool *whole)
{
    size_t length = 0;
    int c = getc_unlocked(stdin);
    *whole = true;
    if (c == EOF)
        return false;
    for (; c != EOF && c != end; c = getc_unlocked(stdin)) {
        *whole = length + 1 < PATH_MAX;
        if (*whole)
            name[length++] = (char)c;
    }
    name[length] = 0;
    return true;
}

static int visit_standard_input(bool ended_by_nul, visit_file *visit, void *user)
{
    char name[PATH_MAX];
    bool whole;
    int status = STATUS_OK;
    while (status == STATUS_OK && next_name(ended_by_nul ? 0 : '\n', name, &whole))
        if (*name)
            status = visit(user, name, whole ? NULL : strerror(ENAMETOOLONG));
    if (status == STATUS_OK && ferror(stdin))
        return fail(STATUS_FAILURE, "standard input: cannot read: %s", strerror(errno));
    return status;
}

/* ---- all -------------------------------------------------------------------------------- */

/* The files that operands stand for: a file is itself; a folder all files in it and below, sorted
   by the bytes of their names, but hidden ones and what links to folders lead to; a pattern (* ? [)
   that is no file what it matches; "-" the names on standard input, one a line, or each ended by a
   NUL. Only the names of the folders on the way are kept. */
static int walk_files(const char *const *words, int count, bool ended_by_nul, visit_file *visit,
                      void *user)
{
    int status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = is_standard_input(words[i]) ? visit_standard_input(ended_by_nul, visit, user)
                 : is_pattern(words[i])      ? visit_pattern(words[i], visit, user)
                                             : visit_path(words[i], visit, user);
    return status;
}

/* ---- a prediction ----------------------------------------------------------------------- */

typedef struct prediction {
    cornu_model *model;
    cornu_run_options options;
    rows rows;
    int64_t limit;           /* samples of a data set; 0: all */
    int64_t inputs, outputs; /* elements of one sample */
    int64_t most;            /* samples at a time */
    float *x, *y, *values;   /* [most][inputs], [most][outputs], [most][classes] */
    cornu_class_value *best; /* [rows.top] */
    int64_t done;            /* samples */
    double seconds;          /* time for reading and predicting them */
} prediction;

/* Floats read and predicted at a time: 64 MB; and pictures, whose rows come after them. */
static const int64_t BATCH_FLOATS = 16 << 20;
enum { PICTURES = 1024 };
/* In addition to exit statuses: the reader wants no more rows, which is not a failure. */
enum { STATUS_OVER = -1 };

static int64_t elements(const int64_t *shape, int rank)
{
    int64_t product = 1;
    for (int i = 0; i < rank; i++)
        product *= shape[i];
    return product;
}

static int measure(prediction *p)
{
    int64_t shape[8];
    int rank, status = exit_status(cornu_model_input_shape(p->model, shape, &rank));
    if (status != STATUS_OK)
        return status;
    p->inputs = elements(shape, rank);
    status = exit_status(cornu_model_output_shape(p->model, shape, &rank));
    if (status != STATUS_OK)
        return status;
    p->outputs = elements(shape, rank);
    int64_t larger = p->inputs > p->outputs ? p->inputs : p->outputs;
    p->most = BATCH_FLOATS / larger < 1 ? 1 : BATCH_FLOATS / larger;
    p->rows.info.size = sizeof p->rows.info;
    return exit_status(cornu_model_output_info(p->model, &p->rows.info));
}

/* At most `samples` will be predicted (-1: not known yet). */
static int make_room(prediction *p, int64_t samples)
{
    if (samples >= 0 && samples < p->most)
        p->most = samples > 0 ? samples : 1;
    if (p->rows.top > p->rows.info.classes)
        p->rows.top = p->rows.info.classes;
    int status = exit_status(cornu_predict_check(p->model, p->most, &p->options));
    if (status != STATUS_OK)
        return status;
    p->x = malloc((size_t)(p->most * p->inputs) * sizeof *p->x);
    p->y = malloc((size_t)(p->most * p->outputs) * sizeof *p->y);
    p->values = malloc((size_t)(p->most * p->rows.info.classes) * sizeof *p->values);
    p->best = malloc((size_t)p->rows.top * sizeof *p->best);
    if (!p->x || !p->y || !p->values || !p->best)
        return fail(STATUS_FAILURE, "predict: not enough memory");
    return rows_open(&p->rows);
}

static void close_prediction(prediction *p)
{
    free(p->x);
    free(p->y);
    free(p->values);
    free(p->best);
    cornu_model_close(p->model);
}

static int predict_batch(prediction *p, int64_t count)
{
    int status = exit_status(cornu_predict(p->model, p->x, count, &p->options, p->y));
    if (status == STATUS_OK)
        status = exit_status(cornu_model_class_values(p->model, p->y, count, p->values));
    if (status == STATUS_OK)
        p->done += count;
    return status;
}

/* The row of sample `number` of those that were predicted last. */
static void write_row(prediction *p, row one, int64_t number)
{
    const rows *r = &p->rows;
    one.best = p->best;
    if (!one.error)
        one.count = cornu_model_top_classes(p->model, p->values + number * r->info.classes, r->top,
                                            p->best);
    rows_write(&p->rows, &one);
}

/* ---- images ----------------------------------------------------------------------------- */

/* Files that were read, up to p->most, and wait for their rows. */
typedef struct waiting {
    prediction *p;
    cornu_image_options reading;
    char **names, **errors;      /* [count]; an error is NULL where a picture could be read */
    int64_t count, kept, failed; /* kept: pictures; failed: since the beginning */
} waiting;

static void forget_files(waiting *w)
{
    for (int64_t i = 0; i < w->count; i++) {
        free(w->names[i]);
        free(w->errors[i]);
    }
    w->count = w->kept = 0;
}

/* Predict the waiting samples, and write their rows. */
static int finish_batch(waiting *w)
{
    prediction *p = w->p;
    double began = clock_seconds();
    int status = w->kept > 0 ? predict_batch(p, w->kept) : STATUS_OK;
    p->seconds += clock_seconds() - began;
    for (int64_t i = 0, picture = 0; i < w->count && status == STATUS_OK; i++) {
        write_row(p, (row){.file = w->names[i], .error = w->errors[i]}, picture);
        picture += w->errors[i] == NULL;
    }
    forget_files(w);
    if (status == STATUS_OK)
        status = rows_flush(&p->rows);
    return status == STATUS_OK && p->rows.over ? STATUS_OVER : status;
}

/* A visit_file. An unreadable file gets a row with the error, and the others continue. */
static int read_file(void *user, const char *path, const char *problem)
{
    waiting *w = user;
    prediction *p = w->p;
    char *name = NULL, *error = NULL;
    if (w->count == 0 && interrupt_asked(NULL))
        return fail(STATUS_INTERRUPTED, "predict: stopped before %s", path);
    double began = clock_seconds();
    bool bad =
        problem || cornu_image_read(path, &w->reading, p->x + w->kept * p->inputs, p->inputs);
    p->seconds += clock_seconds() - began;
    if (problem && asprintf(&error, "%s: cannot read: %s", path, problem) < 0)
        error = NULL;
    else if (bad && !problem)
        error = strdup(cornu_last_error());
    name = strdup(path);
    if (!name || (bad && !error)) {
        free(name);
        free(error);
        return fail(STATUS_FAILURE, "predict: not enough memory");
    }
    w->names[w->count] = name;
    w->errors[w->count++] = error;
    w->kept += !bad;
    w->failed += bad;
    return w->count < p->most ? STATUS_OK : finish_batch(w);
}

static int predict_files(waiting *w, const operands *found, bool ended_by_nul)
{
    prediction *p = w->p;
    if (p->most > PICTURES)
        p->most = PICTURES;
    int status = make_room(p, count_files(found->item + 1, found->count - 1));
    if (status != STATUS_OK)
        return status;
    w->names = calloc((size_t)p->most, sizeof *w->names);
    w->errors = calloc((size_t)p->most, sizeof *w->errors);
    if (!w->names || !w->errors)
        return fail(STATUS_FAILURE, "predict: not enough memory");
    status = walk_files(found->item + 1, found->count - 1, ended_by_nul, read_file, w);
    if (status == STATUS_OK)
        status = finish_batch(w);
    forget_files(w);
    return status == STATUS_OVER ? STATUS_OK : status;
}

static int predict_images(prediction *p, const operands *found, bool ended_by_nul)
{
    waiting w = {.p = p};
    w.reading.size = sizeof w.reading;
    int status = exit_status(cornu_model_image_options(p->model, &w.reading));
    if (status == STATUS_OK)
        status = predict_files(&w, found, ended_by_nul);
    free(w.names);
    free(w.errors);
    if (status != STATUS_OK || w.failed == 0)
        return status;
    return p->rows.format == ROWS_TEXT
               ? STATUS_FAILURE /* each had its line */
               : fail(STATUS_FAILURE, "predict: %lld of %lld file%s could not be read",
                      (long long)w.failed, (long long)p->rows.count, p->rows.count == 1 ? "" : "s");
}

/* ---- data sets -------------------------------------------------------------------------- */

static int read_samples(prediction *p, const cornu_data *data, cornu_split split, int64_t begin,
                        int64_t count, int *labels)
{
    int status = STATUS_OK;
    for (int64_t i = 0; i < count && status == STATUS_OK; i++)
        status = exit_status(
            cornu_data_sample(data, split, begin + i, p->x + i * p->inputs, p->inputs, &labels[i]));
    return status;
}

/* The number that the model has for a class of this name, which its file may keep as it is shown;
   -1: it does not know it. */
static int number_of(const cornu_model *model, const char *name)
{
    char shown[1024];
    cornu_printable(name, shown, sizeof shown);
    for (int i = 0; i < cornu_model_class_count(model); i++) {
        const char *known = cornu_model_class_name(model, i);
        if (strcmp(known, name) == 0 || strcmp(known, shown) == 0)
            return i;
    }
    return -1;
}

/* The row of a sample: its number and the class that it is, as the model numbers it. */
static row truth_of(const prediction *p, const cornu_data *data, cornu_split split, int64_t number,
                    int label)
{
    const char *name = label >= 0 ? cornu_data_class_name(data, label) : NULL;
    if (name && cornu_model_class_count(p->model) > 0)
        label = number_of(p->model, name);
    else if (!name && label >= 0)
        name = cornu_model_class_name(p->model, label);
    return (row){.number = number,
                 .label = label,
                 .truth = name,
                 .file = cornu_data_readable_file(data, split, number)};
}

static int predict_samples(prediction *p, const cornu_data *data, cornu_split split, int64_t all)
{
    p->rows.labelled = true;
    p->rows.named = cornu_data_readable_file(data, split, 0) != NULL;
    int status = make_room(p, all);
    int *labels = status == STATUS_OK ? malloc((size_t)p->most * sizeof *labels) : NULL;
    if (!labels && status == STATUS_OK)
        status = fail(STATUS_FAILURE, "predict: not enough memory");
    for (int64_t begin = 0; status == STATUS_OK && begin < all && !p->rows.over; begin += p->most) {
        int64_t left = all - begin, count = left < p->most ? left : p->most;
        double began = clock_seconds();
        status = read_samples(p, data, split, begin, count, labels);
        if (status == STATUS_OK)
            status = predict_batch(p, count);
        p->seconds += clock_seconds() - began;
        for (int64_t i = 0; i < count && status == STATUS_OK; i++)
            write_row(p, truth_of(p, data, split, begin + i, labels[i]), i);
        if (status == STATUS_OK)
            status = rows_flush(&p->rows);
    }
    free(labels);
    return status;
}

static bool rows_go_to_stdout(const rows *r)
{
    return !r->path || strcmp(r->path, "-") == 0;
}

static int predict_data(prediction *p, const char *where)
{
    progress told = {.epoch = -1, .rows = rows_go_to_stdout(&p->rows)};
    const data_choice files = {.whole = where != NULL};
    cornu_data *data = NULL;
    cornu_data_info info = {.size = sizeof info};
    int status =
        exit_status(cornu_predict_check(p->model, 1, &p->options)); /* before reading data */
    if (status == STATUS_OK)
        status = open_data(p->model, where, false, &files, &told, &data);
    if (status == STATUS_OK)
        status = exit_status(cornu_data_info_get(data, &info));
    if (status == STATUS_OK) {
        cornu_split split = info.count[CORNU_TEST] > 0 ? CORNU_TEST : CORNU_TRAIN;
        int64_t all = info.count[split];
        status = predict_samples(p, data, split, p->limit && p->limit < all ? p->limit : all);
    }
    cornu_data_close(data);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

typedef struct predict_options {
    const char *data, *csv, *json;
    cornu_run_options run;
    int64_t top, count;
    bool ended_by_nul;
} predict_options;

static int predict(prediction *p, const predict_options *o, const operands *found)
{
    int status = open_model_file(&command_predict, found->item[0], &p->model);
    if (status == STATUS_OK)
        status = measure(p);
    if (status == STATUS_OK)
        status =
            found->count > 1 ? predict_images(p, found, o->ended_by_nul) : predict_data(p, o->data);
    bool alone = p->rows.format != ROWS_TEXT && rows_go_to_stdout(&p->rows);
    status = rows_close(&p->rows, status);
    if (p->done > 0 && !alone && !p->rows.over)
        print_rate(p->done, p->seconds);
    close_prediction(p);
    return status;
}

static bool reads_names(const operands *found)
{
    for (int i = 1; i < found->count; i++)
        if (strcmp(found->item[i], "-") == 0)
            return true;
    return false;
}

static bool check(const predict_options *o, const operands *found, int *status)
{
    const char *to = o->csv ? o->csv : o->json;
    if (o->data && found->count > 1)
        *status = fail_usage(&command_predict, "found --data and \"%s\"; expected one of them",
                             found->item[1]);
    else if (o->count && found->count > 1)
        *status = fail_usage(&command_predict, "--count: found images; expected a data set");
    else if (o->ended_by_nul && !reads_names(found))
        *status = fail_usage(&command_predict, "found --null alone; expected - for file names");
    else if (o->csv && o->json)
        *status = fail_usage(&command_predict, "found --csv and --json; expected one of them");
    else
        return device_is_there(o->run.where.device, o->run.where.precision, status) &&
               (!to || strcmp(to, "-") == 0 || can_write(to, status));
    return false;
}

static int run(int argc, char **argv)
{
    predict_options o = {.run = {.size = sizeof o.run, .should_stop = interrupt_asked}, .top = 3};
    const option options[] = {
        DATA_OPTION(o.data),
        {"count", "N", "of --data, only the first N samples", OPTION_INT, &o.count, 1, INT64_MAX},
        {"top", "K", "tell the K likeliest classes (3)", OPTION_INT, &o.top, 1, 1000000},
        {"csv", "FILE", "rows as CSV, here in place of lines; -: on standard output", OPTION_TEXT,
         &o.csv, 0, 0},
        {"json", "FILE", "the same as a JSON array", OPTION_TEXT, &o.json, 0, 0},
        {"null", NULL, "file names on standard input end in NUL, not in newline", OPTION_FLAG,
         &o.ended_by_nul, 0, 0},
        WHERE_OPTIONS(o.run.where) /* where to run */
        {"batch", "N", "samples of a step", OPTION_INT, &o.run.batch, 1, INT32_MAX},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_predict, options, argc, argv, 1, -1, "a MODEL", &found, &status) ||
        !check(&o, &found, &status))
        return status;
    prediction p = {.rows = {.format = o.csv    ? ROWS_CSV
                                       : o.json ? ROWS_JSON
                                                : ROWS_TEXT,
                             .path = o.csv ? o.csv : o.json,
                             .top = o.top},
                    .limit = o.count,
                    .options = o.run};
    interrupt_watch(NULL);
    return predict(&p, &o, &found);
}

const command command_predict = {
    "predict",
    "classes of images or of a data set's test samples",
    "MODEL IMAGE|FOLDER|PATTERN|-... [--top K] [--csv FILE|--json FILE]\n"
    "MODEL [--data DIR|FILE|NAME] [--count N] [--top K] [--csv FILE|--json FILE]",
    "A line an image: its file, then the likeliest classes and their probabilities. A line a\n"
    "sample of a data set (its test samples, if it has some): its number, (its true class), then\n"
    "the same. One sigmoid output is the probability of the second class. Outputs that are no\n"
    "probabilities are called logit, or value. Without --data and images: of what the model was\n"
    "trained on, else of its recipe's set. The last line says how long it took.\n"
    "\n"
    "A folder stands for all files in it and below, sorted; a quoted pattern ('photos/*.jpg') for\n"
    "what it matches; - for the names on standard input (find photos -print0 | cornu predict\n"
    "MODEL - --null). A file that cannot be read gets a line on standard error, or a row with its\n"
    "error, and the others go on; the exit status is 1 then. Rows are written as they come.\n",
    run,
    .alone = true};
